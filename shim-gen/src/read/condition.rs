//! `#if` conditions, decided as far as the text of a header allows.
//!
//! A header is read for what it *can* declare, without a compiler. Macros of the compiler and of the user are taken as
//! not defined (so `__cplusplus` regions are left out), and an arithmetic condition over macros is undecided:
//! then every branch is read. Open MPI hides the removed MPI-1 functions behind such a condition, its library has them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

/// Names that `#define` has introduced so far.
pub(crate) type Macros = BTreeSet<String>;

/// What is known about a condition: `None` is undecided.
pub(crate) type Verdict = Option<bool>;

static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\w+|&&|\|\||!=|\S"));

/// Decides the expression after `#if` or `#elif`.
pub(crate) fn decide(expression: &str, macros: &Macros) -> Verdict {
    let tokens: Vec<_> = TOKEN.find_iter(expression).map(|token| token.as_str()).collect();
    let mut parser = Parser { tokens: &tokens, at: 0, macros };
    let verdict = parser.either();
    // Something unread means an operator that this evaluator does not know.
    if parser.at == tokens.len() { verdict } else { None }
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
