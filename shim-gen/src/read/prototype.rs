//! One C prototype, with the full text of its types.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::{Parsed, pattern, words};

/// A function as its header declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// Name as declared, the `P` of the profiling interface included: `MPI_Send`, `PMPI_Send`.
    pub name: String,
    /// C text of the result type.
    pub result: String,
    /// Fixed parameters in order.
    pub params: Vec<Param>,
    /// Whether `...` follows them.
    pub variadic: bool,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// C text of the type without the name: `const int[]`, `int[][3]`, `void (*)(int)`.
    pub ctype: String,
    /// Name, made up (`a1`, `a2`, ...) where the header gives none.
    pub name: String,
    /// Byte offset in `ctype` where a declaration has the name.
    place: usize,
}

impl Param {
    /// The type around the name: a declaration that a compiler accepts.
    fn declaration(&self) -> String {
        let (before, after) = self.ctype.split_at(self.place);
        let blank = if before.ends_with(['*', '(']) { "" } else { " " };
        format!("{before}{blank}{}{after}", self.name)
    }
}

impl Prototype {
    /// The parameter list for a definition: `const void *buf, int count`, or `void`.
    pub fn parameters(&self) -> String {
        let mut list: Vec<_> = self.params.iter().map(Param::declaration).collect();
        if self.variadic {
            list.push("...".to_owned());
        }
        if list.is_empty() { "void".to_owned() } else { list.join(", ") }
    }

    /// The names of the fixed parameters: `buf, count`.
    pub fn arguments(&self) -> String {
        let names: Vec<_> = self.params.iter().map(|param| param.name.as_str()).collect();
        names.join(", ")
    }
}

/// `2 arguments and more`: what every header must agree on.
pub(crate) fn arity(args: usize, variadic: bool) -> String {
    let plural = if args == 1 { "" } else { "s" };
    let more = if variadic { " and more" } else { "" };
    format!("{args} argument{plural}{more}")
}

/// Result type (with whatever macros stand before it) and name; `(MPI_Send)` in parentheses is fine too.
///
/// A name has a lower-case letter. Predefined callbacks (`MPI_DUP_FN`, `OMPI_C_MPI_DUP_FN`) have none: they are functions,
/// but not procedures of MPI, tools do not intercept them, and their names would clash with Fortran ones.
static HEAD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(.*?[\s*])\(?\s*((?:P?MPIX?|OMPI)_[A-Z][A-Z0-9_]*[a-z]\w*)\s*\)?\s*\("));
/// `__attribute__((x))`, `__declspec(x)`, `SOME_MACRO(x)`, `[[nodiscard]]`
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:__attribute__|__declspec|[A-Z_][A-Z0-9_]*)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\[\[[^\]]*\]\]",
    )
});
/// A type keeps words that have a lower-case letter; attribute macros (OMPI_DECLSPEC) have none.
static NOISE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:[A-Z_][A-Z0-9_]*|extern|static|inline|__inline(?:__)?|__extension__)\b"));
/// `void (*name)(int)` and `int (*name)[3]`: the name is inside.
static INSIDE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^([^(]*\(\s*\*[\s*]*(?:const\b\s*|restrict\b\s*)*)(\w*)([^)]*\).*)$"));
/// `int name(int)`, a function type
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([^(]*[\s*])(\w+)(\s*\(.*\))$"));
/// `type name[a][b]`
static PLAIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(.*?)(\w*)\s*((?:\[[^\]]*\]\s*)*)$"));

/// Words that belong to a type, so that they name no parameter.
static OF_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        "^(?:void|char|short|int|long|float|double|signed|unsigned|const|volatile|restrict|__restrict|__restrict__)?$",
    )
});
/// Words that are no type by themselves.
static QUALIFIER: LazyLock<Regex> = LazyLock::new(|| pattern("^(?:const|volatile|restrict|struct|enum|union)$"));

/// Reads a statement without its semicolon: `None` if it is no prototype of an MPI function, its text if it looks like one and cannot
/// be read.
pub(crate) fn parse(statement: &str) -> Parsed<Option<Prototype>> {
    let statement = collapse(statement);
    let Some(head) = HEAD.captures(&statement) else { return Ok(None) };
    let before = CALL.replace_all(&head[1], " ");
    if before.trim_start().starts_with("typedef") || before.contains(['=', '(']) {
        return Ok(None);
    }
    let result = collapse(&NOISE.replace_all(&before, " "));
    let is_type = !result.is_empty() && result.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '*' | ' '));
    let list = list(&statement[head[0].len()..]).filter(|_| is_type).ok_or(&statement)?;
    let variadic = list.last() == Some(&"...");
    let fixed = if let ["" | "void"] = list[..] { 0 } else { list.len() - usize::from(variadic) };
    let params: Option<_> = list[..fixed].iter().zip(1..).map(|(part, number)| param(part, number)).collect();
    Ok(Some(Prototype { name: head[2].to_owned(), result, params: params.ok_or(&statement)?, variadic }))
}

