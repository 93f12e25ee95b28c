//! QMPI as the MPI library itself has it (MPICH, built with `--enable-qmpi`), with a chain of its own that begins where this one ends.
//!
//! A library of tools may stand in both chains: its names are registered in both, and each takes those that its list has. Tools of the
//! MPI library's chain are numbered from 1 as well, so layers of the stack come behind: a number tells which chain is meant.
#![expect(unsafe_code, reason = "calls functions of the MPI library by their addresses")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use qmpi_dynamic::mpi::ONLY_WITH_QMPI;
use qmpi_loader::Process;
use qmpi_loader::process::loader_lock;
use qmpi_ring::core_functions::{AnyFunction, Init};

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

/// Defines a function for each of the MPI library's; `None` where it has none.
macro_rules! functions {
    ($( $(#[$doc:meta])* $own:ident = $name:literal ($($arg:ident: $type:ty),*); )*) => { $(
        $(#[$doc])*
        pub(crate) fn $own($($arg: $type),*) -> Option<c_int> {
            static PLACE: OnceLock<usize> = OnceLock::new();
            let address = address(&PLACE, $name)?;
            // SAFETY: the MPI library's function of this name has these arguments.
            let function = unsafe { std::mem::transmute::<usize, extern "C" fn($($type),*) -> c_int>(address) };
            Some(function($($arg),*))
        }
    )* };
}

functions! {
    /// Registers a name.
    register_tool_name = c"QMPI_Register_tool_name" (name: *const c_char, init: Option<Init>);
    /// Registers a storage.
    register_tool_storage = c"QMPI_Register_tool_storage" (tool: c_int, storage: *mut c_void);
    /// Registers a function.
    register_function = c"QMPI_Register_function" (tool: c_int, value: c_int, function: AnyFunction);
    /// Finds what comes next.
    get_function = c"QMPI_Get_function" (tool: c_int, value: c_int, function: *mut usize, next: *mut c_int);
    /// Finds a storage.
    get_tool_storage = c"QMPI_Get_tool_storage" (context: *mut c_void, tool: c_int, storage: *mut *mut c_void);
    /// Finds where the application called.
    get_calling_address = c"QMPI_Get_calling_address" (context: *mut c_void, address: *mut *mut c_void);
}

/// Where a function is. That there is none is not kept: MPI may be opened later.
fn address(place: &OnceLock<usize>, name: &CStr) -> Option<usize> {
    if let Some(address) = place.get() {
        return Some(*address);
    }
    let address = loader_lock::with(|lock| {
        let process = Process::with_mpi(lock)?;
        process.function(ONLY_WITH_QMPI)?;
        process.function(name)
    })?;
    Some(*place.get_or_init(|| address))
}
