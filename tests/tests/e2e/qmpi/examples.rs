//! The counter as a PMPI tool (`counter.c`) and as a QMPI tool (`qmpi_counter.c`): the same report, above and below each other;
//! several instances of one library, which count apart.

use std::process::Command;

use qmpi_tests::{Job, Mpi, Source, Tables, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("same_report", &Mpi::ALL, same_report),
        ("same_report_threads", &Mpi::ALL, same_report_threads),
        ("settings", &Mpi::ALL, settings),
        ("two_instances", &Mpi::ALL, two_instances),
        ("rows_and_columns", &Mpi::ALL, rows_and_columns),
        ("rows_beside_all", &Mpi::ALL, rows_beside_all),
        ("sessions", &[Mpi::Mpich], sessions),
        ("no_warnings", &Mpi::ALL, no_warnings),
    ])
}

/// `NAME=PATH` for the native counter.
fn native(mpi: Mpi, name: &str) -> String {
    format!("{name}={}", tool(mpi, "qmpi_counter").display())
}

/// `pmpi=PATH` for the other one.
fn pmpi(mpi: Mpi) -> String {
    format!("pmpi={}", tool(mpi, "counter").display())
}

/// A job whose PMPI counter is called pmpi; the other takes the name that it is registered with.
fn job(mpi: Mpi, ranks: usize, file: &str) -> Job {
    Job::new(mpi, ranks, &program(mpi, file)).env("COUNTER", "label=pmpi,counter.label=qmpi,counter#2.label=second")
}

/// The way in which the documentation tells how to test a migration: both in one stack, in both orders. The upper one sums up its
/// table by MPI_Reduce, which the lower one counts.
fn same_report(mpi: Mpi) -> Verdict {
    for (file, last) in [
        ("ring.c", "done"),
        ("rows.c", "rows: 2 processes in a row, sum 1, all 4"),
        ("grid.c", "grid: rows 2 of 2, columns 2 of 2, renamed 2"),
    ] {
        for (outer, inner) in [("pmpi", "qmpi"), ("qmpi", "pmpi")] {
            let (pmpi, native) = (pmpi(mpi), native(mpi, "counter"));
            let stack: [&str; 2] = if outer == "pmpi" { [&pmpi, &native] } else { [&native, &pmpi] };
            let outcome = job(mpi, 4, file).stack(&stack).run();
            outcome.expect(0, &[last.to_owned()])?;
            let tables = Tables::of(&outcome);
            let mut expected = tables.get(outer)?.clone();
            // 24 rows of three numbers of 8 bytes, from each rank.
            let sum = expected.entry("MPI_Reduce".to_owned()).or_default();
            *sum = (sum.0 + 4, sum.1 + 4 * 24 * 3 * 8);
            tables.expect(inner, &expected)?;
            if expected.len() < 4 || !outcome.said().is_empty() {
                return Err(outcome.report().into());
            }
        }
    }
    Ok(())
}

