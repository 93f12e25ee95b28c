//! The C functions of `qmpi.h`: MPICH's names, the draft's names, and look-up by name.
//!
//! All have local semantics and return an MPI error class: `MPI_ERR_ARG` for an argument that is null, unknown or out of
//! range, `MPI_ERR_OTHER` for a call at the wrong time. None ever crashes, whatever it is given.
#![expect(unsafe_code, reason = "exported C functions that write through pointers of their callers")]
#![allow(non_snake_case, reason = "names of MPI")]
#![allow(unreachable_pub, reason = "reached by name from other objects")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use qmpi_abi::FnId;
use qmpi_elf::NumberingNote;

use super::class::Class;
use super::next::Next;
use super::table::Table;
use super::{numbering, present, registry, table, tools};

/// `QMPI_Context`, a struct of one pointer, as it is passed: in a register. Here, the application's return address.
type Context = *mut c_void;
/// `void (*)(void)`, possibly null.
type Function = Option<extern "C" fn()>;

fn register_name(name: *const c_char, init: Option<registry::Init>) -> Class {
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

fn register_storage(tool: c_int, storage: *mut c_void) -> Class {
    in_init(tool, |draft| draft.set_storage(storage))
}

fn register_function(tool: c_int, id: Option<FnId>, function: Function) -> Class {
    let (Some(id), Some(function)) = (id, function) else { return Class::Arg };
    in_init(tool, |draft| draft.set_function(id, function as usize))
}

fn register_number(tool: c_int, value: c_int, function: Function) -> Class {
    match tools::function_of(tool, value) {
        // The tool is refused when its init callback returns, with a reason. An error here it would make its own of.
        None if tools::unreadable(tool).is_some() => Class::Success,
        id => register_function(tool, id, function),
    }
}

fn register_info(tool: c_int, version: *const c_char, description: *const c_char) -> Class {
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
    let top = crate::stack::open_named(name, below.functions()).ok_or(Class::Arg)?;
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
        // Before everything is set up nobody can know what comes next.
        None if !tools::is_published() => Class::Other.code(),
        _ => Class::Arg.code(),
    }
}

/// What is not in the table, and all errors. Apart, so that the way of nearly every call saves no registers.
///
/// # Safety
/// As for [`store_next`].
#[cold]
#[inline(never)]
unsafe extern "C" fn look_up_slowly(tool: c_int, value: c_int, function: *mut usize, next: *mut c_int) -> c_int {
    // SAFETY: as for this function.
    unsafe { store_next(tools::next(tool, value), function, next) }
}

/// Stores the tool's storage.
///
/// # Safety
/// As for [`store_next`].
#[cold]
#[inline(never)]
unsafe extern "C" fn store_storage(tool: c_int, storage: *mut *mut c_void) -> c_int {
    match tools::storage(tool) {
        Some(address) if !storage.is_null() => {
            // SAFETY: not null, so writable.
            unsafe { storage.write(address) };
            0
        }
        _ => Class::Arg.code(),
    }
}

/// Stores the calling address.
///
/// # Safety
/// As for [`store_next`].
#[inline]
unsafe fn store_address(context: Context, address: *mut *mut c_void) -> c_int {
    if address.is_null() {
        return Class::Arg.code();
    }
    // SAFETY: not null, so writable.
    unsafe { address.write(context) };
    0
}

fn text<'a>(name: *const c_char) -> Option<&'a str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller passes a C string.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

