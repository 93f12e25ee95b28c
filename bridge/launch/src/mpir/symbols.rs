//! The symbols of the MPIR interface, exported by `qmpi`: a debugger reads and writes them while this process is stopped.
//!
//! Names, types and values are those of "The MPIR Process Acquisition Interface", version 1.0. Their types are also in the debug information
//! that `build.rs` of the command adds and that `strip` keeps. Symbols of extensions that are not there (`MPIR_server_arguments` and its kin) are not defined:
//! a debugger takes a symbol for a promise.
#![expect(unsafe_code, reason = "symbols that are exported by name")]
#![allow(non_upper_case_globals, non_snake_case, non_camel_case_types, reason = "MPIR's names")]

use std::ffi::{CString, c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use crate::mpir::table::MpirProcess;

/// A process of the job.
#[derive(Debug)]
#[repr(C)]
pub struct MPIR_PROCDESC {
    /// Where it runs.
    pub host_name: *const c_char,
    /// What it runs.
    pub executable_name: *const c_char,
    /// Its number there.
    pub pid: c_int,
}

/// `MPIR_DEBUG_SPAWNED`: the table has processes that it had not before.
pub const SPAWNED: c_int = 1;
/// `MPIR_DEBUG_ABORTING`: see [`MPIR_debug_abort_string`].
pub const ABORTING: c_int = 2;

/// The processes, by their ranks.
#[unsafe(no_mangle)]
pub static MPIR_proctable: AtomicPtr<MPIR_PROCDESC> = AtomicPtr::new(null_mut());
/// How many there are.
#[unsafe(no_mangle)]
pub static MPIR_proctable_size: AtomicI32 = AtomicI32::new(0);
/// Why `MPIR_Breakpoint` is called: 0, [`SPAWNED`], [`ABORTING`].
#[unsafe(no_mangle)]
pub static MPIR_debug_state: AtomicI32 = AtomicI32::new(0);
/// Why the job is about to end.
#[unsafe(no_mangle)]
pub static MPIR_debug_abort_string: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
/// The debugger sets it to have ranks wait.
#[unsafe(no_mangle)]
pub static MPIR_being_debugged: AtomicI32 = AtomicI32::new(0);
/// 1 once ranks may go on. A debugger may set it before it goes on.
#[unsafe(no_mangle)]
pub static MPIR_debug_gate: AtomicI32 = AtomicI32::new(0);
/// This process is not a rank.
#[unsafe(no_mangle)]
pub static MPIR_i_am_starter: AtomicI32 = AtomicI32::new(1);
/// The ranks go on although the debugger has attached to none of them, or to some.
#[unsafe(no_mangle)]
pub static MPIR_partial_attach_ok: AtomicI32 = AtomicI32::new(1);
/// Ranks are held before `main`.
#[unsafe(no_mangle)]
pub static MPIR_acquired_pre_main: AtomicI32 = AtomicI32::new(1);

/// Where debuggers set their breakpoint: called when [`MPIR_debug_state`] has something to say.
///
/// A debugger that is killed leaves its breakpoint behind: `int3` in the place of the first byte. That is an instruction which does
/// nothing, and `child.rs` handles the signal: so the job goes on.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn MPIR_Breakpoint() {
    std::arch::naked_asm!("nop", "ret");
}

/// Is a debugger there?
pub fn is_debugged() -> bool {
    MPIR_being_debugged.load(Ordering::SeqCst) != 0
}

/// Shows the debugger these processes; returns once it goes on. Old tables stay: it may be reading them.
pub fn publish(processes: &[&MpirProcess]) {
    let text = |text: &str| CString::new(text).unwrap_or_default().into_raw().cast_const();
    let table: Vec<MPIR_PROCDESC> = processes
        .iter()
        .map(|process| MPIR_PROCDESC {
            host_name: text(&process.host),
            executable_name: text(&process.executable),
            pid: process.pid.cast_signed(),
        })
        .collect();
    let size = c_int::try_from(table.len()).unwrap_or(c_int::MAX);
    MPIR_proctable.store(table.leak().as_mut_ptr(), Ordering::SeqCst);
    MPIR_proctable_size.store(size, Ordering::SeqCst);
    MPIR_debug_state.store(SPAWNED, Ordering::SeqCst);
    stop();
    MPIR_debug_gate.store(1, Ordering::SeqCst);
}

/// Tells the debugger that the job is about to end; returns once it goes on.
pub fn abort(why: String) {
    MPIR_debug_abort_string.store(CString::new(why).unwrap_or_default().into_raw(), Ordering::SeqCst);
    MPIR_debug_state.store(ABORTING, Ordering::SeqCst);
    stop();
}

fn stop() {
    if is_debugged() {
        MPIR_Breakpoint();
    }
}
