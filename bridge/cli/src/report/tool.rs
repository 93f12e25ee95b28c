//! What `qmpi inspect` says about a tool.

use std::fmt::Write;
use std::path::PathBuf;

use qmpi_abi::{FnId, classify};
use qmpi_elf::tool::wrapped::Wrapped;
use qmpi_elf::{Effect, ElfFile, Hazard, NextFunction, SearchPath, Tool, ToolKind, is_mpi_soname};
use serde::Serialize;

use crate::plan::manifest;
use crate::report::advice;
use crate::report::listing::{count, facts, if_any, wrapped};
use crate::report::standard::StandardReport;
use crate::terminal;

/// All findings, as they go into JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ToolReport {
    what: String,
    known_as: Option<&'static str>,
    #[serde(skip)]
    is_qmpi: bool,
    /// What it intercepts is only known then.
    registers_at_run_time: bool,
    /// The numberings that a QMPI tool is compiled with; a tool without one takes that of the MPICH that runs.
    numberings: Vec<String>,
    mpi: Option<&'static str>,
    mpi_evidence: Option<String>,
    intercepts: Vec<&'static str>,
    fortran_wrappers: Vec<String>,
    /// How old it is. Null for a tool that registers what it intercepts.
    standard: Option<StandardReport>,
    /// The functions that are not MPI's and that it wraps.
    wraps: Vec<WrappedReport>,
    /// How it gets the next function.
    way_down: &'static str,
    pmpi_imports: Vec<&'static str>,
    /// Procedures of Fortran that it calls under their profiling names.
    fortran_pmpi_imports: Vec<String>,
    mpi_calls: Vec<&'static str>,
    dlsym_names: Vec<String>,
    unknown_mpi: Vec<String>,
    data_imports: Vec<String>,
    defines_pcontrol: bool,
    passes_pcontrol_on: bool,
    /// Libraries that stand before it, as in a list in LD_PRELOAD.
    with: Vec<ObjectReport>,
    objects: Vec<ObjectReport>,
    shared: Vec<String>,
    missing: Vec<String>,
    undefined: Vec<String>,
    tls_bytes: u64,
    static_tls_bytes: u64,
    hazards: Vec<HazardReport>,
    advice: Vec<String>,
}

/// A library that each instance has to itself.
#[derive(Debug, Serialize)]
struct ObjectReport {
    name: String,
    path: PathBuf,
}

impl ObjectReport {
    fn new(object: &ElfFile) -> Self {
        Self { name: object.name().to_owned(), path: object.path().to_owned() }
    }
}

#[derive(Debug, Serialize)]
struct WrappedReport {
    name: String,
    /// What shows that it is a wrapper.
    evidence: &'static str,
    /// A library that the tool needs and that has the function; null where none has, and so a program may, or another of its libraries.
    library: Option<String>,
}

#[derive(Debug, Serialize)]
struct HazardReport {
    id: &'static str,
    effect: &'static str,
    text: String,
}

impl HazardReport {
    fn new(hazard: &Hazard) -> Self {
        let effect = match hazard.effect {
            Effect::Fatal => "fatal",
            Effect::Limited => "limited",
            Effect::Handled => "handled",
        };
        Self { id: hazard.id, effect, text: hazard.text.clone() }
    }
}

