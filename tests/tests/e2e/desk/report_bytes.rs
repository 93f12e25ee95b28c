//! Bytes in `qmpi run --report`: those of a program whose bytes are known, those that a tool counts, those that a layer makes of others.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Tables, Trial, Verdict, on_each_mpi, product, program, tool};
use serde_json::Value;

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("planted", &Mpi::ALL, planted),
        ("planted_in_a_trace", &Mpi::ALL, planted_in_a_trace),
        ("of_a_tool", &Mpi::ALL, of_a_tool),
        ("other_conventions", &Mpi::ALL, other_conventions),
        ("tables", &Mpi::ALL, tables),
    ])
}

/// What `qmpi report` says.
struct Report {
    json: Value,
    text: String,
    outcome: qmpi_tests::Outcome,
}

impl Report {
    fn of(job: &Job) -> Result<Report, Failed> {
        let directory = tempfile::tempdir()?;
        let outcome = job.clone().env("QMPI_REPORT", directory.path().display().to_string()).run();
        outcome.expect(0, &["done".to_owned()])?;
        let answer = |option: &str| -> Result<String, Failed> {
            let output = Command::new(product::command()).args(["report", option]).arg(directory.path()).output()?;
            if !output.status.success() {
                return Err(format!("{}{}", String::from_utf8_lossy(&output.stderr), outcome.report()).into());
            }
            Ok(String::from_utf8(output.stdout)?)
        };
        Ok(Report { json: serde_json::from_str(&answer("--json")?)?, text: answer("--all")?, outcome })
    }

    fn layer(&self, label: &str) -> &Value {
        let layers = self.json["layers"].as_array().into_iter().flatten();
        layers.into_iter().find(|layer| layer["label"] == label).unwrap_or(&Value::Null)
    }

    /// Sent and received in calls that come to a layer on a rank, or that the program makes.
    fn arrived(&self, layer: &str, function: &str, rank: usize) -> [u64; 2] {
        // What the program's calls move goes out of it.
        let way = usize::from(layer == "program");
        let bytes = &self.layer(layer)["functions"][function]["bytes_by_rank"][rank.to_string()][way];
        ["sent", "received"].map(|way| bytes[way].as_u64().unwrap_or(0))
    }

    /// The same on all ranks, of calls that come (`bytes_in`) or go (`bytes_out`).
    fn all(&self, layer: &str, function: &str, way: &str) -> [u64; 2] {
        let bytes = &self.layer(layer)["functions"][function][way];
        ["sent", "received"].map(|way| bytes[way].as_u64().unwrap_or(0))
    }

    fn fail(&self, what: &str) -> Verdict {
        Err(format!("{what}\n{}{}", self.text, self.outcome.report()).into())
    }

    fn is(&self, found: [u64; 2], expected: [u64; 2], what: &str) -> Verdict {
        if found == expected { Ok(()) } else { self.fail(&format!("{what}: {found:?} and not {expected:?}")) }
    }
}

/// What `report_bytes.c` moves on a rank: function, sent, received.
fn known(rank: u64) -> Vec<(&'static str, [u64; 2])> {
    let at = |root: u64, bytes: u64| if rank == root { bytes } else { 0 };
    vec![
        ("MPI_Sendrecv", [800, 800]),
        ("MPI_Irecv", [0, 800 + 630]),
        ("MPI_Isend", [40, 0]),
        ("MPI_Ssend", [630, 0]),
        ("MPI_Rsend", [28, 0]),
        ("MPI_Bsend", [0, 0]),
        ("MPI_Bcast", [at(1, 100), 100 - at(1, 100)]),
        ("MPI_Allreduce", [40, 40]),
        ("MPI_Reduce", [80, at(2, 80)]),
        ("MPI_Gather", [20, at(0, 60)]),
        ("MPI_Scatterv", [at(0, 24), 4 * (rank + 1)]),
        ("MPI_Alltoall", [24, 24]),
        ("MPI_Allgatherv", [2 * (rank + 1), 12]),
        ("MPI_Alltoallw", [14, 6 << rank]),
        ("MPI_Reduce_scatter", [24, 0]),
        ("MPI_Neighbor_alltoall", [32, 32]),
        ("MPI_Gatherv", [at(0, 24), at(2, 24)]),
        ("MPI_Put", [44, 0]),
        ("MPI_Get", [0, 48]),
        ("MPI_File_write_at", [52, 0]),
        ("MPI_File_read_at", [0, 48]),
        ("MPI_Send", [0, 0]),
    ]
}

fn job(mpi: Mpi, directory: &Path) -> Job {
    let file = directory.join("file").display().to_string();
    Job::new(mpi, 3, &program(mpi, "report_bytes.c")).args(&[file])
}

/// At these layers. The tool adds up its own numbers by MPI_Reduce.
fn is_known(report: &Report, layers: &[&str]) -> Verdict {
    for layer in layers {
        for rank in 0..3 {
            for (function, expected) in known(rank) {
                if function == "MPI_Reduce" && *layer == "MPI" {
                    continue;
                }
                let found = report.arrived(layer, function, rank as usize);
                report.is(found, expected, &format!("{function} at {layer} on rank {rank}"))?;
            }
        }
    }
    Ok(())
}

