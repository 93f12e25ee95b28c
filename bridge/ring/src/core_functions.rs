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
/// `QMPI_Register_tool_name`.
pub type RegisterToolName = extern "C" fn(Text, Option<Init>) -> c_int;
/// A C string of the caller's, or null.
pub type Text = *const c_char;
/// `void (*)(void)`, possibly null.
pub type AnyFunction = Option<extern "C" fn()>;

/// The name of the function of `libqmpi_core.so` that has the type [`Open`].
pub const OPEN: &core::ffi::CStr = c"qmpi_core_open";
/// Returns the core's functions; `None` if the two libraries are not of the same build.
pub type Open = extern "C" fn(&'static Ring) -> Option<&'static CoreFunctions>;

/// What functions of `qmpi.h` return for a tool of the MPI library's own chain: that library's QMPI is to answer. No error class has the number.
pub const LEFT_TO_MPI: c_int = c_int::MIN;

/// Hands all functions of `qmpix.h` to the macro `$define`: what each does, its name, the core's
/// function behind it (`core/src/interface.rs`), and its parameters.
#[macro_export]
macro_rules! for_each_extension {
    ($define:ident) => {
        $define! {
            /// Registers the function that is called for one of this name, such as `MPIX_Comm_agree`; in the init callback.
            QMPIX_Register_function_by_name = register_function_by_name(tool: c_int, name: Text, function: AnyFunction);
            /// What to call next for a function by its name.
            QMPIX_Get_function_by_name =
                get_function_by_name(tool: c_int, name: Text, function: *mut usize, next: *mut c_int);
            /// What a tool says of itself; in the init callback.
            QMPIX_Register_tool_info = register_tool_info(tool: c_int, version: Text, description: Text);
            /// The tools that are present.
            QMPIX_Get_tools = get_tools(max: c_int, records: *mut c_void, count: *mut c_int);
            /// The layer that a tool is, or in front of which it stands.
            QMPIX_Get_layer = get_layer(tool: c_int, place: *mut c_int, label: *mut Text);
            /// What is known of the process.
            QMPIX_Get_process = get_process(process: *mut c_void);
            /// The MPI library's own function of a name, as PMPI has it, or a variable of it.
            QMPIX_Get_mpi_symbol = get_mpi_symbol(name: Text, address: *mut usize);
            /// A new table in which nothing is set.
            QMPIX_Table_create = table_create(handle: *mut c_int);
            /// The same, for functions numbered as a note of this value says.
            QMPIX_Table_create_numbered = table_create_numbered(numbering: u32, handle: *mut c_int);
            /// A new table of what comes next below a tool.
            QMPIX_Table_next = table_next(tool: c_int, handle: *mut c_int);
            /// A copy.
            QMPIX_Table_copy = table_copy(from: c_int, handle: *mut c_int);
            /// Destroys a table.
            QMPIX_Table_destroy = table_destroy(handle: *mut c_int);
            /// What is set for an enumerator.
            QMPIX_Table_query = table_query(table: c_int, value: c_int, function: *mut usize, tool: *mut c_int);
            /// The same by name.
            QMPIX_Table_query_name = table_query(table: c_int, name: Text, function: *mut usize, tool: *mut c_int);
            /// Sets a function.
            QMPIX_Table_set = table_set(table: c_int, value: c_int, function: AnyFunction, tool: c_int);
            /// The same by name.
            QMPIX_Table_set_name = table_set(table: c_int, name: Text, function: AnyFunction, tool: c_int);
            /// Unsets a function.
            QMPIX_Table_unset = table_unset(table: c_int, value: c_int);
            /// The same by name.
            QMPIX_Table_unset_name = table_unset(table: c_int, name: Text);
            /// Loads a named stack on top of a table.
            QMPIX_Stack_open = stack_open(name: Text, below: c_int, top: *mut c_int);
            /// Lets calls go into a layer again.
            QMPIX_Tool_enable = tool_enable(tool: c_int);
            /// Lets calls go past a layer.
            QMPIX_Tool_disable = tool_disable(tool: c_int);
            /// Do calls go into a layer?
            QMPIX_Tool_is_enabled = tool_is_enabled(tool: c_int, flag: *mut c_int);
            /// Puts a function in the place of one of a layer's.
            QMPIX_Tool_set_function =
                tool_set_function(tool: c_int, value: c_int, function: AnyFunction, old: *mut usize);
            /// The same by name.
            QMPIX_Tool_set_function_name =
                tool_set_function(tool: c_int, name: Text, function: AnyFunction, old: *mut usize);
        }
    };
}

macro_rules! extensions {
    ($( $(#[$doc:meta])* $name:ident = $function:ident ($($arg:ident: $type:ty),*); )*) => {
        /// The functions of `qmpix.h`, which return MPI error codes.
        #[derive(Debug)]
        #[repr(C)]
        #[allow(non_snake_case, reason = "names of C functions")]
        pub struct Extensions { $( $(#[$doc])* pub $name: extern "C" fn($($type),*) -> c_int, )* }
    };
}
for_each_extension!(extensions);

/// The functions. Those of `qmpi.h` have its arguments and return MPI error codes.
#[derive(Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the functions of the headers, where they are described")]
pub struct CoreFunctions {
    /// Sets everything up, unless that has happened. Returns whether the slots are filled.
    pub start: extern "C" fn(Moment) -> bool,
    /// Objects were opened since the last call of this function.
    pub objects_opened: extern "C" fn(),
    /// Tells `qmpi run --mpir` of this process; returns when it may go on. The argument is the address of MPI_Abort where no slot leads to it, else 0.
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
    /// Also gets the function of the MPI library's own QMPI, if that has it.
    pub register_tool_name: extern "C" fn(Text, Option<Init>, Option<RegisterToolName>) -> c_int,
    pub register_tool_storage: extern "C" fn(c_int, *mut c_void) -> c_int,
    pub register_function: extern "C" fn(c_int, c_int, AnyFunction) -> c_int,
    pub extensions: Extensions,
    /// A function of the 2018 prototype's table that nothing has: says so when it is called.
    pub thesis_unsupported: extern "C" fn(c_int) -> usize,
    /// Says that the 2018 prototype's `QMPI_Set_context` was called for a level that does not exist.
    pub thesis_no_layer: extern "C" fn(c_int),
    /// Says that this rank runs without its stack, if the launcher was given one.
    pub report_lost_stack: extern "C" fn(),
}
