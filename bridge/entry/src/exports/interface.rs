//! The C functions of `qmpi.h` and `qmpix.h`: MPICH's names, the draft's names, and look-up by name.
//!
//! What wrappers call is answered here, by a look into a table; everything else is the core's.
#![expect(unsafe_code, reason = "exported C functions that write through pointers of their callers")]
#![allow(non_snake_case, reason = "names of MPI")]
#![allow(unreachable_pub, reason = "reached by name from other objects")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;

use qmpi_ring::Next;
use qmpi_ring::core_functions::{AnyFunction, Init, LEFT_TO_MPI, Text};

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

/// The function of the MPI library's own QMPI with this name and these parameters, if it has QMPI.
macro_rules! of_mpi {
    ($name:literal ($($type:ty),*)) => {{
        static ADDRESS: AtomicUsize = AtomicUsize::new(0);
        let address = mpi_with_qmpi::own_function($name, &ADDRESS);
        // SAFETY: the MPI library's function of this name has these parameters.
        address.map(|address| unsafe { core::mem::transmute::<usize, extern "C" fn($($type),*) -> c_int>(address) })
    }};
}

/// Defines functions that hand a call on: to the MPI library's own QMPI, if it has one and there is no stack, or the core leaves it to that;
/// else to the core. Apart, so that the way of nearly every call saves no registers.
macro_rules! hand_on {
    ($( $field:ident to $name:literal $args:tt; )*) => { $( hand_on!(@one $field $name $args); )* };
    (@one $field:ident $name:literal ($($arg:ident: $type:ty),*)) => {
        #[cold]
        #[inline(never)]
        extern "C" fn $field($($arg: $type),*) -> c_int {
            let of_core = || (core_library::functions().$field)($($arg),*);
            match if mpi_with_qmpi::is_without_stack() { LEFT_TO_MPI } else { of_core() } {
                LEFT_TO_MPI => of_mpi!($name ($($type),*)).map_or_else(of_core, |function| function($($arg),*)),
                code => code,
            }
        }
    };
}

hand_on! {
    register_tool_storage to c"QMPI_Register_tool_storage" (tool: c_int, storage: *mut c_void);
    register_function to c"QMPI_Register_function" (tool: c_int, value: c_int, function: AnyFunction);
    get_function to c"QMPI_Get_function" (tool: c_int, value: c_int, function: *mut usize, next: *mut c_int);
    get_tool_storage to c"QMPI_Get_tool_storage" (context: Context, tool: c_int, storage: *mut *mut c_void);
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
        if address.is_null() {
            return (core_library::functions().error_argument)();
        }
        // Of a call that has entered no layer: the MPI library's own chain may know.
        if context.is_null() && let Some(function) = of_mpi!(c"QMPI_Get_calling_address" (Context, *mut *mut c_void)) {
            return function(context, address);
        }
        // SAFETY: not null, so a variable of the caller's.
        unsafe { address.write(context) };
        0
    }

    /// Registers a tool's name and its init callback; before MPI is initialized.
    [QMPI_Register_tool_name, MPI_Register_tool_name](name: Text, init: Option<Init>) {
        match of_mpi!(c"QMPI_Register_tool_name" (Text, Option<Init>)) {
            Some(function) if mpi_with_qmpi::is_without_stack() => function(name, init),
            of_mpi => (core_library::functions().register_tool_name)(name, init, of_mpi),
        }
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
    ($( $(#[$doc:meta])* $name:ident = $function:ident ($($arg:ident: $type:ty),*); )*) => { $(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> c_int {
            (core_library::functions().extensions.$name)($($arg),*)
        }
    )* };
}
qmpi_ring::for_each_extension!(of_the_core);
