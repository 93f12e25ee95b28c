//! `qmpi list`: the stack with its edges.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use qmpi_launch::Warning;
use qmpi_launch::environment::of_process;
use qmpi_launch::program;
use qmpi_plan::{Layer, OwnCalls, SettingWord};
use serde::Serialize;

use crate::args::{ListArgs, VerbosityArgs};
use crate::plan::CheckedStack;
use crate::plan::blind_spots::BlindSpots;
use crate::plan::edges::{self, CallEdge, Language, LayerNode};
use crate::plan::layer::{BY_NAME, InspectedLayer};
use crate::plan::survey;
use crate::report::listing::{count, if_any, shortened, stack, wrapped};
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
    /// What the layers do not see of the program; left out if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    blind_spots: Option<BlindSpots>,
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
    /// `seen`, or `past`.
    large_counts: &'static str,
    /// Functions with large counts that come to its functions with `int` counts, where MPI has them.
    shown_large_counts: Vec<String>,
    /// `alone`, or `world`: its MPI_Init is called for the first session.
    sessions: &'static str,
    /// `seen`, or `past`: its C functions see no Fortran calls.
    fortran: &'static str,
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
    let checked = plan::check(&args.stack, &args.command, VerbosityArgs::default(), &of_process)
        .and_then(|checked| checked.check_mpis().map(|()| checked));
    let mut checked = match checked {
        Err(error) if args.json => {
            terminal::answer_json(BTreeMap::from([("error", &error)]))?;
            return Err(error);
        }
        checked => checked?,
    };
    if args.no_load {
        for layer in checked.layers.iter_mut().filter(|layer| !layer.is_bridged()) {
            layer.registered = Some(Err("it is not loaded".to_owned()));
        }
    } else {
        for (place, registered) in survey::ask(&checked.layers) {
            checked.layers[place].registered = Some(registered);
        }
    }
    let warnings = checked.all_warnings();
    terminal::warn_once(&warnings);
    let mut report = report(&checked, &warnings);
    if !args.command.is_empty() {
        report.blind_spots = Some(blind_spots(args, &checked)?);
    }
    if args.json { terminal::answer_json(&report) } else { terminal::answer(&text(&report)) }
}

fn report(checked: &CheckedStack, warnings: &[Warning]) -> ListedStack {
    let nodes: Vec<LayerNode> = checked.layers.iter().map(InspectedLayer::node).collect();
    let layers = checked.layers.iter().zip(checked.clones()).zip(1..);
    let of_stack = |layer: &Layer| LayerOfStack { label: layer.label.clone(), path: file(layer) };
    let named = checked.resolved.named.iter();
    ListedStack {
        layers: layers.map(|((layer, is_clone), tool_id)| ListedLayer::new(layer, is_clone, tool_id)).collect(),
        intercepted: interceptors(&nodes, Language::C),
        intercepted_in_fortran: interceptors(&nodes, Language::Fortran),
        wrapped: interceptors(&nodes, Language::Other),
        edges: edges::edges(&nodes),
        blind_spots: None,
        stacks: named.map(|(name, stack)| (name.clone(), stack.layers.iter().map(of_stack).collect())).collect(),
        warnings: warnings.iter().map(|warning| warning.message.clone()).collect(),
    }
}

fn blind_spots(args: &ListArgs, checked: &CheckedStack) -> Result<BlindSpots, Error> {
    let found = program::find(&args.command, std::env::var_os("PATH").as_deref(), &checked.search)?;
    let spots = found.program.and_then(|program| BlindSpots::of(&program.path, &checked.layers, &checked.search));
    spots.ok_or_else(|| {
        let command = args.command.join(OsStr::new(" "));
        Error::failed(
            format!("no program in `{}` is linked with an MPI library", command.display()),
            "a program that opens one when it runs (Python) can be measured: `qmpi run --report`, then `qmpi report`",
        )
    })
}

fn file(layer: &Layer) -> Option<PathBuf> {
    (!layer.is_name_only()).then(|| layer.path.clone())
}

fn file_or_name(path: &Option<PathBuf>) -> &Path {
    path.as_deref().unwrap_or(Path::new(BY_NAME))
}

