//! The test suite of mpi4py as an oracle: without us, and below three layers that intercept every function: a PMPI tool and a
//! QMPI tool that `shim-gen` writes from the library's own header, and the counter. The same tests must fail.
//!
//! As part of all tests: whole suites on one rank, and on three ranks of Debian's Open MPI and (a part) of MPICH. With
//! `QMPI_TEST_FULL` set, as in `ci/test-full`: whole suites on three ranks, and mpi4py built against each MPI.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, Trial};
use qmpi_tests::wheel::{self, run, stacked};
use qmpi_tests::{Mpi, Outcome, Wheel, compile, product, tool};

/// mpi4py on some MPI.
#[derive(Debug, Clone)]
struct Python {
    name: &'static str,
    command: PathBuf,
    /// The release of mpi4py, whose tests are run.
    release: &'static str,
    library: Library,
    env: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, Copy)]
enum Library {
    Debian(Mpi),
    Wheel(Wheel),
}

/// Which tests.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// All that start no processes of their own.
    All,
    /// Modules in which little is waited for: MPICH polls, and three ranks on two cores wait long.
    Short,
}

/// Left out: tests that start processes, or connect to others; and `test_package`, which asks by `dlsym` for functions that the MPI
/// may lack (docs/mpi-libraries.md, "Known limits").
const NOT: [&str; 6] = ["-e", "spawn", "-e", "dynproc", "-e", "test_package"];

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

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let mut add = |python: Python, ranks: usize, part: Part| {
        trials.push(Trial::test(format!("{}::{ranks}", python.name), move || same_tests_fail(&python, ranks, part)));
    };
    add(debian(), 1, Part::All);
    add(debian(), 3, Part::All);
    add(mpich_5(), 1, Part::All);
    if std::env::var_os("QMPI_TEST_FULL").is_some() {
        add(mpich_5(), 3, Part::All);
        for python in
            [built_for("mpich", Library::Debian(Mpi::Mpich)), built_for("openmpi", Library::Debian(Mpi::OpenMpi))]
        {
            add(python.clone(), 1, Part::All);
            add(python, 3, Part::All);
        }
        for wheel in [Wheel::MPICH_4, Wheel::OPEN_MPI_5] {
            let python = built_for(wheel.name, Library::Wheel(wheel));
            add(python.clone(), 1, Part::All);
            add(python, 3, Part::All);
        }
    } else {
        add(mpich_5(), 3, Part::Short);
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Debian's mpi4py, for its Open MPI.
fn debian() -> Python {
    Python {
        name: "debian-openmpi",
        command: "/usr/bin/python3".into(),
        release: "3.1.4",
        library: Library::Debian(Mpi::OpenMpi),
        env: Vec::new(),
    }
}

/// mpi4py's own binary, made for MPICH's ABI; told which MPI there is (see docs/mpi-libraries.md).
fn mpich_5() -> Python {
    let prefix = Wheel::MPICH_5.prefix();
    Python {
        name: "mpich-5.0",
        command: prefix.join("bin/python"),
        release: "4.1.2",
        library: Library::Wheel(Wheel::MPICH_5),
        env: vec![("MPI4PY_MPIABI", "mpich".into()), ("LD_LIBRARY_PATH", prefix.join("lib").display().to_string())],
    }
}

/// mpi4py compiled for this library by `ci/test-full`.
fn built_for(name: &'static str, library: Library) -> Python {
    let command = product::target().join("wheels/mpi4py-for").join(name).join("bin/python");
    Python { name, command, release: "4.1.2", library, env: Vec::new() }
}

impl Library {
    fn launcher(self, ranks: usize) -> Vec<String> {
        match self {
            Library::Debian(mpi) => mpi.launcher(ranks),
            Library::Wheel(wheel) => wheel.launcher(ranks),
        }
    }

    /// The three layers, outermost first.
    fn layers(self) -> Vec<String> {
        let (header, directory) = match self {
            Library::Debian(mpi) => {
                let version = if mpi == Mpi::Mpich { "mpich-4.0.2" } else { "openmpi-4.1.4" };
                (product::target().join("headers").join(version).join("mpi.h"), compile::directory(mpi))
            }
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
    let mut words = python.library.launcher(ranks);
    words.extend([python.command.display().to_string(), suite.display().to_string(), "-q".into()]);
    match part {
        Part::All => words.extend(NOT.map(str::to_owned)),
        Part::Short => words.extend(SHORT.iter().flat_map(|module| ["-i".to_owned(), (*module).to_owned()])),
    }
    let mut env = python.env.clone();
    env.push(("COUNTER", "file=/dev/null".into()));
    let start = Instant::now();
    let plain = run(&words, &env);
    let between = Instant::now();
    let below = run(&stacked(&python.library.layers(), &words), &env);
    let (plain_seconds, seconds) = ((between - start).as_secs_f64(), between.elapsed().as_secs_f64());
    let (expected, found) = (Results::of(&plain), Results::of(&below));
    if expected.finished != ranks || expected.tests == 0 {
        return Err(format!("without us: not all ranks came to the end\n{}", tail(&plain)).into());
    }
    if found != expected {
        return Err(format!(
            "without us: {expected:?}\nbelow three layers: {found:?}\n{}\n{}",
            tail(&plain),
            tail(&below)
        )
        .into());
    }
    println!(
        "{}, {ranks} ranks: {} tests, {} kinds of failure, {plain_seconds:.0} s and {seconds:.0} s",
        python.name,
        expected.tests,
        expected.failures.len()
    );
    Ok(())
}

/// What a run of the suite comes to, over all ranks.
#[derive(Debug, PartialEq, Eq)]
struct Results {
    /// "Ran 1358 tests in 3.4s", summed up.
    tests: usize,
    /// How many ranks have a last line.
    finished: usize,
    /// "ERROR: testX (test_y.TestZ)", and how many ranks say so.
    failures: BTreeMap<String, usize>,
}

impl Results {
    fn of(outcome: &Outcome) -> Results {
        let mut results = Results { tests: 0, finished: 0, failures: BTreeMap::new() };
        for line in outcome.stderr.lines().chain(outcome.stdout.lines()) {
            let number = line.strip_prefix("Ran ").and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
            if let Some(number) = number {
                results.tests += number;
                results.finished += 1;
            } else if line.starts_with("ERROR: ") || line.starts_with("FAIL: ") {
                *results.failures.entry(line.to_owned()).or_default() += 1;
            }
        }
        results
    }
}

fn tail(outcome: &Outcome) -> String {
    let last = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    };
    format!("{}\nstatus: {}\n{}\n{}", outcome.command, outcome.status, last(&outcome.stdout), last(&outcome.stderr))
}
