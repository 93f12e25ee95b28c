//! Links that are found when they are first called ([`crate::lazy`]): a jump through a slot, as an entry of a PLT is, and where the slot leads
//! at first.
//!
//! A block has those of [`LAYERS`] layers, all of one function beside each other: what a call through many layers touches of them lies
//! together. The block of the library serves the first layers, and is mapped again for others ([`crate::blocks`]). What the stubs of
//! one block have in common is in the first words of its rows:
//!
//! ```text
//! stub i:   jump to [slot i]           once the link is known: the next function, or a stub that leads there
//!           register = i               at first, slot i leads here
//!           jump to tail
//! tail:     register = address of the rows
//!           jump to [resolver]         asks for the link, and goes on with the call
//! ```
//!
//! Everything is left to the resolver as the caller passed it, but for the registers that are used here: `r10` and `r11`; `x9`, `x11` and
//! `x16`.
#![expect(unsafe_code, reason = "the slots that machine code jumps through")]

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_ring::List;

use crate::arch::{LAZY_JUMP, PAGE, WholePages, machine_code};
use crate::blocks::Blocks;
use crate::trampoline::Stub;

/// How many functions there are.
const FUNCTIONS: usize = qmpi_abi::COUNT;
/// How many layers a block serves.
const LAYERS: usize = 16;
/// How many stubs a block has.
const STUBS: usize = FUNCTIONS * LAYERS;
/// Bytes of a stub.
const STUB: usize = 24;
/// Bytes of all code, in whole pages: the tail takes less than a stub.
const CODE: usize = ((STUBS + 1) * STUB).next_multiple_of(PAGE);

/// The rows of a block.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LazyRows {
    resolver: AtomicUsize,
    /// Where the block's code is.
    code: AtomicUsize,
    /// What the resolver is told of each layer.
    layers: [AtomicUsize; LAYERS],
    slots: [[AtomicUsize; LAYERS]; FUNCTIONS],
}

static ROWS: WholePages<LazyRows> = WholePages(LazyRows {
    resolver: AtomicUsize::new(0),
    code: AtomicUsize::new(0),
    layers: [const { AtomicUsize::new(0) }; LAYERS],
    slots: [const { [const { AtomicUsize::new(0) }; LAYERS] }; FUNCTIONS],
});

machine_code!(["lazy_slots"], {
    page = const PAGE,
    stubs = const STUBS,
    stub = const STUB,
    code = const CODE,
    rows = sym ROWS,
    first = const std::mem::offset_of!(LazyRows, slots),
    resolver = const std::mem::offset_of!(LazyRows, resolver),
});

unsafe extern "C" {
    static qmpi_lazy: u8;
    static qmpi_lazy_end: u8;
}

/// Has a context been seen that is not null? Machine code reads it.
pub(crate) static CONTEXTS: AtomicBool = AtomicBool::new(false);

/// The slots of all layers.
static ALL: List<LazySlots> = List::new(AtomicPtr::new(std::ptr::null_mut()));

/// The first context has come that is not null: all links are found anew. Any number of threads may come at once.
pub(crate) extern "C" fn first_context() {
    CONTEXTS.store(true, Ordering::SeqCst);
    ALL.iter().for_each(|slots| slots.forget());
}

/// The slots of one layer: its links.
#[derive(Debug, Clone, Copy)]
pub struct LazySlots {
    rows: &'static LazyRows,
    /// Which layer of the block it is.
    place: usize,
}

impl LazySlots {
    /// Slots of a layer's own, which lead to the resolver of all layers; it is told `layer`.
    pub(crate) fn new(layer: usize, resolver: Stub, lock: &LinkerLock) -> LazySlots {
        static BLOCKS: Blocks<LazyRows> =
            // SAFETY: the text above is whole pages that only jump, by these rows; rows are atomic words, for which zeros are values.
            unsafe { Blocks::new(&raw const qmpi_lazy, &raw const qmpi_lazy_end, &ROWS) };
        let (block, place) = BLOCKS.take(LAYERS);
        // The same for all layers of the block, whichever is first.
        block.rows.resolver.store(resolver as usize, Ordering::Relaxed);
        block.rows.code.store(block.code, Ordering::Relaxed);
        let slots = LazySlots { rows: block.rows, place };
        slots.rows.layers[place].store(layer, Ordering::Relaxed);
        slots.forget();
        ALL.add(Box::leak(Box::new(List::node(slots))), lock);
        slots
    }

    /// The slots and the function of stub `number`.
    pub(crate) fn of_stub(rows: &'static LazyRows, number: usize) -> Option<(LazySlots, FnId)> {
        Some((LazySlots { rows, place: number % LAYERS }, FnId::from_index(number / LAYERS)?))
    }

    /// For which layer they are.
    pub(crate) fn layer(self) -> usize {
        self.rows.layers[self.place].load(Ordering::Relaxed)
    }

    /// The link of a function: its stub.
    pub fn link(self, id: FnId) -> usize {
        self.rows.code.load(Ordering::Relaxed) + STUB * (id.index() * LAYERS + self.place)
    }

    /// From now on the link of `id` leads to `target`.
    pub(crate) fn set(self, id: FnId, target: usize) {
        self.rows.slots[id.index()][self.place].store(target, Ordering::SeqCst);
    }

    /// From now on all links lead to the resolver.
    fn forget(self) {
        for id in FnId::all() {
            self.set(id, self.link(id) + LAZY_JUMP);
        }
    }
}
