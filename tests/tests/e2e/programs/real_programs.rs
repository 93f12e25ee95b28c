//! Programs of the distribution under a stack of three, counter, tbcast, counter: their results are those of a run without us,
//! and the inner counter saw what the outer one saw, with sends and receives in the place of broadcasts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, cells, compile, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        // Debian has it for Open MPI only.
        ("hpcc", &[Mpi::OpenMpi], hpcc),
        ("netpipe", &Mpi::ALL, netpipe),
        ("mpi_io", &Mpi::ALL, mpi_io),
        ("hdf5", &Mpi::ALL, hdf5),
    ])
}

/// The same job under the stack. Its tools write to stdout what [`Tables`] reads.
fn stacked(mpi: Mpi, job: &Job, directory: &Path) -> Result<Outcome, Failed> {
    let mut text = "stack = [\"outer\", \"tbcast\", \"inner\"]\n".to_owned();
    for (name, file) in [("outer", "counter"), ("tbcast", "tbcast"), ("inner", "counter")] {
        let setting = format!("label={name}");
        text.push_str(&format!("[tool.{name}]\npath = {:?}\nenv = {{ COUNTER = {setting:?} }}\n", tool(mpi, file)));
    }
    let config = directory.join("qmpi.toml");
    std::fs::write(&config, text)?;
    let outcome = job.clone().config(&config).run();
    outcome.expect(0, &[])?;
    if !outcome.said().is_empty() {
        return Err(format!("not silent\n{}", outcome.report()).into());
    }
    Ok(outcome)
}

/// What the inner counter must have seen, after the outer one and tbcast, on `ranks` ranks; `functions` were called at all.
fn plausible(outcome: &Outcome, ranks: u64, functions: &[&str]) -> Verdict {
    let tables = Tables::of(outcome);
    let (outer, inner) = (tables.get("outer")?, tables.get("inner")?);
    let calls = |table: &qmpi_tests::Table, function: &str| table.get(function).map_or(0, |(calls, _)| *calls);
    let missing = functions.iter().find(|function| calls(outer, function) == 0);
    let mut wrong = missing.map(|function| format!("no {function}"));
    for function in outer.keys().chain(inner.keys()) {
        let (above, below) = (calls(outer, function), calls(inner, function));
        let right = match function.as_str() {
            "MPI_Bcast" => below == 0,
            // As many for a broadcast as there are others in its communicator.
            "MPI_Send" | "MPI_Recv" => {
                (above..=above + calls(outer, "MPI_Bcast") * (ranks - 1) / ranks).contains(&below)
            }
            // With which the outer counter makes its table.
            "MPI_Reduce" => below == above + ranks,
            _ => above == below,
        };
        if !right {
            wrong.get_or_insert(format!("{function}: {above} calls above, {below} below"));
        }
    }
    wrong.map_or(Ok(()), |wrong| Err(format!("{wrong}\n{}", outcome.report()).into()))
}

/// Lines of the program itself: without the tables.
fn of_program(outcome: &Outcome) -> Vec<String> {
    let table =
        |line: &str| line.contains(": MPI calls of ") || line.starts_with("  function ") || line.starts_with("  MPI_");
    outcome.stdout.lines().filter(|line| !table(line)).map(str::to_owned).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(plain: &T, stacked: &T, outcome: &Outcome) -> Verdict {
    if plain == stacked { Ok(()) } else { Err(format!("{stacked:?}\nand not\n{plain:?}\n{}", outcome.report()).into()) }
}

/// The HPC Challenge benchmark: HPL, PTRANS, RandomAccess, FFT, latency and bandwidth, on small problems.
fn hpcc(mpi: Mpi) -> Verdict {
    let example = std::fs::read_to_string("/usr/share/doc/hpcc/examples/_hpccinf.txt")
        .map_err(|error| format!("hpcc is not installed ({error}): run `bash ci/setup`"))?;
    let small = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["1000", "Ns"] => "64 Ns".to_owned(),
        ["80", "NBs"] => "16 NBs".to_owned(),
        ["2", "Ps"] => "1 Ps".to_owned(),
        ["1200", ..] => "64".to_owned(),
        ["40", ..] => "16".to_owned(),
        _ => line.to_owned(),
    };
    let input: Vec<String> = example.lines().map(small).collect();
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("hpccinf.txt"), input.join("\n") + "\n")?;
    // It reads and writes in its working directory.
    let script = format!("cd {} && exec hpcc", directory.path().display());
    let job = Job::new(mpi, 2, Path::new("sh")).args(&["-c".to_owned(), script]);
    let output = directory.path().join("hpccoutf.txt");
    let mut results = Vec::new();
    for _ in 0..2 {
        let plain = job.run();
        plain.expect(0, &[])?;
        results.push(hpcc_results(&output)?);
    }
    let outcome = stacked(mpi, &job, directory.path())?;
    let with_tools = hpcc_results(&output)?;
    // What differs between two runs without us is a time or a rate.
    let stable: BTreeMap<_, _> =
        results[0].iter().filter(|(name, value)| results[1].get(*name) == Some(value)).collect();
    if stable.len() < 40 || with_tools.get("Success").map(String::as_str) != Some("1") {
        return Err(format!("{} results to compare\n{}", stable.len(), outcome.report()).into());
    }
    let of_stable: BTreeMap<_, _> = with_tools.iter().filter(|(name, _)| stable.contains_key(name)).collect();
    same(&stable, &of_stable, &outcome)?;
    plausible(&outcome, 2, &["MPI_Bcast", "MPI_Send", "MPI_Recv", "MPI_Alltoall", "MPI_Comm_split"])?;
    cells::note("real_programs", mpi, "hpcc", "stack of three PMPI tools", "same results");
    Ok(())
}

