//! The C functions of `qmpi.h` and `qmpix.h`: MPICH's names, the draft's names, and look-up by name.
//!
//! What wrappers call is answered here, by a look into a table; everything else is the core's.
#![expect(unsafe_code, reason = "exported C functions that write through pointers of their callers")]
#![allow(non_snake_case, reason = "names of MPI")]
#![allow(unreachable_pub, reason = "reached by name from other objects")]

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::AtomicUsize;

use qmpi_ring::Next;
use qmpi_ring::core_functions::{AnyFunction, Init};

use crate::core_library;
use crate::references::mpi_with_qmpi;
use crate::ring::RING;

/// `QMPI_Context`, a struct of one pointer, as it is passed: in a register. Here, the application's return address.
type Context = *mut c_void;

/// What comes next for `tool`, one of a named stack, and the enumerator `value`.
fn next_in_named_stack(tool: c_int, value: c_int) -> Option<&'static Next> {
    // What is negative is too large.
    let next = RING.tools.get().get(tool as u32 as usize)?.next.get(value as u32 as usize)?;
    (next.function != 0).then_some(next)
}

/// Defines functions that hand a call on: to the MPI library's own QMPI, if it has one and there is no stack, else to the core. Apart, so
/// that the way of nearly every call saves no registers.
macro_rules! hand_on {
    ($( $field:ident to $name:literal $args:tt; )*) => { $( hand_on!(@one $field $name $args); )* };
    (@one $field:ident $name:literal ($($arg:ident: $type:ty),*)) => {
        #[cold]
        #[inline(never)]
        extern "C" fn $field($($arg: $type),*) -> c_int {
            static OF_MPI: AtomicUsize = AtomicUsize::new(0);
            match mpi_with_qmpi::without_stack($name, &OF_MPI) {
                Some(address) => {
                    // SAFETY: the MPI library's function of this name has these arguments.
                    let function = unsafe { core::mem::transmute::<usize, extern "C" fn($($type),*) -> c_int>(address) };
                    function($($arg),*)
                }
                None => (core_library::functions().$field)($($arg),*),
            }
        }
    };
}

hand_on! {
    register_tool_name to c"QMPI_Register_tool_name" (name: *const c_char, init: Option<Init>);
    register_tool_storage to c"QMPI_Register_tool_storage" (tool: c_int, storage: *mut c_void);
    register_function to c"QMPI_Register_function" (tool: c_int, value: c_int, function: AnyFunction);
    get_function to c"QMPI_Get_function" (tool: c_int, value: c_int, function: *mut usize, next: *mut c_int);
    get_tool_storage to c"QMPI_Get_tool_storage" (context: Context, tool: c_int, storage: *mut *mut c_void);
    get_calling_address to c"QMPI_Get_calling_address" (context: Context, address: *mut *mut c_void);
}

/// What is not in the table of the stack. Apart, so that the way of nearly every call saves no registers.
#[cold]
#[inline(never)]
extern "C" fn look_further(tool: c_int, value: c_int, function: *mut usize, next: *mut c_int) -> c_int {
    match next_in_named_stack(tool, value) {
        Some(found) if !function.is_null() && !next.is_null() => {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { function.write(found.function) };
            // SAFETY: not null, so another variable of the caller's.
            unsafe { next.write(found.tool) };
            0
        }
        _ => get_function(tool, value, function, next),
    }
}

