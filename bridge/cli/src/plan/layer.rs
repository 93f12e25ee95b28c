//! One layer of the stack with its tool inspected: whether it can be set up, and what the user should know before it is.

use std::collections::BTreeSet;
use std::path::Path;

use qmpi_abi::{FnId, classify};
use qmpi_elf::{Effect, Hazard, MpiFamily, ObjectDetail, SearchPath, Tool, ToolKind};
use qmpi_stack::{Layer, RankSet};

use crate::Error;
use crate::plan::glibc;
use crate::plan::manifest::{self, Manifest};
use crate::report::edges::Node;
use crate::report::warning::Warning;

/// A layer whose file is a tool that can be loaded, as far as that can be seen.
pub struct InspectedLayer {
    /// What was asked for.
    pub layer: Layer,
    /// What it is; `None` for a name that has no file, which somebody registers.
    pub tool: Option<Tool>,
    /// What is known about it besides.
    pub manifest: Option<&'static Manifest>,
    /// What it registers when it is loaded; `None` for a tool that does not, or that was not asked.
    pub registered: Option<Registered>,
}

/// What is known of the functions that a layer registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// These.
    Functions(Vec<String>),
    /// Why it is not known.
    Unknown(String),
}

/// What people see instead of a path where there is none.
pub const BY_NAME: &str = "(registered by name)";

impl InspectedLayer {
    /// Inspects the file of `layer`, in a process that shares the libraries `preloaded` with its tools.
    ///
    /// # Errors
    /// Everything that keeps it from being a layer.
    pub fn new(layer: Layer, search: &SearchPath, preloaded: &[String]) -> Result<Self, Error> {
        if layer.is_name_only() {
            return Ok(Self { layer, tool: None, manifest: None, registered: None });
        }
        let shared = |name: &str| layer.share.iter().chain(preloaded).any(|share| share == name);
        let tool = Tool::inspect(&layer.path, search, &shared)
            .map_err(|source| Error::Inspect { layer: Some(layer.label.clone()), source })?;
        let (label, path) = (layer.label.clone(), layer.path.clone());
        match &tool.kind {
            ToolKind::MpiLibrary => return Err(Error::IsMpi { layer: label, path }),
            ToolKind::None { reason } => {
                return Err(Error::NotATool { layer: label, path, reason: reason.clone() });
            }
            ToolKind::Pmpi | ToolKind::Qmpi | ToolKind::Thesis => {}
        }
        if let Some(missing) = tool.closure.missing.first() {
            return Err(match &missing.error {
                Some(error) => Error::WillNotLoad { layer: label, path, message: error.to_string() },
                None => {
                    Error::MissingLibrary { layer: label, by: missing.needed_by.clone(), library: missing.name.clone() }
                }
            });
        }
        if let Some(hazard) = tool.hazards.iter().find(|hazard| hazard.effect == Effect::Fatal) {
            return Err(Error::WillNotLoad { layer: label, path, message: hazard.text.clone() });
        }
        let manifest = manifest::find(&layer.path);
        Ok(Self { layer, tool: Some(tool), manifest, registered: None })
    }

