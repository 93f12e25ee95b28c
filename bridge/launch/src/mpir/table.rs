//! Which process is which rank: what ranks tell of themselves becomes the table.
//!
//! A job has one MPI_COMM_WORLD and may get more by `MPI_Comm_spawn`; their processes stand behind each other, those of each in the order
//! of their ranks. Programs with MPI that ranks start are no ranks, although they inherit all that a launcher says of its rank.

use std::collections::BTreeMap;
use std::ffi::OsString;

use qmpi_mpir::message::Message;
use qmpi_plan::{SPAWNED_VARIABLE, WORLD_VARIABLES};
use serde::Serialize;

/// A process of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MpirProcess {
    /// Where it runs.
    pub host: String,
    /// Its number there.
    pub pid: u32,
    /// What it runs.
    pub executable: String,
}

/// What a process says of itself, in the terms of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankReport {
    /// The process.
    pub process: MpirProcess,
    rank: Option<u32>,
    size: Option<u32>,
    job: Option<String>,
}

impl RankReport {
    /// Reads a message; `pid` is the number that the kernel gives, where it does.
    pub fn new(message: &Message<'_>, pid: Option<u32>) -> RankReport {
        let get = |name: &str| message.variable(name).map(OsString::from);
        RankReport {
            process: MpirProcess {
                host: message.host.to_owned(),
                pid: pid.unwrap_or(message.pid.unsigned_abs()),
                executable: message.executable.to_owned(),
            },
            rank: qmpi_plan::rank_from_env(&get),
            size: qmpi_plan::size_from_env(&get),
            job: WORLD_VARIABLES
                .into_iter()
                .chain([SPAWNED_VARIABLE])
                .find_map(|name| message.variable(name))
                .map(str::to_owned),
        }
    }
}

/// The processes of one `MPI_COMM_WORLD`.
#[derive(Debug, Default)]
struct MpirWorld {
    job: Option<String>,
    size: u32,
    ranks: BTreeMap<u32, MpirProcess>,
    is_published: bool,
}

/// All of them.
#[derive(Debug)]
pub struct ProcessTable {
    worlds: Vec<MpirWorld>,
    /// The name of this host.
    host: String,
    /// The parent of a process of this host, while the process is there.
    parent_of: fn(u32) -> Option<u32>,
}

impl ProcessTable {
    /// An empty one, on the host of this name; `parent_of` is asked for the parents of its processes.
    pub fn new(host: String, parent_of: fn(u32) -> Option<u32>) -> Self {
        Self { worlds: Vec::new(), host, parent_of }
    }

    /// Is the process, which has reported, still there? Of other hosts nothing is known.
    fn is_alive(&self, process: &MpirProcess) -> bool {
        process.host != self.host || (self.parent_of)(process.pid).is_some()
    }

    /// Enters a process. Returns whether it is a rank.
    pub fn enter(&mut self, report: RankReport) -> bool {
        let RankReport { process, rank, size, job } = report;
        let is_same = |other: &MpirProcess| other.pid == process.pid && other.host == process.host;
        // By `exec`, a rank becomes another program.
        if let Some(entered) =
            self.worlds.iter_mut().flat_map(|world| world.ranks.values_mut()).find(|other| is_same(other))
        {
            *entered = process;
            return true;
        }
        // What a rank started is of its job, unless it says otherwise: a program without a launcher starts one to spawn others.
        let first = if process.host == self.host { (self.parent_of)(process.pid) } else { None };
        let ancestors: Vec<u32> = std::iter::successors(first, |pid| (self.parent_of)(*pid)).collect();
        let started = |other: &MpirProcess| other.host == process.host && ancestors.contains(&other.pid);
        if self.worlds.iter().filter(|world| world.job == job).any(|world| world.ranks.values().any(started)) {
            return false;
        }
        let number = rank.unwrap_or(0);
        let has_place = |world: &MpirWorld| {
            let is_free = world.ranks.get(&number).is_none_or(|other| !self.is_alive(other));
            rank.is_some() && world.job == job && is_free && world.size > number
        };
        if let Some(place) = self.worlds.iter().position(has_place) {
            let world = &mut self.worlds[place];
            world.is_published &= world.ranks.contains_key(&number);
            world.ranks.insert(number, process);
            return true;
        }
        let size = if rank.is_some() { size.unwrap_or(1).max(number + 1) } else { 1 };
        self.worlds.push(MpirWorld { job, size, ranks: BTreeMap::from([(number, process)]), is_published: false });
        true
    }

    /// Enters processes that only the launcher knows of: a rank that has told of itself is known better.
    pub fn complete_first(&mut self, processes: Vec<MpirProcess>) {
        if self.worlds.is_empty() {
            self.worlds.push(MpirWorld { size: u32::try_from(processes.len()).unwrap_or(0), ..MpirWorld::default() });
        }
        if let Some(world) = self.worlds.first_mut().filter(|world| world.size as usize == processes.len()) {
            for (rank, process) in (0..).zip(processes) {
                world.ranks.entry(rank).or_insert(process);
            }
        }
    }

    /// Is there a world that is complete, and that the debugger does not know?
    pub fn has_news(&self) -> bool {
        self.worlds.iter().any(|world| !world.is_published && world.is_complete())
    }

