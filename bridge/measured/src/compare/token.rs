//! A line of output or a call of MPI as a row of tokens, of which some may vary from run to run.
//!
//! Runs make the same calls, so [`Pool`] has each call and each token once, however often it comes in however many runs.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::trace::Site;

/// Text that is shared by all that have it.
pub(super) type SharedText = Arc<str>;

/// A line or a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What makes two items comparable: the words of a line without its numbers; the function of a call.
    pub(crate) key: SharedText,
    /// What may differ between them. The last one of a call is its result.
    pub(crate) tokens: Box<[SharedText]>,
    /// Lines whose tokens stand in one table have the same shape. Empty for calls.
    pub(crate) shape: SharedText,
    /// A line, as printed. `None` for calls, which their tokens tell.
    pub(crate) line: Option<SharedText>,
    /// Where the program makes the call. It is not compared: another build of a program has other addresses.
    pub(crate) site: Option<Site>,
}

impl Hash for Item {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.key, &self.tokens, &self.line).hash(state);
    }
}

/// The calls of all runs.
#[derive(Debug, Default)]
pub struct Pool {
    words: HashSet<SharedText>,
    items: HashSet<Arc<Item>>,
}

impl Pool {
    /// A call of this function.
    pub(crate) fn call(&mut self, function: &str, tokens: &[String], site: Option<&Site>) -> Arc<Item> {
        let tokens = tokens.iter().map(|token| self.word(token)).collect();
        let item = Item { key: self.word(function), tokens, shape: self.word(""), line: None, site: site.cloned() };
        if let Some(known) = self.items.get(&item) {
            return Arc::clone(known);
        }
        let item = Arc::new(item);
        self.items.insert(Arc::clone(&item));
        item
    }

    fn word(&mut self, text: &str) -> SharedText {
        if let Some(known) = self.words.get(text) {
            return Arc::clone(known);
        }
        let word = SharedText::from(text);
        self.words.insert(Arc::clone(&word));
        word
    }
}

impl Item {
    /// A line: its tokens are its numbers, and how many blanks are between words does not matter.
    pub(crate) fn of_line(text: &str) -> Self {
        let (mut key, mut shape, mut tokens) = (String::new(), String::new(), Vec::<String>::new());
        let mut rest = text.trim_end();
        let mut before = None;
        while let Some(first) = rest.chars().next() {
            let number = number(rest, before);
            let length = if number > 0 {
                tokens.push(rest[..number].to_owned());
                key.push('#');
                shape.push('#');
                number
            } else if first.is_whitespace() {
                key.push(' ');
                shape.push(' ');
                rest.len() - rest.trim_start().len()
            } else if first.is_alphabetic() || first == '_' {
                let length = rest.find(|c: char| !c.is_alphabetic() && c != '_').unwrap_or(rest.len());
                key.push_str(&rest[..length]);
                shape.push('w');
                length
            } else {
                key.push(first);
                shape.push(first);
                first.len_utf8()
            };
            before = rest[..length].chars().last();
            rest = &rest[length..];
        }
        let tokens = tokens.into_iter().map(SharedText::from).collect();
        Self { key: key.into(), tokens, shape: shape.into(), line: Some(text.trim_end().into()), site: None }
    }

    /// As printed.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        if let Some(line) = &self.line {
            return Cow::Borrowed(line);
        }
        let (result, arguments) =
            self.tokens.split_last().map_or(("", &[] as &[SharedText]), |(last, rest)| (&**last, rest));
        let text = format!("{}({}) {result}", self.key, arguments.join(", "));
        Cow::Owned(text.trim_end().to_owned())
    }

    /// Is the same printed?
    pub(crate) fn has_text_of(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.key == other.key && self.tokens == other.tokens && self.line == other.line
    }
}

/// Is it a number with a fraction, or an exponent? Such are measured rather than counted.
pub(super) fn is_fraction(token: &str) -> bool {
    token.contains(['.', 'e', 'E'])
}

/// The length of the number that `text` begins with; 0 if it does not. `before` is the character in front of it.
fn number(text: &str, before: Option<char>) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let is_in_word = before.is_some_and(|c| c.is_alphanumeric() || c == ')');
    let sign = usize::from(!is_in_word && text.starts_with(['-', '+']));
    let whole = digits(&text[sign..]);
    if whole == 0 {
        return 0;
    }
    let mut length = sign + whole;
    if let Some(rest) = text[length..].strip_prefix('.') {
        let fraction = digits(rest);
        length += if fraction > 0 { fraction + 1 } else { 0 };
    }
    if let Some(rest) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(rest.starts_with(['-', '+']));
        let exponent = digits(&rest[sign..]);
        let ends = !rest[sign + exponent..].starts_with(|c: char| c.is_alphabetic());
        length += if exponent > 0 && ends { 1 + sign + exponent } else { 0 };
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(item: &Item) -> Vec<&str> {
        item.tokens.iter().map(|token| &**token).collect()
    }

    #[test]
    fn calls_are_there_once() {
        let mut pool = Pool::default();
        let mut call =
            |tag: &str| pool.call("MPI_Send", &["dest=1".to_owned(), tag.to_owned(), "= 0".to_owned()], None);
        let (first, same, other) = (call("tag=1"), call("tag=1"), call("tag=2"));
        assert!(Arc::ptr_eq(&first, &same) && !Arc::ptr_eq(&first, &other));
        assert!(Arc::ptr_eq(&first.tokens[0], &other.tokens[0]));
        assert_eq!(first.text(), "MPI_Send(dest=1, tag=1) = 0");
        assert!(first.has_text_of(&same) && !first.has_text_of(&other));
    }

    #[test]
    fn numbers_are_tokens() {
        let line = Item::of_line("  MPI_Send   6  24 0.000032 -1.5e-07 n=-3 a-4 x86_64 ");
        assert_eq!(texts(&line), ["6", "24", "0.000032", "-1.5e-07", "-3", "4", "86", "64"]);
        assert_eq!(&*line.key, " MPI_Send # # # # n=# a-# x#_#");
        assert_eq!(&*line.shape, " w # # # # w=# w-# w#w#");
        assert_eq!(texts(&Item::of_line("1 element, 2.")), ["1", "2"]);
        assert_eq!(texts(&Item::of_line("3e 4each 5.e1")), ["3", "4", "5", "1"]);
        assert!(is_fraction("0.5") && is_fraction("1e9") && !is_fraction("-3"));
    }

    #[test]
    fn widths_of_columns_do_not_matter() {
        assert_eq!(Item::of_line("a     9 b").key, Item::of_line("a    10 b").key);
    }
}