    /// The label within the stack.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.layer.label
    }

    /// The tool's file, or what stands in its place for people where there is none.
    #[must_use]
    pub fn path(&self) -> &Path {
        if self.layer.is_name_only() { Path::new(BY_NAME) } else { &self.layer.path }
    }

    /// `PMPI`, `QMPI` or `thesis`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.tool.as_ref().map_or("QMPI", |tool| kind_name(&tool.kind))
    }

    /// Whether it takes one of glibc's namespaces.
    #[must_use]
    pub fn is_bridged(&self) -> bool {
        self.pmpi().is_some()
    }

    /// Whether it cannot share a namespace with other instances.
    #[must_use]
    pub fn needs_namespace(&self) -> bool {
        self.namespace_reason().is_some()
    }

    /// Why it cannot.
    #[must_use]
    pub fn namespace_reason(&self) -> Option<String> {
        self.pmpi()?.clone_obstacle()
    }

    fn pmpi(&self) -> Option<&Tool> {
        self.tool.as_ref().filter(|tool| tool.kind == ToolKind::Pmpi)
    }

    /// The MPI it is built for; `None` if it works with any.
    #[must_use]
    pub fn family(&self) -> Option<MpiFamily> {
        self.tool.as_ref()?.abi
    }

    /// What the user should know. `innermost`: no layer is below this one.
    #[must_use]
    pub fn warnings(&self, innermost: bool) -> Vec<Warning> {
        let label = self.label();
        let more = format!("`qmpi inspect {}` says more", self.path().display());
        let applies = |hazard: &&Hazard| match (hazard.effect, hazard.id) {
            (Effect::Limited, "keeps-finalize" | "no-way-down") => !innermost,
            // Worth knowing for who wonders, not at every run: what the program calls itself comes as ever.
            (Effect::Limited, "defines-pmpi") => false,
            // The process knows what the application defines, and says what nothing does.
            (Effect::Limited, "undefined-symbols") => false,
            // dlopen refuses executable stacks since then.
            (Effect::Limited, "exec-stack") => glibc::version().is_none_or(|version| version >= glibc::Version(2, 41)),
            (effect, _) => effect == Effect::Limited,
        };
        let hazards = self.tool.iter().flat_map(|tool| &tool.hazards);
        let of_inspection = hazards.filter(applies).map(|hazard| &hazard.text);
        let of_manifest = self.manifest.iter().flat_map(|manifest| &manifest.wrong);
        let mut warnings: Vec<Warning> = of_inspection
            .chain(of_manifest)
            .map(|text| Warning::new(format!("tool `{label}`: {text}"), more.clone()))
            .collect();
        let without_effect = self.functions_without_effect();
        if !without_effect.is_empty() {
            warnings.push(Warning::new(
                format!(
                    "tool `{label}`: `functions` names {}, which the tool does not define",
                    without_effect.join(", ")
                ),
                more.clone(),
            ));
        }
        if !innermost && self.manifest.is_some_and(|manifest| manifest.needs_innermost) {
            warnings.push(Warning::new(
                format!("tool `{label}`: layers below it will not work"),
                "put it innermost: last in the list",
            ));
        }
        warnings
    }

    /// What the edges are computed from.
    #[must_use]
    pub fn node(&self) -> Node {
        let names = |list: &[FnId]| list.iter().map(|id| id.name().to_owned()).collect::<BTreeSet<String>>();
        let intercepts = self.intercepts();
        let mut node =
            Node { label: self.label().to_owned(), calls: intercepts.clone(), intercepts, ..Node::default() };
        let Some(tool) = &self.tool else { return node };
        if !self.is_bridged() {
            // In the program's own namespace `PMPI_*` is the MPI library's.
            node.past = names(&tool.pmpi_imports);
            let imports = tool.closure.root().imports();
            let shifted = imports.filter_map(|symbol| FnId::by_name(symbol.name.strip_prefix('Q')?));
            node.past.extend(shifted.map(|id| id.name().to_owned()));
            return node;
        }
        let function = |name: &String| Some(classify(name)?.id.name().to_owned());
        node.calls.extend(names(&tool.pmpi_imports));
        node.calls.extend(names(&tool.mpi_calls));
        node.calls.extend(tool.dlsym_names.iter().filter_map(function));
        node.fortran = self.fortran();
        node.fortran_calls = tool.fortran_imports.iter().filter_map(function).collect();
        node
    }

    /// The functions that arrive at it in C: those the tool defines or registers, less what `functions` leaves out.
    #[must_use]
    pub fn intercepts(&self) -> BTreeSet<String> {
        let names: Vec<&str> = match &self.registered {
            Some(Registered::Functions(names)) => names.iter().map(String::as_str).collect(),
            _ => self.wrappers().iter().flat_map(|root| &root.intercepts).map(|id| id.name()).collect(),
        };
        names.into_iter().filter(|name| self.is_wanted(name)).map(str::to_owned).collect()
    }

    /// The functions that may arrive at it in Fortran.
    #[must_use]
    pub fn fortran(&self) -> BTreeSet<String> {
        let wrappers = self.wrappers().into_iter().flat_map(|root| &root.fortran_wrappers);
        let names = wrappers.filter_map(|name| classify(name)).map(|symbol| symbol.id.name());
        names.filter(|name| self.is_wanted(name)).map(str::to_owned).collect()
    }

    /// Where a PMPI tool has its wrappers: those in a library of its are not used.
    fn wrappers(&self) -> Option<&ObjectDetail> {
        self.pmpi()?.objects.first()
    }

    fn is_wanted(&self, name: &str) -> bool {
        let only = self.layer.functions.as_ref();
        only.is_none_or(|only| only.iter().any(|one| one == name)) && (self.layer.pcontrol || name != "MPI_Pcontrol")
    }

    /// Why it is not known what it intercepts, if it is not.
    #[must_use]
    pub fn unknown(&self) -> Option<&str> {
        match &self.registered {
            Some(Registered::Unknown(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Names in `functions` that the tool does not define: without effect.
    #[must_use]
    pub fn functions_without_effect(&self) -> Vec<&str> {
        let Some(tool) = self.pmpi() else { return Vec::new() };
        let defined = |name: &str| tool.intercepts.iter().any(|id| id.name() == name);
        self.layer.functions.iter().flatten().map(String::as_str).filter(|name| !defined(name)).collect()
    }
}

/// How many layers of a kind there are in one process: those of the rank with most, since `ranks` may keep them apart.
#[must_use]
pub fn at_once(layers: &[InspectedLayer], kind: fn(&InspectedLayer) -> bool) -> usize {
    let bridged = || layers.iter().filter(|layer| kind(layer));
    // Sets of ranks overlap most where one of them begins.
    let starts = bridged().filter_map(|layer| layer.layer.ranks.as_ref()).flat_map(RankSet::starts);
    let at = |rank| bridged().filter(|layer| layer.layer.ranks.as_ref().is_none_or(|set| set.contains(rank))).count();
    std::iter::once(0).chain(starts).map(at).max().unwrap_or(0)
}

/// Bytes of static TLS that all layers need together: every bridged instance has its own, others share one copy a file.
#[must_use]
pub fn static_tls(layers: &[InspectedLayer]) -> u64 {
    let mut seen = BTreeSet::new();
    layers
        .iter()
        .filter(|layer| layer.is_bridged() || seen.insert(layer.path().to_owned()))
        .fold(0, |sum: u64, layer| sum.saturating_add(layer.tool.as_ref().map_or(0, |tool| tool.static_tls_bytes)))
}

/// One word for a kind.
#[must_use]
pub fn kind_name(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Pmpi => "PMPI",
        ToolKind::Qmpi => "QMPI",
        ToolKind::Thesis => "thesis",
        ToolKind::MpiLibrary => "mpi-library",
        ToolKind::None { .. } => "none",
    }
}
