//! Tools whose calls of their own are hidden (`own_calls`): layers below see what they would see without these tools.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::measured::Measured;
use qmpi_tests::tables::Table;
use qmpi_tests::{Job, Mpi, Tables, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("profiler_above_a_profiler", &Mpi::ALL, profiler_above_a_profiler),
        ("ten_profilers", &Mpi::ALL, ten_profilers),
        ("more_than_namespaces", &Mpi::ALL, more_than_namespaces),
        ("every_place", &Mpi::ALL, every_place),
        ("every_place_twice", &Mpi::ALL, every_place_twice),
        ("next_functions_by_name", &Mpi::ALL, next_functions_by_name),
        ("converted_calls", &Mpi::ALL, converted_calls),
        ("fortran", &Mpi::ALL, fortran),
        ("threads", &Mpi::ALL, threads),
        ("listed", &Mpi::ALL, listed),
    ])
}

/// A layer: the name of its section, its tool, and whether its own calls are hidden.
type Layer<'a> = (&'a str, &'a Path, bool);

/// A configuration in a directory of its own, which lives as long as this.
struct Stack {
    directory: tempfile::TempDir,
}

impl Stack {
    /// Counters have the name of their section; `settings` is their variable of this name.
    fn new(layers: &[Layer<'_>]) -> Result<Stack, Failed> {
        let directory = tempfile::tempdir()?;
        let names: Vec<&str> = layers.iter().map(|(name, ..)| *name).collect();
        let mut text = format!("stack = {names:?}\n");
        for (name, path, is_hidden) in layers {
            let word = if *is_hidden { "hidden" } else { "visible" };
            let _ = writeln!(text, "[tool.{name}]\npath = {path:?}\nown_calls = \"{word}\"");
            let _ = writeln!(text, "env = {{ COUNTER = \"label={name}\", FORTRAN_COUNTER = \"{name}\" }}");
        }
        std::fs::write(directory.path().join("qmpi.toml"), text)?;
        Ok(Stack { directory })
    }

    fn config(&self) -> PathBuf {
        self.directory.path().join("qmpi.toml")
    }
}

fn ring(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "ring.c"))
}

/// What the counter reports of a program, preloaded alone.
fn preloaded(mpi: Mpi, job: &Job) -> Result<Table, Failed> {
    let outcome = job.clone().preload(&tool(mpi, "counter")).env("COUNTER", "label=plain").run();
    outcome.expect(0, &["done".to_owned()])?;
    Ok(Tables::of(&outcome).get("plain")?.clone())
}

fn profiler_above_a_profiler(mpi: Mpi) -> Verdict {
    let plain = preloaded(mpi, &ring(mpi))?;
    let counter = tool(mpi, "counter");
    for is_hidden in [true, false] {
        let stack = Stack::new(&[("outer", &counter, is_hidden), ("inner", &counter, false)])?;
        let outcome = ring(mpi).config(&stack.config()).run();
        outcome.expect(0, &["done".to_owned()])?;
        let tables = Tables::of(&outcome);
        tables.expect("outer", &plain)?;
        if is_hidden {
            tables.expect("inner", &plain)?;
        } else {
            // Each of two ranks gathers the outer one's table.
            tables.expect_calls("inner", "MPI_Reduce", 4 + 2)?;
        }
    }
    Ok(())
}

fn ten_profilers(mpi: Mpi) -> Verdict {
    all_the_same(mpi, 10)
}

/// Clones, too.
fn more_than_namespaces(mpi: Mpi) -> Verdict {
    all_the_same(mpi, 20)
}

fn all_the_same(mpi: Mpi, count: usize) -> Verdict {
    let plain = preloaded(mpi, &ring(mpi))?;
    let counter = tool(mpi, "counter");
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    let layers: Vec<Layer<'_>> = names.iter().map(|name| (name.as_str(), counter.as_path(), true)).collect();
    let stack = Stack::new(&layers)?;
    let outcome = ring(mpi).config(&stack.config()).run();
    outcome.expect(0, &["done".to_owned()])?;
    let tables = Tables::of(&outcome);
    for name in &names {
        tables.expect(name, &plain)?;
    }
    Ok(())
}

