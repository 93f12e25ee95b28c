//! `qmpi compare`: mistakes in a port are found where they are, and what is the same is called so, however much of it varies.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::against::number;
use qmpi_tests::compile::{companion, companion_variant};
use qmpi_tests::{Mpi, Trial, Verdict, on_each_mpi, product, program, tool};
use serde_json::Value;

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("dropped_call", &Mpi::ALL, dropped_call),
        ("swapped_arguments", &Mpi::ALL, swapped_arguments),
        ("wrong_communicator", &Mpi::ALL, wrong_communicator),
        ("changed_result_code", &Mpi::ALL, changed_result_code),
        ("missing_function", &Mpi::ALL, missing_function),
        ("double_count", &Mpi::ALL, double_count),
        ("changed_order", &Mpi::ALL, changed_order),
        ("lost_output_line", &Mpi::ALL, lost_output_line),
        ("slow_wrapper", &Mpi::ALL, slow_wrapper),
        ("leaked_request", &Mpi::ALL, leaked_request),
        ("native_and_bridged", &Mpi::ALL, native_and_bridged),
        ("launcher_in_a_script", &Mpi::ALL, launcher_in_a_script),
        ("native_and_port", &Mpi::ALL, native_and_port),
        ("counter_and_its_port", &Mpi::ALL, counter_and_its_port),
        ("tool_with_itself", &Mpi::ALL, tool_with_itself),
        ("two_stacks", &Mpi::ALL, two_stacks),
        ("corrupted_buffer", &Mpi::ALL, corrupted_buffer),
        ("corrupted_when_received", &Mpi::ALL, corrupted_when_received),
        ("corrupted_when_sent", &Mpi::ALL, corrupted_when_sent),
        ("corrupted_gaps", &Mpi::ALL, corrupted_gaps),
        ("buffers_of_a_tool_with_itself", &Mpi::ALL, buffers_of_a_tool_with_itself),
        ("constructor_that_calls_mpi", &Mpi::ALL, constructor_that_calls_mpi),
        ("aborts_now_and_then", &Mpi::ALL, aborts_now_and_then),
        ("nothing_to_compare", &Mpi::ALL, nothing_to_compare),
        ("tool_in_cxx", &Mpi::ALL, tool_in_cxx),
        ("look_up_in_a_constructor", &Mpi::ALL, look_up_in_a_constructor),
        ("wrappers_in_fortran", &Mpi::ALL, wrappers_in_fortran),
        ("tool_with_threads", &Mpi::ALL, tool_with_threads),
        ("busy_machine", &Mpi::ALL, busy_machine),
    ])
}

/// As many ranks as the programs want at least, and one that they leave alone.
const RANKS: usize = 3;

/// The last rank, on which mistakes are that can be on one rank.
const LAST: u64 = 2;

/// From which ratio on a cost is a finding, where a test is about costs: the command's own default. All others ask for one that no machine comes
/// to: time is what a busy machine makes differ.
const COSTS: [&str; 2] = ["--slower", "1.5"];
const NO_COSTS: [&str; 2] = ["--slower", "1e9"];

/// What `qmpi compare` says.
struct Answer {
    status: i32,
    json: Value,
    text: String,
}

impl Answer {
    fn of(mpi: Mpi, options: &[&str], program: &Path) -> Result<Answer, Failed> {
        Answer::of_command(mpi, options, &job(mpi, program))
    }

    fn of_command(mpi: Mpi, options: &[&str], words: &[OsString]) -> Result<Answer, Failed> {
        Answer::of_command_in(mpi, options, words, &[])
    }

