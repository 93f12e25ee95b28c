//! Clocks, read without `std`: on the path of calls.

/// Nanoseconds of one of the kernel's clocks.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    #![expect(unsafe_code, reason = "clock_gettime")]
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` has room for what the call stores.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
