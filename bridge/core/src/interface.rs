//! The C functions of `qmpi.h` and `qmpix.h`, as `libqmpi.so` hands their calls on; those that wrappers call it answers itself.
//!
//! All have local semantics and return an MPI error class: `MPI_ERR_ARG` for an argument that is null, unknown or out of
//! range, `MPI_ERR_OTHER` for a call at the wrong time. None ever crashes, whatever it is given; but a pointer that is not null leads to a
//! variable of the caller's, or to a C string.
#![expect(unsafe_code, reason = "C functions that read and write through pointers of their callers")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use qmpi_abi::FnId;
use qmpi_elf::NumberingNote;
use qmpi_loader::process::loader_lock;
use qmpi_ring::Next;
use qmpi_ring::core_functions::{AnyFunction, Init};

use crate::qmpi::table::{self, FunctionTable};
use crate::qmpi::{Class, ToolId, numbering, of_mpi, registry, tools};
use crate::{present, recorder, stack, switching};

fn code(result: Result<(), Class>) -> c_int {
    result.map_or_else(Class::code, |()| 0)
}

/// Where something is missing: everything is set up later, or the argument is wrong.
fn missing() -> Class {
    if tools::is_published() { Class::Arg } else { Class::Other }
}

fn text<'a>(name: *const c_char) -> Option<&'a str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: not null, so a C string of the caller's.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

fn function(name: *const c_char) -> Option<FnId> {
    text(name).and_then(FnId::by_name)
}

fn store<T>(place: *mut T, value: T) -> Result<(), Class> {
    if place.is_null() {
        return Err(Class::Arg);
    }
    // SAFETY: not null, so a variable of the caller's.
    unsafe { place.write(value) };
    Ok(())
}

/// Stores both, or nothing.
fn store_both<T, U>(first: *mut T, second: *mut U, values: (T, U)) -> Result<(), Class> {
    if second.is_null() {
        return Err(Class::Arg);
    }
    store(first, values.0)?;
    store(second, values.1)
}

/// Stores what comes next, or what a table has.
fn store_next(next: Next, function: *mut usize, tool: *mut c_int) -> Result<(), Class> {
    store_both(function, tool, (next.function, next.tool))
}

/// Stores a handle.
fn store_table(table: Option<FunctionTable>, handle: *mut c_int) -> Result<(), Class> {
    let table = table.ok_or_else(missing)?;
    if handle.is_null() { Err(Class::Arg) } else { store(handle, table::add(table)) }
}

/// Changes what is known of a tool; only in its init callback.
fn in_init(tool: c_int, change: impl FnOnce(&mut tools::Draft)) -> Result<(), Class> {
    let class = || if tools::tool_of(tool).is_some() { Class::Other } else { Class::Arg };
    tools::change(tool, change).ok_or_else(class)
}

fn add_function(tool: c_int, id: Option<FnId>, function: AnyFunction) -> Result<(), Class> {
    let (id, function) = id.zip(function).ok_or(Class::Arg)?;
    in_init(tool, |draft| draft.set_function(id, function as usize))
}

fn query(table: c_int, id: Option<FnId>, function: *mut usize, tool: *mut c_int) -> Result<(), Class> {
    let next = id.and_then(|id| table::query(table, id)).ok_or(Class::Arg)?;
    store_next(next, function, tool)
}

fn set(table: c_int, id: Option<FnId>, function: AnyFunction, tool: c_int) -> Result<(), Class> {
    let function = function.ok_or(Class::Arg)? as usize;
    id.and_then(|id| table::set(table, id, Next { function, tool })).ok_or(Class::Arg)
}

fn unset(table: c_int, id: Option<FnId>) -> Result<(), Class> {
    id.and_then(|id| table::set(table, id, Next::default())).ok_or(Class::Arg)
}

fn exchange(tool: c_int, id: Option<FnId>, new: AnyFunction, old: *mut usize) -> Result<(), Class> {
    let (id, new) = id.zip(new).ok_or(Class::Arg)?;
    let before = switching::replace(tool, id, new as usize).ok_or(Class::Arg)?;
    if old.is_null() { Ok(()) } else { store(old, before) }
}

fn open_stack(name: *const c_char, below: c_int, top: *mut c_int) -> Result<(), Class> {
    let (name, below) = text(name).zip(FunctionTable::get(below)).filter(|_| !top.is_null()).ok_or(Class::Arg)?;
    if !tools::is_published() {
        return Err(Class::Other);
    }
    // One thread loads at a time.
    let functions = loader_lock::with(|lock| stack::open_named(name, &below.functions, lock)).ok_or(Class::Arg)?;
    store_table(Some(FunctionTable { functions, numbering: below.numbering }), top)
}

