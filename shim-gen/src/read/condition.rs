//! `#if` conditions, decided as far as the text of a header allows.
//!
//! A header is read for what it *can* declare, without a compiler. Macros of the compiler and of the user are taken as
//! not defined (so `__cplusplus` regions are left out), and an arithmetic condition over macros is undecided:
//! then every branch is read. Open MPI hides the removed MPI-1 functions behind such a condition, its library has them.

use std::collections::BTreeSet;
use std::iter::Peekable;
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
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), macros };
    let verdict = parser.either();
    // Something unread means an operator that this evaluator does not know.
    verdict.filter(|_| parser.tokens.next().is_none())
}

struct Parser<'a> {
    tokens: Peekable<std::vec::IntoIter<&'a str>>,
    macros: &'a Macros,
}

impl Parser<'_> {
    fn take(&mut self, token: &str) -> bool {
        self.tokens.next_if(|next| *next == token).is_some()
    }

    fn either(&mut self) -> Verdict {
        self.joined("||", true, |parser| parser.joined("&&", false, Self::term))
    }

    /// Operands of `||`, of which a true one decides, or of `&&`, of which a false one does.
    fn joined(&mut self, operator: &str, decisive: bool, operand: fn(&mut Self) -> Verdict) -> Verdict {
        let mut verdict = operand(self);
        while self.take(operator) {
            let right = operand(self);
            let is_decided = [verdict, right].contains(&Some(decisive));
            verdict = if is_decided { Some(decisive) } else { verdict.and(right) };
        }
        verdict
    }

    /// A factor, and whatever comparison or arithmetic follows it: that makes it undecided.
    fn term(&mut self) -> Verdict {
        let mut verdict = self.factor();
        while let Some(token) = self.tokens.next_if(|token| !matches!(*token, "&&" | "||" | ")")) {
            verdict = None;
            if token == "(" {
                self.either();
                self.take(")");
            }
        }
        verdict
    }

    fn factor(&mut self) -> Verdict {
        match self.tokens.next()? {
            "!" => self.factor().map(|truth| !truth),
            "(" => {
                let inner = self.either();
                self.take(")");
                inner
            }
            "defined" => {
                let braced = self.take("(");
                let name = self.tokens.next()?;
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
