//! gdb as a debugger that knows of MPI jobs nothing but MPIR: it does what the tool's workflow says ("MPIR Interface", pages "Workflow from
//! tool's side").

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;

/// What gdb and the job have printed.
#[derive(Debug)]
pub struct Session {
    /// Both together, in the order of time: what ranks print may stand in the middle of a line of gdb's.
    pub output: String,
    /// gdb alone.
    pub log: String,
}

/// Stands in the output where the debugger has looked at the table for a second, and lets ranks go on only then.
const HELD: &str = "the table was there for a second";

/// Starts the command, with MPIR_being_debugged set before it runs, and prints the table and why it stops, as often as it does.
const STARTS: &str = "set logging file LOG
set logging on
set pagination off
set confirm off
set width 0
set debuginfod enabled off
break MPIR_Breakpoint
starti
set var MPIR_being_debugged = 1
continue
print MPIR_debug_state
print MPIR_proctable_size
print MPIR_proctable[0]@MPIR_proctable_size
shell sleep 1; echo HELD
set var MPIR_debug_gate = 1
continue
while $_isvoid($_exitcode) && $_isvoid($_exitsignal)
print MPIR_debug_state
print MPIR_debug_abort_string
print MPIR_proctable[0]@MPIR_proctable_size
continue
end
";

/// Attaches to a starter that runs, reads the table, and lets it go on.
const ATTACHES: &str = "set pagination off
set width 0
set debuginfod enabled off
set var MPIR_being_debugged = 1
print MPIR_debug_state
print MPIR_proctable_size
print MPIR_proctable[0]@MPIR_proctable_size
set var MPIR_being_debugged = 0
detach
";

impl Session {
    /// Starts a command line in gdb. `directory` is the test's own.
    ///
    /// # Errors
    /// Of the script's file.
    pub fn start(directory: &Path, words: &[String], variables: &[(&str, String)]) -> std::io::Result<Session> {
        let script = directory.join("starts.gdb");
        let log = directory.join("gdb.log");
        std::fs::write(&script, STARTS.replace("HELD", HELD).replace("LOG", &log.display().to_string()))?;
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "120", "bash", "-c", "exec \"$@\" 2>&1", "gdb", "gdb", "-nx", "-batch", "-x"]);
        command.arg(&script).arg("--args").args(words);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let output = child::run(&mut command).stdout;
        Ok(Session { output, log: std::fs::read_to_string(&log).unwrap_or_default() })
    }

    /// Attaches gdb to a process.
    ///
    /// # Errors
    /// Of the script's file.
    pub fn attach(directory: &Path, pid: u32) -> std::io::Result<Session> {
        let script = directory.join("attaches.gdb");
        std::fs::write(&script, ATTACHES)?;
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "60", "gdb", "-nx", "-batch", "-p", &pid.to_string(), "-x"]).arg(&script);
        let ended = child::run(&mut command);
        let output = format!("{}{}", ended.stdout, ended.stderr);
        Ok(Session { log: output.clone(), output })
    }

    /// Each table that was printed: program and number of each rank.
    pub fn tables(&self) -> Vec<Vec<(PathBuf, u32)>> {
        let rows = |line: &str| -> Vec<(PathBuf, u32)> {
            let rows = line.split("executable_name = ").skip(1);
            let row = |row: &str| {
                let program = row.split('"').nth(1)?;
                let pid = row.split("pid = ").nth(1)?.split('}').next()?.parse().ok()?;
                Some((PathBuf::from(program), pid))
            };
            rows.filter_map(row).collect()
        };
        self.log.lines().filter(|line| line.contains("{host_name = ")).map(rows).collect()
    }

    /// The numbers of the processes of ranks 0, 1, ... as the program prints them behind MPI_Init.
    pub fn ranks(&self) -> Vec<u32> {
        ranks(&self.output)
    }

    /// Has no rank printed anything while the debugger looked at the table?
    pub fn was_held(&self) -> bool {
        let place = |text: &str| self.output.find(text);
        place(HELD).zip(place("rank 0 pid")).is_some_and(|(held, rank)| held < rank)
            && place(HELD).zip(place("rank 1 pid")).is_none_or(|(held, rank)| held < rank)
    }
}

/// The numbers of the processes of ranks 0, 1, ... in lines `rank 0 pid 4711`.
pub fn ranks(output: &str) -> Vec<u32> {
    let mut ranks: Vec<(u32, u32)> = output
        .lines()
        .filter_map(|line| {
            let mut words = line.split("rank ").nth(1)?.split(' ');
            let rank = words.next()?.parse().ok()?;
            (words.next()? == "pid").then_some(())?;
            Some((rank, words.next()?.trim().parse().ok()?))
        })
        .collect();
    ranks.sort_unstable();
    ranks.into_iter().map(|(_, pid)| pid).collect()
}
