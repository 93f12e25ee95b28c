//! The stubs that lead from one calling convention of tools to another, on whichever machine: which there are, and what each block of them reads.
//!
//! Their code is in the folder of each machine (`x86_64/shift.rs`, `aarch64/shift.rs`).
#![expect(unsafe_code, reason = "tables of machine code")]

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{ARGUMENT_REGISTERS, Stub, stub};
use crate::blocks::{Block, Blocks};
use crate::conversion::{Arity, CallerMode};

/// The largest number of arguments that the stubs are made for; MPI's own largest is 13.
pub(crate) const MAX_ARGS: usize = 20;
/// Where the tables have the stubs of variadic functions.
const VARIADIC: usize = MAX_ARGS + 1;

/// What a shift-up stub adds.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Up {
    /// The QMPI tool's function.
    pub(crate) target: usize,
    /// The tool's id.
    pub(crate) tool: i32,
    /// The context for calls that no context came with (a thread of the tool's own); 0: the return address.
    pub(crate) context: usize,
}

/// What an append stub adds.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Append {
    /// The wrapper of the 2018 prototype.
    pub(crate) target: usize,
    /// The tool's level.
    pub(crate) level: i32,
    /// The thesis's vector of tools.
    pub(crate) vector: usize,
}

/// How many stubs with a trampoline of their own a block has for each number of arguments: enough for every function once.
pub(super) const DIRECT: usize = 256;
/// The same where there are words on the stack: the stubs are longer, and the functions fewer.
pub(super) const DIRECT_LONG: usize = 96;
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
    let mut rows = 0;
    let mut of = 0;
    while of < count {
        rows += down_capacity(of);
        of += 1;
    }
    rows
}

const DOWN_COUNT: usize = down_rows_before(DIRECT_ARGS + 1);
const UP_COUNT: usize = DIRECT * (REGISTERS_UP + 1);
const FRAME_KINDS: usize = DIRECT_ARGS - REGISTERS_UP;
const FRAME_COUNT: usize = DIRECT_LONG * FRAME_KINDS;

/// As [`Up`], without a context.
#[repr(C)]
pub(super) struct UpRow {
    target: AtomicUsize,
    tool: AtomicUsize,
}

/// The rows of a block; whole pages, as they are mapped again.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(65536)))]
pub(super) struct DirectRows {
    pub(super) down: [AtomicUsize; DOWN_COUNT],
    pub(super) up: [UpRow; UP_COUNT],
}

/// Each row is written once, before the address of the stub is given away.
pub(super) static DIRECT_ROWS: DirectRows =
    DirectRows { down: [const { AtomicUsize::new(0) }; DOWN_COUNT], up: [const { UpRow::new() }; UP_COUNT] };

/// The rows of a block for null contexts.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(65536)))]
pub(super) struct NullRows {
    pub(super) rows: DirectRows,
    /// Where a call goes whose context is not null, by number of arguments: code of the library.
    pub(super) with_context: [AtomicUsize; DIRECT_ARGS + 1],
}

pub(super) static NULL_ROWS: NullRows = NullRows {
    rows: DirectRows { down: [const { AtomicUsize::new(0) }; DOWN_COUNT], up: [const { UpRow::new() }; UP_COUNT] },
    with_context: [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1],
};

/// Of direct stubs with a frame: there is one block of them, as no call returns into a copy.
pub(super) static FRAME_ROWS: [UpRow; FRAME_COUNT] = [const { UpRow::new() }; FRAME_COUNT];

impl UpRow {
    const fn new() -> UpRow {
        UpRow { target: AtomicUsize::new(0), tool: AtomicUsize::new(0) }
    }

    fn set(&self, target: usize, tool: i32) {
        self.tool.store(tool as u32 as usize, Ordering::Relaxed);
        self.target.store(target, Ordering::Release);
    }
}

