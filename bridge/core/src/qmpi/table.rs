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
pub(crate) type Functions = Box<[Next]>;

/// A table.
#[derive(Clone)]
pub(super) struct Table {
    functions: Functions,
    /// Of the tool that made it.
    numbering: &'static Numbering,
}

/// `QMPIX_Table`.
pub(super) type Handle = i32;

/// Handles start at 1: 0 is `QMPIX_TABLE_NULL`.
struct Tables {
    last: Handle,
    tables: BTreeMap<Handle, Table>,
}

static TABLES: Mutex<Tables> = Mutex::new(Tables { last: 0, tables: BTreeMap::new() });

/// Adds a table.
pub(super) fn add(table: Table) -> Handle {
    let mut tables = lock();
    tables.last += 1;
    let handle = tables.last;
    tables.tables.insert(handle, table);
    handle
}

impl Table {
    /// A table without functions.
    pub(super) fn empty(numbering: &'static Numbering) -> Table {
        Table { functions: vec![Next::default(); COUNT].into(), numbering }
    }

    /// What comes next below a tool.
    pub(super) fn next_of(tool: i32) -> Option<Table> {
        let (functions, numbering) = tools::all_next(tool)?;
        Some(Table { functions, numbering })
    }

    /// The table of this handle, as it is now.
    pub(super) fn get(handle: Handle) -> Option<Table> {
        lock().tables.get(&handle).cloned()
    }

    /// What it has for each function.
    pub(super) fn functions(&self) -> &[Next] {
        &self.functions
    }

    /// The same tool's table of other functions.
    pub(super) fn with(&self, functions: Functions) -> Table {
        Table { functions, numbering: self.numbering }
    }
}

/// The function that whoever made the table means by a number.
pub(super) fn function_of(handle: Handle, value: i32) -> Option<FnId> {
    let numbering = lock().tables.get(&handle)?.numbering;
    numbering.function(value)
}

/// Destroys a table.
pub(super) fn remove(handle: Handle) -> Class {
    if lock().tables.remove(&handle).is_some() { Class::Success } else { Class::Arg }
}

/// What is set for a function.
pub(super) fn query(handle: Handle, id: FnId) -> Option<Next> {
    let next = *lock().tables.get(&handle)?.functions.get(id.index())?;
    (next.function != 0).then_some(next)
}

/// Sets a function, or unsets it (address 0).
pub(super) fn set(handle: Handle, id: Option<FnId>, next: Next) -> Class {
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

fn lock() -> std::sync::MutexGuard<'static, Tables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}
