//! What can go wrong, and what to do about it.

use std::path::PathBuf;

/// The result of everything in this crate that reads.
pub type Result<T> = std::result::Result<T, ShimError>;

/// A failed operation, with the place where it failed.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// A file could not be read.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, #[source] std::io::Error),
    /// A file could not be written.
    #[error("cannot write {}: {}", .0.display(), .1)]
    Write(PathBuf, #[source] std::io::Error),
    /// A directory given as a header has no `mpi.h`.
    #[error("no mpi.h in {}", .0.display())]
    NoHeader(PathBuf),
    /// A header declares no MPI function at all.
    #[error("no prototype of an MPI function in {}", .0.display())]
    NoPrototypes(PathBuf),
    /// A header has a prototype that this reader does not understand: its text on one line.
    #[error("{}: cannot read the prototype `{}`", .0.display(), .1)]
    Prototype(PathBuf, String),
    /// A header has this function as a macro only, which stands for something unknown.
    #[error("{}: {} is a macro that stands for something unknown", .0.display(), .1)]
    Macro(PathBuf, String),
    /// Macros of this function stand for different things in headers of one vendor: the label of the header that differs.
    #[error("{0} is a macro for another thing in {1} than in the header before")]
    Macros(String, String),
    /// Two headers do not agree about this function: what it looks like in each, and what the headers are called.
    #[error("{} has {} in {}, but {} in {}", .0, .1[0], .2[0], .1[1], .2[1])]
    Conflict(String, [String; 2], [String; 2]),
    /// The list of standard functions lacks this function of MPI 3.1 or older, which the header with this label declares.
    #[error("{0} of {1} is not in the list of standard functions, which must name all of MPI 3.1 and older")]
    NoVersion(String, String),
    /// What is wrong with the enumeration of function numbers in a header, as the rest of a sentence.
    #[error("{} {}", .0.display(), .1)]
    Enumeration(PathBuf, String),
    /// Two headers that were said to number functions alike do not.
    #[error("{} and {} number functions differently", .0.display(), .1.display())]
    Numberings(PathBuf, PathBuf),
    /// A numbering has this enumerator of a function that the table lacks.
    #[error("{0} has a number, but no row in the table of functions")]
    Unnumbered(String),
    /// No header declares this function.
    #[error("no prototype of {0}")]
    NoFunction(String),
    /// The rules do not say something (the kind, the direction, the length) of a parameter of this function: its type and its name.
    #[error("{0}: no rule says the {1} of `{2}` {3}")]
    NoRule(String, &'static str, String, String),
    /// What is wrong with a line of a file, counted from 1.
    #[error("{0}:{1}: {2}")]
    Line(String, usize, String),
}

impl ShimError {
    /// One line of advice to go with the message.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read(..) => {
                "give an existing header, or the include directory of an MPI that is installed with its development files"
            }
            Self::Write(..) => {
                "the directory must exist and be writable; without --output the text goes to standard output"
            }
            Self::NoHeader(_) => "`mpicc -show` or `mpicc --showme:compile` prints the include directory of an MPI",
            Self::NoPrototypes(_) => {
                "mpif.h and mpi.mod are Fortran; the C header is mpi.h, and files it includes must lie beside it"
            }
            Self::Prototype(..) => "if this is valid C, shim-gen should learn it: please report the line",
            Self::Macro(..) => {
                "shim-gen knows casts, sums and differences: it should learn this one, please report the line"
            }
            Self::Macros(..) => "what a function does depends on the vendor alone: leave one of the headers out",
            Self::Conflict(..) => {
                "a function number has one argument count for ever: leave one of the headers out, or fix it"
            }
            Self::NoVersion(..) => "add the name to the line of its version in shim-gen/data/standard.txt",
            Self::Enumeration(..) => "mpi_proto.h of MPICH 4.0 or newer has it; other MPI libraries do not",
            Self::Numberings(..) => "give each numbering a file of its own",
            Self::Unnumbered(_) => "add the header's functions with `shim-gen table` first",
            Self::NoFunction(_) => "give all headers that are needed, and names as in C: MPI_Send",
            Self::NoRule(..) => "add a rule to shim-gen/data/parameters.txt: its head says how",
            Self::Line(..) => {
                "functions.tsv is written by `shim-gen table`, the list of standard functions by hand: its head says how"
            }
        }
    }
}
