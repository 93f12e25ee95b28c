//! What a tool does not see of a program: before the run (`qmpi list -- PROGRAM`), after it (`qmpi report`), and by the tool's age (`qmpi inspect`).

use std::process::Command;

use qmpi_tests::wheel::run;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("of_a_program", &Mpi::ALL, of_a_program),
        ("of_a_fortran_program", &Mpi::ALL, of_a_fortran_program),
        ("of_no_mpi_program", &[Mpi::Mpich], of_no_mpi_program),
        ("in_a_report", &Mpi::ALL, in_a_report),
        ("by_age", &Mpi::ALL, by_age),
    ])
}

/// Wrappers of MPI_Init, MPI_Init_thread, MPI_Barrier and MPI_Finalize.
const TOOL: &str = "sessions_tool.c";

fn qmpi(words: &[&str]) -> Outcome {
    let command = product::command().display().to_string();
    run(&std::iter::once(command).chain(words.iter().map(|&word| word.to_owned())).collect::<Vec<_>>(), &[])
}

fn of_a_program(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, TOOL).display().to_string();
    let program = program(mpi, "four_calls.c").display().to_string();
    let launcher = mpi.launcher(2);
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    let words = [&["list", "-t", &tool, "--"], &launcher[..], &[&program]].concat();
    let heading = format!("{program} calls 4 functions of MPI; not seen");
    let lines = [&heading, "  by sessions_tool.so: 1 function", "      MPI_Comm_rank"].map(str::to_owned);
    qmpi(&words).expect(0, &lines)?;
    let outcome = qmpi(&["list", "--json", "-t", &tool, "--", &program]);
    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout)?;
    let spots = &answer["blind_spots"];
    let is_right = spots["calls"].as_array().is_some_and(|calls| calls.len() == 4)
        && spots["not_seen"]["sessions_tool.so"] == serde_json::json!(["MPI_Comm_rank"])
        && answer["layers"][0]["large_counts"] == "seen";
    if is_right { Ok(()) } else { Err(outcome.report().into()) }
}

/// C wrappers see Fortran calls, unless the section says that they do not.
fn of_a_fortran_program(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("tools.toml");
    let program = program(mpi, "fortran_mpifh.f90").display().to_string();
    let mut numbers = Vec::new();
    for fortran in ["seen", "past"] {
        let path = compile::companion(mpi, TOOL);
        std::fs::write(&file, format!("stack = [\"t\"]\n[tool.t]\npath = {path:?}\nfortran = \"{fortran}\"\n"))?;
        let outcome = qmpi(&["list", "--json", "-c", &file.display().to_string(), "--", &program]);
        let answer: serde_json::Value = serde_json::from_str(&outcome.stdout)?;
        let number = |list: &serde_json::Value| list.as_array().map_or(0, Vec::len);
        numbers.push((number(&answer["blind_spots"]["calls"]), number(&answer["blind_spots"]["not_seen"]["t"])));
    }
    // MPI_Init and MPI_Finalize.
    let [(all, seen), (_, past)] = numbers[..] else { return Err("two answers".into()) };
    if all > 4 && seen == all - 2 && past == all { Ok(()) } else { Err(format!("{numbers:?}").into()) }
}

fn of_no_mpi_program(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, TOOL).display().to_string();
    let outcome = qmpi(&["list", "-t", &tool, "--", "python3", "app.py"]);
    let says = "no program in `python3 app.py` is linked with an MPI library";
    if outcome.status == 3 && outcome.stderr.contains(says) { Ok(()) } else { Err(outcome.report().into()) }
}

fn in_a_report(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let report = directory.path().join("report");
    let tool = compile::companion(mpi, TOOL).display().to_string();
    let program = program(mpi, "four_calls.c");
    Job::new(mpi, 2, &program)
        .stack(&[&tool])
        .option(&format!("--report={}", report.display()))
        .run()
        .expect(0, &[])?;
    let report = report.display().to_string();
    let line = "Not seen by sessions_tool.so: 2 of the program's 8 calls: MPI_Comm_rank (2).";
    qmpi(&["report", &report]).expect(0, &[line.to_owned()])?;
    let outcome = qmpi(&["report", &report, "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout)?;
    let expected = serde_json::json!([{"layer": "sessions_tool.so", "calls": 2, "functions": {"MPI_Comm_rank": 2}}]);
    if answer["not_seen"] == expected { Ok(()) } else { Err(outcome.report().into()) }
}

fn by_age(mpi: Mpi) -> Verdict {
    let output = Command::new(product::command()).arg("inspect").arg(compile::companion(mpi, TOOL)).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let old = "standard   functions up to MPI 2.0: none of the ";
    let fortran = "Fortran    its C functions see Fortran calls, on Open MPI too";
    if text.contains(old) && text.contains(fortran) { Ok(()) } else { Err(text.into()) }
}
