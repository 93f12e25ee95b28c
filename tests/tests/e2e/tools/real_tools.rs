//! Tools that Debian ships: what they write under `LD_PRELOAD` is what they have to write in a stack.
//!
//! | tool | particular |
//! |---|---|
//! | libompitrace | no DT_NEEDED on MPI; a line on stderr per call |
//! | EZTrace | goes down by `dlsym(RTLD_NEXT, "MPI_...")` only; an OTF2 trace, which otf2-print reads |
//! | ompi_monitoring_prof | ends the program in MPI_Init, because its MPI_T variables are missing in Debian's Open MPI |

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("ompitrace", &[Mpi::OpenMpi], ompitrace),
        ("eztrace", &Mpi::ALL, eztrace),
        ("eztrace_twice", &Mpi::ALL, eztrace_twice),
        ("monitoring", &[Mpi::OpenMpi], monitoring),
    ])
}

/// A tool where Debian has it.
fn library(name: &str, package: &str) -> Result<PathBuf, Failed> {
    let path = PathBuf::from(format!("/usr/lib/{}-linux-gnu/{name}", std::env::consts::ARCH));
    if path.exists() { Ok(path) } else { Err(format!("{} is missing: install {package}", path.display()).into()) }
}

fn ring(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "ring.c"))
}

fn finished(outcome: &Outcome) -> Verdict {
    Ok(outcome.expect(0, &["ring: 3 trips, token 3".to_owned(), "done".to_owned()])?)
}

// --- libompitrace ----------------------------------------------------------------------------------------------------

fn ompitrace(mpi: Mpi) -> Verdict {
    let path = library("libompitrace.so.40", "libopenmpi3")?;
    let name = path.display().to_string();
    let counter = tool(mpi, "counter").display().to_string();
    let job = ring(mpi).env("COUNTER", "file=/dev/null");
    let lines = |job: Job| -> Result<Vec<String>, Failed> {
        let outcome = job.run();
        finished(&outcome)?;
        Ok(calls(&outcome))
    };
    let plain = lines(job.clone().preload(&path))?;
    let sends = plain.iter().filter(|line| line.starts_with("MPI_SEND[0]")).count();
    if plain.len() != 34 || sends != 3 {
        return Err(format!("preloaded: {} lines, {sends} of them MPI_SEND on rank 0", plain.len()).into());
    }
    same("alone", &plain, &lines(job.clone().stack(&[&name]))?)?;
    same("above another tool", &plain, &lines(job.clone().stack(&[&name, &counter]))?)?;
    let both: Vec<String> = plain.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
    same("twice", &both, &lines(job.clone().stack(&[&name, &name]))?)?;
    // The counter above gathers its table with one MPI_Reduce more.
    let mut below = lines(job.stack(&[&counter, &name]))?;
    for rank in 0..2 {
        let is_gathering =
            |line: &String| line.starts_with(&format!("MPI_REDUCE[{rank}]")) && line.contains("MPI_LONG_LONG");
        let place = below.iter().position(is_gathering);
        below.remove(place.ok_or_else(|| format!("rank {rank} traces no MPI_Reduce of the counter: {below:#?}"))?);
    }
    same("below another tool", &plain, &below)
}

