//! Unwinding through layers: exceptions, pthread_cancel, pthread_exit, and libgfortran's back trace.
//!
//! Under plain LD_PRELOAD all objects of the process share one libgcc_s and one libstdc++, so every unwinder finds the frames of all
//! objects, the destructors of a wrapper run, and the program catches what a tool throws. Where the tool or the program has a copy of
//! libgcc and libstdc++ linked statically, that is so for exceptions only: forced unwinding (pthread_cancel, pthread_exit) always uses
//! libgcc_s, and the static copy's personality routine aborts. What works under LD_PRELOAD has to work in a stack.

use std::fmt::Write;
use std::path::PathBuf;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("tool", &Mpi::ALL, |mpi| alone(mpi, "unwinding.cc", "unwinding_tool", &MODES)),
        ("static_tool", &Mpi::ALL, |mpi| alone(mpi, "unwinding.cc", "unwinding_tool_static", &EXCEPTIONS)),
        ("static_program", &Mpi::ALL, |mpi| alone(mpi, "unwinding_static.cc", "unwinding_tool", at_preload(mpi))),
        ("both_static", &Mpi::ALL, |mpi| alone(mpi, "unwinding_static.cc", "unwinding_tool_static", at_preload(mpi))),
        ("several_layers", &Mpi::ALL, several_layers),
        ("inner_layer_throws", &Mpi::ALL, inner_layer_throws),
        ("fortran_backtrace", &Mpi::ALL, fortran_backtrace),
    ])
}

/// The ways in which a call ends: arguments of `tests/programs/unwinding.cc`.
const MODES: [&str; 7] = ["cancel", "exit", "handler", "callback", "thrown", "own", "tool_exit"];
const EXCEPTIONS: [&str; 4] = ["handler", "callback", "thrown", "own"];

/// What works under LD_PRELOAD where the program has a static copy of libgcc and libstdc++: exceptions on Open MPI 4, since mpicxx links
/// its C++ library, which brings libstdc++ into the process before the tool does. Open MPI 5 has no such library; there, and on MPICH,
/// each exception ends the process under LD_PRELOAD.
fn at_preload(mpi: Mpi) -> &'static [&'static str] {
    let has_cxx_library = mpi.defined("OMPI_MAJOR_VERSION").is_some_and(|major| major < 5);
    if has_cxx_library { &EXCEPTIONS } else { &[] }
}

fn job(mpi: Mpi, file: &str, mode: &str) -> Job {
    Job::alone(mpi, &program(mpi, file)).args(&[mode.to_owned()])
}

/// The program's line, with its own destructor, and so many layers that were called once and destroyed their object.
fn expect(outcome: &Outcome, mode: &str, layers: usize) -> Result<(), String> {
    outcome.expect(0, &[format!("unwinding: {mode}: ended as expected, 1 destructor")])?;
    if outcome.count("tool unwinding_tool: ok calls=1 destroyed=1") == layers {
        return Ok(());
    }
    Err(format!("not {layers} layers with one call and one destructor\n{}", outcome.report()))
}

/// What failed; the whole output only of the first.
fn verdict(failures: &[String]) -> Verdict {
    let Some(first) = failures.first() else { return Ok(()) };
    let heads: Vec<&str> = failures.iter().filter_map(|failure| failure.lines().next()).collect();
    Err(format!("{} failed\n{}\n\n{first}", failures.len(), heads.join("\n")).into())
}

/// One tool. `works`: what works under LD_PRELOAD and is therefore required; whatever else does is required as well.
fn alone(mpi: Mpi, file: &str, name: &str, works: &[&str]) -> Verdict {
    let library = tool(mpi, name);
    let mut failures = Vec::new();
    for mode in MODES {
        let preloaded = expect(&job(mpi, file, mode).preload(&library).run(), mode, 1);
        match preloaded {
            Err(reason) if works.contains(&mode) => return Err(format!("LD_PRELOAD, {mode}: {reason}").into()),
            Err(_) => continue,
            Ok(()) => {}
        }
        let stacked = job(mpi, file, mode).stack(&[&library.display().to_string()]).run();
        failures.extend(expect(&stacked, mode, 1).err().map(|reason| format!("{mode}: {reason}")));
    }
    // A run without any tool in the stack is a run of the program.
    for mode in ["cancel", "exit", "handler", "callback"] {
        if job(mpi, file, mode).run().status == 0 {
            let empty = job(mpi, file, mode).stack(&[]).run();
            failures.extend(expect(&empty, mode, 0).err().map(|reason| format!("empty stack, {mode}: {reason}")));
        }
    }
    verdict(&failures)
}

