//! Objects whose dynamic symbols are found by DT_HASH only: tools, programs with and without a tool in them, MPI libraries.
//!
//! ld.so reads either table, so under plain LD_PRELOAD such an object works as any other. Each check compares with that run, or with a
//! native one.

use std::path::{Path, PathBuf};
use std::process::Command;

use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, compile, dt_hash, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("tool_in_a_stack", &Mpi::ALL, tool_in_a_stack),
        ("awkward_tools", &Mpi::ALL, awkward_tools),
        ("native_tools", &Mpi::ALL, native_tools),
        ("preloaded_beside_a_stack", &Mpi::ALL, preloaded_beside_a_stack),
        ("linked_with_the_program", &Mpi::ALL, linked_with_the_program),
        ("compiled_into_the_program", &Mpi::ALL, compiled_into_the_program),
        ("program", &Mpi::ALL, program_without_tool),
        ("mpi_library", &Mpi::ALL, mpi_library),
        ("mpi_library_and_tool", &Mpi::ALL, mpi_library_and_tool),
        ("mpi_library_of_fortran", &Mpi::ALL, mpi_library_of_fortran),
    ])
}

const SYSV: &str = "-Wl,--hash-style=sysv";

/// What rank 0 of `ring.c` counts on two ranks.
const COUNTED: [(&str, u64); 3] = [("MPI_Send", 6), ("MPI_Bcast", 2), ("MPI_Finalize", 2)];

/// A tool of `legacy-tools` with DT_HASH only.
fn sysv_tool(mpi: Mpi, name: &str) -> PathBuf {
    let file = compile::tool_variant(mpi, name, "sysv", &[SYSV]);
    has_dt_hash_only(&file);
    file
}

/// # Panics
/// When the file is not what the tests are about.
fn has_dt_hash_only(file: &Path) {
    let output = Command::new("readelf").arg("-dW").arg(file).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    assert!(text.contains("(HASH)") && !text.contains("(GNU_HASH)"), "{}: not DT_HASH only\n{text}", file.display());
}

fn ring(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "ring.c"))
}

/// The program came to its end, and libqmpi had nothing to say.
fn done(outcome: &Outcome) -> Result<(), String> {
    outcome.expect(0, &["done".to_owned()])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report())) }
}

/// So many tables of counters have the calls of `ring.c`.
fn counted(outcome: &Outcome, tables: usize) -> Result<(), String> {
    for (function, calls) in COUNTED {
        let rows = outcome.stdout.lines().filter(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(function) && words.next() == Some(&calls.to_string())
        });
        if rows.count() != tables {
            return Err(format!("not {tables} times {calls} calls of {function}\n{}", outcome.report()));
        }
    }
    Ok(())
}

/// The lines in which awkward tools report.
fn verdicts(outcome: &Outcome) -> Vec<&str> {
    outcome.lines().into_iter().filter(|line| line.starts_with("tool ")).collect()
}

/// Alone, twice, above and below a tool with DT_GNU_HASH.
fn tool_in_a_stack(mpi: Mpi) -> Verdict {
    let sysv = sysv_tool(mpi, "counter");
    let preloaded = ring(mpi).preload(&sysv).run();
    done(&preloaded).and_then(|()| counted(&preloaded, 1)).map_err(|reason| format!("LD_PRELOAD: {reason}"))?;
    let (sysv, gnu) = (sysv.display().to_string(), tool(mpi, "counter").display().to_string());
    for tools in [&[sysv.as_str()][..], &[&sysv, &sysv], &[&sysv, &gnu], &[&gnu, &sysv]] {
        let stacked = ring(mpi).stack(tools).run();
        done(&stacked)
            .and_then(|()| counted(&stacked, tools.len()))
            .map_err(|reason| format!("{tools:?}: {reason}"))?;
    }
    Ok(())
}

