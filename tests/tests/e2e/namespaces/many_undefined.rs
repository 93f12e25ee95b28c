//! A tool with thousands of undefined functions, which nothing calls: start-up is linear in their number, and nothing is said;
//! one line tells of all if it is asked for.
//! One that a library defines which is opened later is called there.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use libtest_mimic::Failed;
use qmpi_tests::against::{Failures, stacked, time};
use qmpi_tests::{Job, Mpi, Trial, Verdict, artifact, compile, on_each_mpi, product, program, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("linear", &Mpi::ALL, linear),
        ("one_line", &Mpi::ALL, one_line),
        ("defined_later", &Mpi::ALL, defined_later),
    ])
}

const MANY: usize = 16_000;
const FEWER: usize = 4_000;
const RIGHT: &str = "asks_size: 1";

/// A tool that refers to so many functions that no library has. It is bound lazily, as such a tool has to be.
fn generated(mpi: Mpi, count: usize) -> Result<PathBuf, Failed> {
    let name = format!("undefined_{count}");
    let mut text = "//# cflags: -O0 -g0 -Wl,-z,lazy\n#include <mpi.h>\nvoid never(void);\n".to_owned();
    for number in 0..count {
        writeln!(text, "void absent_function_{number}(void);")?;
    }
    writeln!(text, "void never(void)\n{{")?;
    for number in 0..count {
        writeln!(text, "    absent_function_{number}();")?;
    }
    writeln!(text, "}}\nint MPI_Comm_size(MPI_Comm comm, int *size) {{ return PMPI_Comm_size(comm, size); }}")?;
    let path = product::target().join("tests").join(format!("{name}.c"));
    artifact::write_source(&path, text.as_bytes());
    Ok(compile::library(mpi, &path))
}

/// Plain `LD_PRELOAD`: 0.1 s, as the functions are looked up when they are called.
fn linear(mpi: Mpi) -> Verdict {
    let (many, fewer) = (generated(mpi, MANY)?, generated(mpi, FEWER)?);
    let job = Job::alone(mpi, &program(mpi, "asks_size.c"));
    let lines = [RIGHT.to_owned()];
    let plain = time("plain LD_PRELOAD", &job.clone().preload(&many), &lines)?;
    let (many, fewer) = (many.display().to_string(), fewer.display().to_string());
    let empty = stacked(&job, &[]);
    let mut failures = Failures::default();
    for (index, (mode, job_of_fewer)) in stacked(&job, &[&fewer]).into_iter().enumerate() {
        let base = time(mode, &empty[index].1, &lines)?;
        let of_fewer = time(mode, &job_of_fewer, &lines)?.saturating_sub(base);
        let bound = plain * 3 + Duration::from_millis(500);
        // What is quadratic would take a minute.
        if of_fewer > bound {
            failures.note(Err(format!(
                "{mode}: {of_fewer:?} for {FEWER} functions, plain LD_PRELOAD {plain:?} for {MANY}"
            )));
            continue;
        }
        let of_many = time(mode, &stacked(&job, &[&many])[index].1, &lines)?.saturating_sub(base);
        println!(
            "{}: {mode}: {of_fewer:?} for {FEWER}, {of_many:?} for {MANY}; plain LD_PRELOAD {plain:?}",
            mpi.name()
        );
        // Below 20 ms a time is noise.
        if of_many > of_fewer.max(Duration::from_millis(20)) * 6 || of_many > bound {
            failures.note(Err(format!(
                "{mode}: {of_fewer:?} for {FEWER} functions, {of_many:?} for {MANY}, plain LD_PRELOAD {plain:?}"
            )));
        }
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD` says nothing until a function is called. One line tells of all, with their number, at the level `info`.
fn one_line(mpi: Mpi) -> Verdict {
    let count = 2_000;
    let tool = generated(mpi, count)?;
    let job = Job::alone(mpi, &program(mpi, "asks_size.c"));
    job.clone().preload(&tool).run().expect(0, &[RIGHT.to_owned()])?;
    let name = tool.display().to_string();
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &[&name]) {
        let outcome = job.run();
        failures.note(outcome.expect(0, &[RIGHT.to_owned()]).map_err(|reason| format!("{mode}: {reason}")));
        if !outcome.said().is_empty() {
            failures.note(Err(format!("{mode}: not silent\n{}", outcome.report())));
        }
        let outcome = job.env("QMPI_LOG", "info").run();
        let lines: Vec<&str> = outcome.said().into_iter().filter(|line| line.contains("absent_function_")).collect();
        let right = matches!(lines[..], [line] if line.contains("undefined_2000.so")
            && (line.contains("2000") || line.contains("1999")));
        if !right {
            let (first, lines) = (lines.first(), lines.len());
            failures.note(Err(format!("{mode}: {lines} lines instead of one with a count: {first:#?}")));
        }
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD`: ld.so looks the function up at its first call, when the program has opened the library that defines it.
fn defined_later(mpi: Mpi) -> Verdict {
    let tool = variant::build(mpi, "tests/programs/needs_definition.c", "needs_definition.so", &[]);
    let library = compile::companion(mpi, "opened_part.c").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "opens_definition.c")).args(&[library]);
    let right = ["opens_definition: 915".to_owned()];
    job.clone().preload(&tool).run().expect(0, &right)?;
    let name = tool.display().to_string();
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &[&name]) {
        failures.note(job.run().expect(0, &right).map_err(|reason| format!("{mode}: {reason}")));
    }
    failures.verdict()
}
