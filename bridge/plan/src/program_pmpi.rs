//! Where the program's own calls of `PMPI_f` go: `program_pmpi` of the configuration.
//!
//! The documents of QMPI and `LD_PRELOAD` say different things, each for tools of its kind: docs/maintainers/decisions/pmpi-of-the-program.md.

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgramPmpi {
    /// Into the stack if all its layers are QMPI tools, else past it.
    #[default]
    Auto,
    /// Into the stack, as its calls of `MPI_f`.
    Chain,
    /// To the MPI library, past all layers.
    Past,
}

impl ProgramPmpi {
    /// The words, for messages.
    pub(crate) const EXPECTED: &'static str = "\"auto\", \"chain\" or \"past\"";

    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "chain" => Some(Self::Chain),
            "past" => Some(Self::Past),
            _ => None,
        }
    }

    /// Do the calls enter a stack whose layers are all QMPI tools, or are not?
    #[must_use]
    pub fn enters(self, are_all_qmpi_tools: bool) -> bool {
        match self {
            Self::Auto => are_all_qmpi_tools,
            Self::Chain => true,
            Self::Past => false,
        }
    }
}
