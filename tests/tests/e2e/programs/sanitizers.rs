//! Programs and tools that are built with sanitizers: status, output and what the sanitizer reports are as under plain
//! `LD_PRELOAD` of the tool.
//!
//! AddressSanitizer wants to be first in the list of libraries, and ends a process where it is not, under any preload: it is
//! preloaded first in both runs that are compared. Linked statically, into the program, it does not ask.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::against::{Failures, without_stack};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("thread", &Mpi::ALL, |mpi| programs(mpi, &THREAD)),
        ("address", &Mpi::ALL, |mpi| programs(mpi, &ADDRESS)),
        ("undefined", &Mpi::ALL, |mpi| programs(mpi, &UNDEFINED)),
        ("leak", &Mpi::ALL, |mpi| programs(mpi, &LEAK)),
        ("thread_static", &Mpi::ALL, |mpi| programs(mpi, &Sanitizer { statically: true, ..THREAD })),
        ("address_static", &Mpi::ALL, |mpi| programs(mpi, &Sanitizer { statically: true, ..ADDRESS })),
        ("undefined_static", &Mpi::ALL, |mpi| programs(mpi, &Sanitizer { statically: true, ..UNDEFINED })),
        // LeakSanitizer's static library fails a check of its own without libqmpi, with gcc 12.
        ("thread_tool", &Mpi::ALL, |mpi| tools(mpi, &THREAD)),
        ("address_tool", &Mpi::ALL, |mpi| tools(mpi, &ADDRESS)),
        ("undefined_tool", &Mpi::ALL, |mpi| tools(mpi, &UNDEFINED)),
        ("leak_tool", &Mpi::ALL, |mpi| tools(mpi, &LEAK)),
    ])
}

/// A sanitizer of gcc.
struct Sanitizer {
    /// `-fsanitize=NAME`.
    name: &'static str,
    /// Its library: `libNAME.so`, and the option `-static-libNAME`.
    library: &'static str,
    /// What it finds.
    fault: &'static str,
    /// A part of the line in which it says so.
    report: &'static str,
    /// The library must be preloaded before all others where the program is linked with it dynamically.
    first: bool,
    statically: bool,
}

const THREAD: Sanitizer = Sanitizer {
    name: "thread",
    library: "tsan",
    fault: "race",
    report: "WARNING: ThreadSanitizer: data race",
    first: false,
    statically: false,
};
const ADDRESS: Sanitizer = Sanitizer {
    name: "address",
    library: "asan",
    fault: "overflow",
    report: "ERROR: AddressSanitizer: heap-buffer-overflow",
    first: true,
    statically: false,
};
const UNDEFINED: Sanitizer = Sanitizer {
    name: "undefined",
    library: "ubsan",
    fault: "undefined",
    report: "runtime error: signed integer overflow",
    first: false,
    statically: false,
};
const LEAK: Sanitizer = Sanitizer {
    name: "leak",
    library: "lsan",
    fault: "leak",
    report: "ERROR: LeakSanitizer: detected memory leaks",
    first: false,
    statically: false,
};

impl Sanitizer {
    /// [`Sanitizer::same`], in one of several runs: whether two threads race is not the same in each.
    fn soon_same(&self, what: &str, plain: &Outcome, job: &Job) -> Result<(), String> {
        let attempts = if self.fault == THREAD.fault { 5 } else { 1 };
        let mut verdict = Ok(());
        for _ in 0..attempts {
            verdict = self.same(what, plain, &job.run());
            if verdict.is_ok() {
                break;
            }
        }
        verdict
    }

    /// Builds with it.
    fn build(&self, mpi: Mpi, path: &str) -> PathBuf {
        let how = if self.statically { "_static" } else { "" };
        let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
        let ending = if stem.contains("tool") { ".so" } else { "" };
        let (instrument, library) = (format!("-fsanitize={}", self.name), format!("-static-lib{}", self.library));
        let mut options = vec![instrument.as_str(), "-fno-omit-frame-pointer"];
        if self.statically {
            options.push(&library);
        }
        variant::build(mpi, path, &format!("{stem}_{}{how}{ending}", self.name), &options)
    }

    /// The dynamic library.
    fn path(&self) -> Result<PathBuf, Failed> {
        let output = Command::new("cc").arg(format!("-print-file-name=lib{}.so", self.library)).output()?;
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        if path.is_absolute() { Ok(path.canonicalize()?) } else { Err(format!("no lib{}.so", self.library).into()) }
    }

    /// The library, where it must be preloaded first of all.
    fn before_all(&self, needs: bool) -> Result<Option<PathBuf>, Failed> {
        if needs { Ok(Some(self.path()?)) } else { Ok(None) }
    }

    /// Headlines of reports: addresses, numbers and stacks differ from run to run, and MPI libraries have races and leaks of their own.
    fn reports<'a>(&self, outcome: &'a Outcome) -> BTreeSet<&'a str> {
        let kinds = [" Sanitizer:", "Sanitizer: ", "Sanitizer failed", "does not come first", "runtime error: "];
        let lines = outcome.stderr.lines().filter(|line| kinds.iter().any(|kind| line.contains(kind)));
        lines.map(|line| if line.contains(self.report) { self.report } else { line }).collect()
    }

    /// Fails unless status, output and reports are the same.
    fn same(&self, mode: &str, plain: &Outcome, outcome: &Outcome) -> Result<(), String> {
        let exact = |set: BTreeSet<&str>| set.contains(self.report);
        // Other headlines have addresses in them: their number is compared.
        let others = |outcome: &Outcome| self.reports(outcome).iter().filter(|line| **line != self.report).count();
        let found = exact(self.reports(plain)) == exact(self.reports(outcome)) && others(plain) == others(outcome);
        let said: Vec<&str> = outcome.said();
        if found && plain.status == outcome.status && plain.lines() == outcome.lines() && said.is_empty() {
            return Ok(());
        }
        Err(format!("{mode}: not the same\n{}\nas without libqmpi\n{}", cut(&outcome.report()), cut(&plain.report())))
    }
}

