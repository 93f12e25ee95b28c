//! The C functions of `qmpi.h` and `qmpix.h`, as `libqmpi.so` hands their calls on.
//!
//! All have local semantics and return an MPI error class: `MPI_ERR_ARG` for an argument that is null, unknown or out of
//! range, `MPI_ERR_OTHER` for a call at the wrong time. None ever crashes, whatever it is given.
#![expect(unsafe_code, reason = "C functions that write through pointers of their callers")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use qmpi_abi::FnId;
use qmpi_elf::NumberingNote;

use qmpi_loader::process::loader_lock;
use qmpi_ring::Next;
use qmpi_ring::core_functions::{Function, Init};

use super::class::Class;
use super::table::Table;
use super::{numbering, of_mpi, present, registry, table, tools};
use crate::chain::ToolId;
use crate::report::edges;

fn add_name(name: *const c_char, init: Option<Init>) -> Class {
    let (Some(name), Some(init)) = (text(name), init) else { return Class::Arg };
    registry::register(name, init)
}

/// Changes what is known of a tool; only in its init callback.
fn in_init(tool: c_int, change: impl FnOnce(&mut tools::Draft)) -> Class {
    match tools::change(tool, change) {
        Some(()) => Class::Success,
        None if tools::is_set_up(tool) => Class::Other,
        None => Class::Arg,
    }
}

fn add_storage(tool: c_int, storage: *mut c_void) -> Class {
    in_init(tool, |draft| draft.set_storage(storage))
}

fn add_function(tool: c_int, id: Option<FnId>, function: Function) -> Class {
    let (Some(id), Some(function)) = (id, function) else { return Class::Arg };
    in_init(tool, |draft| draft.set_function(id, function as usize))
}

fn add_number(tool: c_int, value: c_int, function: Function) -> Class {
    match tools::function_of(tool, value) {
        // The tool is refused when its init callback returns, with a reason. An error here it would make its own of.
        None if tools::unreadable(tool).is_some() => Class::Success,
        id => add_function(tool, id, function),
    }
}

fn add_info(tool: c_int, version: *const c_char, description: *const c_char) -> Class {
    let kept = |words| text(words).and_then(|words| CString::new(words).ok());
    in_init(tool, |_| present::say(tool, kept(version), kept(description)))
}

/// Stores a handle.
///
/// # Safety
/// As for [`store_next`].
unsafe fn store_table(table: Option<Table>, handle: *mut c_int) -> Class {
    match table {
        Some(table) if !handle.is_null() => {
            // SAFETY: not null, so writable.
            unsafe { handle.write(table::add(table)) };
            Class::Success
        }
        None if !tools::is_published() => Class::Other,
        _ => Class::Arg,
    }
}

fn open_stack(name: *const c_char, below: c_int) -> Result<Table, Class> {
    let (Some(name), Some(below)) = (text(name), Table::get(below)) else { return Err(Class::Arg) };
    if !tools::is_published() {
        return Err(Class::Other);
    }
    // One thread loads at a time.
    let top =
        loader_lock::with(|writer| crate::stack::open_named(name, below.functions(), writer)).ok_or(Class::Arg)?;
    Ok(below.with(top))
}

/// Stores what comes next.
///
/// # Safety
/// Pointers that are not null are writable.
#[inline]
unsafe fn store_next(next: Option<Next>, function: *mut usize, tool: *mut c_int) -> c_int {
    match next {
        Some(next) if !function.is_null() && !tool.is_null() => {
            // SAFETY: not null, so writable.
            unsafe { function.write(next.function) };
            // SAFETY: as above.
            unsafe { tool.write(next.tool) };
            0
        }
        // The next function is not known before everything is set up.
        None if !tools::is_published() => Class::Other.code(),
        _ => Class::Arg.code(),
    }
}

fn text<'a>(name: *const c_char) -> Option<&'a str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller passes a C string.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
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
    // SAFETY: the caller passes pointers to variables.
    unsafe { store_next(tools::next(tool, value), function, next) }
}

/// Finds the storage of a tool that is still being initialized.
pub(crate) extern "C" fn get_tool_storage(context: *mut c_void, tool: c_int, storage: *mut *mut c_void) -> c_int {
    if let Some(code) = of_mpi(tool, || of_mpi::get_tool_storage(context, tool, storage)) {
        return code;
    }
    match tools::storage(tool) {
        Some(address) if !storage.is_null() => {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { storage.write(address) };
            0
        }
        _ => Class::Arg.code(),
    }
}

