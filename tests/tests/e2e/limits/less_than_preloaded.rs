//! Where a tool has less in a stack than under plain `LD_PRELOAD`: each difference that docs/namespaces.md states is there, and no larger.
//! Where one is gone, its test fails, and its row has to go.

use std::path::{Path, PathBuf};

use qmpi_tests::against::{Failures, prints, stacked};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("constructors_of_linked_libraries", &Mpi::ALL, constructors_of_linked_libraries),
        ("constructors_in_a_program_for_gprof", &Mpi::ALL, constructors_in_a_program_for_gprof),
        ("libraries_with_an_init_of_their_own", &Mpi::ALL, libraries_with_an_init_of_their_own),
        ("destructors_of_the_program", &Mpi::ALL, destructors_of_the_program),
        ("wrappers_that_the_file_does_not_show", &Mpi::ALL, wrappers_that_the_file_does_not_show),
        ("tools_below", &Mpi::ALL, tools_below),
        ("gotcha_alone", &Mpi::ALL, gotcha_alone),
        ("tools_that_are_searched_for", &Mpi::ALL, tools_that_are_searched_for),
    ])
}

fn expect(mode: &str, outcome: &Outcome, line: &str) -> Result<(), String> {
    outcome.expect(0, &[line.to_owned()]).map_err(|reason| format!("{mode}: {reason}"))
}

/// The tool of most of these tests.
fn sees_less(mpi: Mpi) -> PathBuf {
    compile::companion(mpi, "sees_less.c")
}

/// Its program.
fn shows_less(mpi: Mpi) -> Job {
    let program = program(mpi, "shows_less.c");
    let library = compile::companion(mpi, "shows_less_late.c").display().to_string();
    Job::alone(mpi, &program).args(&[library])
}

/// How many calls of a function the tool has seen; `None` where it is not in the process.
fn seen(outcome: &Outcome, function: &str) -> Option<usize> {
    let counts = outcome.stdout.lines().find_map(|line| line.strip_prefix("sees_less: "))?;
    counts.split(' ').skip_while(|word| *word != function).nth(1)?.parse().ok()
}

/// The tool sees so many calls of a function when it is preloaded, and so many in a stack, in both ways to ask for one.
fn sees(job: &Job, tool: &Path, function: &str, preloaded: Option<usize>, in_stack: Option<usize>) -> Verdict {
    let mut failures = Failures::default();
    let plain = ("LD_PRELOAD", job.clone().preload(tool), preloaded);
    let stacks = stacked(job, &[&tool.display().to_string()]).map(|(mode, job)| (mode, job, in_stack));
    for (mode, job, wanted) in [plain].into_iter().chain(stacks) {
        let outcome = job.run();
        failures.note(outcome.expect(0, &[]).and_then(|()| match seen(&outcome, function) {
            found if found == wanted => Ok(()),
            _ => Err(format!("{mode}: {function}: not {wanted:?}\n{}", outcome.report())),
        }));
    }
    failures.verdict()
}

/// Of four calls the first is in the constructor of a library that the program is linked with, which runs before a stack is there; so does that of
/// libqmpi.so's own, behind which the program's follows.
fn constructors_of_linked_libraries(mpi: Mpi) -> Verdict {
    sees(&shows_less(mpi), &sees_less(mpi), "open", Some(4), Some(3))
}

/// The program has what libraries call before their constructors: one that it opens is noticed by the first look-up.
fn constructors_in_a_program_for_gprof(mpi: Mpi) -> Verdict {
    compile::companion(mpi, "shows_less_part.c");
    let options = ["-pg", "-l:shows_less_part.so"];
    let program = variant::build(mpi, "tests/programs/shows_less.c", "shows_less_gprof", &options);
    let directory = tempfile::tempdir()?;
    let profile = directory.path().join("gmon").display().to_string();
    let library = compile::companion(mpi, "shows_less_late.c").display().to_string();
    let job = Job::alone(mpi, &program).args(&[library]).env("GMON_OUT_PREFIX", profile);
    sees(&job, &sees_less(mpi), "open", Some(4), Some(2))
}

/// A library that the program opens and whose DT_INIT is not the compiler's (libnuma is one) is noticed by the first look-up, here the last of its
/// constructor's seven calls.
fn libraries_with_an_init_of_their_own(mpi: Mpi) -> Verdict {
    let options = ["-DLATE", "-DSINGLE", "-Wl,-init=begin"];
    let late = variant::build(mpi, "tests/programs/constructors_part.c", "constructors_late_init.so", &options);
    let job = Job::alone(mpi, &program(mpi, "constructors.c")).args(&[late.display().to_string()]);
    let line = |before, after| format!("constructed_tool: before {before} after {after} initialized 0 arguments 1");
    prints(&job, &compile::companion(mpi, "constructed_tool.c"), &line(3, 7), &line(0, 1))
}

