//! The functions of `qmpi.h` and `qmpix.h`, as `libqmpi.so` hands their calls on; those that wrappers call it answers itself. What each function of
//! `qmpix.h` does says [`qmpi_ring::for_each_extension`], which makes C functions of them.
//!
//! All have local semantics and return an MPI error class: `MPI_ERR_ARG` for an argument that is null, unknown or out of
//! range, `MPI_ERR_OTHER` for a call at the wrong time. None ever crashes, whatever it is given; but a pointer that is not null leads to a
//! variable of the caller's, or to a C string.
#![expect(unsafe_code, reason = "C functions that read and write through pointers of their callers")]

use std::ffi::{CStr, CString, c_int, c_void};

use qmpi_abi::FnId;
use qmpi_elf::NumberingNote;
use qmpi_loader::process::loader_lock;
use qmpi_ring::Next;
use qmpi_ring::core_functions::{AnyFunction, Init, LEFT_TO_MPI, RegisterToolName, Text};

use crate::qmpi::table::{self, FunctionTable};
use crate::qmpi::{Class, ToolId, mpi, of_mpi, registry, tools};
use crate::{present, recorder, stack, switching};

/// What a function of the interface comes to.
pub(crate) type Outcome = Result<(), Class>;

/// What its caller in C gets.
pub(crate) fn code(outcome: Outcome) -> c_int {
    outcome.map_or_else(Class::code, |()| 0)
}

/// Where something is missing: everything is set up later, or the argument is wrong.
fn missing() -> Class {
    if tools::is_published() { Class::Arg } else { Class::Other }
}

fn text<'a>(name: Text) -> Option<&'a str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: not null, so a C string of the caller's.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

/// How callers name a function: by the value of an enumerator, or by a C string.
pub(crate) trait Designation {
    /// The function. `by_value` reads a value as its user means it: a tool, or whoever made a table.
    fn function(self, by_value: impl FnOnce(c_int) -> Option<FnId>) -> Option<FnId>;
}

impl Designation for c_int {
    fn function(self, by_value: impl FnOnce(c_int) -> Option<FnId>) -> Option<FnId> {
        by_value(self)
    }
}

impl Designation for Text {
    fn function(self, _: impl FnOnce(c_int) -> Option<FnId>) -> Option<FnId> {
        text(self).and_then(FnId::by_name)
    }
}

/// The function that whoever made a table means.
fn of_table(table: c_int, of: impl Designation) -> Option<FnId> {
    of.function(|value| table::function_of(table, value))
}

fn store<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(Class::Arg);
    }
    // SAFETY: not null, so a variable of the caller's.
    unsafe { place.write(value) };
    Ok(())
}

/// Stores both, or nothing.
fn store_both<T, U>(first: *mut T, second: *mut U, values: (T, U)) -> Outcome {
    if second.is_null() {
        return Err(Class::Arg);
    }
    store(first, values.0)?;
    store(second, values.1)
}

/// Stores what comes next, or what a table has.
fn store_next(next: Next, function: *mut usize, tool: *mut c_int) -> Outcome {
    store_both(function, tool, (next.function, next.tool))
}

/// Stores a handle.
fn store_table(table: Option<FunctionTable>, handle: *mut c_int) -> Outcome {
    let table = table.ok_or_else(missing)?;
    if handle.is_null() { Err(Class::Arg) } else { store(handle, table::add(table)) }
}

/// Changes what is known of a tool; only in its init callback.
fn in_init(tool: c_int, change: impl FnOnce(&mut tools::Draft)) -> Outcome {
    let class = || if tools::tool_of(tool).is_some() { Class::Other } else { Class::Arg };
    tools::change(tool, change).ok_or_else(class)
}

fn add_function(tool: c_int, id: Option<FnId>, function: AnyFunction) -> Outcome {
    let (id, function) = id.zip(function).ok_or(Class::Arg)?;
    // A second registration replaces the first.
    in_init(tool, |draft| _ = draft.functions.insert(id, function as usize))
}

