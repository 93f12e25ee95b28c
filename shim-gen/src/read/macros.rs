//! Function-like macros of a header with the names of functions (MPI 2.6.4: a few functions may be macros).
//!
//! ```text
//! #define MPI_Comm_c2f(comm) (MPI_Fint)(comm)                                     its argument
//! #define MPI_Aint_add(base, disp) ((MPI_Aint) ((char *) (base) + (disp)))        the sum of its arguments
//! ```
//!
//! Both compute on one machine word. A cast says only how the caller sees it, so casts are read over.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use crate::read::source::pattern;

/// What a macro stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expression {
    /// The value of its one argument.
    Argument,
    /// Its first argument plus its second.
    Sum,
    /// Its first argument minus its second.
    Difference,
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Argument => "Argument",
            Self::Sum => "Sum",
            Self::Difference => "Difference",
        })
    }
}

/// A macro as the header has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Macro {
    /// Its name, without the `P` of the profiling interface.
    pub(crate) name: String,
    parameters: Vec<String>,
    body: String,
}

/// `MPI_Comm_c2f(comm) (MPI_Fint)(comm)`: names as those of functions in `prototype.rs`.
static DEFINITION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^P?((?:MPIX?|OMPI)_[A-Z][A-Z0-9_]*[a-z]\w*)\(([^)]*)\)\s*(.*)$"));
/// `(MPI_Fint)` in front of an operand; `(char *)`.
static CAST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\(\s*(?:const\s+)?[A-Za-z_]\w*[\s*]*\)\s*"));
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Za-z_]\w*"));

impl Macro {
    /// What follows `#define`, if it defines a macro of this kind.
    pub(crate) fn read(definition: &str) -> Option<Self> {
        let (_, [name, parameters, body]) = DEFINITION.captures(definition)?.extract();
        let parameters = parameters.split(',').map(|parameter| parameter.trim().to_owned()).collect();
        Some(Self { name: name.to_owned(), parameters, body: body.to_owned() })
    }

    /// Whether it takes any number of arguments: such a macro only tells the compiler that the function is gone.
    pub(crate) fn is_variadic(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.ends_with("..."))
    }

    /// What it stands for; `None` if that is none of the known expressions.
    pub(crate) fn expression(&self) -> Option<Expression> {
        let mut rest = self.body.as_str();
        let (operands, operator) = self.sum(&mut rest)?;
        match (self.parameters.as_slice(), operands.as_slice(), operator) {
            ([only], [first], None) if first == only => Some(Expression::Argument),
            ([left, right], [first, second], Some(operator)) if (first, second) == (left, right) => Some(operator),
            _ => None,
        }
        .filter(|_| rest.trim().is_empty())
    }

    /// One operand, or two with an operator between them.
    fn sum(&self, rest: &mut &str) -> Option<(Vec<String>, Option<Expression>)> {
        let (mut operands, mut operator) = self.operand(rest)?;
        *rest = rest.trim_start();
        let found = match rest.chars().next() {
            Some('+') => Expression::Sum,
            Some('-') => Expression::Difference,
            _ => return Some((operands, operator)),
        };
        *rest = &rest[1..];
        let (right, nested) = self.operand(rest)?;
        if operator.replace(found).or(nested).is_some() {
            return None;
        }
        operands.extend(right);
        Some((operands, operator))
    }

    /// A parameter, or something in parentheses, behind any number of casts.
    fn operand(&self, rest: &mut &str) -> Option<(Vec<String>, Option<Expression>)> {
        *rest = rest.trim_start();
        while let Some(cast) = CAST.find(rest) {
            let inside = cast.as_str().trim_end().trim_matches(['(', ')']).trim();
            if self.parameters.iter().any(|parameter| parameter == inside) {
                break;
            }
            *rest = &rest[cast.end()..];
        }
        if let Some(inside) = rest.strip_prefix('(') {
            *rest = inside;
            let found = self.sum(rest)?;
            *rest = rest.trim_start().strip_prefix(')')?;
            return Some(found);
        }
        let word = WORD.find(rest)?;
        *rest = &rest[word.end()..];
        Some((vec![word.as_str().to_owned()], None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(definition: &str) -> Option<(String, Option<Expression>)> {
        Macro::read(definition).map(|found| (found.name.clone(), found.expression()))
    }

    #[test]
    fn expressions_behind_casts_and_parentheses() {
        for (definition, expected) in [
            ("MPI_Comm_c2f(comm) (MPI_Fint)(comm)", Expression::Argument),
            ("PMPI_Comm_c2f(comm) (MPI_Fint)(comm)", Expression::Argument),
            ("MPI_Comm_c2f( comm ) ((MPI_Fint) (comm))", Expression::Argument),
            ("MPI_Comm_c2f(c) c", Expression::Argument),
            ("MPI_Comm_c2f(base, disp) ((MPI_Aint) ((char *) (base) + (disp)))", Expression::Sum),
            ("MPI_Comm_c2f(a, b) ((MPI_Aint) ((char *) (a) - (const char *) (b)))", Expression::Difference),
            ("MPI_Comm_c2f(a, b) a-b", Expression::Difference),
        ] {
            assert_eq!(expression(definition), Some(("MPI_Comm_c2f".to_owned(), Some(expected))), "{definition}");
        }
    }

    #[test]
    fn everything_else_is_unknown() {
        for definition in [
            "MPI_Comm_c2f(a)",
            "MPI_Comm_c2f(a) f(a)",
            "MPI_Comm_c2f(a) (MPI_Fint)(b)",
            "MPI_Comm_c2f(a, b) (b) - (a)",
            "MPI_Comm_c2f(a, b) (a) * (b)",
            "MPI_Comm_c2f(a, b) (a) + (b) + (a)",
            "MPI_Comm_c2f(a, b) (a",
            "MPI_Comm_c2f(...) gone(MPI_Comm_c2f)",
        ] {
            assert_eq!(expression(definition), Some(("MPI_Comm_c2f".to_owned(), None)), "{definition}");
        }
    }

    #[test]
    fn other_macros_are_none() {
        for definition in ["MPI_COMM_NULL ((MPI_Comm)0)", "MPI_VERSION 4", "MPI_Comm_c2f PMPI_Comm_c2f", "f(a) (a)"] {
            assert_eq!(expression(definition), None, "{definition}");
        }
    }
}
