//! The layers as QMPI tools know them: what comes next, and storage.

use qmpi_abi::Numbering;

/// What comes next for one function: `QMPI_Get_function`'s answer.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Next {
    /// 0: no layer and no MPI library has the function.
    pub function: usize,
    /// The id to pass; 0 is the MPI library.
    pub tool: i32,
}

/// A layer, at the index that is its id.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredTool {
    /// By the value of the enumerator in the tool's own numbering. Empty for layers that are no QMPI tools, and for those that
    /// are in the [`crate::NextTable`].
    pub next: &'static [Next],
    /// What the tool registered as its storage.
    pub storage: usize,
    /// What is seldom asked for. `None` for layers that are no QMPI tools.
    pub more: Option<&'static More>,
}

/// The part of a layer that is not on the path of nearly every call.
#[derive(Debug)]
pub struct More {
    /// By the table's own number: for look-up by name.
    pub by_id: &'static [Next],
    /// By which numbers the tool means functions.
    pub numbering: &'static Numbering,
}

impl RegisteredTool {
    /// A layer that is no QMPI tool.
    pub const NONE: RegisteredTool = RegisteredTool { next: &[], storage: 0, more: None };
}
