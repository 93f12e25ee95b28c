//! What differs in every run, replaced: times, process ids, addresses, host names, directories, and what the user names.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::MeasuredError;

/// Numbers of seconds since 1970 that are taken for a moment of the comparison: so far from now.
const DAY: u64 = 24 * 60 * 60;

/// The rules that hold for all runs.
#[derive(Debug)]
pub struct Masks {
    patterns: Vec<(Regex, &'static str)>,
    now: u64,
}

/// What is known of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// Process ids of its ranks.
    pub processes: BTreeSet<u32>,
    /// Names of its hosts.
    pub hosts: BTreeSet<String>,
}

/// No comma or bracket ends a name of a file, though a sentence may have one behind it.
const FILE: &str = r#"[^\s"'`:;,()\[\]<>]+"#;

static DIGITS: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]+").expect("a pattern"));

impl Masks {
    /// The user's patterns, then paths, then what is masked always.
    ///
    /// # Errors
    /// [`MeasuredError::Mask`] for a pattern that is none.
    pub fn new(users: &[String], paths: &[(&Path, &'static str)]) -> Result<Self, MeasuredError> {
        let mut patterns = Vec::new();
        for pattern in users {
            let error = |error: regex::Error| {
                let text = error.to_string();
                let problem = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                MeasuredError::Mask { pattern: pattern.clone(), problem }
            };
            patterns.push((Regex::new(pattern).map_err(error)?, "<mask>"));
        }
        for (path, mask) in paths.iter().filter(|(path, _)| !path.as_os_str().is_empty()) {
            patterns.extend(Regex::new(&regex::escape(&path.to_string_lossy())).ok().map(|regex| (regex, *mask)));
        }
        let temporary = std::env::temp_dir();
        let temporary = regex::escape(temporary.to_string_lossy().trim_end_matches('/'));
        const MONTH: &str = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*";
        const CLOCK: &str = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M\b)?";
        let always = [
            (format!("(?:{temporary}|/tmp|/var/tmp|/dev/shm)/{FILE}"), "<temporary>"),
            (r"\b0x[0-9a-fA-F]{4,}\b".to_owned(), "<address>"),
            (format!(r"\b\d{{4}}[-/.]\d\d[-/.]\d\d(?:[T _]?{CLOCK}|[-_]\d{{4,6}}\b)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
            (
                format!(
                    r"(?:\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?\b{MONTH} +\d{{1,2}},?(?: {CLOCK})?(?: [A-Z]{{3,4}})?(?: \d{{4}})?\b"
                ),
                "<time>",
            ),
            (CLOCK.to_owned(), "<time>"),
            (
                r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)? ?(?:ns|nsecs?|us|µs|usecs?|ms|msecs?|s|secs?|seconds?|minutes?|hours?)\b".to_owned(),
                "<time>",
            ),
        ];
        for (pattern, mask) in always {
            patterns.extend(Regex::new(&pattern).ok().map(|regex| (regex, mask)));
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(Self { patterns, now: now.map_or(0, |now| now.as_secs()) })
    }

    /// The text of one run without what differs in every run.
    pub fn apply(&self, text: &str, known: &RunFacts) -> String {
        let mut text = text.to_owned();
        for (regex, mask) in &self.patterns {
            if let std::borrow::Cow::Owned(masked) = regex.replace_all(&text, regex::NoExpand(mask)) {
                text = masked;
            }
        }
        // Short names are words of other meanings, too.
        for host in known.hosts.iter().filter(|host| host.len() > 2) {
            text = text.replace(host.as_str(), "<host>");
        }
        self.numbers(&text, known)
    }

    /// Replaces process ids and moments, which are rows of digits with nothing else around them that makes them another number.
    fn numbers(&self, text: &str, known: &RunFacts) -> String {
        let mask = |found: &regex::Captures<'_>| {
            let number = found.get_match();
            let is_in_word = text[..number.start()].ends_with(char::is_alphabetic);
            match number.as_str().parse::<u64>() {
                Ok(value) if value.abs_diff(self.now) < DAY => "<time>".to_owned(),
                // Numbers below 100 mean so much else that they are not taken for a process id.
                Ok(value @ 100..)
                    if !is_in_word && known.processes.iter().any(|process| u64::from(*process) == value) =>
                {
                    "<process>".to_owned()
                }
                _ => number.as_str().to_owned(),
            }
        };
        DIGITS.replace_all(text, mask).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let masks = Masks::new(&["seed=\\d+".to_owned()], &[(Path::new("/w/run"), "<directory>")]).unwrap();
        let known = RunFacts { processes: [4711, 12].into(), hosts: ["node7".to_owned()].into() };
        masks.apply(text, &known)
    }

    #[test]
    fn what_differs_in_every_run() {
        for (text, expected) in [
            ("wrote /w/run/ring.4.4711.1.mpiP", "wrote <directory>/ring.4.<process>.1.mpiP"),
            ("[node7:04711] rank 12", "[<host>:<process>] rank 12"),
            ("at 0x7ffd1234 of 0x10", "at <address> of 0x10"),
            ("Sun Nov 22 18:24:03 UTC 2026.", "<time>."),
            ("2026-11-22T18:24:03.123Z, 18:24:03", "<time>, <time>"),
            ("took 1.5e-3 s, 12 seconds and 3 us; 4 sends", "took <time>, <time> and <time>; 4 sends"),
            ("in /tmp/ompi.X1/2, done", "in <temporary>, done"),
            ("seed=123 size=123", "<mask> size=123"),
            ("MPI_Send 6 24 0.000032", "MPI_Send 6 24 0.000032"),
            ("x4711 14711", "x4711 14711"),
        ] {
            assert_eq!(masked(text), expected);
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(masked(&format!("time ({now}) {now}.5")), "time (<time>) <time>.5");
    }

    #[test]
    fn a_pattern_that_is_none() {
        let error = Masks::new(&["(".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().starts_with("mask `(`: unclosed group"), "{error}");
    }
}