/// `ld.so` finalizes the program's namespace last: functions that the program has as destructors run behind those of tools.
fn destructors_of_the_program(mpi: Mpi) -> Verdict {
    let path = tool(mpi, "exit_handlers");
    let job = Job::alone(mpi, &program(mpi, "exits.c")).env("EXIT_HANDLERS", "tool");
    let order = |job: &Job| -> Vec<String> {
        let outcome = job.run();
        let lines = outcome.stdout.lines().filter(|line| line.ends_with(": destructor"));
        lines.map(str::to_owned).collect()
    };
    let [of_program, of_tool] = ["program: destructor", "tool: destructor"].map(str::to_owned);
    let mut failures = Failures::default();
    let mut check = |mode: &str, found: Vec<String>, wanted: [&String; 2]| {
        if !found.iter().eq(wanted) {
            failures.note(Err(format!("{mode}: {found:?}")));
        }
    };
    check("LD_PRELOAD", order(&job.clone().preload(&path)), [&of_program, &of_tool]);
    for (mode, job) in stacked(&job, &[&path.display().to_string()]) {
        check(mode, order(&job), [&of_tool, &of_program]);
    }
    failures.verdict()
}

/// One that calls the kernel itself, and one of `malloc` without `free`; `wraps` has them called.
fn wrappers_that_the_file_does_not_show(mpi: Mpi) -> Verdict {
    let (job, tool) = (shows_less(mpi), sees_less(mpi));
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    for function in ["getsid", "malloc"] {
        sees(&job, &tool, function, Some(1), Some(0))?;
        for wraps in ["\"all\"".to_owned(), format!("[{function:?}]")] {
            std::fs::write(&config, format!("stack = [\"t\"]\n[tool.t]\npath = {tool:?}\nwraps = {wraps}\n"))?;
            let outcome = job.clone().config(&config).run();
            if seen(&outcome, function) != Some(1) {
                return Err(format!("wraps = {wraps}: {function} not once\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// A preloaded tool sees what any other does, in whatever order; a layer sees what those above it do.
fn tools_below(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let log = directory.path().join("marker").display().to_string();
    let job = shows_less(mpi).env("OPENS_AT_INIT", log);
    let (tool, other) = (sees_less(mpi), compile::companion(mpi, "opens_at_init.c"));
    let alone = seen(&job.clone().preload(&tool).run(), "open").ok_or("LD_PRELOAD: no report")?;
    let in_stack =
        seen(&job.clone().stack(&[&tool.display().to_string()]).run(), "open").ok_or("in a stack: no report")?;
    let mut failures = Failures::default();
    for (outer, inner, more) in [(&tool, &other, 0), (&other, &tool, 1)] {
        let names = [outer, inner].map(|path| path.display().to_string());
        let preloaded = job.clone().preload(outer).preload(inner).run();
        let layers = job.clone().stack(&[&names[0], &names[1]]).run();
        for (outcome, wanted) in [(preloaded, alone + 1), (layers, in_stack + more)] {
            if seen(&outcome, "open") != Some(wanted) {
                failures.note(Err(format!("open: not {wanted}\n{}", outcome.report())));
            }
        }
    }
    failures.verdict()
}

/// A tool as those that are made with GOTCHA is no layer where it has no ordinary wrapper; beside a stack it works (`base_tools::*::rewritten_tables`).
fn gotcha_alone(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "rewrites_tables.c");
    let job = Job::alone(mpi, &program(mpi, "ring.c"));
    let mut failures = Failures::default();
    failures.note(expect("LD_PRELOAD", &job.clone().preload(&tool).run(), "rewrites_tables: 1 calls"));
    failures.note(refused(&job.stack(&[&tool.display().to_string()]).run()));
    failures.verdict()
}

/// Without a wrapper under the name of a function of MPI it is no layer, and the reason says what to do instead.
fn refused(outcome: &Outcome) -> Result<(), String> {
    let is_reason = |line: &&str| line.contains("GOTCHA") && line.contains("LD_PRELOAD");
    if outcome.status == 3 && outcome.said().iter().any(is_reason) {
        return Ok(());
    }
    Err(format!("as a layer: not refused with the reason\n{}", outcome.report()))
}

/// `ld.so` finds the tool's file in LD_LIBRARY_PATH.
fn tools_that_are_searched_for(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "counting_api.c");
    let names = ["counting_api.so", "counting_api.so", "counting_binding.so"].map(str::to_owned);
    let search = compile::directory(mpi).display().to_string();
    let job = Job::alone(mpi, &program(mpi, "opens_its_tool.c")).args(&names).env("LD_LIBRARY_PATH", search);
    prints(&job, &tool, "link: 3", "link: 0")?;
    prints(&job, &tool, "soname: 3", "soname: 3")
}
