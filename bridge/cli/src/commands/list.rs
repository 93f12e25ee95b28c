//! `qmpi list`: the stack with its edges.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use qmpi_launch::Warning;
use qmpi_launch::environment::of_process;
use qmpi_plan::{OwnCalls, SettingWord};
use serde::Serialize;

use crate::args::{ListArgs, VerbosityArgs};
use crate::error::ErrorReport;
use crate::plan::CheckedStack;
use crate::plan::edges::{self, CallEdge, Language, LayerNode};
use crate::plan::layer::{BY_NAME, InspectedLayer, RegisteredFunctions};
use crate::plan::survey;
use crate::report::listing::{count, shortened, wrapped};
use crate::terminal;
use crate::{Error, plan};

#[derive(Debug, Serialize)]
struct ListedStack {
    layers: Vec<ListedLayer>,
    /// By function, the layers that intercept it, outermost first.
    intercepted: BTreeMap<String, Vec<String>>,
    /// By function, the layers with a Fortran wrapper for it.
    intercepted_in_fortran: BTreeMap<String, Vec<String>>,
    /// By function that is not MPI's, the layers that wrap it.
    wrapped: BTreeMap<String, Vec<String>>,
    edges: Vec<CallEdge>,
    /// The stacks of `[stacks]`, which a tool may open: their layers, outermost first.
    stacks: BTreeMap<String, Vec<LayerOfStack>>,
    warnings: Vec<String>,
}

