//! Tools of the 2018 thesis's prototype: alone, in the order of `TOOLS`, between tools of other kinds.

use std::fmt::Write;
use std::path::PathBuf;

use qmpi_tests::product;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("stack_of_the_thesis", &Mpi::ALL, stack_of_the_thesis),
        ("two_reports", &Mpi::ALL, two_reports),
        ("between_tools_of_other_kinds", &Mpi::ALL, between_tools_of_other_kinds),
        ("pcontrol", &Mpi::ALL, pcontrol),
        ("pcontrol_among_pmpi_tools", &Mpi::ALL, pcontrol_among_pmpi_tools),
        ("settings", &Mpi::ALL, settings),
        ("not_a_list_of_tools", &Mpi::ALL, not_a_list_of_tools),
        ("not_a_list_of_tools_said_once", &Mpi::ALL, not_a_list_of_tools_said_once),
        ("back_traces_reach_main", &Mpi::ALL, back_traces_reach_main),
        ("misuse", &Mpi::ALL, misuse),
        ("tools_that_do_not_load", &Mpi::ALL, tools_that_do_not_load),
        ("as_it_was", &Mpi::ALL, as_it_was),
        ("header_in_cxx", &Mpi::ALL, header_in_cxx),
    ])
}

fn path(mpi: Mpi, name: &str) -> String {
    tool(mpi, name).display().to_string()
}

/// As the thesis has it: the runtime preloaded, `TOOLS=path:path`.
fn with_tools(mpi: Mpi, ranks: usize, file: &str, tools: &[&str]) -> Job {
    Job::new(mpi, ranks, &program(mpi, file)).preload(&product::runtime()).env("TOOLS", tools.join(":"))
}

/// The lines that begin with `prefix` must be these, each so often, and we must be silent.
fn expect(outcome: &Outcome, prefix: &str, expected: &[(&str, usize)]) -> Verdict {
    outcome.expect(0, &[])?;
    let sum: usize = expected.iter().map(|(_, times)| times).sum();
    let wrong = expected
        .iter()
        .find(|(line, times)| outcome.stdout.lines().filter(|printed| printed == line).count() != *times);
    if let Some((line, times)) = wrong {
        return Err(format!("{line:?} does not stand {times} times on stdout\n{}", outcome.report()).into());
    }
    if outcome.count(prefix) != sum || !outcome.said().is_empty() {
        return Err(format!("more than {sum} lines\n{}", outcome.report()).into());
    }
    Ok(())
}