/// What the MPI library's own QMPI answers, for the number of a tool of its chain. It does not check numbers.
fn of_mpi(tool: c_int, answer: impl FnOnce() -> Option<c_int>) -> Option<c_int> {
    if ToolId(tool).is_of_mpi() { answer() } else { None }
}

/// Finds what comes next where the table of `libqmpi.so` has nothing.
pub(crate) extern "C" fn get_function(tool: c_int, value: c_int, function: *mut usize, next: *mut c_int) -> c_int {
    if let Some(code) = of_mpi(tool, || of_mpi::get_function(tool, value, function, next)) {
        return code;
    }
    let find = |id: FnId| tools::next(tool, id).or_else(|| recorder::next(tool, id));
    let found = tools::function_of(tool, value).and_then(find).ok_or_else(missing);
    code(found.and_then(|found| store_next(found, function, next)))
}

/// The same for a function by its name.
pub(crate) extern "C" fn get_function_by_name(
    tool: c_int,
    name: *const c_char,
    function: *mut usize,
    next: *mut c_int,
) -> c_int {
    let found = self::function(name).and_then(|id| tools::next(tool, id)).ok_or_else(missing);
    code(found.and_then(|found| store_next(found, function, next)))
}

/// Finds the storage of a tool that is still being initialized.
pub(crate) extern "C" fn get_tool_storage(context: *mut c_void, tool: c_int, storage: *mut *mut c_void) -> c_int {
    if let Some(code) = of_mpi(tool, || of_mpi::get_tool_storage(context, tool, storage)) {
        return code;
    }
    code(tools::storage(tool).ok_or(Class::Arg).and_then(|found| store(storage, found)))
}

/// Where the application called, of a context or place that is null.
pub(crate) extern "C" fn get_calling_address(context: *mut c_void, address: *mut *mut c_void) -> c_int {
    if address.is_null() {
        return Class::Arg.code();
    }
    of_mpi::get_calling_address(context, address).unwrap_or_else(|| code(store(address, context)))
}

/// Registers a tool's name and its init callback; before MPI is initialized. It is enough that one of the two chains takes it.
pub(crate) extern "C" fn register_tool_name(name: *const c_char, init: Option<Init>) -> c_int {
    let Some((text, callback)) = text(name).zip(init) else { return Class::Arg.code() };
    let own = registry::register(text, callback);
    let of_mpi = if of_mpi::wants(text) { of_mpi::register_tool_name(name, init) } else { None };
    own.map_or_else(|class| of_mpi.unwrap_or_else(|| class.code()), |()| 0)
}

/// Registers what `QMPI_Get_tool_storage` gives back; in the init callback.
pub(crate) extern "C" fn register_tool_storage(tool: c_int, storage: *mut c_void) -> c_int {
    let of_mpi = of_mpi(tool, || of_mpi::register_tool_storage(tool, storage));
    of_mpi.unwrap_or_else(|| code(in_init(tool, |draft| draft.set_storage(storage))))
}

/// Registers the function that is called for an enumerator; in the init callback.
pub(crate) extern "C" fn register_function(tool: c_int, value: c_int, function: AnyFunction) -> c_int {
    if let Some(code) = of_mpi(tool, || of_mpi::register_function(tool, value, function)) {
        return code;
    }
    match tools::function_of(tool, value) {
        // The tool is refused when its init callback returns, with a reason. An error here it would make its own of.
        None if tools::unreadable(tool).is_some() => 0,
        id => code(add_function(tool, id, function)),
    }
}

/// The same for a function by its name, such as `MPIX_Comm_agree`.
pub(crate) extern "C" fn register_function_by_name(tool: c_int, name: *const c_char, function: AnyFunction) -> c_int {
    code(add_function(tool, self::function(name), function))
}

/// What a tool says of itself; in the init callback.
pub(crate) extern "C" fn register_tool_info(tool: c_int, version: *const c_char, description: *const c_char) -> c_int {
    let copy = |words| text(words).and_then(|words| CString::new(words).ok());
    code(in_init(tool, |_| present::say(tool, copy(version), copy(description))))
}

/// The layer that a tool is, or in front of which it stands.
pub(crate) extern "C" fn get_layer(tool: c_int, place: *mut c_int, label: *mut *const c_char) -> c_int {
    code(recorder::place_of(tool).ok_or(Class::Arg).and_then(|found| store_both(place, label, found)))
}

/// What is known of the process.
pub(crate) extern "C" fn get_process(record: *mut c_void) -> c_int {
    code(present::process().ok_or(Class::Other).and_then(|known| store(record.cast(), known)))
}

/// The MPI library's own function of a name, or a variable of it.
pub(crate) extern "C" fn get_mpi_symbol(name: *const c_char, address: *mut usize) -> c_int {
    let found = text(name).and_then(present::mpi_symbol).ok_or(Class::Arg);
    code(found.and_then(|found| store(address, found)))
}

