//! The right to publish: there is one writer at a time.

/// Shows that the thread that has it holds the lock under which tables are published. That lock is `ld.so`'s own
/// (`qmpi_loader::process::loader_lock`), since publishing goes with loading.
#[derive(Debug)]
pub struct Writer(());

impl Writer {
    /// The right of this thread.
    ///
    /// # Safety
    /// The caller holds the lock as long as the value lives.
    #[expect(unsafe_code, reason = "the promise is the caller's")]
    pub unsafe fn new() -> Writer {
        Writer(())
    }
}
