//! A report of jobs that end badly, or in more than one piece: what was recorded is there, and what is missing is said.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Trial, Verdict, on_each_mpi, product, program, tool};
use serde_json::{Value, json};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("abort", &Mpi::ALL, abort),
        ("killed_after_finalize", &Mpi::ALL, killed_after_finalize),
        ("killed_before", &Mpi::ALL, killed_before),
        ("underscore_exit", &Mpi::ALL, underscore_exit),
        ("killed_parent", &Mpi::ALL, killed_parent),
        ("one_file_for_all_ranks", &Mpi::ALL, one_file_for_all_ranks),
        ("spawned_processes", &[Mpi::OpenMpi], spawned_processes),
        ("sessions", &[Mpi::Mpich], sessions),
        ("where_to_look", &Mpi::ALL, where_to_look),
    ])
}

/// What is left in a directory: JSON and text.
struct Left {
    json: Value,
    text: String,
    files: Vec<String>,
}

impl Left {
    fn by(job: &Job) -> Result<Left, Failed> {
        let directory = tempfile::tempdir()?;
        let outcome = job.clone().env("QMPI_REPORT", directory.path().display().to_string()).run();
        let answer = |options: &[&str]| -> Result<String, Failed> {
            let output = Command::new(product::command()).arg("report").arg(directory.path()).args(options).output()?;
            if !output.status.success() {
                return Err(format!("{}{}", String::from_utf8_lossy(&output.stderr), outcome.report()).into());
            }
            Ok(String::from_utf8(output.stdout)?)
        };
        let names = std::fs::read_dir(directory.path())?.map(|entry| Ok(entry?.file_name().to_string_lossy().into()));
        Ok(Left {
            json: serde_json::from_str(&answer(&["--json"])?)?,
            text: answer(&["--all"])?,
            files: names.collect::<std::io::Result<_>>()?,
        })
    }

    /// Calls that came from a rank to the MPI library.
    fn calls(&self, function: &str, rank: u32) -> u64 {
        let mpi = self.json["layers"].as_array().and_then(|layers| layers.last()).unwrap_or(&Value::Null);
        mpi["functions"][function]["by_rank"][rank.to_string()][0].as_u64().unwrap_or(0)
    }

    fn fail(&self, what: &str) -> Verdict {
        Err(format!("{what}\n{:?}\n{}", self.files, self.text).into())
    }

