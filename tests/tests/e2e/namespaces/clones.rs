//! More instances than glibc has namespaces: copies of a tool that share one. Each must count for itself, have its own settings,
//! and see what it sees in a namespace of its own.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use qmpi_tests::{Job, Mpi, Trial, Verdict, cells, on_each_mpi, program, tables, tool};

/// One more than there are namespaces.
const ONE_MORE: usize = 16;

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("hundred_counters", &Mpi::ALL, hundred_counters),
        ("environment_of_each", &Mpi::ALL, environment_of_each),
        ("library_that_calls_mpi", &Mpi::ALL, library_that_calls_mpi),
        ("goes_down_by_dlsym", &Mpi::ALL, |mpi| verdicts(mpi, "rtld_next", "ring.c", "tool rtld_next: ok calls=9")),
        ("cxx", &Mpi::ALL, |mpi| verdicts(mpi, "cxx_runtime", "ring.c", "tool cxx_runtime: ok calls=5")),
        ("cxx_threads", &Mpi::ALL, |mpi| verdicts(mpi, "cxx_threads", "ring.c", "tool cxx_threads: ok calls=2")),
        ("vector_functions", &Mpi::ALL, |mpi| {
            verdicts(mpi, "vector_functions", "ring.c", "tool vector_functions: ok calls=2")
        }),
        ("opens_a_plugin", &Mpi::ALL, |mpi| verdicts(mpi, "dlopen_global", "ring.c", "tool dlopen_global: ok calls=1")),
        ("opens_its_file", &Mpi::ALL, |mpi| verdicts(mpi, "own_file", "ring.c", "tool own_file: ok calls=2")),
        ("calls_its_own_wrapper", &Mpi::ALL, |mpi| {
            verdicts(mpi, "wraps_dl_iterate_phdr", "ring.c", "tool wraps_dl_iterate_phdr: ok calls=1 own=1")
        }),
        ("cuts_its_setting", &Mpi::ALL, cuts_its_setting),
        ("walks_the_stack", &Mpi::ALL, walks_the_stack),
    ])
}

/// Each has globals of its own, and its table tells its place: each gathers its table with one MPI_Reduce, which all instances
/// further inside count.
fn hundred_counters(mpi: Mpi) -> Verdict {
    const INSTANCES: usize = 100;
    let directory = tempfile::tempdir()?;
    let names: Vec<String> = (0..INSTANCES).map(|number| format!("c{number}")).collect();
    let mut text = format!("stack = {names:?}\n");
    for name in &names {
        let setting = format!("label={name},file={}", directory.path().join(name).display());
        writeln!(text, "[tool.{name}]\npath = {:?}\nenv = {{ COUNTER = {setting:?} }}", tool(mpi, "counter"))?;
    }
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, text)?;
    let job = Job::new(mpi, 2, &program(mpi, "ring.c")).config(&config);
    let start = Instant::now();
    let outcome = job.run();
    let took = start.elapsed().as_secs_f64();
    outcome.expect(0, &["done".to_owned()])?;
    if !outcome.said().is_empty() {
        return Err(format!("not silent\n{}", outcome.report()).into());
    }
    for (number, name) in names.iter().enumerate() {
        let table = std::fs::read_to_string(directory.path().join(name))?;
        tables::expect_one_of_many(name, number, &table, &outcome)?;
    }
    cells::note("clones", mpi, "C", "100 PMPI instances", &format!("each its own count ({took:.1} s)"));
    Ok(())
}

fn environment_of_each(mpi: Mpi) -> Verdict {
    const INSTANCES: usize = 40;
    let directory = tempfile::tempdir()?;
    let names: Vec<String> = (0..INSTANCES).map(|number| format!("e{number}")).collect();
    let mut text = format!("stack = {names:?}\n");
    for (number, name) in names.iter().enumerate() {
        writeln!(text, "[tool.{name}]\npath = {:?}", tool(mpi, "env_reader"))?;
        // Every third sees what the process has.
        if number % 3 != 0 {
            writeln!(text, "env = {{ ENV_READER = \"own{number}\" }}")?;
        }
    }
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, text)?;
    let outcome = Job::new(mpi, 2, &program(mpi, "ring.c")).env("ENV_READER", "process").config(&config).run();
    outcome.expect(0, &["done".to_owned()])?;
    let reports: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("tool env_reader")).collect();
    let expected: Vec<String> = (0..INSTANCES)
        .map(|number| if number % 3 == 0 { "process".to_owned() } else { format!("own{number}") })
        .map(|value| format!("tool env_reader: ok calls=2 getenv={value} secure_getenv={value}"))
        .collect();
    if reports == expected { Ok(()) } else { Err(format!("not {expected:#?}\n{}", outcome.report()).into()) }
}

/// All clones would share the library, and its calls would have one next tool: refused before anything starts, and in the rank.
fn library_that_calls_mpi(mpi: Mpi) -> Verdict {
    let closure = tool(mpi, "closure").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "early.c"));
    let list = vec![closure.as_str(); ONE_MORE];
    let reason = ["closure_helper.so calls PMPI_"];
    for (mode, job, parts) in [
        ("qmpi run", job.clone().stack(&list), &reason[..]),
        ("by hand", job.by_hand(&list.join(",")), &["closure.so", "no namespace left"]),
    ] {
        let outcome = job.run();
        let right = outcome.status == 3
            && outcome.stdout.is_empty()
            && parts.iter().all(|part| outcome.stderr.contains(part))
            && outcome.stderr.lines().count() == 2
            && outcome.stderr.contains("qmpi: hint: ");
        if !right {
            return Err(format!("{mode}: not refused with a reason and a hint\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Says what it says under LD_PRELOAD, once an instance.
fn verdicts(mpi: Mpi, name: &str, file: &str, verdict: &str) -> Verdict {
    one_each(Job::new(mpi, 2, &program(mpi, file)), &tool(mpi, name), verdict)
}

/// One setting in the environment for all: each gets the whole.
fn cuts_its_setting(mpi: Mpi) -> Verdict {
    let job = Job::new(mpi, 2, &program(mpi, "ring.c")).env("ENV_CUTTER", "-k,8,end");
    one_each(job, &tool(mpi, "env_cutter"), "tool env_cutter: ok calls=2 words=3 then=-k")
}

fn one_each(job: Job, tool: &Path, verdict: &str) -> Verdict {
    let tool = tool.display().to_string();
    let outcome = job.stack(&[tool.as_str(); ONE_MORE]).run();
    outcome.expect(0, &[verdict.to_owned()])?;
    let ok = outcome.stdout.lines().filter(|line| *line == verdict).count();
    if ok == ONE_MORE && outcome.count("tool ") == ok && outcome.said().is_empty() {
        return Ok(());
    }
    Err(format!("{verdict:?} stands {ok} times on stdout, not {ONE_MORE}\n{}", outcome.report()).into())
}

/// A clone is a file in memory, in which libunwind does not find names: all else of the walk is there.
fn walks_the_stack(mpi: Mpi) -> Verdict {
    let tool = tool(mpi, "unwind").display().to_string();
    let outcome = Job::new(mpi, 2, &program(mpi, "frames.c")).stack(&[tool.as_str(); ONE_MORE]).run();
    outcome.expect(0, &[])?;
    let of_app = " < app_outer < main";
    let count =
        outcome.stdout.lines().filter(|line| line.starts_with("tool unwind: ok") && line.ends_with(of_app)).count();
    if count == ONE_MORE { Ok(()) } else { Err(format!("{count} walks to main\n{}", outcome.report()).into()) }
}
