//! The test suite of mpi4py as an oracle: without us, and below three layers that intercept every function: a PMPI tool and a
//! QMPI tool that `shim-gen` writes from the library's own header, and the counter. The same tests must fail.
//!
//! As part of all tests: the whole suite on one rank of Debian's Open MPI and of MPICH 5.0, a part of it on three ranks of both, and
//! the tests that start processes. With `QMPI_TEST_FULL` set, as in `ci/test-full`: everything on every MPI.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use libtest_mimic::Failed;
use qmpi_tests::wheel::{self, run_within, stacked};
use qmpi_tests::{Mpi, Outcome, Trial, Wheel, compile, product, tool};
use tempfile::TempDir;

/// mpi4py on some MPI.
#[derive(Debug, Clone)]
struct Python {
    name: &'static str,
    command: PathBuf,
    /// The release of mpi4py, whose tests are run.
    release: &'static str,
    library: Library,
}

#[derive(Debug, Clone, Copy)]
enum Library {
    Debian(Mpi),
    Wheel(Wheel),
}

/// Which tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All that start no processes of their own.
    All,
    /// Modules in which little is waited for: three ranks on two cores wait long, on an MPI that polls.
    Short,
    /// Those that start processes or connect to others. Not on Debian's libraries: Open MPI 4.1 hangs in one of them now and then,
    /// without us too, and for MPICH 4.0 the suite skips them.
    Processes,
}

/// The modules of [`Part::Processes`].
const PROCESSES: [&str; 2] = ["spawn", "dynproc"];

/// The modules of [`Part::Short`].
const SHORT: [&str; 12] = [
    "test_status",
    "test_op",
    "test_datatype",
    "test_info",
    "test_request",
    "test_attributes",
    "test_errhandler",
    "test_group",
    "test_pack[.]",
    "test_address",
    "test_grequest",
    "test_comm[.]",
];

/// Are all tests to be run, however long they take?
fn is_full() -> bool {
    std::env::var_os("QMPI_TEST_FULL").is_some()
}

/// Seconds after which a run counts as hung. Three ranks of an MPICH that cannot but poll take many minutes on two cores.
fn patience() -> u32 {
    if is_full() { 2400 } else { 300 }
}

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |python: &Python, ranks: usize, part: Part| {
        let name = match part {
            Part::Processes => format!("{}::{ranks}::processes", python.name),
            Part::All | Part::Short => format!("{}::{ranks}", python.name),
        };
        let python = python.clone();
        trials.push(Trial::test(name, move || same_tests_fail(&python, ranks, part)));
    };
    let [debian, mpich_5] = [debian(), binary(Wheel::MPICH_5)];
    add(&debian, 1, Part::All);
    let of_three = if is_full() { Part::All } else { Part::Short };
    add(&debian, 3, of_three);
    add(&mpich_5, 1, Part::All);
    add(&mpich_5, 3, of_three);
    add(&mpich_5, 1, Part::Processes);
    if is_full() {
        for python in [binary_on_debian(), built_for_debian(), binary(Wheel::MPICH_4), binary(Wheel::OPEN_MPI_5)] {
            add(&python, 1, Part::All);
            add(&python, 3, Part::All);
        }
        add(&mpich_5, 3, Part::Processes);
        for wheel in [Wheel::MPICH_4, Wheel::OPEN_MPI_5] {
            add(&binary(wheel), 1, Part::Processes);
            add(&binary(wheel), 3, Part::Processes);
        }
    }
    trials
}

/// Debian's mpi4py, for its Open MPI.
fn debian() -> Python {
    let library = Library::Debian(Mpi::OpenMpi);
    Python { name: "debian-openmpi", command: "/usr/bin/python3".into(), release: "3.1.4", library }
}

/// mpi4py's own binary from PyPI, beside an MPI from there: it looks for it and finds it.
fn binary(wheel: Wheel) -> Python {
    let command = wheel.prefix().join("bin/python");
    Python { name: wheel.name, command, release: "4.1.2", library: Library::Wheel(wheel) }
}

