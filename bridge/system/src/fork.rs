//! What a child by `fork` does first.
#![expect(unsafe_code, reason = "pthread_atfork")]

unsafe extern "C" {
    /// Of the C library, in the part that is linked statically.
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> i32;
}

/// Has each child call `handler` before anything else runs in it.
pub fn in_child(handler: extern "C" fn()) {
    // SAFETY: the library is never unloaded, so the handler stays callable.
    unsafe { pthread_atfork(None, None, Some(handler)) };
}
