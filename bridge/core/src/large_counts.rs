//! Calls with large counts (`MPI_Send_c`) for layers that have the function with `int` counts alone: which links there are
//! (`links/src/large_counts.rs`), and what went past a layer.
#![expect(unsafe_code, reason = "functions of the MPI library, by their addresses")]

use std::collections::BTreeMap;
use std::mem::transmute;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use qmpi_abi::FnId;
use qmpi_links::large_counts::{self, LargeCountLink, LargeCountTargets, MpiQueries};
use qmpi_loader::Process;
use qmpi_system::log;

/// A function that a layer is shown.
struct ShownFunction {
    layer: String,
    large: FnId,
    link: &'static LargeCountLink,
}

static SHOWN: Mutex<Vec<ShownFunction>> = Mutex::new(Vec::new());
static QUERIES: OnceLock<MpiQueries> = OnceLock::new();

fn shown() -> MutexGuard<'static, Vec<ShownFunction>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds what the MPI library says of communicators. Without it no layer is shown anything.
pub(crate) fn prepare(process: &Process) {
    let constant = |name| process.constant(name);
    let real = |name: &str| FnId::by_name(name).and_then(|id| process.real(id));
    let find = || -> Option<MpiQueries> {
        // SAFETY: these functions take a handle, which fits into a word, and where to store an `int`.
        let of_handle = |name| Some(unsafe { transmute::<usize, extern "C" fn(usize, &mut i32) -> i32>(real(name)?) });
        // SAFETY: a handle, a rank, and where to store an `int`.
        let graph = unsafe {
            transmute::<usize, extern "C" fn(usize, i32, &mut i32) -> i32>(real("MPI_Graph_neighbors_count")?)
        };
        let neighbors = real("MPI_Dist_graph_neighbors_count")?;
        Some(MpiQueries {
            test_inter: of_handle("MPI_Comm_test_inter")?,
            size: of_handle("MPI_Comm_size")?,
            remote_size: of_handle("MPI_Comm_remote_size")?,
            rank: of_handle("MPI_Comm_rank")?,
            topology: of_handle("MPI_Topo_test")?,
            dimensions: of_handle("MPI_Cartdim_get")?,
            graph_neighbors: graph,
            // SAFETY: a handle, and where to store three `int`s.
            neighbors: unsafe {
                transmute::<usize, extern "C" fn(usize, &mut i32, &mut i32, &mut i32) -> i32>(neighbors)
            },
            topologies: [constant("MPI_CART")?, constant("MPI_GRAPH")?, constant("MPI_DIST_GRAPH")?],
        })
    };
    if let Some(queries) = find() {
        // A stack is set up once.
        let _ = QUERIES.set(queries);
    }
}

/// The link for callers of `large` to a layer that has `function` alone: `seen` is the layer's, `past` leads past it, `real` is the MPI
/// library's. `None`: all calls go past the layer.
pub(crate) fn link(layer: &str, function: FnId, large: FnId, [seen, past, real]: [usize; 3]) -> Option<usize> {
    let mut shown = shown();
    // MPI_Buffer_detach_c: a buffer that was attached past the layer is detached past it.
    let attach = large.attaching_with_large_counts().and_then(|attaching| {
        let is_it = |shown: &&ShownFunction| shown.layer == layer && shown.large == attaching;
        shown.iter().find(is_it).map(|shown| shown.link)
    });
    let targets = LargeCountTargets { seen, past, real, attach };
    let (address, link) = large_counts::link(function, large, targets, QUERIES.get()?)?;
    shown.push(ShownFunction { layer: layer.to_owned(), large, link });
    Some(address)
}

/// Says which calls went past which layers: at the end of the process.
pub(crate) fn say_what_went_past() {
    let mut layers: BTreeMap<String, Vec<(usize, FnId)>> = BTreeMap::new();
    for ShownFunction { layer, large, link } in shown().iter() {
        let calls = link.went_past();
        if calls > 0 {
            layers.entry(layer.clone()).or_default().push((calls, *large));
        }
    }
    for (layer, functions) in layers {
        let calls = |(count, id): &(usize, FnId)| {
            format!("{count} call{} of {}", if *count == 1 { "" } else { "s" }, id.name())
        };
        let calls: Vec<String> = functions.iter().map(calls).collect();
        log::once(
            log::LogLevel::Warn,
            &format!("warning: {} went past {layer}: counts above {}", calls.join(", "), i32::MAX),
        );
    }
}
