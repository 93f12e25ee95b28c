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
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;
use qmpi_loader::image::Image;
use qmpi_ring::Next;
use qmpi_system::log;

use crate::chain::ToolId;
use crate::qmpi::native;

/// The file name of the recorder, beside the core.
const RECORDER: &str = "libqmpi_recorder.so";

/// Numbers of instances. Layers of named stacks, which are numbered when they are opened, stay below.
const FIRST: i32 = 1 << 20;

/// What calls come to: the MPI library, layers, PMPI tools of the program, in the order from the MPI library outwards.
struct Place {
    tool: Option<ToolId>,
    label: CString,
}

/// An instance of the recorder.
struct Edge {
    place: usize,
    /// What the recorder has registered.
    wrappers: BTreeMap<FnId, usize>,
    /// What comes next.
    next: BTreeMap<FnId, Next>,
}

struct Edges {
    places: Vec<Place>,
    /// The name that the recorder has registered; `None`: calls are not recorded.
    recorder: Option<String>,
    edges: Vec<Edge>,
}

static EDGES: Mutex<Edges> = Mutex::new(Edges { places: Vec::new(), recorder: None, edges: Vec::new() });

fn with<T>(work: impl FnOnce(&mut Edges) -> T) -> T {
    work(&mut EDGES.lock().unwrap_or_else(PoisonError::into_inner))
}

fn number(tool: c_int) -> Option<usize> {
    usize::try_from(tool.checked_sub(FIRST)?).ok()
}

/// Opens the recorder if the environment asks for a report.
pub(crate) fn prepare(images: &[Image]) {
    if std::env::var_os(qmpi_plan::variable::REPORT).is_none_or(|value| value.is_empty()) {
        return;
    }
    let path = beside_the_core(images);
    match native::open_beside(&path) {
        Ok(name) => with(|edges| edges.recorder = Some(name)),
        Err(error) => log::report_error(&format!("no calls are recorded: {error}"), error.hint().as_deref()),
    }
}

fn beside_the_core(images: &[Image]) -> PathBuf {
    let core = images.iter().find(|image| image.contains(prepare as *const () as usize));
    core.map_or_else(|| Path::new(RECORDER).to_owned(), |core| Path::new(core.path()).with_file_name(RECORDER))
}

/// Starts a layer, or the MPI library, or a tool of the program: the links that follow are its.
pub(crate) fn layer(tool: Option<ToolId>, label: &str) {
    let label = CString::new(label).unwrap_or_default();
    with(|edges| edges.places.push(Place { tool, label }));
}

/// The recorder's wrapper in front of a function of the layer started last, and the id to pass to it; `None` if calls are not recorded, or those
/// of this function cannot be. `next`: what is behind the wrapper, for callers that are QMPI tools.
pub(crate) fn in_front(id: FnId, next: impl FnOnce() -> (usize, ToolId)) -> Option<(usize, ToolId)> {
    let recorder = with(|edges| edges.recorder.clone())?;
    let (function, next) = next();
    let edge = with(|edges| {
        let place = edges.places.len().checked_sub(1)?;
        // A layer that has several versions of a function has another instance for each.
        let is_free = |edge: &Edge| edge.place == place && !edge.next.contains_key(&id);
        Some(edges.edges.iter().position(is_free).map_or_else(
            || {
                edges.edges.push(Edge { place, wrappers: BTreeMap::new(), next: BTreeMap::new() });
                (edges.edges.len() - 1, true)
            },
            |edge| (edge, false),
        ))
    });
    let (edge, is_new) = edge?;
    let tool = ToolId(FIRST + i32::try_from(edge).ok()?);
    // The init callback asks where it is.
    let registered = if is_new { native::instance(&recorder, tool) } else { Vec::new() };
    with(|edges| {
        let edge = &mut edges.edges[edge];
        edge.wrappers.extend(registered);
        edge.next.insert(id, Next { function, tool: next.0 });
        edge.wrappers.get(&id).map(|wrapper| (*wrapper, tool))
    })
}

/// What comes next for an instance of the recorder.
pub(crate) fn next(tool: c_int, id: FnId) -> Option<Next> {
    let number = number(tool)?;
    with(|edges| edges.edges.get(number)?.next.get(&id).copied())
}

/// The place and the label of a layer, or of the layer that an instance of the recorder stands in front of.
pub(crate) fn place_of(tool: c_int) -> Option<(c_int, *const c_char)> {
    with(|edges| {
        let place = match number(tool) {
            Some(number) => edges.edges.get(number)?.place,
            None => edges.places.iter().position(|place| place.tool == Some(ToolId(tool)))?,
        };
        // Labels stay where they are: none is ever removed.
        Some((c_int::try_from(place).ok()?, edges.places[place].label.as_ptr()))
    })
}
