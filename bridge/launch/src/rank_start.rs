//! What a launcher starts in place of the program: its output goes to files of the rank, a tool is preloaded, and the program takes its place.
//!
//! Every launcher can be told to start a command; what its own options for output and variables are, and whether it keeps lines whole, is
//! another matter. Nothing of this is in the process of the program.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use qmpi_plan::preload::has_runtime;

use crate::LaunchError;
use crate::environment::preload::with_libraries;
use crate::processes::host_name;

/// The file of a directory that says which process on which host a rank was.
const PREFIX: &str = "process.";

/// How to start it.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RankStart {
    /// Where its output goes.
    #[arg(long)]
    pub to: PathBuf,
    /// A library to preload.
    #[arg(long)]
    pub preload: Vec<PathBuf>,
    /// NAME=VALUE
    #[arg(long)]
    pub variable: Vec<String>,
    /// The runtime stays.
    // Before these libraries.
    #[arg(long)]
    pub traced: bool,
    /// Output stays.
    // The command is not a rank, but starts them.
    #[arg(long)]
    pub whole: bool,
}

impl RankStart {
    /// The words in front of a program.
    pub fn words(&self, command: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec![command.into(), "compare-rank".into(), "--to".into(), self.to.clone().into()];
        words.extend(self.preload.iter().flat_map(|library| ["--preload".into(), library.into()]));
        words.extend(self.variable.iter().flat_map(|variable| ["--variable".into(), variable.into()]));
        words.extend(self.traced.then(|| "--traced".into()));
        words.extend(self.whole.then(|| "--whole".into()));
        words.push("--".into());
        words
    }

    /// Becomes `command`; returns only when that fails.
    ///
    /// # Errors
    /// Files that cannot be written, a program that cannot be started.
    pub fn become_program(&self, words: &[OsString]) -> Result<std::convert::Infallible, LaunchError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| LaunchError::RankFile(path, source)
        };
        let get = |name: &str| std::env::var_os(name);
        let rank = qmpi_plan::rank_from_env(&get).unwrap_or(0);
        if !self.whole {
            type Redirect = fn(&File) -> rustix::io::Result<()>;
            let streams: [(&str, Redirect); 2] = [
                ("stdout", |file| rustix::stdio::dup2_stdout(file)),
                ("stderr", |file| rustix::stdio::dup2_stderr(file)),
            ];
            for (name, redirect) in streams {
                let path = self.to.join(format!("{name}.{rank}"));
                let file = OpenOptions::new().create(true).append(true).open(&path).map_err(fail(&path))?;
                redirect(&file).map_err(|error| fail(&path)(error.into()))?;
            }
        }
        let path = self.to.join(format!("{PREFIX}{rank}"));
        std::fs::write(&path, format!("{} {}\n", std::process::id(), host_name())).map_err(fail(&path))?;
        let (program, rest) = words.split_first().ok_or(LaunchError::CommandNotFound(String::new()))?;
        let mut command = Command::new(program);
        command.args(rest);
        if !self.preload.is_empty() {
            command.env("LD_PRELOAD", preload(get("LD_PRELOAD").as_deref(), &self.preload, self.traced));
        }
        command.envs(self.variable.iter().filter_map(|variable| variable.split_once('=')));
        Err(LaunchError::of_start(program, command.exec()))
    }
}

/// `LD_PRELOAD` with these libraries behind what is there, but before an MPI library. Without `traced` the runtime goes.
fn preload(existing: Option<&OsStr>, libraries: &[PathBuf], traced: bool) -> OsString {
    let existing = existing.unwrap_or_default().to_string_lossy();
    let libraries: Vec<_> = libraries.iter().map(|library| library.to_string_lossy()).collect();
    let stays = |entry: &str| traced || !has_runtime(entry);
    with_libraries(&existing, stays, libraries.iter().map(|library| &**library)).into()
}

/// The processes that the ranks of a run were, and their hosts, as they said in the directory; this host among them.
pub fn processes_and_hosts(directory: &Path) -> (BTreeSet<u32>, BTreeSet<String>) {
    let (mut processes, mut hosts) = (BTreeSet::new(), BTreeSet::from([host_name()]));
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let text = if is_one { std::fs::read_to_string(entry.path()).unwrap_or_default() } else { String::new() };
        if let Some((process, host)) = text.trim().split_once(' ') {
            processes.extend(process.parse::<u32>());
            hosts.insert(host.to_owned());
        }
    }
    (processes, hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_goes_or_comes_first() {
        let value = |existing: &str, traced| {
            preload(Some(OsStr::new(existing)), &["/t/init.so".into(), "/t/tool.so".into()], traced)
        };
        assert_eq!(value("", false), "/t/init.so:/t/tool.so");
        assert_eq!(value("a.so:/q/libqmpi.so", false), "a.so:/t/init.so:/t/tool.so");
        assert_eq!(value("a.so:/q/libqmpi.so", true), "a.so:/q/libqmpi.so:/t/init.so:/t/tool.so");
        assert_eq!(value("a.so libmpi.so.40", true), "a.so:/t/init.so:/t/tool.so:libmpi.so.40");
    }

    #[test]
    fn what_ranks_leave() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("process.3"), "4711 node7\n").unwrap();
        std::fs::write(directory.path().join("stdout.3"), "1 2\n").unwrap();
        let (processes, hosts) = processes_and_hosts(directory.path());
        assert!(processes.contains(&4711) && hosts.contains("node7"));
        assert_eq!((processes.len(), hosts.len()), (1, 2));
    }
}
