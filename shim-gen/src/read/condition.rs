//! `#if` conditions, decided as far as the text of a header allows.
//!
//! A header is read for what it *can* declare, without a compiler. Macros of the compiler and of the user are taken as
//! not defined (so `__cplusplus` regions are left out), and an arithmetic condition over macros is undecided:
//! then every branch is read. Open MPI hides the removed MPI-1 functions behind such a condition, its library has them.

use std::collections::BTreeSet;

/// Names that `#define` has introduced so far.
pub(crate) type Macros = BTreeSet<String>;

/// What is known about a condition: `None` is undecided.
pub(crate) type Verdict = Option<bool>;

/// Decides the expression after `#if` or `#elif`.
pub(crate) fn decide(expression: &str, macros: &Macros) -> Verdict {
    let tokens = tokens(expression);
    let mut parser = Parser { tokens: &tokens, at: 0, macros };
    let verdict = parser.either();
    // Something unread means an operator that this evaluator does not know.
    if parser.at == tokens.len() { verdict } else { None }
}

fn tokens(expression: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if rest.starts_with("&&") || rest.starts_with("||") || rest.starts_with("!=") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

struct Parser<'a> {
    tokens: &'a [&'a str],
    at: usize,
    macros: &'a Macros,
}

impl<'a> Parser<'a> {
    fn take(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at) == Some(&token);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> &'a str {
        let token = self.tokens.get(self.at).copied().unwrap_or("");
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    fn either(&mut self) -> Verdict {
        let mut left = self.both();
        while self.take("||") {
            left = match (left, self.both()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        left
    }

    fn both(&mut self) -> Verdict {
        let mut left = self.term();
        while self.take("&&") {
            left = match (left, self.term()) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        left
    }

    /// A factor, and whatever comparison or arithmetic follows it: that makes it undecided.
    fn term(&mut self) -> Verdict {
        let factor = self.factor();
        let mut plain = true;
        while let Some(token) = self.tokens.get(self.at)
            && !matches!(*token, "&&" | "||" | ")")
        {
            plain = false;
            if self.take("(") {
                self.either();
                self.take(")");
            } else {
                self.next();
            }
        }
        factor.filter(|_| plain)
    }

    fn factor(&mut self) -> Verdict {
        match self.next() {
            "!" => self.factor().map(|truth| !truth),
            "(" => {
                let inner = self.either();
                self.take(")");
                inner
            }
            "defined" => {
                let braced = self.take("(");
                let name = self.next();
                if braced {
                    self.take(")");
                }
                Some(self.macros.contains(name))
            }
            number => number.parse::<u64>().ok().map(|number| number != 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Macros, decide};

    #[test]
    fn verdicts() {
        let macros = Macros::from(["KNOWN".to_owned()]);
        for (expression, verdict) in [
            ("0", Some(false)),
            ("1", Some(true)),
            ("defined(KNOWN)", Some(true)),
            ("!defined KNOWN", Some(false)),
            ("defined(c_plusplus) || defined(__cplusplus)", Some(false)),
            ("!defined(SKIP) && VALUE && !OTHER", None),
            ("defined(__cplusplus) && (__cplusplus >= 201103L)", Some(false)),
            ("(!OMIT || BUILDING)", None),
            ("1 || VALUE", Some(true)),
            ("KNOWN == 3", None),
            ("1 + 0", None),
            ("(1", Some(true)),
            (")", None),
            ("!", None),
            ("", None),
        ] {
            assert_eq!(decide(expression, &macros), verdict, "{expression}");
        }
    }
}
