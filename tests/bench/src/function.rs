//! The functions that the program calls.

use qmpi_abi::FnId;

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
    /// The function of this name.
    pub(crate) fn named(name: &str) -> Function {
        let id = FnId::by_name(&format!("MPI_{name}"));
        let arguments = id.map_or(0, |id| id.parameters().len() as u32);
        Function { name: name.to_owned(), arguments }
    }

    pub(crate) fn heading(&self) -> String {
        format!("{}, {} arguments", self.name, self.arguments)
    }
}
