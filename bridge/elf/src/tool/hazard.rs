//! A hazard: what a private namespace cannot do for a tool, or does only with help; and what is seen in the symbols of a tool and its private
//! libraries, beyond MPI, from which hazards follow.
//!
//! Whether one stops a run is decided by the caller; the ids are stable, the sentences are not.

/// What a hazard means for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Works because the runtime does something about it; worth knowing when it does not.
    Handled,
    /// A part of the tool sees or does less than under LD_PRELOAD.
    Limited,
    /// The tool will not work as it is.
    Fatal,
}

/// One finding about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// Stable name of the rule.
    pub id: &'static str,
    /// What it means for a run.
    pub effect: Effect,
    /// One sentence for the user.
    pub text: String,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Watched imports: (object, name).
    pub(crate) imports: Vec<(String, &'static str)>,
    /// Definitions that mean something to others than MPI programs.
    pub(crate) marks: Vec<&'static str>,
    /// STB_GNU_UNIQUE definitions of the root.
    pub(crate) unique: usize,
    /// Objects other than MPI's by name that define `PMPI_*`.
    pub(crate) second_mpi: Vec<String>,
    /// The root has the string `LD_PRELOAD`.
    pub(crate) names_ld_preload: bool,
}

/// The names of glibc's pointer to the environment: who imports one reads the environment without `getenv`.
pub(crate) const ENVIRON: [&str; 3] = ["environ", "__environ", "_environ"];

/// Functions and variables whose import matters. Sorted.
const WATCHED: &[&str] = &[
    "__environ",
    "_environ",
    "clearenv",
    "dl_iterate_phdr",
    "dlmopen",
    "dlopen",
    "dlsym",
    "dlvsym",
    "environ",
    "gotcha_wrap",
    "putenv",
    "setenv",
    "unsetenv",
];

/// The watched import of this name.
pub(crate) fn watched(name: &str) -> Option<&'static str> {
    WATCHED.binary_search(&name).ok().map(|index| WATCHED[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(WATCHED.is_sorted());
    }
}
