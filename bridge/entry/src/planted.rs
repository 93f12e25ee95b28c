//! Defects for the tests of the tests: only in a build with `--cfg planted`, which no product has (tests/src/planted.rs). The core has
//! this file as well.
#![expect(unsafe_code, reason = "defects")]

/// What threads write to, and should not.
static mut SHARED: usize = 0;

/// A data race, where threads call this.
#[inline(never)]
pub(crate) fn race() {
    let shared = &raw mut SHARED;
    // SAFETY: none. This is a data race.
    let value = unsafe { shared.read_volatile() };
    // SAFETY: none. This is the other half of the data race.
    unsafe { shared.write_volatile(value.wrapping_add(1)) };
}

/// Reads behind the end of a block of the heap, and goes by what was never written.
#[inline(never)]
pub(crate) fn memory() {
    // SAFETY: no requirements.
    let block = unsafe { libc::malloc(8) }.cast::<u8>();
    // SAFETY: none. The block ends there.
    let behind = unsafe { block.add(8).read_volatile() };
    // SAFETY: none. The byte has no value.
    let unwritten = unsafe { block.read_volatile() };
    if unwritten > 7 {
        // SAFETY: no requirements.
        unsafe { libc::sched_yield() };
    }
    core::hint::black_box(behind);
}
