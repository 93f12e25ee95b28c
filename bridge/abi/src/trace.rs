//! The file that a rank writes its calls to (`qmpi run --trace`): written by `qmpi-recorder`, read by the command.
//!
//! The file is mapped into the process and grows by chunks, so that it is readable whenever the process ends, however that happens. All
//! numbers are those of the machine: little-endian.
//!
//! ```text
//! 0          a line of JSON, zero bytes behind it: who wrote the file, and what its words mean
//! HEAD       chunk: Chunk, records; the next one follows at its `size`
//! record     TracedCall, the arguments (a word each), values that they point to; the next one follows at its `size`
//! value      Value, `stored` elements of `element` bytes, filled up to 8
//! ```
//!
//! A chunk belongs to one thread's calls of one layer. Bits of a word that the type of an argument does not have mean nothing (psABI 3.2.3).

/// Bytes before the first chunk.
pub const HEAD: usize = 64 * 1024;
/// What chunks begin with.
pub const MAGIC: u64 = u64::from_le_bytes(*b"qmpitrac");
/// Chunks begin and end at multiples of it.
pub const GRAIN: usize = 64 * 1024;
/// The version of all this; it grows when something changes its meaning.
pub const VERSION: u32 = 3;

/// The head of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Chunk {
    /// [`MAGIC`].
    pub magic: u64,
    /// Bytes of the chunk.
    pub size: u64,
    /// Bytes in use, this head among them.
    pub used: u64,
    /// Where only the last calls are kept: a chunk is used again for later ones, and has a higher number then.
    pub generation: u64,
    /// The layer that is called: its place in the list of the file's first line.
    pub layer: u64,
    /// The time-stamp counter when the chunk was made.
    pub ticks: u64,
    /// Nanoseconds since 1970 at that moment.
    pub clock: u64,
    /// Calls of the thread and layer that might have been in the chunk, and are not: beyond the limit, or the last ones have their place.
    pub unrecorded: u64,
}

/// A call that came to a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct TracedCall {
    /// Bytes to the next record.
    pub size: u32,
    /// The number of the function.
    pub function: u16,
    /// How many arguments follow.
    pub arguments: u8,
    /// Whether the call has returned.
    pub state: u8,
    /// The layer that is called, and the one that called: 0 is the program.
    pub layer: u16,
    /// The caller.
    pub caller: u16,
    /// The thread, counted from 0 in the order of their first calls.
    pub thread: u32,
    /// The number of the call among those of its thread at all layers.
    pub sequence: u64,
    /// The time-stamp counter when the call began.
    pub start: u64,
    /// The same when it had returned.
    pub end: u64,
    /// What it returned.
    pub result: u64,
    /// The address that a call of the program returns to; 0 for one of a layer.
    pub site: u64,
    /// Bytes in use: what is behind them, up to `size`, means nothing.
    pub used: u32,
    /// Of use to the recorder while the call is under way; 0 when it has returned.
    pub taken: u32,
}

/// [`TracedCall::state`] of a call that has not returned: it is under way, was left by an exception, or ended the process.
pub const BEGUN: u8 = 0;
/// [`TracedCall::state`] of a call that has returned.
pub const RETURNED: u8 = 1;

/// What an argument points to. Of a buffer of the program it is not what is in it, but one word: the hash of that. Then `all` is how many bytes it
/// has. In a status of the standard ABI the words that are reserved say what is in [`AbiStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Value {
    /// Which argument.
    pub place: u8,
    /// [`BEFORE`], [`AFTER`] or [`PENDING`].
    pub moment: u8,
    /// Bytes of an element.
    pub element: u16,
    /// How many elements follow.
    pub stored: u32,
    /// How many there are.
    pub all: u64,
}

/// [`Value::moment`]: before the call.
pub const BEFORE: u8 = 0;
/// [`Value::moment`]: when it had returned.
pub const AFTER: u8 = 1;

/// [`Value::moment`]: room for the hash of a buffer that has not been filled yet, or of which it is not known whether it has been. It becomes
/// [`AFTER`] when another call has completed it.
pub const PENDING: u8 = 2;

/// What is recorded of a status of the standard ABI, where the MPI library keeps numbers in ways of its own: these are what it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct AbiStatus {
    /// `MPI_SOURCE`
    pub source: i32,
    /// `MPI_TAG`
    pub tag: i32,
    /// `MPI_ERROR`
    pub error: i32,
    /// [`HAS_BYTES`], [`IS_CANCELLED`].
    pub flags: u32,
    /// How many bytes were received.
    pub bytes: u64,
    /// Nothing.
    pub unused: u64,
}

/// [`AbiStatus::flags`]: `bytes` is known.
pub const HAS_BYTES: u32 = 1;
/// [`AbiStatus::flags`]: the operation was cancelled.
pub const IS_CANCELLED: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_whole_words() {
        assert_eq!((size_of::<Chunk>(), size_of::<TracedCall>(), size_of::<Value>()), (64, 64, 16));
        assert_eq!(size_of::<AbiStatus>(), 32, "MPI 5.0, 20.3.2");
    }
}
