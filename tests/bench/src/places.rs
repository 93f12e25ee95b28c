//! Where everything is.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Files of the repository and of the build.
pub(crate) struct Places {
    /// The top of the repository.
    pub(crate) root: PathBuf,
    /// The C sources of the benchmark.
    pub(crate) sources: PathBuf,
    /// Where all is built and written: `target/bench`.
    pub(crate) dir: PathBuf,
    /// `target/release`, below `CARGO_TARGET_DIR` if that is set.
    pub(crate) release: PathBuf,
}

impl Places {
    pub(crate) fn find() -> Result<Self, Failure> {
        let given = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = given.canonicalize().map_err(|error| Failure::of(&given, &error))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        // The tests have a directory of their own, so that a test does not remove what a run has measured.
        let dir = std::env::var_os("QMPI_BENCH_DIR").map_or_else(|| root.join("target/bench"), PathBuf::from);
        Ok(Self { sources: root.join("tests/bench"), dir, release: root.join(target).join("release"), root })
    }

    /// The runtime; the others are beside it.
    pub(crate) fn libqmpi(&self) -> PathBuf {
        self.release.join("libqmpi.so")
    }

    /// The runtime as a tool of an MPI that has QMPI itself.
    pub(crate) fn plugin(&self) -> PathBuf {
        self.release.join("libqmpi_bridge.so")
    }

    pub(crate) fn shim_gen(&self) -> PathBuf {
        self.release.join("shim-gen")
    }

    /// What has to be built before.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let needed = [self.libqmpi(), self.release.join("libqmpi_core.so"), self.plugin(), self.shim_gen()];
        match needed.iter().find(|file| !file.exists()) {
            Some(file) => Err(Failure::new(format!("{} is missing: run without --no-build", file.display()))),
            None => Ok(()),
        }
    }
}
