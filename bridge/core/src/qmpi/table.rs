//! Function tables (`qmpix.h`): what a tool that is more than a link of a chain builds on.
//!
//! Handles are numbers, so that a wrong one is an error and nothing worse. Nothing here is on the path of a call: a tool
//! looks functions up once and keeps the pointers.

use qmpi_abi::numbering::Numbering;
use qmpi_abi::{COUNT, FnId};
use qmpi_ring::Next;
use qmpi_system::Locked;

/// A table.
#[derive(Clone)]
pub(crate) struct FunctionTable {
    /// A function that is not set has the address 0.
    pub(crate) functions: Box<[Next]>,
    /// Of the tool that made it.
    pub(crate) numbering: &'static Numbering,
}

/// `QMPIX_Table`.
pub(crate) type TableHandle = i32;

/// The tables, in the order of their handles, which start at 1: 0 is `QMPIX_TABLE_NULL`. A handle is given once.
static TABLES: Locked<Vec<Option<FunctionTable>>> = Locked::new(Vec::new());

/// Does `work` with the table of this handle, if there is one.
fn with<T>(handle: TableHandle, work: impl FnOnce(&mut Option<FunctionTable>) -> Option<T>) -> Option<T> {
    work(TABLES.lock().get_mut(usize::try_from(handle).ok()?.checked_sub(1)?)?)
}

impl FunctionTable {
    /// A table without functions.
    pub(crate) fn empty(numbering: &'static Numbering) -> FunctionTable {
        FunctionTable { functions: vec![Next::default(); COUNT].into(), numbering }
    }

    /// The table of this handle, as it is now.
    pub(crate) fn get(handle: TableHandle) -> Option<FunctionTable> {
        with(handle, |table| table.clone())
    }
}

/// Adds a table.
pub(crate) fn add(table: FunctionTable) -> TableHandle {
    let mut tables = TABLES.lock();
    tables.push(Some(table));
    TableHandle::try_from(tables.len()).unwrap_or(0)
}

/// Destroys a table.
pub(crate) fn remove(handle: TableHandle) -> Option<FunctionTable> {
    with(handle, Option::take)
}

/// The function that whoever made the table means by a number.
pub(crate) fn function_of(handle: TableHandle, value: i32) -> Option<FnId> {
    with(handle, |table| Some(table.as_ref()?.numbering))?.function(value)
}

/// What is set for a function.
pub(crate) fn query(handle: TableHandle, id: FnId) -> Option<Next> {
    let next = with(handle, |table| table.as_ref()?.functions.get(id.index()).copied())?;
    (next.function != 0).then_some(next)
}

/// Sets a function, or unsets it (address 0). `None`: there is no such table.
pub(crate) fn set(handle: TableHandle, id: FnId, next: Next) -> Option<()> {
    with(handle, |table| {
        *table.as_mut()?.functions.get_mut(id.index())? = next;
        Some(())
    })
}
