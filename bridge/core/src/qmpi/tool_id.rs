//! Numbers of layers.

use std::sync::atomic::{AtomicI32, Ordering};

/// Number of a layer in its interface with QMPI tools: 1 is the outermost, 0 the MPI library. Where the MPI library has tools of a chain of
/// its own, these come first, and the outermost layer has the number after theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct ToolId(pub(crate) i32);

/// How many numbers tools of the MPI library's own chain have.
static OF_MPI: AtomicI32 = AtomicI32::new(0);
/// The highest number that a layer has.
static LAST: AtomicI32 = AtomicI32::new(0);

impl ToolId {
    /// What `next_tool_id` is for the MPI library itself.
    pub(crate) const MPI: ToolId = ToolId(0);

    /// Numbers up to this one belong to tools of the MPI library's own chain; to be said before layers get theirs.
    pub(crate) fn leave_to_mpi(count: i32) {
        OF_MPI.store(count, Ordering::Relaxed);
        LAST.store(count, Ordering::Relaxed);
    }

    /// Gives numbers to so many layers; returns that of the outermost.
    pub(crate) fn give(count: usize) -> ToolId {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        ToolId(LAST.fetch_add(count, Ordering::Relaxed) + 1)
    }

    /// The highest number that a layer has.
    pub(crate) fn last() -> ToolId {
        ToolId(LAST.load(Ordering::Relaxed))
    }

    /// Is it a tool of the MPI library's own chain?
    pub(crate) fn is_of_mpi(self) -> bool {
        (1..=OF_MPI.load(Ordering::Relaxed)).contains(&self.0)
    }

    /// The place of this layer in the stack of the process, 0 being the outermost.
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.level() - 1).unwrap_or(0)
    }

    /// How many layers the stack has down to this one, itself included; 0 for the MPI library.
    pub(crate) fn level(self) -> i32 {
        if self == ToolId::MPI { 0 } else { self.0.saturating_sub(OF_MPI.load(Ordering::Relaxed)) }
    }
}
