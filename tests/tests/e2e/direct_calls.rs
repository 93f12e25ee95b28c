//! Calls of a tool's wrappers that lead directly to the next link, however the tool was built.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool};

const TOOL: &str = "code_bytes";

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("however_it_was_built", &Mpi::ALL, however_it_was_built),
        ("without_a_linkage_table", &Mpi::ALL, without_a_linkage_table),
        ("switched_off", &Mpi::ALL, switched_off),
        ("a_thread_may_run_the_code", &Mpi::ALL, a_thread_may_run_the_code),
        ("more_than_namespaces", &Mpi::ALL, more_than_namespaces),
        ("of_a_qmpi_tool", &Mpi::ALL, of_a_qmpi_tool),
    ])
}

/// A job whose tool says how its call goes, and in which we say how many calls were changed.
fn job(mpi: Mpi) -> Job {
    job_of(2, mpi)
}

fn job_of(ranks: usize, mpi: Mpi) -> Job {
    Job::new(mpi, ranks, &program(mpi, "ring.c")).env("CODE_BYTES", "1").env("QMPI_LOG", "debug")
}

/// Runs it. A branch reaches 128 MB on AArch64, and qemu has memory of its own that may lie between two libraries: then once more.
fn run(job: &Job) -> Outcome {
    const TIMES: usize = if cfg!(target_arch = "aarch64") { 20 } else { 1 };
    let is_near = |outcome: &Outcome| !outcome.said().iter().any(|line| line.contains(" too far "));
    let mut runs = std::iter::repeat_with(|| job.run()).take(TIMES);
    runs.find(is_near).unwrap_or_else(|| job.run())
}

/// How many calls were changed, for each instance in each process.
fn changed(outcome: &Outcome) -> Vec<usize> {
    let count = |line: &&str| line.split_once(" calls lead directly")?.0.rsplit(' ').next()?.parse().ok();
    outcome.said().iter().filter_map(count).collect()
}

/// Every instance says this, and the job does what it does otherwise.
fn expect(outcome: &Outcome, instances: usize, path: &str) -> Verdict {
    outcome.expect(0, &["done".to_owned()])?;
    let verdict = format!("tool {TOOL}: ok calls=8 {path}");
    if outcome.count(&verdict) == instances && outcome.count("tool ") == instances {
        return Ok(());
    }
    Err(format!("not {instances} times {verdict:?}\n{}", outcome.report()).into())
}

fn twice(mpi: Mpi, tool: &Path) -> Outcome {
    let tool = tool.display().to_string();
    run(&job(mpi).stack(&[&tool, &tool]))
}

#[cfg(target_arch = "x86_64")]
const VARIANTS: [(&str, &[&str]); 6] = [
    ("lazy", &["-Wl,-z,lazy"]),
    ("now", &["-Wl,-z,now"]),
    ("pads", &["-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"]),
    ("pads_now", &["-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,now"]),
    ("unoptimized", &["-O0"]),
    ("gold", &["-fuse-ld=gold"]),
];
#[cfg(target_arch = "aarch64")]
const VARIANTS: [(&str, &[&str]); 5] = [
    ("lazy", &["-Wl,-z,lazy"]),
    ("now", &["-Wl,-z,now"]),
    // With signed return addresses, too. Not with `-z pac-plt`: glibc does not sign slots, so a call through such a table ends the process.
    ("pads", &["-mbranch-protection=standard", "-Wl,-z,force-bti", "-Wl,-z,lazy"]),
    ("pads_now", &["-mbranch-protection=standard", "-Wl,-z,force-bti", "-Wl,-z,now"]),
    ("unoptimized", &["-O0"]),
];

/// Linkage tables have many forms: with lazy binding, without, with landing pads for indirect branches.
fn however_it_was_built(mpi: Mpi) -> Verdict {
    // One of each function; compilers may need more.
    const AT_LEAST: usize = 6;
    for (variant, options) in VARIANTS {
        let outcome = twice(mpi, &compile::tool_variant(mpi, TOOL, variant, options));
        expect(&outcome, 2, "directly").map_err(|reason| Failed::from(format!("{variant}: {}", text(&reason))))?;
        let changed = changed(&outcome);
        if changed.is_empty() || changed.iter().any(|count| *count < AT_LEAST) {
            let report = outcome.report();
            return Err(format!("{variant}: {changed:?} calls were changed, not {AT_LEAST} each\n{report}").into());
        }
    }
    Ok(())
}

