//! `qmpi run --report` and `qmpi report`: what tools cost and do to the calls, against what tools and programs know themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::compile::companion;
use qmpi_tests::{Job, Mpi, Tables, Trial, Verdict, on_each_mpi, product, program, tool};
use serde_json::Value;

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("calls_are_conserved", &Mpi::ALL, calls_are_conserved),
        ("calls_of_threads", &Mpi::ALL, calls_of_threads),
        ("planted_costs", &Mpi::ALL, planted_costs),
        ("without_exit_handlers", &Mpi::ALL, without_exit_handlers),
        ("other_conventions", &Mpi::ALL, other_conventions),
        ("hidden_calls", &Mpi::ALL, hidden_calls),
        ("tool_of_the_program", &Mpi::ALL, tool_of_the_program),
        ("unwinders_pass_the_recorder", &Mpi::ALL, unwinders_pass_the_recorder),
    ])
}

fn done() -> [String; 1] {
    ["done".to_owned()]
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// What `qmpi report` says.
struct Report {
    json: Value,
    text: String,
    _directory: tempfile::TempDir,
}

impl Report {
    /// Runs a job with a report, and checks that every call of it is accounted for.
    fn of(job: &Job, lines: &[String]) -> Result<(Report, qmpi_tests::Outcome), Failed> {
        let directory = tempfile::tempdir()?;
        let place = directory.path().join("new").join("report");
        let outcome = job.clone().env("QMPI_REPORT", path(&place)).run();
        outcome.expect(0, lines)?;
        let answer = |options: &[&str]| -> Result<String, Failed> {
            let output = Command::new(product::command()).arg("report").arg(&place).args(options).output()?;
            if !output.status.success() {
                return Err(format!("qmpi report: {}", String::from_utf8_lossy(&output.stderr)).into());
            }
            Ok(String::from_utf8(output.stdout)?)
        };
        let json = serde_json::from_str(&answer(&["--json"])?)?;
        let report = Report { json, text: answer(&["--all"])?, _directory: directory };
        report.check_conservation()?;
        Ok((report, outcome))
    }

    fn layers(&self) -> &[Value] {
        self.json["layers"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn function(&self, layer: &str, function: &str) -> &Value {
        let layer = self.layers().iter().find(|known| known["label"] == layer);
        layer.map_or(&Value::Null, |layer| &layer["functions"][function])
    }

    fn calls(&self, layer: &str, function: &str) -> (u64, u64) {
        let function = self.function(layer, function);
        let number = |name: &str| function[name].as_u64().unwrap_or(0);
        (number("calls_in"), number("calls_out"))
    }

    /// Own nanoseconds on a rank.
    fn own(&self, layer: &str, function: &str, rank: usize) -> f64 {
        self.function(layer, function)["own"]["by_rank"][rank.to_string()].as_f64().unwrap_or(0.0)
    }

    /// Calls of the program and those that a layer adds, without those that it drops, are the calls that arrive at the MPI library: of
    /// each function, on each rank.
    fn check_conservation(&self) -> Verdict {
        let names = |layer: &Value| layer["functions"].as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
        let functions: BTreeSet<String> = self.layers().iter().filter_map(names).flatten().collect();
        if functions.len() < 3 {
            return Err(format!("only {functions:?}\n{}", self.text).into());
        }
        let ranks = self.json["size"].as_u64().unwrap_or(0);
        let (mut checked, last) = (0, self.layers().len() - 1);
        for function in &functions {
            for rank in 0..ranks {
                let at = |layer: &Value| {
                    let pair = &layer["functions"][function]["by_rank"][rank.to_string()];
                    (pair[0].as_i64().unwrap_or(0), pair[1].as_i64().unwrap_or(0))
                };
                let added: i64 =
                    self.layers()[..last].iter().map(at).map(|(calls_in, calls_out)| calls_out - calls_in).sum();
                let arrived = at(&self.layers()[last]);
                if added != arrived.0 - arrived.1 {
                    let text = &self.text;
                    return Err(format!("{function} on rank {rank}: {added} calls, {arrived:?} arrived\n{text}").into());
                }
                checked += arrived.0;
            }
        }
        if checked == 0 { Err("no call arrived".into()) } else { Ok(()) }
    }

    /// A layer that counts by itself has counted these calls.
    fn agrees_with(&self, layer: &str, tables: &Tables<'_>) -> Verdict {
        for (function, (calls, _)) in tables.get(layer)? {
            if self.calls(layer, function).0 != *calls {
                let counted = self.calls(layer, function);
                return Err(format!("{layer} counts {calls} {function}, the report {counted:?}\n{}", self.text).into());
            }
        }
        Ok(())
    }
}

/// A configuration of counters around `tbcast`, each with its label.
fn counters(mpi: Mpi, own_calls: &str) -> Result<(tempfile::TempDir, PathBuf), Failed> {
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    let (counter, tbcast) = (tool(mpi, "counter"), tool(mpi, "tbcast"));
    let mut text = format!("stack = [\"outer\", \"tbcast\", \"inner\"]\n[tool.tbcast]\npath = {tbcast:?}\n");
    for name in ["outer", "inner"] {
        text.push_str(&format!(
            "[tool.{name}]\npath = {counter:?}\nown_calls = \"{own_calls}\"\nenv = {{ COUNTER = \"label={name}\" }}\n"
        ));
    }
    std::fs::write(&config, text)?;
    Ok((directory, config))
}

fn calls_are_conserved(mpi: Mpi) -> Verdict {
    let (_directory, config) = counters(mpi, "visible")?;
    let job = Job::new(mpi, 4, &program(mpi, "ring.c")).config(&config);
    let (report, outcome) = Report::of(&job, &done())?;
    let tables = Tables::of(&outcome);
    report.agrees_with("outer", &tables)?;
    report.agrees_with("inner", &tables)?;
    let bcast = ["program", "outer", "tbcast", "inner"].map(|layer| report.calls(layer, "MPI_Bcast"));
    if bcast != [(0, 4), (4, 4), (4, 0), (0, 0)] {
        return Err(format!("MPI_Bcast: {bcast:?}\n{}", report.text).into());
    }
    let sends = report.calls("tbcast", "MPI_Send");
    if sends != (0, 3) {
        return Err(format!("MPI_Send of tbcast: {sends:?}\n{}", report.text).into());
    }
    Ok(())
}

/// Threads at once, and those that come after others have ended.
fn calls_of_threads(mpi: Mpi) -> Verdict {
    let (_directory, config) = counters(mpi, "visible")?;
    let job = Job::new(mpi, 2, &program(mpi, "threads.c")).config(&config);
    let (report, outcome) = Report::of(&job, &[])?;
    let tables = Tables::of(&outcome);
    report.agrees_with("outer", &tables)?;
    report.agrees_with("inner", &tables)
}

/// Two instances of a tool that knows how long it spins: each gets its own time and not that of the other.
///
/// A rank that the kernel interrupts between the tool's clock and the probe's has more: each function has to be right in one of some runs. It
/// must have too little in none.
fn planted_costs(mpi: Mpi) -> Verdict {
    let spins = path(&companion(mpi, "report_spins.c"));
    let (outer, inner) = (format!("outer={spins}"), format!("inner={spins}"));
    let job = Job::new(mpi, 2, &program(mpi, "report_calls.c")).stack(&[&outer, &inner]);
    let mut wrong: BTreeMap<(usize, String), String> = BTreeMap::new();
    for run in 0..5 {
        let (report, outcome) = Report::of(&job, &done())?;
        let spun: Vec<(String, f64, u64)> = outcome.stdout.lines().filter_map(spun).collect();
        if spun.len() != 6 {
            return Err(format!("{spun:?}\n{}", outcome.report()).into());
        }
        // The outer one comes to MPI_Finalize first.
        for (place, (function, nanoseconds, calls)) in spun.iter().enumerate() {
            let layer = if place < 3 { "outer" } else { "inner" };
            let own = report.own(layer, function, 0);
            let says =
                format!("{function} at {layer}: {own} ns, it spun {nanoseconds} in {calls} calls\n{}", report.text);
            if own < 0.99 * nanoseconds {
                return Err(says.into());
            }
            // The tool reads the clock outside of the time that it knows, too: three reads, of up to 100 ns on virtual machines.
            if own < 1.05 * nanoseconds + 300.0 * *calls as f64 {
                wrong.insert((place, function.clone()), String::new());
            } else {
                wrong.entry((place, function.clone())).or_insert(says);
            }
        }
        if run > 0 && wrong.values().all(String::is_empty) {
            return Ok(());
        }
    }
    wrong.into_values().find(|says| !says.is_empty()).map_or(Ok(()), |says| Err(says.into()))
}

/// `spun FUNCTION NANOSECONDS CALLS`
fn spun(line: &str) -> Option<(String, f64, u64)> {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["spun", function, nanoseconds, calls] => {
            Some((function.to_owned(), nanoseconds.parse().ok()?, calls.parse().ok()?))
        }
        _ => None,
    }
}

/// What is known when MPI_Finalize comes to MPI does not need exit handlers.
fn without_exit_handlers(mpi: Mpi) -> Verdict {
    let counter = path(&tool(mpi, "counter"));
    let job = Job::new(mpi, 3, &program(mpi, "report_calls.c")).args(&["1".to_owned()]).stack(&[&counter]);
    let (report, _) = Report::of(&job, &done())?;
    let says = "Rank 1 ended without exit handlers: what came after the call of MPI_Finalize is not in the numbers.";
    let calls = &report.function("MPI", "MPI_Comm_rank")["by_rank"]["1"][0];
    let is_known = report.json["missing"] == serde_json::json!([]) && calls.as_u64() >= Some(2000);
    if is_known && report.json["cut"] == serde_json::json!([1]) && report.text.contains(says) {
        return Ok(());
    }
    Err(format!("{} {}\n{}", report.json["missing"], report.json["cut"], report.text).into())
}

/// QMPI tools pass two words more, and so do those of the prototype.
fn other_conventions(mpi: Mpi) -> Verdict {
    let outer = format!("outer={}", path(&tool(mpi, "counter")));
    let qmpi = format!("counter={}", path(&tool(mpi, "qmpi_counter")));
    let thesis = path(&tool(mpi, "thesis_counter"));
    for other in [&qmpi, &thesis] {
        for tools in [[other, &outer], [&outer, other]] {
            let job = Job::new(mpi, 2, &program(mpi, "ring.c")).env("COUNTER", "label=outer");
            let (report, outcome) = Report::of(&job.stack(&tools.map(String::as_str)), &done())?;
            if other == &thesis {
                report.agrees_with("outer", &Tables::of(&outcome))?;
            }
            let layers = report.layers();
            if layers.len() != 4 || layers.iter().skip(1).any(|layer| layer["calls_in"].as_u64() < Some(20)) {
                return Err(report.text.into());
            }
        }
    }
    Ok(())
}

/// What a layer asks MPI for itself goes past the layers below, and is still counted where it arrives.
fn hidden_calls(mpi: Mpi) -> Verdict {
    let (_directory, config) = counters(mpi, "hidden")?;
    let (report, outcome) = Report::of(&Job::new(mpi, 2, &program(mpi, "ring.c")).config(&config), &done())?;
    let tables = Tables::of(&outcome);
    report.agrees_with("outer", &tables)?;
    report.agrees_with("inner", &tables)
}

/// A tool that is preloaded besides comes first, and is a layer of the report, in front of a stack or alone, whether it stands before or behind
/// the runtime.
fn tool_of_the_program(mpi: Mpi) -> Verdict {
    let (counter, tbcast) = (tool(mpi, "counter"), path(&tool(mpi, "tbcast")));
    let alone = Job::new(mpi, 2, &program(mpi, "ring.c")).env("COUNTER", "label=counter.so (program)");
    let before = alone.clone().preload(&counter).preload(&product::runtime());
    let behind = alone.preload(&product::runtime()).preload(&counter);
    for (job, layers) in [
        (before.clone().env("QMPI_LOG", "error"), 3),
        (behind.env("QMPI_LOG", "error"), 3),
        (before.env("QMPI_TOOL_LIST", tbcast), 4),
    ] {
        let (report, outcome) = Report::of(&job, &done())?;
        if report.layers().len() != layers {
            return Err(format!("not {layers} layers\n{}", report.text).into());
        }
        report.agrees_with("counter.so (program)", &Tables::of(&outcome))?;
        let reduce = report.calls("counter.so (program)", "MPI_Reduce");
        if reduce != (4, 6) {
            return Err(format!("MPI_Reduce: {reduce:?}\n{}", report.text).into());
        }
    }
    Ok(())
}

/// The recorder is a frame more, and a stub before it may be another; the way up goes on behind them.
fn unwinders_pass_the_recorder(mpi: Mpi) -> Verdict {
    let unwind = path(&tool(mpi, "unwind"));
    let job = Job::new(mpi, 2, &program(mpi, "frames.c")).stack(&[&unwind]);
    let (_, outcome) = Report::of(&job, &[])?;
    let line = outcome.stdout.lines().find(|line| line.starts_with("tool unwind: ok")).unwrap_or_default();
    let frames: Vec<&str> = line.rsplit("MPI_Send < ").next().unwrap_or_default().split(" < ").collect();
    match frames[..] {
        [recorder, .., "app_inner", "app_outer", "main"] if recorder.contains("qmpi_recorder") => Ok(()),
        _ => Err(format!("{frames:?}\n{}", outcome.report()).into()),
    }
}
