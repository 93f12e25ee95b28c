//! A tool with two versions of a wrapper: the caller gets the version that it asks for.
//!
//! Under plain LD_PRELOAD ld.so binds a reference to MPI_Send@TOOL_1 to that version of the tool's wrapper, and one that asks for no
//! version to the first that the tool defines, since such a program was linked before there were versions; dlsym gets the default
//! version, dlvsym the one that it names or none (glibc, elf/dl-lookup.c: check_match). An MPI library without versions satisfies
//! all of these references, dlvsym excepted.

use std::path::Path;

use qmpi_tests::measured::Measured;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

/// A program, its arguments, and how many calls the tool sees under LD_PRELOAD.
type Case = (&'static str, &'static str, u32);

const LINKED: [Case; 2] = [("versioned_none.c", "", 1), ("versioned_1.c", "", 1)];
const NEWER: [Case; 2] = [("versioned_2.c", "", 1), ("versioned_2.c", "pointer", 1)];
/// A version that the tool does not have: the MPI library's function fits.
const MISSING: [Case; 2] = [("versioned_3.c", "", 0), ("versioned_3.c", "pointer", 0)];
const DLSYM: [Case; 2] = [("versioned_none.c", "dlsym", 1), ("versioned_1.c", "dlsym", 1)];
const DLVSYM: [Case; 3] = [
    ("versioned_none.c", "dlvsym TOOL_1", 1),
    ("versioned_none.c", "dlvsym TOOL_2", 1),
    // It is not found, and the program calls MPI_Send by its reference.
    ("versioned_none.c", "dlvsym TOOL_3", 1),
];
const OPENED: [Case; 4] = [
    ("versioned_none.c", "part versioned_part.so", 1),
    ("versioned_none.c", "part versioned_part_2.so", 1),
    ("versioned_1.c", "part versioned_part_2.so", 1),
    ("versioned_2.c", "part versioned_part.so", 1),
];

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("linked_references", &Mpi::ALL, |mpi| same(mpi, &LINKED)),
        ("reference_to_a_newer_version", &Mpi::ALL, |mpi| same(mpi, &NEWER)),
        ("reference_to_a_version_that_the_tool_does_not_have", &Mpi::ALL, |mpi| same(mpi, &MISSING)),
        ("dlsym", &Mpi::ALL, |mpi| same(mpi, &DLSYM)),
        ("dlvsym", &Mpi::ALL, |mpi| same(mpi, &DLVSYM)),
        ("library_that_is_opened_later", &Mpi::ALL, |mpi| same(mpi, &OPENED)),
        ("below_a_tool_without_versions", &Mpi::ALL, below_another),
        ("below_a_tool_that_looks_for_the_next_function", &Mpi::ALL, below_a_look_up),
        ("clones", &Mpi::ALL, clones),
        ("statistics_count_all_versions", &Mpi::ALL, statistics),
        ("tool_that_the_program_is_linked_with", &Mpi::ALL, linked),
        ("tool_that_is_preloaded_beside", &Mpi::ALL, preloaded),
    ])
}

fn all() -> impl Iterator<Item = &'static Case> {
    LINKED.iter().chain(&NEWER).chain(&MISSING).chain(&DLSYM).chain(&DLVSYM).chain(&OPENED)
}

/// `received`, `found`, and the tool's line.
fn lines(outcome: &Outcome) -> Vec<&str> {
    outcome
        .stdout
        .lines()
        .filter(|line| line.starts_with("versioned: ") || line.starts_with("tool versioned"))
        .collect()
}

fn job(mpi: Mpi, (file, arguments, _): &Case) -> Job {
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    Job::alone(mpi, &program(mpi, file)).args(&arguments)
}

/// What comes of a job that has to succeed.
fn sound(job: &Job) -> Result<Outcome, String> {
    let outcome = job.run();
    outcome.expect(0, &["versioned: received 7".to_owned()])?;
    Ok(outcome)
}

