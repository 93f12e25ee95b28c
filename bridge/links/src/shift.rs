//! The stubs that lead from one calling convention of tools to another: which there are, and what each block of them reads. One for each number of
//! MPI arguments, from 0 to [`MAX_ARGS`]; `arch/<machine>/shift.s` has a table of the registers.
//!
//! * **shift down** (QMPI → PMPI): a tail jump for every number. Words on the stack move down inside the incoming argument area,
//!   which belongs to the callee, so the caller's return address stays where it is.
//! * **shift up** (PMPI → QMPI): a tail jump as long as all words are in registers. Above, the stack area must grow: a frame, with CFI, so that a
//!   back trace from below passes it.
//! * **append** (PMPI → thesis): level and vector after the last argument; a frame where they are not in registers.
//!
//! The context is the application's return address. Where a PMPI tool stands in between and a layer below asks for it,
//! the stubs whose name says `record` keep it, and `recall` finds it: see `caller.s`, or on AArch64 `caller.rs`.
//!
//! `MPI_Pcontrol` is variadic: it is treated as a call with twelve words on the stack, of which as many as can be read are copied
//! ([`crate::stack_words`]). The vector registers stay as they are. Shift down needs a frame as well: how much of the stack
//! belongs to the incoming arguments is unknown.
#![expect(unsafe_code, reason = "tables of machine code")]

use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::FnId;

use crate::arch::{ARGUMENT_REGISTERS, PAGE, WholePages, machine_code};
use crate::blocks::{Block, Blocks};
use crate::trampoline::Stub;

/// The largest number of arguments that the stubs are made for; MPI's own largest is 13.
pub(crate) const MAX_ARGS: usize = 20;
/// Where the tables have the stubs of variadic functions.
const VARIADIC: usize = MAX_ARGS + 1;

/// How many words a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// So many, at most 20.
    Fixed(u8),
    /// The number is unknown.
    Variadic,
}

impl Arity {
    fn fixed(self) -> Option<usize> {
        if let Arity::Fixed(count) = self { Some(count.into()) } else { None }
    }
}

/// How many words `id` takes.
pub fn arity(id: FnId) -> Arity {
    let function = id.function();
    if function.variadic { Arity::Variadic } else { Arity::Fixed(function.args) }
}

/// What a stub does with the application's return address, which is the context. Tables of stubs are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerMode {
    /// No layer below a PMPI tool asks for it.
    Ignore,
    /// Kept in thread-local storage across PMPI tools.
    Keep,
    /// The MPI's own QMPI is called, whose contexts are null as far as it is known ([`crate::lazy`]).
    Null,
}

/// Where a stub leads, and what it adds to the arguments of a call.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Added {
    /// The function that is called.
    pub(crate) target: usize,
    /// The id of the QMPI tool, or the level of a tool of the 2018 prototype.
    pub(crate) number: i32,
    /// Shift up: the context for calls that no context came with (a thread of the tool's own); 0: the return address. Append: the thesis's
    /// vector of tools. [`qmpi_numbered`] keeps the caller's context.
    pub(crate) word: usize,
}

/// How many stubs with a trampoline of their own a block has for each number of arguments: enough for every function once.
const DIRECT: usize = 256;
/// The same where there are words on the stack: the stubs are longer, and the functions fewer.
const DIRECT_LONG: usize = 96;
/// The largest number of arguments of a direct stub.
const DIRECT_ARGS: usize = 13;
/// The largest number of arguments without words on the stack, in a shift down and in a shift up.
const REGISTERS_DOWN: usize = 6;
const REGISTERS_UP: usize = ARGUMENT_REGISTERS - 2;

/// How many direct stubs a block has for a shift down of `count` arguments.
const fn down_capacity(count: usize) -> usize {
    if count <= REGISTERS_DOWN { DIRECT } else { DIRECT_LONG }
}

/// How many rows of shifts down there are for less than `count` arguments.
const fn down_rows_before(count: usize) -> usize {
    let (short, long) =
        if count <= REGISTERS_DOWN { (count, 0) } else { (REGISTERS_DOWN + 1, count - REGISTERS_DOWN - 1) };
    short * DIRECT + long * DIRECT_LONG
}

const DOWN_COUNT: usize = down_rows_before(DIRECT_ARGS + 1);
const UP_COUNT: usize = DIRECT * (REGISTERS_UP + 1);
const FRAME_KINDS: usize = DIRECT_ARGS - REGISTERS_UP;
const FRAME_COUNT: usize = DIRECT_LONG * FRAME_KINDS;

/// As [`Added`] in a shift up, without a context.
#[repr(C)]
struct UpRow {
    target: AtomicUsize,
    tool: AtomicUsize,
}

/// The rows of a block. Each is written once, before the address of the stub is given away.
#[repr(C)]
struct DirectRows {
    down: [AtomicUsize; DOWN_COUNT],
    up: [UpRow; UP_COUNT],
    /// Of a block for null contexts: where a call goes whose context is not null, by number of arguments: code of the library.
    with_context: [AtomicUsize; DIRECT_ARGS + 1],
}