/// For a tool of this chain; that of the MPI library itself does not check numbers.
fn own(tool: c_int, answer: impl FnOnce() -> Outcome) -> c_int {
    if ToolId(tool).is_of_mpi() { LEFT_TO_MPI } else { code(answer()) }
}

/// Finds what comes next where the table of `libqmpi.so` has nothing.
pub(crate) extern "C" fn get_function(tool: c_int, value: c_int, function: *mut usize, next: *mut c_int) -> c_int {
    own(tool, || {
        let find = |id: FnId| tools::next(tool, id).or_else(|| recorder::next(tool, id));
        let found = tools::function_of(tool, value).and_then(find).ok_or_else(missing)?;
        store_next(found, function, next)
    })
}

/// Finds the storage of a tool that is still being initialized.
pub(crate) extern "C" fn get_tool_storage(_: *mut c_void, tool: c_int, storage: *mut *mut c_void) -> c_int {
    own(tool, || store(storage, tools::storage(tool).ok_or(Class::Arg)?))
}

/// Registers a tool's name and its init callback; before MPI is initialized. It is enough that one of the two chains takes it.
pub(crate) extern "C" fn register_tool_name(name: Text, init: Option<Init>, at_mpi: Option<RegisterToolName>) -> c_int {
    let Some((text, callback)) = text(name).zip(init) else { return Class::Arg.code() };
    let own = registry::register(text, callback);
    let of_mpi = at_mpi.filter(|_| of_mpi::wants(text)).map(|register| register(name, init));
    own.map_or_else(|class| of_mpi.unwrap_or_else(|| class.code()), |()| 0)
}

/// Registers what `QMPI_Get_tool_storage` gives back; in the init callback.
pub(crate) extern "C" fn register_tool_storage(tool: c_int, storage: *mut c_void) -> c_int {
    own(tool, || in_init(tool, |draft| draft.storage = storage.addr()))
}

/// Registers the function that is called for an enumerator; in the init callback.
pub(crate) extern "C" fn register_function(tool: c_int, value: c_int, function: AnyFunction) -> c_int {
    own(tool, || match tools::function_of(tool, value) {
        // The tool is refused when its init callback returns, with a reason. An error here it would make its own of.
        None if tools::unreadable(tool).is_some() => Ok(()),
        id => add_function(tool, id, function),
    })
}

pub(crate) fn register_function_by_name(tool: c_int, name: Text, function: AnyFunction) -> Outcome {
    add_function(tool, text(name).and_then(FnId::by_name), function)
}

pub(crate) fn get_function_by_name(tool: c_int, name: Text, function: *mut usize, next: *mut c_int) -> Outcome {
    let id = text(name).and_then(FnId::by_name);
    store_next(id.and_then(|id| tools::next(tool, id)).ok_or_else(missing)?, function, next)
}

pub(crate) fn register_tool_info(tool: c_int, version: Text, description: Text) -> Outcome {
    let copy = |words| text(words).and_then(|words| CString::new(words).ok());
    in_init(tool, |_| present::say(tool, copy(version), copy(description)))
}

pub(crate) fn get_layer(tool: c_int, place: *mut c_int, label: *mut Text) -> Outcome {
    store_both(place, label, recorder::place_of(tool).ok_or(Class::Arg)?)
}

pub(crate) fn get_process(record: *mut c_void) -> Outcome {
    store(record.cast(), present::process().ok_or(Class::Other)?)
}

pub(crate) fn get_mpi_symbol(name: Text, address: *mut usize) -> Outcome {
    store(address, text(name).and_then(present::mpi_symbol).ok_or(Class::Arg)?)
}

