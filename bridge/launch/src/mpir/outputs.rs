//! What a command prints for each rank: equal outputs once, and back traces as one tree in which each frame has an owner.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use qmpi_elf::is_mpi_soname;

use crate::mapping::{self, Mapping};
use crate::mpir::backtrace::{self, BacktraceFrame, Tree};
use crate::mpir::process::RankProcess;

/// Finds out to what the frames of a rank belong, while its process is there.
#[derive(Debug)]
pub struct Owners<'a> {
    rank: &'a RankProcess,
    mappings: Vec<Mapping>,
}

impl Owners<'_> {
    /// Of a rank of this host.
    pub fn of(rank: &RankProcess) -> Owners<'_> {
        Owners { rank, mappings: mapping::of_files(rank.process.pid).unwrap_or_default() }
    }

    fn name(&self, frames: &mut [BacktraceFrame]) {
        for frame in frames {
            let at = |address| self.mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&address));
            let mapped = frame.address.and_then(at).map(|mapping| Path::new(&mapping.path));
            let library = Path::new(&frame.place);
            let paths = || self.mappings.iter().map(|mapping| Path::new(&mapping.path));
            // py-spy has the name of a library only.
            let named = || paths().find(|path| path.file_name() == library.file_name());
            if let Some(path) = mapped.or_else(|| library.is_absolute().then_some(library)).or_else(named) {
                frame.owner = self.owner(path);
            }
        }
    }

    /// Instances of one tool have one file: all of them are named.
    fn owner(&self, path: &Path) -> String {
        let same = |other: &Path| other == path || other.canonicalize().is_ok_and(|other| other == path);
        let layers = self.rank.layers.iter().flatten();
        let names: Vec<&str> =
            layers.filter(|layer| layer.path.as_deref().is_some_and(same)).map(|layer| layer.name.as_str()).collect();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match (names.is_empty(), file) {
            (false, _) => format!("layer {}", names.join(" or ")),
            _ if Path::new(&self.rank.process.executable) == path => "program".to_owned(),
            (_, "libqmpi.so" | "libqmpi_core.so" | "libqmpi_bridge.so" | "libqmpi_recorder.so") => "qmpi".to_owned(),
            _ if is_mpi_soname(file) => "MPI".to_owned(),
            _ => file.to_owned(),
        }
    }
}

/// What was printed for ranks.
#[derive(Debug, Default)]
pub struct RankOutputs {
    trees: Tree,
    texts: BTreeMap<String, BTreeSet<u32>>,
}

impl RankOutputs {
    /// Adds the output of a rank. What is in it of the rank alone (`{pid}`) is the same for all.
    pub fn add(&mut self, rank: &RankProcess, owners: &Owners<'_>, output: &str) {
        let mut threads = backtrace::read(output);
        if threads.is_empty() {
            let text = output.replace(&rank.process.pid.to_string(), "{pid}");
            self.texts.entry(text).or_default().insert(rank.rank);
            return;
        }
        for thread in &mut threads {
            owners.name(thread);
            self.trees.add(rank.rank, thread);
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        let mut text = self.trees.text();
        let mut groups: Vec<(&BTreeSet<u32>, &String)> = self.texts.iter().map(|(text, ranks)| (ranks, text)).collect();
        groups.sort();
        for (ranks, output) in groups {
            let _ = writeln!(text, "{}", backtrace::ranks(ranks));
            for line in output.lines() {
                let _ = writeln!(text, "{}", format!("  {line}").trim_end());
            }
        }
        text
    }
}
