//! Function tables (`qmpix.h`): what a tool that is more than a link of a chain builds on.
//!
//! Handles are numbers, so that a wrong one is an error and nothing worse. Nothing here is on the path of a call: a tool
//! looks functions up once and keeps the pointers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;

use super::class::Class;
use super::tools::{self, Next};
use crate::entry::FUNCTIONS;

/// The functions of one table; a function that is not set has the address 0.
pub(crate) type Functions = Box<[Next]>;

/// `QMPIX_Table`.
pub(super) type Handle = i32;

/// Handles start at 1: 0 is `QMPIX_TABLE_NULL`.
struct Tables {
    last: Handle,
    tables: BTreeMap<Handle, Functions>,
}

static TABLES: Mutex<Tables> = Mutex::new(Tables { last: 0, tables: BTreeMap::new() });

/// Adds a table.
pub(super) fn add(functions: Functions) -> Handle {
    let mut tables = lock();
    tables.last += 1;
    let handle = tables.last;
    tables.tables.insert(handle, functions);
    handle
}

/// A table without functions.
pub(super) fn empty() -> Functions {
    vec![Next::default(); FUNCTIONS].into()
}

/// What comes next below a tool.
pub(super) fn next_of(tool: i32) -> Option<Functions> {
    tools::all_next(tool)
}

/// The contents of a table.
pub(super) fn get(handle: Handle) -> Option<Functions> {
    lock().tables.get(&handle).cloned()
}

/// Destroys a table.
pub(super) fn remove(handle: Handle) -> Class {
    if lock().tables.remove(&handle).is_some() { Class::Success } else { Class::Arg }
}

/// What is set for a function.
pub(super) fn query(handle: Handle, id: FnId) -> Option<Next> {
    let next = *lock().tables.get(&handle)?.get(id.index())?;
    (next.function != 0).then_some(next)
}

/// Sets a function, or unsets it (address 0).
pub(super) fn set(handle: Handle, id: Option<FnId>, next: Next) -> Class {
    let mut tables = lock();
    let place = id.and_then(|id| tables.tables.get_mut(&handle)?.get_mut(id.index()));
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
