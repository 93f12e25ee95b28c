//! Calls with large counts (`MPI_Send_c`) for layers that have the function with `int` counts alone: which links there are
//! (`links/src/large_counts.rs`), and what went past a layer.
#![expect(unsafe_code, reason = "functions of the MPI library, by their addresses")]

use std::collections::BTreeMap;
use std::mem::transmute;
use std::sync::OnceLock;

use qmpi_abi::FnId;
use qmpi_links::large_counts::{self, LargeCountLink, LargeCountTargets, MpiQueries};
use qmpi_loader::Process;
use qmpi_system::{Locked, log};

use crate::qmpi::ToolId;

/// The functions that layers are shown.
static SHOWN: Locked<Vec<ShownFunction>> = Locked::new(Vec::new());

/// A function that a layer is shown.
struct ShownFunction {
    layer: ToolId,
    label: &'static str,
    large: FnId,
    link: &'static LargeCountLink,
}

/// What the MPI library says of communicators, if it has these functions.
fn queries(process: &Process) -> Option<&'static MpiQueries> {
    static QUERIES: OnceLock<Option<MpiQueries>> = OnceLock::new();
    let real = |name: &str| FnId::by_name(name).and_then(|id| process.real(id));
    let find = || {
        // SAFETY: these functions take a handle, which fits into a word, and where to store an `int`.
        let of_handle = |name| Some(unsafe { transmute::<usize, extern "C" fn(usize, &mut i32) -> i32>(real(name)?) });
        let of_graph = real("MPI_Graph_neighbors_count")?;
        // SAFETY: a handle, a rank, and where to store an `int`.
        let of_graph = unsafe { transmute::<usize, extern "C" fn(usize, i32, &mut i32) -> i32>(of_graph) };
        let of_distributed = real("MPI_Dist_graph_neighbors_count")?;
        // SAFETY: a handle, and where to store three `int`s.
        let of_distributed =
            unsafe { transmute::<usize, extern "C" fn(usize, &mut i32, &mut i32, &mut i32) -> i32>(of_distributed) };
        let [comm_null, cartesian, graph, distributed] =
            process.constants(["MPI_COMM_NULL", "MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH"]);
        Some(MpiQueries {
            test_inter: of_handle("MPI_Comm_test_inter")?,
            size: of_handle("MPI_Comm_size")?,
            remote_size: of_handle("MPI_Comm_remote_size")?,
            rank: of_handle("MPI_Comm_rank")?,
            topology: of_handle("MPI_Topo_test")?,
            dimensions: of_handle("MPI_Cartdim_get")?,
            graph_neighbors: of_graph,
            neighbors: of_distributed,
            comm_null,
            topologies: [cartesian?, graph?, distributed?],
        })
    };
    QUERIES.get_or_init(find).as_ref()
}

/// The link for callers of `large` to a layer that has `function` alone: `seen` is the layer's, `past` leads past it. `None`: all calls go
/// past the layer.
pub(crate) fn link(
    (layer, label): (ToolId, &str),
    function: FnId,
    large: FnId,
    [seen, past]: [usize; 2],
    process: &Process,
) -> Option<usize> {
    let mut shown = SHOWN.lock();
    // MPI_Buffer_detach_c: a buffer that was attached past the layer is detached past it.
    let attach = large.attaching_with_large_counts().and_then(|attaching| {
        shown.iter().find(|shown| shown.layer == layer && shown.large == attaching).map(|shown| shown.link)
    });
    let (real, queries) = (&|| process.real(large), &|| queries(process));
    let targets = LargeCountTargets { seen, past, attach, real, queries };
    let (address, link) = large_counts::link(function, large, &targets)?;
    let known = shown.last().filter(|last| last.layer == layer).map(|last| last.label);
    let label = known.unwrap_or_else(|| label.to_owned().leak());
    shown.push(ShownFunction { layer, label, large, link });
    Some(address)
}

/// How many functions a line names.
const NAMED: usize = 8;

/// Says which calls went past which layers: at the end of the process.
pub(crate) fn say_what_went_past() {
    let mut layers: BTreeMap<&str, Vec<(usize, FnId)>> = BTreeMap::new();
    for ShownFunction { label, large, link, .. } in SHOWN.lock().iter() {
        let calls = link.went_past();
        if calls > 0 {
            layers.entry(label).or_default().push((calls, *large));
        }
    }
    for (layer, mut functions) in layers {
        functions.sort_by_key(|(calls, _)| std::cmp::Reverse(*calls));
        let calls = |count: usize| format!("{count} call{}", if count == 1 { "" } else { "s" });
        let named = functions.iter().take(NAMED).map(|(count, id)| format!("{} of {}", calls(*count), id.name()));
        let mut named: Vec<String> = named.collect();
        let others = functions.get(NAMED..).unwrap_or_default();
        if !others.is_empty() {
            let count = others.iter().map(|(count, _)| count).sum();
            named.push(format!("{} of {} other functions", calls(count), others.len()));
        }
        log::once(
            log::LogLevel::Warn,
            &format!("warning: {} went past {layer}: counts above {}", named.join(", "), i32::MAX),
        );
    }
}
