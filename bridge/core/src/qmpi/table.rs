//! Function tables (`qmpix.h`): what a tool that is more than a link of a chain builds on.
//!
//! Handles are numbers, so that a wrong one is an error and nothing worse. Nothing here is on the path of a call: a tool
//! looks functions up once and keeps the pointers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use qmpi_abi::numbering::Numbering;
use qmpi_abi::{COUNT, FnId};

use qmpi_ring::Next;

use super::class::Class;
use super::tools;

/// The functions of one table; a function that is not set has the address 0.
pub(crate) type TableFunctions = Box<[Next]>;

/// A table.
#[derive(Clone)]
pub(super) struct FunctionTable {
    functions: TableFunctions,
    /// Of the tool that made it.
    numbering: &'static Numbering,
}

/// `QMPIX_Table`.
pub(super) type TableHandle = i32;

/// Handles start at 1: 0 is `QMPIX_TABLE_NULL`.
struct FunctionTables {
    last: TableHandle,
    tables: BTreeMap<TableHandle, FunctionTable>,
}

static TABLES: Mutex<FunctionTables> = Mutex::new(FunctionTables { last: 0, tables: BTreeMap::new() });

/// Adds a table.
pub(super) fn add(table: FunctionTable) -> TableHandle {
    let mut tables = lock();
    tables.last += 1;
    let handle = tables.last;
    tables.tables.insert(handle, table);
    handle
}

impl FunctionTable {
    /// A table without functions.
    pub(super) fn empty(numbering: &'static Numbering) -> FunctionTable {
        FunctionTable { functions: vec![Next::default(); COUNT].into(), numbering }
    }

    /// What comes next below a tool.
    pub(super) fn next_of(tool: i32) -> Option<FunctionTable> {
        let (functions, numbering) = tools::all_next(tool)?;
        Some(FunctionTable { functions, numbering })
    }

    /// The table of this handle, as it is now.
    pub(super) fn get(handle: TableHandle) -> Option<FunctionTable> {
        lock().tables.get(&handle).cloned()
    }

    /// What it has for each function.
    pub(super) fn functions(&self) -> &[Next] {
        &self.functions
    }

    /// The same tool's table of other functions.
    pub(super) fn with(&self, functions: TableFunctions) -> FunctionTable {
        FunctionTable { functions, numbering: self.numbering }
    }
}

/// The function that whoever made the table means by a number.
pub(super) fn function_of(handle: TableHandle, value: i32) -> Option<FnId> {
    let numbering = lock().tables.get(&handle)?.numbering;
    numbering.function(value)
}

/// Destroys a table.
pub(super) fn remove(handle: TableHandle) -> Class {
    if lock().tables.remove(&handle).is_some() { Class::Success } else { Class::Arg }
}

/// What is set for a function.
pub(super) fn query(handle: TableHandle, id: FnId) -> Option<Next> {
    let next = *lock().tables.get(&handle)?.functions.get(id.index())?;
    (next.function != 0).then_some(next)
}

/// Sets a function, or unsets it (address 0).
pub(super) fn set(handle: TableHandle, id: Option<FnId>, next: Next) -> Class {
    let mut tables = lock();
    let place = id.and_then(|id| tables.tables.get_mut(&handle)?.functions.get_mut(id.index()));
    match place {
        Some(place) => {
            *place = next;
            Class::Success
        }
        None => Class::Arg,
    }
}

fn lock() -> std::sync::MutexGuard<'static, FunctionTables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}