unsafe extern "C" {
    static qmpi_direct: u8;
    static qmpi_direct_end: u8;
    // Where the direct stubs for each number of arguments start, and at last where they end.
    static qmpi_direct_down_table: [usize; DIRECT_ARGS + 2];
    static qmpi_direct_up_table: [usize; REGISTERS_UP + 2];
    static qmpi_direct_up_frame_table: [usize; FRAME_KINDS + 1];
    static qmpi_null: u8;
    static qmpi_null_end: u8;
    // As above.
    static qmpi_direct_down_null_table: [usize; DIRECT_ARGS + 2];
    static qmpi_direct_up_null_table: [usize; REGISTERS_UP + 2];
    static qmpi_down_context_table: VariadicStubs;
}

/// The block of direct stubs that is in the library.
fn direct_block() -> Block {
    let code = (&raw const qmpi_direct).expose_provenance();
    Block {
        code,
        code_len: (&raw const qmpi_direct_end).addr() - code,
        rows: (&raw const DIRECT_ROWS).expose_provenance(),
        rows_len: size_of::<DirectRows>(),
    }
}

static DIRECT_BLOCKS: Blocks = Blocks::new(direct_block);

/// The rows of a block, and how far its code is from that of the library.
fn direct_rows(number: usize) -> io::Result<(&'static DirectRows, usize)> {
    let block = DIRECT_BLOCKS.get(number)?;
    let rows = std::ptr::with_exposed_provenance::<DirectRows>(block.rows);
    // SAFETY: blocks have such rows, zero at first, at addresses that stay mapped for ever.
    Ok((unsafe { &*rows }, block.code.wrapping_sub((&raw const qmpi_direct).addr())))
}

/// The address of a stub of the library: number `index` of the `capacity` stubs of the kind `kind`.
fn stub_address(starts: &[usize], kind: usize, capacity: usize, index: usize) -> usize {
    // The next kind begins where this one ends, as all are aligned.
    let (start, end) = (starts[kind], starts[kind + 1]);
    start + (end - start) / capacity * index
}

/// QMPI → PMPI with one jump. `None`: there are none for so many arguments.
pub(crate) fn direct_down(target: usize, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; DIRECT_ARGS + 1] = [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    let capacity = down_capacity(count);
    Some(direct_rows(number / capacity).map(|(rows, distance)| {
        let index = number % capacity;
        rows.down[down_rows_before(count) + index].store(target, Ordering::Release);
        // SAFETY: a table of constants.
        let starts = unsafe { &qmpi_direct_down_table };
        stub_address(starts, count, capacity, index).wrapping_add(distance)
    }))
}

/// PMPI → QMPI with one jump or call. `None`: there are none for so many arguments, or none are left.
pub(crate) fn direct_up(target: usize, tool: i32, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; DIRECT_ARGS + 1] = [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    if let Some(kind) = count.checked_sub(REGISTERS_UP + 1) {
        let row = (number < DIRECT_LONG).then(|| &FRAME_ROWS[kind * DIRECT_LONG + number])?;
        row.set(target, tool);
        // SAFETY: a table of constants.
        return Some(Ok(stub_address(unsafe { &qmpi_direct_up_frame_table }, kind, DIRECT_LONG, number)));
    }
    Some(direct_rows(number / DIRECT).map(|(rows, distance)| {
        let index = number % DIRECT;
        rows.up[count * DIRECT + index].set(target, tool);
        // SAFETY: a table of constants.
        stub_address(unsafe { &qmpi_direct_up_table }, count, DIRECT, index).wrapping_add(distance)
    }))
}

/// The block for null contexts that is in the library.
fn null_block() -> Block {
    let code = (&raw const qmpi_null).expose_provenance();
    Block {
        code,
        code_len: (&raw const qmpi_null_end).addr() - code,
        rows: (&raw const NULL_ROWS).expose_provenance(),
        rows_len: size_of::<NullRows>(),
    }
}

/// The rows of a block for null contexts, and how far its code is from that of the library.
fn null_rows(number: usize) -> io::Result<(&'static NullRows, usize)> {
    static BLOCKS: Blocks = Blocks::new(null_block);
    let block = BLOCKS.get(number)?;
    let rows = std::ptr::with_exposed_provenance::<NullRows>(block.rows);
    // SAFETY: blocks have such rows, zero at first, at addresses that stay mapped for ever.
    let rows = unsafe { &*rows };
    // SAFETY: a table of constants.
    let with_context = unsafe { &qmpi_down_context_table };
    // Whichever thread is first: all write the same.
    for (place, stub) in rows.with_context.iter().zip(with_context) {
        place.store(*stub as usize, Ordering::Relaxed);
    }
    Ok((rows, block.code.wrapping_sub((&raw const qmpi_null).addr())))
}