/// The trace without addresses, sorted: ranks print in no particular order.
fn calls(outcome: &Outcome) -> Vec<String> {
    let is_address = |word: &str| word.len() > 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let masked = |line: &str| {
        let words = line.split(' ').map(|word| if is_address(word) { "ADDRESS" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    let lines = outcome.stderr.lines().filter(|line| line.starts_with("MPI_") || line.starts_with('\t'));
    let mut lines: Vec<String> = lines.map(masked).collect();
    lines.sort_unstable();
    lines
}

fn same(mode: &str, plain: &[String], stacked: &[String]) -> Verdict {
    if plain == stacked {
        return Ok(());
    }
    let mut text = format!("{mode}: {} lines, preloaded {}\n", stacked.len(), plain.len());
    for (sign, lines, others) in [('-', plain, stacked), ('+', stacked, plain)] {
        for line in lines.iter().filter(|line| !others.contains(line)) {
            let _ = writeln!(text, "{sign} {line}");
        }
    }
    Err(text.into())
}

// --- EZTrace ---------------------------------------------------------------------------------------------------------

/// What one run of EZTrace leaves: the files, and for each rank its events in their order.
#[derive(PartialEq, Eq)]
struct Trace {
    files: Vec<String>,
    events: Vec<Vec<String>>,
}

impl Trace {
    fn read(directory: &Path) -> Result<Trace, Failed> {
        let mut files = Vec::new();
        list(directory, directory, &mut files)?;
        files.sort_unstable();
        let anchor = directory.join("ring_trace/eztrace_log.otf2");
        let printed = Command::new("otf2-print").arg(&anchor).output();
        let printed = printed.map_err(|error| format!("otf2-print: {error}: install otf2-tools"))?;
        if !printed.status.success() {
            return Err(format!("{}: {}", anchor.display(), String::from_utf8_lossy(&printed.stderr)).into());
        }
        // EVENT LOCATION TIMESTAMP ATTRIBUTES
        let text = String::from_utf8_lossy(&printed.stdout).into_owned();
        let mut locations: Vec<&str> = Vec::new();
        let mut events: Vec<Vec<String>> = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [event, location, time, attributes @ ..] = &words[..] else { continue };
            if location.parse::<u64>().is_err() || time.parse::<u64>().is_err() {
                continue;
            }
            let known = locations.iter().position(|known| known == location).unwrap_or_else(|| {
                locations.push(location);
                events.push(Vec::new());
                locations.len() - 1
            });
            events[known].push(format!("{event} {}", masked(attributes)));
        }
        let mut order: Vec<usize> = (0..locations.len()).collect();
        order.sort_by_key(|&index| locations[index].parse::<u64>().unwrap_or(u64::MAX));
        Ok(Trace { files, events: order.iter().map(|&index| std::mem::take(&mut events[index])).collect() })
    }

    /// The events of `other` and, between them, of what else the tool saw.
    fn contains(&self, other: &Trace) -> bool {
        self.events.len() == other.events.len()
            && self.events.iter().zip(&other.events).all(|(mine, others)| {
                let mut mine = mine.iter();
                others.iter().all(|event| mine.any(|known| known == event))
            })
    }

    fn counts(&self) -> Vec<usize> {
        self.events.iter().map(Vec::len).collect()
    }
}

/// Attributes without numbers of definitions (`<3>`), requests and communicators, which EZTrace gives in the order in which it
/// sees them, or takes from addresses.
fn masked(attributes: &[&str]) -> String {
    let mut after_request = false;
    let words = attributes.iter().map(|word| {
        let is_number = word.starts_with('<') || std::mem::take(&mut after_request);
        after_request = *word == "Request:";
        let is_communicator = word.starts_with("\"MPI_COMM_") && !word.starts_with("\"MPI_COMM_WORLD");
        if is_number || is_communicator { "N" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn list(root: &Path, directory: &Path, files: &mut Vec<String>) -> Result<(), Failed> {
    for entry in std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            list(root, &path, files)?;
        } else {
            files.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        }
    }
    Ok(())
}

/// A run with EZTrace preloaded as `eztrace` does it.
fn preloaded(mpi: Mpi, directory: &Path) -> Result<Trace, Failed> {
    let mut job = ring(mpi).env("EZTRACE_TRACE", mpi.name()).env("EZTRACE_TRACE_DIR", directory.display().to_string());
    for part in ["core", "lib", mpi.name()] {
        job = job.preload(&library(&format!("libeztrace-{part}.so"), "eztrace")?);
    }
    finished(&job.run())?;
    let trace = Trace::read(directory)?;
    if trace.counts() != [64, 64] {
        return Err(format!("preloaded: {:?} events", trace.counts()).into());
    }
    Ok(trace)
}

fn eztrace(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    let plain = preloaded(mpi, &at("plain"))?;
    let path = library(&format!("libeztrace-{}.so", mpi.name()), "eztrace")?.display().to_string();
    let counter = tool(mpi, "counter").display().to_string();
    let traced = |name: &str, tools: &[&str]| -> Result<Trace, Failed> {
        let job = ring(mpi).env("EZTRACE_TRACE", mpi.name()).env("EZTRACE_TRACE_DIR", at(name).display().to_string());
        let outcome = job.env("COUNTER", "file=/dev/null").stack(tools).run();
        finished(&outcome)?;
        Trace::read(&at(name))
            .map_err(|error| format!("{name}: {}\n{}", error.message().unwrap_or_default(), outcome.report()).into())
    };
    for (mode, tools) in [("alone", &[path.as_str()][..]), ("above", &[&path, &counter])] {
        equal(mode, &plain, &traced(mode, tools)?)?;
    }
    let below = traced("below", &[&counter, &path])?;
    // The counter above gathers its table with one MPI_Reduce more: four events.
    if below.contains(&plain) && below.files == plain.files && below.counts() == [68, 68] {
        return Ok(());
    }
    Err(format!("below: {:?} events, preloaded {:?}", below.counts(), plain.counts()).into())
}

/// Two instances with a directory each. The inner one also sees what the outer one sends to gather its trace.
fn eztrace_twice(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    let plain = preloaded(mpi, &at("plain"))?;
    let path = library(&format!("libeztrace-{}.so", mpi.name()), "eztrace")?;
    let mut text = "stack = [\"outer\", \"inner\"]\n".to_owned();
    for name in ["outer", "inner"] {
        let _ = writeln!(text, "[tool.{name}]\npath = {path:?}\nenv = {{ EZTRACE_TRACE_DIR = {:?} }}", at(name));
    }
    std::fs::write(at("qmpi.toml"), text)?;
    let outcome = ring(mpi).env("EZTRACE_TRACE", mpi.name()).config(&at("qmpi.toml")).run();
    finished(&outcome)?;
    equal("outer", &plain, &Trace::read(&at("outer"))?)?;
    let inner = Trace::read(&at("inner"))?;
    if !inner.contains(&plain) || inner.files != plain.files {
        return Err(format!("inner: lacks some of the program's events\n{}", inner.events[0].join("\n")).into());
    }
    Ok(())
}

fn equal(mode: &str, plain: &Trace, stacked: &Trace) -> Verdict {
    if plain.files != stacked.files {
        return Err(format!("{mode}: files {:?} instead of {:?}", stacked.files, plain.files).into());
    }
    for (rank, (plain, stacked)) in plain.events.iter().zip(&stacked.events).enumerate() {
        same(&format!("{mode}, rank {rank}"), plain, stacked)?;
    }
    if plain == stacked { Ok(()) } else { Err(format!("{mode}: another number of ranks").into()) }
}

// --- ompi_monitoring_prof --------------------------------------------------------------------------------------------

fn monitoring(mpi: Mpi) -> Verdict {
    let path = library("openmpi/lib/ompi_monitoring_prof.so", "libopenmpi3")?;
    let job = Job::new(mpi, 1, &program(mpi, "ring.c"));
    let plain = job.clone().preload(&path).run();
    let stacked = job.stack(&[&path.display().to_string()]).run();
    let reason = "ERROR : cannot find monitoring MPI_T";
    if plain.status == 0 || !plain.stderr.contains(reason) {
        return Err(format!("preloaded: it works after all\n{}", plain.report()).into());
    }
    if plain.status != stacked.status || told(&plain) != told(&stacked) || plain.stdout != stacked.stdout {
        return Err(format!("ends in another way\n{}\n{}", plain.report(), stacked.report()).into());
    }
    Ok(())
}

/// What the tool says. What Open MPI adds about the end of the job differs from run to run.
fn told(outcome: &Outcome) -> Vec<&str> {
    outcome.stderr.lines().filter(|line| line.starts_with("ERROR")).collect()
}
