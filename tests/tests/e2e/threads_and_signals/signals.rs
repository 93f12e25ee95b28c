//! A tool that takes samples of the stack in a signal handler, as profilers do: the signal arrives anywhere, in `malloc`, in the dynamic
//! linker, in MPI, and in libqmpi.so; what it interrupts must not be harmed, and the walk must lead to `main`. And handlers that call MPI,
//! outside of MPI: where their calls go.
//!
//! `QMPI_TEST_SECONDS=60` for a long run.

use std::process::Command;

use qmpi_tests::against::{Failures, number, repeated, stacked};
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("backtrace", &Mpi::ALL, |mpi| sampled(mpi, "backtrace", 0)),
        ("unwind", &Mpi::ALL, |mpi| sampled(mpi, "unwind", 0)),
        ("libunwind", &Mpi::ALL, |mpi| sampled(mpi, "libunwind", 0)),
        ("libunwind_while_threads_open", &Mpi::ALL, |mpi| sampled(mpi, "libunwind", 2)),
        ("backtrace_while_threads_open", &Mpi::ALL, |mpi| sampled(mpi, "backtrace", 2)),
        ("unwind_while_threads_open", &Mpi::ALL, |mpi| sampled(mpi, "unwind", 2)),
        ("handlers_call_mpi", &Mpi::ALL, handlers_call_mpi),
    ])
}

/// Plain `LD_PRELOAD` of the sampler: 1,000 samples a second, nothing is harmed. In a stack of three each instance says so.
fn sampled(mpi: Mpi, how: &str, threads: usize) -> Verdict {
    let directory = tempfile::tempdir()?;
    let seconds = number("QMPI_TEST_SECONDS", 2);
    let mut args = vec![seconds.to_string()];
    let part = compile::companion(mpi, "opened_part.c");
    for number in 0..threads {
        let copy = directory.path().join(format!("part{number}.so"));
        std::fs::copy(&part, &copy)?;
        args.push(copy.display().to_string());
    }
    let (name, options): (_, &[&str]) = match how {
        "libunwind" => ("sampler_libunwind.so", &["-DWITH_LIBUNWIND", "-lunwind"]),
        _ => ("sampler.so", &[]),
    };
    let sampler = variant::build(mpi, "tests/programs/sampler.c", name, options);
    let patience = u32::try_from(seconds)? + 30;
    let job = Job::alone(mpi, &program(mpi, "sampled.c")).args(&args).within(patience).env("SAMPLER", how);
    // UCX, which MPICH uses, takes a lock in mmap, which libunwind calls in the handler: without libqmpi that hangs at times.
    let job = job.env("COUNTER", "file=/dev/null").env("UCX_MEM_EVENTS", "n");
    // libunwind's walk takes the dynamic linker's lock in the handler, with every glibc: the program must not ask the linker (sampled.c).
    let job = if how == "libunwind" { job.env("SAMPLED", "no-linker") } else { job };
    let right = ["sampled: 0 wrong", "sampler: ok"].map(str::to_owned);
    if how != "libunwind" && unwinders_ask_the_dynamic_linker() {
        return hangs_preloaded(&job.preload(&sampler), &right);
    }
    repeated("plain LD_PRELOAD", &job.clone().preload(&sampler), 2, 0, &right)?;
    let counter = tool(mpi, "counter").display().to_string();
    let sampler = sampler.display().to_string();
    let mut failures = Failures::default();
    for tools in [[&counter, &sampler, &counter], [&sampler, &sampler, &sampler]] {
        for (mode, job) in stacked(&job, &tools.map(String::as_str)) {
            let samplers = tools.iter().filter(|tool| **tool == &sampler).count();
            let outcome = job.run();
            let expected = outcome.expect(0, &right).and_then(|()| {
                let said = outcome.count("sampler: ok");
                let why = || format!("{said} of {samplers} instances are well\n{}", outcome.report());
                if said == samplers && outcome.said().is_empty() { Ok(()) } else { Err(why()) }
            });
            failures.note(expected.map_err(|reason| format!("{mode}, {samplers} samplers: {reason}")));
        }
    }
    failures.verdict()
}

/// Is glibc older than 2.35? Its unwinders ask `dl_iterate_phdr` for the object of each frame, which takes a lock of the dynamic linker.
fn unwinders_ask_the_dynamic_linker() -> bool {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let minor = text.trim().strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    minor.unwrap_or_else(|| panic!("getconf GNU_LIBC_VERSION says {text:?}")) < 35
}

/// A walk in the handler deadlocks there in many of the runs under plain `LD_PRELOAD` (glibc 2.31: three of four with `_Unwind_Backtrace`, one
/// of four with `backtrace`), so that nothing can be asked of a stack. This makes sure that it is so.
fn hangs_preloaded(job: &Job, right: &[String]) -> Verdict {
    const RUNS: usize = 20;
    let wrong = (0..RUNS).map(|_| job.run()).find(|outcome| outcome.expect(0, right).is_err());
    match wrong {
        Some(_) => Ok(()),
        None => Err(format!("under plain LD_PRELOAD {RUNS} runs went well: compare stacks with them").into()),
    }
}

/// The program's handler enters the stack at the top, a tool's goes on below it, by whatever name it calls; with hidden own calls
/// it goes to the MPI library. The last number of a line is that of the handler's calls under MPI's own name, which its own wrapper sees.
fn handlers_call_mpi(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "calls_in_handler.c");
    let job = Job::alone(mpi, &program(mpi, "handlers.c"));
    let done = "handlers: 5";
    let line =
        |label: &str, rank: usize| format!("tool calls_in_handler {label}: handled 5, size 5, rank {rank}, own 5");
    let lines = |layers: &[(&str, usize)]| -> Vec<String> {
        layers.iter().map(|(label, rank)| line(label, *rank)).chain([done.to_owned()]).collect()
    };
    job.clone().preload(&tool).run().expect(0, &lines(&[("alone", 0)]))?;
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    for (own_calls, seen_by_inner) in [("visible", 3 * 5), ("hidden", 0)] {
        let section = |name: &str| {
            format!(
                "[tool.{name}]\npath = {tool:?}\nown_calls = \"{own_calls}\"\nenv = {{ CALLS_IN_HANDLER = \"{name}\" }}\n"
            )
        };
        std::fs::write(&config, format!("stack = [\"outer\", \"inner\"]\n{}{}", section("outer"), section("inner")))?;
        let outcome = job.clone().config(&config).run();
        let expected = lines(&[("outer", 0), ("inner", seen_by_inner)]);
        outcome.expect(0, &expected).map_err(|reason| format!("{own_calls}: {reason}"))?;
    }
    Ok(())
}