/// Defines the same functions under several names.
macro_rules! interface {
    ($( $(#[$doc:meta])* [$($name:ident),+] $args:tt $body:block )*) => {
        $( interface!(@each [$($name)+] { $(#[$doc])* } $args $body); )*
    };
    (@each [] $doc:tt $args:tt $body:block) => {};
    (@each [$first:ident $($rest:ident)*] $doc:tt $args:tt $body:block) => {
        interface!(@one $first $doc $args $body);
        interface!(@each [$($rest)*] $doc $args $body);
    };
    (@one $name:ident { $(#[$doc:meta])* } ($($arg:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> c_int $body
    };
}

interface! {
    /// What to call next for an enumerator, and the id to pass; once all tools are initialized.
    [QMPI_Get_function, MPI_Get_next_tool_function, MPI_Get_function](tool: c_int, value: c_int, function: *mut usize, next_tool: *mut c_int) {
        // What is negative is too large.
        if let Some(found) = RING.next.get().find(tool as u32, value as u32) && !function.is_null() && !next_tool.is_null() {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { function.write(found.function) };
            // SAFETY: not null, so another variable of the caller's.
            unsafe { next_tool.write(found.tool) };
            return 0;
        }
        look_further(tool, value, function, next_tool)
    }

    /// What the tool registered as its storage.
    [QMPI_Get_tool_storage, MPI_Get_tool_storage](context: Context, tool: c_int, storage: *mut *mut c_void) {
        // A layer that is a QMPI tool and set up.
        if let Some(found) = RING.tools.get().get(tool as u32 as usize).filter(|tool| tool.more.is_some()) && !storage.is_null() {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { storage.write(core::ptr::with_exposed_provenance_mut(found.storage)) };
            return 0;
        }
        get_tool_storage(context, tool, storage)
    }

    /// Where the application called MPI.
    [QMPI_Get_calling_address, MPI_Get_calling_address](context: Context, address: *mut *mut c_void) {
        // Of a call that has entered no layer: the MPI library's own chain may know.
        if address.is_null() || context.is_null() {
            return get_calling_address(context, address);
        }
        // SAFETY: not null, so a variable of the caller's.
        unsafe { address.write(context) };
        0
    }

    /// Registers a tool's name and its init callback; before MPI is initialized.
    [QMPI_Register_tool_name, MPI_Register_tool_name](name: *const c_char, init: Option<Init>) {
        register_tool_name(name, init)
    }

    /// Registers what `QMPI_Get_tool_storage` gives back; in the init callback.
    [QMPI_Register_tool_storage, MPI_Register_tool_storage](tool: c_int, storage: *mut c_void) {
        register_tool_storage(tool, storage)
    }

    /// Registers the function that is called for an enumerator; in the init callback.
    [QMPI_Register_function, MPI_Register_tool_function, MPI_Register_function](tool: c_int, value: c_int, function: AnyFunction) {
        register_function(tool, value, function)
    }
}

/// Defines functions that are the core's.
macro_rules! of_the_core {
    ($( $(#[$doc:meta])* $name:ident = $field:ident ($($arg:ident: $type:ty),*); )*) => { $(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> c_int {
            (core_library::functions().$field)($($arg),*)
        }
    )* };
}

of_the_core! {
    /// The same for a function by its name, such as `MPIX_Comm_agree`.
    QMPIX_Register_function_by_name = register_function_by_name(tool: c_int, name: *const c_char, function: AnyFunction);
    /// What to call next for a function by its name.
    QMPIX_Get_function_by_name =
        get_function_by_name(tool: c_int, name: *const c_char, function: *mut usize, next: *mut c_int);
    /// What a tool says of itself; in the init callback.
    QMPIX_Register_tool_info = register_tool_info(tool: c_int, version: *const c_char, description: *const c_char);
    /// The tools that are present.
    QMPIX_Get_tools = get_tools(max: c_int, records: *mut c_void, count: *mut c_int);
    /// The layer that a tool is, or in front of which it stands.
    QMPIX_Get_layer = get_layer(tool: c_int, place: *mut c_int, label: *mut *const c_char);
    /// What is known of the process.
    QMPIX_Get_process = get_process(process: *mut c_void);
    /// The MPI library's own function of a name, as PMPI has it, or a variable of it.
    QMPIX_Get_mpi_symbol = get_mpi_symbol(name: *const c_char, address: *mut usize);
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
    QMPIX_Table_query_name = table_query_name(table: c_int, name: *const c_char, function: *mut usize, tool: *mut c_int);
    /// Sets a function.
    QMPIX_Table_set = table_set(table: c_int, value: c_int, function: AnyFunction, tool: c_int);
    /// The same by name.
    QMPIX_Table_set_name = table_set_name(table: c_int, name: *const c_char, function: AnyFunction, tool: c_int);
    /// Unsets a function.
    QMPIX_Table_unset = table_unset(table: c_int, value: c_int);
    /// The same by name.
    QMPIX_Table_unset_name = table_unset_name(table: c_int, name: *const c_char);
    /// Loads a named stack on top of a table.
    QMPIX_Stack_open = stack_open(name: *const c_char, below: c_int, top: *mut c_int);
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
        tool_set_function_name(tool: c_int, name: *const c_char, function: AnyFunction, old: *mut usize);
}