/// The same binary where it finds Debian's Open MPI.
fn binary_on_debian() -> Python {
    let command = product::target().join("wheels/env/mpi4py-4.1.2/bin/python");
    Python { name: "openmpi", command, release: "4.1.2", library: Library::Debian(Mpi::OpenMpi) }
}

/// mpi4py compiled by `ci/test-full`: Debian's MPICH has a name of its own, so that the binary does not find it.
fn built_for_debian() -> Python {
    let command = product::target().join("wheels/mpi4py-for/mpich/bin/python");
    Python { name: "mpich", command, release: "4.1.2", library: Library::Debian(Mpi::Mpich) }
}

impl Part {
    /// The options of the suite that select it.
    fn options(self) -> Vec<String> {
        let each = |option: &str, modules: &[&str]| -> Vec<String> {
            modules.iter().flat_map(|module| [option.to_owned(), (*module).to_owned()]).collect()
        };
        match self {
            Part::All => each("-e", &PROCESSES),
            Part::Short => each("-i", &SHORT),
            Part::Processes => each("-i", &PROCESSES),
        }
    }
}

impl Library {
    fn launcher(self, ranks: usize) -> Vec<String> {
        match self {
            Library::Debian(mpi) => mpi.launcher(ranks),
            Library::Wheel(wheel) => wheel.launcher(ranks),
        }
    }

    fn variables(self) -> Vec<(&'static str, String)> {
        match self {
            Library::Debian(_) => Vec::new(), // `run_within` has set them
            Library::Wheel(wheel) => wheel.variables(),
        }
    }

    /// Modules that come to no end without us either: in Debian's MPICH a mutex made of one-sided calls is not always handed on
    /// to another rank.
    fn hangs(self, ranks: usize) -> &'static [&'static str] {
        match self {
            Library::Debian(Mpi::Mpich) if ranks > 1 => &["test_util_sync"],
            Library::Debian(_) | Library::Wheel(_) => &[],
        }
    }

    /// The three layers, outermost first.
    fn layers(self) -> Vec<String> {
        let (header, directory) = match self {
            Library::Debian(mpi) => (mpi.header(), compile::directory(mpi)),
            Library::Wheel(wheel) => (wheel.header(), wheel.directory()),
        };
        let build = |kind: &str, name: &str| {
            let source = product::generated(&header, &directory, kind, name);
            match self {
                Library::Debian(mpi) => {
                    let include = product::root().join("bridge/include").display().to_string();
                    wheel::build(&mpi.compiler("c"), &directory, &source, &["-I", &include, "-shared", "-fPIC"])
                }
                Library::Wheel(wheel) => wheel.library(&source),
            }
        };
        let pmpi = build("passthrough", "pass_pmpi").display().to_string();
        let native = format!("passthrough={}", build("qmpi-passthrough", "pass_qmpi").display());
        let counter = match self {
            Library::Debian(mpi) => tool(mpi, "counter"),
            Library::Wheel(wheel) => wheel.tool("counter"),
        };
        vec![pmpi, native, counter.display().to_string()]
    }
}

