//! The file in which ranks of one host count while they run (`qmpi run --report`): written by `qmpi-recorder`, read by the command where a rank
//! came to no end.
//!
//! Processes append regions to it and map them, so that what they count is readable however they end. All numbers are those of
//! the machine.
//!
//! ```text
//! head      Region, a line of JSON that ends with a zero byte: what a rank's record begins with. At TABLE a word for each place that
//!           records have: the layer and one, the function in the lower half; 0: nobody's
//! thread    Region, other things, then records, one for each place: LinkCounts, and for each layer the calls that it made, the bytes that these sent
//!           and received
//! ```

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Regions begin and end at multiples of it.
pub const GRAIN: usize = 64 * 1024;
/// What regions begin with.
pub const MAGIC: u64 = u64::from_le_bytes(*b"qmpicnt2");
/// Where the words of a head are.
pub const TABLE: usize = GRAIN / 2;
/// How many there are.
pub const PLACES: usize = (GRAIN - TABLE) / 8;

/// What a region begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Region {
    /// [`MAGIC`]
    pub magic: u64,
    /// Bytes of the region.
    pub size: u64,
    /// [`HEAD`] or [`THREAD`].
    pub kind: u64,
    /// The process.
    pub process: u64,
    /// When it started, in milliseconds since 1970: numbers of processes come again.
    pub started: u64,
    /// Of a thread: the time-stamp counter when its last call had returned.
    pub last: u64,
    /// Of a head: 1 when the process has written its record, and needs the file no more.
    pub is_done: u64,
    /// Filled up.
    pub padding: u64,
}

/// [`Region::kind`] of what holds for a process.
pub const HEAD: u64 = 1;
/// [`Region::kind`] of what a thread counts.
pub const THREAD: u64 = 2;

/// Bits of a time, and of buckets.
pub const BUCKETS: usize = 64;

/// What is known of the calls through one link, in one thread, which writes the words while others read them. Three words for each caller follow: its
/// calls, and the bytes that these sent and received.
#[derive(Debug)]
#[repr(C)]
pub struct LinkCounts {
    /// Time from call to return.
    pub inclusive: AtomicU64,
    /// The same without calls of layers below.
    pub own: AtomicU64,
    /// The longest call.
    pub longest: AtomicU64,
    /// By the number of bits of the time.
    pub histogram: [AtomicU32; BUCKETS],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_whole_words() {
        assert_eq!((size_of::<Region>(), size_of::<LinkCounts>()), (64, 280));
        assert_eq!(PLACES, 4096);
    }
}