/// What is printed with the tool under LD_PRELOAD alone, whose wrappers have seen so many calls.
fn preloaded_alone(job: &Job, library: &Path, calls: u32) -> Result<Outcome, String> {
    let outcome = sound(&job.clone().preload(library))?;
    if outcome.count(&format!("tool versioned_wrappers: ok calls={calls} ")) != 1 {
        return Err(format!("LD_PRELOAD: the tool has not seen {calls} calls\n{}", outcome.report()));
    }
    Ok(outcome)
}

/// Failures of several jobs.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    /// The job, which is called `what`, has to print these lines.
    fn check(&mut self, what: &str, job: &Job, expected: &[&str]) {
        let outcome = job.run();
        let seen = lines(&outcome);
        if outcome.status != 0 || seen != expected {
            self.0.push(format!("{what}: {seen:?} instead of {expected:?}\n{}", outcome.report()));
        }
    }

    /// All in short, and the first at length.
    fn verdict(self) -> Verdict {
        let Some(first) = self.0.first() else { return Ok(()) };
        let heads: Vec<&str> = self.0.iter().filter_map(|failure| failure.lines().next()).collect();
        Err(format!("{}\n\n{first}", heads.join("\n")).into())
    }
}

/// In a stack, alone and above a counter, the program and the tool print what they print under LD_PRELOAD.
fn same(mpi: Mpi, cases: &[Case]) -> Verdict {
    let library = tool(mpi, "versioned_wrappers");
    let path = library.display().to_string();
    let counter = tool(mpi, "counter").display().to_string();
    let mut failures = Failures::default();
    for case in cases {
        let job = job(mpi, case);
        let native = sound(&job)?;
        let preloaded = preloaded_alone(&job, &library, case.2)?;
        failures.check(&format!("{case:?}, alone"), &job.clone().stack(&[&path]), &lines(&preloaded));
        failures.check(
            &format!("{case:?}, above a counter"),
            &job.clone().stack(&[&path, &counter]),
            &lines(&preloaded),
        );
        // Without a tool the MPI library gets the call.
        failures.check(&format!("{case:?}, empty stack"), &job.stack(&[]), &lines(&native));
    }
    failures.verdict()
}

/// Of two preloaded tools the first that fits gets the call, and the other nothing. In a stack a call that the outer one gets
/// goes on to the inner one, which is asked for no version; one that passes the outer one by gets what it asks for.
fn below_another(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "versioned_wrappers");
    let counter = tool(mpi, "counter");
    let sends = |outcome: &Outcome| outcome.count("  MPI_Send ");
    let mut failures = Failures::default();
    let mut seen = [0; 2];
    for case in all() {
        let job = job(mpi, case);
        let preloaded = sound(&job.clone().preload(&counter).preload(&library))?;
        let alone = preloaded_alone(&job, &library, case.2)?;
        let outer_gets_it = sends(&preloaded);
        seen[outer_gets_it] += 1;
        let of_tool = match outer_gets_it {
            1 => "tool versioned_wrappers: ok calls=1 v1=1 v2=0",
            _ => lines(&alone).into_iter().find(|line| line.starts_with("tool ")).unwrap_or_default(),
        };
        let mut expected: Vec<&str> = lines(&preloaded);
        expected.push(of_tool);
        let job = job.stack(&[&counter.display().to_string(), &library.display().to_string()]);
        let outcome = job.run();
        let mut printed = lines(&outcome);
        printed.sort_unstable();
        expected.sort_unstable();
        if outcome.status != 0 || printed != expected || sends(&outcome) != outer_gets_it {
            failures.0.push(format!("{case:?}: {printed:?} instead of {expected:?}\n{}", outcome.report()));
        }
    }
    if seen.contains(&0) {
        return Err(format!("the outer tool gets the call, or does not: {seen:?} times").into());
    }
    failures.verdict()
}

