//! QMPI as the MPI library itself has it (MPICH, built with `--enable-qmpi`), with a chain of its own that begins where this one ends.
//!
//! A library of tools may stand in both chains: its names are registered in both, and each takes those that its list has. Tools of the
//! MPI library's chain are numbered from 1 as well, so layers of the stack come behind: a number tells which chain is meant. `libqmpi.so` hands calls of the MPI library's own tools on to it.

use qmpi_dynamic::mpi::ONLY_WITH_QMPI;
use qmpi_loader::Process;

/// Where MPICH takes the names of its tools from, each behind a `:` (its `src/mpi_t/qmpi_register.c`; the first two are old beginnings of
/// its variables' names).
const LISTS: [&str; 3] = ["MPICH_QMPI_TOOL_LIST", "MPIR_PARAM_QMPI_TOOL_LIST", "MPIR_CVAR_QMPI_TOOL_LIST"];

/// How many numbers the MPI library may give to tools of its own chain.
pub(crate) fn numbers(process: &Process) -> i32 {
    if process.function(ONLY_WITH_QMPI).is_none() {
        return 0;
    }
    let longest = lists().map(|list| names(&list).count()).max();
    i32::try_from(longest.unwrap_or(0)).unwrap_or(0)
}

/// Is the name in the MPI library's list?
pub(crate) fn wants(name: &str) -> bool {
    lists().any(|list| names(&list).any(|wanted| wanted == name))
}

fn lists() -> impl Iterator<Item = String> {
    LISTS.iter().filter_map(|name| std::env::var(name).ok())
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(':').filter(|name| !name.is_empty())
}
