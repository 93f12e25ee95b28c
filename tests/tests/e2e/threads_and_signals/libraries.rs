//! Threads that open and close libraries, also while `libqmpi.so` binds references; threads that make their first MPI call at once; and libraries
//! that a program closes behind `libqmpi.so`: as without it.
//!
//! In a program without MPI the stack is set up at its first MPI call. That call may come from a constructor, in a thread that has
//! the dynamic linker's lock; another thread may be at its own first call; a third may fork.

use std::path::Path;

use qmpi_tests::against::{Failures, number, repeated, same, stacked, without_stack};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("opens_without_mpi", &Mpi::ALL, |mpi| opens(mpi, "opens_in_threads.c")),
        ("opens_with_mpi", &Mpi::ALL, |mpi| opens(mpi, "opens_in_threads_mpi.c")),
        ("opens_with_stack", &Mpi::ALL, opens_with_stack),
        ("first_call_in_constructor", &Mpi::ALL, |mpi| start_race(mpi, "constructor", 3)),
        ("two_threads_open", &Mpi::ALL, |mpi| start_race(mpi, "two", 10)),
        ("two_threads_open_the_same", &Mpi::ALL, |mpi| start_race(mpi, "two-same", 10)),
        ("fork_during_start_up_calls", &Mpi::ALL, |mpi| start_race(mpi, "fork-call", 3)),
        ("fork_during_start_up_executes", &Mpi::ALL, |mpi| start_race(mpi, "fork-exec", 3)),
        ("constructor_of_a_tool_forks", &Mpi::ALL, constructor_of_a_tool_forks),
        ("weak_references", &Mpi::ALL, weak_references),
        ("half_relocated", &Mpi::ALL, half_relocated),
        ("closed_behind_mpi", &Mpi::ALL, closed_behind_mpi),
    ])
}

fn runs() -> usize {
    number("QMPI_TEST_RUNS", 20)
}

/// `opens_in_threads` with four libraries: copies of one, as each name is another library for the dynamic linker.
fn opening(mpi: Mpi, file: &str, directory: &Path) -> Result<Job, std::io::Error> {
    let program = program(mpi, file);
    let part = compile::directory(mpi).join("opened_part.so");
    let mut args = vec![number("QMPI_TEST_ROUNDS", 4000).to_string()];
    for number in 0..4 {
        let copy = directory.join(format!("part{number}.so"));
        std::fs::copy(&part, &copy)?;
        args.push(copy.display().to_string());
    }
    Ok(Job::alone(mpi, &program).args(&args).within(60))
}

const RIGHT: &str = "opens_in_threads: 4 threads, 0 wrong";

/// Plain: no run of any number goes wrong, with or without a preloaded library.
fn opens(mpi: Mpi, file: &str) -> Verdict {
    let directory = tempfile::tempdir()?;
    let job = opening(mpi, file, directory.path())?;
    let lines = [RIGHT.to_owned()];
    repeated("without libqmpi", &job, 2, 0, &lines)?;
    Ok(repeated("libqmpi.so preloaded", &without_stack(&job), runs(), 0, &lines)?)
}

