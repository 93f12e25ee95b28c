//! The heap of this library, apart from the program's.
//!
//! What start-up takes from the program's heap and gives back, the program and its tools would get later, with other contents than without
//! a stack: a tool that reads more of a block than it wrote then reports something else. A tool that counts allocations would count these.
//!
//! Sanitizers and valgrind watch the C library's heap. Under them it is used: they find errors there, and what they would call a leak,
//! because only this library knows of it, they find through blocks of that heap.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use dlmalloc::{GlobalDlmalloc, enable_alloc_after_fork};
use qmpi_dynamic::{Mapped, hash, objects};

/// A function of all sanitizers' run-time libraries.
const OF_SANITIZERS: &[u8] = b"__sanitizer_print_stack_trace";
/// In the names of the libraries that valgrind preloads.
const OF_VALGRIND: &[u8] = b"vgpreload_";

struct Heap {
    /// Blocks come from the C library.
    is_shared: AtomicBool,
}

#[global_allocator]
static HEAP: Heap = Heap { is_shared: AtomicBool::new(false) };

/// Decides which heap it is. Comes before the first allocation.
pub(crate) fn choose() {
    let hash = hash::gnu(OF_SANITIZERS);
    let is_watched = objects::find(|info| {
        let path = info.name().to_bytes();
        let is_valgrind = || path.windows(OF_VALGRIND.len()).any(|part| part == OF_VALGRIND);
        let defines =
            || Mapped::for_names(info.segments()).is_some_and(|mapped| mapped.find(OF_SANITIZERS, hash).is_some());
        (is_valgrind() || defines()).then_some(())
    });
    if is_watched.is_some() {
        HEAP.is_shared.store(true, Ordering::Relaxed);
    } else {
        // SAFETY: nothing has been allocated, and nothing is here but one thread.
        unsafe { enable_alloc_after_fork() };
        take_pages();
    }
}

/// Takes the pages that start-up needs at least from the kernel in one go. It gives them to the heap, which keeps what is given back:
/// taken one after the other, each by a page fault, they would cost more than twice as much.
fn take_pages() {
    const SIZE: usize = 384 << 10;
    const PAGE: usize = 4096;
    let mut block = Vec::<u8>::with_capacity(SIZE);
    let start = block.as_mut_ptr();
    let first = start.align_offset(PAGE);
    // SAFETY: whole pages of a block of ours, whose contents do not change. Kernels before 5.14 do not know it and do nothing.
    unsafe { libc::madvise(start.wrapping_add(first).cast(), (SIZE - first) & !(PAGE - 1), libc::MADV_POPULATE_WRITE) };
}

impl Heap {
    fn chosen(&self) -> &'static dyn GlobalAlloc {
        if self.is_shared.load(Ordering::Relaxed) { &System } else { &GlobalDlmalloc }
    }
}

// SAFETY: each function calls one of two sound allocators; `choose` decides between them before the first allocation, and nothing changes it later.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, a size that is not 0, is passed on.
        unsafe { self.chosen().alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is of the chosen allocator, with this layout.
        unsafe { self.chosen().dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, a size that is not 0, is passed on.
        unsafe { self.chosen().alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the block is of the chosen allocator, with this layout; the size is not 0.
        unsafe { self.chosen().realloc(block, layout, size) }
    }
}