/// What calls through a word already is left as it is.
fn without_a_linkage_table(mpi: Mpi) -> Verdict {
    let outcome = twice(mpi, &compile::tool_variant(mpi, TOOL, "no_plt", &["-fno-plt"]));
    // The one in assembly has its entry all the same.
    expect(&outcome, 2, "directly")?;
    none_but(&outcome, 1)
}

fn switched_off(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file: PathBuf = directory.path().join("qmpi.toml");
    let path = tool(mpi, TOOL);
    std::fs::write(&file, format!("stack = [\"t\", \"t\"]\n[tool.t]\npath = {path:?}\ndirect_calls = false\n"))?;
    let outcome = job(mpi).config(&file).run();
    expect(&outcome, 2, "by the table")?;
    if changed(&outcome).is_empty() { Ok(()) } else { Err(outcome.report().into()) }
}

/// How a call goes that would be changed while the process has another thread: AArch64 allows that.
const BESIDE_A_THREAD: &str = if cfg!(target_arch = "aarch64") { "directly" } else { "by the table" };

/// The innermost tool is loaded first, and has a thread from then on.
fn a_thread_may_run_the_code(mpi: Mpi) -> Verdict {
    let (threads, other) = (compile::companion(mpi, "thread_of_tool.c"), tool(mpi, TOOL));
    let (threads, other) = (threads.display().to_string(), other.display().to_string());
    let outcome = run(&job(mpi).stack(&[&other, &threads]));
    expect(&outcome, 1, BESIDE_A_THREAD)?;
    #[cfg(target_arch = "x86_64")]
    none_but(&outcome, 0)?;
    // The other way round the thread starts after the first tool is bound.
    let outcome = run(&job(mpi).stack(&[&threads, &other]));
    expect(&outcome, 1, "directly")
}

/// Copies of the tool in memory, too.
fn more_than_namespaces(mpi: Mpi) -> Verdict {
    const INSTANCES: usize = 18;
    let tool = tool(mpi, TOOL).display().to_string();
    expect(&run(&job(mpi).stack(&[tool.as_str(); INSTANCES])), INSTANCES, "directly")
}

/// What it asks in every call; both instances have one copy of the code.
fn of_a_qmpi_tool(mpi: Mpi) -> Verdict {
    // All processes say how their calls go, and only the first whether any are too far, which `run` looks for.
    const RANKS: usize = if cfg!(target_arch = "aarch64") { 1 } else { 2 };
    let (asks, threads) = (compile::companion(mpi, "qmpi_asks.c"), compile::companion(mpi, "thread_of_tool.c"));
    let job = || job_of(RANKS, mpi);
    let layer = format!("asks={}", asks.display());
    let says = |outcome: Outcome, path: &str| {
        outcome.expect(0, &["done".to_owned()])?;
        let (expected, all) = (outcome.count(&format!("asks: {path}")), outcome.count("asks: "));
        let is_changed = changed(&outcome).iter().any(|count| *count > 0);
        // Each process says so once for each instance.
        let is_right = expected == 2 * RANKS && all == 2 * RANKS && is_changed == (path == "directly");
        if is_right { Ok(()) } else { Err(Failed::from(format!("not {path}\n{}", outcome.report()))) }
    };
    says(run(&job().stack(&[&layer, &layer])), "directly")?;
    says(run(&job().stack(&[&layer, &layer, &threads.display().to_string()])), BESIDE_A_THREAD)?;
    let directory = tempfile::tempdir()?;
    let file: PathBuf = directory.path().join("qmpi.toml");
    let tool = format!("[tool.asks]\npath = {asks:?}\ndirect_calls = false\n");
    std::fs::write(&file, format!("stack = [\"asks\", \"asks\"]\n{tool}"))?;
    says(job().config(&file).run(), "by the table")
}

fn none_but(outcome: &Outcome, expected: usize) -> Verdict {
    let changed = changed(outcome);
    if !changed.is_empty() && changed.iter().all(|count| *count == expected) {
        return Ok(());
    }
    Err(format!("{changed:?} calls were changed, not {expected} each\n{}", outcome.report()).into())
}

fn text(failed: &Failed) -> String {
    failed.message().unwrap_or_default().to_owned()
}
