//! The words by which layers of a running process are switched off and on, as `qmpi ctl` finds them.
//!
//! The process keeps them in a file in memory (`memfd_create`) that it has mapped, and keeps the file open: `/proc/PID/fd` leads there.
//! So there is no path to agree on, nothing is left behind when the process is gone, however it ends, and processes of other users
//! are kept out by the kernel. A stub reads the state of its layer; nothing in the process has to be woken up.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU32};

/// The name of the file in memory.
pub const NAME: &str = "qmpi:control";
/// Where `/proc/PID/fd` has it as the target of a link.
pub const LINK: &str = "/memfd:qmpi:control (deleted)";
/// How the file begins; the digit stands for this layout.
pub const MAGIC: [u8; 8] = *b"qmpictl1";
/// Layers at most.
pub const LAYERS: usize = 64;
/// Bytes of a label; what is longer is cut off.
pub const LABEL: usize = 120;

/// `state` of a layer that is on.
pub const ON: u32 = 0;
/// `state` of a layer that is off.
pub const OFF: u32 = 1;

/// The contents of the file.
#[derive(Debug)]
#[repr(C)]
pub struct Control {
    /// [`MAGIC`], once all is written.
    pub magic: [AtomicU8; 8],
    /// How many layers there are; a layer is complete before it is counted.
    pub count: AtomicU32,
    /// Not 0 once a layer has been off; written before the layer's state.
    pub active: AtomicU32,
    /// The layers that can be switched.
    pub layers: [Word; LAYERS],
}

/// One layer.
#[derive(Debug)]
#[repr(C)]
pub struct Word {
    /// [`ON`] or [`OFF`].
    pub state: AtomicU32,
    /// Its number, 1 for the outermost of the stack.
    pub tool: AtomicU32,
    /// Its label, and zeros.
    pub label: [AtomicU8; LABEL],
}

/// Bytes of the file.
pub const LEN: usize = size_of::<Control>();
/// Where `active` is in the file.
pub const ACTIVE: u64 = offset_of!(Control, active) as u64;
