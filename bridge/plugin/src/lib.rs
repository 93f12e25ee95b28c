//! `libqmpi_bridge.so`: the bridge as an ordinary QMPI tool, for an MPI that has QMPI itself.
//!
//! It is linked with or preloaded into the program like any QMPI tool. Its constructor registers one name for every PMPI
//! tool of the configuration; the user puts these names into the list of the MPI library, which is MPICH's here:
//!
//! ```text
//! export QMPI_CONFIG=stack.toml MPIR_CVAR_QMPI_TOOL_LIST=outer:heatmap:inner
//! LD_PRELOAD=libqmpi_bridge.so mpiexec -n 4 ./app
//! ```
//!
//! Where the MPI of a process has no QMPI, or there is none, it does nothing.
//!
//! Each module uses those above it only:
//!
//! | module | what |
//! |---|---|
//! | `configured` | which tools there are |
//! | `qmpi` | the QMPI functions of the MPI library, and nothing else of it |
//! | `numbering` | the number that stands for each function |
//! | `next` | what comes next below a tool, when a link is first called |
//! | `instances` | one instance for each callback |
//! | `bridge` | registration, and the init callback |
//! | `unwinding` | why it needs no unwinder |
//!
//! Loading and binding are `qmpi-loader`'s, as in `libqmpi.so`; of that library nothing is used here.

mod bridge;
mod configured;
mod instances;
mod next;
mod numbering;
mod qmpi;
#[cfg(panic = "abort")]
#[path = "../../core/src/unwinding.rs"]
mod unwinding;
