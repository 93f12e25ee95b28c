//! `qmpi run --mpir`: starts the launcher, and shows its ranks to a debugger.
//!
//! One thread does all of it, so that a debugger that stops it has stopped all.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::LaunchError;
use crate::environment::EnvironmentVariable;
use crate::mpir::child::{self, Signals};
use crate::mpir::listener::{Listener, News, RankConnection};
use crate::mpir::symbols;
use crate::mpir::table::{MpirProcess, ProcessTable, RankReport};
use crate::mpir::target;
use crate::processes::{self, host_name};
use crate::warning::Warning;

/// After so long without a new rank, those that are missing are not waited for: a program without MPI among the ranks never reports.
const PATIENCE: Duration = Duration::from_secs(20);
/// From then on the launcher's own table is asked for what ranks have not told.
const LAUNCHERS_TURN: Duration = Duration::from_secs(5);
/// How often it is asked.
const TURNS: Duration = Duration::from_millis(250);

/// Starts a job, whose ranks report to the listener, and ends as it ends. `on_table` is told of each table, `on_warning` of what the user
/// should know.
///
/// # Errors
/// A job that cannot be started; [`LaunchError::Mpir`].
pub fn run(
    command: &[OsString],
    variables: &[EnvironmentVariable],
    listener: Listener,
    on_table: &mut dyn FnMut(&[&MpirProcess]),
    on_warning: &dyn Fn(&Warning),
) -> Result<std::convert::Infallible, LaunchError> {
    let (signals, child) = child::start(command, variables)?;
    let now = Instant::now();
    let mut starter = Starter {
        listener,
        connections: Vec::new(),
        table: ProcessTable::new(host_name(), processes::parent_of),
        on_table,
        on_warning,
        last: now,
        asked: now,
        launcher: child.id(),
        asks_launcher: true,
    };
    loop {
        starter.wait(&signals).map_err(LaunchError::Mpir)?;
        signals.pass_on(&child);
        if let Some(status) = child::look_at(&child) {
            child::end_as(status);
        }
        starter.hear();
        starter.show();
    }
}

struct Starter<'a> {
    listener: Listener,
    connections: Vec<RankConnection>,
    table: ProcessTable,
    on_table: &'a mut dyn FnMut(&[&MpirProcess]),
    on_warning: &'a dyn Fn(&Warning),
    /// When the last rank reported.
    last: Instant,
    /// When the launcher was last asked.
    asked: Instant,
    launcher: u32,
    /// Whether it may have a table.
    asks_launcher: bool,
}

impl Starter<'_> {
    /// Waits until something happens.
    fn wait(&self, signals: &Signals) -> io::Result<()> {
        let streams = self.connections.iter().map(RankConnection::descriptor);
        let descriptors = std::iter::once(signals.0.as_fd()).chain(self.listener.descriptors()).chain(streams);
        let mut descriptors: Vec<PollFd<'_>> =
            descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let may_ask = self.asks_launcher && self.table.is_empty();
        let is_idle = self.connections.is_empty() && !self.table.is_waiting() && !may_ask;
        let turn = Timespec { tv_sec: 0, tv_nsec: i64::try_from(TURNS.as_nanos()).unwrap_or(0) };
        match poll(&mut descriptors, (!is_idle).then_some(&turn)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Hears what ranks say.
    fn hear(&mut self) {
        self.listener.accept(&mut self.connections);
        for mut connection in std::mem::take(&mut self.connections) {
            match self.listener.read(&mut connection) {
                News::None => self.connections.push(connection),
                News::End => {}
                News::Rank(report) => {
                    self.last = Instant::now();
                    let is_rank = self.table.enter(report);
                    if is_rank && symbols::is_debugged() {
                        self.connections.push(connection);
                    } else {
                        connection.release();
                    }
                }
                News::Abort(report, code) => {
                    self.abort(&report, code);
                    connection.release();
                }
            }
        }
    }

    fn abort(&self, report: &RankReport, code: i32) {
        let MpirProcess { host, pid, .. } = &report.process;
        let who = self.table.rank(&report.process).map_or_else(|| "a process".into(), |rank| format!("rank {rank}"));
        symbols::abort(format!("{who} (process {pid} on {host}) called MPI_Abort with error code {code}"));
    }

    /// Shows the debugger what is new, and lets those go on that it knows.
    fn show(&mut self) {
        // Ranks that have not the runtime, or do not get here, are known to a launcher that has MPIR itself.
        let lacks_ranks = self.table.is_empty() || self.table.is_waiting();
        let is_turn = self.last.elapsed() > LAUNCHERS_TURN && self.asked.elapsed() > TURNS;
        if self.asks_launcher && lacks_ranks && is_turn {
            self.asked = Instant::now();
            match target::processes_of_launcher(self.launcher) {
                Some(processes) if processes.is_empty() => {}
                Some(processes) => self.table.complete_first(processes),
                None => self.asks_launcher = false,
            }
        }
        let is_late = self.table.is_waiting() && self.last.elapsed() > PATIENCE;
        if is_late && symbols::is_debugged() {
            let (size, there) = self.table.missing();
            let message = format!("{there} of {size} ranks have come to MPI: the others are not waited for");
            (self.on_warning)(&Warning::new(message, "ranks that come later are added to the table"));
        }
        if self.table.has_news() || is_late {
            let processes = self.table.publish(is_late);
            (self.on_table)(&processes);
            symbols::publish(&processes);
        }
        let table = &self.table;
        let is_held = |connection: &mut RankConnection| {
            connection.process.as_ref().is_none_or(|process| symbols::is_debugged() && !table.is_published(process))
        };
        for connection in self.connections.extract_if(.., |connection| !is_held(connection)) {
            connection.release();
        }
    }
}
