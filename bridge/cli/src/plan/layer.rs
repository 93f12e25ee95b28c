//! One layer of the stack with its tool inspected: whether it can be set up, and what the user should know before it is.

use std::collections::BTreeSet;
use std::path::Path;

use qmpi_abi::{FnId, classify, large_counts};
use qmpi_elf::{Effect, Hazard, Tool, ToolKind};
use qmpi_launch::Warning;
use qmpi_plan::own_calls::{always_passes_on, same_function};
use qmpi_plan::{LargeCountCalls, Layer, OwnCalls, Planned, RankSet, Wraps};

use crate::plan::edges::LayerNode;
use crate::plan::glibc;
use crate::plan::manifest::{self, Manifest};

/// A layer of the plan with what the command tells about it.
pub(crate) struct InspectedLayer {
    /// The layer and what its file is.
    pub(crate) planned: Planned,
    /// What is known about it besides.
    pub(crate) manifest: Option<&'static Manifest>,
    /// What it registers when it is loaded; `None` for a tool that does not, or that was not asked.
    pub(crate) registered: Option<RegisteredFunctions>,
}

/// The functions that a layer registers, or why they are not known.
pub(crate) type RegisteredFunctions = Result<Vec<String>, String>;

/// What people see instead of a path where there is none.
pub(crate) const BY_NAME: &str = "(registered by name)";

impl InspectedLayer {
    /// A layer that no tool was asked about yet.
    pub(crate) fn new(planned: Planned) -> Self {
        let manifest = planned.tool().and_then(|_| manifest::find(&planned.layer.path));
        Self { planned, manifest, registered: None }
    }

    pub(crate) fn layer(&self) -> &Layer {
        &self.planned.layer
    }

    pub(crate) fn label(&self) -> &str {
        &self.planned.layer.label
    }

    /// The tool's file, or what stands in its place for people where there is none.
    pub(crate) fn path(&self) -> &Path {
        if self.layer().is_name_only() { Path::new(BY_NAME) } else { &self.layer().path }
    }

    /// `PMPI`, `QMPI` or `thesis`.
    pub(crate) fn kind(&self) -> &'static str {
        self.planned.tool().map_or("QMPI", |tool| kind_name(&tool.kind))
    }

    /// Whether it is loaded into a namespace.
    pub(crate) fn is_bridged(&self) -> bool {
        self.planned.pmpi().is_some()
    }

    /// What a run of this layer lacks, one sentence for each hazard. `innermost`: no layer is below this one.
    pub(crate) fn hazards(&self, innermost: bool) -> Vec<String> {
        let applies = |hazard: &&Hazard| match (hazard.effect, hazard.id) {
            (Effect::Limited, "keeps-finalize" | "no-way-down") => !innermost,
            // For `qmpi inspect`, not for every run: the program's own calls of `MPI_f` arrive as ever.
            (Effect::Limited, "defines-pmpi") => false,
            // The process knows what the application defines, and says what nothing does when it is called.
            (Effect::Limited, "undefined-symbols") => false,
            // Others are as the user wants them.
            (Effect::Limited, "allocator-without-free") => self.layer().settings.wraps == Wraps::Evident,
            // dlopen refuses executable stacks since then.
            (Effect::Limited, "exec-stack") => glibc::version().is_none_or(|version| version >= (2, 41)),
            (effect, _) => effect == Effect::Limited,
        };
        let of_contents = self.planned.pmpi().map(Tool::hazards_of_contents).unwrap_or_default();
        let of_tables = self.planned.tool().into_iter().flat_map(|tool| &tool.hazards);
        of_tables.chain(&of_contents).filter(applies).map(|hazard| hazard.text.clone()).collect()
    }

    /// What was probably not meant.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let names = self.functions_without_effect().join(", ");
        let message = format!("tool `{}`: `functions` names {names}, which the tool does not define", self.label());
        let hint = format!("`qmpi inspect {}` says more", self.path().display());
        (!names.is_empty()).then(|| Warning::new(message, hint))
    }

    /// Are there ranks that have this layer and the other one?
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (&self.layer().settings.ranks, &other.layer().settings.ranks) {
            (Some(ranks), Some(others)) => {
                // Where two sets overlap, one of them begins.
                ranks.starts().any(|rank| others.contains(rank)) || others.starts().any(|rank| ranks.contains(rank))
            }
            _ => true,
        }
    }

    /// What the edges are computed from.
    pub(crate) fn node(&self) -> LayerNode {
        let names = |list: &[FnId]| list.iter().map(|id| id.name().to_owned()).collect::<BTreeSet<String>>();
        let mut node = LayerNode { label: self.label().to_owned(), ..LayerNode::default() };
        node.c.wrapped = self.intercepts();
        node.c.made.clone_from(&node.c.wrapped);
        let Some(tool) = self.planned.tool() else { return node };
        if !self.is_bridged() {
            // In the program's own namespace `PMPI_*` is the MPI library's.
            node.c.past = names(&tool.pmpi_imports);
            let imports = tool.closure.root().imports();
            let shifted = imports.filter_map(|symbol| FnId::by_name(symbol.name.strip_prefix('Q')?));
            node.c.past.extend(shifted.map(|id| id.name().to_owned()));
            return node;
        }
        let function = |name: &String| Some(classify(name)?.id.name().to_owned());
        node.c.made.extend(names(&tool.pmpi_imports));
        node.c.made.extend(names(&tool.mpi_calls));
        node.c.made.extend(tool.dlsym_names.iter().filter_map(function));
        node.fortran.wrapped = self.fortran();
        node.fortran.made = tool.fortran_imports.iter().filter_map(function).collect();
        node.other.wrapped = self.planned.wrapped().into_iter().map(str::to_owned).collect();
        let imports = tool.closure.objects.iter().flat_map(|object| object.imports()).map(|symbol| symbol.name);
        let imports = imports.filter(|name| classify(name).is_none()).map(str::to_owned);
        node.other.made = imports.chain(node.other.wrapped.iter().cloned()).collect();
        if self.layer().settings.own_calls == OwnCalls::Hidden {
            let wrapped: BTreeSet<String> = &node.c.wrapped | &node.fortran.wrapped;
            for calls in [&mut node.c, &mut node.fortran] {
                calls.past = hide(&mut calls.made, &wrapped);
            }
        }
        node
    }

    /// The functions that arrive at it in C: those the tool defines or registers, less what `functions` leaves out.
    pub(crate) fn intercepts(&self) -> BTreeSet<String> {
        let lets = |name: &&String| FnId::by_name(name).is_none_or(|id| self.layer().lets(id));
        match &self.registered {
            Some(Ok(names)) => names.iter().filter(lets).cloned().collect(),
            _ => self.planned.wrappers().map(|id| id.name().to_owned()).collect(),
        }
    }

    /// The functions with large counts whose calls come to its functions with `int` counts, where MPI has them.
    pub(crate) fn shown(&self) -> BTreeSet<String> {
        if self.layer().settings.large_counts == LargeCountCalls::Past || self.kind() == "thesis" {
            return BTreeSet::new();
        }
        let ids: Vec<FnId> = self.intercepts().iter().filter_map(|name| FnId::by_name(name)).collect();
        large_counts::shown(&ids).map(|id| id.name().to_owned()).collect()
    }

    /// The functions of which it sees calls in C.
    pub(crate) fn sees(&self) -> BTreeSet<String> {
        &self.intercepts() | &self.shown()
    }

    /// The functions that may arrive at it in Fortran.
    pub(crate) fn fortran(&self) -> BTreeSet<String> {
        self.planned.fortran_wrappers().map(|(_, id)| id.name().to_owned()).collect()
    }

    /// Why it is not known what it intercepts, if it is not.
    pub(crate) fn unknown(&self) -> Option<&str> {
        self.registered.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Names in `functions` that the tool does not define: without effect.
    pub(crate) fn functions_without_effect(&self) -> Vec<&'static str> {
        let Some(tool) = self.planned.pmpi() else { return Vec::new() };
        let named = self.layer().settings.functions.iter().flatten();
        named.filter(|id| !tool.intercepts.contains(id)).map(|id| id.name()).collect()
    }
}

