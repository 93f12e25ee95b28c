//! A process without `/proc`, as in a plain chroot: no descriptor stays open in the program, and files that take the place of memory
//! files are closed to other users.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::against::Failures;
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, product, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("descriptors", &Mpi::ALL, descriptors), ("temporary_files", &Mpi::ALL, temporary_files)])
}

/// What the tool says.
const SAID: &str = "says_initialized: ok";

/// What comes before a command line that is run with an empty file system in the place of `/proc`; for a user that is not root, in
/// a user namespace. In a PID namespace, processes have the same number in each run.
const WITHOUT_PROC: &str = "umask 0; mount -t tmpfs none /proc && test ! -e /proc/self && exec \"$@\"";

fn unshare(more: &[&'static str]) -> Result<Vec<&'static str>, Failed> {
    let root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
    let first: &[&str] = if root { &["unshare", "-m"] } else { &["unshare", "-r", "-m"] };
    let words = [first, more, &["sh", "-c", WITHOUT_PROC, "sh"]].concat();
    let output = Command::new(words[0]).args(&words[1..]).arg("true").output()?;
    if output.status.success() {
        return Ok(words);
    }
    Err(format!("no process without /proc can be had here: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// The program on its own. MPICH with UCX cannot be initialized without `/proc`, and says so; up to then it works.
fn job(mpi: Mpi) -> Job {
    let job = Job::alone(mpi, &program(mpi, "lists_descriptors.c")).within(60).env("UCX_LOG_LEVEL", "fatal");
    if mpi == Mpi::Mpich { job.args(&["early".to_owned()]) } else { job }
}

/// Plain `LD_PRELOAD`: the same descriptors as without a tool.
fn descriptors(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let words = unshare(&[])?;
    let job = job(mpi).inside(&words).env("TMPDIR", directory.path().display().to_string());
    let tool = compile::companion(mpi, "says_initialized.c");
    let plain = job.clone().preload(&tool).run();
    let right = [SAID.to_owned()];
    plain.expect(0, &right).map_err(|reason| format!("plain LD_PRELOAD: {reason}"))?;
    if plain.count("lists_descriptors: main 0 1 2") != 1 || plain.count("lists_descriptors: asked 0 1 2") != 1 {
        return Err(format!("plain LD_PRELOAD: not a list\n{}", plain.report()).into());
    }
    let name = tool.display().to_string();
    let mut failures = Failures::default();
    failures.same_in_stack(&job, &[&name], &plain);
    // With two of them each says its line, and the descriptors are the same.
    let outcome = job.by_hand(&format!("{name},{name}")).run();
    let lists = |text: &str| -> Vec<String> { text.lines().filter(|line| *line != SAID).map(str::to_owned).collect() };
    if outcome.status != 0 || outcome.count(SAID) != 2 || lists(&outcome.stdout) != lists(&plain.stdout) {
        failures.note(Err(format!("two tools: {}\nwithout libqmpi\n{}", outcome.report(), plain.report())));
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD` writes no file. With libqmpi none is left, none could be read by others, not even at first, none could be there
/// already, and no name is known beforehand.
fn temporary_files(mpi: Mpi) -> Verdict {
    let (first, second) = (files(mpi)?, files(mpi)?);
    let known: Vec<&String> = first.intersection(&second).collect();
    if known.is_empty() { Ok(()) } else { Err(format!("the same names in a second run: {known:?}").into()) }
}

/// The names of the files that a process with a stack creates, after all checks of one run.
fn files(mpi: Mpi) -> Result<BTreeSet<String>, Failed> {
    let directory = tempfile::tempdir()?;
    let temporary = directory.path().join("tmp");
    std::fs::create_dir(&temporary)?;
    let log = directory.path().join("strace.log");
    let name = log.display().to_string();
    let strace = [
        "strace",
        "-f",
        "-qq",
        "-s",
        "4096",
        "-o",
        &name,
        "-e",
        "trace=open,openat,openat2,creat,chmod,fchmod,fchmodat",
    ];
    let words = unshare(&["-p", "-f"])?;
    let tool = compile::companion(mpi, "says_initialized.c").display().to_string();
    let job = job(mpi).inside(&strace).inside(&words);
    let outcome = job.env("TMPDIR", temporary.display().to_string()).by_hand(&format!("{tool},{tool}")).run();
    outcome.expect(0, &[SAID.to_owned()])?;
    let text = std::fs::read_to_string(&log).map_err(|error| format!("strace: {error}; run `bash ci/setup`"))?;
    if !text.contains(&product::runtime().display().to_string()) {
        return Err(format!("strace did not see libqmpi.so being opened\n{text}").into());
    }
    let left: Vec<_> = std::fs::read_dir(&temporary)?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    // Open MPI may keep its own directory there for a while.
    let left: Vec<_> = left.iter().filter(|name| name.to_string_lossy().contains("qmpi")).collect();
    if !left.is_empty() {
        return Err(format!("files are left: {left:?}").into());
    }
    created(&text, &temporary)
}

fn created(log: &str, temporary: &Path) -> Result<BTreeSet<String>, Failed> {
    let mut names = BTreeSet::new();
    let prefix = format!("\"{}/", temporary.display());
    for line in log.lines().filter(|line| line.contains(&prefix) && line.contains("O_CREAT")) {
        let name = line.split(&prefix).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        // Libraries of MPI create files as well.
        if !name.contains("qmpi") {
            continue;
        }
        if !line.contains("O_EXCL") || !line.contains(", 0600)") {
            return Err(format!("not a new file with mode 0600: {line}").into());
        }
        names.insert(name.to_owned());
    }
    Ok(names)
}