/// Where the application called, of a context or place that is null.
pub(crate) extern "C" fn get_calling_address(context: *mut c_void, address: *mut *mut c_void) -> c_int {
    if address.is_null() {
        return Class::Arg.code();
    }
    of_mpi::get_calling_address(context, address).unwrap_or_else(|| {
        // SAFETY: not null, so a variable of the caller's.
        unsafe { address.write(context) };
        0
    })
}

/// Registers a tool's name and its init callback; before MPI is initialized. It is enough that one of the two chains takes it.
pub(crate) extern "C" fn register_tool_name(name: *const c_char, init: Option<Init>) -> c_int {
    let own = add_name(name, init);
    let is_wanted = init.is_some() && text(name).is_some_and(of_mpi::wants);
    let of_mpi = if is_wanted { of_mpi::register_tool_name(name, init) } else { None };
    match own {
        Class::Success => own.code(),
        Class::Arg | Class::Other => of_mpi.unwrap_or_else(|| own.code()),
    }
}

/// Registers what `QMPI_Get_tool_storage` gives back; in the init callback.
pub(crate) extern "C" fn register_tool_storage(tool: c_int, storage: *mut c_void) -> c_int {
    of_mpi(tool, || of_mpi::register_tool_storage(tool, storage)).unwrap_or_else(|| add_storage(tool, storage).code())
}

/// Registers the function that is called for an enumerator; in the init callback.
pub(crate) extern "C" fn register_function(tool: c_int, value: c_int, function: Function) -> c_int {
    let of_mpi = of_mpi(tool, || of_mpi::register_function(tool, value, function));
    of_mpi.unwrap_or_else(|| add_number(tool, value, function).code())
}

/// The same for a function by its name, such as `MPIX_Comm_agree`.
pub(crate) extern "C" fn register_function_by_name(tool: c_int, name: *const c_char, function: Function) -> c_int {
    add_function(tool, text(name).and_then(FnId::by_name), function).code()
}

/// The same for a function by its name.
pub(crate) extern "C" fn get_function_by_name(
    tool: c_int,
    name: *const c_char,
    function: *mut usize,
    next: *mut c_int,
) -> c_int {
    let found = text(name).and_then(FnId::by_name).and_then(|id| tools::next_by_id(tool, id));
    // SAFETY: the caller passes pointers to variables.
    unsafe { store_next(found, function, next) }
}

/// What a tool says of itself; in the init callback.
pub(crate) extern "C" fn register_tool_info(tool: c_int, version: *const c_char, description: *const c_char) -> c_int {
    add_info(tool, version, description).code()
}

/// The layer that a tool is, or in front of which it stands.
pub(crate) extern "C" fn get_layer(tool: c_int, place: *mut c_int, label: *mut *const c_char) -> c_int {
    match edges::place_of(tool) {
        Some((found, name)) if !place.is_null() && !label.is_null() => {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { place.write(found) };
            // SAFETY: not null, so a variable of the caller's.
            unsafe { label.write(name) };
            0
        }
        _ => Class::Arg.code(),
    }
}

/// What is known of the process.
pub(crate) extern "C" fn get_process(record: *mut c_void) -> c_int {
    match present::process() {
        None => Class::Other.code(),
        Some(known) if !record.is_null() => {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { record.cast::<present::ProcessRecord>().write(known) };
            0
        }
        Some(_) => Class::Arg.code(),
    }
}

/// The MPI library's own function of a name, or a variable of it.
pub(crate) extern "C" fn get_mpi_symbol(name: *const c_char, address: *mut usize) -> c_int {
    match text(name).and_then(present::mpi_symbol) {
        Some(found) if !address.is_null() => {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { address.write(found) };
            0
        }
        _ => Class::Arg.code(),
    }
}

/// The tools that are present.
pub(crate) extern "C" fn get_tools(max: c_int, records: *mut c_void, count: *mut c_int) -> c_int {
    let records = records.cast::<present::Record>();
    let all = present::all();
    let room = usize::try_from(max).unwrap_or(0);
    if count.is_null() || max < 0 || (records.is_null() && room > 0) {
        return Class::Arg.code();
    }
    for (index, record) in all.iter().take(room).enumerate() {
        // SAFETY: the caller has room for `max` records.
        let place = unsafe { records.add(index) };
        // SAFETY: as above.
        unsafe { place.write(*record) };
    }
    // SAFETY: not null, so writable.
    unsafe { count.write(c_int::try_from(all.len()).unwrap_or(c_int::MAX)) };
    0
}