    fn of_command_in(
        mpi: Mpi,
        options: &[&str],
        words: &[OsString],
        variables: &[(&str, &Path)],
    ) -> Result<Answer, Failed> {
        let directory = tempfile::tempdir()?;
        let mut command = Command::new(product::command());
        command.arg("compare").args(options).args(["--json", "--all", "--html", "answer.html"]);
        command.args(if options.contains(&COSTS[0]) { &[][..] } else { &NO_COSTS }).arg("--");
        command.args(words).current_dir(directory.path()).envs(mpi.variables()).envs(variables.iter().copied());
        let output = command.output()?;
        let (text, errors) = (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr).into_owned());
        let status = output.status.code().unwrap_or(-1);
        let json = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}{errors}, status {status}"))?;
        let page = std::fs::read_to_string(directory.path().join("answer.html"))?;
        if !page.contains("</html>") || !errors.is_empty() {
            return Err(format!("{page}\n{errors}").into());
        }
        Ok(Answer { status, json, text })
    }

    fn findings(&self) -> &[Value] {
        self.json["findings"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn is_same(&self) -> Verdict {
        self.is_same_with_notes(0)
    }

    /// The same, with so many remarks about what was not compared.
    fn is_same_with_notes(&self, notes: usize) -> Verdict {
        let calls = || self.json["notes"].as_array().is_some_and(|all| all.len() == notes);
        if self.status == 0 && self.json["verdict"] == "same" && self.findings().is_empty() && calls() {
            return Ok(());
        }
        Err(self.text.clone().into())
    }

    /// There is a finding of this kind, function and rank, whose message has these words in it.
    fn has(&self, kind: &str, function: &str, rank: Option<u64>, words: &str) -> Verdict {
        let is_it = |finding: &&Value| {
            let text = finding["message"].as_str().unwrap_or_default();
            finding["kind"] == kind
                && (finding["function"] == function || function.is_empty())
                && (rank.is_none() || finding["rank"].as_u64() == rank)
                && (text.contains(words) || finding["diff"].as_str().is_some_and(|diff| diff.contains(words)))
        };
        if self.status == 1 && self.json["verdict"] == "different" && self.findings().iter().any(|found| is_it(&found))
        {
            return Ok(());
        }
        Err(format!("no {kind} of {function} on rank {rank:?} with `{words}`\n{}", self.text).into())
    }

    /// Nothing else is found than what is of these kinds and functions.
    fn only(&self, known: &[(&str, &str)]) -> Verdict {
        let is_known = |finding: &Value| {
            known.iter().any(|(kind, function)| {
                finding["kind"] == *kind && (function.is_empty() || finding["function"] == *function)
            })
        };
        let mut others = String::new();
        for finding in self.findings().iter().filter(|finding| !is_known(finding)) {
            let _ = writeln!(others, "{finding}");
        }
        if others.is_empty() { Ok(()) } else { Err(format!("found besides: {others}").into()) }
    }
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// The tool, and the same with a mistake.
fn defect(mpi: Mpi, defect: &str) -> Result<Answer, Failed> {
    // The program does the same in every run: a run less says as much.
    defect_with(mpi, defect, &["--runs", "2"])
}

fn defect_with(mpi: Mpi, defect: &str, options: &[&str]) -> Result<Answer, Failed> {
    let option = format!("-DDEFECT_{}", defect.to_uppercase());
    let port = companion_variant(mpi, "compare_tool.c", defect, &[&option]);
    let (old, new) = (path(&companion(mpi, "compare_tool.c")), path(&port));
    Answer::of(mpi, &[&["--old", &old, "--new", &new], options].concat(), &program(mpi, "compare_calls.c"))
}

fn dropped_call(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "dropped")?;
    answer.has("calls_out", "MPI_Comm_set_name", Some(LAST), "1 call on the old side, 0 on the new")?;
    answer.only(&[("calls_out", "MPI_Comm_set_name")])
}

fn swapped_arguments(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "swapped")?;
    let words = "color=0, key=2 on the old side, color=2, key=0 on the new";
    answer.has("calls_out", "MPI_Comm_split", Some(LAST), words)?;
    answer.only(&[("calls_out", "MPI_Comm_split")])
}

fn wrong_communicator(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "communicator")?;
    for rank in 0..=LAST {
        answer.has(
            "calls_out",
            "MPI_Barrier",
            Some(rank),
            "comm=comm#1 on the old side, comm=MPI_COMM_WORLD on the new",
        )?;
    }
    answer.only(&[("calls_out", "MPI_Barrier")])
}

fn changed_result_code(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "result_code")?;
    let words = "= MPI_SUCCESS on the old side, = MPI_ERR_OTHER on the new";
    answer.has("calls_in", "MPI_Get_count", Some(LAST), words)?;
    answer.only(&[("calls_in", "MPI_Get_count")])
}

fn missing_function(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "missing_function")?;
    answer.has("wrapper", "MPI_Probe", Some(LAST), "goes past")?;
    answer.has("output", "", Some(0), "-tool: MPI_Probe 5\n+tool: MPI_Probe 0")?;
    answer.only(&[("wrapper", "MPI_Probe"), ("output", "")])
}

