//! `qmpi run --stats=FILE` and `qmpi stats FILE`: calls on all ranks together, against what tools count themselves.

use std::process::Command;

use qmpi_tests::{Job, Mpi, Tables, Trial, Verdict, on_each_mpi, product, program, tool};
use serde_json::{Value, json};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("sums_over_ranks", &Mpi::ALL, sums_over_ranks)])
}

/// The program's ranks all send as often, and rank 0 asks for the time once more, which no layer intercepts.
fn sums_over_ranks(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("calls");
    let outer = format!("outer={}", tool(mpi, "counter").display());
    let job = Job::new(mpi, 4, &program(mpi, "ring.c")).stack(&[&outer]).env("COUNTER", "label=outer");
    let outcome = job.env("QMPI_STATS", file.display().to_string()).run();
    outcome.expect(0, &["done".to_owned()])?;
    let answer = |options: &[&str]| Command::new(product::command()).arg("stats").arg(&file).args(options).output();
    let json: Value = serde_json::from_slice(&answer(&["--json"])?.stdout)?;
    let text = String::from_utf8(answer(&[])?.stdout)?;
    if json["ranks"] != json!([0, 1, 2, 3]) || json["missing"] != json!([]) || json["layers"] != json!(["outer", "MPI"])
    {
        return Err(format!("{json}").into());
    }
    let at = |function: &str| {
        let rows = json["functions"].as_array().into_iter().flatten();
        rows.clone().find(|row| row["function"] == function).map_or(Value::Null, |row| row["calls"].clone())
    };
    if at("MPI_Send")
        != json!([{"sum": 12, "min": 3, "max": 3, "max_rank": 0}, {"sum": 12, "min": 3, "max": 3, "max_rank": 0}])
    {
        return Err(format!("MPI_Send: {}\n{text}", at("MPI_Send")).into());
    }
    for (function, (calls, _)) in Tables::of(&outcome).get("outer")? {
        if at(function)[0]["sum"].as_u64() != Some(*calls) {
            return Err(format!("the tool counts {calls} {function}\n{text}").into());
        }
    }
    if at("MPI_Wtime") != json!([null, {"sum": 5, "min": 1, "max": 2, "max_rank": 0}])
        || !text.contains("5 (1 – 2, rank 0)")
    {
        return Err(format!("MPI_Wtime: {}\n{text}", at("MPI_Wtime")).into());
    }
    // A rank that left nothing.
    std::fs::remove_file(directory.path().join("calls.2"))?;
    let text = String::from_utf8(answer(&[])?.stdout)?;
    if !text.starts_with("3 ranks.\nNothing is known of rank 2.\n") {
        return Err(text.into());
    }
    Ok(())
}