    fn missing(&self) -> Vec<u64> {
        self.json["missing"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
    }
}

/// Three ranks of which number 1 ends in that way.
fn ending(mpi: Mpi, how: &str) -> Result<Left, Failed> {
    let program = program(mpi, "report_ends.c");
    Left::by(&counted(mpi, &program, 3).args(&[how.to_owned()]))
}

fn counted(mpi: Mpi, program: &Path, ranks: usize) -> Job {
    Job::new(mpi, ranks, program).stack(&[&tool(mpi, "counter").display().to_string()])
}

/// The rank that aborts is known; the others the launcher kills, or they come to their end.
fn abort(mpi: Mpi) -> Verdict {
    let left = ending(mpi, "abort")?;
    let says = "Rank 1 called MPI_Abort: that call is not in the numbers, nor what came after it.";
    if left.json["aborted"] != json!([1]) || left.calls("MPI_Comm_size", 1) < 500 || !left.text.contains(says) {
        return left.fail("the rank that aborts");
    }
    if left.missing().iter().any(|rank| left.calls("MPI_Comm_size", *rank as u32) > 0) {
        return left.fail("missing and known");
    }
    Ok(())
}

fn killed_after_finalize(mpi: Mpi) -> Verdict {
    let left = ending(mpi, "late")?;
    let is_known = (0..3).all(|rank| left.calls("MPI_Comm_size", rank) >= 500 && left.calls("MPI_Barrier", rank) > 0);
    let cut = left.json["cut"].as_array().is_some_and(|cut| cut.contains(&json!(1)));
    if is_known && cut && left.missing().is_empty() { Ok(()) } else { left.fail("all ranks came to MPI_Finalize") }
}

/// Exit handlers are enough, and without them and MPI_Finalize there is what the rank had counted. The launcher may kill others, too.
fn without_finalize(mpi: Mpi, how: &str) -> Verdict {
    let left = ending(mpi, how)?;
    let killed = &left.json["killed"];
    let is_known = |rank: &u32| left.calls("MPI_Comm_size", *rank) >= 500 && left.calls("MPI_Barrier", *rank) == 1;
    if !left.missing().is_empty() || ![0, 1, 2].iter().all(is_known) {
        return left.fail("what all ranks have called is known");
    }
    if !killed.as_array().is_some_and(|killed| killed.contains(&json!(1))) || left.json["cut"] != json!([]) {
        return left.fail("rank 1 is killed");
    }
    let says = "Rank 1 was killed, or ended without MPI_Finalize and exit handlers: its numbers are those of the calls up to then.";
    if *killed == json!([1]) && !left.text.contains(says) {
        return left.fail("it is said who was killed");
    }
    // It slept for two seconds and was killed, so its time is not that of its sleep.
    let elapsed = left.json["elapsed_ns"].as_f64().unwrap_or(0.0);
    if !(1e6..60e9).contains(&elapsed) {
        return left.fail("the time of the ranks");
    }
    Ok(())
}

/// The child of a fork counts for itself: its calls are not those of its parent, which is killed.
fn killed_parent(mpi: Mpi) -> Verdict {
    let left = ending(mpi, "fork")?;
    let calls = left.calls("MPI_Wtime", 1);
    if left.json["killed"].as_array().is_some_and(|killed| killed.contains(&json!(1))) && calls == 3 {
        return Ok(());
    }
    left.fail(&format!("{calls} calls of MPI_Wtime"))
}

fn killed_before(mpi: Mpi) -> Verdict {
    without_finalize(mpi, "kill")
}

fn underscore_exit(mpi: Mpi) -> Verdict {
    without_finalize(mpi, "_exit")
}

/// One host, one file; a job of more than one launcher is in it as well.
fn one_file_for_all_ranks(mpi: Mpi) -> Verdict {
    let left = Left::by(&counted(mpi, &program(mpi, "ring.c"), 4))?;
    let [file] = &left.files[..] else { return left.fail("one file") };
    if !file.starts_with("ranks-") || !file.ends_with(".jsonl.gz") || left.json["size"] != json!(4) {
        return left.fail("its name, and four ranks");
    }
    if left.json["cut"] != json!([])
        || left.json["damaged"] != json!(0)
        || left.json["worlds"].as_array().map(Vec::len) != Some(1)
    {
        return left.fail("all came to their end");
    }
    Ok(())
}

/// Ranks 0 and 1 of the children are others than rank 0 of their parent.
fn spawned_processes(mpi: Mpi) -> Verdict {
    let left = Left::by(&counted(mpi, &program(mpi, "spawn.c"), 1))?;
    if left.json["worlds"] != json!([{"first": 0, "size": 1}, {"first": 1, "size": 2}]) || !left.missing().is_empty() {
        return left.fail("two worlds");
    }
    if [0, 1, 2].map(|rank| left.calls("MPI_Comm_spawn", rank)) != [1, 0, 0]
        || [0, 1, 2].map(|rank| left.calls("MPI_Comm_rank", rank) > 0) != [false, true, true]
            && left.calls("MPI_Comm_rank", 2) == 0
    {
        return left.fail("who spawned whom");
    }
    if !left
        .text
        .contains("Ranks 1–2 started later, by MPI_Comm_spawn or another launcher: ranks 0–1 of an MPI_COMM_WORLD")
    {
        return left.fail("it is said who they are");
    }
    Ok(())
}

/// MPI_Finalize is never called: exit handlers are enough.
fn sessions(mpi: Mpi) -> Verdict {
    let left = Left::by(&counted(mpi, &program(mpi, "sessions.c"), 2))?;
    let is_known =
        (0..2).all(|rank| left.calls("MPI_Session_init", rank) == 1 && left.calls("MPI_Session_finalize", rank) == 1);
    if is_known && left.missing().is_empty() && left.json["cut"] == json!([]) {
        return Ok(());
    }
    left.fail("both ranks, from their first session to their last")
}

/// The job's end says where its report is, once, and not with -q.
fn where_to_look(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let place = directory.path().display().to_string();
    let job = counted(mpi, &program(mpi, "ring.c"), 2).env("QMPI_REPORT", place.clone());
    let line = format!("qmpi: measured; `qmpi report {place}` shows it, `qmpi report {place} --html` writes a page");
    for (log, times) in [("warn", 1), ("error", 0)] {
        let outcome = job.clone().env("QMPI_LOG", log.to_owned()).run();
        let found = outcome.stderr.lines().filter(|said| *said == line).count();
        if found != times {
            return Err(format!("QMPI_LOG={log}: {found} times {line}\n{}", outcome.report()).into());
        }
    }
    Ok(())
}