fn double_count(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "double_count")?;
    answer.has("output", "", Some(0), "-tool: MPI_Isend 10\n+tool: MPI_Isend 20")?;
    answer.only(&[("output", "")])
}

fn changed_order(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "order")?;
    // Which of two calls has moved is a matter of taste.
    answer.has("calls_out", "", Some(LAST), "comes in another order")?;
    answer.only(&[("calls_out", "MPI_Comm_get_name"), ("calls_out", "MPI_Type_size")])
}

fn lost_output_line(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "lost_line")?;
    answer.has("output", "", Some(0), "-tool: MPI_Allreduce 3")?;
    answer.only(&[("output", "")])
}

fn slow_wrapper(mpi: Mpi) -> Verdict {
    let answer = defect_with(mpi, "slow", &COSTS)?;
    answer.has("cost", "MPI_Type_size", Some(LAST), "in any two runs")?;
    // Of other functions by chance, on a machine that is busy.
    answer.only(&[("cost", "")])
}

fn leaked_request(mpi: Mpi) -> Verdict {
    let answer = defect(mpi, "leaked_request")?;
    answer.has("calls_out", "MPI_Isend", Some(LAST), "5 calls on the old side, 10 on the new")?;
    answer.has("calls_out", "MPI_Isend", Some(LAST), "5 requests of it are never completed on the new side")?;
    answer.only(&[("calls_out", "MPI_Isend"), ("calls_out", "MPI_Send")])
}

fn native_and_bridged(mpi: Mpi) -> Verdict {
    let counter = path(&tool(mpi, "counter"));
    Answer::of(mpi, &["--native", "-t", &counter], &program(mpi, "ring.c"))?.is_same()?;
    let counts = path(&companion(mpi, "compare_tool.c"));
    Answer::of(mpi, &["--native", "-t", &counts], &program(mpi, "compare_calls.c"))?.is_same()
}

/// A preloaded tool is in the shell and in the launcher as well, and brings the MPI library: they are no ranks.
fn launcher_in_a_script(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("mpiexec");
    let launcher = mpi.launcher(RANKS).iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    std::fs::write(&script, format!("#!/bin/sh\nexec {launcher} \"$@\"\n"))?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    let words = [script.into_os_string(), program(mpi, "ring.c").into_os_string()];
    Answer::of_command(mpi, &["--native", "-t", &path(&tool(mpi, "counter"))], &words)?.is_same()
}

/// The calls of a native tool are seen as those of a layer.
fn native_and_port(mpi: Mpi) -> Verdict {
    let (old, new) = (
        companion(mpi, "compare_tool.c"),
        companion_variant(mpi, "compare_tool.c", "result_code", &["-DDEFECT_RESULT_CODE"]),
    );
    let options = ["--native", "--old", &path(&old), "--new", &path(&new)];
    let answer = Answer::of(mpi, &options, &program(mpi, "compare_calls.c"))?;
    let words = "= MPI_SUCCESS on the old side, = MPI_ERR_OTHER on the new";
    answer.has("calls_in", "MPI_Get_count", Some(LAST), words)?;
    answer.only(&[("calls_in", "MPI_Get_count")])
}

fn counter_and_its_port(mpi: Mpi) -> Verdict {
    let (old, new) = (path(&tool(mpi, "counter")), format!("counter={}", path(&tool(mpi, "qmpi_counter"))));
    Answer::of(mpi, &["--old", &old, "--new", &new], &program(mpi, "ring.c"))?.is_same()?;
    Answer::of(mpi, &["--native", "--old", &old, "--new", &new], &program(mpi, "ring.c"))?.is_same()
}

/// No false alarm, where nothing is twice the same. `QMPI_TEST_COMPARISONS`: how many.
fn tool_with_itself(mpi: Mpi) -> Verdict {
    let counter = path(&tool(mpi, "counter"));
    let varies = program(mpi, "compare_varies.c");
    for _ in 0..number("QMPI_TEST_COMPARISONS", 3) {
        Answer::of(mpi, &["--old", &counter, "--new", &counter], &varies)?.is_same()?;
        Answer::of(mpi, &["--native", "-t", &counter], &varies)?.is_same()?;
    }
    Ok(())
}