/// A program on its own. UCX, which MPICH uses, intercepts `madvise` in a thread that ThreadSanitizer does not know yet: SIGSEGV.
fn job(mpi: Mpi, program: &Path) -> Job {
    Job::alone(mpi, program).env("UCX_MEM_EVENTS", "n").within(30)
}

/// The job with a library before all others.
fn behind(first: Option<&Path>, job: &Job) -> Job {
    first.map_or_else(|| job.clone(), |first| job.clone().preload(first))
}

/// The job with a stack, in both ways, and a library that is preloaded before libqmpi.so.
fn stacked(first: Option<&Path>, job: &Job, tools: &[&str]) -> [(&'static str, Job); 2] {
    let under_run = match first {
        // `qmpi run` adds to what the user preloads; it does not live to report leaks of its own.
        Some(first) => job.clone().inside(&["env", &format!("LD_PRELOAD={}", first.display())]),
        None => job.clone(),
    };
    [("qmpi run", under_run.stack(tools)), ("by hand", behind(first, job).by_hand(&tools.join(",")))]
}

/// Reports are long.
fn cut(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(8).max(lines.len().min(12));
    [&lines[..lines.len().min(12)], &lines[last..]].concat().join("\n")
}

/// Plain `LD_PRELOAD` of a tool: the program ends with its status, and the sanitizer reports what is wrong in it.
fn programs(mpi: Mpi, sanitizer: &Sanitizer) -> Verdict {
    let counter = tool(mpi, "base_tool");
    let name = counter.display().to_string();
    let mut failures = Failures::default();
    for (file, with_mpi) in [("five.c", false), ("faulty.c", false), ("faulty_mpi.c", true)] {
        let program = sanitizer.build(mpi, &format!("tests/programs/{file}"));
        for fault in ["", sanitizer.fault] {
            if file == "five.c" && !fault.is_empty() {
                continue;
            }
            let args: Vec<String> = if fault.is_empty() { Vec::new() } else { vec![fault.to_owned()] };
            let job = job(mpi, &program).args(&args);
            let what = format!("{file} {fault}");
            let first = sanitizer.before_all(sanitizer.first && !sanitizer.statically)?;
            let first = first.as_deref();
            // Whether two threads race is not the same in each run.
            let reports = |outcome: &Outcome| sanitizer.reports(outcome).contains(sanitizer.report);
            let mut runs = (0..5).map(|_| behind(first, &job).run());
            let native = runs.find(|outcome| reports(outcome) != fault.is_empty());
            let native = native.unwrap_or_else(|| behind(first, &job).run());
            let reported = reports(&native);
            // Leaks of MPI libraries themselves are reported at any rate.
            if reported == fault.is_empty() && !(with_mpi && fault.is_empty()) {
                return Err(format!("{what}, without libqmpi: not what is expected\n{}", native.report()).into());
            }
            let without_stack = without_stack(&behind(first, &job));
            failures.note(sanitizer.soon_same(&format!("{what}, no stack"), &native, &without_stack));
            let mut runs = (0..5).map(|_| behind(first, &job).preload(&counter).run());
            let plain = runs.find(|outcome| reports(outcome) == reported);
            let plain = plain.unwrap_or_else(|| behind(first, &job).preload(&counter).run());
            for (mode, job) in stacked(first, &job, &[&name]) {
                failures.note(sanitizer.soon_same(&format!("{what}, {mode}"), &plain, &job));
            }
            if with_mpi {
                let once = |line: &&str| line.starts_with("tool base_tool: ok");
                for (mode, job) in stacked(first, &job, &[&name, &name]) {
                    let outcome = job.run();
                    let tools = outcome.stdout.lines().filter(once).count();
                    let expected = 2 * plain.stdout.lines().filter(once).count();
                    if outcome.status != plain.status || tools != expected {
                        failures.note(Err(format!("{what}, two tools, {mode}\n{}", cut(&outcome.report()))));
                    }
                }
            }
        }
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD` of a tool with a sanitizer, whose library comes first: works in a program without, and reports the tool's fault.
fn tools(mpi: Mpi, sanitizer: &Sanitizer) -> Verdict {
    let faulty = sanitizer.build(mpi, "tests/programs/faulty_tool.c");
    let name = faulty.display().to_string();
    let mut failures = Failures::default();
    for instrumented in [false, true] {
        let program = if instrumented {
            sanitizer.build(mpi, "tests/programs/faulty_mpi.c")
        } else {
            compile::program(mpi, "faulty_mpi.c")
        };
        for fault in ["", sanitizer.fault] {
            let job = job(mpi, &program).env("FAULTY_TOOL", fault);
            let first = sanitizer.before_all(!instrumented || sanitizer.first)?;
            let first = first.as_deref();
            let what = format!("{}instrumented program, {fault}", if instrumented { "" } else { "not " });
            let plain = behind(first, &job).preload(&faulty).run();
            if !fault.is_empty() && !sanitizer.reports(&plain).contains(sanitizer.report) {
                return Err(format!("{what}, plain LD_PRELOAD: no report\n{}", plain.report()).into());
            }
            for (mode, job) in stacked(first, &job, &[&name]) {
                // gcc 12's liblsan, preloaded, ends every program in Rust at its start, so also the command.
                if mode == "qmpi run" && first.is_some() && sanitizer.library == LEAK.library {
                    continue;
                }
                failures.note(sanitizer.soon_same(&format!("{what}, {mode}"), &plain, &job));
            }
        }
    }
    failures.verdict()
}
