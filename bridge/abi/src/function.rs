//! One row of the table.

/// What the bridge has to know about one MPI function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// C name without the `P` of the profiling interface: `MPI_Send`.
    pub name: &'static str,
    /// Number of arguments; of a variadic function, the number of fixed ones.
    pub args: u8,
    /// How the result comes back.
    pub result: ResultKind,
    /// `MPI_Pcontrol` is the only variadic function of the standard.
    pub variadic: bool,
    /// What defines the function.
    pub origin: Origin,
    /// Lower-case name in `mpif.h` without trailing underscores (`mpi_send`), where there is a Fortran binding.
    pub fortran: Option<&'static str>,
}

impl Function {
    /// A row of the generated table, short enough to stay on one line.
    pub(crate) const fn row(
        name: &'static str,
        args: u8,
        result: ResultKind,
        variadic: bool,
        origin: Origin,
        fortran: Option<&'static str>,
    ) -> Self {
        Self { name, args, result, variadic, origin, fortran }
    }
}

/// The class of a result, as far as a calling convention can tell results apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// `int`: an error code.
    Int,
    /// A handle, an address or an `MPI_Fint`: at most one general-purpose register, the width depends on the MPI.
    Word,
    /// `double`: `MPI_Wtime` and `MPI_Wtick`.
    Double,
    /// No result.
    Void,
}

/// What defines a function: the standard, or an MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The MPI standard, since this version (major, minor).
    Standard(u8, u8),
    /// An extension that MPICH declares, or declared first.
    Mpich,
    /// An extension of Open MPI.
    OpenMpi,
}