/// One element is no shared object: nothing is loaded, and it is said if the list seems to be ours.
fn not_a_list_of_tools(mpi: Mpi) -> Verdict {
    let t1 = path(mpi, "thesis_t1");
    for (tools, log, said) in [
        (&[t1.as_str(), "/nowhere/libt2.so"][..], "warn", 2),
        (&["./make", "./gcc"], "warn", 2),
        (&["make gcc"], "warn", 0),
        (&["make gcc"], "info", 1),
    ] {
        let outcome = with_tools(mpi, 2, "gathers.c", tools).env("QMPI_LOG", log).run();
        outcome.expect(0, &["gathers: 1 2 and 1 2 2".to_owned()])?;
        let lines = outcome.said();
        let is_named = lines.first().is_none_or(|line| line.contains("TOOLS is set, but passed over: `"));
        if lines.len() != said || !is_named || outcome.count("T1") > 0 {
            return Err(format!("not {said} lines\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// What is asked for is read again if a library has been opened since, by a constructor.
fn not_a_list_of_tools_said_once(mpi: Mpi) -> Verdict {
    let t1 = path(mpi, "thesis_t1");
    let outcome = with_tools(mpi, 2, "opens_at_start.c", &[&t1, "/nowhere/libt2.so"]).run();
    outcome.expect(0, &["opened at start: 1".to_owned()])?;
    // With its hint.
    if outcome.said().len() == 2 { Ok(()) } else { Err(format!("not once\n{}", outcome.report()).into()) }
}

/// T1, TBcast, T1: a program with calls of zero to eight arguments.
fn stack_of_the_thesis(mpi: Mpi) -> Verdict {
    let (t1, tbcast) = (path(mpi, "thesis_t1"), path(mpi, "thesis_tbcast"));
    let outcome = with_tools(mpi, 2, "gathers.c", &[&t1, &tbcast, &t1]).run();
    outcome.expect(0, &["gathers: 1 2 and 1 2 2".to_owned()])?;
    let functions = ["Init", "Comm_rank", "Comm_size", "Allgather", "Allgatherv", "Finalize"];
    let lines: Vec<String> = functions
        .iter()
        .flat_map(|function| [1, 3].map(|level| format!("T1 MPI_{function} at level {level}")))
        .collect();
    let lines: Vec<(&str, usize)> = lines.iter().map(|line| (line.as_str(), 2)).collect();
    expect(&outcome, "T1 ", &lines)?;
    // TBcast asks for rank and size, and only layers below it see that.
    let outcome = with_tools(mpi, 4, "ring.c", &[&t1, &tbcast, &t1]).run();
    outcome.expect(0, &["done".to_owned(), "bcast: 42 everywhere".to_owned()])?;
    let lines = [("T1 MPI_Comm_rank at level 1", 4), ("T1 MPI_Comm_rank at level 3", 8)];
    for (line, times) in lines {
        if outcome.count(line) != times {
            return Err(format!("{line:?} does not stand {times} times on stdout\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// What the outer and the inner counter of the 2018 prototype say of ring.c with TBcast between them.
fn reports(outer: usize, inner: usize) -> [String; 2] {
    [
        format!("thesis_counter at level {outer}: Send 12 Recv 12 Sendrecv 4 Bcast 4 Allreduce 8 Barrier 4 Wtime 5"),
        format!("thesis_counter at level {inner}: Send 15 Recv 15 Sendrecv 4 Allreduce 8 Barrier 4 Wtime 5"),
    ]
}

/// Two instances share a library, and count apart: broadcasts above, sends and receives below.
fn two_reports(mpi: Mpi) -> Verdict {
    let (counter, tbcast) = (path(mpi, "thesis_counter"), path(mpi, "thesis_tbcast"));
    let tools = [counter.as_str(), &tbcast, &counter];
    let by_variable = with_tools(mpi, 4, "ring.c", &tools);
    let by_command = Job::new(mpi, 4, &program(mpi, "ring.c")).stack(&tools);
    for job in [by_variable, by_command] {
        let outcome = job.run();
        outcome.expect(0, &["done".to_owned()])?;
        let [outer, inner] = reports(1, 3);
        expect(&outcome, "thesis_counter ", &[(&outer, 1), (&inner, 1)])?;
    }
    Ok(())
}

/// PMPI tools above, between and below see what the thesis's tools pass on, and the other way round.
fn between_tools_of_other_kinds(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = |name: &str| directory.path().join(name).display().to_string();
    let mut text = "stack = [\"a\", \"outer\", \"b\", \"tbcast\", \"inner\", \"c\"]\n".to_owned();
    for (name, tool) in [("outer", "thesis_counter"), ("tbcast", "thesis_tbcast"), ("inner", "thesis_counter")] {
        writeln!(text, "[tool.{name}]\npath = {:?}", path(mpi, tool))?;
    }
    for name in ["a", "b", "c"] {
        let setting = format!("label={name},file={}", file(name));
        writeln!(text, "[tool.{name}]\npath = {:?}\nenv = {{ COUNTER = {setting:?} }}", path(mpi, "counter"))?;
    }
    let config = file("qmpi.toml");
    std::fs::write(&config, text)?;
    let outcome = Job::new(mpi, 4, &program(mpi, "ring.c")).config(&PathBuf::from(config)).run();
    outcome.expect(0, &["done".to_owned()])?;
    let [outer, inner] = reports(2, 5);
    expect(&outcome, "thesis_counter ", &[(&outer, 1), (&inner, 1)])?;
    // Calls of MPI_Reduce: 8 of the program, 4 of each layer further outside that sums up.
    for (name, bcast, send, reduce) in [("a", Some(4), 12, 8), ("b", Some(4), 12, 16), ("c", None, 15, 24)] {
        let table = std::fs::read_to_string(file(name))?;
        let calls = |function: &str| {
            let row = table.lines().find(|line| line.split_whitespace().next() == Some(function))?;
            row.split_whitespace().nth(1)?.parse::<usize>().ok()
        };
        if (calls("MPI_Bcast"), calls("MPI_Send"), calls("MPI_Reduce")) != (bcast, Some(send), Some(reduce)) {
            return Err(format!("{name}: not {bcast:?} broadcasts, {send} sends\n{table}\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

fn heard(ranks: usize, levels: &[usize]) -> Vec<(String, usize)> {
    let calls = levels.iter().flat_map(|level| [0, 1, 2].map(|call| (call, level)));
    calls.map(|(call, level)| (format!("T1 MPI_Pcontrol({call}) at level {level}"), ranks)).collect()
}

fn expect_heard(outcome: &Outcome, levels: &[usize]) -> Verdict {
    outcome.expect(0, &["pcontrol: 3 calls".to_owned()])?;
    let heard = heard(2, levels);
    let heard: Vec<(&str, usize)> = heard.iter().map(|(line, times)| (line.as_str(), *times)).collect();
    expect(outcome, "T1 MPI_Pcontrol", &heard)
}

/// Each hears of each call once, though none passes it on.
fn pcontrol(mpi: Mpi) -> Verdict {
    let (t1, tbcast) = (path(mpi, "thesis_t1"), path(mpi, "thesis_tbcast"));
    expect_heard(&with_tools(mpi, 2, "pcontrol.c", &[&t1, &tbcast, &t1, &t1]).run(), &[1, 3, 4])
}

/// PMPI tools below hear of it with all arguments, whether those above pass it on or not.
fn pcontrol_among_pmpi_tools(mpi: Mpi) -> Verdict {
    let [t1, takes, passes] = ["thesis_t1", "pcontrol", "pcontrol_passes"].map(|name| path(mpi, name));
    let job = Job::new(mpi, 2, &program(mpi, "pcontrol.c"));
    let outcome = job.stack(&[&t1, &takes, &t1, &passes, &t1, &takes]).run();
    expect_heard(&outcome, &[1, 3, 5])?;
    let (of_takes, of_passes) =
        ("tool pcontrol: ok calls=3 levels=0,1,2 extra=text,2.5,17", "tool pcontrol_passes: ok calls=3 levels=0,1,2");
    // PMPI_Pcontrol(level) of the one in the middle drops the other arguments.
    let pmpi = outcome.stdout.lines().filter(|line| line.starts_with("tool ")).count();
    if outcome.count(of_takes) < 1 || outcome.count("tool pcontrol: ok calls=3 levels=0,1,2") != 2 {
        return Err(outcome.report().into());
    }
    if outcome.count(of_passes) == 1 && pmpi == 3 { Ok(()) } else { Err(outcome.report().into()) }
}

/// Functions, ranks and pcontrol of the configuration file.
fn settings(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    let (t1, counter) = (path(mpi, "thesis_t1"), path(mpi, "thesis_counter"));
    let text = format!(
        "stack = [\"quiet\", \"few\", \"one\", \"counter\"]\n\
         [tool.quiet]\npath = {t1:?}\npcontrol = false\nfunctions = [\"MPI_Pcontrol\", \"MPI_Init\"]\n\
         [tool.few]\npath = {t1:?}\nfunctions = [\"MPI_Pcontrol\", \"MPI_Send\"]\n\
         [tool.one]\npath = {t1:?}\nranks = \"1\"\n\
         [tool.counter]\npath = {counter:?}\nfunctions = [\"MPI_Init\", \"MPI_Finalize\"]\n"
    );
    std::fs::write(&config, text)?;
    let outcome = Job::new(mpi, 2, &program(mpi, "pcontrol.c")).config(&config).run();
    outcome.expect(0, &["pcontrol: 3 calls".to_owned()])?;
    let mut lines = vec![("T1 MPI_Init at level 1".to_owned(), 2)];
    lines.extend(heard(2, &[2]));
    lines.extend(heard(1, &[3]));
    // The counter, too, asks for its rank, but below the others.
    lines.extend(["Init", "Comm_rank", "Finalize"].map(|function| (format!("T1 MPI_{function} at level 3"), 1)));
    let lines: Vec<(&str, usize)> = lines.iter().map(|(line, times)| (line.as_str(), *times)).collect();
    expect(&outcome, "T1 ", &lines)?;
    // Rank 0 is one layer short.
    if outcome.count("thesis_counter at level 3:") == 1 { Ok(()) } else { Err(outcome.report().into()) }
}

/// A PMPI tool below wrappers that go on by exec_func walks through them.
fn back_traces_reach_main(mpi: Mpi) -> Verdict {
    let (unwind, counter) = (path(mpi, "unwind"), path(mpi, "thesis_counter"));
    for layers in 1..=3 {
        let mut tools = vec![counter.as_str(); layers];
        tools.push(&unwind);
        let outcome = Job::new(mpi, 2, &program(mpi, "frames.c")).stack(&tools).run();
        outcome.expect(0, &["frames: received 7 and 8".to_owned()])?;
        let walk = outcome.stdout.lines().find(|line| line.starts_with("tool unwind: ok calls=1 MPI_Send < "));
        let is_whole = walk.is_some_and(|walk| {
            walk.ends_with(" < app_inner < app_outer < main") && walk.matches(" < Counter_Send").count() == layers
        });
        if !is_whole {
            return Err(outcome.report().into());
        }
    }
    Ok(())
}

fn misuse(mpi: Mpi) -> Verdict {
    let misuse = compile::companion(mpi, "thesis_misuse.c").display().to_string();
    let job = Job::new(mpi, 1, &program(mpi, "ring.c")).stack(&[&misuse]);
    let outcome = job.run();
    outcome.expect(0, &["done".to_owned(), "thesis_misuse: 38 of 38 right".to_owned()])?;
    if outcome.said().iter().filter(|line| line.contains("QMPI_Set_context: there is no layer at level")).count() != 5 {
        return Err(outcome.report().into());
    }
    let called = job.env("THESIS_MISUSE", "call").run();
    let says = "it called a function that has no number in its table";
    if called.status != 0 && called.stderr.contains(says) { Ok(()) } else { Err(called.report().into()) }
}

/// One line says why, and one what to do; or the rest of the stack goes on without it.
fn tools_that_do_not_load(mpi: Mpi) -> Verdict {
    let misuse = compile::companion(mpi, "thesis_misuse.c").display().to_string();
    let t1 = path(mpi, "thesis_t1");
    let reason = "get_interceptions(258) says that Misuse_Send wraps MPI_Send, but there is no such symbol";
    let job = Job::new(mpi, 1, &program(mpi, "early.c")).args(&["initialized".to_owned()]);
    let job = job.env("THESIS_MISUSE", "wrapper").stack(&[&misuse, &t1]);
    let refused = job.run();
    if refused.status == 0 || !refused.stderr.contains(reason) || !refused.stderr.contains("visible") {
        return Err(refused.report().into());
    }
    let skipped = job.env("QMPI_ON_ERROR", "skip").run();
    if skipped.status != 0 || !skipped.stderr.contains(reason) || skipped.count("T1 MPI_Init at level 2") != 1 {
        return Err(skipped.report().into());
    }
    Ok(())
}

/// A tool as it was compiled for the prototype finds the prototype's own names.
fn as_it_was(mpi: Mpi) -> Verdict {
    let old = compile::companion(mpi, "thesis_as_it_was.c").display().to_string();
    let outcome = with_tools(mpi, 2, "ring.c", &[&old, &old]).run();
    expect(
        &outcome,
        "as_it_was",
        &[("as_it_was: MPI_Init at level 1 of 2", 2), ("as_it_was: MPI_Init at level 2 of 2", 2)],
    )
}

/// The header, and a tool as the thesis writes them, in C++.
fn header_in_cxx(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "thesis_cxx.cc").display().to_string();
    let outcome = with_tools(mpi, 2, "ring.c", &[&tool]).run();
    // Two ranks write without line buffering: their lines may run into each other.
    let found = outcome.stdout.matches("X_Barrier").count();
    if outcome.status == 0 && found == 2 { Ok(()) } else { Err(outcome.report().into()) }
}
