//! How a command that this one started has ended, and the wait for it.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It was ended, as it took too long.
    TookTooLong,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "exit status {status}"),
            Self::Killed(signal) => write!(f, "signal {signal}"),
            Self::TookTooLong => write!(f, "it did not end"),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Killed(signal.unwrap_or(0)),
        }
    }
}

/// Waits for its end. Once it has run longer than `within`, `end` is to end it, and is told again and again by how much it is late.
///
/// # Errors
/// Of the wait, and of `end`.
pub fn wait(
    child: &mut Child,
    within: Option<Duration>,
    mut end: impl FnMut(&mut Child, Duration) -> io::Result<()>,
) -> io::Result<Ended> {
    let began = Instant::now();
    let mut is_late = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if is_late { Ended::TookTooLong } else { status.into() });
        }
        if let Some(late) = within.and_then(|within| began.elapsed().checked_sub(within)) {
            is_late = true;
            end(child, late)?;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
