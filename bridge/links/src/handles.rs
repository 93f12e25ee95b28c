//! How an MPI represents handles, and how they are read from the arguments of a call.
#![expect(unsafe_code, reason = "reads arguments of MPI's functions")]

use std::ffi::c_int;
use std::ptr;

/// Handles of one kind in this process.
#[derive(Debug, Clone, Copy)]
pub struct KnownHandles {
    /// Bytes of a handle, 4 or 8.
    pub size: usize,
    /// The null handle.
    pub null: usize,
    /// The address of a function such as `MPI_Comm_f2c`; 0: Fortran's handles are C's.
    pub from_fortran: usize,
}

impl KnownHandles {
    /// A handle in a register: the upper half of one that holds an `int` may be anything.
    pub(crate) fn value(self, word: usize) -> usize {
        if self.size == 4 { word & 0xffff_ffff } else { word }
    }

    /// The handle number `index` of an array, or of a variable, which a caller of MPI passes.
    pub(crate) fn read(self, array: usize, index: usize) -> usize {
        if array == 0 {
            return self.null;
        }
        if self.size == 4 {
            // SAFETY: the caller passes so many handles.
            return unsafe { ptr::with_exposed_provenance::<u32>(array).wrapping_add(index).read() } as usize;
        }
        // SAFETY: the caller passes so many handles.
        unsafe { ptr::with_exposed_provenance::<usize>(array).wrapping_add(index).read() }
    }

    /// The same of a caller in Fortran.
    pub(crate) fn read_fortran(self, array: usize, index: usize) -> usize {
        if array == 0 {
            return self.null;
        }
        // SAFETY: the caller passes so many handles, INTEGERs.
        let handle = unsafe { ptr::with_exposed_provenance::<c_int>(array).wrapping_add(index).read() };
        if self.from_fortran == 0 {
            return self.value(handle as usize);
        }
        // SAFETY: such as `MPI_Comm MPI_Comm_f2c(MPI_Fint)`, of an MPI whose handles are as large as addresses.
        let convert = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int) -> usize>(self.from_fortran) };
        convert(handle)
    }
}

/// How a link is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// With MPI's arguments.
    C,
    /// With context and tool id before them.
    Qmpi,
    /// From Fortran.
    Fortran,
}

impl Caller {
    /// The word that the argument number `place` of MPI's function is in.
    pub(crate) fn word(self, place: usize) -> usize {
        place + if self == Caller::Qmpi { 2 } else { 0 }
    }
}
