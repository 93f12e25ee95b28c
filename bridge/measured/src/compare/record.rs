//! Calls that a run recorded one by one, as rows of tokens that can be compared between runs.
//!
//! What differs from run to run by its nature is left out: addresses of buffers, and handles whose making is not known. A handle that is
//! known is named after the call that made it; where a layer made it, after the layer's place, since the layer's name is another one on each
//! side.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use qmpi_abi::{FnId, parameters};
use qmpi_elf::mpi::abi_family::{self, Role};
use regex::Regex;

use crate::compare::sends::Sends;
use crate::compare::token::{Item, Pool};
use crate::trace::{Argument, Decoded, RecordedCall, Recording, Site};

/// What is known of the tools of a side.
#[derive(Debug, Clone, Default)]
pub struct ToolsOfSide {
    /// Their files, and those that are loaded with them.
    pub files: Vec<PathBuf>,
    /// Calls that the program makes in Fortran do not count. Those that come to a tool's wrapper in Fortran are seen where the tool is a layer,
    /// and not where it is preloaded.
    pub without_fortran: bool,
}

/// Who makes a call that is inside of no other, if it is not the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherCaller {
    /// A constructor, a thread or a wrapper in Fortran of a tool: no layer is under way then, and the call looks like the program's.
    Tool,
    /// MPI's library for C++, as it is loaded and unloaded: a preloaded tool brings it with the program, a layer later. Whether MPI is initialized
    /// it asks by a function that is compiled into the tool as well.
    Bindings,
    /// MPI's library for Fortran.
    Fortran,
}

/// The calls that are not the program's.
#[derive(Debug)]
pub(super) struct Origins {
    /// By thread and number, those inside of such a call as well.
    others: BTreeMap<(u32, u64), OtherCaller>,
    /// The place of the MPI library.
    mpi: usize,
}

impl Origins {
    pub(super) fn of(recording: &Recording<'_>, tools: &ToolsOfSide) -> Self {
        let of_program = || recording.outlines().filter(|call| call.caller == 0);
        let named = |call: &RecordedCall, names: &[&str]| names.contains(&call.function.name());
        let is_first = |call: &RecordedCall| named(call, &["MPI_Init", "MPI_Init_thread", "MPI_Session_init"]);
        let is_last = |call: &RecordedCall| named(call, &["MPI_Finalize", "MPI_Session_finalize"]);
        let first = of_program().find(is_first).map(|call| call.start_ns);
        let last = of_program().filter(is_last).last().map(|call| call.start_ns);
        let is_outside = |call: &RecordedCall| {
            first.is_none_or(|first| call.start_ns < first) || last.is_some_and(|last| call.start_ns > last)
        };
        let origin = |call: &RecordedCall| {
            let object = call.site.as_ref().map(|site| &*site.object)?;
            let name = object.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            match abi_family::role_of(&name) {
                Some(Role::Cxx) if is_outside(call) => Some(OtherCaller::Bindings),
                _ if tools.files.iter().any(|file| is_same(file, object)) => {
                    let asks = named(call, &["MPI_Initialized", "MPI_Finalized"]) && is_outside(call);
                    Some(if asks { OtherCaller::Bindings } else { OtherCaller::Tool })
                }
                // Calls in Fortran enter a stack in the core.
                role if tools.without_fortran && (role == Some(Role::Fortran) || name == CORE) => {
                    Some(OtherCaller::Fortran)
                }
                _ => None,
            }
        };
        let (mut others, mut of_thread) = (BTreeMap::new(), BTreeMap::new());
        for call in recording.outlines() {
            if call.depth == 0 {
                of_thread.insert(call.thread, origin(&call));
            }
            let of_outer = of_thread.get(&call.thread).copied().flatten();
            others.extend(of_outer.map(|origin| ((call.thread, call.sequence), origin)));
        }
        Self { others, mpi: recording.mpi() }
    }

    fn origin(&self, call: &RecordedCall) -> Option<OtherCaller> {
        self.others.get(&(call.thread, call.sequence)).copied()
    }

    /// Does the program make this call?
    pub(super) fn is_of_program(&self, call: &RecordedCall) -> bool {
        call.caller == 0 && self.origin(call).is_none()
    }