/// What came to each layer, from the outermost on, and to the MPI library on rank 0.
fn expect(job: &Job, stack: &Stack, expected: &[(&str, &[u64])]) -> Verdict {
    let measured = Measured::of(&job.clone().config(&stack.config()))?;
    measured.outcome.expect(0, &["done".to_owned()])?;
    for (function, calls) in expected {
        let found: Vec<u64> = (1..=measured.layers()).map(|layer| measured.calls(layer, function, 0)).collect();
        if found != *calls {
            return Err(format!("{function}: {found:?}, not {calls:?}").into());
        }
    }
    Ok(())
}

fn application(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "own_calls_app.c"))
}

/// The tool's calls in wrappers, callbacks, after `longjmp`, and at the end: each goes where it belongs.
fn every_place(mpi: Mpi) -> Verdict {
    let (own_calls, counter) = (tool(mpi, "own_calls"), tool(mpi, "counter"));
    let plain = preloaded(mpi, &application(mpi))?;
    let stack = Stack::new(&[("own", &own_calls, true), ("inner", &counter, false)])?;
    let outcome = application(mpi).config(&stack.config()).run();
    outcome.expect(0, &["done".to_owned(), "tool own_calls: ok calls=20 ranks=2 freed=1".to_owned()])?;
    let mut expected = plain.clone();
    // It calls MPI_Init_thread for MPI_Init, passes two functions on twice, and makes MPI_Sendrecv of others.
    if let Some(init) = expected.remove("MPI_Init") {
        expected.insert("MPI_Init_thread".to_owned(), init);
    }
    for function in ["MPI_Barrier", "MPI_Allreduce"] {
        let (calls, bytes) = expected.get_mut(function).ok_or("no such calls")?;
        (*calls, *bytes) = (2 * *calls, 2 * *bytes);
    }
    expected.remove("MPI_Sendrecv");
    Tables::of(&outcome).expect("inner", &expected)?;
    let calls = |own, inner, mpi| [own, inner, mpi];
    expect(
        &application(mpi),
        &stack,
        &[
            ("MPI_Init_thread", &calls(0, 1, 1)),
            ("MPI_Send", &calls(5, 5, 5)),
            ("MPI_Recv", &calls(5, 5, 6)),
            ("MPI_Bcast", &calls(1, 1, 1)),
            ("MPI_Barrier", &calls(2, 4, 7)),
            ("MPI_Allreduce", &calls(2, 4, 5)),
            ("MPI_Isend", &calls(0, 0, 1)),
            ("MPI_Wait", &calls(0, 0, 1)),
            ("MPI_Comm_dup", &calls(0, 1, 2)),
            ("MPI_Comm_free", &calls(1, 1, 2)),
            ("MPI_Reduce", &calls(0, 0, 2)),
            ("MPI_Gather", &calls(0, 0, 1)),
            ("MPI_Finalize", &calls(1, 1, 1)),
        ],
    )?;
    // Visible, the layer below sees them all.
    let stack = Stack::new(&[("own", &own_calls, false), ("inner", &counter, false)])?;
    expect(
        &application(mpi),
        &stack,
        &[("MPI_Barrier", &calls(2, 7, 7)), ("MPI_Gather", &calls(0, 1, 1)), ("MPI_Isend", &calls(0, 1, 1))],
    )
}

/// Two such layers, whose records lie one above the other.
fn every_place_twice(mpi: Mpi) -> Verdict {
    let (own_calls, counter) = (tool(mpi, "own_calls"), tool(mpi, "counter"));
    let layers: [Layer<'_>; 4] = [
        ("first", &own_calls, true),
        ("between", &counter, true),
        ("second", &own_calls, true),
        ("inner", &counter, false),
    ];
    expect(
        &application(mpi),
        &Stack::new(&layers)?,
        &[
            ("MPI_Send", &[5; 5]),
            ("MPI_Barrier", &[2, 4, 4, 8, 14]),
            ("MPI_Allreduce", &[2, 4, 4, 8, 10]),
            ("MPI_Reduce", &[0, 0, 0, 0, 4]),
            ("MPI_Comm_free", &[1, 1, 1, 1, 3]),
        ],
    )
}

/// Next functions by `dlsym`, too.
fn next_functions_by_name(mpi: Mpi) -> Verdict {
    let plain = preloaded(mpi, &ring(mpi))?;
    let counter = tool(mpi, "counter");
    for name in ["rtld_next", "versioned_wrappers", "pcontrol"] {
        let stack = Stack::new(&[("outer", &tool(mpi, name), true), ("inner", &counter, false)])?;
        let outcome = ring(mpi).config(&stack.config()).run();
        outcome.expect(0, &["done".to_owned()])?;
        Tables::of(&outcome).expect("inner", &plain).map_err(|reason| format!("{name}: {reason}"))?;
    }
    Ok(())
}

