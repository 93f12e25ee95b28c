//! Links that are found when they are first called: a jump through a slot, as an entry of a PLT is, and where the slot leads at first.
//!
//! A block has those of [`LAYERS`] layers, all of one function beside each other: what a call through many layers touches of them lies
//! together. The block of the library serves the first layers, and is mapped again for others ([`crate::blocks`]). What the stubs of
//! one block have in common is in the first words of its rows:
//!
//! ```text
//! stub i:   jmp  [slot i]              once the link is known: the next function, or a stub that leads there
//!           mov  r10d, i               at first, slot i leads here
//!           jmp  tail
//! tail:     lea  r11, [rows]
//!           jmp  [resolver]            `qmpi_resolve`, of the library: asks for the link, and goes on with the call
//! ```
//!
//! Everything is left to the resolver as the caller passed it, but for `r10` and `r11`.
#![expect(unsafe_code, reason = "the slots that machine code jumps through")]

use std::arch::global_asm;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_ring::{go_on_with_arguments, keep_arguments};

use super::PAGE;
use crate::blocks::{Block, Blocks};
use crate::lazy::resolve;

/// How many functions there are.
const FUNCTIONS: usize = qmpi_abi::COUNT;
/// How many layers a block serves.
const LAYERS: usize = 16;
/// How many stubs a block has.
const STUBS: usize = FUNCTIONS * LAYERS;
/// Bytes of a stub.
const STUB: usize = 24;
/// Bytes of its first jump.
const JUMP: usize = 6;
/// Bytes of all code, in whole pages: the tail takes less than a stub.
const CODE: usize = ((STUBS + 1) * STUB).next_multiple_of(PAGE);

/// The rows of a block; whole pages, as they are mapped again.
#[derive(Debug)]
#[repr(C, align(4096))]
pub(crate) struct Rows {
    resolver: AtomicUsize,
    /// Where the block's code is.
    code: AtomicUsize,
    /// What the resolver is told of each layer.
    layers: [AtomicUsize; LAYERS],
    slots: [[AtomicUsize; LAYERS]; FUNCTIONS],
}

static ROWS: Rows = Rows {
    resolver: AtomicUsize::new(0),
    code: AtomicUsize::new(0),
    layers: [const { AtomicUsize::new(0) }; LAYERS],
    slots: [const { [const { AtomicUsize::new(0) }; LAYERS] }; FUNCTIONS],
};

const _: () = assert!(align_of::<Rows>() == PAGE);

global_asm!(
    ".pushsection .text.qmpi_lazy, \"ax\", @progbits",
    ".balign {page}",
    ".hidden qmpi_lazy",
    ".globl qmpi_lazy",
    ".type qmpi_lazy, @function",
    "qmpi_lazy:",
    ".cfi_startproc",
    ".set .Lqmpi_index, 0",
    ".rept {stubs}",
    "jmp qword ptr [rip + {rows} + {first} + 8 * .Lqmpi_index]",
    "mov r10d, .Lqmpi_index",
    "jmp .Lqmpi_lazy_tail",
    ".org qmpi_lazy + {stub} * (.Lqmpi_index + 1), 0xcc",
    ".set .Lqmpi_index, .Lqmpi_index + 1",
    ".endr",
    ".Lqmpi_lazy_tail:",
    "lea r11, [rip + {rows}]",
    "jmp qword ptr [rip + {rows} + {resolver}]",
    ".cfi_endproc",
    ".size qmpi_lazy, . - qmpi_lazy",
    ".org qmpi_lazy + {code}, 0xcc",
    // The resolver; r11: the rows, r10: the number of the function. The context that is recorded for this thread may be of use.
    ".balign 16",
    ".hidden qmpi_resolve",
    ".globl qmpi_resolve",
    ".type qmpi_resolve, @function",
    "qmpi_resolve:",
    ".cfi_startproc",
    keep_arguments!(),
    "mov rdi, r11",
    "mov esi, r10d",
    // The topmost record (`caller.rs`).
    "mov r10, qword ptr [rip + {caller_offset}]",
    "add r10, qword ptr fs:[r10]",
    "mov rdx, qword ptr fs:[r10 + 8]",
    "call {resolve}",
    go_on_with_arguments!(),
    ".cfi_endproc",
    ".size qmpi_resolve, . - qmpi_resolve",
    ".popsection",
    page = const PAGE,
    stubs = const STUBS,
    stub = const STUB,
    code = const CODE,
    rows = sym ROWS,
    first = const std::mem::offset_of!(Rows, slots),
    resolver = const std::mem::offset_of!(Rows, resolver),
    resolve = sym resolve,
    caller_offset = sym crate::thread_offsets::CALLER,
);

unsafe extern "C" {
    static qmpi_lazy: u8;
    fn qmpi_resolve();
}

/// The block that is in the library.
fn block() -> Block {
    Block {
        code: (&raw const qmpi_lazy).expose_provenance(),
        code_len: CODE,
        rows: (&raw const ROWS).expose_provenance(),
        rows_len: size_of::<Rows>(),
    }
}

/// The slots of one layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    rows: &'static Rows,
    /// Which layer of the block it is.
    place: usize,
}

impl Slots {
    /// Slots of a layer's own, which lead to the resolver; it is told `layer`.
    ///
    /// # Errors
    /// When no further stubs can be mapped.
    pub(crate) fn new(layer: usize) -> io::Result<Slots> {
        static BLOCKS: Blocks = Blocks::new(block);
        static TAKEN: AtomicUsize = AtomicUsize::new(0);
        let number = TAKEN.fetch_add(1, Ordering::Relaxed);
        let Block { code, rows, .. } = BLOCKS.get(number / LAYERS)?;
        // SAFETY: blocks have such rows, zero at first, at addresses that stay mapped for ever.
        let rows = unsafe { &*std::ptr::with_exposed_provenance::<Rows>(rows) };
        // The same for all layers of the block, whichever is first.
        rows.resolver.store((qmpi_resolve as *const ()).addr(), Ordering::Relaxed);
        rows.code.store(code, Ordering::Relaxed);
        let slots = Slots { rows, place: number % LAYERS };
        rows.layers[slots.place].store(layer, Ordering::Relaxed);
        slots.forget();
        Ok(slots)
    }

    /// The slots and the function of stub `number`.
    pub(crate) fn of_stub(rows: &'static Rows, number: usize) -> Option<(Slots, FnId)> {
        Some((Slots { rows, place: number % LAYERS }, FnId::from_index(number / LAYERS)?))
    }

    /// For which layer they are.
    pub(crate) fn layer(self) -> usize {
        self.rows.layers[self.place].load(Ordering::Relaxed)
    }

    /// The link of a function: its stub.
    pub(crate) fn link(self, id: FnId) -> usize {
        self.rows.code.load(Ordering::Relaxed) + STUB * (id.index() * LAYERS + self.place)
    }

    /// From now on the link of `id` leads to `target`.
    pub(crate) fn set(self, id: FnId, target: usize) {
        self.rows.slots[id.index()][self.place].store(target, Ordering::SeqCst);
    }

    /// From now on all links lead to the resolver.
    pub(crate) fn forget(self) {
        for id in FnId::all() {
            self.set(id, self.link(id) + JUMP);
        }
    }
}
