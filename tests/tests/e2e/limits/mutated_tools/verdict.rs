//! What "never worse" means for one mutant.
//!
//! | plain `LD_PRELOAD` | with libqmpi |
//! |---|---|
//! | the program ends well, and the tool is in it | the same lines of the program and of the tool |
//! | `ld.so` ignores the file, with a message | a refusal: one line that names the reason, and no program. Or the tool works |
//! | it ends in another way, or does not end | any end but a panic or an allocation that failed; in comparable time |

use std::time::Duration;

use qmpi_tests::{Outcome, job};

/// A process, and how long it took.
pub(super) struct Run {
    pub(super) outcome: Outcome,
    pub(super) elapsed: Duration,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With the lines of the program, and the tool in it.
    Well,
    /// With the lines of the program, and `ld.so` has left the tool out.
    Ignored,
    /// Before the program, with one line of libqmpi's that says why.
    Refused,
    /// Any other end.
    Badly,
    Hung,
}

/// What came of a mutant that is not worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Equal,
    IgnoredAndRefused,
    IgnoredAndWorks,
    BothFail,
    FailsAndRefused,
    FailsAndWorks,
    /// See `allowed.rs`.
    Chance,
    BeyondVersions,
    BehindTool,
    FortranToC,
    StaticTls,
    NoTool,
}

impl Class {
    pub(super) const ALL: [Class; 12] = [
        Class::Equal,
        Class::IgnoredAndRefused,
        Class::IgnoredAndWorks,
        Class::BothFail,
        Class::FailsAndRefused,
        Class::FailsAndWorks,
        Class::Chance,
        Class::BeyondVersions,
        Class::BehindTool,
        Class::FortranToC,
        Class::StaticTls,
        Class::NoTool,
    ];

    pub(super) fn text(self) -> &'static str {
        match self {
            Class::Equal => "work in both, with the same output",
            Class::IgnoredAndRefused => "ignored by ld.so, refused by libqmpi",
            Class::IgnoredAndWorks => "ignored by ld.so, work with libqmpi",
            Class::BothFail => "end the process in both",
            Class::FailsAndRefused => "end the process under LD_PRELOAD, refused by libqmpi",
            Class::FailsAndWorks => "end the process under LD_PRELOAD, work with libqmpi",
            Class::Chance => "differ from run to run, or between other libraries",
            Class::BeyondVersions => "let ld.so read behind its list of versions",
            Class::BehindTool => "let ld.so read behind the tool",
            Class::FortranToC => "lose a Fortran wrapper, and the C wrapper sees the call with libqmpi",
            Class::StaticTls => "need static TLS, for which `qmpi run` makes room",
            Class::NoTool => "intercept nothing, and are refused for that",
        }
    }
}

/// What both print with the sound tool.
pub(super) struct Sound {
    pub(super) plain: Vec<String>,
    pub(super) stacked: Vec<String>,
}

impl Run {
    pub(super) fn end(&self, right: &[&str]) -> End {
        let Outcome { stderr, status, stdout, .. } = &self.outcome;
        let has_lines = right.iter().all(|line| stdout.lines().any(|printed| printed == *line));
        let errors = self.outcome.said().iter().filter(|line| line.starts_with("qmpi: error: ")).count();
        match *status {
            0 if has_lines && stderr.contains("from LD_PRELOAD cannot be preloaded") => End::Ignored,
            0 if has_lines => End::Well,
            // timeout(1), and the limit of the processor's time: SIGXCPU.
            job::HUNG | 137 | 152 => End::Hung,
            1..128 if errors == 1 && !has_lines => End::Refused,
            _ => End::Badly,
        }
    }

    /// What was printed, without times: they differ from run to run.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.outcome.stdout.lines().map(without_times).collect();
        lines.sort_unstable();
        lines
    }
}

fn without_times(line: &str) -> String {
    let is_time = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let words = line.split_whitespace().map(|word| if is_time(word) { "TIME" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Is `stacked` no worse than `plain`?
///
/// # Errors
/// In which way it is.
pub(super) fn judge(right: &[&str], sound: &Sound, plain: &Run, stacked: &Run) -> Result<Class, String> {
    // The program's own 5 s are for a machine that is busy.
    if stacked.elapsed > plain.elapsed * 3 + Duration::from_secs(5) {
        return Err(format!("takes {:?} instead of {:?}", stacked.elapsed, plain.elapsed));
    }
    for own in ["panicked at", "memory allocation of"] {
        if stacked.outcome.stderr.contains(own) {
            return Err(format!("a failure of libqmpi's own: {own}"));
        }
    }
    match (plain.end(right), stacked.end(right)) {
        (End::Well, End::Well) => {
            let (is, wanted) = (stacked.lines(), plain.lines());
            // Where a namespace changes what a tool counts (docs/fortran.md), the change is that of the sound tool.
            if is == wanted || (wanted == sound.plain && is == sound.stacked) {
                return Ok(Class::Equal);
            }
            Err("does not print the same".into())
        }
        (End::Well, end) => Err(format!("works under LD_PRELOAD; here: {end:?}")),
        (End::Ignored, End::Refused) => Ok(Class::IgnoredAndRefused),
        (End::Ignored, End::Well) => Ok(Class::IgnoredAndWorks),
        (End::Ignored, end) => Err(format!("ignored under LD_PRELOAD; here: {end:?}")),
        (End::Hung, End::Hung) => Ok(Class::BothFail),
        (_, End::Hung) => Err("hangs".into()),
        (_, End::Refused) => Ok(Class::FailsAndRefused),
        (_, End::Well | End::Ignored) => Ok(Class::FailsAndWorks),
        (_, End::Badly) => Ok(Class::BothFail),
    }
}
