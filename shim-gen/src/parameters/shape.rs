//! The shape of a C type: what it is based on, and how often a pointer has to be followed to get there.

use crate::text::words;

/// `const int[][3]` is `int`, two times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeShape {
    /// The type without `const`, stars and brackets.
    pub(crate) base: String,
    /// Stars and brackets.
    pub(crate) indirections: usize,
    /// What the outermost pointer leads to is only read.
    pub(crate) is_const: bool,
}

impl TypeShape {
    /// The shape of a parameter's type.
    pub(crate) fn of(ctype: &str) -> Self {
        let is_const = words(ctype).any(|word| word == "const");
        // `void (*)(int)`: a callback without a name for its type.
        if ctype.contains('(') {
            return Self { base: "unnamed_function".to_owned(), indirections: 1, is_const };
        }
        let indirections = ctype.matches(['*', '[']).count();
        let end = ctype.find(['*', '[']).unwrap_or(ctype.len());
        let base: Vec<_> = ctype[..end].split_whitespace().filter(|word| *word != "const").collect();
        Self { base: base.join(" "), indirections, is_const }
    }

    /// A function of the program, which C passes by address with or without a star.
    pub(crate) fn is_callback(&self) -> bool {
        ["_function", "_function_c", "_function_x"].iter().any(|ending| self.base.ends_with(ending))
    }

    /// Whether the argument is an address of what is meant. That of a callback, too, but it is what is meant itself.
    pub(crate) fn is_pointer(&self) -> bool {
        self.indirections > 0 && !self.is_callback()
    }

    /// What the compiler passes: handlers of errors got new names in MPI 2.0, and are of the same type.
    pub(crate) fn passed(&self) -> (&str, usize) {
        match self.base.as_str() {
            _ if self.is_callback() => ("function", 0),
            // ROMIO's name for the same type.
            "MPIO_Request" => ("MPI_Request", self.indirections),
            base => (base, self.indirections),
        }
    }

    /// Whether the alternatives of a rule name this shape: `int|MPI_Count`, `char**`, `MPI_T_%`.
    pub(crate) fn is_one_of(&self, alternatives: &str) -> bool {
        alternatives == "-" || alternatives.split('|').any(|alternative| self.is(alternative))
    }

    fn is(&self, alternative: &str) -> bool {
        let name = alternative.trim_end_matches('*');
        let stars = alternative.len() - name.len();
        let base_fits = match name.split_once('%') {
            Some((before, after)) => self.base.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
            None => self.base == name,
        };
        base_fits && (stars == 0 || stars == self.indirections)
    }
}

#[cfg(test)]
mod tests {
    use super::TypeShape;

    #[test]
    fn of_every_form() {
        for (ctype, base, indirections, is_const) in [
            ("int", "int", 0, false),
            ("const int[][3]", "int", 2, true),
            ("char *const *", "char", 2, true),
            ("const void *", "void", 1, true),
            ("unsigned int", "unsigned int", 0, false),
            ("void (*)(int)", "unnamed_function", 1, false),
        ] {
            let shape = TypeShape::of(ctype);
            assert_eq!((shape.base.as_str(), shape.indirections), (base, indirections), "{ctype}");
            assert_eq!(shape.is_const, is_const, "{ctype}");
        }
    }

    #[test]
    fn alternatives() {
        let strings = TypeShape::of("char *[]");
        assert!(strings.is_one_of("-") && strings.is_one_of("int|char") && strings.is_one_of("char**"));
        assert!(!strings.is_one_of("char*") && !strings.is_one_of("cha"));
        let callback = TypeShape::of("MPI_User_function_c *");
        assert!(callback.is_one_of("%_function_c") && callback.is_callback() && !callback.is_pointer());
        assert!(!TypeShape::of("MPI_T").is_one_of("MPI_T_%"));
    }
}
