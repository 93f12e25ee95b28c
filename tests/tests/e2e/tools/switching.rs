//! Layers that are switched off and on while the program runs: from inside (`qmpix.h`), from outside (`qmpi ctl`), and what they see.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use qmpi_tests::watched::Kind::{self, Pmpi, Qmpi};
use qmpi_tests::watched::{Counts, WatchedStack, line, of, see_the_same, watch};
use qmpi_tests::{Job, Mpi, Tables, Trial, Verdict, compile, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("requests", &Mpi::ALL, requests),
        ("a_million_toggles", &Mpi::ALL, a_million_toggles),
        ("from_outside", &Mpi::ALL, from_outside),
        ("exchanged_functions", &Mpi::ALL, exchanged_functions),
        ("fortran", &Mpi::ALL, fortran),
        ("other_functions", &Mpi::ALL, other_functions),
        ("thesis_tools", &Mpi::ALL, thesis_tools),
        ("off_at_first", &Mpi::ALL, off_at_first),
        ("not_switchable", &Mpi::ALL, not_switchable),
    ])
}

const MIXTURES: [[Kind; 3]; 4] = [[Pmpi, Pmpi, Pmpi], [Qmpi, Qmpi, Qmpi], [Pmpi, Qmpi, Pmpi], [Qmpi, Pmpi, Qmpi]];

