//! A small MPI that has QMPI itself (`tests/programs/mpi/qmpi_mpi.c`), in the place of Debian's MPICH: programs and tools that are built
//! for that run on it, in one process.

use std::path::{Path, PathBuf};

use crate::{Job, Mpi, compile, product};

/// A process of `program`, which is built for [`Mpi::Mpich`], on it. Tools that QMPI's own chain is to have are named with
/// [`tools`].
///
/// # Panics
/// When it does not compile.
pub fn job(program: &Path) -> Job {
    Job::alone(Mpi::Mpich, program).env("LD_LIBRARY_PATH", directory().display().to_string())
}

/// The variable in which it finds the names of its tools, and a list of them, outermost first.
pub fn tools(names: &[&str]) -> (&'static str, String) {
    ("MPIR_CVAR_QMPI_TOOL_LIST", names.join(":"))
}

/// The directory of its `libmpich.so.12`.
///
/// # Panics
/// When it does not compile.
pub fn directory() -> PathBuf {
    let library = compile::library(Mpi::Mpich, &product::root().join("tests/programs/mpi/qmpi_mpi.c"));
    let directory = compile::directory(Mpi::Mpich).join("qmpi_mpi");
    std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let link = directory.join("libmpich.so.12");
    // Another test may be faster.
    match std::os::unix::fs::symlink(&library, &link) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => panic!("{}: {error}", link.display()),
        _ => directory,
    }
}
