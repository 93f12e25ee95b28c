//! Links that are found when they are first called, of tools of an MPI that has QMPI itself: while tools are initialized, a QMPI
//! implementation cannot say what comes next.
//!
//! A link is a jump through a slot (`lazy_slots.rs`). Once the link is known, the slot leads to
//!
//! | what comes next | the slot leads to |
//! |---|---|
//! | another PMPI tool of this library | its wrapper |
//! | a QMPI tool, or the MPI library | a stub that adds context and tool id |
//!
//! # Contexts
//! A PMPI tool does not pass the context on. It need not be kept for an MPI whose contexts are null in all calls, as MPICH's are; but
//! nothing says that they are. So they are taken for null until one is not. Then all links are found anew, and the contexts are kept
//! from then on. The stub that has seen the first one waits for that, so no layer below it misses a context.
#![expect(unsafe_code, reason = "reads what the slots were made with")]

use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_system::log;

use crate::arch::{machine_code, publish_stubs};
use crate::conversion::{self, CallerMode};
pub use crate::lazy_slots::LazySlots;
use crate::lazy_slots::{CONTEXTS, LazyRows};

/// What comes next below a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextFound {
    /// A function that is called as PMPI functions are.
    Pmpi(usize),
    /// A function of a QMPI tool, or of the MPI library, and the id to pass.
    Qmpi(usize, i32),
}

/// Finds what comes next for `id` below the tool `owner`.
pub type Find = fn(owner: i32, id: FnId) -> Option<NextFound>;

machine_code!(
    ["lazy"], { resolve = sym resolve, },
    x86_64 { caller_offset = sym crate::thread_offsets::CALLER },
    aarch64 { topmost = sym crate::caller::topmost }
);

unsafe extern "C" {
    /// Asks [`resolve`], and goes on with the call.
    fn qmpi_resolve();
}

/// Whose links they are, and who is asked.
#[derive(Debug)]
struct LinksOwner {
    tool: i32,
    find: Find,
}

/// The links of one tool.
pub fn links(tool: i32, find: Find, lock: &LinkerLock) -> LazySlots {
    let owner: &'static LinksOwner = Box::leak(Box::new(LinksOwner { tool, find }));
    LazySlots::new(std::ptr::from_ref(owner).expose_provenance(), qmpi_resolve, lock)
}

/// Finds the link of stub `number` of a block, and where the call goes on; `context` is the one that came with the application's call, or
/// another that was seen in this thread, or 0.
pub(crate) extern "C" fn resolve(rows: &'static LazyRows, number: usize, context: usize) -> usize {
    /// The last context that was seen, for threads of tools.
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let Some((slots, id)) = LazySlots::of_stub(rows, number) else {
        log::fatal("a link of an unknown function was called", None)
    };
    // SAFETY: `links` made the slots with the address of an owner that it leaked.
    let owner = unsafe { &*std::ptr::with_exposed_provenance::<LinksOwner>(slots.layer()) };
    if context != 0 {
        LAST.store(context, Ordering::Relaxed);
    }
    loop {
        let keeps_contexts = CONTEXTS.load(Ordering::SeqCst);
        let arity = conversion::arity(id);
        let target = match (owner.find)(owner.tool, id) {
            Some(NextFound::Pmpi(wrapper)) => wrapper,
            Some(NextFound::Qmpi(function, tool)) if keeps_contexts => {
                conversion::up_with_context(function, tool, arity, LAST.load(Ordering::Relaxed))
            }
            Some(NextFound::Qmpi(function, tool)) => conversion::up(function, tool, arity, CallerMode::Null),
            None => log::fatal(&format!("{} was called, and nothing comes next for it", id.name()), None),
        };
        publish_stubs();
        // Threads that come meanwhile find the same.
        slots.set(id, target);
        // Either this is seen here, or the slot is seen there, and led back.
        if CONTEXTS.load(Ordering::SeqCst) == keeps_contexts {
            return target;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::atomic::AtomicU32;

    use super::*;

    static ASKED: AtomicU32 = AtomicU32::new(0);

    extern "C" fn answer(word: usize) -> usize {
        word + 1
    }

    fn find(owner: i32, id: FnId) -> Option<NextFound> {
        ASKED.fetch_add(1, Ordering::Relaxed);
        assert_eq!(id.name(), if owner < 40 { "MPI_Barrier" } else { "MPI_Comm_free" });
        Some(NextFound::Pmpi((answer as extern "C" fn(usize) -> usize as *const ()).addr()))
    }

    #[test]
    fn a_link_is_found_once() {
        // SAFETY: no other test publishes links.
        let lock = unsafe { LinkerLock::held() };
        let links: Vec<_> = (0..50).map(|tool| links(tool, find, &lock)).collect();
        for (tool, links) in (0..).zip(&links) {
            let id = FnId::by_name(if tool < 40 { "MPI_Barrier" } else { "MPI_Comm_free" }).unwrap();
            // SAFETY: a link to the function above.
            let call = unsafe { std::mem::transmute::<usize, extern "C" fn(usize) -> usize>(links.link(id)) };
            assert_eq!([call(1), call(2), call(3)], [2, 3, 4]);
        }
        assert_eq!(ASKED.load(Ordering::Relaxed), 50);
    }
}
