//! What `libqmpi.so` calls: the one exported function, and the table that it returns.
#![expect(unsafe_code, reason = "an exported function")]
#![allow(unreachable_pub, reason = "reached by name")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use qmpi_abi::FnId;
use qmpi_links::conversion::{self, CallerMode};
use qmpi_loader::Process;
use qmpi_loader::process::loader_lock;
use qmpi_ring::core_functions::{AnyFunction, Extensions, Text};
use qmpi_ring::{CoreFunctions, Ring, ring};
use qmpi_system::log;

use crate::process::{base, wrapped};
use crate::qmpi::{Class, macros};
use crate::{heap, interface, lost_stack, mpir, start, thesis, versions};

macro_rules! extensions {
    ($( $(#[$doc:meta])* $name:ident = $function:ident ($($arg:ident: $type:ty),*); )*) => {
        Extensions { $(
            $name: {
                extern "C" fn call($($arg: $type),*) -> c_int {
                    interface::code(interface::$function($($arg),*))
                }
                call
            },
        )* }
    };
}

static FUNCTIONS: CoreFunctions = CoreFunctions {
    start: start::start,
    objects_opened: start::objects_opened,
    register: mpir::register,
    find_version: versions::find,
    find_wrapped: wrapped::find,
    find_export: wrapped::find_export,
    look_up_of: base::look_up_of,
    shifted,
    unsupported: start::unsupported,
    get_function: interface::get_function,
    get_tool_storage: interface::get_tool_storage,
    error_argument,
    register_tool_name: interface::register_tool_name,
    register_tool_storage: interface::register_tool_storage,
    register_function: interface::register_function,
    extensions: qmpi_ring::for_each_extension!(extensions),
    thesis_unsupported: thesis::unsupported,
    thesis_no_layer,
    report_lost_stack: lost_stack::report_lost_stack,
};

/// Opens the core for the `libqmpi.so` whose words `ring` are; `None` if that is of another build.
#[unsafe(no_mangle)]
pub extern "C" fn qmpi_core_open(ring: &'static Ring) -> Option<&'static CoreFunctions> {
    if ring.build != ring::build(env!("QMPI_BUILD")) {
        return None;
    }
    heap::choose();
    crate::ring::set(ring);
    let [dlsym, dlvsym] = [&ring.glibc.dlsym, &ring.glibc.dlvsym].map(|word| word.load(Ordering::Relaxed));
    qmpi_loader::process::dlsym::set(dlsym, dlvsym);
    qmpi_links::thread_offsets::set((ring.thread_offsets)());
    Some(&FUNCTIONS)
}

/// The address of the name-shifted function of this number.
extern "C" fn shifted(number: usize) -> usize {
    let link = || {
        let id = FnId::from_index(number)?;
        loader_lock::with(|lock| {
            let process = Process::with_mpi(lock)?;
            let Some(real) = process.real(id) else { return macros::supplied(id, &process) };
            Some(conversion::down(real, conversion::arity(id), CallerMode::Ignore))
        })
    };
    link().unwrap_or_else(|| start::unsupported(number))
}

extern "C" fn error_argument() -> c_int {
    Class::Arg.code()
}

extern "C" fn thesis_no_layer(level: c_int) {
    log::line(log::LogLevel::Warn, &format!("QMPI_Set_context: there is no layer at level {level}"));
}