/// Stacks of two files: the same, and another setting of a tool. A mask hides it.
fn two_stacks(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = |name: &str, label: &str, mask: &str| -> Result<PathBuf, Failed> {
        let path = directory.path().join(name);
        let counter = tool(mpi, "counter");
        let text = format!(
            "stack = [\"counter\"]\n{mask}\n[tool.counter]\npath = {counter:?}\nenv = {{ COUNTER = \"label={label}\" }}\n"
        );
        std::fs::write(&path, text)?;
        Ok(path)
    };
    let (a, b) = (file("a.toml", "this", "")?, file("b.toml", "that", "")?);
    let masked = file("c.toml", "that", "mask = [\"(this|that):\"]")?;
    let ring = program(mpi, "ring.c");
    let answer = Answer::of(mpi, &["-c", &path(&a), "--with", &path(&b)], &ring)?;
    answer.has("output", "", Some(0), "-this: MPI calls of 3 ranks\n+that: MPI calls of 3 ranks")?;
    answer.only(&[("output", "")])?;
    Answer::of(mpi, &["-c", &path(&a), "--with", &path(&masked)], &ring)?.is_same()?;
    Answer::of(mpi, &["-c", &path(&a), "--with", &path(&b), "--mask", "th(is|at)"], &ring)?.is_same()
}

/// One byte of one message, which the program does not show: found where buffers are compared, at the program's call.
fn corrupted_buffer(mpi: Mpi) -> Verdict {
    let port = companion_variant(mpi, "compare_tool.c", "corrupted", &["-DDEFECT_CORRUPTED"]);
    let (old, new) = (path(&companion(mpi, "compare_tool.c")), path(&port));
    let calls = program(mpi, "compare_calls.c");
    Answer::of(mpi, &["--old", &old, "--new", &new], &calls)?.is_same()?;
    let answer = Answer::of(mpi, &["--buffers", "--old", &old, "--new", &new], &calls)?;
    answer.has("calls_out", "MPI_Send", Some(LAST), "buf={4 bytes, hash ")?;
    // What was sent wrong is what rank 0 gets.
    answer.has("calls_in", "MPI_Recv", Some(0), "buf={4 bytes, hash ")?;
    answer.only(&[("calls_out", "MPI_Send"), ("calls_in", "MPI_Recv"), ("calls_out", "MPI_Recv")])?;
    let source = std::fs::read_to_string(product::root().join("tests/programs/compare_calls.c"))?;
    let line =
        source.lines().position(|line| line.contains("MPI_Send(&value, 1, MPI_INT, partner, 4")).ok_or("no line")?;
    let site = format!("compare_calls.c:{}", line + 1);
    let found = answer.findings().iter().filter(|found| found["function"] == "MPI_Send");
    let sites: Vec<&Value> = found.map(|found| &found["site"]).collect();
    if sites == [&*site] { Ok(()) } else { Err(format!("{sites:?} and not {site}\n{}", answer.text).into()) }
}

/// Lines of compare_buffers.c with this word, and where differences of this kind were found on the last rank.
fn corrupted(mpi: Mpi, defect: &str, kind: &str, word: &str) -> Verdict {
    let port = companion_variant(mpi, "compare_corrupt.c", defect, &[&format!("-D{defect}")]);
    let (old, new) = (path(&companion(mpi, "compare_corrupt.c")), path(&port));
    let program = program(mpi, "compare_buffers.c");
    let answer = Answer::of(mpi, &["--buffers", "--old", &old, "--new", &new], &program)?;
    let source = std::fs::read_to_string(product::root().join("tests/programs/compare_buffers.c"))?;
    let is_marked = |line: &str| line.split_once("/* ").is_some_and(|(_, marks)| marks.contains(word));
    let lines = source.lines().enumerate().skip(6).filter(|(_, line)| is_marked(line));
    let expected: BTreeSet<String> = lines.map(|(number, _)| format!("compare_buffers.c:{}", number + 1)).collect();
    let is_it = |finding: &&Value| {
        let text = finding["message"].as_str().unwrap_or_default();
        finding["kind"] == kind && finding["rank"].as_u64() == Some(LAST) && text.contains(" bytes, hash ")
    };
    let found = answer.findings().iter().filter(is_it).filter_map(|found| found["site"].as_str().map(str::to_owned));
    let found: BTreeSet<String> = found.collect();
    if found == expected && !expected.is_empty() {
        return Ok(());
    }
    let (missed, wrong): (Vec<_>, Vec<_>) =
        (expected.difference(&found).collect(), found.difference(&expected).collect());
    Err(format!("not found: {missed:?}, found besides: {wrong:?}\n{}", answer.text).into())
}