/// The tools that are present.
pub(crate) extern "C" fn get_tools(max: c_int, records: *mut c_void, count: *mut c_int) -> c_int {
    let Ok(room) = usize::try_from(max) else { return Class::Arg.code() };
    if count.is_null() || (records.is_null() && room > 0) {
        return Class::Arg.code();
    }
    let all = present::all();
    for (index, record) in all.iter().take(room).enumerate() {
        // SAFETY: the caller has room for `max` records.
        let place = unsafe { records.cast::<present::QmpixTool>().add(index) };
        // SAFETY: the place of a record in the caller's memory.
        unsafe { place.write(*record) };
    }
    code(store(count, c_int::try_from(all.len()).unwrap_or(c_int::MAX)))
}

/// A new table in which nothing is set.
pub(crate) extern "C" fn table_create(handle: *mut c_int) -> c_int {
    code(store_table(Some(FunctionTable::empty(numbering::of_process())), handle))
}

/// The same, for functions numbered as a note of this value says.
pub(crate) extern "C" fn table_create_numbered(numbering: u32, handle: *mut c_int) -> c_int {
    #[cfg(planted)]
    crate::planted::race();
    let numbering = NumberingNote::of(numbering).numbering(numbering::of_process());
    code(store_table(Some(FunctionTable::empty(numbering)), handle))
}

/// A new table of what comes next below a tool.
pub(crate) extern "C" fn table_next(tool: c_int, handle: *mut c_int) -> c_int {
    code(store_table(tools::all_next(tool), handle))
}

/// A copy.
pub(crate) extern "C" fn table_copy(from: c_int, handle: *mut c_int) -> c_int {
    code(store_table(FunctionTable::get(from), handle))
}

/// Destroys a table.
pub(crate) extern "C" fn table_destroy(handle: *mut c_int) -> c_int {
    if handle.is_null() {
        return Class::Arg.code();
    }
    // SAFETY: not null, so a variable of the caller's.
    let table = unsafe { std::ptr::replace(handle, 0) };
    code(table::remove(table).map(drop).ok_or(Class::Arg))
}

/// What is set for an enumerator.
pub(crate) extern "C" fn table_query(table: c_int, value: c_int, function: *mut usize, tool: *mut c_int) -> c_int {
    code(query(table, table::function_of(table, value), function, tool))
}

/// The same by name.
pub(crate) extern "C" fn table_query_name(
    table: c_int,
    name: *const c_char,
    function: *mut usize,
    tool: *mut c_int,
) -> c_int {
    code(query(table, self::function(name), function, tool))
}

/// Sets a function.
pub(crate) extern "C" fn table_set(table: c_int, value: c_int, function: AnyFunction, tool: c_int) -> c_int {
    code(set(table, table::function_of(table, value), function, tool))
}

/// The same by name.
pub(crate) extern "C" fn table_set_name(
    table: c_int,
    name: *const c_char,
    function: AnyFunction,
    tool: c_int,
) -> c_int {
    code(set(table, self::function(name), function, tool))
}

/// Unsets a function.
pub(crate) extern "C" fn table_unset(table: c_int, value: c_int) -> c_int {
    code(unset(table, table::function_of(table, value)))
}

/// The same by name.
pub(crate) extern "C" fn table_unset_name(table: c_int, name: *const c_char) -> c_int {
    code(unset(table, function(name)))
}

/// Loads a named stack on top of a table.
pub(crate) extern "C" fn stack_open(name: *const c_char, below: c_int, top: *mut c_int) -> c_int {
    code(open_stack(name, below, top))
}

/// Switches a layer on.
pub(crate) extern "C" fn tool_enable(tool: c_int) -> c_int {
    code(switching::set(tool, true).ok_or(Class::Arg))
}

/// Switches a layer off.
pub(crate) extern "C" fn tool_disable(tool: c_int) -> c_int {
    code(switching::set(tool, false).ok_or(Class::Arg))
}

/// Stores whether a layer is on.
pub(crate) extern "C" fn tool_is_enabled(tool: c_int, flag: *mut c_int) -> c_int {
    code(switching::is_on(tool).ok_or(Class::Arg).and_then(|is_on| store(flag, c_int::from(is_on))))
}

/// Puts another function in the place of one of a layer's.
pub(crate) extern "C" fn tool_set_function(tool: c_int, value: c_int, new: AnyFunction, old: *mut usize) -> c_int {
    code(exchange(tool, tools::function_of(tool, value), new, old))
}

/// The same by name.
pub(crate) extern "C" fn tool_set_function_name(
    tool: c_int,
    name: *const c_char,
    new: AnyFunction,
    old: *mut usize,
) -> c_int {
    code(exchange(tool, function(name), new, old))
}
