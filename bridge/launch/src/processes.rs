//! Processes of a running job whose layers can be switched ([`qmpi_plan::control`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use qmpi_plan::control::{self, Control, LABEL, LAYERS, LEN, MAGIC, ON, Word};
use qmpi_plan::rank_from_env;
use serde::Serialize;

use crate::LaunchError;

/// Which processes of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessChoice {
    /// This process and all that descend from it: a rank, or a launcher with its ranks on this host.
    Of(u32),
    /// All of the user's on this host.
    All,
}

impl FromStr for ProcessChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(ProcessChoice::All),
            _ => {
                text.parse().map(ProcessChoice::Of).map_err(|_| "neither the number of a process nor `all`".to_owned())
            }
        }
    }
}

/// A process with layers that can be switched.
#[derive(Debug, Serialize)]
pub struct SwitchableProcess {
    /// Its number.
    pub pid: u32,
    /// Its rank, as its launcher told it.
    pub rank: Option<u32>,
    /// Its executable, or its name.
    pub program: String,
    /// Its layers, by number.
    pub layers: Vec<SwitchableLayer>,
    #[serde(skip)]
    file: File,
}

/// A layer that can be switched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwitchableLayer {
    /// Its number in the stack.
    pub tool_id: u32,
    /// Its label.
    pub label: String,
    /// Whether it is on.
    pub enabled: bool,
    /// Where its state is in the file.
    #[serde(skip)]
    place: u64,
}

impl SwitchableProcess {
    /// Switches a layer.
    ///
    /// # Errors
    /// [`LaunchError::Control`].
    pub fn set(&self, layer: &SwitchableLayer, enabled: bool) -> Result<(), LaunchError> {
        let write = |value: u32, place| {
            let written = self.file.write_all_at(&value.to_ne_bytes(), place);
            written.map_err(|source| LaunchError::Control(self.pid, source))
        };
        if enabled {
            return write(ON, layer.place);
        }
        // In this order: whoever sees the layer off has to see that one was.
        write(1, control::ACTIVE)?;
        write(control::OFF, layer.place)
    }
}

/// Finds the processes of a job that have layers which can be switched, by their numbers.
///
/// # Errors
/// [`LaunchError::NoProcess`], [`LaunchError::NothingToSwitch`], and [`LaunchError::Control`] for a process that cannot be looked into.
pub fn find(job: ProcessChoice) -> Result<Vec<SwitchableProcess>, LaunchError> {
    let pids: Vec<u32> = match job {
        ProcessChoice::All => parents().into_keys().collect(),
        ProcessChoice::Of(pid) => family(pid),
    };
    if let (ProcessChoice::Of(pid), []) = (job, pids.as_slice()) {
        return Err(LaunchError::NoProcess(pid));
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for pid in pids {
        match open(pid) {
            Ok(None) => {}
            Ok(Some((process, identity))) => {
                // A child by fork has the words of its parent.
                if seen.insert(identity) {
                    found.push(process);
                }
            }
            // Others are not the user's, or are gone by now.
            Err(source) if job == ProcessChoice::Of(pid) => return Err(LaunchError::Control(pid, source)),
            Err(_) => {}
        }
    }
    let of_which = match job {
        _ if !found.is_empty() => return Ok(found),
        ProcessChoice::Of(pid) => format!("neither process {pid} nor one below it"),
        ProcessChoice::All => "no process of this user on this host".to_owned(),
    };
    Err(LaunchError::NothingToSwitch(of_which))
}

/// The name of this host, as the kernel has it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The parent of each process on this host.
fn parents() -> BTreeMap<u32, u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// The parent of a process, while that is there and has not ended.
pub fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let has_ended = stat.rsplit_once(')')?.1.trim_start().starts_with(['Z', 'X']);
    if has_ended { None } else { parent(&stat) }
}

/// A process and all that descend from it.
pub fn family(first: u32) -> Vec<u32> {
    let parents = parents();
    parents.keys().copied().filter(|pid| descends(*pid, first, &parents)).collect()
}

/// The fourth word of a line of `/proc/PID/stat`; the second is the name in parentheses, in which anything may be.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn descends(pid: u32, first: u32, parents: &BTreeMap<u32, u32>) -> bool {
    // No process has so many ancestors; what was read at different times could be a circle.
    let mut line = std::iter::successors(Some(pid), |pid| parents.get(pid).copied()).take(parents.len());
    line.any(|pid| pid == first)
}

