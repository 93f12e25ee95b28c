//! How a process ends: exit handlers and destructors of a tool run as under `LD_PRELOAD`, and those of several layers outermost first, so
//! that what a tool asks of MPI at exit reaches the layers below.

use std::path::PathBuf;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("one_as_preloaded", &Mpi::ALL, one_as_preloaded),
        ("layer_by_layer", &Mpi::ALL, layer_by_layer),
        ("the_program_finalizes", &Mpi::ALL, the_program_finalizes),
        ("two_that_report_at_exit", &Mpi::ALL, two_that_report_at_exit),
        ("above_and_below_others", &Mpi::ALL, above_and_below_others),
        ("clones_end_in_order", &Mpi::ALL, clones_end_in_order),
        ("clones_that_report_at_exit", &Mpi::ALL, clones_that_report_at_exit),
        ("a_plugin_is_closed", &Mpi::ALL, a_plugin_is_closed),
        ("threads_register", &Mpi::ALL, threads_register),
        ("ended_layers_are_passed_over", &Mpi::ALL, ended_layers_are_passed_over),
    ])
}

fn job(mpi: Mpi, mode: &str) -> Job {
    let args: Vec<String> = [mode].iter().filter(|mode| !mode.is_empty()).map(|mode| (*mode).to_owned()).collect();
    Job::alone(mpi, &program(mpi, "exits.c")).args(&args)
}

/// However the program ends, the same lines in the same order, among those of the program.
fn one_as_preloaded(mpi: Mpi) -> Verdict {
    for name in ["exit_handlers", "reports_at_exit", "cxx_exit", "quick_exits"] {
        let path = if name == "quick_exits" { compile::companion(mpi, "quick_exits.c") } else { tool(mpi, name) };
        for mode in ["", "middle", "thread", "fork", "quick", "now", "abort"] {
            // MPI cannot be finalized in the child.
            if mode == "fork" && ["reports_at_exit", "cxx_exit"].contains(&name) {
                continue;
            }
            let job = job(mpi, mode).env("EXIT_HANDLERS", "tool");
            let plain = job.clone().preload(&path).run();
            let bridged = job.stack(&[&path.display().to_string()]).run();
            if (plain.status, without_destructor(&plain)) != (bridged.status, without_destructor(&bridged)) {
                let (plain, bridged) = (plain.report(), bridged.report());
                return Err(format!("{name}, {mode:?}: another end\n{plain}\n{bridged}").into());
            }
        }
    }
    Ok(())
}

/// All lines but that of the program's destructor, which runs last (`limits.rs`).
fn without_destructor(outcome: &Outcome) -> Vec<&str> {
    outcome.stdout.lines().filter(|line| *line != "program: destructor").collect()
}

/// The order of all lines in which the end of the tools can be told.
fn expect_lines(outcome: &Outcome, status: i32, expected: &[String]) -> Verdict {
    let lines: Vec<&str> = outcome.stdout.lines().filter(|line| !line.starts_with("tool ")).collect();
    if outcome.status == status && lines == expected && outcome.said().is_empty() {
        return Ok(());
    }
    Err(format!("not {status}, {expected:#?}\n{}", outcome.report()).into())
}

/// A configuration with `names` as layers of one tool, each told its name.
fn stack_of(names: &[String], path: &str) -> Result<(tempfile::TempDir, PathBuf), Failed> {
    let directory = tempfile::tempdir()?;
    let sections =
        names.iter().map(|name| format!("[tool.{name}]\npath = {path:?}\nenv = {{ EXIT_HANDLERS = {name:?} }}\n"));
    let text = format!("stack = {names:?}\n{}", sections.collect::<String>());
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, text)?;
    Ok((directory, config))
}

fn lines_of(name: &str, what: &[&str]) -> Vec<String> {
    what.iter().map(|what| format!("{name}: {what}")).collect()
}

/// What a layer does that waits for others to end.
const WHOLE_END: [&str; 7] = ["finalize", "init2", "on_exit", "init", "more", "destructor", "constructor"];