/// A tool that makes one function of others: these are its own.
fn converted_calls(mpi: Mpi) -> Verdict {
    let plain = preloaded(mpi, &ring(mpi))?;
    let (tbcast, counter) = (tool(mpi, "tbcast"), tool(mpi, "counter"));
    for is_hidden in [true, false] {
        let stack = Stack::new(&[("tbcast", &tbcast, is_hidden), ("inner", &counter, false)])?;
        let outcome = ring(mpi).config(&stack.config()).run();
        outcome.expect(0, &["done".to_owned(), "bcast: 42 everywhere".to_owned()])?;
        let tables = Tables::of(&outcome);
        let sends = plain.get("MPI_Send").map_or(0, |(calls, _)| *calls);
        tables.expect_calls("inner", "MPI_Bcast", 0)?;
        tables.expect_calls("inner", "MPI_Send", if is_hidden { sends } else { sends + 1 })?;
    }
    Ok(())
}

/// Fortran wrappers that go on in Fortran. The lines of the inner tool are those of the tool alone.
fn fortran(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "fortran_counter");
    let job = Job::new(mpi, 2, &program(mpi, "fortran_mpifh.f90"));
    let lines = |text: &str, label: &str| -> Vec<String> {
        let of_label = |line: &str| Some(line.strip_prefix(label)?.strip_prefix(' ')?.to_owned());
        text.lines().filter_map(of_label).collect()
    };
    // Preloaded, it sees some calls twice on MPICH, whose Fortran library calls C by its plain names.
    let alone = Stack::new(&[("alone", &counter, false)])?;
    let outcome = job.clone().config(&alone.config()).run();
    outcome.expect(0, &[])?;
    let alone = lines(&outcome.stdout, "alone");
    if alone.len() < 5 {
        return Err(format!("alone: {alone:?}\n{}", outcome.report()).into());
    }
    let stack = Stack::new(&[("outer", &counter, true), ("inner", &counter, true)])?;
    let outcome = job.config(&stack.config()).run();
    outcome.expect(0, &[])?;
    if lines(&outcome.stdout, "outer") != alone || lines(&outcome.stdout, "inner") != alone {
        return Err(format!("not as alone: {alone:#?}\n{}", outcome.report()).into());
    }
    Ok(())
}

/// Records are a thread's own.
fn threads(mpi: Mpi) -> Verdict {
    let job = Job::new(mpi, 2, &program(mpi, "threads.c"));
    let plain = job.clone().preload(&tool(mpi, "counter")).env("COUNTER", "label=plain").run();
    plain.expect(0, &[])?;
    let plain = Tables::of(&plain).get("plain")?.clone();
    let counter = tool(mpi, "counter");
    let stack = Stack::new(&[("outer", &counter, true), ("middle", &counter, true), ("inner", &counter, false)])?;
    let outcome = job.config(&stack.config()).run();
    outcome.expect(0, &[])?;
    for name in ["outer", "middle", "inner"] {
        Tables::of(&outcome).expect(name, &plain)?;
    }
    Ok(())
}

/// `qmpi list` shows where calls may go.
fn listed(mpi: Mpi) -> Verdict {
    let (tbcast, counter) = (tool(mpi, "tbcast"), tool(mpi, "counter"));
    let stack = Stack::new(&[("tbcast", &tbcast, true), ("inner", &counter, false)])?;
    let config = stack.config().display().to_string();
    let output = Command::new(product::command()).args(["list", "-c", &config]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [
        "      calls of its own hidden: they go to the MPI library",
        "  tbcast -> inner: 1 function: MPI_Bcast",
        "  tbcast -> MPI library: 6 functions: MPI_Bcast, MPI_Comm_rank, MPI_Comm_size, MPI_Comm_test_inter, ... (2 more)",
    ] {
        if !text.lines().any(|printed| printed == line) {
            return Err(format!("{line:?} is not in\n{text}").into());
        }
    }
    let output = Command::new(product::command()).args(["list", "--json", "-c", &config]).output()?;
    let json = String::from_utf8_lossy(&output.stdout).into_owned();
    if json.matches("\"own_calls\": \"hidden\"").count() != 1 || json.matches("\"own_calls\": \"visible\"").count() != 1
    {
        return Err(json.into());
    }
    Ok(())
}
