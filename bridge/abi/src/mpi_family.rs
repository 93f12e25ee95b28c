//! Whose handles and constants an MPI library has.

use core::fmt;

/// MPI libraries that a binary can be exchanged between, in the order of the columns of `constants.tsv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MpiFamily {
    /// The MPICH ABI initiative: MPICH, Intel MPI, MVAPICH, Cray MPICH, ParaStation MPI; handles are `int`.
    Mpich,
    /// Open MPI and what is made of it (IBM Spectrum MPI, HPC-X, Fujitsu MPI): handles are pointers.
    OpenMpi,
    /// The ABI that MPI 5.0 standardises.
    StandardAbi,
}

impl MpiFamily {
    /// Every family, and its word in a trace's first line. The place, counted from 1, is its number in `enum QMPIX_Abi`.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Mpich, "mpich"), (Self::OpenMpi, "openmpi"), (Self::StandardAbi, "abi")];

    /// For messages.
    pub fn name(self) -> &'static str {
        ["MPICH", "Open MPI", "the MPI standard ABI"][self as usize]
    }
}

impl fmt::Display for MpiFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
