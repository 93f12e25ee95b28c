//! What a process with libqmpi costs from its start to its end, beside one with a preloaded tool: instructions, and files that it opens. MPI
//! libraries open a hundred plugins in MPI_Init, and each of them is looked at: once. And a job of 100,000 ranks starts from one file
//! system.

use std::path::Path;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

/// What an empty stack may add to a preloaded tool. It was 19 million for Open MPI where every object was looked at for each that was opened.
const EMPTY: u64 = 6_000_000;
/// What a stack of one tool may add. It was 79 million.
const ONE: u64 = 18_000_000;

/// How many more files a stack of one tool may open: libqmpi.so, libqmpi_core.so, and the tool once more, which is looked at before
/// it is loaded.
const FILES: usize = 3;

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("instructions", &Mpi::ALL, instructions), ("files", &Mpi::ALL, files)])
}

/// A process by itself under callgrind, which counts.
fn count(mpi: Mpi, set_up: impl FnOnce(Job) -> Job) -> Result<u64, Failed> {
    let words = ["--tool=callgrind", "--callgrind-out-file=/dev/null", &program(mpi, "ring.c").display().to_string()]
        .map(str::to_owned);
    let outcome = set_up(Job::alone(mpi, Path::new("valgrind")).args(&words)).within(300).run();
    outcome.expect(0, &["done".to_owned()])?;
    let counted = outcome.stderr.lines().find_map(|line| line.rsplit_once("Collected : ")?.1.trim().parse().ok());
    Ok(counted.ok_or_else(|| outcome.report())?)
}

fn instructions(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    let preloaded = count(mpi, |job| job.preload(&counter))?;
    let empty = count(mpi, |job| job.preload(&product::runtime()))?;
    let one = count(mpi, |job| job.stack(&[&counter.display().to_string()]))?;
    println!("preloaded {preloaded}, empty stack {empty}, one tool {one}");
    for (what, count, most) in [("an empty stack", empty, EMPTY), ("a stack of one tool", one, ONE)] {
        if count > preloaded + most {
            return Err(format!("{what}: {count} instructions, with the tool preloaded {preloaded}").into());
        }
    }
    Ok(())
}

/// The files that a process by itself opens, each as often as it does.
fn opened(mpi: Mpi, set_up: impl FnOnce(Job) -> Job) -> Result<Vec<String>, Failed> {
    let directory = tempfile::tempdir()?;
    let log = directory.path().join("strace.log").display().to_string();
    let program = program(mpi, "ring.c").display().to_string();
    let words = ["-f", "-qq", "-o", &log, "-e", "trace=open,openat", &program].map(str::to_owned);
    // What strace opens itself is not in its log. With LD_LIBRARY_PATH the unwinder is opened before a tool needs it.
    let job = Job::alone(mpi, Path::new("strace")).args(&words).env("LD_LIBRARY_PATH", "");
    set_up(job).run().expect(0, &["done".to_owned()])?;
    let text = std::fs::read_to_string(&log).map_err(|error| format!("strace: {error}; run `bash ci/setup`"))?;
    let mut names: Vec<String> = text.lines().filter_map(file_of).map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// The file that a line of strace says was opened, unless it is the kernel's.
fn file_of(line: &str) -> Option<&str> {
    let name = line.split('"').nth(1)?;
    let is_of_kernel = ["/proc/", "/sys/", "/dev/"].iter().any(|start| name.starts_with(start));
    let is_open = line.rsplit_once(" = ").is_some_and(|(_, result)| !result.starts_with('-'));
    (is_open && !is_of_kernel && !line.contains("O_DIRECTORY")).then_some(name)
}

fn files(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    let preloaded = opened(mpi, |job| job.preload(&counter))?;
    let one = opened(mpi, |job| job.stack(&[&counter.display().to_string()]))?;
    println!("preloaded {} files, one tool {}", preloaded.len(), one.len());
    if !one.iter().any(|name| name.ends_with("/libqmpi.so")) || !preloaded.contains(&counter.display().to_string()) {
        return Err(format!("strace has not seen the tool, or libqmpi.so\n{preloaded:?}\n{one:?}").into());
    }
    if one.len() > preloaded.len() + FILES {
        let mut more = one;
        preloaded.iter().for_each(|name| {
            if let Some(place) = more.iter().position(|known| known == name) {
                more.remove(place);
            }
        });
        return Err(
            format!("{} files with the tool preloaded, and in a stack these more: {more:?}", preloaded.len()).into()
        );
    }
    Ok(())
}