pub(crate) fn get_tools(max: c_int, records: *mut c_void, count: *mut c_int) -> Outcome {
    let room = usize::try_from(max).map_err(|_| Class::Arg)?;
    if count.is_null() || (records.is_null() && room > 0) {
        return Err(Class::Arg);
    }
    let all = present::all();
    for (index, record) in all.iter().take(room).enumerate() {
        // SAFETY: the caller has room for `max` records.
        let place = unsafe { records.cast::<present::QmpixTool>().add(index) };
        // SAFETY: the place of a record in the caller's memory.
        unsafe { place.write(*record) };
    }
    store(count, c_int::try_from(all.len()).unwrap_or(c_int::MAX))
}

pub(crate) fn table_create(handle: *mut c_int) -> Outcome {
    store_table(Some(FunctionTable::empty(mpi::numbering())), handle)
}

pub(crate) fn table_create_numbered(numbering: u32, handle: *mut c_int) -> Outcome {
    #[cfg(planted)]
    crate::planted::race();
    let numbering = NumberingNote::of(numbering).numbering(mpi::numbering());
    store_table(Some(FunctionTable::empty(numbering)), handle)
}

pub(crate) fn table_next(tool: c_int, handle: *mut c_int) -> Outcome {
    store_table(tools::all_next(tool), handle)
}

pub(crate) fn table_copy(from: c_int, handle: *mut c_int) -> Outcome {
    store_table(FunctionTable::get(from), handle)
}

pub(crate) fn table_destroy(handle: *mut c_int) -> Outcome {
    if handle.is_null() {
        return Err(Class::Arg);
    }
    // SAFETY: not null, so a variable of the caller's.
    let table = unsafe { std::ptr::replace(handle, 0) };
    table::remove(table).map(drop).ok_or(Class::Arg)
}

pub(crate) fn table_query(table: c_int, of: impl Designation, function: *mut usize, tool: *mut c_int) -> Outcome {
    let next = of_table(table, of).and_then(|id| table::query(table, id)).ok_or(Class::Arg)?;
    store_next(next, function, tool)
}

pub(crate) fn table_set(table: c_int, of: impl Designation, function: AnyFunction, tool: c_int) -> Outcome {
    let function = function.ok_or(Class::Arg)? as usize;
    of_table(table, of).and_then(|id| table::set(table, id, Next { function, tool })).ok_or(Class::Arg)
}

pub(crate) fn table_unset(table: c_int, of: impl Designation) -> Outcome {
    of_table(table, of).and_then(|id| table::set(table, id, Next::default())).ok_or(Class::Arg)
}

pub(crate) fn stack_open(name: Text, below: c_int, top: *mut c_int) -> Outcome {
    let (name, below) = text(name).zip(FunctionTable::get(below)).filter(|_| !top.is_null()).ok_or(Class::Arg)?;
    if !tools::is_published() {
        return Err(Class::Other);
    }
    // One thread loads at a time.
    let functions = loader_lock::with(|lock| stack::open_named(name, &below.functions, lock)).ok_or(Class::Arg)?;
    store_table(Some(FunctionTable { functions, numbering: below.numbering }), top)
}

pub(crate) fn tool_enable(tool: c_int) -> Outcome {
    switching::set(tool, true).ok_or(Class::Arg)
}

pub(crate) fn tool_disable(tool: c_int) -> Outcome {
    switching::set(tool, false).ok_or(Class::Arg)
}

pub(crate) fn tool_is_enabled(tool: c_int, flag: *mut c_int) -> Outcome {
    store(flag, switching::is_on(tool).ok_or(Class::Arg)?.into())
}

pub(crate) fn tool_set_function(tool: c_int, of: impl Designation, new: AnyFunction, old: *mut usize) -> Outcome {
    let (id, new) = of.function(|value| tools::function_of(tool, value)).zip(new).ok_or(Class::Arg)?;
    let before = switching::replace(tool, id, new as usize).ok_or(Class::Arg)?;
    if old.is_null() { Ok(()) } else { store(old, before) }
}
