//! Does the stack reach every rank? Where it does not, nothing of ours may be in those processes, so the others say it.
//!
//! * The launcher's own host knows how it was called: from its command line and environment, which `/proc` shows to the ranks below
//!   it, follows what it keeps from ranks on other hosts. One rank there says so.
//! * A rank without a stack below a launcher with one has lost it on the way, and says so itself.
//!
//! No rank communicates for this. Only what is certain is said; a job on one host, or without a launcher, reads nothing.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use qmpi_plan::Launcher;
use qmpi_plan::launcher::{ENV_LIST_VARIABLE, Line};
use qmpi_plan::{preload, variable};
use qmpi_system::log;

/// How far above a rank its launcher may be: shells and debuggers stand between.
const GENERATIONS: usize = 8;

/// What Slurm, PBS and LSF set in a job.
const BATCH_JOBS: [&str; 4] = ["SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID"];

/// Looks at the launcher, if there is reason to, and says what is lost. `has_layers`: this rank has a stack.
pub(crate) fn check(has_layers: bool) {
    if has_layers && let Some(elsewhere) = ranks_elsewhere().filter(|_| is_first_of_its_host()) {
        lost_elsewhere(elsewhere);
    }
}

/// This rank was not asked for a stack. Was its launcher?
pub(crate) extern "C" fn report_lost_stack() {
    let Some(launcher) = world_size().and_then(|_| Ancestor::launcher()) else { return };
    let missing: Vec<&str> = [variable::TOOL_LIST, variable::CONFIG]
        .into_iter()
        .filter(|name| launcher.get(name).is_some_and(|value| !value.is_empty()))
        .collect();
    if launcher.has_runtime() && !missing.is_empty() {
        let missing = missing.join(", ");
        let rank = qmpi_plan::rank_from_env(&get).map_or_else(|| "this rank".into(), |rank| format!("rank {rank}"));
        log::report_error(
            &format!("{rank} runs without its stack: its launcher has {missing}, which got lost on the way"),
            Some(&format!("pass {missing} on to the program, or take LD_PRELOAD away too")),
        );
    }
}

fn lost_elsewhere(ranks: u32) {
    let Some(launcher) = Ancestor::launcher() else { return };
    // Whoever sets the variables between the launcher and the program does so on the other hosts too.
    if !launcher.has_runtime() || launcher.is_uncertain() {
        return;
    }
    // A tool may have taken LD_PRELOAD out of this rank's environment by now.
    let names: Vec<&str> =
        [preload::VARIABLE].into_iter().chain(variable::ALL.into_iter().filter(|name| launcher.gave(name))).collect();
    // Open MPI tells ranks its list also where it stands in a file.
    let get = |name: &str| if name == ENV_LIST_VARIABLE { get(name) } else { launcher.get(name) };
    let line = Line { launcher: launcher.kind, args: &launcher.args, get: &get };
    let dropped = line.dropped(&names);
    if dropped.is_empty() {
        return;
    }
    let what =
        if dropped.contains(&preload::VARIABLE) { "the stack does not reach" } else { "not all of the stack reaches" };
    let (size, name) = (world_size().unwrap_or(ranks), launcher.kind.name());
    log::report_error(
        &format!("{what} {ranks} of {size} ranks, on other hosts: {name} does not pass {} on", dropped.join(", ")),
        Some(&format!("put `qmpi run` directly before the launcher, or pass {}", launcher.kind.advice(&names))),
    );
}

/// A process above this one, as `/proc` shows it.
struct Ancestor {
    kind: Launcher,
    args: Vec<String>,
    environment: HashMap<OsString, OsString>,
}

impl Ancestor {
    /// The launcher of this job, if it runs on this host and lets itself be looked at.
    fn launcher() -> Option<Ancestor> {
        let mut process = std::os::unix::process::parent_id();
        for _ in 0..GENERATIONS {
            let name = name(process)?;
            match name.as_str() {
                // What starts ranks on another host, or seems to.
                "orted" | "prted" => return None,
                "hydra_pmi_proxy" => {
                    let launcher = parent(process)?;
                    // On another host it is a remote shell.
                    let is_it = self::name(launcher)?.starts_with("mpi");
                    return is_it.then(|| Ancestor::read(launcher, Launcher::Hydra)).flatten();
                }
                _ => {}
            }
            if let Some(kind) = Launcher::of_file_name(&name) {
                return Ancestor::read(process, kind);
            }
            process = parent(process)?;
        }
        None
    }

    fn read(process: u32, kind: Launcher) -> Option<Ancestor> {
        let bytes = |file: &str| std::fs::read(format!("/proc/{process}/{file}")).ok();
        let (args, environment) = (bytes("cmdline")?, bytes("environ")?);
        let args = args.split(|byte| *byte == 0).skip(1).map(|word| String::from_utf8_lossy(word).into_owned());
        let variable = |word: &[u8]| {
            let equals = word.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (word[..equals].to_vec(), word[equals + 1..].to_vec());
            Some((OsString::from_vec(name), OsString::from_vec(value)))
        };
        let environment = environment.split(|byte| *byte == 0).filter_map(variable).collect();
        Some(Ancestor { kind, args: args.collect(), environment })
    }

    fn get(&self, name: &str) -> Option<OsString> {
        self.environment.get(OsStr::new(name)).cloned()
    }

    fn has_runtime(&self) -> bool {
        self.get(preload::VARIABLE).is_some_and(|value| preload::has_runtime(&value.to_string_lossy()))
    }

    /// Whether this rank has the variable from there.
    fn gave(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| get(name) == Some(value))
    }

    /// Files that say more, `qmpi run` behind the launcher, or a batch system that starts its daemons with the whole environment.
    fn is_uncertain(&self) -> bool {
        let says_more = |word: &String| {
            let is_file_option = matches!(word.trim_start_matches('-'), "tune" | "am" | "amca" | "app" | "configfile");
            (word.starts_with('-') && is_file_option) || word.rsplit('/').next() == Some("qmpi")
        };
        BATCH_JOBS.iter().any(|name| self.get(name).is_some()) || self.args.iter().any(says_more)
    }
}

/// The name of the file that a process runs.
fn name(process: u32) -> Option<String> {
    let file = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
    Some(Path::new(&file).file_name()?.to_str()?.to_owned())
}

fn parent(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    (parent > 0).then_some(parent)
}

fn get(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn number(names: [&str; 2]) -> Option<u32> {
    names.iter().find_map(|name| get(name)?.to_str()?.parse().ok())
}

pub(crate) fn world_size() -> Option<u32> {
    number(["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
}

/// How many ranks are on other hosts, unless none is.
fn ranks_elsewhere() -> Option<u32> {
    let here = number(["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"])?;
    world_size()?.checked_sub(here).filter(|elsewhere| *elsewhere > 0)
}

fn is_first_of_its_host() -> bool {
    number(["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"]) == Some(0)
}