static DIRECT_ROWS: WholePages<DirectRows> = WholePages(DirectRows::new());
static NULL_ROWS: WholePages<DirectRows> = WholePages(DirectRows::new());

/// Of direct stubs with a frame: there is one block of them, as no call returns into a copy.
static FRAME_ROWS: [UpRow; FRAME_COUNT] = [const { UpRow::new() }; FRAME_COUNT];

impl DirectRows {
    const fn new() -> DirectRows {
        DirectRows {
            down: [const { AtomicUsize::new(0) }; DOWN_COUNT],
            up: [const { UpRow::new() }; UP_COUNT],
            with_context: [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1],
        }
    }
}

impl UpRow {
    const fn new() -> UpRow {
        UpRow { target: AtomicUsize::new(0), tool: AtomicUsize::new(0) }
    }

    fn set(&self, target: usize, tool: i32) {
        self.tool.store(tool as u32 as usize, Ordering::Relaxed);
        self.target.store(target, Ordering::Release);
    }
}

machine_code!(
    ["caller", "shift"],
    {
        target = const offset_of!(Added, target),
        number = const offset_of!(Added, number),
        word = const offset_of!(Added, word),
        direct = const DIRECT,
        direct_long = const DIRECT_LONG,
        page = const PAGE,
        direct_rows = sym DIRECT_ROWS,
        frame_rows = sym FRAME_ROWS,
        null_rows = sym NULL_ROWS,
        down_rows = const offset_of!(DirectRows, down),
        up_rows = const offset_of!(DirectRows, up),
        with_context = const offset_of!(DirectRows, with_context),
    },
    x86_64 {
        call_distance = const crate::arch::CALL_DISTANCE,
        caller_offset = sym crate::thread_offsets::CALLER,
        record = const qmpi_ring::ring::CALLER_RECORD,
        records = const qmpi_ring::ring::CALLER_RECORD * qmpi_ring::ring::CALLER_DEPTH,
        contexts = sym crate::lazy_slots::CONTEXTS,
        first_context = sym crate::lazy_slots::first_context,
    },
    aarch64 {
        record = sym crate::caller::record,
        record_first = sym crate::caller::record_first,
        recall = sym crate::caller::recall,
    }
);

/// The stubs of one kind that has none of its own for variadic calls.
type FixedStubs = [Stub; MAX_ARGS + 1];
/// The same, and the one for variadic calls.
type AllStubs = [Stub; MAX_ARGS + 2];

unsafe extern "C" {
    static qmpi_direct: u8;
    static qmpi_direct_end: u8;
    // Where the direct stubs for each number of arguments start, and at last where they end.
    static qmpi_direct_down_table: [usize; DIRECT_ARGS + 2];
    static qmpi_direct_up_table: [usize; REGISTERS_UP + 2];
    static qmpi_direct_up_frame_table: [usize; FRAME_KINDS + 1];
    static qmpi_null: u8;
    static qmpi_null_end: u8;
    static qmpi_direct_down_null_table: [usize; DIRECT_ARGS + 2];
    static qmpi_direct_up_null_table: [usize; REGISTERS_UP + 2];

    static qmpi_down_table: AllStubs;
    static qmpi_down_record_table: AllStubs;
    static qmpi_down_context_table: FixedStubs;
    static qmpi_down_null_table: AllStubs;
    static qmpi_up_table: AllStubs;
    static qmpi_up_recall_table: AllStubs;
    static qmpi_up_null_table: AllStubs;
    static qmpi_append_table: FixedStubs;

    /// The application → a PMPI tool (the payload), with the return address recorded.
    pub(crate) fn qmpi_record();
    /// A QMPI tool's function, called with the number of an [`Added`] as its id: one word can be put in place of another at once, two cannot.
    pub(crate) fn qmpi_numbered();
}

/// Stubs in one piece with their trampoline: one jump less.
pub(crate) struct DirectStubs {
    blocks: Blocks<DirectRows>,
    /// Where the library has those for each number of arguments, and their end.
    down: &'static [usize],
    up: &'static [usize],
    with_context: &'static [Stub],
    down_taken: [AtomicUsize; DIRECT_ARGS + 1],
    up_taken: [AtomicUsize; REGISTERS_UP + 1],
}

/// Those that pass the return address as the context.
static DIRECT_STUBS: DirectStubs = DirectStubs {
    // SAFETY: the text above is whole pages that only jump, by these rows; rows are atomic words, for which zeros are values.
    blocks: unsafe { Blocks::new(&raw const qmpi_direct, &raw const qmpi_direct_end, &DIRECT_ROWS) },
    // SAFETY: a table of constants.
    down: unsafe { &qmpi_direct_down_table },
    // SAFETY: a table of constants.
    up: unsafe { &qmpi_direct_up_table },
    with_context: &[],
    down_taken: [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1],
    up_taken: [const { AtomicUsize::new(0) }; REGISTERS_UP + 1],
};

