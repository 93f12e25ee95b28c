//! The MPI libraries.

use std::path::{Path, PathBuf};

/// The null MPI (null_mpi.c).
pub(crate) const NULL: &str = "null";

/// MPICH configured with `--enable-qmpi`.
pub(crate) const WITH_QMPI: &str = "mpich_qmpi";

/// One of them, by the name that measurements have.
#[derive(Clone)]
pub(crate) struct Mpi {
    pub(crate) name: String,
    /// Its compiler: `mpicc.NAME`, or that of the peer.
    pub(crate) compiler: PathBuf,
}

/// As tables call it.
pub(crate) fn title(name: &str) -> &str {
    match name {
        NULL => "null MPI",
        WITH_QMPI => "MPICH with QMPI",
        _ => name,
    }
}

impl Mpi {
    pub(crate) fn null() -> Self {
        Self { name: NULL.to_owned(), compiler: PathBuf::from("cc") }
    }

    /// That with this suffix, if its compiler is there.
    pub(crate) fn installed(suffix: &str) -> Option<Self> {
        let name = format!("mpicc.{suffix}");
        let path = std::env::var_os("PATH")?;
        let found = std::env::split_paths(&path).map(|dir| dir.join(&name)).find(|file| file.exists());
        found.map(|compiler| Self { name: suffix.to_owned(), compiler })
    }

    /// An MPICH that has QMPI itself, in this directory.
    pub(crate) fn with_qmpi(dir: &Path) -> Self {
        Self { name: WITH_QMPI.to_owned(), compiler: dir.join("bin/mpicc") }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.name == NULL
    }

    pub(crate) fn is_open_mpi(&self) -> bool {
        self.name.starts_with("openmpi")
    }

    pub(crate) fn has_qmpi(&self) -> bool {
        self.name == WITH_QMPI
    }
}
