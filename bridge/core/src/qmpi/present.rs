//! The tools that are present, and what they say of themselves (`qmpix.h`).

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use crate::chain::{Convention, ToolId};

/// `QMPIX_Tool`: the strings live as long as the process.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct QmpixTool {
    tool: c_int,
    kind: c_int,
    label: *const c_char,
    name: *const c_char,
    path: *const c_char,
    version: *const c_char,
    description: *const c_char,
}

// SAFETY: the strings are never written again, nor freed.
#[expect(unsafe_code, reason = "pointers to constant strings")]
unsafe impl Send for QmpixTool {}

static RECORDS: Mutex<BTreeMap<c_int, QmpixTool>> = Mutex::new(BTreeMap::new());
/// Version and description that tools registered, before or after their record exists.
static SAID: Mutex<BTreeMap<c_int, [Option<CString>; 2]>> = Mutex::new(BTreeMap::new());

/// Adds a layer.
pub(crate) fn add(tool: ToolId, convention: Convention, label: &str, name: &str, path: &str) {
    let [version, description] =
        SAID.lock().unwrap_or_else(PoisonError::into_inner).remove(&tool.0).unwrap_or_default();
    let kind = match convention {
        Convention::Pmpi => 1,
        Convention::Qmpi => 2,
        Convention::Thesis(_) => 3,
    };
    let record = QmpixTool {
        tool: tool.0,
        kind,
        label: kept(label),
        name: kept(name),
        path: kept(path),
        version: version.unwrap_or_default().into_raw(),
        description: description.unwrap_or_default().into_raw(),
    };
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.0, record);
}

/// What a tool says of itself in its init callback.
pub(super) fn say(tool: c_int, version: Option<CString>, description: Option<CString>) {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(tool, [version, description]);
}

/// All records, in the order of the ids.
pub(super) fn all() -> Vec<QmpixTool> {
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
}

/// A C string for good.
fn kept(text: &str) -> *const c_char {
    CString::new(text.replace('\0', "")).unwrap_or_default().into_raw()
}