/// Plain `LD_PRELOAD` of the tool: right, and the tool sees both calls.
fn opens_with_stack(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let job = opening(mpi, "opens_in_threads_mpi.c", directory.path())?;
    let library = tool(mpi, "counter");
    let lines = [RIGHT.to_owned()];
    repeated("plain LD_PRELOAD", &job.clone().preload(&library), 2, 0, &lines)?;
    let name = library.display().to_string();
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &[&name, &name]) {
        failures.note(repeated(mode, &job, runs() / 2, 0, &lines));
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD` of a tool brings MPI along before `main`: no thread waits for another. The tool sees every call.
fn start_race(mpi: Mpi, which: &str, runs: usize) -> Verdict {
    let program = program(mpi, "start_race.c");
    let slow = compile::directory(mpi).join("start_race_slow.so");
    let counter = tool(mpi, "counter").display().to_string();
    let job = Job::alone(mpi, &program).args(&[which.to_owned()]).within(60).env("COUNTER", "file=/dev/null");
    let job = if which.starts_with("two") { job.env("START_RACE_EARLY", "1") } else { job };
    let right = [format!("start_race: {which} ok")];
    repeated("without libqmpi", &job, 2, 0, &right)?;
    let plain = job.clone().preload(&slow).run();
    plain.expect(0, &right).map_err(|reason| format!("plain LD_PRELOAD: {reason}"))?;
    let mut failures = Failures::default();
    failures.note(repeated("no stack", &without_stack(&job), runs, 0, &right));
    // The slow tool is loaded first, then the others: another thread finds start-up not over.
    let slow = slow.display().to_string();
    for (mode, job) in stacked(&job, &[&counter, &slow]) {
        let report = counted(&plain);
        let lines = [&right[..], &[report]].concat();
        failures.note(repeated(mode, &job, runs, 0, &lines));
    }
    failures.verdict()
}

/// What the tool says, with or without its line on a child.
fn counted(outcome: &Outcome) -> String {
    outcome
        .stdout
        .lines()
        .find(|line| line.starts_with("start_race_slow: "))
        .unwrap_or("no line of the tool")
        .to_owned()
}

/// Plain `LD_PRELOAD`: the constructor runs before `main`, and its child does what it wants.
fn constructor_of_a_tool_forks(mpi: Mpi) -> Verdict {
    program(mpi, "start_race.c");
    let slow = compile::directory(mpi).join("start_race_slow.so");
    let ring = program(mpi, "ring.c");
    let late = program(mpi, "start_race.c");
    let mut failures = Failures::default();
    for how in ["fork-call", "fork-exec", "thread"] {
        for job in [Job::alone(mpi, &ring), Job::alone(mpi, &late).args(&["two".to_owned()])] {
            let job = job.env("START_RACE_TOOL", how).within(60);
            let plain = job.clone().preload(&slow).run();
            plain.expect(0, &[]).map_err(|reason| format!("plain LD_PRELOAD, {how}: {reason}"))?;
            if !counted(&plain).ends_with("child=0") {
                return Err(format!("plain LD_PRELOAD, {how}: not a child that ends well\n{}", plain.report()).into());
            }
            let name = slow.display().to_string();
            for (mode, job) in stacked(&job, &[&name]) {
                failures.note(same(&format!("{mode}, {how}"), &plain, &job.run()));
            }
        }
    }
    failures.verdict()
}

/// A library with a weak reference to a function of MPI, as a file of this name.
fn part(mpi: Mpi, name: &str, options: &[&str]) -> String {
    let path =
        variant::build(mpi, "tests/programs/weak_in_threads_part.c", &format!("weak_in_threads_{name}.so"), options);
    path.display().to_string()
}

/// In a process without MPI two threads open libraries and ask whether a function of MPI is there: it never is.
fn in_each_process(mpi: Mpi, rounds: &str, libraries: &[String; 2]) -> Verdict {
    let args = [rounds.to_owned(), libraries[0].clone(), libraries[1].clone()];
    let job = Job::alone(mpi, &program(mpi, "weak_in_threads.c")).args(&args);
    let lines = ["weak_in_threads: found 0 and 0 times".to_owned()];
    job.run().expect(0, &lines)?;
    let counter = tool(mpi, "counter").display().to_string();
    let mut failures = Failures::default();
    failures.note(repeated("libqmpi.so alone", &without_stack(&job), runs(), 0, &lines));
    failures.note(repeated("qmpi run", &job.stack(&[&counter]), runs(), 0, &lines));
    failures.verdict()
}

fn weak_references(mpi: Mpi) -> Verdict {
    in_each_process(mpi, "2000", &[part(mpi, "a", &[]), part(mpi, "b", &[])])
}

/// One of the libraries is listed and half relocated most of the time: who writes into it then takes its last words from `ld.so`.
fn half_relocated(mpi: Mpi) -> Verdict {
    in_each_process(mpi, "100", &[part(mpi, "slow", &["-DSLOW", "-Wl,-z,now,-z,relro"]), part(mpi, "b", &[])])
}

/// What was loaded when MPI was initialized is gone later; tools open libraries all the same.
fn closed_behind_mpi(mpi: Mpi) -> Verdict {
    let plain = compile::directory(mpi).join("closes_first_plain.so");
    let plain = variant::build(mpi, "tests/programs/opened_part.c", &plain.display().to_string(), &["-nostdlib"]);
    let needy = variant::build(
        mpi,
        "tests/programs/opened_part.c",
        "closes_first_needy.so",
        &["-Wl,--no-as-needed", "-lresolv", "-Wl,--as-needed"],
    );
    let args = [plain, compile::companion(mpi, "closes_first_part.c")].map(|path| path.display().to_string());
    let job = Job::alone(mpi, &program(mpi, "closes_first.c")).args(&args);
    let job = job.env("OPENS_NEEDY", needy.display().to_string());
    let opens = compile::companion(mpi, "opens_needy.c").display().to_string();
    let lines = ["opens_needy: ok".to_owned(), "closes_first: done".to_owned()];
    let reference = job.clone().preload(opens.as_ref()).run();
    reference.expect(0, &lines)?;
    let mut failures = Failures::default();
    failures.note(same("libqmpi.so alone", &job.run(), &without_stack(&job).run()));
    for (mode, job) in stacked(&job, &[&opens]) {
        failures.note(repeated(mode, &job, runs(), 0, &lines));
    }
    failures.note(job.stack(&[&opens, &opens]).run().expect(0, &lines));
    failures.verdict()
}