/// A new table in which nothing is set.
pub(crate) extern "C" fn table_create(handle: *mut c_int) -> c_int {
    // SAFETY: the caller passes a pointer to a variable.
    unsafe { store_table(Some(Table::empty(numbering::of_process())), handle) }.code()
}

/// The same, for functions numbered as a note of this value says.
pub(crate) extern "C" fn table_create_numbered(numbering: u32, handle: *mut c_int) -> c_int {
    #[cfg(planted)]
    crate::planted::race();
    let numbering = NumberingNote::of(numbering).numbering(numbering::of_process());
    // SAFETY: the caller passes a pointer to a variable.
    unsafe { store_table(Some(Table::empty(numbering)), handle) }.code()
}

/// A new table of what comes next below a tool.
pub(crate) extern "C" fn table_next(tool: c_int, handle: *mut c_int) -> c_int {
    // SAFETY: the caller passes a pointer to a variable.
    unsafe { store_table(Table::next_of(tool), handle) }.code()
}

/// A copy.
pub(crate) extern "C" fn table_copy(from: c_int, handle: *mut c_int) -> c_int {
    // SAFETY: the caller passes a pointer to a variable.
    unsafe { store_table(Table::get(from), handle) }.code()
}

/// Destroys a table.
pub(crate) extern "C" fn table_destroy(handle: *mut c_int) -> c_int {
    if handle.is_null() {
        return Class::Arg.code();
    }
    // SAFETY: not null, so a variable of the caller's.
    let table = unsafe { std::ptr::replace(handle, 0) };
    table::remove(table).code()
}

/// What is set for an enumerator.
pub(crate) extern "C" fn table_query(table: c_int, value: c_int, function: *mut usize, tool: *mut c_int) -> c_int {
    let next = table::function_of(table, value).and_then(|id| table::query(table, id));
    // SAFETY: the caller passes pointers to variables.
    unsafe { store_queried(next, function, tool) }.code()
}

/// The same by name.
pub(crate) extern "C" fn table_query_name(
    table: c_int,
    name: *const c_char,
    function: *mut usize,
    tool: *mut c_int,
) -> c_int {
    let next = text(name).and_then(FnId::by_name).and_then(|id| table::query(table, id));
    // SAFETY: the caller passes pointers to variables.
    unsafe { store_queried(next, function, tool) }.code()
}

/// Sets a function.
pub(crate) extern "C" fn table_set(table: c_int, value: c_int, function: Function, tool: c_int) -> c_int {
    set(table, table::function_of(table, value), function, tool).code()
}

/// The same by name.
pub(crate) extern "C" fn table_set_name(table: c_int, name: *const c_char, function: Function, tool: c_int) -> c_int {
    set(table, text(name).and_then(FnId::by_name), function, tool).code()
}

/// Unsets a function.
pub(crate) extern "C" fn table_unset(table: c_int, value: c_int) -> c_int {
    table::set(table, table::function_of(table, value), Next::default()).code()
}

/// The same by name.
pub(crate) extern "C" fn table_unset_name(table: c_int, name: *const c_char) -> c_int {
    table::set(table, text(name).and_then(FnId::by_name), Next::default()).code()
}

/// Loads a named stack on top of a table.
pub(crate) extern "C" fn stack_open(name: *const c_char, below: c_int, top: *mut c_int) -> c_int {
    if top.is_null() {
        return Class::Arg.code();
    }
    match open_stack(name, below) {
        // SAFETY: the caller passes a pointer to a variable.
        Ok(table) => unsafe { store_table(Some(table), top) }.code(),
        Err(class) => class.code(),
    }
}

fn set(table: c_int, id: Option<FnId>, function: Function, tool: c_int) -> Class {
    match function {
        Some(function) => table::set(table, id, Next { function: function as usize, tool }),
        None => Class::Arg,
    }
}

/// Stores what a table has.
///
/// # Safety
/// As for [`store_next`].
unsafe fn store_queried(next: Option<Next>, function: *mut usize, tool: *mut c_int) -> Class {
    match next {
        Some(next) if !function.is_null() && !tool.is_null() => {
            // SAFETY: not null, so writable.
            unsafe { function.write(next.function) };
            // SAFETY: as above.
            unsafe { tool.write(next.tool) };
            Class::Success
        }
        _ => Class::Arg,
    }
}