/// Eight threads in each of two ranks.
fn same_report_threads(mpi: Mpi) -> Verdict {
    let (pmpi, native) = (pmpi(mpi), native(mpi, "counter"));
    let job = job(mpi, 2, "threads.c").args(&["neighbour".to_owned()]).stack(&[&native, &pmpi, &native]);
    let outcome = job.run();
    outcome.expect(0, &[])?;
    let tables = Tables::of(&outcome);
    for label in ["qmpi", "pmpi", "second"] {
        let table = tables.get(label)?;
        for function in ["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Init_thread"] {
            if table.get(function) != tables.get("qmpi")?.get(function) {
                return Err(format!("{label}: {function} differs\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// The table of one instance goes to a file.
fn settings(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("table.txt");
    let setting = format!("counter#2.file={},label=all,counter#2.label=the second", file.display());
    let native = native(mpi, "counter");
    let outcome = Job::new(mpi, 2, &program(mpi, "ring.c")).env("COUNTER", setting).stack(&[&native, &native]).run();
    outcome.expect(0, &["done".to_owned(), "all: MPI calls of 2 ranks".to_owned()])?;
    let text = std::fs::read_to_string(&file)?;
    if text.starts_with("the second: MPI calls of 2 ranks\n") && outcome.stdout.matches(": MPI calls of").count() == 1 {
        Ok(())
    } else {
        Err(format!("{text}\n{}", outcome.report()).into())
    }
}

/// The main job with native counters: around a PMPI tool that makes broadcasts out of sends and receives.
fn two_instances(mpi: Mpi) -> Verdict {
    let (native, tbcast) = (native(mpi, "counter"), tool(mpi, "tbcast").display().to_string());
    let outcome = job(mpi, 4, "ring.c").stack(&[&native, &tbcast, &native]).run();
    outcome.expect(0, &["done".to_owned()])?;
    let tables = Tables::of(&outcome);
    for (label, function, calls) in [
        ("qmpi", "MPI_Bcast", 4),
        ("qmpi", "MPI_Send", 12),
        ("second", "MPI_Bcast", 0),
        ("second", "MPI_Send", 15),
        ("second", "MPI_Recv", 15),
        ("second", "MPI_Reduce", 12),
    ] {
        tables.expect_calls(label, function, calls)?;
    }
    Ok(())
}

/// The example of the Forum's slides: one instance for rows, another for columns.
fn rows_and_columns(mpi: Mpi) -> Verdict {
    let (rows, columns) = (native(mpi, "rows"), native(mpi, "columns"));
    for stack in [vec![&rows, &columns], vec![&columns, &rows], vec![&rows, &columns, &columns]] {
        let stack: Vec<&str> = stack.into_iter().map(String::as_str).collect();
        let outcome = Job::new(mpi, 4, &program(mpi, "grid.c")).stack(&stack).run();
        outcome.expect(0, &["grid: rows 2 of 2, columns 2 of 2, renamed 2".to_owned()])?;
        let tables = Tables::of(&outcome);
        let of_rows =
            [("MPI_Allreduce", 12, 48), ("MPI_Bcast", 4, 16), ("MPI_Comm_dup", 4, 0), ("MPI_Comm_free", 4, 0)];
        let of_columns = [("MPI_Allreduce", 12, 48), ("MPI_Comm_free", 8, 0)];
        tables.expect_all("rows", &of_rows)?;
        tables.expect_all("columns", &of_columns)?;
        if stack.len() == 3 {
            tables.expect_all("columns#2", &of_columns)?;
        }
    }
    Ok(())
}

/// And a third for everything, found by its names alone.
fn rows_beside_all(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    std::os::unix::fs::symlink(tool(mpi, "qmpi_counter"), directory.path().join("librows.so"))?;
    let job = Job::new(mpi, 4, &program(mpi, "rows.c")).by_hand("rows,counter,columns");
    let outcome = job.env("QMPI_TOOL_PATH", directory.path().display().to_string()).run();
    outcome.expect(0, &["rows: 2 processes in a row, sum 1, all 4".to_owned()])?;
    let tables = Tables::of(&outcome);
    tables.expect_all("rows", &[("MPI_Allreduce", 12, 48), ("MPI_Bcast", 4, 16)])?;
    tables.expect_all("columns", &[])?;
    for (function, calls) in [("MPI_Allreduce", 16), ("MPI_Bcast", 4), ("MPI_Barrier", 4), ("MPI_Comm_split", 4)] {
        tables.expect_calls("counter", function, calls)?;
    }
    Ok(())
}

/// Without MPI_Init there is no report, and no harm.
fn sessions(mpi: Mpi) -> Verdict {
    let (counter, rows) = (native(mpi, "counter"), native(mpi, "rows"));
    let outcome = Job::new(mpi, 2, &program(mpi, "sessions.c")).stack(&[&counter, &rows]).run();
    Ok(outcome.expect(0, &["sessions: 2 processes, sum 3".to_owned()])?)
}

/// Native tools and those of the 2018 prototype, with this MPI's header.
fn no_warnings(mpi: Mpi) -> Verdict {
    for source in Source::all("legacy-tools").iter().filter(|source| source.kind != "pmpi" && source.runs_on(mpi)) {
        let mut command = Command::new(mpi.compiler(&source.language));
        command.args(["-fsyntax-only", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]);
        command.arg(product::root().join("bridge/include")).arg(&source.path);
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    Ok(())
}
