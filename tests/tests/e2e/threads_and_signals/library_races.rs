//! Threads that open libraries while `libqmpi.so` binds references, and libraries that a program closes behind it: as without `libqmpi.so`.

use qmpi_tests::against::{Failures, number, repeated, same, stacked, without_stack};
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("weak_references", &Mpi::ALL, weak_references),
        ("half_relocated", &Mpi::ALL, half_relocated),
        ("closed_behind_mpi", &Mpi::ALL, closed_behind_mpi),
    ])
}

fn runs() -> usize {
    number("QMPI_TEST_RUNS", 20)
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
