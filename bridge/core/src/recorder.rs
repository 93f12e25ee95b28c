//! The recorder of `qmpi run --report` and `--trace`, a QMPI tool (`libqmpi_recorder.so`) with an instance on each edge of the stack.
//!
//! An edge is where calls come to a layer, or to the MPI library. The chain puts the recorder's wrapper in front of each function that a layer
//! intercepts. Without those options the library is not opened, and nothing stands there.
//!
//! An instance is no layer: its id comes behind the ids of all layers, it is not among the tools that `QMPIX_Get_tools` tells of, and what comes
//! next for it is known from here and not from the tables of `libqmpi.so`. It asks once for each function.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};

use qmpi_abi::FnId;
use qmpi_loader::image::Image;
use qmpi_ring::Next;
use qmpi_system::{Locked, log};

use crate::qmpi::{ToolId, native};

/// The file name of the recorder, beside the core.
const RECORDER: &str = "libqmpi_recorder.so";

/// Numbers of instances. Layers of named stacks, which are numbered when they are opened, stay below.
const FIRST: i32 = 1 << 20;

/// What calls come to: the MPI library, a layer, a PMPI tool of the program.
struct Destination {
    tool: Option<ToolId>,
    label: CString,
}

/// The recorder on an edge.
struct RecordedEdge {
    destination: usize,
    /// What the recorder has registered.
    wrappers: BTreeMap<FnId, usize>,
    /// What comes next.
    next: BTreeMap<FnId, Next>,
}

struct RecordedEdges {
    /// From the MPI library outwards.
    destinations: Vec<Destination>,
    /// The name that the recorder has registered; `None`: calls are not recorded.
    recorder: Option<String>,
    instances: Vec<RecordedEdge>,
}

static RECORDED: Locked<RecordedEdges> =
    Locked::new(RecordedEdges { destinations: Vec::new(), recorder: None, instances: Vec::new() });

fn with<T>(work: impl FnOnce(&mut RecordedEdges) -> T) -> T {
    work(&mut RECORDED.lock())
}

fn index(tool: c_int) -> Option<usize> {
    usize::try_from(tool.checked_sub(FIRST)?).ok()
}

/// Opens the recorder if the environment asks for a report.
pub(crate) fn prepare(images: &[Image]) {
    if std::env::var_os(qmpi_plan::variable::REPORT).is_none_or(|value| value.is_empty()) {
        return;
    }
    let core = images.iter().find(|image| image.contains(prepare as *const () as usize));
    let beside = |core: &Image| Path::new(core.path()).with_file_name(RECORDER);
    match native::open_beside(&core.map_or_else(|| PathBuf::from(RECORDER), beside)) {
        Ok(name) => with(|recorded| recorded.recorder = Some(name)),
        Err(error) => log::report_error(&format!("no calls are recorded: {error}"), error.hint().as_deref()),
    }
}

/// Starts a layer, or the MPI library, or a tool of the program: the links that follow are its.
pub(crate) fn begin_destination(tool: Option<ToolId>, label: &str) {
    let label = CString::new(label).unwrap_or_default();
    with(|recorded| recorded.destinations.push(Destination { tool, label }));
}

/// The recorder's wrapper in front of a function of the layer started last, and the id to pass to it; `None` if calls are not recorded, or those
/// of this function cannot be. `next`: what is behind the wrapper, for callers that are QMPI tools.
pub(crate) fn in_front(id: FnId, next: impl FnOnce() -> (usize, ToolId)) -> Option<(usize, ToolId)> {
    let recorder = with(|recorded| recorded.recorder.clone())?;
    let (function, next) = next();
    let (index, is_new) = with(|recorded| {
        let destination = recorded.destinations.len().checked_sub(1)?;
        // A layer that has several versions of a function has another instance for each.
        let is_free = |instance: &RecordedEdge| instance.destination == destination && !instance.next.contains_key(&id);
        let known = recorded.instances.iter().position(is_free);
        if known.is_none() {
            let (wrappers, next) = (BTreeMap::new(), BTreeMap::new());
            recorded.instances.push(RecordedEdge { destination, wrappers, next });
        }
        Some((known.unwrap_or(recorded.instances.len() - 1), known.is_none()))
    })?;
    let tool = ToolId(FIRST + i32::try_from(index).ok()?);
    // The init callback asks where it is.
    let registered = if is_new { native::instance(&recorder, tool) } else { Vec::new() };
    with(|recorded| {
        let instance = &mut recorded.instances[index];
        instance.wrappers.extend(registered);
        instance.next.insert(id, Next { function, tool: next.0 });
        instance.wrappers.get(&id).map(|wrapper| (*wrapper, tool))
    })
}

/// What comes next for an instance of the recorder.
pub(crate) fn next(tool: c_int, id: FnId) -> Option<Next> {
    let index = index(tool)?;
    with(|recorded| recorded.instances.get(index)?.next.get(&id).copied())
}

/// The place and the label of a layer, or of the layer that an instance of the recorder stands in front of.
pub(crate) fn place_of(tool: c_int) -> Option<(c_int, *const c_char)> {
    with(|recorded| {
        let place = match index(tool) {
            Some(index) => recorded.instances.get(index)?.destination,
            None => recorded.destinations.iter().position(|known| known.tool == Some(ToolId(tool)))?,
        };
        // Labels stay where they are: none is ever removed.
        Some((c_int::try_from(place).ok()?, recorded.destinations[place].label.as_ptr()))
    })
}
