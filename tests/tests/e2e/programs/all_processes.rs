//! Stacks for all processes (`--all-processes`, `QMPI_PROCESSES=all`): in a process without MPI, and before a program opens one, tools see
//! what they see under plain `LD_PRELOAD`.

use std::path::{Path, PathBuf};
use std::process::Command;

use qmpi_tests::against::Failures;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("process_without_mpi", &Mpi::ALL, process_without_mpi),
        ("mpi_opened_late", &Mpi::ALL, mpi_opened_late),
        ("mpi_opened_late_by_ranks", &Mpi::ALL, mpi_opened_late_by_ranks),
        ("children", &Mpi::ALL, children),
        ("by_a_file", &Mpi::ALL, by_a_file),
        ("not_asked_for", &Mpi::ALL, not_asked_for),
        ("wrong_word", &Mpi::ALL, wrong_word),
        ("another_mpi", &Mpi::ALL, another_mpi),
        ("tool_without_mpi", &Mpi::ALL, tool_without_mpi),
        ("shells_write_no_report", &Mpi::ALL, shells_write_no_report),
    ])
}

/// A tool that says at the end how often it saw a file opened.
fn sees_less(mpi: Mpi) -> PathBuf {
    compile::companion(mpi, "sees_less.c")
}

/// A program without MPI.
fn opens_late(mpi: Mpi) -> Job {
    Job::alone(mpi, &program(mpi, "opens_mpi_late.c"))
}

/// The job with a stack for all processes, in each way to ask for one.
fn stacked(job: &Job, tool: &Path) -> [(&'static str, Job); 2] {
    let tool = tool.display().to_string();
    [
        ("qmpi run", job.clone().stack(&[&tool]).option("--all-processes")),
        ("by hand", job.clone().by_hand(&tool).env("QMPI_PROCESSES", "all")),
    ]
}

/// What the tool reports, process by process, and how the job ended.
fn reports(outcome: &Outcome) -> (i32, Vec<&str>) {
    (outcome.status, outcome.lines().into_iter().filter(|line| line.starts_with("sees_less: ")).collect())
}

/// The tool reports under `LD_PRELOAD` what it reports in a stack, and that is `seen` opened files in each process.
fn same(job: &Job, tool: &Path, seen: &[&str]) -> Verdict {
    let reference = job.clone().preload(tool).run();
    let is_expected = |(line, seen): (&&str, &&str)| line.starts_with(&format!("sees_less: open {seen} "));
    let (status, lines) = reports(&reference);
    if status != 0 || lines.len() != seen.len() || !lines.iter().zip(seen).all(is_expected) {
        return Err(format!("LD_PRELOAD: not {seen:?}\n{}", reference.report()).into());
    }
    let mut failures = Failures::default();
    for (mode, job) in stacked(job, tool) {
        let outcome = job.run();
        if opens(&reports(&outcome)) != opens(&(status, lines.clone())) || said(&outcome) != 0 {
            failures.note(Err(format!("{mode}: not as preloaded\n{}\n{}", outcome.report(), reference.report())));
        }
    }
    failures.verdict()
}

/// How many lines we said; the command warns of the tool's `malloc`, which stands without `free`.
fn said(outcome: &Outcome) -> usize {
    outcome.said().iter().filter(|line| !line.contains("wraps malloc and not free")).count()
}

/// Of the reports only what is said of `open`: the other functions of the tool are not seen to be wrappers (`limits.rs`).
fn opens(reports: &(i32, Vec<&str>)) -> (i32, Vec<String>) {
    let open = |line: &&str| line.split(" malloc").next().unwrap_or_default().to_owned();
    (reports.0, reports.1.iter().map(open).collect())
}

fn process_without_mpi(mpi: Mpi) -> Verdict {
    same(&opens_late(mpi), &sees_less(mpi), &["1"])
}

/// Before MPI is opened and behind.
fn mpi_opened_late(mpi: Mpi) -> Verdict {
    same(&opens_late(mpi).args(&["late".to_owned()]), &sees_less(mpi), &["2"])
}

/// The launcher has the stack, too.
fn mpi_opened_late_by_ranks(mpi: Mpi) -> Verdict {
    let job = Job::new(mpi, 2, &program(mpi, "opens_mpi_late.c")).args(&["late".to_owned()]);
    let outcome = job.stack(&[&sees_less(mpi).display().to_string()]).option("--all-processes").run();
    let (status, lines) = reports(&outcome);
    let of_ranks = lines.iter().filter(|line| line.starts_with("sees_less: open 2 ")).count();
    if status != 0 || of_ranks != 2 || lines.len() < 3 || said(&outcome) != 0 {
        return Err(
            format!("not two files in each of two ranks, and none in the launcher\n{}", outcome.report()).into()
        );
    }
    Ok(())
}

/// A shell, and what it runs one after the other and in a subshell.
fn children(mpi: Mpi) -> Verdict {
    let program = program(mpi, "opens_mpi_late.c").display().to_string();
    let script = format!("(exec {program} late); {program}; exec {program}");
    same(&Job::alone(mpi, Path::new("/bin/bash")).args(&["-c".to_owned(), script]), &sees_less(mpi), &["1", "1", "2"])
}

/// `processes` of the configuration file; the variable wins over it.
fn by_a_file(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, format!("stack = [\"t\"]\nprocesses = \"all\"\n[tool.t]\npath = {:?}\n", sees_less(mpi)))?;
    let job = opens_late(mpi).config(&config);
    let (all, mpi_only) = (job.clone().run(), job.env("QMPI_PROCESSES", "mpi").run());
    if reports(&all).1.len() != 1 || !reports(&mpi_only).1.is_empty() {
        return Err(format!("{}\n{}", all.report(), mpi_only.report()).into());
    }
    Ok(())
}