/// A layer of a named stack.
#[derive(Debug, Serialize)]
struct LayerOfStack {
    label: String,
    /// Null for a name that is registered at run time.
    path: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct ListedLayer {
    /// The id by which QMPI tools know it, on ranks that have all layers: 1 is the outermost.
    tool_id: usize,
    label: String,
    name: String,
    /// Null for a name that is registered at run time.
    path: Option<PathBuf>,
    kind: &'static str,
    mpi: Option<&'static str>,
    known_as: Option<&'static str>,
    ranks: Option<String>,
    env: BTreeMap<String, String>,
    functions: Option<Vec<String>>,
    functions_without_effect: Vec<String>,
    pcontrol: bool,
    share: Vec<String>,
    /// Libraries that are loaded with it, before it.
    with: Vec<PathBuf>,
    /// `visible`, or `hidden`: what it asks MPI for itself goes past the layers below.
    own_calls: &'static str,
    /// Null if the layer cannot be switched off, else whether it is on at first.
    switch: Option<bool>,
    /// Which calls it sees, in words; `null`: all.
    filter: Option<String>,
    intercepts: Vec<String>,
    fortran_wrappers: Vec<String>,
    wraps: Vec<String>,
    /// Its functions are only known when it is loaded.
    registers_at_run_time: bool,
    /// Why they are not known, if they are not: edges leave the layer out then.
    intercepts_unknown: Option<String>,
    advice: Vec<String>,
    /// `namespace` for its own, `clone` for the one that clones share; null for a tool that is loaded into the program's.
    place: Option<&'static str>,
}

pub(crate) fn list(args: &ListArgs) -> Result<(), Error> {
    let checked = plan::check(&args.stack, VerbosityArgs::default(), &of_process)
        .and_then(|checked| checked.check_mpis().map(|()| checked));
    let checked = match checked {
        Err(error) if args.json => {
            terminal::answer_json(BTreeMap::from([("error", ErrorReport::new(&error))]))?;
            return Err(error);
        }
        checked => checked?,
    };
    show(args, checked)
}

fn show(args: &ListArgs, mut checked: CheckedStack) -> Result<(), Error> {
    if args.no_load {
        for layer in checked.layers.iter_mut().filter(|layer| !layer.is_bridged()) {
            layer.registered = Some(RegisteredFunctions::Unknown("it is not loaded".to_owned()));
        }
    } else {
        for (place, registered) in survey::ask(&checked.layers) {
            checked.layers[place].registered = Some(registered);
        }
    }
    let warnings = checked.all_warnings();
    terminal::warn_once(&warnings);
    let mut report = report(&checked.layers, &checked.clones(), &warnings);
    report.stacks = named(&checked);
    if args.json { terminal::answer_json(&report) } else { terminal::answer(&text(&report)) }
}

fn report(layers: &[InspectedLayer], clones: &[bool], warnings: &[Warning]) -> ListedStack {
    let nodes: Vec<LayerNode> = layers.iter().map(InspectedLayer::node).collect();
    ListedStack {
        layers: layers
            .iter()
            .zip(clones)
            .zip(1..)
            .map(|((layer, is_clone), tool_id)| ListedLayer::new(layer, *is_clone, tool_id))
            .collect(),
        intercepted: interceptors(&nodes, |node| &node.intercepts),
        intercepted_in_fortran: interceptors(&nodes, |node| &node.fortran),
        wrapped: interceptors(&nodes, |node| &node.wraps),
        edges: edges::edges(&nodes),
        stacks: BTreeMap::new(),
        warnings: warnings.iter().map(|warning| warning.message.clone()).collect(),
    }
}

fn named(checked: &CheckedStack) -> BTreeMap<String, Vec<LayerOfStack>> {
    let layer = |layer: &qmpi_plan::Layer| LayerOfStack {
        label: layer.label.clone(),
        path: (!layer.is_name_only()).then(|| layer.path.clone()),
    };
    let stacks = checked.resolved.named.iter();
    stacks.map(|(name, stack)| (name.clone(), stack.layers.iter().map(layer).collect())).collect()
}

fn interceptors(nodes: &[LayerNode], functions: fn(&LayerNode) -> &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in nodes {
        for function in functions(node) {
            found.entry(function.clone()).or_default().push(node.label.clone());
        }
    }
    found
}

impl ListedLayer {
    fn new(inspected: &InspectedLayer, is_clone: bool, tool_id: usize) -> Self {
        let layer = inspected.layer();
        let settings = &layer.settings;
        Self {
            tool_id,
            label: layer.label.clone(),
            name: layer.name.clone(),
            path: (!layer.is_name_only()).then(|| layer.path.clone()),
            kind: inspected.kind(),
            mpi: inspected.planned.family().map(|family| family.name()),
            known_as: inspected.manifest.map(|manifest| manifest.name.as_str()),
            ranks: settings.ranks.as_ref().map(ToString::to_string),
            env: settings.env.iter().cloned().collect(),
            functions: settings.functions.as_ref().map(|ids| ids.iter().map(|id| id.name().to_owned()).collect()),
            functions_without_effect: inspected.functions_without_effect().into_iter().map(str::to_owned).collect(),
            pcontrol: !settings.skips_pcontrol,
            share: settings.share.clone(),
            with: settings.with.clone(),
            own_calls: settings.own_calls.word(),
            switch: settings.switch.as_ref().map(|switch| switch.enabled),
            filter: settings.switch.as_ref().and_then(|switch| switch.filter.as_ref()).map(ToString::to_string),
            intercepts: inspected.intercepts().into_iter().collect(),
            fortran_wrappers: inspected.fortran().into_iter().collect(),
            wraps: inspected.planned.wrapped().into_iter().map(str::to_owned).collect(),
            registers_at_run_time: !inspected.is_bridged(),
            intercepts_unknown: inspected.unknown().map(str::to_owned),
            advice: inspected.manifest.map(|manifest| manifest.advice.clone()).unwrap_or_default(),
            place: inspected.is_bridged().then_some(if is_clone { "clone" } else { "namespace" }),
        }
    }

