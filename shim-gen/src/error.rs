//! What can go wrong, and what to do about it.

use std::path::PathBuf;

/// The result of everything in this crate that reads.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed operation, with the place where it failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A directory given as a header has no `mpi.h`.
    #[error("no mpi.h in {}", path.display())]
    NoHeader {
        /// The directory.
        path: PathBuf,
    },
    /// A header declares no MPI function at all.
    #[error("no prototype of an MPI function in {}", path.display())]
    NoPrototypes {
        /// The header.
        path: PathBuf,
    },
    /// A prototype that this reader does not understand.
    #[error("{}: cannot read the prototype `{text}`", path.display())]
    Prototype {
        /// The header.
        path: PathBuf,
        /// The statement, on one line.
        text: String,
    },
    /// A function that a header has as a macro only, which stands for something unknown.
    #[error("{}: {name} is a macro that stands for something unknown", path.display())]
    Macro {
        /// The header.
        path: PathBuf,
        /// The function.
        name: String,
    },
    /// Macros of one vendor's headers that stand for different things.
    #[error("{name} is a macro for another thing in {label} than in the header before")]
    Macros {
        /// The function.
        name: String,
        /// The header that differs.
        label: String,
    },
    /// Two headers do not agree about a function.
    #[error("{name} has {first_says} in {first}, but {second_says} in {second}")]
    Conflict {
        /// The function.
        name: String,
        /// Where it was seen first.
        first: String,
        /// What it looks like there.
        first_says: String,
        /// Where it looks different.
        second: String,
        /// What it looks like there.
        second_says: String,
    },
    /// A function of MPI 3.1 or older that the list of standard functions lacks.
    #[error("{name} of {label} is not in the list of standard functions, which must name all of MPI 3.1 and older")]
    NoVersion {
        /// The function.
        name: String,
        /// The header that declares it.
        label: String,
    },
    /// The enumeration of function numbers in a header.
    #[error("{} {problem}", path.display())]
    Enumeration {
        /// The header.
        path: PathBuf,
        /// What is wrong with it, as the rest of a sentence.
        problem: String,
    },
    /// Two headers that were said to number functions alike do not.
    #[error("{} and {} number functions differently", first.display(), second.display())]
    Numberings {
        /// The first header.
        first: PathBuf,
        /// The one that differs.
        second: PathBuf,
    },
    /// A numbering has a function that the table lacks.
    #[error("{name} has a number, but no row in the table of functions")]
    Unnumbered {
        /// The enumerator.
        name: String,
    },
    /// A function that no header declares.
    #[error("no prototype of {name}")]
    NoFunction {
        /// The function.
        name: String,
    },
    /// A parameter that the rules say nothing about.
    #[error("{function}: no rule says the {what} of `{ctype}` {parameter}")]
    NoRule {
        /// The function.
        function: String,
        /// The parameter's name.
        parameter: String,
        /// Its type.
        ctype: String,
        /// What is missing: the kind, the direction, the length.
        what: &'static str,
    },
    /// A line of `functions.tsv` or of the list of standard functions.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// One line of advice to go with the message.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => {
                "give an existing header, or the include directory of an MPI that is installed with its development files"
            }
            Self::Write { .. } => {
                "the directory must exist and be writable; without --output the text goes to standard output"
            }
            Self::NoHeader { .. } => "`mpicc -show` or `mpicc --showme:compile` prints the include directory of an MPI",
            Self::NoPrototypes { .. } => {
                "mpif.h and mpi.mod are Fortran; the C header is mpi.h, and files it includes must lie beside it"
            }
            Self::Prototype { .. } => "if this is valid C, shim-gen should learn it: please report the line",
            Self::Macro { .. } => {
                "shim-gen knows casts, sums and differences: it should learn this one, please report the line"
            }
            Self::Macros { .. } => "what a function does depends on the vendor alone: leave one of the headers out",
            Self::Conflict { .. } => {
                "a function number has one argument count for ever: leave one of the headers out, or fix it"
            }
            Self::NoVersion { .. } => "add the name to the line of its version in shim-gen/data/standard.txt",
            Self::Enumeration { .. } => "mpi_proto.h of MPICH 4.0 or newer has it; other MPI libraries do not",
            Self::Numberings { .. } => "give each numbering a file of its own",
            Self::Unnumbered { .. } => "add the header's functions with `shim-gen table` first",
            Self::NoFunction { .. } => "give all headers that are needed, and names as in C: MPI_Send",
            Self::NoRule { .. } => "add a rule to shim-gen/data/parameters.txt: its head says how",
            Self::Line { .. } => {
                "functions.tsv is written by `shim-gen table`, the list of standard functions by hand: its head says how"
            }
        }
    }
}
