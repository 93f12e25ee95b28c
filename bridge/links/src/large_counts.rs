//! Links to layers that have a function with `int` counts alone, for callers of the function with large counts (`MPI_Send_c`).
//!
//! A call whose counts fit goes to the layer's `MPI_Send`, and what that passes on goes down as `MPI_Send`. A call with a count that does not
//! fit goes past the layer, to the `MPI_Send_c` below it, and is counted.
//!
//! | counts are | the link |
//! |---|---|
//! | arguments | jumps: the lower half of a register that holds a small number is the `int` |
//! | arrays of arguments | makes arrays of `int` (`arrays.rs`), then jumps |
//! | stored by the function | calls, and widens what was stored (`stored.rs`) |
#![expect(unsafe_code, reason = "links of machine code")]

mod arrays;
mod memory;
mod stored;

use std::ffi::c_int;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_abi::large_counts::LargeCounts;

use crate::arch::machine_code;
use crate::trampoline::{self, Stub};

use arrays::Arrays;
pub use arrays::MpiQueries;
use stored::Stored;

/// A link to a layer.
#[derive(Debug)]
#[repr(C)]
pub struct LargeCountLink {
    /// The layer's function.
    seen: usize,
    /// The function with large counts below the layer.
    past: usize,
    /// How many calls went past the layer.
    went_past: AtomicUsize,
    /// What Rust does with a call.
    conversion: Conversion,
}

/// What is done with a call that is no jump.
#[derive(Debug)]
enum Conversion {
    None,
    Arrays(Arrays),
    Stored(Stored),
}

/// What a link is made of.
pub struct LargeCountTargets<'a> {
    /// The layer's function.
    pub seen: usize,
    /// The function with large counts below the layer.
    pub past: usize,
    /// The MPI library's function with large counts, asked for where links call it.
    pub real: &'a dyn Fn() -> Option<usize>,
    /// What the MPI library says of communicators, asked for where the lengths of arrays depend on it.
    pub queries: &'a dyn Fn() -> Option<&'static MpiQueries>,
    /// For a function that detaches a buffer: the link of the function that attaches one.
    pub attach: Option<&'static LargeCountLink>,
}

machine_code!(["large_counts"], {
    seen = const offset_of!(LargeCountLink, seen),
    past = const offset_of!(LargeCountLink, past),
    went_past = const offset_of!(LargeCountLink, went_past),
    arrays = sym convert_arrays,
    stored = sym call_stored,
});

unsafe extern "C" {
    fn qmpi_large_counts_1();
    fn qmpi_large_counts_2();
    fn qmpi_large_counts_3();
    fn qmpi_large_counts_5();
    fn qmpi_large_counts_1_4();
    fn qmpi_large_counts_1_5();
    fn qmpi_large_counts_1_6();
    fn qmpi_large_counts_1_4_8();
    fn qmpi_large_counts_arrays();
    fn qmpi_large_counts_stored();
    fn qmpi_large_counts_stored_7();
}

/// The stub for counts at these places.
fn stub_of(places: u16) -> Option<Stub> {
    Some(match places {
        0b10 => qmpi_large_counts_1,
        0b100 => qmpi_large_counts_2,
        0b1000 => qmpi_large_counts_3,
        0b10_0000 => qmpi_large_counts_5,
        0b1_0010 => qmpi_large_counts_1_4,
        0b10_0010 => qmpi_large_counts_1_5,
        0b100_0010 => qmpi_large_counts_1_6,
        0b1_0001_0010 => qmpi_large_counts_1_4_8,
        _ => return None,
    })
}

/// The link for callers of `large` to a layer that has `function`, and what counts its calls; `None`: calls go past the layer.
pub fn link(function: FnId, large: FnId, targets: &LargeCountTargets<'_>) -> Option<(usize, &'static LargeCountLink)> {
    let LargeCountTargets { seen, past, real, queries, attach } = *targets;
    let made = |conversion| -> &'static LargeCountLink {
        Box::leak(Box::new(LargeCountLink { seen, past, went_past: AtomicUsize::new(0), conversion }))
    };
    let (stub, conversion) = match LargeCounts::of(function, large) {
        LargeCounts::Never => return None,
        // Both forms take the same words.
        LargeCounts::Values(0) => return Some((seen, made(Conversion::None))),
        LargeCounts::Values(places) => (stub_of(places)?, Conversion::None),
        LargeCounts::Arrays => {
            let arrays = Arrays::of(function, large, queries()?)?;
            (qmpi_large_counts_arrays as Stub, Conversion::Arrays(arrays))
        }
        LargeCounts::Stored => {
            let has_seven_words = large.function().args == 7;
            let stub: Stub = if has_seven_words { qmpi_large_counts_stored_7 } else { qmpi_large_counts_stored };
            (stub, Conversion::Stored(Stored::of(function, large, real()?, attach.map(|link| &link.went_past))))
        }
    };
    let link = made(conversion);
    Some((trampoline::allocate(stub, link), link))
}

impl LargeCountLink {
    /// How many calls went past the layer.
    pub fn went_past(&self) -> usize {
        self.went_past.load(Ordering::Relaxed)
    }

    /// Counts a call that goes past the layer, and says where to.
    fn go_past(&self) -> usize {
        self.went_past.fetch_add(1, Ordering::Relaxed);
        self.past
    }
}

/// Where a call with arrays of counts goes, whose arguments have become those of the layer's function if they fit.
extern "C" fn convert_arrays(link: &LargeCountLink, registers: *mut usize, stack: *mut usize) -> usize {
    match &link.conversion {
        Conversion::Arrays(arrays) if arrays.convert(registers, stack) => link.seen,
        _ => link.go_past(),
    }
}

/// Makes a call of a function that stores counts. The link comes behind the words that are in registers on every machine.
extern "C" fn call_stored(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    link: &LargeCountLink,
    g: usize,
) -> c_int {
    let words = [a, b, c, d, e, f, g];
    let seen = match &link.conversion {
        Conversion::Stored(function) => function.call(link.seen, words),
        _ => None,
    };
    seen.unwrap_or_else(|| stored::invoke(link.go_past(), words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_stub_for_each_function() {
        for (function, large) in FnId::all().filter_map(|id| Some((id, id.with_large_counts()?))) {
            if let LargeCounts::Values(places) = LargeCounts::of(function, large) {
                assert!(places == 0 || stub_of(places).is_some(), "{}", large.name());
            }
        }
    }
}