fn planted(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let report = Report::of(&job(mpi, directory.path()).stack(&[&tool(mpi, "counter").display().to_string()]))?;
    is_known(&report, &["program", "MPI"])
}

/// The probe that records calls counts bytes as well.
fn planted_in_a_trace(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let job = job(mpi, directory.path()).stack(&[&tool(mpi, "counter").display().to_string()]);
    let report = Report::of(&job.env("QMPI_TRACE", "first:7"))?;
    is_known(&report, &["program", "MPI"])
}

/// A tool that counts bytes by itself, inside and outside of one that makes sends and receives of MPI_Bcast.
fn of_a_tool(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    let (counter, tbcast) = (tool(mpi, "counter"), tool(mpi, "tbcast"));
    let mut text = format!("stack = [\"outer\", \"tbcast\", \"inner\"]\n[tool.tbcast]\npath = {tbcast:?}\n");
    for name in ["outer", "inner"] {
        text.push_str(&format!("[tool.{name}]\npath = {counter:?}\nenv = {{ COUNTER = \"label={name}\" }}\n"));
    }
    std::fs::write(&config, text)?;
    let report = Report::of(&Job::new(mpi, 4, &program(mpi, "ring.c")).config(&config))?;
    let tables = Tables::of(&report.outcome);
    let mut checked = 0;
    for layer in ["outer", "inner"] {
        for (function, (_, bytes)) in tables.get(layer)? {
            let [sent, received] = report.all(layer, function, "bytes_in");
            // What the tool calls bytes of a collective function is what a rank contributes, and nothing of MPI_IN_PLACE.
            let found = match function.as_str() {
                "MPI_Reduce" => sent,
                "MPI_Allreduce" => sent - 4 * 4,
                _ => sent + received,
            };
            report.is([found, 0], [*bytes, 0], &format!("{function} at {layer}"))?;
            checked += bytes;
        }
    }
    if checked == 0 {
        return report.fail("the tool counts nothing");
    }
    // An int from rank 0 to three others.
    let tbcast = |function, way| report.all("tbcast", function, way);
    report.is(tbcast("MPI_Bcast", "bytes_in"), [4, 12], "MPI_Bcast")?;
    report.is(tbcast("MPI_Bcast", "bytes_out"), [0, 0], "MPI_Bcast")?;
    report.is(tbcast("MPI_Send", "bytes_out"), [12, 0], "MPI_Send")?;
    report.is(tbcast("MPI_Recv", "bytes_out"), [0, 12], "MPI_Recv")?;
    report.is(report.all("inner", "MPI_Send", "bytes_in"), [12 * 4 + 12, 0], "MPI_Send at inner")
}

/// Arguments stand behind two words where a QMPI tool is called, or one of the prototype.
fn other_conventions(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let outer = format!("outer={}", tool(mpi, "counter").display());
    let qmpi = format!("counter={}", tool(mpi, "qmpi_counter").display());
    let thesis = tool(mpi, "thesis_counter").display().to_string();
    for other in [qmpi, thesis] {
        let report = Report::of(&job(mpi, directory.path()).stack(&[&outer, &other]))?;
        let layers = report.json["layers"].as_array().map_or(&[][..], Vec::as_slice);
        let label = layers.iter().filter_map(|layer| layer["label"].as_str()).nth(2).unwrap_or_default().to_owned();
        for rank in 0..3 {
            let at = |layer: &str, function| report.arrived(layer, function, rank);
            for function in ["MPI_Sendrecv", "MPI_Bcast", "MPI_Allreduce", "MPI_Ssend"] {
                report.is(at(&label, function), at("outer", function), &format!("{function} at {label}"))?;
            }
        }
        if report.arrived(&label, "MPI_Sendrecv", 0) != [800, 800] {
            return report.fail(&label);
        }
    }
    Ok(())
}

/// What the terminal shows.
fn tables(mpi: Mpi) -> Verdict {
    let report =
        Report::of(&Job::new(mpi, 4, &program(mpi, "ring.c")).stack(&[&tool(mpi, "tbcast").display().to_string()]))?;
    let row = |function: &str, way: &str| {
        let of = |line: &&str| line.split_whitespace().take(2).eq([function, way]);
        report.text.lines().find(of).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let expected = [
        ("MPI_Bcast", "received", "MPI_Bcast received 12 B 12 B → 0 B"),
        ("MPI_Send", "sent", "MPI_Send sent 48 B +12 B 60 B"),
        ("MPI_Irecv", "received", "MPI_Irecv received 128 B 128 B"),
    ];
    for (function, way, line) in expected {
        if row(function, way).as_deref() != Some(line) {
            return report.fail(&format!("{:?} and not {line}", row(function, way)));
        }
    }
    Ok(())
}
