//! The ranks of a job that runs: from the table of its launcher, else as the ranks below it show themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use qmpi_elf::is_mpi_soname;
use qmpi_plan::Element;
use serde::Serialize;

use crate::LaunchError;
use crate::mapping;
use crate::mpir::table::MpirProcess;
use crate::mpir::target::MpirTarget;
use crate::processes::{self, host_name};

/// A rank.
#[derive(Debug, Serialize)]
pub struct RankProcess {
    /// Its place in the table.
    pub rank: u32,
    /// Its process.
    #[serde(flatten)]
    pub process: MpirProcess,
    /// The layers of its stack, outermost first; `None` for a process of another host or user.
    pub layers: Option<Vec<RankLayer>>,
    /// Whether it runs on this host.
    #[serde(skip)]
    pub is_here: bool,
}

/// A layer of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RankLayer {
    /// Its name.
    pub name: String,
    /// Its file, where the list of tools has it.
    pub path: Option<PathBuf>,
}

/// The ranks of the job whose launcher, or a process above it, is `pid`.
///
/// # Errors
/// [`LaunchError::NoProcess`], [`LaunchError::Control`] for a process of another user, [`LaunchError::NoRanks`].
pub fn of_job(pid: u32) -> Result<Vec<RankProcess>, LaunchError> {
    if processes::parent_of(pid).is_none() {
        return Err(LaunchError::NoProcess(pid));
    }
    let mut without = BTreeSet::new();
    let own = MpirTarget::open(pid, &mut without).map_err(|source| LaunchError::Control(pid, source))?;
    let family: Vec<u32> = processes::family(pid).into_iter().filter(|other| *other != pid).collect();
    let others = family.iter().filter_map(|pid| MpirTarget::open(*pid, &mut without).ok()?);
    let table = own.into_iter().chain(others).map(|target| target.processes()).find(|table| !table.is_empty());
    let table = table.unwrap_or_else(|| by_environment(pid, &family));
    if table.is_empty() {
        return Err(LaunchError::NoRanks(pid));
    }
    Ok((0..).zip(&table).map(|(rank, process)| RankProcess::new(rank, process)).collect())
}

impl RankProcess {
    /// What is known of a process of the table.
    pub fn new(rank: u32, process: &MpirProcess) -> RankProcess {
        let is_here = is_here(process);
        let layers = if is_here { layers(process.pid) } else { None };
        RankProcess { rank, process: process.clone(), layers, is_here }
    }
}

/// Launchers write names in several ways: then the process is known by what it runs.
fn is_here(process: &MpirProcess) -> bool {
    let own = host_name();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    if process.host == "localhost" || short(&process.host) == short(&own) {
        return true;
    }
    let link = |name: &str| std::fs::read_link(format!("/proc/{}/{name}", process.pid));
    let (Ok(executable), Ok(directory)) = (link("exe"), link("cwd")) else { return false };
    directory.join(&process.executable).canonicalize().is_ok_and(|path| path == executable)
}

/// The ranks that a launcher without a table has started on this host: processes with MPI that it gave a rank.
fn by_environment(launcher: u32, family: &[u32]) -> Vec<MpirProcess> {
    let mut ranks = BTreeMap::new();
    for pid in family.iter().chain([&launcher]) {
        // A process without a launcher is a job of its own.
        let alone = || (*pid == launcher && ranks.is_empty()).then_some(0);
        let Some(rank) = processes::environment(*pid).and_then(|get| qmpi_plan::rank_from_env(&get)).or_else(alone)
        else {
            continue;
        };
        let maps = mapping::of_files(*pid).unwrap_or_default();
        let names = maps.iter().filter_map(|mapping| mapping.path.rsplit('/').next());
        if names.into_iter().any(is_mpi_soname) {
            let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            let process = MpirProcess { host: host_name(), pid: *pid, executable: executable.display().to_string() };
            ranks.entry(rank).or_insert(process);
        }
    }
    ranks.into_values().collect()
}

/// The stack of a process, by the environment that it was started with.
fn layers(pid: u32) -> Option<Vec<RankLayer>> {
    let list = processes::environment(pid)?(qmpi_plan::variable::TOOL_LIST).unwrap_or_default();
    let list = list.to_string_lossy().into_owned();
    let elements = list.split([',', ':']).filter_map(|element| Element::parse(element.trim()).ok());
    let layer = |element: Element| {
        let name = element.name();
        let path = match element {
            Element::Name(_) => None,
            Element::Path(path) | Element::Named(_, path) => Some(path),
        };
        RankLayer { name, path }
    };
    Some(elements.map(layer).collect())
}