    /// Does the call count on each edge?
    fn counts_on(&self, call: &RecordedCall) -> [bool; 2] {
        let arrives = self.origin(call).is_none_or(|origin| origin == OtherCaller::Tool);
        [self.is_of_program(call), call.layer == self.mpi && arrives]
    }

    /// Does the program call MPI, in whichever language?
    pub(super) fn has_calls(&self, recording: &Recording<'_>) -> bool {
        self.has_fortran() || recording.outlines().any(|call| self.is_of_program(&call))
    }

    /// Are there calls in Fortran that do not count?
    pub(super) fn has_fortran(&self) -> bool {
        self.others.values().any(|origin| *origin == OtherCaller::Fortran)
    }

    /// How many calls of each function do not count on each edge.
    pub(super) fn left_out(&self, recording: &Recording<'_>) -> [BTreeMap<&'static str, u64>; 2] {
        let mut left_out = [BTreeMap::new(), BTreeMap::new()];
        for call in recording.outlines() {
            let [counts_in, counts_out] = self.counts_on(&call);
            let is_left_out = [call.caller == 0 && !counts_in, call.layer == self.mpi && !counts_out];
            for (edge, _) in left_out.iter_mut().zip(is_left_out).filter(|(_, is_left_out)| *is_left_out) {
                *edge.entry(call.function.name()).or_default() += 1;
            }
        }
        left_out
    }
}

/// The library in which calls in Fortran enter a stack.
const CORE: &str = "libqmpi_core.so";

fn is_same(file: &Path, other: &Path) -> bool {
    let is_one = || Some(file.canonicalize().ok()? == other.canonicalize().ok()?);
    file == other || file.file_name() == other.file_name() && is_one().unwrap_or(false)
}

/// The calls of a rank through each edge, by thread.
pub(super) fn threads(recording: &Recording<'_>, origins: &Origins, pool: &mut Pool) -> [Vec<Vec<Arc<Item>>>; 2] {
    let count = recording.outlines().map(|call| call.thread as usize + 1).max().unwrap_or(0);
    let mut edges = [(); 2].map(|()| vec![Vec::new(); count]);
    // What a tool calls, it calls in a call of the program.
    let mut sites: BTreeMap<u32, Option<Site>> = BTreeMap::new();
    let mut sends = Sends::default();
    for call in recording.calls().take(whole(recording)) {
        if call.depth == 0 {
            sites.insert(call.thread, call.site.clone());
        }
        let counts = origins.counts_on(&call);
        if counts.contains(&true) {
            let site = sites.get(&call.thread).and_then(Option::as_ref);
            let item = item(&call, site, recording.layers(), &sends, pool);
            for (threads, _) in edges.iter_mut().zip(counts).filter(|(_, counts)| *counts) {
                threads[call.thread as usize].push(Arc::clone(&item));
            }
        }
        sends.note(&call);
    }
    edges.iter_mut().flatten().for_each(Vec::shrink_to_fit);
    edges
}

/// A request, with the layer that made it and the thread.
static REQUEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(?:tool [0-9]+:)?request#[0-9]*(?:@t[0-9]*)?").expect("a pattern"));

/// The text of a token in which all requests are one.
pub(super) fn without_requests(token: &str) -> Cow<'_, str> {
    REQUEST.replace_all(token, "request")
}

/// Requests that arrive at MPI and are never completed, by the function that made them; `None` if calls are missing.
pub(super) fn leaked(recording: &Recording<'_>) -> Option<BTreeMap<String, u64>> {
    if recording.file.head.lost != Some(0) || recording.is_cut() {
        return None;
    }
    let mpi = recording.mpi();
    let mut open: BTreeMap<String, &str> = BTreeMap::new();
    let has_requests =
        |function: FnId| function.parameters().iter().any(|parameter| parameter.kind == parameters::Kind::Request);
    for call in recording.calls_that(|layer, function| layer == mpi && has_requests(function)) {
        for argument in call.arguments.iter().filter(|argument| argument.kind == parameters::Kind::Request) {
            let before = argument.before.iter().flat_map(Decoded::elements);
            let after: Vec<&Decoded> = argument.after.iter().flat_map(Decoded::elements).collect();
            if argument.before.is_none() {
                open.extend(after.iter().filter_map(|value| Some((named(value)?.to_owned(), call.function.name()))));
            }
            for (place, value) in before.enumerate() {
                let is_gone = after.get(place).is_some_and(|after| matches!(after, Decoded::Constant(_)));
                if let Some(name) = named(value).filter(|_| is_gone) {
                    open.remove(name);
                }
            }
        }
    }
    let mut leaked = BTreeMap::new();
    open.values().for_each(|function| *leaked.entry((*function).to_owned()).or_default() += 1);
    Some(leaked)
}