/// Defines the same functions under several names.
macro_rules! interface {
    ($( $(#[$doc:meta])* [$($name:ident),+] $args:tt $body:block )*) => {
        $( interface!(@each [$($name)+] { $(#[$doc])* } $args $body); )*
    };
    (@each [] $doc:tt $args:tt $body:block) => {};
    (@each [$first:ident $($rest:ident)*] $doc:tt $args:tt $body:block) => {
        interface!(@one $first $doc $args $body);
        interface!(@each [$($rest)*] $doc $args $body);
    };
    (@one $name:ident { $(#[$doc:meta])* } ($($arg:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> c_int $body
    };
}

interface! {
    /// Registers a tool's name and its init callback; before MPI is initialized.
    [QMPI_Register_tool_name, MPI_Register_tool_name](name: *const c_char, init: Option<registry::Init>) {
        register_name(name, init).code()
    }

    /// Registers what `QMPI_Get_tool_storage` gives back; in the init callback.
    [QMPI_Register_tool_storage, MPI_Register_tool_storage](tool: c_int, storage: *mut c_void) {
        register_storage(tool, storage).code()
    }

    /// Registers the function that is called for an enumerator; in the init callback.
    [QMPI_Register_function, MPI_Register_tool_function, MPI_Register_function](tool: c_int, value: c_int, function: Function) {
        register_number(tool, value, function).code()
    }

    /// The same for a function by its name, such as `MPIX_Comm_agree`.
    [QMPIX_Register_function_by_name](tool: c_int, name: *const c_char, function: Function) {
        register_function(tool, text(name).and_then(FnId::by_name), function).code()
    }

    /// What to call next for an enumerator, and the id to pass; once all tools are initialized.
    [QMPI_Get_function, MPI_Get_next_tool_function, MPI_Get_function](tool: c_int, value: c_int, function: *mut usize, next: *mut c_int) {
        if let Some(found) = tools::next_at_once(tool, value) && !function.is_null() && !next.is_null() {
            // SAFETY: not null, so variables of the caller's.
            unsafe { function.write(found.function) };
            // SAFETY: as above.
            unsafe { next.write(found.tool) };
            return 0;
        }
        // SAFETY: the caller passes pointers to variables.
        unsafe { look_up_slowly(tool, value, function, next) }
    }

    /// The same for a function by its name.
    [QMPIX_Get_function_by_name](tool: c_int, name: *const c_char, function: *mut usize, next: *mut c_int) {
        let found = text(name).and_then(FnId::by_name).and_then(|id| tools::next_by_id(tool, id));
        // SAFETY: the caller passes pointers to variables.
        unsafe { store_next(found, function, next) }
    }

    /// What the tool registered as its storage.
    [QMPI_Get_tool_storage, MPI_Get_tool_storage](_context: Context, tool: c_int, storage: *mut *mut c_void) {
        if let Some(address) = tools::storage_at_once(tool) && !storage.is_null() {
            // SAFETY: not null, so a variable of the caller's.
            unsafe { storage.write(std::ptr::with_exposed_provenance_mut(address)) };
            return 0;
        }
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_storage(tool, storage) }
    }

    /// Where the application called MPI.
    [QMPI_Get_calling_address, MPI_Get_calling_address](context: Context, address: *mut *mut c_void) {
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_address(context, address) }
    }

    /// What a tool says of itself; in the init callback.
    [QMPIX_Register_tool_info](tool: c_int, version: *const c_char, description: *const c_char) {
        register_info(tool, version, description).code()
    }

    /// The tools that are present.
    [QMPIX_Get_tools](max: c_int, records: *mut present::Record, count: *mut c_int) {
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
    [QMPIX_Table_create](handle: *mut c_int) {
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_table(Some(Table::empty(numbering::of_process())), handle) }.code()
    }

    /// The same, for functions numbered as a note of this value says.
    [QMPIX_Table_create_numbered](numbering: u32, handle: *mut c_int) {
        let numbering = NumberingNote::of(numbering).numbering(numbering::of_process());
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_table(Some(Table::empty(numbering)), handle) }.code()
    }

    /// A new table of what comes next below a tool.
    [QMPIX_Table_next](tool: c_int, handle: *mut c_int) {
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_table(Table::next_of(tool), handle) }.code()
    }

    /// A copy.
    [QMPIX_Table_copy](from: c_int, handle: *mut c_int) {
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_table(Table::get(from), handle) }.code()
    }

    /// Destroys a table.
    [QMPIX_Table_destroy](handle: *mut c_int) {
        if handle.is_null() {
            return Class::Arg.code();
        }
        // SAFETY: not null, so a variable of the caller's.
        let table = unsafe { std::ptr::replace(handle, 0) };
        table::remove(table).code()
    }

    /// What is set for an enumerator.
    [QMPIX_Table_query](table: c_int, value: c_int, function: *mut usize, tool: *mut c_int) {
        let next = table::function_of(table, value).and_then(|id| table::query(table, id));
        // SAFETY: the caller passes pointers to variables.
        unsafe { store_queried(next, function, tool) }.code()
    }

    /// The same by name.
    [QMPIX_Table_query_name](table: c_int, name: *const c_char, function: *mut usize, tool: *mut c_int) {
        let next = text(name).and_then(FnId::by_name).and_then(|id| table::query(table, id));
        // SAFETY: the caller passes pointers to variables.
        unsafe { store_queried(next, function, tool) }.code()
    }

    /// Sets a function.
    [QMPIX_Table_set](table: c_int, value: c_int, function: Function, tool: c_int) {
        set(table, table::function_of(table, value), function, tool).code()
    }

    /// The same by name.
    [QMPIX_Table_set_name](table: c_int, name: *const c_char, function: Function, tool: c_int) {
        set(table, text(name).and_then(FnId::by_name), function, tool).code()
    }

    /// Unsets a function.
    [QMPIX_Table_unset](table: c_int, value: c_int) {
        table::set(table, table::function_of(table, value), Next::default()).code()
    }

    /// The same by name.
    [QMPIX_Table_unset_name](table: c_int, name: *const c_char) {
        table::set(table, text(name).and_then(FnId::by_name), Next::default()).code()
    }

    /// Loads a named stack on top of a table.
    [QMPIX_Stack_open](name: *const c_char, below: c_int, top: *mut c_int) {
        if top.is_null() {
            return Class::Arg.code();
        }
        match open_stack(name, below) {
            // SAFETY: the caller passes a pointer to a variable.
            Ok(table) => unsafe { store_table(Some(table), top) }.code(),
            Err(class) => class.code(),
        }
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