impl ToolReport {
    pub(crate) fn new(tool: &Tool, search: &SearchPath) -> Self {
        let names = |list: &[FnId]| list.iter().map(|id| id.name()).collect::<Vec<_>>();
        let manifest = manifest::find(tool.closure.root().path());
        let of_contents = tool.hazards_of_contents();
        let hazards = tool.hazards.iter().chain(&of_contents);
        Self {
            what: what(&tool.kind),
            known_as: manifest.map(|manifest| manifest.name.as_str()),
            registers_at_run_time: matches!(tool.kind, ToolKind::Qmpi | ToolKind::Thesis),
            is_qmpi: tool.kind == ToolKind::Qmpi,
            numberings: numberings(tool),
            mpi: tool.abi.map(|family| family.name()),
            mpi_evidence: tool.abi_evidence.as_ref().map(|abi| abi.evidence.clone()),
            intercepts: names(&tool.intercepts),
            fortran_wrappers: tool.fortran_wrappers.clone(),
            standard: (tool.kind == ToolKind::Pmpi).then(|| StandardReport::of(&tool.intercepts)),
            wraps: wraps(tool, search),
            way_down: next_function_name(tool.next_function),
            pmpi_imports: names(&tool.pmpi_imports),
            fortran_pmpi_imports: tool.fortran_imports.iter().filter(|name| is_profiling(name)).cloned().collect(),
            mpi_calls: names(&tool.mpi_calls),
            dlsym_names: tool.dlsym_names.clone(),
            unknown_mpi: tool.unknown_mpi.clone(),
            data_imports: tool.data_imports.clone(),
            defines_pcontrol: tool.defines_pcontrol,
            passes_pcontrol_on: tool.passes_pcontrol_on,
            with: tool.closure.before().iter().map(ObjectReport::new).collect(),
            objects: [tool.closure.root()].into_iter().chain(tool.closure.private()).map(ObjectReport::new).collect(),
            shared: tool.closure.stopped.clone(),
            missing: tool.closure.missing.iter().map(|missing| missing.name.clone()).collect(),
            undefined: tool.undefined_elsewhere.clone(),
            tls_bytes: tool.tls.map_or(0, |tls| tls.size),
            static_tls_bytes: tool.static_tls_bytes,
            hazards: hazards.map(HazardReport::new).collect(),
            advice: advice::of(tool)
                .into_iter()
                .chain(manifest.into_iter().flat_map(|manifest| manifest.advice.iter().cloned()))
                .collect(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let known_as = self.known_as.map_or_else(String::new, |name| format!(" ({name})"));
        let built_for = match (self.mpi, &self.mpi_evidence) {
            (Some(mpi), Some(evidence)) => format!("{mpi} ({evidence})"),
            _ => "any MPI: nothing ties it to one".to_owned(),
        };
        let numbers = match self.numberings.join(" and ") {
            known if known.is_empty() => "as in the MPICH that runs: it is compiled without qmpi.h".to_owned(),
            known => format!("functions as {known} does"),
        };
        let with: Vec<&str> = self.with.iter().map(|object| object.name.as_str()).collect();
        // The first object is the tool itself.
        let private: Vec<&str> = self.objects.iter().skip(1).map(|object| object.name.as_str()).collect();
        let no_libraries = || "no libraries".to_owned();
        let next =
            if self.passes_pcontrol_on { "the tool passes it on" } else { "the next layer gets it all the same" };
        let tls_bytes = count(self.tls_bytes as usize, "byte");
        let intercepts = if self.registers_at_run_time {
            "what it registers when it is loaded".to_owned()
        } else {
            let fortran = count(self.fortran_wrappers.len(), "Fortran name");
            format!("{}, {fortran}", count(self.intercepts.len(), "C function"))
        };
        let unknown = if_any(&self.unknown_mpi, 6);
        let is_of_c = !self.intercepts.is_empty() && self.fortran_wrappers.is_empty();
        let fortran =
            "its C functions see Fortran calls, on Open MPI too; with `fortran = \"past\"` in its section they do not";
        let mut text = facts([
            ("kind", Some(format!("{}{known_as}", self.what))),
            ("built for", Some(built_for)),
            ("goes on by", (!self.registers_at_run_time).then(|| self.next_function_text())),
            ("numbers", self.is_qmpi.then_some(numbers)),
            ("with", if_any(&with, with.len())),
            ("private", if_any(&private, 8).or_else(|| Some(no_libraries()))),
            ("shared", if_any(&self.shared, 8).or_else(|| Some(no_libraries()))),
            ("missing", if_any(&self.missing, self.missing.len())),
            ("unknown", unknown.map(|names| format!("{names} (not in the table of functions)"))),
            ("MPI data", if_any(&self.data_imports, 6)),
            ("Pcontrol", self.defines_pcontrol.then(|| format!("intercepted; {next}"))),
            (
                "TLS",
                (self.tls_bytes > 0)
                    .then(|| format!("{tls_bytes}; {} with its libraries in the static block", self.static_tls_bytes)),
            ),
            ("standard", self.standard.as_ref().map(StandardReport::text)),
            ("Fortran", is_of_c.then(|| fortran.to_owned())),
            ("intercepts", Some(intercepts)),
        ]);
        text.push_str(&wrapped(&self.intercepts, 13));
        text.push_str(&wrapped(&self.fortran_wrappers, 13));
        for (label, of_libraries, whose) in [
            ("wraps", true, "of its libraries"),
            ("exports", false, "besides: its own, or wrappers of a library that the program has"),
        ] {
            let group = self.wraps.iter().filter(|wrapped| wrapped.library.is_some() == of_libraries);
            let names: Vec<&str> = group.map(|wrapped| wrapped.name.as_str()).collect();
            if !names.is_empty() {
                text.push_str(&facts([(label, Some(format!("{} {whose}", count(names.len(), "function"))))]));
                text.push_str(&wrapped(&names, 13));
            }
        }
        self.findings(&mut text);
        text
    }

    fn next_function_text(&self) -> String {
        let ways = [
            ("PMPI_* imports", self.pmpi_imports.len(), "function"),
            ("pmpi_* imports of Fortran", self.fortran_pmpi_imports.len(), "function"),
            ("dlsym", self.dlsym_names.len(), "name"),
        ];
        let seen = ways.into_iter().filter(|(_, number, _)| *number > 0);
        let seen: Vec<String> = seen.map(|(way, number, noun)| format!("{way} ({})", count(number, noun))).collect();
        if seen.is_empty() { "no call of the next layer was seen".to_owned() } else { seen.join(" and ") }
    }

    fn findings(&self, text: &mut String) {
        let hazards = |effect| self.hazards.iter().filter(move |hazard| hazard.effect == effect);
        let of = |effect| hazards(effect).map(|hazard| &hazard.text).collect::<Vec<_>>();
        for (heading, found) in [
            (terminal::red("will not work"), of("fatal")),
            (terminal::yellow("works in part"), of("limited")),
            (terminal::bold("taken care of"), of("handled")),
            (terminal::bold("advice"), self.advice.iter().collect()),
        ] {
            if !found.is_empty() {
                let _ = writeln!(text, "  {heading}");
            }
            text.extend(found.into_iter().map(|finding| format!("    - {finding}\n")));
        }
    }
}

/// The functions that are not MPI's and that it wraps, with a library that has each.
fn wraps(tool: &Tool, search: &SearchPath) -> Vec<WrappedReport> {
    let root = tool.closure.root();
    let names = tool.closure.stopped.iter().filter(|name| !is_mpi_soname(name));
    let open = |name: &String| ElfFile::open_for(&search.find(name, root, &[])?, root.machine()).ok();
    let shared: Vec<ElfFile> = names.filter_map(open).collect();
    let libraries = || tool.closure.private().iter().chain(&shared);
    let library = |name: &str| libraries().find(|library| library.finds(name)).map(|library| library.name().to_owned());
    let report = |wrapped: &Wrapped| WrappedReport {
        name: wrapped.name.clone(),
        evidence: wrapped.evidence.name(),
        library: library(&wrapped.name),
    };
    tool.wrapped.iter().map(report).collect()
}

fn is_profiling(name: &str) -> bool {
    classify(name).is_some_and(|symbol| symbol.profiling)
}

/// What `qmpi.h` noted in the tool's files.
fn numberings(tool: &Tool) -> Vec<String> {
    let mut names = Vec::new();
    for note in tool.closure.objects.iter().flat_map(|object| object.numberings().unwrap_or_default()) {
        let name = note.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn what(kind: &ToolKind) -> String {
    match kind {
        ToolKind::Pmpi => "PMPI tool: loaded unmodified into a namespace of its own".to_owned(),
        ToolKind::Qmpi => "QMPI tool: registers itself when it is loaded".to_owned(),
        ToolKind::Thesis => "tool of the 2018 QMPI prototype (get_interceptions)".to_owned(),
        ToolKind::MpiLibrary => "MPI library".to_owned(),
        ToolKind::None { reason } => format!("not a tool: {reason}"),
    }
}

fn next_function_name(way: NextFunction) -> &'static str {
    match way {
        NextFunction::PmpiImports => "pmpi-imports",
        NextFunction::Dlsym => "dlsym",
        NextFunction::Both => "both",
        NextFunction::NoneSeen => "none-seen",
    }
}
