//! A line of output or a call of MPI as a row of tokens, of which some may vary from run to run.

use crate::measured::trace::Site;

/// A line or a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What makes two items comparable: the words of a line without its numbers; the function of a call.
    pub key: String,
    /// What may differ between them.
    pub tokens: Vec<String>,
    /// Lines whose tokens stand in one table have the same shape. Empty for calls.
    pub shape: String,
    /// As printed.
    pub text: String,
    /// Where the program makes the call. It is not compared: another build of a program has other addresses.
    pub site: Option<Site>,
}

impl Item {
    /// A line: its tokens are its numbers, and how many blanks are between words does not matter.
    #[must_use]
    pub fn of_line(text: &str) -> Self {
        let (mut key, mut shape, mut tokens) = (String::new(), String::new(), Vec::new());
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
        Self { key, tokens, shape, text: text.trim_end().to_owned(), site: None }
    }
}

/// Is it a number with a fraction, or an exponent? Such are measured rather than counted.
#[must_use]
pub fn is_fraction(token: &str) -> bool {
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

    #[test]
    fn numbers_are_tokens() {
        let line = Item::of_line("  MPI_Send   6  24 0.000032 -1.5e-07 n=-3 a-4 x86_64 ");
        assert_eq!(line.tokens, ["6", "24", "0.000032", "-1.5e-07", "-3", "4", "86", "64"]);
        assert_eq!(line.key, " MPI_Send # # # # n=# a-# x#_#");
        assert_eq!(line.shape, " w # # # # w=# w-# w#w#");
        assert_eq!(Item::of_line("1 element, 2.").tokens, ["1", "2"]);
        assert_eq!(Item::of_line("3e 4each 5.e1").tokens, ["3", "4", "5", "1"]);
        assert!(is_fraction("0.5") && is_fraction("1e9") && !is_fraction("-3"));
    }

    #[test]
    fn widths_of_columns_do_not_matter() {
        assert_eq!(Item::of_line("a     9 b").key, Item::of_line("a    10 b").key);
    }
}
