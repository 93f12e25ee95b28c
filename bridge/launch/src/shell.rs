//! Quoting for shells, and for Tcl.

use std::borrow::Cow;

/// `text` so that a shell reads it as one word, always in quotes: `it's` → `'it'\''s'`.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// As [`quote`], but words that need no quotes stay bare, as people write them.
pub fn quote_if_needed(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { quote(text).into() }
}

/// The same for csh, which looks for `!` and ends a word at a line's end even in quotes.
pub fn quote_csh(text: &str) -> String {
    let inside = text.replace('\'', r"'\''").replace('!', r"\!").replace('\n', "\\\n");
    format!("'{inside}'")
}

/// The same for fish.
pub fn quote_fish(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// The same for Tcl.
pub fn quote_tcl(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '"' | '\\' | '$' | '[' | ']' | '{' | '}' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always() {
        assert_eq!(quote("a"), "'a'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's $HOME\n"), "'it'\\''s $HOME\n'");
    }

    #[test]
    fn only_where_needed() {
        assert_eq!(quote_if_needed("./app-1.2"), "./app-1.2");
        assert_eq!(quote_if_needed("a b"), "'a b'");
        assert_eq!(quote_if_needed(""), "''");
        assert_eq!(quote_if_needed("~"), "'~'");
    }
}
