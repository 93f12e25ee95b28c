//! `qmpi run --trace` and `qmpi report --trace`: every call with what its words mean, whatever becomes of the process.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::compile::companion;
use qmpi_tests::wheel::{run, stacked};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, Wheel, on_each_mpi, product, program, tool};
use regex::Regex;
use serde_json::Value;

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = on_each_mpi(&[
        ("exact_text", &Mpi::ALL, exact_text),
        ("every_call_of_the_report", &Mpi::ALL, every_call_of_the_report),
        ("objects_of_layers", &Mpi::ALL, objects_of_layers),
        ("calls_of_threads", &Mpi::ALL, calls_of_threads),
        ("first_and_last", &Mpi::ALL, first_and_last),
        ("other_conventions", &Mpi::ALL, other_conventions),
        ("events", &Mpi::ALL, events),
        ("killed", &Mpi::ALL, killed),
        ("aborted", &Mpi::ALL, aborted),
        ("ended_by_exit", &Mpi::ALL, ended_by_exit),
        ("spawned", &[Mpi::OpenMpi], spawned),
        ("sessions", &[Mpi::Mpich], sessions),
        ("sites", &Mpi::ALL, sites),
        ("sites_without_debug_information", &Mpi::ALL, sites_without_debug_information),
        ("contents_of_buffers", &Mpi::ALL, contents_of_buffers),
    ]);
    let wheel = Wheel::MPICH_5_ABI;
    trials.push(Trial::test(format!("{}::exact_text", wheel.name), move || {
        wheel.require();
        exact_text_of_the_standard_abi(wheel)
    }));
    trials
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// What `qmpi report --trace` says.
struct Trace {
    text: String,
    json: Value,
    lines: Vec<Line>,
    directory: tempfile::TempDir,
}

/// A line of the text.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    rank: u32,
    thread: u32,
    caller: String,
    layer: String,
    depth: usize,
    /// Addresses are `0x`, times are gone.
    call: String,
}

impl Line {
    fn function(&self) -> &str {
        self.call.split('(').next().unwrap_or_default()
    }
}

impl Trace {
    fn of(job: &Job, limit: &str) -> Result<(Trace, Outcome), Failed> {
        let directory = tempfile::tempdir()?;
        let report = format!("--report={}", path(directory.path()));
        let outcome = job.clone().option(&report).option(&format!("--trace={limit}")).run();
        let trace = Trace::read(directory).map_err(|error| format!("{}\n{}", message(&error), outcome.report()))?;
        Ok((trace, outcome))
    }

    /// What a job has left there.
    fn read(directory: tempfile::TempDir) -> Result<Trace, Failed> {
        let text = shown(directory.path(), &["--trace"])?;
        let json = serde_json::from_str(&shown(directory.path(), &["--trace=json"])?)?;
        Ok(Trace { lines: lines(&text), text, json, directory })
    }

