//! All MPI libraries that C programs are tested on: Debian's, and those from PyPI.

use std::path::Path;

use crate::wheel::{run, stacked};
use crate::{Job, Mpi, Outcome, Trial, Verdict, Wheel, compile};

/// An MPI of Debian, or from PyPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// One of Debian's.
    Debian(Mpi),
    /// One from PyPI.
    Wheel(Wheel),
}

impl Library {
    /// All of them that have a compiler.
    pub const ALL: [Library; 6] = [
        Library::Debian(Mpi::Mpich),
        Library::Debian(Mpi::OpenMpi),
        Library::Wheel(Wheel::MPICH_4),
        Library::Wheel(Wheel::MPICH_5),
        Library::Wheel(Wheel::MPICH_5_ABI),
        Library::Wheel(Wheel::OPEN_MPI_5),
    ];

    /// A test for each library that the check is for.
    pub fn trials(name: &str, is_for: impl Fn(Library) -> bool, check: fn(Library) -> Verdict) -> Vec<Trial> {
        let libraries = Library::ALL.into_iter().filter(|library| is_for(*library));
        let trial = |library: Library| {
            Trial::test(format!("{}::{name}", library.name()), move || {
                library.require();
                check(library)
            })
        };
        libraries.map(trial).collect()
    }

    /// Its name in names of tests.
    pub fn name(self) -> &'static str {
        match self {
            Library::Debian(mpi) => mpi.name(),
            Library::Wheel(wheel) => wheel.name,
        }
    }

    fn require(self) {
        match self {
            Library::Debian(mpi) => mpi.require(),
            Library::Wheel(wheel) => wheel.require(),
        }
    }

    /// Has the MPI library functions with large counts?
    pub fn has_large_counts(self) -> bool {
        !matches!(self, Library::Debian(Mpi::OpenMpi) | Library::Wheel(Wheel::OPEN_MPI_5))
    }

    /// Has it sessions?
    pub fn has_sessions(self) -> bool {
        self != Library::Debian(Mpi::OpenMpi)
    }

    /// The tool of this source, built for it.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn tool(self, source: &Path) -> String {
        let file = match self {
            Library::Debian(mpi) => compile::library(mpi, source),
            Library::Wheel(wheel) => wheel.library(source),
        };
        file.display().to_string()
    }

    /// Runs a program with the tools of these sources, outermost first, and with these variables.
    ///
    /// # Panics
    /// When something does not compile.
    pub fn run(self, ranks: usize, program: &Path, tools: &[&Path], variables: &[(&str, String)]) -> Outcome {
        let tools: Vec<String> = tools.iter().map(|source| self.tool(source)).collect();
        match self {
            Library::Debian(mpi) => {
                let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
                let job = Job::new(mpi, ranks, &compile::executable(mpi, program)).stack(&tools);
                variables.iter().fold(job, |job, (name, value)| job.env(name, value.as_str())).run()
            }
            Library::Wheel(wheel) => {
                let mut words = wheel.launcher(ranks);
                words.push(wheel.executable(program).display().to_string());
                run(&stacked(&tools, &words), variables)
            }
        }
    }
}