/// Tools that ask the dynamic linker, bring a library, have no DT_NEEDED or Fortran wrappers say in a stack what they say under
/// LD_PRELOAD.
fn awkward_tools(mpi: Mpi) -> Verdict {
    let mut failures = Vec::new();
    for name in ["base_tool", "rtld_next", "rtld_next_pmpi", "closure", "no_needed", "defines_pmpi", "ctor_calls_mpi"] {
        let library = sysv_tool(mpi, name);
        let preloaded = ring(mpi).preload(&library).run();
        done(&preloaded).map_err(|reason| format!("LD_PRELOAD of {name}: {reason}"))?;
        let stacked = ring(mpi).stack(&[&library.display().to_string()]).run();
        let same = verdicts(&preloaded) == verdicts(&stacked) && !verdicts(&preloaded).is_empty();
        if let Err(reason) = done(&stacked).and_then(|()| same.then_some(()).ok_or_else(|| stacked.report())) {
            failures.push(format!("{name}: {reason}"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n").into()) }
}

/// QMPI tools and those of the prototype, which LD_PRELOAD alone cannot run: the same as with DT_GNU_HASH.
fn native_tools(mpi: Mpi) -> Verdict {
    for (name, element) in [("qmpi_counter", "counter="), ("thesis_counter", "")] {
        let files = [tool(mpi, name), sysv_tool(mpi, name)];
        let [gnu, sysv] = files.map(|file| ring(mpi).stack(&[&format!("{element}{}", file.display())]).run());
        done(&gnu)?;
        done(&sysv).map_err(|reason| format!("{name}: {reason}"))?;
        let shown = |outcome: &Outcome| -> Vec<String> {
            let is_time = |word: &&str| word.split_once('.').is_some_and(|(_, digits)| digits.len() == 6);
            let line = |line: &str| line.split_whitespace().filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ");
            outcome.lines().into_iter().map(line).collect()
        };
        if shown(&gnu) != shown(&sysv) {
            return Err(format!("{name}: {}\ninstead of\n{}", sysv.report(), gnu.report()).into());
        }
    }
    Ok(())
}

/// The user's own LD_PRELOAD, before and behind libqmpi: the tool says what it says without a stack, and its calls enter it.
fn preloaded_beside_a_stack(mpi: Mpi) -> Verdict {
    let own = sysv_tool(mpi, "base_tool");
    let counter = tool(mpi, "counter").display().to_string();
    let preloaded = ring(mpi).preload(&own).run();
    done(&preloaded).map_err(|reason| format!("LD_PRELOAD: {reason}"))?;
    for (mode, job) in [
        ("before", ring(mpi).preload(&own).by_hand(&counter)),
        ("behind", ring(mpi).by_hand(&counter).preload(&own)),
        ("by the user of run", ring(mpi).env("LD_PRELOAD", own.display().to_string()).stack(&[&counter])),
    ] {
        beside(&job.run(), &preloaded).map_err(|reason| format!("{mode}: {reason}"))?;
    }
    Ok(())
}

/// A tool of the program's own says what it says natively, and the calls that it passes on enter the stack.
fn beside(stacked: &Outcome, native: &Outcome) -> Result<(), String> {
    done(stacked)?;
    counted(stacked, 1)?;
    if verdicts(stacked) == verdicts(native) && !verdicts(native).is_empty() {
        return Ok(());
    }
    Err(format!("{:?} instead of {:?}\n{}", verdicts(stacked), verdicts(native), stacked.report()))
}

fn linked_with_the_program(mpi: Mpi) -> Verdict {
    let source = product::root().join("tests/programs/ring.c");
    let job = Job::new(mpi, 2, &compile::executable_with(mpi, &source, &sysv_tool(mpi, "base_tool")));
    of_the_program(mpi, &job)
}

fn compiled_into_the_program(mpi: Mpi) -> Verdict {
    let program = program(mpi, "hash_compiled_in.c");
    has_dt_hash_only(&program);
    of_the_program(mpi, &Job::new(mpi, 2, &program))
}

fn of_the_program(mpi: Mpi, job: &Job) -> Verdict {
    let native = job.run();
    done(&native).map_err(|reason| format!("native: {reason}"))?;
    let empty = job.clone().stack(&[]).run();
    done(&empty).map_err(|reason| format!("empty stack: {reason}"))?;
    if verdicts(&empty) != verdicts(&native) {
        return Err(format!("empty stack\n{}", empty.report()).into());
    }
    let stacked = job.clone().stack(&[&tool(mpi, "counter").display().to_string()]).run();
    Ok(beside(&stacked, &native)?)
}

/// A program that exports its symbols by DT_HASH, with tools of both kinds.
fn program_without_tool(mpi: Mpi) -> Verdict {
    let program = program(mpi, "hash_program.c");
    has_dt_hash_only(&program);
    for library in [tool(mpi, "counter"), sysv_tool(mpi, "counter")] {
        let job = Job::new(mpi, 2, &program);
        let preloaded = job.clone().preload(&library).run();
        done(&preloaded).and_then(|()| counted(&preloaded, 1)).map_err(|reason| format!("LD_PRELOAD: {reason}"))?;
        let stacked = job.stack(&[&library.display().to_string()]).run();
        done(&stacked).and_then(|()| counted(&stacked, 1))?;
    }
    Ok(())
}

/// Copies of the installed MPI libraries with DT_HASH only, in a directory to find them in.
fn mpi_libraries(mpi: Mpi) -> tempfile::TempDir {
    let names = match mpi {
        Mpi::OpenMpi => ["libmpi.so.40", "libmpi_mpifh.so.40"],
        Mpi::Mpich => ["libmpich.so.12", "libmpichfort.so.12"],
    };
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new("ldd").arg(program(mpi, "fortran_mpifh.f90")).output().expect("ldd");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in names {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect("the library in ldd's answer");
        let path = line.split_whitespace().nth(2).expect("its path");
        dt_hash::rewrite(Path::new(path), &directory.path().join(name));
        has_dt_hash_only(&directory.path().join(name));
    }
    directory
}

fn with_libraries(job: &Job, directory: &tempfile::TempDir) -> Job {
    job.clone().env("LD_LIBRARY_PATH", directory.path().display().to_string())
}

/// Tools with DT_GNU_HASH on an MPI library with DT_HASH.
fn mpi_library(mpi: Mpi) -> Verdict {
    on_libraries(mpi, &tool(mpi, "counter"))?;
    let directory = mpi_libraries(mpi);
    for name in ["rtld_next", "rtld_next_pmpi"] {
        let library = tool(mpi, name);
        let job = with_libraries(&ring(mpi), &directory);
        let preloaded = job.clone().preload(&library).run();
        done(&preloaded).map_err(|reason| format!("LD_PRELOAD of {name}: {reason}"))?;
        let stacked = job.stack(&[&library.display().to_string()]).run();
        done(&stacked).map_err(|reason| format!("{name}: {reason}"))?;
        if verdicts(&stacked) != verdicts(&preloaded) {
            return Err(format!("{name}: not {:?}\n{}", verdicts(&preloaded), stacked.report()).into());
        }
    }
    Ok(())
}

/// Neither has DT_GNU_HASH.
fn mpi_library_and_tool(mpi: Mpi) -> Verdict {
    on_libraries(mpi, &sysv_tool(mpi, "counter"))
}

fn on_libraries(mpi: Mpi, library: &Path) -> Verdict {
    let directory = mpi_libraries(mpi);
    let job = with_libraries(&ring(mpi), &directory);
    let preloaded = job.clone().preload(library).run();
    done(&preloaded).and_then(|()| counted(&preloaded, 1)).map_err(|reason| format!("LD_PRELOAD: {reason}"))?;
    let path = library.display().to_string();
    for tools in [&[path.as_str()][..], &[&path, &path]] {
        let stacked = job.clone().stack(tools).run();
        done(&stacked).and_then(|()| counted(&stacked, tools.len()))?;
    }
    Ok(())
}

/// MPI's Fortran library: a Fortran program and a tool with C wrappers, for which there is no such run without a stack on Open MPI,
/// so that the table is compared with that of the installed libraries.
fn mpi_library_of_fortran(mpi: Mpi) -> Verdict {
    let directory = mpi_libraries(mpi);
    let job = Job::new(mpi, 2, &program(mpi, "fortran_all.f90"));
    let counter = tool(mpi, "counter").display().to_string();
    let native = with_libraries(&job, &directory).run();
    native.expect(0, &["fortran_all: 0 wrong", "fortran_all: done"].map(str::to_owned))?;
    let installed = job.clone().stack(&[&counter]).run();
    let rewritten = with_libraries(&job, &directory).stack(&[&counter]).run();
    for outcome in [&installed, &rewritten] {
        outcome.expect(0, &["fortran_all: 0 wrong", "fortran_all: done"].map(str::to_owned))?;
    }
    Ok(Tables::of(&rewritten).expect("counter", Tables::of(&installed).get("counter")?)?)
}
