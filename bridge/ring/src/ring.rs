//! The words of `libqmpi.so` that `libqmpi_core.so` reads and writes.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::{COUNT, FnId};

use crate::next_table::Current;
use crate::published::Published;
use crate::tools::RegisteredTool;

/// The number of a build (`identity.rs`) behind a text by which `strings` shows it.
pub type Build = [u8; 32];

/// The text with these digits, which the build scripts have made.
pub const fn build(digits: &str) -> Build {
    const HEAD: &[u8] = b"qmpi build ";
    let mut build = [0; 32];
    let (head, rest) = build.split_at_mut(HEAD.len());
    head.copy_from_slice(HEAD);
    rest.split_at_mut(digits.len()).0.copy_from_slice(digits.as_bytes());
    build
}

/// How many calls inside of calls are kept apart when it is recorded where the application called.
pub const CALLER_DEPTH: usize = 8;
/// Bytes of such a record.
pub const CALLER_RECORD: usize = 24;

/// How many wrappers of layers whose own calls are hidden are kept apart, one inside of the other.
pub const OWN_DEPTH: usize = 32;
/// Bytes of the record of such a wrapper.
pub const OWN_RECORD: usize = 24;

/// The type of `dlsym`.
pub type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
/// The type of `dlvsym`.
pub type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
/// The type of `dl_iterate_phdr`'s callback.
pub type PhdrCallback = extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;
/// The type of `dlopen`.
pub type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// Functions of glibc itself, past every library that stands before it in the process (sanitizers, other preloaded libraries).
#[derive(Debug)]
#[repr(C)]
pub struct Glibc {
    /// [`Dlsym`]
    pub dlsym: AtomicUsize,
    /// [`Dlvsym`]
    pub dlvsym: AtomicUsize,
    /// [`qmpi_dynamic::objects::DlIteratePhdr`]
    pub dl_iterate_phdr: AtomicUsize,
    /// [`Dlopen`]
    pub dlopen: AtomicUsize,
}

/// Offsets of thread-local variables of `libqmpi.so` from the thread pointer, in bytes.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ThreadOffsets {
    /// The records of where the application called.
    pub caller: usize,
    /// How many layers a Fortran call has behind it.
    pub fortran_level: usize,
    /// The records of wrappers of layers whose own calls are hidden.
    pub own_calls: usize,
    /// The layers that the call which starts a request went past.
    pub past: usize,
}

/// The words.
#[derive(Debug)]
#[repr(C)]
pub struct Ring {
    /// Of which build this library is. It stands first in all builds.
    pub build: Build,
    /// Where the entry stub of each function jumps; at first to its lazy stub.
    pub slots: &'static [AtomicPtr<()>; COUNT],
    /// The first lazy stub.
    pub lazy: AtomicPtr<()>,
    /// Bytes of a lazy stub; they stand one behind the other.
    pub lazy_size: usize,
    /// The functions of which a layer has a wrapper: preloaded, the tool would be found.
    pub intercepted: [AtomicBool; COUNT],
    /// All layers by their id, `[0]` standing for the application: what it would call next is the top of the stack.
    pub tools: Published<RegisteredTool>,
    /// What comes next for the tools of the stack; for those of named stacks, which are opened later, each has a table.
    pub next: Current,
    /// glibc's own functions.
    pub glibc: Glibc,
    /// Returns the offsets for this process.
    pub thread_offsets: extern "C" fn() -> ThreadOffsets,
}

impl Ring {
    /// Sends the application's calls of `id` to `address`.
    pub fn set(&self, id: FnId, address: usize) {
        self.slots[id.index()].store(core::ptr::with_exposed_provenance_mut(address), Ordering::Release);
    }

    /// Where the application's calls of `id` go, unless that is still the lazy stub.
    pub fn get(&self, id: FnId) -> Option<usize> {
        let slot = self.slots.get(id.index())?.load(Ordering::Acquire).addr();
        let lazy = self.lazy.load(Ordering::Relaxed).addr() + id.index() * self.lazy_size;
        (slot != lazy).then_some(slot)
    }

    /// Has a layer a wrapper of `id`?
    pub fn is_intercepted(&self, id: FnId) -> bool {
        self.intercepted.get(id.index()).is_some_and(|word| word.load(Ordering::Relaxed))
    }

    /// An address in `libqmpi.so`.
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }
}