/// The outermost layer's handlers run among those of the program, as without other layers; each other layer ends when those outside of it
/// have.
fn layer_by_layer(mpi: Mpi) -> Verdict {
    let names = ["a", "b", "c"].map(str::to_owned);
    let (_directory, config) = stack_of(&names, &tool(mpi, "exit_handlers").display().to_string())?;
    let outcome = job(mpi, "").config(&config).run();
    let mut expected = lines_of("program", &["called", "handler from behind MPI_Finalize"]);
    expected.extend(lines_of("a", &["finalize"]));
    expected.extend(lines_of("program", &["handler from behind MPI_Init"]));
    expected.extend(lines_of("a", &["init2", "on_exit", "init", "more"]));
    expected.extend(lines_of("program", &["handler from before MPI_Init"]));
    expected.extend(lines_of("a", &["destructor", "constructor"]));
    for name in ["b", "c"] {
        expected.extend(lines_of(name, &WHOLE_END));
    }
    expected.extend(lines_of("program", &["destructor"]));
    expect_lines(&outcome, 0, &expected)
}

/// A handler of the program from before MPI_Init calls MPI_Finalize: handlers that tools registered in MPI_Init have run by then.
fn the_program_finalizes(mpi: Mpi) -> Verdict {
    let names = ["a", "b"].map(str::to_owned);
    let (_directory, config) = stack_of(&names, &tool(mpi, "exit_handlers").display().to_string())?;
    let outcome = job(mpi, "middle").config(&config).run();
    let mut expected = lines_of("program", &["called", "handler from behind MPI_Init"]);
    expected.extend(lines_of("a", &["init2", "on_exit", "init", "more"]));
    expected.extend(lines_of("program", &["handler from before MPI_Init"]));
    expected.extend(lines_of("b", &["init2", "on_exit", "init"]));
    expected.extend(lines_of("a", &["finalize"]));
    expected.extend(lines_of("a", &["destructor", "constructor"]));
    expected.extend(lines_of("b", &["finalize", "more", "destructor", "constructor"]));
    expected.extend(lines_of("program", &["destructor"]));
    expect_lines(&outcome, 3, &expected)
}

/// The tool that keeps MPI_Finalize for exit, in each of its variants and in C++.
fn kinds(mpi: Mpi) -> Vec<String> {
    let variant = |name, option| compile::tool_variant(mpi, "reports_at_exit", name, &[option]);
    let tools = [
        tool(mpi, "reports_at_exit"),
        variant("destructor", "-DON_DESTRUCTOR"),
        variant("constructor", "-DON_CONSTRUCTOR"),
        tool(mpi, "cxx_exit"),
    ];
    tools.iter().map(|path| path.display().to_string()).collect()
}

/// The program has ended well, each layer has said that all was right, and the runtime nothing.
fn expect_reports(outcome: &Outcome, count: usize) -> Verdict {
    outcome.expect(0, &["done".to_owned()])?;
    let is_ok = |line: &&str| line.starts_with("tool ") && line.contains(": ok ");
    let good = outcome.stdout.lines().filter(is_ok).count();
    if good == count && outcome.count("tool ") == count && outcome.stderr.is_empty() {
        return Ok(());
    }
    Err(format!("{good} reports instead of {count}\n{}", outcome.report()).into())
}

fn two_that_report_at_exit(mpi: Mpi) -> Verdict {
    let kinds = kinds(mpi);
    let ring = Job::new(mpi, 2, &program(mpi, "ring.c"));
    for outer in &kinds {
        // Alone it ends as it does when it is preloaded.
        expect_reports(&ring.clone().preload(&PathBuf::from(outer)).run(), 1)?;
        for inner in &kinds {
            expect_reports(&ring.clone().stack(&[outer, inner]).run(), 2)?;
        }
    }
    let [plain, destructor, constructor, cxx] = &kinds[..] else { return Err("four kinds".into()) };
    expect_reports(&ring.clone().stack(&[cxx, plain, destructor]).run(), 3)?;
    expect_reports(&ring.stack(&[constructor, constructor, plain, cxx, destructor]).run(), 5)
}

/// Tools that report in MPI_Finalize, in exit handlers and in destructors, C and C++, beside one that keeps MPI_Finalize.
fn above_and_below_others(mpi: Mpi) -> Verdict {
    let others = ["exit_handlers", "atexit", "cxx_runtime", "cxx_thread_local"]
        .map(|name| tool(mpi, name).display().to_string());
    let ring = Job::new(mpi, 2, &program(mpi, "ring.c"));
    for kind in kinds(mpi) {
        for other in &others {
            expect_reports(&ring.clone().stack(&[&kind, other]).run(), 2)?;
            expect_reports(&ring.clone().stack(&[other, &kind]).run(), 2)?;
            expect_reports(&ring.clone().stack(&[other, &kind, other]).run(), 3)?;
        }
    }
    Ok(())
}