/// What comes after the call that receives it has returned: one byte of it is changed when another call has completed it.
fn corrupted_when_received(mpi: Mpi) -> Verdict {
    corrupted(mpi, "RECEIVED", "calls_in", "received")
}

/// What is sent with gaps, from absolute addresses, with a datatype for each rank, and to windows.
fn corrupted_when_sent(mpi: Mpi) -> Verdict {
    corrupted(mpi, "SENT", "calls_out", "sent")
}

/// What lies in the gaps of a datatype is none of the message's; and a tool is the same as itself.
fn corrupted_gaps(mpi: Mpi) -> Verdict {
    let port = companion_variant(mpi, "compare_corrupt.c", "GAP", &["-DGAP"]);
    let (old, new) = (path(&companion(mpi, "compare_corrupt.c")), path(&port));
    let program = program(mpi, "compare_buffers.c");
    Answer::of(mpi, &["--buffers", "--old", &old, "--new", &new], &program)?.is_same()?;
    Answer::of(mpi, &["--buffers", "--native", "-t", &old], &program)?.is_same()
}

/// No false alarm: where contents are the same, and where they vary.
fn buffers_of_a_tool_with_itself(mpi: Mpi) -> Verdict {
    let counter = path(&tool(mpi, "counter"));
    let (calls, varies) = (program(mpi, "compare_calls.c"), program(mpi, "compare_varies.c"));
    Answer::of(mpi, &["--buffers", "--native", "-t", &counter], &calls)?.is_same()?;
    Answer::of(mpi, &["--buffers", "--native", "-t", &counter], &varies)?.is_same()?;
    Answer::of(mpi, &["--buffers", "--old", &counter, "--new", &counter], &varies)?.is_same()
}

/// A call of a preloaded tool's constructor is the tool's, though no layer is under way that it could come from.
fn constructor_that_calls_mpi(mpi: Mpi) -> Verdict {
    let old = path(&companion(mpi, "compare_constructor.c"));
    Answer::of(mpi, &["--native", "-t", &old], &program(mpi, "compare_calls.c"))?.is_same()
}

/// The words that run a program on all ranks.
fn job(mpi: Mpi, program: &Path) -> Vec<OsString> {
    mpi.launcher(RANKS).into_iter().map(Into::into).chain([program.into()]).collect()
}

/// It says so in a line with a hint, status 2, where there is nothing to compare.
fn refused(mpi: Mpi, options: &[&str], words: &[OsString], line: &str) -> Verdict {
    let directory = tempfile::tempdir()?;
    let mut command = Command::new(product::command());
    command.arg("compare").args(options).arg("--").args(words).current_dir(directory.path()).envs(mpi.variables());
    let output = command.output()?;
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = errors.lines().collect();
    let is_said = lines.len() == 2 && lines[0].contains(line) && lines[1].starts_with("qmpi: hint: ");
    if output.status.code() == Some(2) && text.is_empty() && is_said {
        return Ok(());
    }
    Err(format!("no `{line}`: {:?}\n{text}{errors}", output.status).into())
}

/// A side that fails in each third run is not the one that never does, whichever of the two it is.
fn aborts_now_and_then(mpi: Mpi) -> Verdict {
    let (good, bad) = (
        path(&companion(mpi, "compare_tool.c")),
        path(&companion_variant(mpi, "compare_tool.c", "aborts", &["-DDEFECT_ABORTS"])),
    );
    let words = job(mpi, &program(mpi, "compare_calls.c"));
    let sides = [
        (&good, &bad, "new with exit status 0 in 8 of 12 runs, "),
        (&bad, &good, "old ends with exit status 0 in 8 of 12 runs, "),
    ];
    for (old, new, message) in sides {
        let directory = tempfile::tempdir()?;
        let runs = directory.path().join("runs");
        let variables = [("COMPARE_RUNS", &*runs)];
        let answer = Answer::of_command_in(mpi, &["--old", old, "--new", new], &words, &variables)?;
        answer.has("status", "", None, message)?;
    }
    Ok(())
}

