//! Sizes of datatypes that a thread remembers: those of predefined ones. The handle of any other may be that of another datatype tomorrow, and is
//! asked for each time.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::mpi::Mpi;

/// A table of datatypes and their sizes, all zero at first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sizes([Size; 64]);

/// A datatype, and its size. The handle 0 is none.
#[derive(Debug)]
#[repr(C)]
struct Size {
    handle: AtomicU64,
    bytes: AtomicU64,
}

impl Sizes {
    /// The size of a datatype that was asked for.
    #[inline]
    pub(crate) fn known(&self, datatype: u64) -> Option<u64> {
        let known = self.place(datatype);
        (known.handle.load(Ordering::Relaxed) == datatype).then(|| known.bytes.load(Ordering::Relaxed))
    }

    /// Bytes of an element; 0 if MPI does not say.
    pub(crate) fn of(&self, datatype: u64, mpi: &Mpi) -> u64 {
        self.known(datatype).unwrap_or_else(|| {
            let bytes = mpi.type_size(datatype);
            if bytes != 0 && mpi.is_predefined(datatype) {
                self.set(datatype, bytes);
            }
            bytes
        })
    }

    #[inline]
    fn place(&self, datatype: u64) -> &Size {
        // Handles are addresses of large objects, or differ in some bits (Knuth: multiplicative hashing).
        let place = datatype.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        &self.0[place as usize]
    }

    /// Remembers a size, or forgets it: 0. The handler of a signal that comes in between finds no handle.
    pub(crate) fn set(&self, datatype: u64, bytes: u64) {
        let place = self.place(datatype);
        place.handle.store(0, Ordering::Release);
        place.bytes.store(bytes, Ordering::Release);
        place.handle.store(if bytes == 0 { 0 } else { datatype }, Ordering::Release);
    }
}
