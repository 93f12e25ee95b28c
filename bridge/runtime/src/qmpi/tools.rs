//! The layers as QMPI tools know them: storage, registered functions, and what comes next.
//!
//! Two phases. While init callbacks run, tools register into [`Draft`]s under a lock. Then the chain is built, and all is
//! frozen into [`Tool`]s: from there on a look-up is an index into a table, without a lock.
#![expect(unsafe_code, reason = "tables that C callers index")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;
use qmpi_abi::numbering::Numbering;

use crate::chain::{Chain, ToolId};

/// A layer while tools are initialized.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    storage: usize,
    functions: Vec<(FnId, usize)>,
}

/// What comes next for one function: `QMPI_Get_function`'s answer.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Next {
    /// 0: nobody has the function.
    pub(super) function: usize,
    pub(super) tool: i32,
}

/// A layer for good.
struct Tool {
    storage: usize,
    /// By the value of the enumerator in the numbering in force.
    next: Box<[Next]>,
    /// By the table's own number: for look-up by name.
    by_id: Box<[Next]>,
}

/// All layers, `[0]` standing for the application: what it would call next is the top of the chain.
struct Tools {
    tools: Vec<Tool>,
    numbering: &'static Numbering,
}

/// Where drafts are made: index 0 is layer 1.
static DRAFTS: Mutex<Vec<Option<Draft>>> = Mutex::new(Vec::new());
/// Null until everything is set up. Never freed.
static TOOLS: AtomicPtr<Tools> = AtomicPtr::new(std::ptr::null_mut());

/// Makes room for `count` layers, of which those at `native` speak QMPI.
pub(super) fn draft(count: usize, native: &[usize]) {
    let mut drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
    *drafts = (0..count).map(|index| native.contains(&index).then(Draft::default)).collect();
}

/// Changes the draft of a tool, if tools are being initialized and there is one of this number.
pub(super) fn change<T>(tool: i32, change: impl FnOnce(&mut Draft) -> T) -> Option<T> {
    let index = usize::try_from(tool).ok()?.checked_sub(1)?;
    let mut drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
    drafts.get_mut(index)?.as_mut().map(change)
}

impl Draft {
    /// Sets the address that the tool gets back later.
    pub(super) fn set_storage(&mut self, storage: *mut c_void) {
        self.storage = storage.addr();
    }

    /// Registers a function; a second registration replaces the first.
    pub(super) fn set_function(&mut self, id: FnId, function: usize) {
        self.functions.retain(|(known, _)| *known != id);
        self.functions.push((id, function));
    }
}

/// What the tool at this place of the stack registered.
pub(super) fn functions(index: usize) -> Vec<(FnId, usize)> {
    let drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
    drafts.get(index).and_then(Option::as_ref).map(|draft| draft.functions.clone()).unwrap_or_default()
}

/// Gathers the next links of the tools while the chain grows past them.
pub(crate) struct Builder {
    numbering: &'static Numbering,
    tools: Vec<Option<Tool>>,
}

impl Builder {
    /// For `count` layers, with functions numbered as in `numbering`.
    pub(crate) fn new(count: usize, numbering: &'static Numbering) -> Builder {
        Builder { numbering, tools: (0..=count).map(|_| None).collect() }
    }

    /// What is below the layer at this place of the stack is complete: `chain` ends there.
    pub(crate) fn below(&mut self, tool: ToolId, chain: &mut Chain) {
        let by_id: Box<[Next]> = FnId::all()
            .map(|id| chain.qmpi(id).map_or(Next::default(), |(function, tool)| Next { function, tool: tool.0 }))
            .collect();
        let by_value = |value| {
            let id = i32::try_from(value).ok().and_then(|value| self.numbering.function(value));
            id.map_or(Next::default(), |id| by_id[id.index()])
        };
        let next = (0..self.numbering.len()).map(by_value).collect();
        let index = usize::try_from(tool.0).unwrap_or(0);
        let storage = change(tool.0, |draft| draft.storage).unwrap_or(0);
        if let Some(place) = self.tools.get_mut(index) {
            *place = Some(Tool { storage, next, by_id });
        }
    }

    /// Freezes everything.
    pub(crate) fn publish(self) {
        let nothing = || Tool { storage: 0, next: Box::default(), by_id: Box::default() };
        let tools = self.tools.into_iter().map(|tool| tool.unwrap_or_else(nothing)).collect();
        let tools = Box::leak(Box::new(Tools { tools, numbering: self.numbering }));
        TOOLS.store(tools, Ordering::Release);
    }
}

fn published() -> Option<&'static Tools> {
    // SAFETY: null, or leaked by `publish`.
    unsafe { TOOLS.load(Ordering::Acquire).as_ref() }
}

/// What comes next for `tool` and the enumerator `value`; `None`: no such tool, no such function, or too early.
#[inline]
pub(super) fn next(tool: i32, value: i32) -> Option<Next> {
    let tool = tool_of(tool)?;
    match usize::try_from(value).ok().and_then(|value| tool.next.get(value)) {
        Some(next) => (next.function != 0).then_some(*next),
        // Numbers that hold in every numbering are not in the table: few functions have no other.
        None => next_in(tool, published()?.numbering.function(value)?),
    }
}

fn next_in(tool: &Tool, id: FnId) -> Option<Next> {
    let next = *tool.by_id.get(id.index())?;
    (next.function != 0).then_some(next)
}

/// The same for a function by its name.
pub(super) fn next_by_id(tool: i32, id: FnId) -> Option<Next> {
    next_in(tool_of(tool)?, id)
}

/// The storage of `tool`.
#[inline]
pub(super) fn storage(tool: i32) -> Option<*mut c_void> {
    if let Some(tool) = tool_of(tool) {
        return Some(std::ptr::with_exposed_provenance_mut(tool.storage));
    }
    change(tool, |draft| std::ptr::with_exposed_provenance_mut(draft.storage))
}

/// Has everything been set up?
pub(super) fn is_published() -> bool {
    published().is_some()
}

/// The function of an enumerator in the numbering in force.
pub(super) fn function_of(value: i32) -> Option<FnId> {
    let numbering = published().map_or_else(super::native::numbering, |tools| tools.numbering);
    numbering.function(value)
}

#[inline]
fn tool_of(tool: i32) -> Option<&'static Tool> {
    published()?.tools.get(usize::try_from(tool).ok()?)
}
