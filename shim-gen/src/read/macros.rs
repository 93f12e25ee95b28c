//! Function-like macros of a header with the names of functions (MPI 2.6.4: a few functions may be macros).
//!
//! ```text
//! #define MPI_Comm_c2f(comm) (MPI_Fint)(comm)                                     its argument
//! #define MPI_Aint_add(base, disp) ((MPI_Aint) ((char *) (base) + (disp)))        the sum of its arguments
//! ```
//!
//! Both compute on one machine word. A cast says only how the caller sees it, so casts are read over.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::text::pattern;

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
    LazyLock::new(|| pattern(r"^P?((?:MPIX?|OMPI)_[A-Z][A-Z0-9_]*[a-z]\w*)\(([^).]*)\)\s*(.*)$"));
/// `(MPI_Fint)` or `(char *)`; of a parameter alone in parentheses, it is the parameter.
static CAST: LazyLock<Regex> = LazyLock::new(|| pattern(r"\(\s*(?:const\s+)?([A-Za-z_]\w*)[\s*]*\)"));
/// `call(`: casts and operands have no name in front.
static CALL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\w\s*\("));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\w+|[^\s()]"));

impl Macro {
    /// What follows `#define`, if it defines a macro of this kind. One that takes any number of arguments is none: it only tells the
    /// compiler that the function is gone.
    pub(crate) fn read(definition: &str) -> Option<Self> {
        let (_, [name, parameters, body]) = DEFINITION.captures(definition)?.extract();
        let parameters = parameters.split(',').map(|parameter| parameter.trim().to_owned()).collect();
        Some(Self { name: name.to_owned(), parameters, body: body.to_owned() })
    }

    /// What it stands for, a variant of `qmpi_abi::Expression`; `None` for anything else.
    pub(crate) fn expression(&self) -> Option<&'static str> {
        let parameters: Vec<_> = self.parameters.iter().map(String::as_str).collect();
        let body = CAST.replace_all(&self.body, |found: &Captures| {
            if parameters.contains(&&found[1]) { found[1].to_owned() } else { String::new() }
        });
        let tokens: Vec<_> = TOKEN.find_iter(&body).map(|token| token.as_str()).collect();
        match (parameters.as_slice(), tokens.as_slice()) {
            _ if CALL.is_match(&self.body) => None,
            ([only], [first]) if first == only => Some("Argument"),
            ([left, right], [first, "+", second]) if (first, second) == (left, right) => Some("Sum"),
            ([left, right], [first, "-", second]) if (first, second) == (left, right) => Some("Difference"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(definition: &str) -> Option<(String, Option<&'static str>)> {
        Macro::read(definition).map(|found| (found.name.clone(), found.expression()))
    }

    #[test]
    fn expressions_behind_casts_and_parentheses() {
        for (definition, expected) in [
            ("MPI_Comm_c2f(comm) (MPI_Fint)(comm)", "Argument"),
            ("PMPI_Comm_c2f(comm) (MPI_Fint)(comm)", "Argument"),
            ("MPI_Comm_c2f( comm ) ((MPI_Fint) (comm))", "Argument"),
            ("MPI_Comm_c2f(c) c", "Argument"),
            ("MPI_Comm_c2f(base, disp) ((MPI_Aint) ((char *) (base) + (disp)))", "Sum"),
            ("MPI_Comm_c2f(a, b) ((MPI_Aint) ((char *) (a) - (const char *) (b)))", "Difference"),
            ("MPI_Comm_c2f(a, b) a-b", "Difference"),
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
            "MPI_Comm_c2f(a) a(b)",
        ] {
            assert_eq!(expression(definition), Some(("MPI_Comm_c2f".to_owned(), None)), "{definition}");
        }
    }

    #[test]
    fn other_macros_are_none() {
        for definition in [
            "MPI_COMM_NULL ((MPI_Comm)0)",
            "MPI_VERSION 4",
            "MPI_Comm_c2f PMPI_Comm_c2f",
            "f(a) (a)",
            "MPI_Comm_c2f(...) g()",
        ] {
            assert_eq!(expression(definition), None, "{definition}");
        }
    }
}