/// By default a process without MPI has no tool.
fn not_asked_for(mpi: Mpi) -> Verdict {
    let outcome = opens_late(mpi).stack(&[&sees_less(mpi).display().to_string()]).run();
    if reports(&outcome) != (0, vec![]) { Err(outcome.report().into()) } else { Ok(()) }
}

fn wrong_word(mpi: Mpi) -> Verdict {
    let outcome = opens_late(mpi).stack(&[&sees_less(mpi).display().to_string()]).env("QMPI_PROCESSES", "some").run();
    let is_reason = |line: &&str| line.contains("QMPI_PROCESSES=some is none of mpi, all");
    if outcome.status != 3 || !outcome.said().iter().any(is_reason) {
        return Err(outcome.report().into());
    }
    Ok(())
}

/// The program opens another MPI than the tool is linked with: a tool that is loaded with the MPI is refused there, too.
fn another_mpi(mpi: Mpi) -> Verdict {
    let other = Mpi::ALL.into_iter().find(|other| *other != mpi).ok_or("one MPI alone")?;
    let part = compile::companion(other, "late_part.c");
    let directory = part.parent().ok_or("a library without a directory")?.display().to_string();
    let job = opens_late(mpi).args(&["late".to_owned()]).env("LD_LIBRARY_PATH", directory);
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &sees_less(mpi)) {
        let outcome = job.run();
        let is_reason = |line: &&str| line.contains("the program opened") && line.contains("tools are linked with");
        if outcome.status != 3 || !outcome.said().iter().any(is_reason) {
            failures.note(Err(format!("{mode}: not refused with the reason\n{}", outcome.report())));
        }
    }
    failures.verdict()
}

/// One that is linked with no MPI library is loaded when the process has one; until then nothing is said.
fn tool_without_mpi(mpi: Mpi) -> Verdict {
    // Compiled by MPI's compiler, and not linked by it.
    let directory = tempfile::tempdir()?;
    let [object, tool] = ["o", "so"].map(|end| directory.path().join(format!("not_linked.{end}")));
    let source = product::root().join("tests/programs/sees_less.c");
    let compiled = Command::new(mpi.compiler("c")).args(["-fPIC", "-c", "-o"]).args([&object, &source]).status()?;
    let linked = Command::new("cc").args(["-shared", "-o"]).args([&tool, &object]).status()?;
    if !compiled.success() || !linked.success() {
        return Err("the tool does not compile".into());
    }
    let ranks = Job::new(mpi, 2, &program(mpi, "opens_mpi_late.c")).args(&["late".to_owned()]);
    let mut failures = Failures::default();
    for (job, has_mpi) in [(opens_late(mpi), false), (ranks, true)] {
        for (mode, job) in stacked(&job, &tool) {
            let outcome = job.run();
            let reports = reports(&outcome).1.len();
            if outcome.status != 0 || (reports > 0) != has_mpi || said(&outcome) != 0 {
                failures.note(Err(format!("{mode}\n{}", outcome.report())));
            }
        }
    }
    failures.verdict()
}

/// A process that calls no MPI is no rank, and takes no rank's file.
fn shells_write_no_report(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let tool = sees_less(mpi).display().to_string();
    let report = directory.path().join("report");
    let option = format!("--report={}", report.display());
    let job = |arguments: &[String]| {
        opens_late(mpi).args(arguments).stack(&[&tool]).option("--all-processes").option(&option).run()
    };
    let has_record = || std::fs::read_dir(&report).is_ok_and(|mut entries| entries.next().is_some());
    let outcome = job(&[]);
    if outcome.status != 0 || has_record() {
        return Err(format!("a file of a process without MPI\n{}", outcome.report()).into());
    }
    let outcome = job(&["late".to_owned()]);
    if outcome.status != 0 || !has_record() {
        return Err(format!("no file of a process that opens MPI\n{}", outcome.report()).into());
    }
    Ok(())
}