/// The process, if it has layers that can be switched, and which file says so.
fn open(pid: u32) -> io::Result<Option<(SwitchableProcess, (u64, u64))>> {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    for entry in fs::read_dir(directory.join("fd"))? {
        let path = entry?.path();
        // Descriptors come and go.
        if fs::read_link(&path).is_ok_and(|target| target == Path::new(control::LINK)) {
            let file = OpenOptions::new().read(true).write(true).open(&path)?;
            let metadata = file.metadata()?;
            let mut bytes = vec![0; LEN];
            let Some(mut layers) = file.read_exact_at(&mut bytes, 0).ok().and_then(|()| layers(&bytes)) else {
                continue;
            };
            layers.sort_by_key(|layer| layer.tool_id);
            let process = SwitchableProcess {
                pid,
                rank: environment(pid).and_then(|get| rank_from_env(&get)),
                program: program(&directory),
                layers,
                file,
            };
            return Ok(Some((process, (metadata.dev(), metadata.ino()))));
        }
    }
    Ok(None)
}

/// The layers in the contents of a file of [`control`]; `None` if that is another build's, or not complete yet.
fn layers(bytes: &[u8]) -> Option<Vec<SwitchableLayer>> {
    if bytes.len() < LEN || !bytes.starts_with(&MAGIC) {
        return None;
    }
    let word = |place: usize| Some(u32::from_ne_bytes(*bytes.get(place..)?.first_chunk()?));
    let count = usize::try_from(word(offset_of!(Control, count))?).ok()?.min(LAYERS);
    let layer = |index: usize| {
        let place = offset_of!(Control, layers) + index * size_of::<Word>();
        let label = bytes.get(place + offset_of!(Word, label)..)?.get(..LABEL)?;
        let label = label.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(SwitchableLayer {
            tool_id: word(place + offset_of!(Word, tool))?,
            label: String::from_utf8_lossy(label).into_owned(),
            enabled: word(place + offset_of!(Word, state))? == ON,
            place: (place + offset_of!(Word, state)) as u64,
        })
    };
    (0..count).map(layer).collect()
}

/// The variables that a process was started with; `None` if it is not there, or another user's.
pub fn environment(pid: u32) -> Option<impl Fn(&str) -> Option<OsString>> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(move |name: &str| {
        let mut variables = bytes.split(|byte| *byte == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsStr::from_bytes(value).to_owned())
    })
}

fn program(directory: &Path) -> String {
    let executable = fs::read_link(directory.join("exe")).map(|path| path.display().to_string());
    executable.or_else(|_| fs::read_to_string(directory.join("comm"))).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_descendants() {
        assert_eq!(parent("12 (a) b ) S 7 1 2"), Some(7));
        assert_eq!(parent("12"), None);
        let parents = BTreeMap::from([(1, 0), (2, 1), (3, 2), (4, 1), (8, 9), (9, 8)]);
        let of = |first| parents.keys().copied().filter(|pid| descends(*pid, first, &parents)).collect::<Vec<_>>();
        assert_eq!((of(2), of(1), of(3), of(5)), (vec![2, 3], vec![1, 2, 3, 4], vec![3], vec![]));
    }

    #[test]
    fn words_for_a_job() {
        assert_eq!("all".parse(), Ok(ProcessChoice::All));
        assert_eq!("12".parse(), Ok(ProcessChoice::Of(12)));
        assert!("-1".parse::<ProcessChoice>().is_err() && "al".parse::<ProcessChoice>().is_err());
    }

    #[test]
    fn processes_without_layers() {
        assert!(matches!(find(ProcessChoice::Of(std::process::id())), Err(LaunchError::NothingToSwitch(_))));
        assert!(matches!(find(ProcessChoice::Of(u32::MAX)), Err(LaunchError::NoProcess(u32::MAX))));
    }

    #[test]
    fn files_of_this_build_and_others() {
        assert_eq!((LEN, control::ACTIVE), (16 + 128 * 64, 12));
        let mut bytes = vec![0; LEN];
        assert_eq!(layers(&bytes), None);
        bytes[..8].copy_from_slice(&MAGIC);
        assert_eq!(layers(&bytes), Some(Vec::new()));
        bytes[8] = 2;
        bytes[16] = 1;
        bytes[20] = 3;
        bytes[24..28].copy_from_slice(b"mpiP");
        bytes[16 + 128 + 4] = 7;
        let layer =
            |tool_id, label: &str, enabled, place| SwitchableLayer { tool_id, label: label.into(), enabled, place };
        assert_eq!(layers(&bytes), Some(vec![layer(3, "mpiP", false, 16), layer(7, "", true, 144)]));
        bytes[8..12].fill(0xff);
        assert_eq!(layers(&bytes).map(|layers| layers.len()), Some(LAYERS));
        assert_eq!(layers(&bytes[..LEN - 1]), None);
        bytes[7] = b'2';
        assert_eq!(layers(&bytes), None);
    }
}
