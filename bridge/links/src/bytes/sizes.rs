//! Sizes of datatypes, as the MPI library tells them. A thread remembers those of predefined datatypes, which stay what they are as long as
//! the process lives; a handle of any other may be that of another datatype tomorrow, and is asked for each time.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::probe::Recorder;

/// Sizes that a thread remembers.
const PLACES: usize = 64;

/// How sizes are found.
#[derive(Debug)]
pub(crate) struct Sizes {
    predefined: Predefined,
    /// `MPI_DATATYPE_NULL`
    null: u64,
    /// `PMPI_Type_size_x`; 0: an MPI older than 3.0.
    large: usize,
    /// `PMPI_Type_size`
    small: usize,
}

/// Which handles are those of predefined datatypes.
#[derive(Debug)]
pub(crate) enum Predefined {
    /// These.
    Range(Range<u64>),
    /// These, in their order.
    Addresses(Box<[u64]>),
}

/// Sizes that a thread has asked for. All zero at first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Known([Size; PLACES]);

impl Default for Known {
    fn default() -> Self {
        Self([const { Size { handle: AtomicU64::new(0), bytes: AtomicU64::new(0), other: AtomicU64::new(0) } }; PLACES])
    }
}

/// A datatype, and its size. The handle 0 is none.
#[derive(Debug)]
#[repr(C)]
struct Size {
    handle: AtomicU64,
    bytes: AtomicU64,
    /// One that is no predefined datatype's, and will never be.
    other: AtomicU64,
}

impl Sizes {
    pub(crate) fn new(predefined: Predefined, null: u64, large: usize, small: usize) -> Self {
        Self { predefined, null, large, small }
    }

    /// Bytes of an element of this datatype; 0 if MPI does not say.
    #[inline]
    pub(crate) fn of(&self, word: u64, recorder: &Recorder) -> u64 {
        recorder.sizes.known(word).unwrap_or_else(|| self.ask(word, recorder.sizes.place(word)))
    }

    #[cold]
    fn ask(&self, word: u64, known: &Size) -> u64 {
        #![expect(unsafe_code, reason = "calls a function of MPI")]
        // The upper half of a register with a handle of MPICH may be anything.
        let handle = if self.null == 0x0c00_0000 { word & 0xffff_ffff } else { word };
        if handle == self.null {
            return 0;
        }
        let bytes = if self.large != 0 {
            let mut bytes = 0_i64;
            // SAFETY: this function of MPI; MPI_Count has 64 bits.
            let ask = unsafe { std::mem::transmute::<usize, extern "C" fn(u64, &mut i64) -> i32>(self.large) };
            if ask(word, &mut bytes) == 0 { bytes } else { 0 }
        } else if self.small != 0 {
            let mut bytes = 0_i32;
            // SAFETY: this function of MPI.
            let ask = unsafe { std::mem::transmute::<usize, extern "C" fn(u64, &mut i32) -> i32>(self.small) };
            if ask(word, &mut bytes) == 0 { bytes.into() } else { 0 }
        } else {
            0
        };
        let bytes = bytes.max(0).cast_unsigned();
        if known.other.load(Ordering::Relaxed) != word {
            if self.predefined.contain(handle) {
                known.set(word, bytes);
            } else {
                known.other.store(word, Ordering::Relaxed);
            }
        }
        bytes
    }
}

impl Predefined {
    fn contain(&self, handle: u64) -> bool {
        match self {
            Self::Range(range) => range.contains(&handle),
            Self::Addresses(addresses) => addresses.binary_search(&handle).is_ok(),
        }
    }
}

impl Known {
    /// The size of a datatype that was asked for.
    #[inline]
    pub(crate) fn known(&self, handle: u64) -> Option<u64> {
        let known = self.place(handle);
        (known.handle.load(Ordering::Relaxed) == handle).then(|| known.bytes.load(Ordering::Relaxed))
    }

    #[inline]
    fn place(&self, handle: u64) -> &Size {
        // Handles are addresses of large objects, or differ in some bits (Knuth: multiplicative hashing).
        let place = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        &self.0[place as usize]
    }

    /// Remembers a size, or forgets it: 0.
    pub(crate) fn set(&self, handle: u64, bytes: u64) {
        self.place(handle).set(if bytes == 0 { 0 } else { handle }, bytes);
    }
}

impl Size {
    /// A handler of a signal that comes in between finds no handle.
    fn set(&self, handle: u64, bytes: u64) {
        self.handle.store(0, Ordering::Release);
        self.bytes.store(bytes, Ordering::Release);
        self.handle.store(handle, Ordering::Release);
    }
}