/// MPI calls functions by their public names while an inner layer finalizes it: a layer that has ended is not entered.
fn ended_layers_are_passed_over(mpi: Mpi) -> Verdict {
    let job = Job::alone(mpi, &program(mpi, "frees_at_end.c"));
    let at_exit = variant::build(mpi, "tests/programs/ends_first.c", "ends_first_at_exit.so", &["-DAT_EXIT"]);
    for outer in [compile::companion(mpi, "ends_first.c"), at_exit] {
        let plain = job.clone().preload(&outer).run();
        plain.expect(0, &["done".to_owned(), "ends_first: 2 frees".to_owned()])?;
        let outer = outer.display().to_string();
        job.clone().stack(&[&outer, &outer]).run().expect(0, &["ends_first: 2 frees".to_owned()])?;
        for inner in kinds(mpi) {
            let outcome = job.clone().stack(&[&outer, &inner]).run();
            outcome.expect(0, &["done".to_owned()])?;
            if !outcome.stderr.is_empty() || !outcome.stdout.contains(": ok ") {
                return Err(format!("{outer} above {inner}\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// More layers than namespaces, also with one among the clones that must have a namespace.
fn clones_end_in_order(mpi: Mpi) -> Verdict {
    const LAYERS: usize = 19;
    let path = tool(mpi, "exit_handlers").display().to_string();
    let names: Vec<String> = (0..LAYERS).map(|number| format!("l{number}")).collect();
    let (directory, config) = stack_of(&names, &path)?;
    let mut expected = lines_of("program", &["called", "handler from behind MPI_Finalize"]);
    expected.extend(lines_of("l0", &["finalize"]));
    expected.extend(lines_of("program", &["handler from behind MPI_Init"]));
    expected.extend(lines_of("l0", &["init2", "on_exit", "init", "more"]));
    expected.extend(lines_of("program", &["handler from before MPI_Init"]));
    expected.extend(lines_of("l0", &["destructor", "constructor"]));
    expected.extend(names[1..].iter().flat_map(|name| lines_of(name, &WHOLE_END)));
    expected.extend(lines_of("program", &["destructor"]));
    expect_lines(&job(mpi, "").config(&config).run(), 0, &expected)?;
    // One that must have a namespace stands between the clones; it prints nothing of the kind.
    let text = std::fs::read_to_string(&config)?.replace("\"l17\", ", "\"l17\", \"own\", ");
    let own = tool(mpi, "closure").display().to_string();
    std::fs::write(directory.path().join("own.toml"), format!("{text}[tool.own]\npath = {own:?}\n"))?;
    expect_lines(&job(mpi, "").config(&directory.path().join("own.toml")).run(), 0, &expected)
}

fn clones_that_report_at_exit(mpi: Mpi) -> Verdict {
    let kinds = kinds(mpi);
    let list: Vec<&str> = kinds.iter().map(String::as_str).cycle().take(18).collect();
    expect_reports(&Job::new(mpi, 2, &program(mpi, "ring.c")).stack(&list).run(), list.len())
}

/// Handlers of a plugin run when the tool closes it, and are forgotten.
fn a_plugin_is_closed(mpi: Mpi) -> Verdict {
    let path = compile::companion(mpi, "closes_plugin.c");
    let ring = Job::new(mpi, 2, &program(mpi, "ring.c"));
    expect_reports(&ring.clone().preload(&path).run(), 1)?;
    let path = path.display().to_string();
    expect_reports(&ring.clone().stack(&[&path]).run(), 1)?;
    expect_reports(&ring.stack(&[&path, &path]).run(), 2)
}

fn threads_register(mpi: Mpi) -> Verdict {
    let path = compile::companion(mpi, "registers_in_threads.c");
    let ring = Job::new(mpi, 2, &program(mpi, "ring.c"));
    expect_reports(&ring.clone().preload(&path).run(), 1)?;
    let path = path.display().to_string();
    expect_reports(&ring.stack(&[&path, &path]).run(), 2)
}