fn nothing_to_compare(mpi: Mpi) -> Verdict {
    let (good, bad) = (
        path(&companion(mpi, "compare_tool.c")),
        path(&companion_variant(mpi, "compare_tool.c", "aborts", &["-DDEFECT_ABORTS"])),
    );
    let calls = job(mpi, &program(mpi, "compare_calls.c"));
    refused(mpi, &["--native", "-t", &good], &job(mpi, Path::new("./no_such_program")), "no run ended well: ")?;
    refused(mpi, &["--old", &good, "--new", &bad], &calls, "no run of the new side (")?;
    refused(mpi, &["--old", &bad, "--new", &good], &calls, "no run of the old side (")?;
    refused(mpi, &["--native", "-t", &good], &job(mpi, Path::new("/bin/true")), "no call of MPI was recorded")?;
    // What the library for C++ calls as it is loaded is no call of the program.
    let cxx = path(&companion(mpi, "compare_cxx.cc"));
    refused(mpi, &["--native", "-t", &cxx], &job(mpi, Path::new("/bin/true")), "no call of MPI was recorded")
}

/// MPI's library for C++ calls MPI as it is loaded: before the program where the tool is preloaded, as the stack is loaded otherwise.
fn tool_in_cxx(mpi: Mpi) -> Verdict {
    let tool = path(&companion(mpi, "compare_cxx.cc"));
    Answer::of(mpi, &["--native", "-t", &tool], &program(mpi, "compare_calls.c"))?.is_same()
}

/// The calls of a tool that goes on by addresses of its constructor are seen.
fn look_up_in_a_constructor(mpi: Mpi) -> Verdict {
    let (calls, tool) = (program(mpi, "compare_calls.c"), path(&companion(mpi, "compare_next.c")));
    Answer::of(mpi, &["--native", "-t", &tool], &calls)?.is_same()?;
    // Not only because nothing is seen.
    let other = path(&companion_variant(mpi, "compare_next.c", "dropped", &["-DDROPPED"]));
    let answer = Answer::of(mpi, &["--native", "--old", &tool, "--new", &other], &calls)?;
    answer.has("calls_out", "MPI_Barrier", Some(LAST), "1 call on the old side, 0 on the new")?;
    answer.only(&[("calls_out", "MPI_Barrier")])
}

/// Calls in Fortran come to a native tool's wrappers unseen. Its report is compared.
fn wrappers_in_fortran(mpi: Mpi) -> Verdict {
    for name in ["fortran_counter_f", "fortran_tool"] {
        let tool = path(&tool(mpi, name));
        let f08 = Answer::of(mpi, &["--native", "-t", &tool], &program(mpi, "fortran_f08.f90"))?;
        f08.is_same_with_notes(1)?;
    }
    let counter = path(&tool(mpi, "fortran_counter_f"));
    let mpifh = program(mpi, "fortran_mpifh.f90");
    Answer::of(mpi, &["--native", "-t", &counter], &mpifh)?.is_same_with_notes(1)?;
    // Of one with wrappers in Fortran and one in C, neither is without.
    let in_c = path(&tool(mpi, "fortran_counter_c"));
    let answer = Answer::of(mpi, &["--old", &counter, "--new", &in_c], &mpifh)?;
    answer.has("output", "", Some(0), "-fortran_counter Send: c=0 fortran=1")?;
    match answer.findings().iter().find(|finding| finding["kind"] == "wrapper") {
        Some(finding) => Err(finding.to_string().into()),
        None => Ok(()),
    }
}

/// What a call waits for threads of the tool is no cost of the stack; it says that it does not look.
fn tool_with_threads(mpi: Mpi) -> Verdict {
    let calls = program(mpi, "compare_calls.c");
    let (tool, waits) = (
        path(&companion(mpi, "compare_threads.c")),
        path(&companion_variant(mpi, "compare_threads.c", "waits", &["-DWAITS"])),
    );
    for options in [["--native", "-t", &waits].to_vec(), ["--old", &tool, "--new", &waits].to_vec()] {
        let answer = Answer::of(mpi, &[&options[..], &COSTS].concat(), &calls)?;
        answer.is_same()?;
        let varying = answer.json["varying"]["cost of a call"].to_string();
        if !varying.contains("starts threads") {
            return Err(answer.text.into());
        }
    }
    Ok(())
}

/// A machine that does something else makes some calls slower, by chance on one side only, in each of its runs. That is no cost of the tool.
fn busy_machine(mpi: Mpi) -> Verdict {
    let busy = path(&companion_variant(mpi, "compare_tool.c", "busy", &["-DBUSY_MACHINE"]));
    let tool = path(&companion(mpi, "compare_tool.c"));
    let [slower, ratio] = COSTS;
    Answer::of(mpi, &["--old", &tool, "--new", &busy, slower, ratio], &program(mpi, "compare_calls.c"))?.is_same()
}
