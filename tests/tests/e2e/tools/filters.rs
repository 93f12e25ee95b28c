//! Layers that see some of the calls that they intercept: one in so many, on some communicators, for a time.

use std::fmt::Write;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::watched::Kind::{self, Pmpi, Qmpi};
use qmpi_tests::watched::{Counts, WatchedStack, counts, line, of, see_the_same, watch};
use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("calls", &Mpi::ALL, calls),
        ("time", &Mpi::ALL, time),
        ("fortran", &Mpi::ALL, fortran),
        ("threads", &Mpi::ALL, threads),
        ("stack_that_a_tool_opens", &Mpi::ALL, stack_that_a_tool_opens),
        ("shown", &[Mpi::Mpich], shown),
    ])
}

const MIXTURES: [[Kind; 3]; 3] = [[Pmpi, Pmpi, Pmpi], [Qmpi, Qmpi, Qmpi], [Pmpi, Qmpi, Pmpi]];

/// The calls of `filtered.c` for each function with a communicator: on MPI_COMM_WORLD, rows, one without a name, MPI_COMM_SELF.
const CALLS: [i64; 4] = [100, 61, 33, 7];

/// The middle layer sees this number of calls of each function with a communicator, all that makes communicators, and its own requests.
fn sees(outcome: &Outcome, expected: i64) -> Verdict {
    outcome.expect(0, &["filtered: done".to_owned()])?;
    see_the_same(outcome)?;
    let (outer, middle) = (watch(outcome, "outer", 0)?, watch(outcome, "middle", 0)?);
    for (function, calls) in outer.iter().filter(|(function, _)| function.starts_with("MPI_")) {
        let expected = match &function[..] {
            "MPI_Barrier" | "MPI_Alltoall" | "MPI_Comm_rank" | "MPI_Isend" | "MPI_Irecv" => {
                if *calls != CALLS.iter().sum::<i64>() {
                    return Err(format!("outer: {function}\n{}", outcome.report()).into());
                }
                expected
            }
            // With a request that the layer knows: those of one message may be in one that it sees and one that it does not.
            "MPI_Waitall" => continue,
            _ => *calls,
        };
        if of(&middle, &[function]) != expected {
            return Err(format!("{function}: {expected} expected\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

fn calls(mpi: Mpi) -> Verdict {
    let all: i64 = CALLS.iter().sum();
    let every = |calls: i64, number: i64| (calls + number - 1) / number;
    for (filter, expected) in [
        ("every = 1, communicators = [\"rows\"]", CALLS[1]),
        ("communicators = [\"MPI_COMM_WORLD\", \"MPI_COMM_SELF\"]", CALLS[0] + CALLS[3]),
        ("communicators = [\"nobody's\"]", 0),
        ("every = 10", every(all, 10)),
        ("every = 7, communicators = [\"rows\"]", every(CALLS[1], 7)),
        ("every = 1000000", 1),
        ("from = 3600", 0),
        ("to = 0.0001", 0),
        ("to = 3600", all),
        ("from = 0, to = 3600, every = 2, communicators = [\"MPI_COMM_WORLD\"]", every(CALLS[0], 2)),
    ] {
        for kinds in MIXTURES {
            let stack = WatchedStack::new(mpi, kinds, &format!("filter = {{ {filter} }}"))?;
            let outcome = Job::new(mpi, 1, &program(mpi, "filtered.c")).config(&stack.config()).run();
            sees(&outcome, expected).map_err(|error| format!("{filter}: {}", error.message().unwrap_or("")))?;
        }
    }
    Ok(())
}

fn time(mpi: Mpi) -> Verdict {
    let stack = WatchedStack::new(mpi, [Pmpi, Qmpi, Pmpi], "filter = { from = 0.3, to = 2.3 }")?;
    let job = Job::new(mpi, 1, &program(mpi, "filtered_time.c")).args(&["0.3".into(), "2.3".into()]);
    let outcome = job.config(&stack.config()).run();
    outcome.expect(0, &["filtered_time: done".to_owned()])?;
    see_the_same(&outcome)?;
    let window = outcome.stderr.lines().find(|line| line.starts_with("window:")).map(counts);
    let window = window.ok_or_else(|| outcome.report())?;
    let seen = of(&watch(&outcome, "middle", 0)?, &["MPI_Barrier"]);
    let (all, surely, perhaps) = (window["all"], window["surely"], window["perhaps"]);
    if 0 < surely && surely <= seen && seen <= perhaps && perhaps < all {
        return Ok(());
    }
    Err(format!("{seen} barriers seen\n{}", outcome.report()).into())
}

/// Wrappers that Fortran calls, which get the addresses of communicators; and those of C below them.
fn fortran(mpi: Mpi) -> Verdict {
    for (middle, binding) in [("fortran_counter", "fortran"), ("fortran_counter_c", "c")] {
        for (filter, calls, waits) in [("communicators = [\"rows\"]", 15, 15), ("every = 8", 5, 5)] {
            let mut text = String::from("stack = [\"outer\", \"middle\"]\n");
            let filter = format!("filter = {{ {filter} }}");
            for (name, path, more) in [("outer", "fortran_counter", ""), ("middle", middle, &*filter)] {
                let (path, env) = (tool(mpi, path), format!("env = {{ FORTRAN_COUNTER = {name:?} }}"));
                writeln!(text, "[tool.{name}]\npath = {path:?}\n{env}\n{more}")?;
            }
            let directory = tempfile::tempdir()?;
            let config = directory.path().join("qmpi.toml");
            std::fs::write(&config, text)?;
            let outcome = Job::new(mpi, 1, &program(mpi, "filtered_fortran.f90")).config(&config).run();
            outcome.expect(0, &["filtered_fortran: done".to_owned()])?;
            for (layer, binding, calls, waits) in [("outer", "fortran", 35, 35), ("middle", binding, calls, waits)] {
                let expected =
                    [("Comm_rank", calls), ("Isend", calls), ("Irecv", calls), ("Waitall", waits), ("Comm_dup", 1)];
                for (function, calls) in expected {
                    let counts: Counts = line(&outcome, &format!("{layer} {function}:"))?;
                    if of(&counts, &[binding]) != calls {
                        return Err(format!("{filter}: {layer}: {function}\n{}", outcome.report()).into());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Calls of several threads are counted together.
fn threads(mpi: Mpi) -> Verdict {
    let stack = WatchedStack::new(mpi, [Pmpi, Pmpi, Pmpi], "filter = { every = 5 }")?;
    let outcome = Job::new(mpi, 1, &program(mpi, "toggles.c")).args(&["0".into()]).config(&stack.config()).run();
    outcome.expect(0, &["toggles: done".to_owned()])?;
    see_the_same(&outcome)?;
    let (outer, middle) = (watch(&outcome, "outer", 0)?, watch(&outcome, "middle", 0)?);
    for function in ["MPI_Issend", "MPI_Irecv", "MPI_Comm_rank"] {
        let all = of(&outer, &[function]);
        if all == 0 || of(&middle, &[function]) != (all + 4) / 5 {
            return Err(format!("{function}\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Layers of such a stack see all calls, which is said.
fn stack_that_a_tool_opens(mpi: Mpi) -> Verdict {
    let (switch, counter) = (tool(mpi, "qmpi_switch"), tool(mpi, "counter"));
    let mut text = "stack = [\"switch\"]\n[stacks]\nrows = [\"inner\"]\nothers = []\n".to_owned();
    write!(text, "[tool.switch]\npath = {switch:?}\n[tool.inner]\npath = {counter:?}\nfilter = {{ every = 2 }}\n")?;
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, text)?;
    let outcome = Job::new(mpi, 4, &program(mpi, "rows.c")).config(&config).run();
    let warning = "warning: inner: `filter` has no effect in a stack that a tool opens: the layer sees all calls";
    outcome.expect(0, &[])?;
    if outcome.stderr.matches(warning).count() != 1 {
        return Err(outcome.report().into());
    }
    let rows = [("MPI_Init", 4, 0), ("MPI_Finalize", 4, 0), ("MPI_Allreduce", 12, 48), ("MPI_Bcast", 4, 16)];
    Ok(Tables::of(&outcome).expect_all("counter", &rows)?)
}

/// `qmpi list` says what a layer sees; what cannot be meant is an error with its line.
fn shown(mpi: Mpi) -> Verdict {
    let list = |filter: &str| -> Result<(Option<i32>, String), Failed> {
        let stack = WatchedStack::new(mpi, [Pmpi, Pmpi, Pmpi], filter)?;
        let output = Command::new(product::command()).arg("list").arg("-c").arg(stack.config()).output()?;
        let text = [&output.stdout[..], &output.stderr].concat();
        Ok((output.status.code(), String::from_utf8_lossy(&text).into_owned()))
    };
    for (setting, status, words) in [
        (
            "filter = { every = 100, from = 10, to = 60.5, communicators = [\"rows\", \"MPI_COMM_WORLD\"] }",
            0,
            "sees one in 100 calls of a function, on rows, MPI_COMM_WORLD, from 10 s, until 60.5 s after the start",
        ),
        ("filter = { to = 60 }", 0, "sees calls, until 60 s after the start"),
        ("filter = { every = 0 }", 3, "`tool.middle.filter.every`: it must be a number from 1 to 4294967295"),
        ("filter = { from = -1 }", 3, "`tool.middle.filter.from`: it must be a number of seconds, 0 or more"),
        ("filter = { from = 5, to = 5 }", 3, "`tool.middle.filter.to`: it must be later than `from`, and than 0"),
        ("filter = {}", 3, "`tool.middle.filter`: a filter needs a condition"),
        ("filter = { evry = 3 }", 3, "did you mean `every`?"),
        ("filter = { communicators = [] }", 3, "`tool.middle.filter.communicators`"),
        ("filter = { every = 3 }\nswitch = false", 3, "a layer that cannot be switched off cannot have a filter"),
    ] {
        let (code, text) = list(setting)?;
        if code != Some(status) || !text.contains(words) {
            return Err(format!("{setting}: {code:?}\n{text}").into());
        }
    }
    Ok(())
}
