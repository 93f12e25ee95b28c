//! The layers as QMPI tools know them: storage, registered functions, and what comes next.
//!
//! Two phases. While init callbacks run, tools register into [`Draft`]s under a lock. Then the chain is built, and all is
//! frozen into [`RegisteredTool`]s, a table of `libqmpi.so`: from there on a look-up is an index into it, without a lock.

use std::collections::BTreeMap;
use std::ffi::c_void;

use qmpi_abi::FnId;
use qmpi_abi::numbering::Numbering;
use qmpi_dynamic::LinkerLock;
use qmpi_ring::tools::More;
use qmpi_ring::{Next, NextTable, RegisteredTool};
use qmpi_system::Locked;

use super::table::FunctionTable;
use super::{ToolId, mpi};
use crate::ring::ring;

/// A layer while tools are initialized.
#[derive(Debug)]
pub(crate) struct Draft {
    numbering: &'static Numbering,
    /// What the tool gets back later.
    pub(crate) storage: usize,
    /// What it has registered.
    pub(crate) functions: BTreeMap<FnId, usize>,
    /// The first number that the tool meant a function by and that cannot be read, as the tool's numbering is unknown.
    unreadable: Option<i32>,
}

/// The tools that are being initialized, by number.
static DRAFTS: Locked<BTreeMap<i32, Draft>> = Locked::new(BTreeMap::new());

/// Makes room for what this tool registers, which means functions by numbers of this numbering.
pub(super) fn draft(tool: ToolId, numbering: &'static Numbering) {
    let draft = Draft { numbering, storage: 0, functions: BTreeMap::new(), unreadable: None };
    DRAFTS.lock().insert(tool.0, draft);
}

/// Changes the draft of a tool, if it is being initialized.
pub(crate) fn change<T>(tool: i32, change: impl FnOnce(&mut Draft) -> T) -> Option<T> {
    DRAFTS.lock().get_mut(&tool).map(change)
}

impl Draft {
    /// The function that the tool means by a number.
    fn function(&mut self, value: i32) -> Option<FnId> {
        let function = self.numbering.function(value);
        if function.is_none() && self.numbering == Numbering::UNKNOWN {
            self.unreadable.get_or_insert(value);
        }
        function
    }
}

/// What a tool registered.
pub(crate) fn functions(tool: ToolId) -> Vec<(FnId, usize)> {
    change(tool.0, |draft| draft.functions.iter().map(|(id, function)| (*id, *function)).collect()).unwrap_or_default()
}

/// The same of an instance that is no layer and registers nothing more.
pub(super) fn take_functions(tool: ToolId) -> Vec<(FnId, usize)> {
    let draft = DRAFTS.lock().remove(&tool.0);
    draft.map_or_else(Vec::new, |draft| draft.functions.into_iter().collect())
}

/// The first number that the tool meant a function by and that cannot be read: the tool does not get what it wants.
pub(crate) fn unreadable(tool: i32) -> Option<i32> {
    change(tool, |draft| draft.unreadable)?
}

/// Gathers the next links of the tools while the chain grows past them.
pub(crate) struct Builder {
    /// Of a caller that is no QMPI tool: the application.
    numbering: &'static Numbering,
    tools: BTreeMap<i32, RegisteredTool>,
}

impl Builder {
    /// Where the application's functions are numbered as in `numbering`.
    pub(crate) fn new(numbering: &'static Numbering) -> Builder {
        Builder { numbering, tools: BTreeMap::new() }
    }

    /// What is below this tool is complete: what comes next for it, for each function.
    pub(crate) fn below(&mut self, tool: ToolId, by_id: Box<[Next]>) {
        let (numbering, storage) =
            change(tool.0, |draft| (draft.numbering, draft.storage)).unwrap_or((self.numbering, 0));
        let more = Box::leak(Box::new(More { by_id: Box::leak(by_id), numbering }));
        self.tools.insert(tool.0, RegisteredTool { next: &[], storage, more: Some(more) });
    }

