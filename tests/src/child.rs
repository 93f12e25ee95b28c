//! A child process: what it prints, and the processor time that it and its own children take.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use wait4::Wait4;

/// What became of a child process.
pub struct Ended {
    /// All that it printed.
    pub stdout: String,
    /// All that it printed.
    pub stderr: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Processor time, user and system, with that of children that it has waited for. Other than the time on the clock it hardly
    /// depends on what else the machine does.
    pub cpu: Duration,
}

/// Runs a command to its end. Its stdin is a pipe that nobody writes to, and that stays open.
///
/// MPICH's launcher tells its proxy when stdin ends. The proxy of a job that fails at once may be gone by then: the launcher is
/// killed by SIGPIPE (status 141), also without a stack.
///
/// # Panics
/// When it cannot be started or waited for.
pub fn run(command: &mut Command) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = std::thread::scope(|scope| {
        let stderr = scope.spawn(|| text(stderr));
        (text(stdout), stderr.join().unwrap_or_default())
    });
    let ended = child.wait4().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    drop(stdin);
    Ended { stdout, stderr, status: ended.status, cpu: ended.rusage.utime + ended.rusage.stime }
}

fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What was read before an error counts.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