    /// Has no rank told of itself?
    pub fn is_empty(&self) -> bool {
        self.worlds.is_empty()
    }

    /// Does a world lack ranks?
    pub fn is_waiting(&self) -> bool {
        self.worlds.iter().any(MpirWorld::is_waiting)
    }

    /// The processes to be shown, which are now: of complete worlds, and of all if `all`.
    pub fn publish(&mut self, all: bool) -> Vec<&MpirProcess> {
        for world in &mut self.worlds {
            world.is_published |= all || world.is_complete();
        }
        self.worlds.iter().filter(|world| world.is_published).flat_map(|world| world.ranks.values()).collect()
    }

    /// Has the debugger been shown the process?
    pub fn is_published(&self, process: &MpirProcess) -> bool {
        let mut worlds = self.worlds.iter().filter(|world| world.is_published);
        worlds.any(|world| world.ranks.values().any(|other| other == process))
    }

    /// How many ranks there are, and how many have told of themselves, in worlds that lack some.
    pub fn missing(&self) -> (u32, usize) {
        let lacking = self.worlds.iter().filter(|world| world.is_waiting());
        lacking.fold((0, 0), |(size, there), world| (size + world.size, there + world.ranks.len()))
    }

    /// The number of a process in the table, for messages.
    pub fn rank(&self, process: &MpirProcess) -> Option<u32> {
        let mut ranks = self.worlds.iter().flat_map(|world| &world.ranks);
        ranks.find(|(_, other)| other.pid == process.pid && other.host == process.host).map(|(rank, _)| *rank)
    }
}

impl MpirWorld {
    fn is_complete(&self) -> bool {
        self.ranks.len() >= self.size as usize
    }

    fn is_waiting(&self) -> bool {
        !self.is_published && !self.is_complete()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes with numbers above 90 are gone; those above 50 were started by number 1.
    fn table() -> ProcessTable {
        ProcessTable::new("h".into(), |pid| match pid {
            0 | 90.. => None,
            51.. => Some(1),
            _ => Some(0),
        })
    }

    fn report(pid: u32, rank: Option<u32>, job: Option<&str>) -> RankReport {
        let process = MpirProcess { host: "h".into(), executable: "/x".into(), pid };
        RankReport { process, rank, size: rank.map(|_| 2), job: job.map(str::to_owned) }
    }

    fn pids(table: &mut ProcessTable) -> Vec<u32> {
        table.publish(false).iter().map(|process| process.pid).collect()
    }

    #[test]
    fn a_job_is_complete_with_its_last_rank() {
        let mut table = table();
        assert!(table.enter(report(2, Some(1), None)));
        assert!(!table.has_news() && table.is_waiting());
        assert!(table.enter(report(1, Some(0), None)));
        assert!(table.has_news() && !table.is_waiting());
        assert_eq!(pids(&mut table), [1, 2]);
        assert!(!table.has_news());
    }

    #[test]
    fn spawned_ranks_come_behind() {
        for job in [None, Some("spawned")] {
            let mut table = table();
            for (pid, rank, job) in [(1, 0, None), (2, 1, None), (4, 1, job), (3, 0, job), (5, 0, job), (6, 1, job)] {
                assert!(table.enter(report(pid, Some(rank), job)));
            }
            assert_eq!(pids(&mut table), [1, 2, 3, 4, 5, 6], "{job:?}");
        }
    }

    #[test]
    fn what_a_rank_starts_is_none() {
        let mut table = table();
        table.enter(report(1, Some(0), None));
        assert!(!table.enter(report(60, Some(0), None)));
        assert!(!table.enter(report(61, None, None)));
        table.enter(report(2, Some(1), None));
        assert_eq!(pids(&mut table), [1, 2]);
    }

    #[test]
    fn a_rank_that_is_gone_or_another_program_is_replaced() {
        let mut table = table();
        for (pid, rank) in [(95, 0), (2, 1), (3, 0), (3, 0)] {
            table.enter(report(pid, Some(rank), None));
        }
        assert_eq!(pids(&mut table), [3, 2]);
    }

    #[test]
    fn a_process_without_a_launcher_is_a_job() {
        let mut table = table();
        table.enter(report(7, None, None));
        table.enter(report(8, None, None));
        assert_eq!(pids(&mut table), [7, 8]);
    }

    #[test]
    fn the_launchers_table_fills_gaps() {
        let mut table = table();
        table.enter(report(2, Some(1), None));
        let process = |pid| MpirProcess { host: "l".into(), executable: "sh".into(), pid };
        table.complete_first(vec![process(11), process(12)]);
        assert_eq!(pids(&mut table), [11, 2]);
    }

    #[test]
    fn every_variable_of_the_rank_is_told() {
        let told: Vec<&str> = qmpi_plan::told_by_launchers().collect();
        for name in qmpi_plan::RANK_VARIABLES.iter().chain(&qmpi_plan::SIZE_VARIABLES).chain(&WORLD_VARIABLES) {
            assert!(told.contains(name), "{name}");
        }
        assert!(told.contains(&SPAWNED_VARIABLE), "{SPAWNED_VARIABLE}");
    }
}