/// Those where contexts are null so far.
static NULL_STUBS: DirectStubs = DirectStubs {
    // SAFETY: the text above is whole pages that only jump, by these rows; rows are atomic words, for which zeros are values.
    blocks: unsafe { Blocks::new(&raw const qmpi_null, &raw const qmpi_null_end, &NULL_ROWS) },
    // SAFETY: a table of constants.
    down: unsafe { &qmpi_direct_down_null_table },
    // SAFETY: a table of constants.
    up: unsafe { &qmpi_direct_up_null_table },
    // SAFETY: a table of constants.
    with_context: unsafe { &qmpi_down_context_table },
    down_taken: [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1],
    up_taken: [const { AtomicUsize::new(0) }; REGISTERS_UP + 1],
};

impl DirectStubs {
    /// Those of a mode; where the return address is kept there are none.
    pub(crate) fn of(mode: CallerMode) -> Option<&'static DirectStubs> {
        match mode {
            CallerMode::Ignore => Some(&DIRECT_STUBS),
            CallerMode::Keep => None,
            CallerMode::Null => Some(&NULL_STUBS),
        }
    }

    /// QMPI → PMPI with one jump. `None`: there are none for so many arguments.
    pub(crate) fn down(&'static self, target: usize, arity: Arity) -> Option<usize> {
        let count = arity.fixed()?;
        let number = self.down_taken.get(count)?.fetch_add(1, Ordering::Relaxed);
        let capacity = down_capacity(count);
        let (block, index) = (self.block(number / capacity), number % capacity);
        block.rows.down[down_rows_before(count) + index].store(target, Ordering::Release);
        Some(direct_address(self.down, count, capacity, index).wrapping_add(block.distance))
    }

    /// PMPI → QMPI with one jump. `None`: there are none for so many arguments.
    pub(crate) fn up(&'static self, target: usize, tool: i32, arity: Arity) -> Option<usize> {
        let count = arity.fixed()?;
        let number = self.up_taken.get(count)?.fetch_add(1, Ordering::Relaxed);
        let (block, index) = (self.block(number / DIRECT), number % DIRECT);
        block.rows.up[count * DIRECT + index].set(target, tool);
        Some(direct_address(self.up, count, DIRECT, index).wrapping_add(block.distance))
    }

    fn block(&'static self, number: usize) -> Block<DirectRows> {
        let block = self.blocks.get(number);
        // Whichever thread is first: all write the same.
        for (place, stub) in block.rows.with_context.iter().zip(self.with_context) {
            place.store(*stub as usize, Ordering::Relaxed);
        }
        block
    }
}

/// The address of a stub of the library: number `index` of the `capacity` stubs of the kind `kind`.
fn direct_address(starts: &[usize], kind: usize, capacity: usize, index: usize) -> usize {
    // The next kind begins where this one ends, as all are aligned.
    let (start, end) = (starts[kind], starts[kind + 1]);
    start + (end - start) / capacity * index
}

/// PMPI → QMPI with one call, for more arguments than [`DirectStubs::up`] has stubs for. `None`: there are none for so many, or none are left.
pub(crate) fn direct_up_with_frame(target: usize, tool: i32, arity: Arity) -> Option<usize> {
    static TAKEN: [AtomicUsize; FRAME_KINDS] = [const { AtomicUsize::new(0) }; FRAME_KINDS];
    let kind = arity.fixed()?.checked_sub(REGISTERS_UP + 1)?;
    let number = TAKEN.get(kind)?.fetch_add(1, Ordering::Relaxed);
    let row = (number < DIRECT_LONG).then(|| &FRAME_ROWS[kind * DIRECT_LONG + number])?;
    row.set(target, tool);
    // SAFETY: a table of constants.
    Some(direct_address(unsafe { &qmpi_direct_up_frame_table }, kind, DIRECT_LONG, number))
}

/// Where a table has the stub.
fn index(arity: Arity) -> usize {
    match arity {
        Arity::Fixed(count) => usize::from(count).min(MAX_ARGS),
        Arity::Variadic => VARIADIC,
    }
}

/// QMPI → PMPI.
pub(crate) fn down(arity: Arity, mode: CallerMode) -> Stub {
    // SAFETY: tables of constants.
    let of_modes = unsafe { [&qmpi_down_table, &qmpi_down_record_table, &qmpi_down_null_table] };
    of_modes[mode as usize][index(arity)]
}

/// PMPI → QMPI.
pub(crate) fn up(arity: Arity, mode: CallerMode) -> Stub {
    // SAFETY: tables of constants.
    let of_modes = unsafe { [&qmpi_up_table, &qmpi_up_recall_table, &qmpi_up_null_table] };
    of_modes[mode as usize][index(arity)]
}

/// PMPI → thesis. The prototype has no variadic functions: of `MPI_Pcontrol` the first argument counts.
pub(crate) fn append(arity: Arity) -> Stub {
    let index = if arity == Arity::Variadic { 1 } else { index(arity) };
    // SAFETY: a table of constants.
    unsafe { qmpi_append_table[index] }
}
