//! Function tables (`qmpix.h`): what a tool that is more than a link of a chain builds on.
//!
//! Handles are numbers, so that a wrong one is an error and nothing worse. Nothing here is on the path of a call: a tool
//! looks functions up once and keeps the pointers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use qmpi_abi::numbering::Numbering;
use qmpi_abi::{COUNT, FnId};
use qmpi_ring::Next;

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

/// Handles start at 1: 0 is `QMPIX_TABLE_NULL`.
struct FunctionTables {
    last: TableHandle,
    tables: BTreeMap<TableHandle, FunctionTable>,
}

static TABLES: Mutex<FunctionTables> = Mutex::new(FunctionTables { last: 0, tables: BTreeMap::new() });

fn lock() -> MutexGuard<'static, FunctionTables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FunctionTable {
    /// A table without functions.
    pub(crate) fn empty(numbering: &'static Numbering) -> FunctionTable {
        FunctionTable { functions: vec![Next::default(); COUNT].into(), numbering }
    }

    /// The table of this handle, as it is now.
    pub(crate) fn get(handle: TableHandle) -> Option<FunctionTable> {
        lock().tables.get(&handle).cloned()
    }
}

/// Adds a table.
pub(crate) fn add(table: FunctionTable) -> TableHandle {
    let mut tables = lock();
    tables.last += 1;
    let handle = tables.last;
    tables.tables.insert(handle, table);
    handle
}

/// Destroys a table.
pub(crate) fn remove(handle: TableHandle) -> Option<FunctionTable> {
    lock().tables.remove(&handle)
}

/// The function that whoever made the table means by a number.
pub(crate) fn function_of(handle: TableHandle, value: i32) -> Option<FnId> {
    let numbering = lock().tables.get(&handle)?.numbering;
    numbering.function(value)
}

/// What is set for a function.
pub(crate) fn query(handle: TableHandle, id: FnId) -> Option<Next> {
    let next = *lock().tables.get(&handle)?.functions.get(id.index())?;
    (next.function != 0).then_some(next)
}

/// Sets a function, or unsets it (address 0). `None`: there is no such table.
pub(crate) fn set(handle: TableHandle, id: FnId, next: Next) -> Option<()> {
    *lock().tables.get_mut(&handle)?.functions.get_mut(id.index())? = next;
    Some(())
}
