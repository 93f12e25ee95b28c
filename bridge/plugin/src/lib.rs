//! `libqmpi_bridge.so`: the bridge as an ordinary QMPI tool, for an MPI that has QMPI itself.
//!
//! It is linked with or preloaded into the program like any QMPI tool. Its constructor registers one name for every PMPI
//! tool of the configuration; the user puts these names into `QMPI_TOOL_LIST`:
//!
//! ```text
//! QMPI_CONFIG=stack.toml LD_PRELOAD=libqmpi_bridge.so QMPI_TOOL_LIST=outer,heatmap,inner mpiexec -n 4 ./app
//! ```
//!
//! | step | file |
//! |---|---|
//! | which tools there are | `configured.rs` |
//! | registration, and the init callback that loads one instance | `bridge.rs` |
//! | the QMPI functions of the MPI library, and nothing else of it | `qmpi.rs` |
//! | the number that stands for each function | `numbering.rs` |
//!
//! Loading and binding are `qmpi-loader`'s, as in `libqmpi.so`; of that library nothing is used here.

mod bridge;
mod configured;
mod numbering;
mod qmpi;