/// Two instances of one tool, two tools, and a tool in C above and below: what unwinds passes all of them.
fn several_layers(mpi: Mpi) -> Verdict {
    const STACKS: [(&[&str], usize); 5] = [
        (&["unwinding_tool", "unwinding_tool"], 2),
        (&["unwinding_tool", "unwinding_tool_static"], 2),
        (&["unwinding_tool_static", "unwinding_tool"], 2),
        (&["unwinding_tool", "counter"], 1),
        (&["counter", "unwinding_tool"], 1),
    ];
    let mut failures = Vec::new();
    for (names, layers) in STACKS {
        // Forced unwinding through a static copy aborts under LD_PRELOAD, too.
        let modes = if names.contains(&"unwinding_tool_static") { &EXCEPTIONS[..2] } else { &MODES[..4] };
        let tools: Vec<String> = names.iter().map(|name| tool(mpi, name).display().to_string()).collect();
        for mode in modes {
            let stacked =
                job(mpi, "unwinding.cc", mode).stack(&tools.iter().map(String::as_str).collect::<Vec<_>>()).run();
            failures.extend(expect(&stacked, mode, layers).err().map(|reason| format!("{names:?}, {mode}: {reason}")));
        }
    }
    verdict(&failures)
}

/// What an inner layer throws passes the wrapper of the outer one, and the program catches it.
fn inner_layer_throws(mpi: Mpi) -> Verdict {
    let mut failures = Vec::new();
    for (outer, inner) in [
        ("unwinding_tool", "unwinding_tool"),
        ("unwinding_tool", "unwinding_tool_static"),
        ("unwinding_tool_static", "unwinding_tool"),
    ] {
        let config = passing(&tool(mpi, outer), &tool(mpi, inner))?;
        let is_static = [outer, inner].contains(&"unwinding_tool_static");
        for mode in ["thrown", "own", "tool_exit"] {
            if mode == "tool_exit" && is_static {
                continue; // Aborts under LD_PRELOAD, too.
            }
            let stacked = job(mpi, "unwinding.cc", mode).config(&config.path().join("qmpi.toml")).run();
            let result = expect(&stacked, mode, 2);
            failures.extend(result.err().map(|reason| format!("{outer} above {inner}, {mode}: {reason}")));
        }
    }
    verdict(&failures)
}

/// A configuration whose outer layer leaves throwing to the inner one.
fn passing(outer: &PathBuf, inner: &PathBuf) -> Result<tempfile::TempDir, Failed> {
    let directory = tempfile::tempdir()?;
    let mut text = String::from("stack = [\"outer\", \"inner\"]\n");
    writeln!(text, "[tool.outer]\npath = {outer:?}\nenv = {{ UNWINDING_PASSES = \"1\" }}")?;
    writeln!(text, "[tool.inner]\npath = {inner:?}")?;
    std::fs::write(directory.path().join("qmpi.toml"), text)?;
    Ok(directory)
}

/// The functions that libgfortran names, innermost first: in a reduction that prints its stack, and at a crash in a tool. It reads
/// the debugging information of the objects that `dl_iterate_phdr` lists to the base namespace.
fn fortran_backtrace(mpi: Mpi) -> Verdict {
    let library = compile::companion(mpi, "crashes_in_barrier.c");
    // Without libfabric, which Open MPI opens otherwise: Debian 11's takes libgfortran's handler of SIGSEGV away in MPI_Init.
    let job = Job::alone(mpi, &program(mpi, "fortran_backtrace.f90")).env("OMPI_MCA_pml", "ob1");
    for (signal, function) in [("none", "mpi_reduce_local_"), ("SIGSEGV", "crashes_here"), ("SIGFPE", "crashes_here")] {
        let job = job.clone().env("CRASHES", signal);
        let preloaded = job.clone().preload(&library).run();
        let expected = named(&preloaded);
        for name in [function, "__fortran_backtrace_parts_MOD_inner"] {
            if !expected.contains(&name.to_owned()) {
                return Err(format!("LD_PRELOAD, {signal}: {name} is not named\n{}", preloaded.report()).into());
            }
        }
        let stacked = job.clone().stack(&[&library.display().to_string()]).run();
        if named(&stacked) != expected {
            return Err(format!("{signal}: not {expected:?}\n{}", stacked.report()).into());
        }
        // A layer below adds frames; the names of the outer one stay.
        let twice = job.stack(&[&library.display().to_string(), &tool(mpi, "counter").display().to_string()]).run();
        if let Some(name) = expected.iter().find(|name| !named(&twice).contains(name)) {
            return Err(format!("{signal}, above counter: {name} is not named\n{}", twice.report()).into());
        }
    }
    Ok(())
}

/// `#3  0x7f0123456789 in crashes_here`: the names, without those of the C library's frames.
fn named(outcome: &Outcome) -> Vec<String> {
    let frames = outcome.stderr.lines().filter(|line| line.starts_with('#'));
    let names = frames.filter_map(|line| line.split_once(" in ")).map(|(_, name)| name.trim());
    names.filter(|name| *name != "???").map(str::to_owned).collect()
}