    /// Freezes everything. `last` is the highest number given to a layer.
    pub(crate) fn publish(self, last: ToolId, lock: &LinkerLock) {
        let mut all = ring().tools.get().to_vec();
        let is_first = all.is_empty();
        let len = usize::try_from(last.0).unwrap_or(0) + 1;
        all.resize(len.max(all.len()), RegisteredTool::NONE);
        // The tools of the stack are in one table; those of named stacks, which are opened one after the other, have one each.
        let in_table = if is_first { all.len() } else { ring().next.get().tools() as usize };
        let mut is_in_table = false;
        let mut drafts = DRAFTS.lock();
        for (number, tool) in self.tools {
            drafts.remove(&number);
            let Some((index, place)) =
                usize::try_from(number).ok().and_then(|index| Some((index, all.get_mut(index)?)))
            else {
                continue;
            };
            *place = tool;
            is_in_table |= index < in_table;
            if index >= in_table
                && let Some(more) = tool.more
            {
                place.next = (0..more.numbering.len()).map(|value| next_of(more, value)).collect::<Vec<_>>().leak();
            }
        }
        if is_in_table {
            ring().next.replace(Box::leak(Box::new(next_table(&all[..in_table]))), lock);
        }
        ring().tools.publish(Box::leak(all.into_boxed_slice()), lock);
    }
}

/// What comes next for these tools, by the values of their enumerators.
fn next_table(tools: &[RegisteredTool]) -> NextTable {
    let more = || tools.iter().map(|tool| tool.more);
    let values = more().flatten().map(|more| more.numbering.len()).max().unwrap_or(0);
    let mut answers = Vec::with_capacity(values * tools.len());
    for value in 0..values {
        answers.extend(more().map(|more| more.map_or(Next::default(), |more| next_of(more, value))));
    }
    // Ids are of 31 bits.
    NextTable::new(answers.leak(), tools.len() as u32)
}

/// What comes next for a tool and a value of its enumerator.
fn next_of(more: &More, value: usize) -> Next {
    let id = i32::try_from(value).ok().and_then(|value| more.numbering.function(value));
    id.and_then(|id| more.by_id.get(id.index()).copied()).unwrap_or_default()
}

/// What comes next for a tool, for all functions.
pub(crate) fn all_next(tool: i32) -> Option<FunctionTable> {
    let more = tool_of(tool)?.more?;
    Some(FunctionTable { functions: more.by_id.into(), numbering: more.numbering })
}

/// What comes next for `tool` and a function; `None`: no such tool, no such function, or too early.
pub(crate) fn next(tool: i32, id: FnId) -> Option<Next> {
    let next = *tool_of(tool)?.more?.by_id.get(id.index())?;
    (next.function != 0).then_some(next)
}

/// The storage of `tool`.
pub(crate) fn storage(tool: i32) -> Option<*mut c_void> {
    if let Some(tool) = tool_of(tool) {
        return Some(std::ptr::with_exposed_provenance_mut(tool.storage));
    }
    change(tool, |draft| std::ptr::with_exposed_provenance_mut(draft.storage))
}

/// Has everything been set up?
pub(crate) fn is_published() -> bool {
    !ring().tools.get().is_empty()
}

/// The function that a tool means by a number: while it is initialized, and later.
pub(crate) fn function_of(tool: i32, value: i32) -> Option<FnId> {
    change(tool, |draft| draft.function(value)).unwrap_or_else(|| {
        let numbering = tool_of(tool).and_then(|tool| Some(tool.more?.numbering));
        numbering.unwrap_or_else(mpi::numbering).function(value)
    })
}

/// The tool of this number, if everything is set up for it.
pub(crate) fn tool_of(tool: i32) -> Option<&'static RegisteredTool> {
    let tool = ring().tools.get().get(usize::try_from(tool).ok()?)?;
    tool.more.is_some().then_some(tool)
}