    /// The report itself.
    fn report(&self) -> Result<Value, Failed> {
        let output =
            Command::new(product::command()).arg("report").arg(self.directory.path()).arg("--json").output()?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn lines(&self) -> Vec<Line> {
        self.lines.clone()
    }

    /// Calls by rank, caller, layer and function.
    fn counts(&self) -> BTreeMap<(u32, String, String, String), u64> {
        let mut counts = BTreeMap::new();
        for line in self.lines() {
            let function = line.function().to_owned();
            *counts.entry((line.rank, line.caller, line.layer, function)).or_default() += 1;
        }
        counts
    }

    /// As many calls come to each layer, and leave it, as the report counts: of each function, on each rank. And what a layer calls it calls
    /// from inside of a call that came to it.
    fn agrees_with_report(&self) -> Verdict {
        let report = self.report()?;
        let mut expected: BTreeMap<(u32, String, String), (u64, u64)> = BTreeMap::new();
        for layer in report["layers"].as_array().into_iter().flatten() {
            for (function, numbers) in layer["functions"].as_object().into_iter().flatten() {
                for (rank, pair) in numbers["by_rank"].as_object().into_iter().flatten() {
                    let label = layer["label"].as_str().unwrap_or_default().to_owned();
                    let pair = (pair[0].as_u64().unwrap_or(0), pair[1].as_u64().unwrap_or(0));
                    expected.insert((rank.parse()?, label, function.clone()), pair);
                }
            }
        }
        let mut found: BTreeMap<(u32, String, String), (u64, u64)> = BTreeMap::new();
        for ((rank, caller, layer, function), calls) in self.counts() {
            found.entry((rank, layer, function.clone())).or_default().0 += calls;
            found.entry((rank, caller, function)).or_default().1 += calls;
        }
        if expected.len() < 10 || found != expected {
            return Err(format!("{found:?}\nreport: {expected:?}\n{}", self.text).into());
        }
        self.check_nesting()
    }

    fn check_nesting(&self) -> Verdict {
        let mut open: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
        for line in self.lines() {
            let open = open.entry((line.rank, line.thread)).or_default();
            open.truncate(line.depth);
            let caller = open.last().map_or("program", String::as_str);
            if open.len() != line.depth || caller != line.caller {
                return Err(format!("{line:?} is inside of {open:?}\n{}", self.text).into());
            }
            open.push(line.layer);
        }
        Ok(())
    }

    fn has(&self, what: &str) -> Verdict {
        if self.text.contains(what) { Ok(()) } else { Err(format!("not there: {what}\n{}", self.text).into()) }
    }
}

/// `qmpi report` of a directory.
fn shown(directory: &Path, options: &[&str]) -> Result<String, Failed> {
    let output = Command::new(product::command()).arg("report").arg(directory).args(options).output()?;
    if !output.status.success() {
        return Err(format!("qmpi report: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn message(failed: &Failed) -> &str {
    failed.message().unwrap_or_default()
}

fn lines(text: &str) -> Vec<Line> {
    let rank = Regex::new(r"^rank (\d+) ").unwrap();
    let line = Regex::new(r"^ *\d+\.\d{6}(?: t(\d+) *)? +(\S+) > (\S+) +?( *)(\w+\(.*)$").unwrap();
    let time = Regex::new(r" <[^<>]*>$").unwrap();
    let address = Regex::new(r"0x[0-9a-f]+").unwrap();
    let (mut lines, mut of, mut width) = (Vec::new(), 0, 0);
    for text in text.lines() {
        if let Some(found) = rank.captures(text) {
            of = found[1].parse().unwrap();
            let layers = text.split(": ").nth(1).unwrap_or_default();
            width = layers.split(" > ").map(str::len).max().unwrap_or(0);
            continue;
        }
        let Some(found) = line.captures(text) else { continue };
        // The column of layers is as wide as the longest of them.
        let deep = found[4].len() - (width - found[3].len());
        lines.push(Line {
            rank: of,
            thread: found.get(1).map_or(0, |thread| thread.as_str().parse().unwrap()),
            caller: found[2].to_owned(),
            layer: found[3].to_owned(),
            depth: deep / 2,
            call: address.replace_all(&time.replace(&found[5], ""), "0x").into_owned(),
        });
    }
    lines
}

fn calls(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "trace_calls.c"))
}

/// What rank 0 calls, on every MPI.
const CALLS: &str = "\
MPI_Init(argc=NULL, argv=NULL) = MPI_SUCCESS
MPI_Comm_rank(MPI_COMM_WORLD, rank=&0) = MPI_SUCCESS
MPI_Comm_size(MPI_COMM_WORLD, size=&2) = MPI_SUCCESS
MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) = MPI_SUCCESS
MPI_Comm_dup(MPI_COMM_WORLD, newcomm=&comm#1) = MPI_SUCCESS
MPI_Comm_split(comm#1, color=0, key=0, newcomm=&comm#2) = MPI_SUCCESS
MPI_Comm_set_name(comm#1, comm_name=\"the \\\"first\\\"\") = MPI_SUCCESS
MPI_Comm_get_name(comm#1, comm_name=\"the \\\"first\\\"\", resultlen=&11) = MPI_SUCCESS
MPI_Type_vector(count=2, blocklength=1, stride=3, MPI_DOUBLE, newtype=&type#1) = MPI_SUCCESS
MPI_Type_commit(datatype=&type#1) = MPI_SUCCESS
MPI_Type_create_struct(count=2, array_of_blocklengths=[1, 2], array_of_displacements=[0, 8], array_of_types=[MPI_INT, type#1], newtype=&type#2) = MPI_SUCCESS
MPI_Irecv(buf=0x, count=1, MPI_INT, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, comm#1, request=&request#1) = MPI_SUCCESS
MPI_Isend(buf=0x, count=1, MPI_INT, dest=1, tag=7, comm#1, request=&request#2) = MPI_SUCCESS
MPI_Wait(request=&request#1 → MPI_REQUEST_NULL, status=&{source=1, tag=7, 4 bytes}) = MPI_SUCCESS
MPI_Wait(request=&request#2 → MPI_REQUEST_NULL, status=MPI_STATUS_IGNORE) = MPI_SUCCESS
MPI_Get_count(status=&{source=1, tag=7, 4 bytes}, MPI_INT, count=&1) = MPI_SUCCESS
MPI_Irecv(buf=0x, count=1, MPI_INT, source=MPI_PROC_NULL, tag=0, comm#2, request=&request#3) = MPI_SUCCESS
MPI_Irecv(buf=0x, count=1, MPI_INT, source=MPI_PROC_NULL, tag=1, comm#2, request=&request#4) = MPI_SUCCESS
MPI_Waitall(count=2, array_of_requests=[request#3, request#4] → [MPI_REQUEST_NULL, MPI_REQUEST_NULL], array_of_statuses=MPI_STATUSES_IGNORE) = MPI_SUCCESS
MPI_Send_init(buf=0x, count=1, MPI_INT, dest=MPI_PROC_NULL, tag=0, MPI_COMM_SELF, request=&request#5) = MPI_SUCCESS
MPI_Start(request=&request#5) = MPI_SUCCESS
MPI_Wait(request=&request#5, status=MPI_STATUS_IGNORE) = MPI_SUCCESS
MPI_Request_free(request=&request#5 → MPI_REQUEST_NULL) = MPI_SUCCESS
MPI_Send(buf=NULL, count=0, MPI_BYTE, dest=MPI_PROC_NULL, tag=0, MPI_COMM_SELF) = MPI_SUCCESS
MPI_Iprobe(source=MPI_ANY_SOURCE, tag=8, comm#2, flag=&false, status=0x) = MPI_SUCCESS
MPI_Allreduce(sendbuf=MPI_IN_PLACE, recvbuf=0x, count=2, MPI_INT, MPI_MAX, MPI_COMM_WORLD) = MPI_SUCCESS
MPI_Alltoallv(sendbuf=0x, sendcounts=[1, 1], sdispls=[0, 4], MPI_INT, recvbuf=0x, recvcounts=[1, 1], rdispls=[0, 4], MPI_INT, comm#2) = MPI_SUCCESS
MPI_Send(buf=0x, count=1, MPI_INT, dest=99, tag=0, MPI_COMM_WORLD) = MPI_ERR_RANK
MPI_Comm_group(comm#1, group=&group#1) = MPI_SUCCESS
MPI_Group_free(group=&group#1 → MPI_GROUP_NULL) = MPI_SUCCESS
MPI_Info_create(info=&info#1) = MPI_SUCCESS
MPI_Info_set(info#1, key=\"key\", value=\"value\") = MPI_SUCCESS
MPI_Info_free(info=&info#1 → MPI_INFO_NULL) = MPI_SUCCESS
MPI_Type_free(datatype=&type#1 → MPI_DATATYPE_NULL) = MPI_SUCCESS
MPI_Type_free(datatype=&type#2 → MPI_DATATYPE_NULL) = MPI_SUCCESS
MPI_Comm_free(comm=&comm#1 → MPI_COMM_NULL) = MPI_SUCCESS
MPI_Comm_free(comm=&comm#2 → MPI_COMM_NULL) = MPI_SUCCESS
MPI_Comm_dup(MPI_COMM_SELF, newcomm=&comm#3) = MPI_SUCCESS
MPI_Comm_free(comm=&comm#3 → MPI_COMM_NULL) = MPI_SUCCESS
MPI_Barrier(MPI_COMM_WORLD) = MPI_SUCCESS
MPI_Finalize() = MPI_SUCCESS
";

/// Two texts, line by line.
fn same(found: &[String], expected: &[String]) -> Verdict {
    for place in 0..found.len().max(expected.len()) {
        let (found, expected) = (found.get(place), expected.get(place));
        if found != expected {
            return Err(format!("line {}\n   found {found:?}\nexpected {expected:?}", place + 1).into());
        }
    }
    Ok(())
}

fn rank_0(trace: &Trace, is_wanted: impl Fn(&Line) -> bool) -> Vec<String> {
    // MPICH's error codes have numbers of their own behind the class.
    let code = Regex::new(r"(MPI_ERR_\w+)\(0x\)").unwrap();
    let lines = trace.lines().into_iter().filter(|line| line.rank == 0 && is_wanted(line));
    lines.map(|line| code.replace_all(&line.call, "$1").into_owned()).collect()
}

/// Without a tool there is one edge; with tools, what they pass on is the same on each.
fn exact_text(mpi: Mpi) -> Verdict {
    let expected: Vec<String> = CALLS.lines().map(str::to_owned).collect();
    let (trace, outcome) = Trace::of(&calls(mpi), "all")?;
    outcome.expect(0, &["done".to_owned()])?;
    same(&rank_0(&trace, |_| true), &expected)?;
    let counter = path(&tool(mpi, "counter"));
    let (outer, inner) = (format!("outer={counter}"), format!("inner={counter}"));
    let (trace, _) = Trace::of(&calls(mpi).stack(&[&outer, &inner]), "all")?;
    same(&rank_0(&trace, |line| line.caller == "program"), &expected)?;
    trace.check_nesting()?;
    // What the outer one calls itself is between the calls that it passes on.
    let passed = rank_0(&trace, |line| line.layer == "outer");
    let mut inner = rank_0(&trace, |line| line.layer == "inner");
    inner.retain(|line| passed.contains(line));
    if passed.len() < 10 {
        return Err(trace.text.into());
    }
    same(&inner, &passed)
}

fn every_call_of_the_report(mpi: Mpi) -> Verdict {
    let (counter, tbcast) = (path(&tool(mpi, "counter")), path(&tool(mpi, "tbcast")));
    let tools = [format!("outer={counter}"), format!("tbcast={tbcast}"), format!("inner={counter}")];
    let job = Job::new(mpi, 4, &program(mpi, "ring.c")).stack(&tools.each_ref().map(String::as_str));
    let (trace, _) = Trace::of(&job, "all")?;
    trace.agrees_with_report()
}

/// What a layer makes has that layer's name, and does not count with the program's.
fn objects_of_layers(mpi: Mpi) -> Verdict {
    let dups = format!("dups={}", path(&companion(mpi, "dups_inside.c")));
    let (trace, _) = Trace::of(&calls(mpi).stack(&[&dups]), "all")?;
    trace.has("MPI_Comm_dup(MPI_COMM_SELF, newcomm=&dups:comm#1)")?;
    trace.has("MPI_Comm_free(comm=&dups:comm#1 → MPI_COMM_NULL)")?;
    let of_program = |line: &Line| line.caller == "program" && line.function() == "MPI_Comm_dup";
    let expected = [
        "MPI_Comm_dup(MPI_COMM_WORLD, newcomm=&comm#1) = MPI_SUCCESS",
        "MPI_Comm_dup(MPI_COMM_SELF, newcomm=&comm#3) = MPI_SUCCESS",
    ];
    same(&rank_0(&trace, of_program), &expected.map(str::to_owned))
}

fn calls_of_threads(mpi: Mpi) -> Verdict {
    let counter = format!("outer={}", path(&tool(mpi, "counter")));
    let job = Job::new(mpi, 2, &program(mpi, "threads.c")).stack(&[&counter]);
    let (trace, _) = Trace::of(&job, "all")?;
    trace.agrees_with_report()?;
    let waits: Vec<Line> = trace.lines().into_iter().filter(|line| line.function() == "MPI_Wait").collect();
    for line in &waits {
        let request = "MPI_Wait(request=&request#";
        let thread = format!("@t{} → MPI_REQUEST_NULL", line.thread);
        if line.thread == 0 || !line.call.starts_with(request) || !line.call.contains(&thread) {
            return Err(format!("{line:?}").into());
        }
    }
    let of = |rank: u32, thread: u32| waits.iter().filter(|line| (line.rank, line.thread) == (rank, thread)).count();
    // Eight threads a rank, a hundred messages each, at two layers.
    let all: Vec<usize> =
        (0..2).flat_map(|rank| (1..=8).map(move |thread| (rank, thread))).map(|(r, t)| of(r, t)).collect();
    if all == [200; 16] { Ok(()) } else { Err(format!("{all:?}").into()) }
}

fn first_and_last(mpi: Mpi) -> Verdict {
    let all: Vec<String> = CALLS.lines().map(str::to_owned).collect();
    let (trace, _) = Trace::of(&calls(mpi), "7")?;
    same(&rank_0(&trace, |_| true), &all[..7])?;
    trace.has(&format!("{} further calls at MPI are not recorded (first:7)", all.len() - 7))?;
    let (trace, _) = Trace::of(&calls(mpi), "last:7")?;
    let last = rank_0(&trace, |_| true);
    trace.has(&format!("{} earlier calls at MPI are not recorded (last:7)", all.len() - 7))?;
    let functions = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| line.split('(').next().unwrap_or_default().to_owned()).collect()
    };
    same(&functions(&last), &functions(&all[all.len() - 7..]))?;
    // The first two communicators were made before what is kept.
    let dup = "MPI_Comm_dup(MPI_COMM_SELF, newcomm=&comm#1) = MPI_SUCCESS";
    let free = "MPI_Comm_free(comm=&0x → MPI_COMM_NULL) = MPI_SUCCESS";
    if last[3] == dup && last[1] == free { Ok(()) } else { Err(trace.text.into()) }
}

/// QMPI tools get two words in front of the arguments, tools of the prototype two behind.
fn other_conventions(mpi: Mpi) -> Verdict {
    let outer = format!("outer={}", path(&tool(mpi, "counter")));
    let qmpi = format!("counter={}", path(&tool(mpi, "qmpi_counter")));
    let thesis = path(&tool(mpi, "thesis_counter"));
    for tools in [[&qmpi, &outer], [&outer, &qmpi], [&thesis, &outer], [&outer, &thesis]] {
        let (trace, outcome) = Trace::of(&calls(mpi).stack(&tools.map(String::as_str)), "all")?;
        outcome.expect(0, &[])?;
        let layers: Vec<&str> = trace
            .text
            .lines()
            .next()
            .and_then(|line| line.split(": ").nth(1))
            .unwrap_or_default()
            .split(" > ")
            .collect();
        let is_usual = |function: &str| ["MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Send"].contains(&function);
        let of = |layer: &str| rank_0(&trace, |line| line.layer == layer && is_usual(line.function()));
        let all = CALLS.lines().filter(|line| is_usual(line.split('(').next().unwrap_or_default()));
        let expected: Vec<String> = all.map(str::to_owned).collect();
        // The one of the prototype wraps some functions only.
        let (first, second) = (of(layers[1]), of(layers[2]));
        let is_right = |calls: &[String]| calls.len() >= 2 && calls.iter().all(|call| expected.contains(call));
        if !is_right(&first) || !is_right(&second) {
            return Err(format!("{tools:?}: {first:?}, {second:?}\n{}", trace.text).into());
        }
        same(&of("MPI"), &expected)?;
    }
    Ok(())
}

/// Chrome's trace format: a process for each rank, a row for each layer; events of a row are inside of each other or apart.
fn events(mpi: Mpi) -> Verdict {
    let tools = [format!("outer={}", path(&tool(mpi, "counter"))), format!("tbcast={}", path(&tool(mpi, "tbcast")))];
    let job = Job::new(mpi, 2, &program(mpi, "ring.c")).stack(&tools.each_ref().map(String::as_str));
    let (trace, _) = Trace::of(&job, "all")?;
    let all = trace.json["traceEvents"].as_array().ok_or("no events")?;
    let names = |kind: &str| all.iter().filter(|event| event["name"] == kind).count();
    let rows = all.iter().filter(|event| event["name"] == "thread_name");
    let mut labels: Vec<&str> = rows.filter_map(|event| event["args"]["name"].as_str()).collect();
    labels.sort_unstable();
    if names("process_name") != 2 || labels != ["MPI", "MPI", "outer", "outer", "tbcast", "tbcast"] {
        return Err(format!("{} ranks, {labels:?}", names("process_name")).into());
    }
    let calls: Vec<&Value> = all.iter().filter(|event| event["ph"] == "X").collect();
    if calls.len() != trace.lines().len() || calls.len() < 50 {
        return Err(format!("{} events, {} lines", calls.len(), trace.lines().len()).into());
    }
    let mut open: BTreeMap<(u64, u64), Vec<i64>> = BTreeMap::new();
    for event in &calls {
        let number = |name: &str| event[name].as_f64().ok_or_else(|| format!("no {name}: {event}"));
        let nanoseconds = |name| number(name).map(|microseconds| (microseconds * 1e3).round() as i64);
        let (start, time) = (nanoseconds("ts")?, nanoseconds("dur")?);
        let open = open.entry((number("pid")? as u64, number("tid")? as u64)).or_default();
        open.retain(|end| *end > start);
        if time < 0 || open.iter().any(|end| start + time > *end) {
            return Err(format!("{event} is neither inside of nor behind {open:?}").into());
        }
        open.push(start + time);
    }
    let send =
        calls.iter().find(|event| event["name"] == "MPI_Send" && event["cat"] == "outer").ok_or("no MPI_Send")?;
    let arguments = &send["args"];
    if arguments["datatype"] != "MPI_INT" || arguments["comm"] != "MPI_COMM_WORLD" || arguments["caller"] != "program" {
        return Err(send.to_string().into());
    }
    Ok(())
}

/// What a rank recorded before SIGKILL is there, and the call that it was in on the other rank.
fn killed(mpi: Mpi) -> Verdict {
    let (trace, outcome) = Trace::of(&calls(mpi).args(&["kill".to_owned()]), "all")?;
    if outcome.status == 0 {
        return Err(outcome.report().into());
    }
    let of_1: Vec<String> = trace.lines().into_iter().filter(|line| line.rank == 1).map(|line| line.call).collect();
    same(
        &of_1,
        &CALLS
            .lines()
            .take(2)
            .map(|line| line.replace("rank=&0", "rank=&1"))
            .chain(CALLS.lines().nth(2).map(str::to_owned))
            .collect::<Vec<_>>(),
    )?;
    trace.has("the process did not end by itself: this is what it recorded before")?;
    trace
        .has("tag=99, MPI_COMM_WORLD, status=0x")
        .or(trace.has("tag=99, MPI_COMM_WORLD, status=MPI_STATUS_IGNORE) = ? <not returned>"))
}

fn aborted(mpi: Mpi) -> Verdict {
    let (trace, _) = Trace::of(&calls(mpi).args(&["abort".to_owned()]), "all")?;
    trace.has("MPI_Abort(MPI_COMM_WORLD, errorcode=6) = ? <not returned>")
}

fn ended_by_exit(mpi: Mpi) -> Verdict {
    let (trace, _) = Trace::of(&calls(mpi).args(&["exit".to_owned()]), "all")?;
    let functions: Vec<String> =
        trace.lines().iter().filter(|line| line.rank == 1).map(|line| line.function().to_owned()).collect();
    let expected: Vec<String> =
        CALLS.lines().map(|line| line.split('(').next().unwrap_or_default().to_owned()).collect();
    same(&functions, &expected)?;
    trace.has("the process did not end by itself")
}

/// Three processes, of which two are rank 0.
fn spawned(mpi: Mpi) -> Verdict {
    let job = Job::new(mpi, 1, &program(mpi, "spawn.c")).stack(&[&path(&tool(mpi, "counter"))]);
    let (trace, _) = Trace::of(&job, "all")?;
    let heads = trace.text.lines().filter(|line| line.starts_with("rank 0 (process ")).count();
    if heads != 2 {
        return Err(format!("{heads} processes of rank 0\n{}", trace.text).into());
    }
    trace.has("MPI_Comm_get_parent(parent=&comm#1) = MPI_SUCCESS")?;
    trace.has("intercomm=&comm#1")?;
    trace.has("recvbuf=NULL, count=1, MPI_INT, MPI_SUM, root=0, comm#1)")
}

fn sessions(mpi: Mpi) -> Verdict {
    let job = Job::new(mpi, 2, &program(mpi, "sessions.c")).stack(&[&path(&tool(mpi, "counter"))]);
    let (trace, _) = Trace::of(&job, "all")?;
    trace.has("MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session=&session#1) = MPI_SUCCESS")?;
    trace.has("MPI_Group_from_session_pset(session#1, pset_name=\"mpi://WORLD\", newgroup=&group#1) = MPI_SUCCESS")?;
    trace.has("newcomm=&comm#1) = MPI_SUCCESS")
}

/// As on the other MPIs: what the library stores in a status is asked for.
fn exact_text_of_the_standard_abi(wheel: Wheel) -> Verdict {
    let directory = tempfile::tempdir()?;
    let mut words = wheel.launcher(2);
    words.push(path(&wheel.program("trace_calls.c")));
    let mut words = stacked(&[], &words);
    words.splice(2..2, [format!("--report={}", path(directory.path())), "--trace=all".to_owned()]);
    run(&words, &[]).expect(0, &["done".to_owned()])?;
    let trace = Trace::read(directory)?;
    // How an error code says its class is not public either.
    let code = Regex::new(r" = (MPI_ERR_RANK|\d{4,})$").unwrap();
    let without_code = |line: &str| code.replace(line, " = error").into_owned();
    let found: Vec<String> = rank_0(&trace, |_| true).iter().map(|line| without_code(line)).collect();
    same(&found, &CALLS.lines().map(without_code).collect::<Vec<_>>())
}

/// The line of a program on which there are these words.
fn line_of(program: &str, words: &str) -> Result<usize, Failed> {
    let source = std::fs::read_to_string(product::root().join("tests/programs").join(program))?;
    let place = source.lines().position(|line| line.contains(words)).ok_or("no such line")?;
    Ok(place + 1)
}

/// Each call of the program is at the line where it stands, whatever kind of tool is the outermost; those of tools have no line.
fn sites(mpi: Mpi) -> Verdict {
    let places = [
        ("MPI_Comm_set_name", line_of("trace_calls.c", "MPI_Comm_set_name(first")?),
        ("MPI_Alltoallv", line_of("trace_calls.c", "MPI_Alltoallv(")?),
        ("MPI_Barrier", line_of("trace_calls.c", "MPI_Barrier(")?),
        ("MPI_Finalize", line_of("trace_calls.c", "MPI_Finalize(")?),
    ];
    let counter = format!("outer={}", path(&tool(mpi, "counter")));
    let qmpi = format!("counter={}", path(&tool(mpi, "qmpi_counter")));
    let thesis = path(&tool(mpi, "thesis_counter"));
    let site = Regex::new(r"(\S+) > .* (MPI_\w+)\(.*> at (\S+)$").unwrap();
    for tools in [&[][..], &[&counter], &[&qmpi, &counter], &[&thesis, &counter]] {
        let tools: Vec<&str> = tools.iter().map(|tool| tool.as_str()).collect();
        let (trace, _) = Trace::of(&calls(mpi).stack(&tools), "all")?;
        let text = shown(trace.directory.path(), &["--trace", "--sites"])?;
        let found: Vec<(String, String, String)> = text
            .lines()
            .filter_map(|line| site.captures(line))
            .map(|found| (found[1].to_owned(), found[2].to_owned(), found[3].to_owned()))
            .collect();
        let of_program = trace.lines().iter().filter(|line| line.caller == "program").count();
        if found.len() != of_program || found.iter().any(|(caller, ..)| caller != "program") {
            return Err(format!("{tools:?}: {} of {of_program} have a site\n{text}", found.len()).into());
        }
        for (function, line) in places {
            let expected = format!("trace_calls.c:{line}");
            let sites: Vec<&str> = found.iter().filter(|call| call.1 == function).map(|call| &*call.2).collect();
            if sites != [&*expected; 2] {
                return Err(format!("{tools:?}: {function} at {sites:?} and not {expected}\n{text}").into());
            }
            let events = trace.json["traceEvents"].as_array().ok_or("no events")?;
            let mut events = events.iter().filter(|event| event["name"] == function && event["ph"] == "X");
            let is_right = |event: &Value| match event["args"]["caller"].as_str() {
                Some("program") => event["args"]["site"] == *expected,
                _ => event["args"]["site"].is_null(),
            };
            if !events.all(is_right) {
                return Err(format!("{tools:?}: {function} is another one in JSON").into());
            }
        }
    }
    Ok(())
}

/// As many different places in the program, by addresses.
fn sites_without_debug_information(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let stripped = directory.path().join("stripped");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(program(mpi, "trace_calls.c")).status()?;
    if !status.success() {
        return Err("strip".into());
    }
    let (trace, _) = Trace::of(&Job::new(mpi, 2, &stripped), "all")?;
    let text = shown(trace.directory.path(), &["--trace", "--sites"])?;
    let site = Regex::new(r" at stripped\+(0x[0-9a-f]+)$").unwrap();
    let found: Vec<String> = text.lines().filter_map(|line| Some(site.captures(line)?[1].to_owned())).collect();
    let different: std::collections::BTreeSet<&String> = found.iter().collect();
    // Some are in loops and functions.
    let calls = CALLS.lines().count();
    if found.len() == 2 * calls && different.len() > calls / 2 && different.len() <= calls {
        return Ok(());
    }
    Err(format!("{} of {} sites\n{text}", different.len(), found.len()).into())
}

/// The same bytes have the same hash wherever they are, and only those that were moved count.
fn contents_of_buffers(mpi: Mpi) -> Verdict {
    let counter = format!("outer={}", path(&tool(mpi, "counter")));
    let job = Job::new(mpi, 2, &program(mpi, "trace_buffers.c")).stack(&[&counter]);
    let (trace, outcome) = Trace::of(&job, "all,buffers")?;
    outcome.expect(0, &["done".to_owned()])?;
    let hash = Regex::new(r"(\w+)=&\{(\d+) bytes, hash ([0-9a-f]{16})\}").unwrap();
    let of = |rank: u32, words: &str, parameter: &str| -> Result<Vec<Option<(u64, String)>>, Failed> {
        let lines = trace.lines();
        let lines: Vec<&Line> = lines.iter().filter(|line| line.rank == rank && line.call.starts_with(words)).collect();
        let of_line = |line: &&Line| {
            let mut found = hash.captures_iter(&line.call).filter(|found| &found[1] == parameter);
            found.next().map(|found| (found[2].parse().unwrap_or(0), found[3].to_owned()))
        };
        if lines.is_empty() {
            return Err(format!("no {words} on rank {rank}\n{}", trace.text).into());
        }
        Ok(lines.iter().map(of_line).collect())
    };
    let tagged = |tag: u32| format!("dest=1, tag={tag},");
    // At both layers, in order of their tags.
    let sent: Vec<Option<(u64, String)>> = of(0, "MPI_Send(", "buf")?;
    let received = of(1, "MPI_Recv(", "buf")?;
    let Some(Some((16, four))) = sent.first().cloned() else { return Err(trace.text.clone().into()) };
    let (four, nothing) = (Some((16, four)), None);
    let one = sent.get(8).cloned().flatten();
    let two = sent.get(6).cloned().flatten();
    for (tag, found, bytes) in [(4, &two, 8), (5, &one, 4)] {
        if found.as_ref().is_none_or(|(found, _)| *found != bytes) {
            return Err(format!("no hash of {}\n{}", tagged(tag), trace.text).into());
        }
    }
    let twice = |list: &[Option<(u64, String)>]| -> Vec<Option<(u64, String)>> {
        list.iter().flat_map(|one| [one.clone(), one.clone()]).collect()
    };
    // Four ints in three ways; two with a gap; one that ends before its extent; two of them, the same two; MPI_BOTTOM; nothing; to MPI_PROC_NULL.
    let all_sent = twice(&[
        four.clone(),
        four.clone(),
        four.clone(),
        two.clone(),
        one.clone(),
        two.clone(),
        four.clone(),
        nothing.clone(),
        nothing.clone(),
    ]);
    let check = |what: &str, found: Vec<Option<(u64, String)>>, expected: &[Option<(u64, String)>]| -> Verdict {
        if found == expected {
            Ok(())
        } else {
            Err(format!("{what}: {found:?}, not {expected:?}\n{}", trace.text).into())
        }
    };
    check("sent", sent, &all_sent)?;
    let got: Vec<Option<(u64, String)>> = received;
    for (place, tag) in [(0, 1), (2, 2), (4, 3), (12, 7)] {
        check(&format!("received, tag {tag}"), got[place..place + 2].to_vec(), &twice(std::slice::from_ref(&four)))?;
    }
    check("received, one int", got[8..10].to_vec(), &twice(&[one]))?;
    // Without gaps.
    check("received, two ints", got[6..8].to_vec(), &twice(std::slice::from_ref(&two)))?;
    check("received, two ints", got[10..12].to_vec(), &twice(&[two]))?;
    check("received, nothing", got[14..].to_vec(), &twice(&[nothing.clone(), nothing.clone()]))?;
    for rank in [0, 1] {
        check("MPI_Bcast", of(rank, "MPI_Bcast(", "buffer")?, &twice(std::slice::from_ref(&four)))?;
        check("MPI_Isend", of(rank, "MPI_Isend(", "buf")?, &twice(std::slice::from_ref(&four)))?;
        check("MPI_Irecv", of(rank, "MPI_Irecv(", "buf")?, &twice(std::slice::from_ref(&four)))?;
        // The tool has no wrapper of it.
        check("MPI_Allgatherv", of(rank, "MPI_Allgatherv(", "sendbuf")?, std::slice::from_ref(&four))?;
        check("in place", of(rank, "MPI_Allreduce(", "sendbuf")?, &twice(std::slice::from_ref(&nothing)))?;
    }
    let equal =
        |function: &str| -> Verdict { check(function, of(1, function, "recvbuf")?, &of(0, function, "recvbuf")?) };
    equal("MPI_Allreduce(")?;
    equal("MPI_Allgatherv(")?;
    // Elsewhere in memory, the same bytes.
    check("MPI_Gatherv", of(0, "MPI_Gatherv(", "recvbuf")?, &of(0, "MPI_Allgatherv(", "recvbuf")?)?;
    check("MPI_Gatherv", of(1, "MPI_Gatherv(", "recvbuf")?, &[nothing])?;
    // Nothing of it without being asked for.
    let (plain, _) = Trace::of(&job, "all")?;
    if plain.text.contains("hash ") { Err(plain.text.into()) } else { Ok(()) }
}