fn named(value: &Decoded) -> Option<&str> {
    match value {
        Decoded::Object(name) => Some(name),
        _ => None,
    }
}

/// How many calls there are up to the moment from which on some are missing: a layer has no more of a thread than the limit says.
fn whole(recording: &Recording<'_>) -> usize {
    let limit = recording.file.head.calls.strip_prefix("first:");
    let limit = limit.and_then(|limit| limit.parse::<usize>().ok()).unwrap_or(usize::MAX);
    let mut counts: BTreeMap<(u32, usize), usize> = BTreeMap::new();
    let is_beyond = recording.is_cut();
    let end = recording.outlines().position(|call| {
        let count = counts.entry((call.thread, call.layer)).or_default();
        *count += 1;
        is_beyond && *count >= limit
    });
    end.unwrap_or(usize::MAX)
}

fn item(call: &RecordedCall, site: Option<&Site>, layers: &[String], sends: &Sends, pool: &mut Pool) -> Arc<Item> {
    let shown = |argument: &Argument| {
        let after = sends.defined(call, argument);
        token(argument, after.as_ref().or(argument.after.as_ref()), layers)
    };
    let mut tokens: Vec<String> = call.arguments.iter().map(shown).collect();
    tokens.push(match (&call.result, call.duration_ns) {
        (Some(result), _) => format!("= {}", lasting(result, layers)),
        (None, Some(_)) => String::new(),
        (None, None) => "and does not return".to_owned(),
    });
    pool.call(call.function.name(), &tokens, site)
}

fn token(argument: &Argument, after: Option<&Decoded>, layers: &[String]) -> String {
    let shown = |what: &Decoded| lasting(what, layers);
    let name = argument.name;
    match (&argument.before, after) {
        (Some(before), Some(after)) if before != after => format!("{name}={} → {}", shown(before), shown(after)),
        (before, after) => format!("{name}={}", shown(before.as_ref().or(after).unwrap_or(&argument.value))),
    }
}

/// A value without what is another one in each run.
fn lasting(what: &Decoded, layers: &[String]) -> Decoded {
    match what {
        Decoded::Address(0) => Decoded::Constant("NULL".to_owned()),
        Decoded::Address(_) => Decoded::Constant("address".to_owned()),
        Decoded::Handle(_) => Decoded::Constant("handle".to_owned()),
        Decoded::Object(name) => Decoded::Object(object(name, layers)),
        Decoded::List { known, all } => {
            Decoded::List { known: known.iter().map(|element| lasting(element, layers)).collect(), all: *all }
        }
        other => other.clone(),
    }
}

/// `outer:comm#1` as `tool 1:comm#1`.
fn object(name: &str, layers: &[String]) -> String {
    let of_layer = |(place, label): (usize, &String)| {
        let rest = name.strip_prefix(label.as_str())?.strip_prefix(':')?;
        Some(format!("tool {place}:{rest}"))
    };
    layers.iter().enumerate().skip(1).find_map(of_layer).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_one() {
        assert_eq!(without_requests("request=tool 1:request#12 → x"), "request=request → x");
        assert_eq!(without_requests("[request#1, request#2@t3], tool 2"), "[request, request], tool 2");
    }

    #[test]
    fn names_of_layers_do_not_matter() {
        let layers = ["program", "a.so (program)", "MPI"].map(str::to_owned);
        assert_eq!(object("a.so (program):comm#2", &layers), "tool 1:comm#2");
        assert_eq!(object("comm#1", &layers), "comm#1");
        let list = Decoded::List { known: vec![Decoded::Address(7), Decoded::Number(3), Decoded::Handle(9)], all: 5 };
        assert_eq!(lasting(&list, &layers).to_string(), "[address, 3, handle, ... 2 more]");
    }
}