/// `name=value` of the summary, times and rates left out; removes the file.
fn hpcc_results(output: &Path) -> Result<BTreeMap<String, String>, Failed> {
    let text = std::fs::read_to_string(output)?;
    std::fs::remove_file(output)?;
    let timed = [
        "time",
        "flops",
        "GB",
        "GUP",
        "usec",
        "Latency",
        "Bandwidth",
        "Tick",
        "Wtick",
        "_Copy",
        "_Scale",
        "_Add",
        "_Triad",
        // As many updates as the time allowed for.
        "ExeUpdates",
    ];
    let summary = text.split("Begin of Summary section.").nth(1).ok_or("no summary")?;
    let pairs = summary.lines().filter_map(|line| line.split_once('='));
    let kept = pairs.filter(|(name, _)| !timed.iter().any(|part| name.contains(part)));
    Ok(kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Ping-pong with messages up to 4 KiB that it checks.
fn netpipe(mpi: Mpi) -> Verdict {
    let file = if mpi == Mpi::OpenMpi { "/usr/bin/NPopenmpi" } else { "/usr/bin/NPmpich2" };
    let file = Path::new(file);
    if !file.exists() {
        return Err(format!("{} is not installed: run `bash ci/setup`", file.display()).into());
    }
    let directory = tempfile::tempdir()?;
    let args = ["-I", "-u", "4096", "-n", "3", "-o", "np.out"];
    let script = format!("cd {} && exec {} {}", directory.path().display(), file.display(), args.join(" "));
    let job = Job::new(mpi, 2, Path::new("sh")).args(&["-c".to_owned(), script]);
    let plain = job.run();
    plain.expect(0, &[])?;
    let outcome = stacked(mpi, &job, directory.path())?;
    let rows = netpipe_rows(&plain);
    if rows.len() < 20 {
        return Err(format!("{} rows to compare\n{}", rows.len(), plain.report()).into());
    }
    same(&rows, &netpipe_rows(&outcome), &outcome)?;
    plausible(&outcome, 2, &["MPI_Send", "MPI_Recv"])?;
    cells::note("real_programs", mpi, "netpipe", "stack of three PMPI tools", "same results");
    Ok(())
}

/// `  3:       4 bytes      3 times ... Integrity check passed` without times: size, and what was said of it.
fn netpipe_rows(outcome: &Outcome) -> Vec<String> {
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    let rows = text.lines().filter(|line| line.contains(" bytes ") && line.contains(" times"));
    rows.map(|line| {
        line.split(" in ").next().unwrap_or(line).split_once("-->").map_or(line, |(size, _)| size).to_owned()
    })
    .collect()
}

fn mpi_io(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let job = Job::new(mpi, 3, &program(mpi, "mpi_io.c")).env("TMPDIR", directory.path().display().to_string());
    let plain = job.run();
    plain.expect(0, &["mpi_io: done".to_owned()])?;
    let outcome = stacked(mpi, &job, directory.path())?;
    same(&of_program(&plain), &of_program(&outcome), &outcome)?;
    plausible(&outcome, 3, &["MPI_Bcast", "MPI_Barrier", "MPI_Allreduce"])?;
    // No tool sees MPI's own calls on the way through its I/O.
    Tables::of(&outcome).expect_calls("outer", "MPI_Bcast", 3)?;
    Tables::of(&outcome).expect_calls("outer", "MPI_Allreduce", 3)?;
    cells::note("real_programs", mpi, "MPI-IO", "stack of three PMPI tools", "same results");
    Ok(())
}

/// Parallel HDF5, which calls MPI from a library of its own.
fn hdf5(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("rows.h5").display().to_string();
    let job = Job::new(mpi, 2, &hdf5_program(mpi)?).args(&[file]);
    let plain = job.run();
    plain.expect(0, &["hdf5_parallel: 0 wrong".to_owned()])?;
    let written = std::fs::read(directory.path().join("rows.h5"))?;
    let outcome = stacked(mpi, &job, directory.path())?;
    same(&of_program(&plain), &of_program(&outcome), &outcome)?;
    // The dataset; headers have the time of day.
    if std::fs::read(directory.path().join("rows.h5"))?.len() != written.len() {
        return Err(format!("another file\n{}", outcome.report()).into());
    }
    plausible(&outcome, 2, &["MPI_Bcast", "MPI_Allreduce", "MPI_Comm_dup"])?;
    cells::note("real_programs", mpi, "HDF5", "stack of three PMPI tools", "same results");
    Ok(())
}

fn hdf5_program(mpi: Mpi) -> Result<PathBuf, Failed> {
    let wrapper = format!("h5pcc.{}", mpi.name());
    let source = product::root().join("tests/programs/hdf5_parallel.c");
    let directory = compile::directory(mpi);
    std::fs::create_dir_all(&directory)?;
    let output = directory.join("hdf5_parallel");
    // The wrapper leaves its object file in the working directory.
    let built = Command::new(&wrapper)
        .args(["-shlib", "-O2", "-o"])
        .arg(&output)
        .arg(&source)
        .current_dir(&directory)
        .output()
        .map_err(|error| format!("{wrapper}: {error}: run `bash ci/setup`"))?;
    if built.status.success() {
        return Ok(output);
    }
    Err(format!("{wrapper}: {}", String::from_utf8_lossy(&built.stderr)).into())
}