fn interceptors(nodes: &[LayerNode], language: Language) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in nodes {
        for function in &node.calls(language).wrapped {
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
            path: file(layer),
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
            large_counts: settings.large_counts.word(),
            shown_large_counts: inspected.shown().into_iter().collect(),
            sessions: settings.sessions.word(),
            fortran: settings.fortran.word(),
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
        let all = |list: &[String]| if_any(list, list.len());
        let with: Vec<String> = self.with.iter().map(|path| path.display().to_string()).collect();
        let own_calls = Some(self.own_calls).filter(|own_calls| *own_calls != OwnCalls::Visible.word());
        let clone = "a clone: it shares a namespace, and the libraries that it needs, with other clones";
        let state = |enabled| if enabled { "on" } else { "off" };
        let unknown = self.intercepts_unknown.as_ref();
        let of_layer = [("built for", self.mpi.map(str::to_owned)), ("on ranks", self.ranks.clone())];
        let variables = self.env.iter().map(|(name, value)| ("sees", Some(format!("{name}={value}"))));
        let others = [
            ("only", self.functions.as_ref().map(|functions| shortened(functions, 8))),
            ("does not define", if_any(&self.functions_without_effect, 8)),
            ("without", (!self.pcontrol).then(|| "MPI_Pcontrol".to_owned())),
            ("is", (self.place == Some("clone")).then(|| clone.to_owned())),
            ("shares", all(&self.share)),
            ("loaded with", all(&with)),
            ("calls of its own", own_calls.map(|word| format!("{word}: they go to the MPI library"))),
            ("large counts", (self.large_counts == "past").then(|| "past: calls go past it".to_owned())),
            ("sees", if_any(&self.shown_large_counts, 2).map(|names| format!("with int counts: {names}"))),
            (
                "sessions",
                (self.sessions == "world").then(|| "world: its MPI_Init is called for the first one".to_owned()),
            ),
            ("Fortran", (self.fortran == "past").then(|| "past: its C functions see no Fortran calls".to_owned())),
            ("can be", self.switch.map(|on| format!("switched off and on; it is {} at first", state(on)))),
            ("sees", self.filter.clone()),
            (
                "intercepts",
                unknown.map(|reason| format!("what it registers when it runs; edges do not show it: {reason}")),
            ),
        ];
        let settings = of_layer.into_iter().chain(variables).chain(others);
        let settings = settings.filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        settings.chain(self.advice.iter().map(|advice| format!("advice: {advice}"))).collect()
    }
}

fn text(report: &ListedStack) -> String {
    let rows = report.layers.iter();
    let rows = rows.map(|layer| (&*layer.label, layer.kind, file_or_name(&layer.path), layer.settings()));
    let mut text = stack(&rows.collect::<Vec<_>>());
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
    if !report.layers.is_empty() {
        let _ = writeln!(text, "{}", terminal::bold("edges"));
    }
    for CallEdge { from, to, language, functions } in &report.edges {
        let number = match language {
            Language::C => count(functions.len(), "function"),
            Language::Fortran => format!("{} in Fortran", count(functions.len(), "function")),
            Language::Other => count(functions.len(), "other function"),
        };
        let _ = writeln!(text, "  {from} -> {to}: {number}: {}", shortened(functions, 4));
    }
    if let Some(BlindSpots { program, calls, not_seen }) = &report.blind_spots {
        let heading = format!("{} calls {} of MPI; not seen", program.display(), count(calls.len(), "function"));
        let _ = writeln!(text, "{}", terminal::bold(&heading));
        for (label, functions) in not_seen {
            let _ = writeln!(text, "  by {label}: {}", count(functions.len(), "function"));
            text.push_str(&wrapped(functions, 6));
        }
    }
    for (name, layers) in &report.stacks {
        let heading = format!("stack {name}, for tools that open it (outermost first)");
        let _ = writeln!(text, "{}", terminal::bold(&heading));
        for layer in layers {
            let _ = writeln!(text, "      {}  {}", layer.label, file_or_name(&layer.path).display());
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