/// As [`direct_down`], where contexts are null so far.
pub(crate) fn direct_down_null(target: usize, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; DIRECT_ARGS + 1] = [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    let capacity = down_capacity(count);
    Some(null_rows(number / capacity).map(|(rows, distance)| {
        let index = number % capacity;
        rows.rows.down[down_rows_before(count) + index].store(target, Ordering::Release);
        // SAFETY: a table of constants.
        stub_address(unsafe { &qmpi_direct_down_null_table }, count, capacity, index).wrapping_add(distance)
    }))
}

/// As [`direct_up`], with a null context. `None`: there are none for so many arguments.
pub(crate) fn direct_up_null(target: usize, tool: i32, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; REGISTERS_UP + 1] = [const { AtomicUsize::new(0) }; REGISTERS_UP + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    Some(null_rows(number / DIRECT).map(|(rows, distance)| {
        let index = number % DIRECT;
        rows.rows.up[count * DIRECT + index].set(target, tool);
        // SAFETY: a table of constants.
        stub_address(unsafe { &qmpi_direct_up_null_table }, count, DIRECT, index).wrapping_add(distance)
    }))
}

/// The stubs of one kind that has none of its own for variadic calls.
type VariadicStubs = [Stub; MAX_ARGS + 1];
/// As above, and the one for variadic calls.
type TableAndVariadic = [Stub; MAX_ARGS + 2];

unsafe extern "C" {
    static qmpi_down_table: TableAndVariadic;
    static qmpi_down_record_table: TableAndVariadic;
    static qmpi_up_table: TableAndVariadic;
    static qmpi_up_recall_table: TableAndVariadic;
    static qmpi_down_null_table: TableAndVariadic;
    static qmpi_up_null_table: TableAndVariadic;
    static qmpi_append_table: VariadicStubs;
    fn qmpi_record();
}

/// Where a table has the stub.
fn index(arity: Arity) -> usize {
    match arity {
        Arity::Fixed(count) => usize::from(count).min(MAX_ARGS),
        Arity::Variadic => VARIADIC,
    }
}

/// QMPI → PMPI where contexts are null so far.
pub(crate) fn down_null(arity: Arity) -> Stub {
    // SAFETY: a table of constants.
    unsafe { qmpi_down_null_table[index(arity)] }
}

/// PMPI → QMPI with a null context.
pub(crate) fn up_null(arity: Arity) -> Stub {
    // SAFETY: a table of constants.
    unsafe { qmpi_up_null_table[index(arity)] }
}

/// QMPI → PMPI.
pub(crate) fn down(arity: Arity, mode: CallerMode) -> Stub {
    let index = index(arity);
    match mode {
        // SAFETY: a table of constants.
        CallerMode::Ignore => unsafe { qmpi_down_table[index] },
        // SAFETY: as above.
        CallerMode::Keep => unsafe { qmpi_down_record_table[index] },
    }
}

/// PMPI → QMPI.
pub(crate) fn up(arity: Arity, mode: CallerMode) -> Stub {
    let index = index(arity);
    match mode {
        // SAFETY: a table of constants.
        CallerMode::Ignore => unsafe { qmpi_up_table[index] },
        // SAFETY: as above.
        CallerMode::Keep => unsafe { qmpi_up_recall_table[index] },
    }
}

/// PMPI → thesis. The prototype has no variadic functions: of `MPI_Pcontrol` the first argument counts.
pub(crate) fn append(arity: Arity) -> Stub {
    let index = match arity {
        Arity::Fixed(count) => usize::from(count).min(MAX_ARGS),
        Arity::Variadic => 1,
    };
    // SAFETY: a table of constants.
    unsafe { qmpi_append_table[index] }
}

/// The application → PMPI, with the return address recorded.
pub(crate) fn record() -> Stub {
    stub(qmpi_record)
}