    /// The settings that differ from the default, one line each.
    fn settings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut add = |name: &str, value: String| lines.push(format!("{name} {value}"));
        if let Some(mpi) = self.mpi {
            add("built for", mpi.to_owned());
        }
        if let Some(ranks) = &self.ranks {
            add("on ranks", ranks.clone());
        }
        for (name, value) in &self.env {
            add("sees", format!("{name}={value}"));
        }
        if let Some(functions) = &self.functions {
            add("only", shortened(functions, 8));
        }
        if !self.functions_without_effect.is_empty() {
            add("does not define", shortened(&self.functions_without_effect, 8));
        }
        if !self.pcontrol {
            add("without", "MPI_Pcontrol".to_owned());
        }
        if self.place == Some("clone") {
            add("is", "a clone: it shares a namespace, and the libraries that it needs, with other clones".to_owned());
        }
        if !self.share.is_empty() {
            add("shares", self.share.join(", "));
        }
        if !self.with.is_empty() {
            let files: Vec<String> = self.with.iter().map(|path| path.display().to_string()).collect();
            add("loaded with", files.join(", "));
        }
        if self.own_calls != OwnCalls::Visible.word() {
            add("calls of its own", format!("{}: they go to the MPI library", self.own_calls));
        }
        if let Some(enabled) = self.switch {
            add("can be", format!("switched off and on; it is {} at first", if enabled { "on" } else { "off" }));
        }
        if let Some(filter) = &self.filter {
            add("sees", filter.clone());
        }
        if let Some(reason) = &self.intercepts_unknown {
            add("intercepts", format!("what it registers when it runs; edges do not show it: {reason}"));
        }
        lines.extend(self.advice.iter().map(|advice| format!("advice: {advice}")));
        lines
    }
}

fn text(report: &ListedStack) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", terminal::bold("stack (outermost first)"));
    if report.layers.is_empty() {
        let _ = writeln!(text, "  no tools");
        text.push_str(&named_stacks(report));
        return text;
    }
    let width = report.layers.iter().map(|layer| layer.label.len()).max().unwrap_or(0);
    for layer in &report.layers {
        let path = layer.path.as_deref().unwrap_or(Path::new(BY_NAME)).display();
        let _ = writeln!(text, "  {:>2}  {:width$}  {:<6}  {path}", layer.tool_id, layer.label, layer.kind);
        for line in layer.settings() {
            let _ = writeln!(text, "      {line}");
        }
    }
    for (heading, intercepted) in [
        ("intercepted", &report.intercepted),
        ("intercepted in Fortran", &report.intercepted_in_fortran),
        ("wrapped besides MPI's functions", &report.wrapped),
    ] {
        if !intercepted.is_empty() {
            let _ = writeln!(text, "{}", terminal::bold(heading));
        }
        for (labels, functions) in by_interceptors(intercepted) {
            let _ = writeln!(text, "  by {}: {}", labels.join(", "), count(functions.len(), "function"));
            text.push_str(&wrapped(functions, 6));
        }
    }
    let _ = writeln!(text, "{}", terminal::bold("edges"));
    for edge in &report.edges {
        let number = match edge.language {
            Language::C => count(edge.functions.len(), "function"),
            Language::Fortran => format!("{} in Fortran", count(edge.functions.len(), "function")),
            Language::Other => count(edge.functions.len(), "other function"),
        };
        let _ = writeln!(text, "  {} -> {}: {number}: {}", edge.from, edge.to, shortened(&edge.functions, 4));
    }
    text.push_str(&named_stacks(report));
    text
}

/// The stacks that a tool may open.
fn named_stacks(report: &ListedStack) -> String {
    let mut text = String::new();
    for (name, layers) in &report.stacks {
        let _ =
            writeln!(text, "{}", terminal::bold(&format!("stack {name}, for tools that open it (outermost first)")));
        for layer in layers {
            let path = layer.path.as_deref().unwrap_or(Path::new(BY_NAME)).display();
            let _ = writeln!(text, "      {}  {path}", layer.label);
        }
    }
    text
}

/// Functions that the same layers intercept, together: most stacks have few such groups.
fn by_interceptors(intercepted: &BTreeMap<String, Vec<String>>) -> Vec<(&Vec<String>, Vec<&String>)> {
    let mut groups: Vec<(&Vec<String>, Vec<&String>)> = Vec::new();
    for (function, labels) in intercepted {
        match groups.iter_mut().find(|(group, _)| *group == labels) {
            Some((_, functions)) => functions.push(function),
            None => groups.push((labels, vec![function])),
        }
    }
    groups.sort_by_key(|(labels, _)| std::cmp::Reverse(labels.len()));
    groups
}