/// Leaves of the calls of a layer that hides its own what it may pass on, functions that it wraps in some spelling. Returns what may be a
/// call of its own: all but what always goes on.
fn hide(calls: &mut BTreeSet<String>, wrapped: &BTreeSet<String>) -> BTreeSet<String> {
    let same = |name: &String| FnId::by_name(name).map(same_function);
    let wrapped: BTreeSet<FnId> = wrapped.iter().filter_map(same).collect();
    let always = |name: &String| FnId::by_name(name).is_some_and(always_passes_on);
    let own = calls.iter().filter(|name| !always(name)).cloned().collect();
    calls.retain(|name| always(name) || same(name).is_some_and(|id| wrapped.contains(&id)));
    own
}

/// The PMPI tools of the processes that have most: `ranks` may keep layers apart.
pub(crate) fn on_each_rank(layers: &[InspectedLayer]) -> impl Iterator<Item = Vec<&Planned>> {
    // Sets of ranks overlap most where one of them begins; a layer without one is everywhere.
    let starts = layers.iter().filter_map(|layer| layer.layer().settings.ranks.as_ref()).flat_map(RankSet::starts);
    let first_outside =
        |layers: &[InspectedLayer]| layers.iter().all(|layer| layer.layer().settings.ranks.is_none()).then_some(0);
    starts.chain(first_outside(layers)).map(|rank| {
        let here = layers.iter().filter(move |layer| layer.layer().on_rank(Some(rank)));
        here.map(|layer| &layer.planned).filter(|planned| planned.pmpi().is_some()).collect()
    })
}

/// Bytes of static TLS that all layers need together: every bridged instance has its own, others share one copy a file.
pub(crate) fn static_tls(layers: &[InspectedLayer]) -> u64 {
    let mut seen = BTreeSet::new();
    layers
        .iter()
        .filter(|layer| layer.is_bridged() || seen.insert(layer.path().to_owned()))
        .fold(0, |sum: u64, layer| sum.saturating_add(layer.planned.tool().map_or(0, |tool| tool.static_tls_bytes)))
}

/// One word for a kind.
pub(crate) fn kind_name(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Pmpi => "PMPI",
        ToolKind::Qmpi => "QMPI",
        ToolKind::Thesis => "thesis",
        ToolKind::MpiLibrary => "mpi-library",
        ToolKind::None { .. } => "none",
    }
}