fn same_tests_fail(python: &Python, ranks: usize, part: Part) -> Result<(), Failed> {
    let suite = product::target().join("wheels").join(format!("mpi4py-{}", python.release)).join("test/runtests.py");
    for path in [&suite, &python.command] {
        assert!(path.exists(), "{} is not there: run `bash ci/setup`, or `bash ci/test-full`", path.display());
    }
    let temporary = || tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary directory: {error}"));
    let [plain_said, below_said] = [temporary(), temporary()];
    let words = |said: &TempDir| {
        let mut words = python.library.launcher(ranks);
        words.extend([python.command.display().to_string(), "-c".into(), SUITE.into()]);
        words.extend([said.path().display().to_string(), suite.display().to_string(), "-v".into()]);
        words.extend(part.options());
        words.extend(python.library.hangs(ranks).iter().flat_map(|module| ["-e".to_owned(), (*module).to_owned()]));
        words
    };
    let env = python.library.variables();
    let start = Instant::now();
    let (plain, expected) = run_suite(&words(&plain_said), &env, &plain_said);
    let between = Instant::now();
    let (below, found) = run_suite(&stacked(&python.library.layers(), &words(&below_said)), &env, &below_said);
    let (plain_seconds, seconds) = ((between - start).as_secs_f64(), between.elapsed().as_secs_f64());
    let name = if part == Part::Processes { format!("{}, processes", python.name) } else { python.name.to_owned() };
    if expected.finished != ranks || expected.tests == 0 {
        return Err(format!("without us: not all ranks came to the end\n{}", tail(&plain, &plain_said)).into());
    }
    if (&found, below.status) != (&expected, plain.status) {
        let [plain, below] = [tail(&plain, &plain_said), tail(&below, &below_said)];
        return Err(format!("without us: {expected:?}\nbelow three layers: {found:?}\n{plain}\n{below}").into());
    }
    // The innermost layer has counted all ranks, so the calls did go through the stack.
    let table = format!("MPI calls of {ranks} ranks");
    if !below.stdout.contains(&table) {
        return Err(
            format!("below three layers: no line `{table}` of the counter\n{}", tail(&below, &below_said)).into()
        );
    }
    println!(
        "{}, {ranks} ranks: {} tests, {} skipped, {} kinds of failure, {plain_seconds:.0} s and {seconds:.0} s",
        name,
        expected.tests,
        expected.skipped,
        expected.failures.len()
    );
    Ok(())
}

/// Runs the suite as `runtests.py` does, but with a file for what each rank says: on one stream the ranks' lines mix.
const SUITE: &str = r#"
import os, runpy, sys
directory, suite = sys.argv[1:3]
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
os.dup2(os.open(os.path.join(directory, rank), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
sys.argv = sys.argv[2:]
sys.path[0] = os.path.dirname(suite)
runpy.run_path(suite, run_name="__main__")
"#;

/// Runs a part of the suite, and reads what the ranks said.
fn run_suite(words: &[String], env: &[(&str, String)], directory: &TempDir) -> (Outcome, Results) {
    let outcome = run_within(patience(), words, env);
    let mut results = Results::default();
    for entry in std::fs::read_dir(directory.path()).into_iter().flatten().flatten() {
        let text = std::fs::read(entry.path()).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().for_each(|line| results.add(line));
    }
    (outcome, results)
}

/// What a run of the suite comes to, over all ranks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Results {
    /// "Ran 1358 tests in 3.4s", summed up.
    tests: usize,
    /// How many ranks have such a line.
    finished: usize,
    /// "OK (skipped=4)", summed up: tests ask the library what it can do.
    skipped: usize,
    /// "ERROR: testX (test_y.TestZ)", and how many ranks say so.
    failures: BTreeMap<String, usize>,
}

impl Results {
    fn add(&mut self, line: &str) {
        let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok();
        if let Some(tests) = line.strip_prefix("Ran ").and_then(number) {
            self.tests += tests;
            self.finished += 1;
        } else if line.starts_with("ERROR: ") || line.starts_with("FAIL: ") {
            *self.failures.entry(line.to_owned()).or_default() += 1;
        } else if line.starts_with("OK (") || line.starts_with("FAILED (") {
            self.skipped += line.split_once("skipped=").and_then(|(_, rest)| number(rest)).unwrap_or(0);
        }
    }
}

/// The end of what a run printed, and of what each rank said.
fn tail(outcome: &Outcome, said: &TempDir) -> String {
    let last = |text: &str, count: usize| {
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    };
    let hung = if outcome.status == wheel::HUNG { ", hung" } else { "" };
    let mut text = format!("{}\nstatus: {}{hung}\n", outcome.command, outcome.status);
    for entry in std::fs::read_dir(said.path()).into_iter().flatten().flatten() {
        let words = std::fs::read(entry.path()).unwrap_or_default();
        text += &format!("rank {}:\n{}\n", entry.file_name().display(), last(&String::from_utf8_lossy(&words), 8));
    }
    text + &last(&outcome.stdout, 10) + "\n" + &last(&outcome.stderr, 30)
}
