//! The sound tools that mutants are made of: each has a table, or a layout, that others do not have.

use std::path::PathBuf;

use qmpi_tests::{Mpi, compile, program, tool};

use super::parts::Part;

/// A sound tool, and the program that it is used with.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) file: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) parts: Vec<Part>,
    pub(super) program: PathBuf,
    /// What the program prints, in as many lines; a tool may add others.
    pub(super) right: &'static [&'static str],
}

const C: (&str, &[&str]) = ("alone.c", &["alone: allreduce 1 in place 1", "alone: received 7", "alone: done"]);
const FORTRAN: (&str, &[&str]) = ("alone_mpifh.f90", &["alone_mpifh: allreduce 1 in place 1", "alone_mpifh: done"]);

impl Sample {
    /// Is the program one of Fortran?
    pub(super) fn is_fortran(&self) -> bool {
        self.right == FORTRAN.1
    }

    /// A part by its name.
    ///
    /// # Panics
    /// When it has none.
    pub(super) fn part(&self, name: &str) -> &Part {
        self.parts.iter().find(|part| part.name == name).unwrap_or_else(|| panic!("{}: no {name}", self.name))
    }

    /// All of them.
    pub(super) fn all(mpi: Mpi) -> Vec<Sample> {
        let variant = |name, ending, option| compile::tool_variant(mpi, name, ending, &[option]);
        let files = [
            // Some wrapper compilers ask for `-z now`.
            ("counter", variant("counter", "lazy", "-Wl,-z,lazy"), C),
            ("counter, DT_HASH only", variant("counter", "sysv", "-Wl,--hash-style=sysv"), C),
            ("counter, both hash tables", variant("counter", "both", "-Wl,--hash-style=both"), C),
            ("counter, DT_RELR", variant("counter", "relr", "-Wl,-z,pack-relative-relocs"), C),
            ("counter, bound at once", variant("counter", "now", "-Wl,-z,now"), C),
            (
                "counter, one segment for code and constants",
                variant("counter", "noseparate", "-Wl,-z,noseparate-code"),
                C,
            ),
            ("versioned wrappers", tool(mpi, "versioned_wrappers"), C),
            ("C++", tool(mpi, "cxx_runtime"), C),
            ("initial-exec TLS", tool(mpi, "ie_tls"), C),
            ("dlsym", tool(mpi, "rtld_next"), C),
            ("Fortran wrappers", tool(mpi, "fortran_wrappers"), FORTRAN),
        ];
        let sample = |(name, file, (source, right)): (&'static str, PathBuf, (&str, _))| {
            let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            Sample { name, parts: Part::all(&bytes), file, bytes, program: program(mpi, source), right }
        };
        files.into_iter().map(sample).collect()
    }
}
