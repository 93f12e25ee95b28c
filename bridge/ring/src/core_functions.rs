//! Functions of `libqmpi_core.so` that `libqmpi.so` calls.

use core::ffi::{c_char, c_int, c_void};

use crate::ring::Ring;

/// When start-up is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Moment {
    /// The program is being loaded; constructors are still to come.
    Load,
    /// An MPI function was called that does not initialize MPI: tools may still be registered.
    EarlyCall,
    /// MPI is about to be initialized, or a function of it to be looked up.
    FirstCall,
}

/// `MPI_Tool_init_function`.
pub type Init = extern "C" fn(c_int);
/// `void (*)(void)`, possibly null.
pub type AnyFunction = Option<extern "C" fn()>;

/// The name of the function of `libqmpi_core.so` that has the type [`Open`].
pub const OPEN: &core::ffi::CStr = c"qmpi_core_open";
/// Returns the core's functions; `None` if the two libraries are not of the same build.
pub type Open = extern "C" fn(&'static Ring) -> Option<&'static CoreFunctions>;

/// The functions. Those of `qmpi.h` and `qmpix.h` have its arguments and return MPI error codes.
#[derive(Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the functions of the headers, where they are described")]
pub struct CoreFunctions {
    /// Sets everything up, unless that has happened. Returns whether the slots are filled.
    pub start: extern "C" fn(Moment) -> bool,
    /// Objects were opened since the last call of this function.
    pub objects_opened: extern "C" fn(),
    /// Tells `qmpi run --mpir` of this process; returns when it may go on. With MPI_Abort, where no slot leads to it; else 0.
    pub register: extern "C" fn(usize),
    /// The wrapper of function number so and so that `dlvsym` finds in this version, and `dlsym` where that is null; 0 where no layer
    /// has versions of the function, or not this one. Takes no lock.
    pub find_version: extern "C" fn(usize, *const c_char) -> usize,
    /// What `dlsym` finds of a function that is not MPI's and that a layer wraps, `dlvsym` if the version is not null; 0 for others.
    pub find_wrapped: extern "C" fn(*const c_char, *const c_char) -> usize,
    /// What a tool of the stack exports under a name that is not MPI's; 0: nothing.
    pub find_export: extern "C" fn(*const c_char) -> usize,
    /// The `dlsym` of the PMPI tool of the program that this address is in; 0 where there is none.
    pub look_up_of: extern "C" fn(usize) -> usize,
    /// The address of the name-shifted function of this number, `QMPI_f`; ends the process where MPI has none.
    pub shifted: extern "C" fn(usize) -> usize,
    /// A function of this number was called that MPI does not have; ends the process.
    pub unsupported: extern "C" fn(usize) -> !,
    /// Finds what comes next where neither [`crate::NextTable`] nor [`crate::tools::RegisteredTool::next`] has it.
    pub get_function: extern "C" fn(c_int, c_int, *mut usize, *mut c_int) -> c_int,
    /// Finds a storage that [`crate::tools::RegisteredTool::storage`] has not.
    pub get_tool_storage: extern "C" fn(*mut c_void, c_int, *mut *mut c_void) -> c_int,
    /// The number of `MPI_ERR_ARG`.
    pub error_argument: extern "C" fn() -> c_int,
    /// Where the application called, of a context or place that is null.
    pub get_calling_address: extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int,
    pub register_tool_name: extern "C" fn(*const c_char, Option<Init>) -> c_int,
    pub register_tool_storage: extern "C" fn(c_int, *mut c_void) -> c_int,
    pub register_function: extern "C" fn(c_int, c_int, AnyFunction) -> c_int,
    pub register_function_by_name: extern "C" fn(c_int, *const c_char, AnyFunction) -> c_int,
    pub get_function_by_name: extern "C" fn(c_int, *const c_char, *mut usize, *mut c_int) -> c_int,
    pub register_tool_info: extern "C" fn(c_int, *const c_char, *const c_char) -> c_int,
    pub get_tools: extern "C" fn(c_int, *mut c_void, *mut c_int) -> c_int,
    pub get_layer: extern "C" fn(c_int, *mut c_int, *mut *const c_char) -> c_int,
    pub get_process: extern "C" fn(*mut c_void) -> c_int,
    pub get_mpi_symbol: extern "C" fn(*const c_char, *mut usize) -> c_int,
    pub table_create: extern "C" fn(*mut c_int) -> c_int,
    pub table_create_numbered: extern "C" fn(u32, *mut c_int) -> c_int,
    pub table_next: extern "C" fn(c_int, *mut c_int) -> c_int,
    pub table_copy: extern "C" fn(c_int, *mut c_int) -> c_int,
    pub table_destroy: extern "C" fn(*mut c_int) -> c_int,
    pub table_query: extern "C" fn(c_int, c_int, *mut usize, *mut c_int) -> c_int,
    pub table_query_name: extern "C" fn(c_int, *const c_char, *mut usize, *mut c_int) -> c_int,
    pub table_set: extern "C" fn(c_int, c_int, AnyFunction, c_int) -> c_int,
    pub table_set_name: extern "C" fn(c_int, *const c_char, AnyFunction, c_int) -> c_int,
    pub table_unset: extern "C" fn(c_int, c_int) -> c_int,
    pub table_unset_name: extern "C" fn(c_int, *const c_char) -> c_int,
    pub stack_open: extern "C" fn(*const c_char, c_int, *mut c_int) -> c_int,
    pub tool_enable: extern "C" fn(c_int) -> c_int,
    pub tool_disable: extern "C" fn(c_int) -> c_int,
    pub tool_is_enabled: extern "C" fn(c_int, *mut c_int) -> c_int,
    pub tool_set_function: extern "C" fn(c_int, c_int, AnyFunction, *mut usize) -> c_int,
    pub tool_set_function_name: extern "C" fn(c_int, *const c_char, AnyFunction, *mut usize) -> c_int,
    /// A function of the 2018 prototype's table that nothing has: says so when it is called.
    pub thesis_unsupported: extern "C" fn(c_int) -> usize,
    /// Says that the 2018 prototype's `QMPI_Set_context` was called for a level that does not exist.
    pub thesis_no_layer: extern "C" fn(c_int),
    /// Says that this rank runs without its stack, if the launcher was given one.
    pub report_lost_stack: extern "C" fn(),
}
