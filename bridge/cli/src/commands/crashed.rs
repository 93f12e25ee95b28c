//! `qmpi crashed`: `libqmpi_crash.so` starts it in a process that crashes.

use std::io::Write;

use crate::args::CrashedArgs;
use crate::crash::process::Process;
use crate::crash::text;

/// The status that says that there is nothing to report.
const NOT_MEANT: u8 = 4;
/// The status that says that there is no report, for whatever reason: then the process says in a line what it knows.
const FAILED: u8 = 5;

/// Writes the report to stderr, at once, so that those of several ranks stay apart. Returns the exit status.
#[must_use]
pub fn crashed(args: &CrashedArgs) -> u8 {
    let Ok((process, crash)) = Process::at(args.descriptor) else { return FAILED };
    let Some(text) = text::report(&process, &crash) else { return NOT_MEANT };
    if std::io::stderr().write_all(text.as_bytes()).is_ok() { 0 } else { FAILED }
}
