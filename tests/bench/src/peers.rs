//! Other runtimes, where they are installed.

use std::path::{Path, PathBuf};

use crate::mpi::Mpi;

/// Those to compare with.
pub(crate) struct Peers {
    pnmpi: Option<PathBuf>,
    mpich: Option<PathBuf>,
}

/// PnMPI, built for one MPI.
pub(crate) struct PnMpi(PathBuf);

impl Peers {
    /// Those that the environment names.
    pub(crate) fn find(root: &Path) -> Self {
        let mpich = std::env::var_os("QMPI_BENCH_MPICH").map_or_else(|| root.join("target/qmpi-mpich"), PathBuf::from);
        Self {
            pnmpi: std::env::var_os("QMPI_BENCH_PNMPI").map(PathBuf::from),
            mpich: Some(mpich).filter(|dir| dir.join("bin/mpicc").exists()),
        }
    }

    /// None of them.
    pub(crate) fn none() -> Self {
        Self { pnmpi: None, mpich: None }
    }

    pub(crate) fn pnmpi(&self, mpi: &Mpi) -> Option<PnMpi> {
        let installed = PnMpi(self.pnmpi.as_ref()?.join(&mpi.name));
        installed.library().exists().then_some(installed)
    }

    pub(crate) fn mpich(&self) -> Option<&Path> {
        self.mpich.as_deref()
    }

    /// A line for each that is left out.
    pub(crate) fn left_out(&self, mpis: &[Mpi]) -> Vec<String> {
        let mut lines = Vec::new();
        let without: Vec<&str> = mpis
            .iter()
            .filter(|mpi| !mpi.is_null() && self.pnmpi(mpi).is_none())
            .map(|mpi| mpi.name.as_str())
            .collect();
        if !without.is_empty() {
            lines.push(format!(
                "not measured: PnMPI for {} (`QMPI_BENCH_PNMPI` names no build of it)",
                without.join(", ")
            ));
        }
        if self.mpich.is_none() {
            lines.push("not measured: MPICH's own QMPI (`ci/setup --qmpi-mpich` builds it)".to_owned());
        }
        lines
    }
}

impl PnMpi {
    pub(crate) fn library(&self) -> PathBuf {
        self.0.join("lib/libpnmpi.so")
    }

    /// What makes a module of a PMPI tool.
    pub(crate) fn patcher(&self) -> PathBuf {
        self.0.join("bin/pnmpi-patch")
    }

    /// The end of the library's own name: `1.9.0`.
    pub(crate) fn version(&self) -> String {
        let file = self.library().canonicalize().unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_prefix("libpnmpi.so.").unwrap_or_default().to_owned()
    }
}
