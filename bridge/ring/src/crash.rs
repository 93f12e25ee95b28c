//! What a process that crashes tells `qmpi`, which it starts to look at it: `libqmpi_crash.so`, `libqmpi_core.so` and the command share it.
//!
//! The two speak by packets of a socket: the process sends a [`Crash`], the command asks with a [`Request`], as often as it likes, and the
//! process answers each with packets that begin with a byte: [`DATA`] and bytes behind it, or [`END`].

use crate::arch::registers;

/// Tells builds apart: the command refuses a [`Crash`] that looks different.
pub const LAYOUT: u64 = 0x514d_5049 << 32 | size_of::<Crash>() as u64;

/// The function of `libqmpi_crash.so` that takes the [`Layers`].
pub const SET_LAYERS: &core::ffi::CStr = c"qmpi_crash_set_layers";
/// Its type.
pub type SetLayers = extern "C" fn(&'static Layers);

/// The bytes of a [`Request`] are in the packet behind this byte.
pub const DATA: u8 = 0;
/// There is nothing (more) to send.
pub const END: u8 = 1;
/// A [`Request`] for as many bytes at most is answered by one packet.
pub const PACKET: usize = 32 * 1024;

/// When a report is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Condition {
    /// Always.
    Always,
    /// If the thread is in `abort`, which ends the process although a handler has returned.
    InAbort,
    /// If the thread is in a signal handler, which is about to end the process in another way.
    InHandler,
}

/// What is known at once.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Crash {
    /// [`LAYOUT`].
    pub layout: u64,
    /// A [`Condition`].
    pub condition: u32,
    /// The signal.
    pub signal: i32,
    /// `si_code`
    pub code: i32,
    /// `si_pid`, where another process or the thread itself sent it.
    pub sender: i32,
    /// `si_addr`
    pub address: u64,
    /// The process.
    pub process: i32,
    /// The thread.
    pub thread: i32,
    /// By number in DWARF: `arch::registers`.
    pub registers: [u64; registers::COUNT],
    /// The address of a [`Layers`], or 0.
    pub layers: u64,
    /// The value of `environ`.
    pub environment: u64,
    /// The thread's name.
    pub thread_name: [u8; 16],
    /// The program's file.
    pub program: [u8; 1024],
}

/// A question.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Request {
    /// Where.
    pub address: u64,
    /// How many bytes; 0: the text of `/proc/self/maps`.
    pub length: u64,
}

/// The layers of the process, as text: a line for each that is loaded, or being loaded.
///
/// ```text
/// layer <number> TAB <label> TAB <path> TAB <first object of its namespace, or 0> TAB <its objects, START-END separated by ,>
/// ```
///
/// A line of a layer that is being loaded begins with `loading` instead, and has no objects. Addresses are hexadecimal.
#[derive(Debug)]
#[repr(C)]
pub struct Layers {
    /// The first byte.
    pub text: *const u8,
    /// How many.
    pub length: usize,
}

// SAFETY: the text is never changed, nor freed.
#[expect(unsafe_code, reason = "a pointer to constant text")]
unsafe impl Sync for Layers {}

impl Crash {
    /// One in which nothing is said.
    pub const EMPTY: Crash = Crash {
        layout: LAYOUT,
        condition: 0,
        signal: 0,
        code: 0,
        sender: 0,
        address: 0,
        process: 0,
        thread: 0,
        registers: [0; registers::COUNT],
        layers: 0,
        environment: 0,
        thread_name: [0; 16],
        program: [0; 1024],
    };
}
