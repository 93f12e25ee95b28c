//! What a status says, as the MPI library tells it: how it keeps these numbers is its own business in the standard ABI.
#![expect(unsafe_code, reason = "calls functions of MPI")]

use qmpi_abi::trace::{AbiStatus, HAS_BYTES, IS_CANCELLED};

/// The functions that tell, 0 for one that the MPI does not have.
#[derive(Debug)]
pub(crate) struct Statuses {
    /// `PMPI_Get_count_c`, of MPI 4.0
    large: usize,
    /// `PMPI_Get_count`
    small: usize,
    /// `PMPI_Test_cancelled`
    cancelled: usize,
    /// `MPI_BYTE`
    byte: u64,
}

impl Statuses {
    pub(crate) fn new(byte: u64, real: impl Fn(&str) -> usize) -> Self {
        let [large, small, cancelled] = ["MPI_Get_count_c", "MPI_Get_count", "MPI_Test_cancelled"].map(real);
        Self { large, small, cancelled, byte }
    }

    /// How many bytes were received. `status`: the address of one that MPI has stored; no other may be asked about.
    pub(crate) fn bytes(&self, status: u64) -> Option<u64> {
        let (code, bytes) = if self.large != 0 {
            let mut bytes = 0_i64;
            // SAFETY: this function of MPI; MPI_Count has 64 bits.
            let ask = unsafe { std::mem::transmute::<usize, extern "C" fn(u64, u64, &mut i64) -> i32>(self.large) };
            (ask(status, self.byte, &mut bytes), bytes)
        } else if self.small != 0 {
            let mut bytes = 0_i32;
            // SAFETY: this function of MPI.
            let ask = unsafe { std::mem::transmute::<usize, extern "C" fn(u64, u64, &mut i32) -> i32>(self.small) };
            (ask(status, self.byte, &mut bytes), bytes.into())
        } else {
            return None;
        };
        // MPI_UNDEFINED is negative.
        u64::try_from(bytes).ok().filter(|_| code == 0)
    }

    /// Writes into the copy of a status of the standard ABI what MPI says of the original; `None`: there is nothing to ask about.
    pub(crate) fn note(&self, status: Option<u64>, copy: &mut AbiStatus) {
        (copy.flags, copy.bytes, copy.unused) = (0, 0, 0);
        let Some(status) = status else { return };
        if let Some(bytes) = self.bytes(status) {
            (copy.flags, copy.bytes) = (HAS_BYTES, bytes);
        }
        if self.cancelled != 0 {
            let mut flag = 0_i32;
            // SAFETY: this function of MPI.
            let ask = unsafe { std::mem::transmute::<usize, extern "C" fn(u64, &mut i32) -> i32>(self.cancelled) };
            if ask(status, &mut flag) == 0 && flag != 0 {
                copy.flags |= IS_CANCELLED;
            }
        }
    }
}