/// Blanks of any kind become single spaces, none around the text.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parts of a parameter list up to the parenthesis that closes it: commas of a function pointer inside it do not count.
fn list(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        if depth == 0 && matches!(c, ',' | ')') {
            parts.push(text[start..at].trim());
            start = at + 1;
        }
        match c {
            ')' if depth == 0 => return Some(parts),
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn param(text: &str, number: usize) -> Option<Param> {
    let (before, name, after) = if text.contains('(') {
        let found = INSIDE.captures(text).or_else(|| FUNCTION.captures(text))?;
        let [before, name, after] = found.extract().1;
        (before, name, after)
    } else {
        let [before, last, after] = PLAIN.captures(text)?.extract().1;
        // In `const MPI_Comm` and `unsigned int` the last word belongs to the type.
        if has_type(before) && !OF_TYPE.is_match(last) {
            (before, last, after)
        } else {
            (&text[..before.len() + last.len()], "", after)
        }
    };
    let before = before.trim_end();
    if before.is_empty() {
        return None;
    }
    Some(Param {
        ctype: format!("{before}{}", after.trim()),
        name: if name.is_empty() { format!("a{number}") } else { name.to_owned() },
        place: before.len(),
    })
}

/// Whether the text is a type by itself, not only qualifiers or `struct`.
fn has_type(text: &str) -> bool {
    let words: Vec<_> = words(text).collect();
    let is_open = matches!(words.last(), Some(&("struct" | "enum" | "union")));
    !is_open && words.iter().any(|word| !QUALIFIER.is_match(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(statement: &str) -> String {
        let prototype = parse(statement).ok().flatten().unwrap_or_else(|| panic!("{statement}"));
        format!("{} {}({}) <- {}", prototype.result, prototype.name, prototype.parameters(), prototype.arguments())
    }

    #[test]
    fn parameters_of_every_shape() {
        for (statement, expected) in [
            ("int MPI_Finalize(void)", "int MPI_Finalize(void) <- "),
            ("int MPI_Finalize()", "int MPI_Finalize(void) <- "),
            ("int MPI_Abc(int ranges[][3])", "int MPI_Abc(int ranges[][3]) <- ranges"),
            ("int MPI_Abc(const int a[], int *const *b)", "int MPI_Abc(const int a[], int *const *b) <- a, b"),
            (
                "int MPI_Abc(int, MPI_Comm *, const char[])",
                "int MPI_Abc(int a1, MPI_Comm *a2, const char a3[]) <- a1, a2, a3",
            ),
            ("int MPI_Abc(unsigned int, const MPI_Comm)", "int MPI_Abc(unsigned int a1, const MPI_Comm a2) <- a1, a2"),
            (
                "int MPI_Abc(struct x, struct x *, struct x y)",
                "int MPI_Abc(struct x a1, struct x *a2, struct x y) <- a1, a2, y",
            ),
            (
                "int MPI_Abc(void (*f)(int, char), void (*)(void))",
                "int MPI_Abc(void (*f)(int, char), void (*a2)(void)) <- f, a2",
            ),
            ("int MPI_Abc(void (**f) (void))", "int MPI_Abc(void (**f) (void)) <- f"),
            ("int MPI_Abc(int (*rows)[3])", "int MPI_Abc(int (*rows)[3]) <- rows"),
            ("int MPI_Abc(void call(int))", "int MPI_Abc(void call(int)) <- call"),
            ("int MPI_Pcontrol(const int level, ...)", "int MPI_Pcontrol(const int level, ...) <- level"),
            (
                "int MPI_Abc(char s[A_B], const void * restrict p)",
                "int MPI_Abc(char s[A_B], const void * restrict p) <- s, p",
            ),
        ] {
            assert_eq!(shown(statement), expected);
        }
    }

    #[test]
    fn decorations_go_away() {
        for statement in [
            "OMPI_DECLSPEC int MPI_Abc(int x) __mpi_interface_deprecated__(\"gone; really\")",
            "extern int MPI_Abc(int x) X_TAG(1,3) X_TAG(4,6) MPICH_API_PUBLIC",
            "__attribute__((visibility(\"default\"))) int MPI_Abc(int x)",
            "MPI_ABI_API DEP(3) static inline int (MPI_Abc)(int x)",
        ] {
            assert_eq!(shown(statement), "int MPI_Abc(int x) <- x", "{statement}");
        }
        assert_eq!(shown("extern void *MPIX_Abc(int x)"), "void * MPIX_Abc(int x) <- x");
        assert_eq!(shown("MPI_Fint PMPI_Abc(MPI_Comm c)"), "MPI_Fint PMPI_Abc(MPI_Comm c) <- c");
    }

    #[test]
    fn other_statements_are_none() {
        for statement in [
            "typedef int (MPI_Fn)(int)",
            "typedef int MPI_Fn(int)",
            "int x = MPI_Abc(3)",
            "struct s MPI_x",
            "MPI_Abc(3)",
            "int MPI_DUP_FN(int)",
            "int QMPI_Abc(int)",
            "int (*call)(MPI_Comm)",
        ] {
            assert_eq!(parse(statement), Ok(None), "{statement}");
        }
    }
}
