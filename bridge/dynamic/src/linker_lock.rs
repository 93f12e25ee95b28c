//! The right to write into loaded objects, and to publish tables: `ld.so`'s own lock.

/// Shows that this thread holds `ld.so`'s lock, `dl_load_lock` of glibc.
///
/// Whoever opens or closes a library holds that lock from the first byte that is mapped until the last constructor has run. So the holder
/// meets no object that `ld.so` is still relocating, and no object goes away. Functions that write into an object of somebody else, or
/// that replace what readers find without a lock, take this as a parameter.
#[derive(Debug)]
pub struct LinkerLock(());

impl LinkerLock {
    /// The right of this thread.
    ///
    /// # Safety
    /// The caller holds the lock as long as the value lives: `ld.so` has called it from `dlsym` or `dlopen`.
    #[expect(unsafe_code, reason = "the promise is the caller's")]
    pub unsafe fn held() -> LinkerLock {
        LinkerLock(())
    }
}