/// The layer is switched at random between the start of a request and its completion. The program says what it has to see.
fn requests(mpi: Mpi) -> Verdict {
    for kinds in MIXTURES {
        let stack = WatchedStack::new(mpi, kinds, "switch = true")?;
        let outcome = Job::new(mpi, 1, &program(mpi, "switched_requests.c")).config(&stack.config()).run();
        outcome.expect(0, &["switched_requests: done".to_owned()])?;
        see_the_same(&outcome)?;
        let (expected, seen) = (line(&outcome, "expected:")?, watch(&outcome, "middle", 0)?);
        for (what, functions) in [
            ("starts", &["MPI_Isend", "MPI_Irecv"][..]),
            ("waits", &["MPI_Wait"]),
            ("waitalls", &["MPI_Waitall"]),
            ("tests", &["MPI_Test"]),
            ("plain", &["MPI_Comm_rank"]),
            ("objects", &["MPI_Comm_dup", "MPI_Comm_free"]),
            ("persistent", &["MPI_Send_init", "MPI_Recv_init"]),
            ("startalls", &["MPI_Startall"]),
            ("frees", &["MPI_Request_free"]),
            ("statuses", &["MPI_Request_get_status"]),
        ] {
            if of(&expected, &[what]) != of(&seen, functions) || of(&seen, functions) == 0 {
                return Err(format!("{functions:?}: not as expected\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// Nine threads. The program's own counts, those of the outermost and those of the innermost layer are the same.
fn a_million_toggles(mpi: Mpi) -> Verdict {
    for kinds in [[Pmpi, Pmpi, Pmpi], [Qmpi, Qmpi, Qmpi]] {
        let stack = WatchedStack::new(mpi, kinds, "switch = true")?;
        let job = Job::new(mpi, 1, &program(mpi, "toggles.c")).args(&["1000000".to_owned()]);
        let outcome = job.config(&stack.config()).run();
        outcome.expect(0, &["toggles: done".to_owned()])?;
        see_the_same(&outcome)?;
        let (program, outer) = (line(&outcome, "calls:")?, watch(&outcome, "outer", 0)?);
        let middle = watch(&outcome, "middle", 0)?;
        if !program.iter().all(|(function, calls)| outer.get(function) == Some(calls)) {
            return Err(format!("the outermost layer has not seen all calls\n{}", outcome.report()).into());
        }
        let ranks = |counts: &Counts| of(counts, &["MPI_Comm_rank"]);
        if ranks(&middle) == 0 || ranks(&middle) >= ranks(&outer) {
            return Err(format!("the layer was not off, or not on\n{}", outcome.report()).into());
        }
        if of(&middle, &["MPI_Comm_dup"]) != of(&outer, &["MPI_Comm_dup"]) {
            return Err(format!("the layer has not seen all communicators\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// `qmpi ctl` with these arguments.
fn ctl(args: &[&str]) -> Result<Output, Failed> {
    Ok(Command::new(product::command()).arg("ctl").args(args).output()?)
}

fn answer(args: &[&str]) -> Result<String, Failed> {
    let output = ctl(args)?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!("qmpi ctl {args:?}: {output:?}").into())
}

/// Waits for a file of a rank, and returns what is in it.
fn wait_for(path: &Path) -> Result<String, Failed> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return Ok(text.trim().to_owned()),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    Err(format!("no {}", path.display()).into())
}

/// A job of two ranks in five phases of a hundred calls each. One rank's layer is switched, then both by way of the launcher.
fn from_outside(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let at = |name: String| directory.path().join(name);
    let counter = tool(mpi, "counter");
    let config = at("qmpi.toml".into());
    let section = |name: &str| format!("[tool.{name}]\npath = {counter:?}\nenv = {{ COUNTER = \"label={name}\" }}\n");
    std::fs::write(&config, format!("stack = [\"outer\", \"inner\"]\n{}{}", section("outer"), section("inner")))?;
    let job = Job::new(mpi, 2, &program(mpi, "phases.c")).config(&config).option("--ctl");
    let job = job.args(&[directory.path().display().to_string(), "5".into()]);
    let runs = std::thread::spawn(move || job.run());
    let mut phase = 0;
    let mut next = |act: &dyn Fn(&[String; 2]) -> Verdict| -> Verdict {
        let pids = [wait_for(&at(format!("ready.{phase}.0")))?, wait_for(&at(format!("ready.{phase}.1")))?];
        act(&pids)?;
        std::fs::write(at(format!("go.{phase}")), "")?;
        phase += 1;
        Ok(())
    };
    let states = |text: &str| {
        text.lines().filter_map(|line| line.rsplit_once("  ")).map(|(_, state)| state.to_owned()).collect::<Vec<_>>()
    };
    // 0: all are on.
    next(&|pids| {
        let text = answer(&[&pids[0], "list"])?;
        assert_states(&states(&text), &["on", "on"], &text)?;
        if !text.starts_with(&format!("process {}, rank 0: ", pids[0])) || !text.contains("\n   1  outer  on\n") {
            return Err(format!("not what a list looks like:\n{text}").into());
        }
        Ok(())
    })?;
    // 1: the inner layer of rank 0 is off.
    next(&|pids| answer(&[&pids[0], "disable", "inner"]).map(drop))?;
    // 2: both layers of rank 1 are off, by number and name.
    next(&|pids| {
        answer(&[&pids[1], "disable", "1", "inner"])?;
        let text = answer(&[&pids[1], "list", "--json"])?;
        if text.contains("\"enabled\": false") && !text.contains("\"enabled\": true") {
            return Ok(());
        }
        Err(text.into())
    })?;
    // 3: the outer layers of both are on again; an unknown name changes nothing.
    next(&|pids| {
        let parent = std::fs::read_to_string(format!("/proc/{}/stat", pids[0]))?;
        let launcher = parent.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)).unwrap_or("");
        answer(&[launcher, "enable", "outer"])?;
        let wrong = ctl(&[launcher, "enable", "inner", "no"])?;
        let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
        let line = "qmpi: error: no process has a layer `no` that can be switched: there are inner, outer";
        if wrong.status.code() != Some(3) || !said.starts_with(line) {
            return Err(format!("{wrong:?}").into());
        }
        let text = answer(&[launcher, "list"])?;
        assert_states(&states(&text), &["on", "off", "on", "off"], &text)
    })?;
    // 4: the inner ones of both are on again.
    next(&|pids| {
        let both = [&pids[0], &pids[1]];
        both.iter().try_for_each(|pid| answer(&[pid, "enable", "inner"]).map(drop))
    })?;
    let outcome = runs.join().map_err(|_| "the job panicked")?;
    outcome.expect(0, &["phases: done".to_owned()])?;
    let tables = Tables::of(&outcome);
    let barriers = |layer: &str| Ok::<u64, Failed>(tables.get(layer)?.get("MPI_Sendrecv").map_or(0, |row| row.0));
    // Of rank 0: phases 0 to 4; of rank 1: 0, 1, 3, 4. Inner: 0, 4; 0, 1, 4.
    let counts = (barriers("outer")?, barriers("inner")?);
    if counts == (500 + 400, 200 + 300) {
        return Ok(());
    }
    Err(format!("{counts:?}\n{}", outcome.report()).into())
}

fn assert_states(states: &[String], expected: &[&str], text: &str) -> Verdict {
    if states == expected { Ok(()) } else { Err(format!("not {expected:?}:\n{text}").into()) }
}

/// Another function is put in the place of one of the layer's and taken away again, while four threads call it.
fn exchanged_functions(mpi: Mpi) -> Verdict {
    for kinds in MIXTURES {
        let stack = WatchedStack::new(mpi, kinds, "switch = true")?;
        let convention = if kinds[1] == Qmpi { "qmpi" } else { "pmpi" };
        let job = Job::new(mpi, 1, &program(mpi, "exchanges_function.c")).args(&[convention.to_owned()]);
        let outcome = job.config(&stack.config()).run();
        outcome.expect(0, &["exchanges_function: done".to_owned()])?;
        let program = line(&outcome, "exchanged:")?;
        let ranks = |layer| Ok::<i64, Failed>(of(&watch(&outcome, layer, 0)?, &["MPI_Comm_rank"]));
        let (outer, middle, inner) = (ranks("outer")?, ranks("middle")?, ranks("inner")?);
        let own = of(&program, &["own"]);
        let is_right = outer == of(&program, &["calls"]) && middle == inner && middle + own == outer;
        if !is_right || own == 0 || middle == 0 || of(&program, &["wrong"]) != 0 {
            return Err(outcome.report().into());
        }
    }
    Ok(())
}

/// Fortran calls go past the wrapper in Fortran, or the one in C, of a layer that is off; the others' stay calls of Fortran.
fn fortran(mpi: Mpi) -> Verdict {
    for (middle, binding) in [("fortran_counter", "fortran"), ("fortran_counter_c", "c")] {
        let mut text = String::from("stack = [\"outer\", \"middle\"]\n");
        for (name, path, more) in [("outer", "fortran_counter", ""), ("middle", middle, "switch = true")] {
            writeln!(
                text,
                "[tool.{name}]\npath = {:?}\nenv = {{ FORTRAN_COUNTER = {name:?} }}\n{more}",
                tool(mpi, path)
            )?;
        }
        let directory = tempfile::tempdir()?;
        let config = directory.path().join("qmpi.toml");
        std::fs::write(&config, text)?;
        let outcome = Job::new(mpi, 1, &program(mpi, "switched_fortran.f90")).config(&config).run();
        outcome.expect(0, &["switched_fortran: done".to_owned()])?;
        for (layer, binding, [requests, ranks]) in [("outer", "fortran", [20, 11]), ("middle", binding, [10, 1])] {
            for (function, calls) in
                [("Isend", requests), ("Irecv", requests), ("Waitall", requests), ("Comm_dup", 1), ("Comm_free", 1)]
            {
                if of(&line(&outcome, &format!("{layer} {function}:"))?, &[binding]) != calls {
                    return Err(format!("{layer}: {function}\n{}", outcome.report()).into());
                }
            }
            if of(&line(&outcome, &format!("{layer} Comm_rank:"))?, &[binding]) != ranks {
                return Err(format!("{layer}: Comm_rank\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// Wrappers of functions that are not MPI's.
fn other_functions(mpi: Mpi) -> Verdict {
    let path = compile::companion(mpi, "counts_getppid.c");
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    for (setting, calls) in [("switch = true", 3), ("", 13)] {
        std::fs::write(&config, format!("stack = [\"a\"]\n[tool.a]\npath = {path:?}\n{setting}\n"))?;
        let outcome = Job::new(mpi, 1, &program(mpi, "asks_for_parent.c")).config(&config).run();
        outcome.expect(0, &["asks_for_parent: done".to_owned(), format!("counts_getppid: {calls}")])?;
    }
    Ok(())
}

/// A tool of the 2018 prototype below another one.
fn thesis_tools(mpi: Mpi) -> Verdict {
    let path = tool(mpi, "thesis_counter");
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    std::fs::write(directory.path().join("go.0"), "")?;
    for (setting, calls) in [("switch = true", " Sendrecv 100 Barrier 1"), ("enabled = false", "")] {
        let sections = format!("[tool.outer]\npath = {path:?}\n[tool.inner]\npath = {path:?}\n{setting}\n");
        std::fs::write(&config, format!("stack = [\"outer\", \"inner\"]\n{sections}"))?;
        let job = Job::new(mpi, 1, &program(mpi, "phases.c")).config(&config);
        let outcome = job.args(&[directory.path().display().to_string(), "1".into()]).run();
        let counts = [
            "thesis_counter at level 1: Sendrecv 100 Barrier 1".to_owned(),
            format!("thesis_counter at level 2:{calls}"),
        ];
        outcome.expect(0, &["phases: done".to_owned(), counts[0].clone(), counts[1].clone()])?;
    }
    Ok(())
}

/// A layer that is off at first sees what it needs and nothing else.
fn off_at_first(mpi: Mpi) -> Verdict {
    let stack = WatchedStack::new(mpi, [Pmpi, Pmpi, Pmpi], "enabled = false")?;
    let outcome = Job::new(mpi, 1, &program(mpi, "toggles.c")).args(&["0".into()]).config(&stack.config()).run();
    outcome.expect(0, &["toggles: done".to_owned()])?;
    see_the_same(&outcome)?;
    let (outer, middle) = (watch(&outcome, "outer", 0)?, watch(&outcome, "middle", 0)?);
    let needed = ["MPI_Init_thread", "MPI_Finalize", "MPI_Comm_dup", "MPI_Comm_free"];
    let is_right = |(function, calls): (&String, &i64)| {
        let expected = if needed.contains(&&**function) { *calls } else { 0 };
        !function.starts_with("MPI_") || of(&middle, &[function]) == expected
    };
    if outer.iter().all(is_right) { Ok(()) } else { Err(outcome.report().into()) }
}

/// A layer without the setting cannot be switched, and there is nothing that `qmpi ctl` would find.
fn not_switchable(mpi: Mpi) -> Verdict {
    let stack = WatchedStack::new(mpi, [Pmpi, Qmpi, Pmpi], "")?;
    let outcome = Job::new(mpi, 1, &program(mpi, "switched_requests.c")).config(&stack.config()).run();
    outcome.expect(0, &["switched_requests: done".to_owned()])?;
    if outcome.stdout.contains("expected:") || watch(&outcome, "middle", 0)? != watch(&outcome, "outer", 0)? {
        return Err(outcome.report().into());
    }
    let own = ctl(&[&std::process::id().to_string(), "list"])?;
    let said = String::from_utf8_lossy(&own.stderr).into_owned();
    if own.status.code() == Some(3) && said.contains("has layers that can be switched") {
        return Ok(());
    }
    Err(format!("{own:?}").into())
}
