//! What the runtime says: one line, one `write(2)`, on stderr, prefixed `qmpi:`.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

pub use qmpi_plan::LogLevel;

/// Exit status of a process whose stack cannot be set up.
pub const SETUP_FAILED: i32 = 3;

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Warn as u8);

/// Whether this process speaks for the job: rank 0, or a process on its own.
static SPEAKER: AtomicBool = AtomicBool::new(true);

/// Of several ranks only the one that speaks says what holds for all of them.
pub fn set_speaker(speaks: bool) {
    SPEAKER.store(speaks, Ordering::Relaxed);
}

/// Prints a line that all ranks would print, once.
pub fn once(level: LogLevel, text: &str) {
    if SPEAKER.load(Ordering::Relaxed) {
        line(level, text);
    }
}

/// Lines above this level are dropped.
pub fn set_level(level: LogLevel) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Would a line of this level be printed?
pub fn is_enabled(level: LogLevel) -> bool {
    level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Prints a line, if its level is asked for.
pub fn line(level: LogLevel, text: &str) {
    if is_enabled(level) {
        write(text);
    }
}

/// Prints a line of level debug; its text is made only if that level is on.
pub fn debug(text: impl FnOnce() -> String) {
    if is_enabled(LogLevel::Debug) {
        once(LogLevel::Debug, &text());
    }
}

/// Warns of something that holds for all ranks.
pub fn warn(text: &str, hint: Option<&str>) {
    once(LogLevel::Warn, &format!("warning: {text}"));
    if let Some(hint) = hint {
        once(LogLevel::Warn, &format!("hint: {hint}"));
    }
}

/// Prints the reason and the hint, and ends the process before it can produce results without its tools.
///
/// What is wrong is mostly wrong on all ranks: the others give the one that speaks half a second, in which the launcher
/// ends the job. If it does not, the reason was their own.
pub fn fatal(reason: &str, hint: Option<&str>) -> ! {
    if !SPEAKER.load(Ordering::Relaxed) {
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    report_error(reason, hint);
    // `_exit`: destructors and exit handlers of half a stack must not run.
    #[expect(unsafe_code, reason = "_exit has no safe wrapper in std")]
    // SAFETY: no memory is touched; the process ends here.
    unsafe {
        libc::_exit(SETUP_FAILED)
    }
}

/// Prints an error and the hint that goes with it.
pub fn report_error(reason: &str, hint: Option<&str>) {
    line(LogLevel::Error, &format!("error: {reason}"));
    if let Some(hint) = hint {
        line(LogLevel::Error, &format!("hint: {hint}"));
    }
}

fn write(text: &str) {
    use std::io::Write;
    let line = format!("qmpi: {}\n", text.replace('\n', " "));
    // There is no reader left if stderr is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
