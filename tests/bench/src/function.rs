//! The functions that the program calls.

/// A function of MPI without `MPI_`, and its number of arguments; the clock cycle has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) arguments: u32,
}

/// That with two arguments: the goals of calls are for it.
pub(crate) const SMALLEST: &str = "Comm_rank";

/// How long a clock cycle lasts, in the place of a function.
pub(crate) const CYCLE: &str = "cycle";

impl Function {
    pub(crate) fn heading(&self) -> String {
        format!("{}, {} arguments", self.name, self.arguments)
    }
}
