//! A line of output or a call of MPI as a row of tokens, of which some may vary from run to run.
//!
//! Runs make the same calls, so [`Pool`] has each call and each token once, however often it comes in however many runs.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use regex::Regex;

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
        shared(&mut self.items, &item, || Arc::new(item.clone()))
    }

    fn word(&mut self, text: &str) -> SharedText {
        shared(&mut self.words, text, || text.into())
    }
}

/// The one that is known, or a new one.
fn shared<T: ?Sized + Eq + Hash>(known: &mut HashSet<Arc<T>>, value: &T, new: impl FnOnce() -> Arc<T>) -> Arc<T> {
    if let Some(known) = known.get(value) {
        return Arc::clone(known);
    }
    let new = new();
    known.insert(Arc::clone(&new));
    new
}

impl Item {
    /// A line: its tokens are its numbers, and how many blanks are between words does not matter.
    pub(crate) fn of_line(text: &str) -> Self {
        let text = text.trim_end();
        let (mut key, mut shape, mut tokens) = (String::new(), String::new(), Vec::new());
        let mut is_in_word = false;
        for part in PART.captures_iter(text) {
            let whole = part.get_match().as_str();
            // What `key` and `shape` have of it.
            let (of_key, of_shape) = if let Some(number) = part.name("number") {
                // A sign behind a word or a bracket is none.
                let sign = usize::from(is_in_word && whole.starts_with(['-', '+']));
                key.push_str(&whole[..sign]);
                shape.push_str(&whole[..sign]);
                tokens.push(SharedText::from(&number.as_str()[sign..]));
                ("#", "#")
            } else if part.name("blank").is_some() {
                (" ", " ")
            } else if part.name("word").is_some() {
                (whole, "w")
            } else {
                (whole, whole)
            };
            key.push_str(of_key);
            shape.push_str(of_shape);
            is_in_word = whole.ends_with(|last: char| last.is_alphanumeric() || last == ')');
        }
        Self { key: key.into(), tokens: tokens.into(), shape: shape.into(), line: Some(text.into()), site: None }
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

/// A number, blanks, a word, or another character of a line. An exponent ends where a word does.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    let parts =
        r"(?<number>[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+\b)?)|(?<blank>\s+)|(?<word>[\p{Alphabetic}_]+)|.";
    Regex::new(parts).expect("a pattern")
});

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