/// A tool that goes on by `dlsym(RTLD_NEXT, ...)` finds the default version, in a stack and where it is preloaded beside one.
fn below_a_look_up(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "versioned_wrappers");
    let outer = tool(mpi, "rtld_next");
    let paths = [outer.display().to_string(), library.display().to_string()];
    let mut failures = Failures::default();
    for case in LINKED.iter().chain(&NEWER) {
        let job = job(mpi, case);
        let preloaded = sound(&job.clone().preload(&outer).preload(&library))?;
        if preloaded.count("tool versioned_wrappers: ok calls=1 v1=0 v2=1") != 1 {
            return Err(format!("LD_PRELOAD: not the default version\n{}", preloaded.report()).into());
        }
        let expected = lines(&preloaded);
        failures.check(&format!("{case:?}, stack"), &job.clone().stack(&[&paths[0], &paths[1]]), &expected);
        failures.check(&format!("{case:?}, beside"), &job.preload(&outer).by_hand(&paths[1]), &expected);
    }
    failures.verdict()
}

/// More layers than namespaces: the outermost one has one, those that are copies of the file keep their versions.
fn clones(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "versioned_wrappers");
    let path = library.display().to_string();
    let mut failures = Failures::default();
    for case in NEWER.iter().chain(&DLSYM) {
        let job = job(mpi, case);
        let preloaded = preloaded_alone(&job, &library, case.2)?;
        // All but the outermost one are asked for no version.
        let outer = lines(&preloaded).into_iter().find(|line| line.starts_with("tool ")).unwrap_or_default();
        let outcome = job.stack(&[path.as_str(); 17]).run();
        let inner = outcome.count("tool versioned_wrappers: ok calls=1 v1=1 v2=0");
        if outcome.status != 0 || outcome.count(outer) != 1 || inner != 16 {
            failures.0.push(format!("{case:?}: {:?}\n{}", lines(&outcome), outcome.report()));
        }
    }
    failures.verdict()
}

/// A report counts a call, whatever version it asks for.
fn statistics(mpi: Mpi) -> Verdict {
    let path = tool(mpi, "versioned_wrappers").display().to_string();
    for case in LINKED.iter().chain(&NEWER) {
        let measured = Measured::of(&job(mpi, case).stack(&[&path]))?;
        let calls = [1, 2].map(|layer| measured.calls(layer, "MPI_Send", 0));
        if calls != [1, 1] {
            return Err(format!("{case:?}: {calls:?} calls of MPI_Send\n{}", measured.outcome.report()).into());
        }
    }
    Ok(())
}

/// A program that is linked with the tool asks for its default version, and keeps it with an empty stack and above a counter.
fn linked(mpi: Mpi) -> Verdict {
    let executable = compile::program_with_tool(mpi, "versioned_none.c", "versioned_wrappers");
    let counter = tool(mpi, "counter").display().to_string();
    let mut failures = Failures::default();
    for (_, arguments, _) in [("", "", 1), ("", "pointer", 1)].iter().chain(&DLSYM).chain(&DLVSYM).chain(&OPENED) {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let job = Job::alone(mpi, &executable).args(&arguments);
        let native = sound(&job)?;
        for (what, job) in [
            ("no variables", job.clone().preload(&product::runtime())),
            ("empty stack", job.clone().stack(&[])),
            ("counter", job.stack(&[&counter])),
        ] {
            failures.check(&format!("{arguments:?}, {what}"), &job, &lines(&native));
        }
    }
    failures.verdict()
}

/// A tool that the user preloads beside the stack gets the calls that it gets without one.
fn preloaded(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "versioned_wrappers");
    let counter = tool(mpi, "counter").display().to_string();
    let mut failures = Failures::default();
    for case in all() {
        let job = job(mpi, case);
        let alone = preloaded_alone(&job, &library, case.2)?;
        let path = library.display().to_string();
        for (what, job) in [
            ("behind, no stack", job.clone().by_hand("").preload(&library)),
            ("before, no stack", job.clone().preload(&library).by_hand("")),
            ("behind", job.clone().by_hand(&counter).preload(&library)),
            ("before", job.clone().preload(&library).by_hand(&counter)),
            ("by the user of run", job.env("LD_PRELOAD", path).stack(&[&counter])),
        ] {
            failures.check(&format!("{case:?}, {what}"), &job, &lines(&alone));
        }
    }
    failures.verdict()
}
