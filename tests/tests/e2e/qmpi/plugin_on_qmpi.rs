//! `libqmpi_bridge.so` on an MPI that has QMPI itself: the small one of the tests, and MPICH configured with `--enable-qmpi` where it is
//! there; and in processes in which nothing has QMPI.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{
    Job, Mpi, Outcome, Tables, Trial, Verdict, artifact, compile, linear_layers, mpich_with_qmpi, on_each_mpi, product,
    program, qmpi_mpi, tool,
};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = on_each_mpi(&[("mpi_without_qmpi", &Mpi::ALL, mpi_without_qmpi)]);
    trials.push(Trial::test("no_mpi", no_mpi));
    let mut on = |library: Library| {
        let checks: [(&str, Check); 7] = [
            ("launcher", launcher),
            ("list", list),
            ("own_calls", own_calls),
            ("bridged", |library| layers(library, &["bridged"])),
            ("native", |library| layers(library, &["native"])),
            ("alternating", |library| layers(library, &["native", "bridged"])),
            ("needs_a_namespace", needs_a_namespace),
        ];
        for (name, check) in checks {
            trials.push(Trial::test(format!("{}::{name}", library.name()), move || check(library)));
        }
    };
    on(Library::Small);
    if mpich_with_qmpi::is_wanted() {
        on(Library::Mpich);
    }
    trials.push(Trial::test("small::contexts", contexts));
    trials.push(Trial::test("small::opened_late", opened_late));
    trials
}

type Check = fn(Library) -> Verdict;

/// An MPI that has QMPI itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    Small,
    Mpich,
}

impl Library {
    fn name(self) -> &'static str {
        match self {
            Library::Small => "small",
            Library::Mpich => "mpich-with-qmpi",
        }
    }

    /// A file of `tests/programs/mpi` as a program.
    fn program(self, file: &str) -> PathBuf {
        let source = product::root().join("tests/programs").join(file);
        match self {
            Library::Small => compile::executable(Mpi::Mpich, &source),
            Library::Mpich => mpich_with_qmpi::program(&source),
        }
    }

    fn library(self, file: &str) -> PathBuf {
        let source = product::root().join(file);
        match self {
            Library::Small => compile::library(Mpi::Mpich, &source),
            Library::Mpich => mpich_with_qmpi::library(&source),
        }
    }

    /// One process of a program with the plugin, native tools, a configuration and a list.
    fn run(
        self,
        program: &Path,
        native: &[PathBuf],
        config: &Config,
        list: &[&str],
        env: &[(&str, String)],
    ) -> Outcome {
        let mut env = env.to_vec();
        env.push(qmpi_mpi::tools(list));
        env.push(("QMPI_CONFIG", config.path().display().to_string()));
        let preload: Vec<PathBuf> = std::iter::once(product::plugin()).chain(native.iter().cloned()).collect();
        match self {
            Library::Small => {
                let job = preload.iter().fold(qmpi_mpi::job(program).within(100), |job, library| job.preload(library));
                env.iter().fold(job, |job, (name, value)| job.env(name, value.clone())).run()
            }
            Library::Mpich => mpich_with_qmpi::run(1, program, &preload, &env),
        }
    }
}

/// A configuration file.
struct Config(tempfile::TempDir);

impl Config {
    /// For each tool its name, its file and further lines.
    fn new(tools: &[(&str, &Path, &str)]) -> Result<Config, Failed> {
        let mut text = String::new();
        for (name, path, lines) in tools {
            writeln!(text, "[tool.{name}]\npath = {path:?}\n{lines}")?;
        }
        let config = Config(tempfile::tempdir()?);
        std::fs::write(config.path(), text)?;
        Ok(config)
    }

    /// Two counters.
    fn counters(library: Library, lines: &str) -> Result<Config, Failed> {
        let counter = library.library("legacy-tools/counter.c");
        let [outer, inner] = ["outer", "inner"].map(|name| format!("{lines}\nenv = {{ COUNTER = \"label={name}\" }}"));
        Config::new(&[("outer", &counter, &outer), ("inner", &counter, &inner)])
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("bridge.toml")
    }
}

/// Everything that a job starts has the plugin preloaded: shells, launchers, what they call.
fn no_mpi() -> Verdict {
    let config = Config::counters(Library::Small, "")?;
    for words in [&["/bin/true"][..], &["/bin/sh", "-c", "/bin/ls / | /usr/bin/wc -l >/dev/null; exit 0"]] {
        for config in [Some(config.path()), None] {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).env("LD_PRELOAD", product::plugin());
            command.envs(config.map(|path| ("QMPI_CONFIG", path)));
            let output = command.output()?;
            if !output.status.success() || !output.stderr.is_empty() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{words:?}: {}\n{said}", output.status).into());
            }
        }
    }
    Ok(())
}

/// One warning of one rank, and the program runs as without the plugin. MPICH has functions of these names in any case.
fn mpi_without_qmpi(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    let config = Config::new(&[("outer", &counter, ""), ("inner", &counter, "")])?;
    let job = Job::new(mpi, 2, &program(mpi, "ring.c")).preload(&product::plugin());
    let job = job.env("QMPI_CONFIG", config.path().display().to_string());
    let outcome = job.run();
    outcome.expect(0, &["done".to_owned()])?;
    let said = outcome.said();
    let right = said.len() == 2
        && said[0].starts_with("qmpi: warning: ")
        && said[0].ends_with(" has no QMPI of its own: libqmpi_bridge.so does nothing")
        && said[1].starts_with("qmpi: hint: use libqmpi.so instead");
    if !right {
        return Err(format!("not one warning with its hint\n{}", outcome.report()).into());
    }
    let quiet = job.env("QMPI_LOG", "error").run();
    quiet.expect(0, &["done".to_owned()])?;
    if quiet.said().is_empty() { Ok(()) } else { Err(quiet.report().into()) }
}

/// A program that opens MPI, after which the tools cannot register: one warning at the end. With the MPI library preloaded they can.
fn opened_late() -> Verdict {
    let library = Library::Small;
    let config = Config::counters(library, "")?;
    let program = library.program("mpi/opens_small.c");
    let job = qmpi_mpi::job(&program).env("QMPI_CONFIG", config.path().display().to_string());
    let late = job.clone().preload(&product::plugin()).run();
    late.expect(0, &["opens_small: 10 messages".to_owned()])?;
    let said = late.said();
    let right = said.len() == 2
        && said[0].contains(" was opened after libqmpi_bridge.so, so no tool of the configuration has registered")
        && said[1].starts_with("qmpi: hint: preload the MPI library as well");
    if !right {
        return Err(format!("not one warning with its hint\n{}", late.report()).into());
    }
    let (variable, list) = qmpi_mpi::tools(&["outer", "inner"]);
    let mpi = qmpi_mpi::directory().join("libmpich.so.12");
    let outcome = job.preload(&mpi).preload(&product::plugin()).env(variable, list).run();
    outcome.expect(0, &["opens_small: 10 messages".to_owned()])?;
    let tables = Tables::of(&outcome);
    tables.expect_calls("outer", "MPI_Send", 10)?;
    tables.expect_calls("inner", "MPI_Send", 10)?;
    if outcome.said().is_empty() { Ok(()) } else { Err(outcome.report().into()) }
}

/// The launcher has the plugin, too.
fn launcher(library: Library) -> Verdict {
    let config = Config::counters(library, "")?;
    let mut command = match library {
        Library::Small => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "\"$0\""]).env("LD_LIBRARY_PATH", qmpi_mpi::directory());
            command
        }
        Library::Mpich => {
            let mut command = Command::new(mpich_with_qmpi::prefix().join("bin/mpiexec"));
            command.args(["-n", "2"]);
            command
        }
    };
    let (variable, list) = qmpi_mpi::tools(&["outer", "inner"]);
    command.arg(library.program("mpi/to_nowhere.c")).env("QMPI_CONFIG", config.path()).env(variable, list);
    let output = command.env("LD_PRELOAD", product::plugin()).output()?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let tables = ["outer: MPI calls of ", "inner: MPI calls of "];
    if output.status.success() && tables.iter().all(|title| stdout.contains(title)) && !stderr.contains("qmpi:") {
        return Ok(());
    }
    Err(format!("{}\n{stdout}\n{stderr}", output.status).into())
}

/// Two instances with a native tool between them, in the order of the list; one that is not in it is not there.
fn list(library: Library) -> Verdict {
    let config = Config::counters(library, "")?;
    let native = [library.library("tests/programs/mpi/native_adds.c")];
    let program = library.program("mpi/to_nowhere.c");
    let done = |size| format!("done: size {size}, time ok");
    let outcome = library.run(&program, &native, &config, &["outer", "native", "inner", "native"], &[]);
    outcome.expect(0, &[done(3), "native_adds: 20 null contexts, 0 others".into()])?;
    let tables = Tables::of(&outcome);
    for name in ["outer", "inner"] {
        for (function, calls) in [("MPI_Init", 1), ("MPI_Bcast", 10), ("MPI_Send", 10), ("MPI_Recv", 10)] {
            tables.expect_calls(name, function, calls)?;
        }
    }
    // The outer one gathers its table by a call that the inner one counts.
    tables.expect_calls("outer", "MPI_Reduce", 0)?;
    if tables.get("inner")?.get("MPI_Reduce").is_none_or(|(calls, _)| *calls == 0) {
        return Err(format!("inner has not seen what outer calls\n{}", outcome.report()).into());
    }
    let outcome = library.run(&program, &native, &config, &["inner"], &[]);
    outcome.expect(0, &[done(1)])?;
    Tables::of(&outcome).expect_calls("inner", "MPI_Send", 10)?;
    if outcome.count("outer: ") == 0 && outcome.said().is_empty() { Ok(()) } else { Err(outcome.report().into()) }
}

/// Calls of its own go to the MPI library past all tools, although `PMPI_f` of the library enters the chain.
fn own_calls(library: Library) -> Verdict {
    let config = Config::counters(library, "own_calls = \"hidden\"")?;
    let outcome = library.run(&library.program("mpi/to_nowhere.c"), &[], &config, &["outer", "inner"], &[]);
    outcome.expect(0, &["done: size 1, time ok".to_owned()])?;
    let tables = Tables::of(&outcome);
    for name in ["outer", "inner"] {
        tables.expect_calls(name, "MPI_Send", 10)?;
        tables.expect_calls(name, "MPI_Reduce", 0)?;
    }
    Ok(())
}

/// A PMPI tool that wraps every function of the library and adds one to the size of a communicator.
fn wraps_everything(library: Library) -> Result<PathBuf, Failed> {
    if library == Library::Small {
        return Ok(library.library("tests/programs/mpi/wraps_small.c"));
    }
    let directory = mpich_with_qmpi::directory();
    std::fs::create_dir_all(&directory)?;
    let plain = product::generated(&mpich_with_qmpi::header(), &directory, "passthrough", "wraps_plain");
    let text = std::fs::read_to_string(plain)?;
    let from = "return (PMPI_Comm_size)(comm, size);";
    if text.matches(from).count() != 1 {
        return Err(format!("shim-gen passthrough does not write {from:?} once").into());
    }
    let text = text.replace(from, "int result = (PMPI_Comm_size)(comm, size);\n    ++*size;\n    return result;");
    let source = directory.join("wraps_all.c");
    artifact::write_source(&source, text.as_bytes());
    Ok(mpich_with_qmpi::library(&source))
}

/// A thousand layers: each is called once, and start-up is linear.
fn layers(library: Library, kinds: &[&str]) -> Verdict {
    let config = Config::new(&[("bridged", &wraps_everything(library)?, "")])?;
    let native = [library.library("tests/programs/mpi/native_adds.c")];
    let program = library.program("asks_size.c");
    let run = |count: usize| {
        let list: Vec<&str> = kinds.iter().copied().cycle().take(count).collect();
        Ok(library.run(&program, &native, &config, &list, &[]))
    };
    linear_layers::check(&format!("{}: {}", library.name(), kinds.join(" and ")), run)
}

/// A tool that cannot share a namespace gets one, although more others come before it than there are namespaces. A second instance does not
/// find one, and the message says why.
fn needs_a_namespace(library: Library) -> Verdict {
    let (counter, closure) = (library.library("legacy-tools/counter.c"), closure(library));
    let names: Vec<String> = (0..20).map(|number| format!("c{number}")).collect();
    let lines: Vec<String> = names.iter().map(|name| format!("env = {{ COUNTER = \"label={name}\" }}")).collect();
    let mut tools: Vec<(&str, &Path, &str)> =
        names.iter().zip(&lines).map(|(name, lines)| (name.as_str(), counter.as_path(), lines.as_str())).collect();
    tools.push(("last", &closure, ""));
    let config = Config::new(&tools)?;
    let mut list: Vec<&str> = tools.iter().map(|(name, ..)| *name).collect();
    let program = library.program("mpi/to_nowhere.c");
    let outcome = library.run(&program, &[], &config, &list, &[]);
    outcome.expect(0, &["done: size 1, time ok".to_owned()])?;
    let tables = Tables::of(&outcome);
    for name in &names {
        tables.expect_calls(name, "MPI_Send", 10)?;
    }
    if outcome.count("tool closure: ") != 1 {
        return Err(format!("the last one has not said anything\n{}", outcome.report()).into());
    }
    list.push("last");
    let outcome = library.run(&program, &[], &config, &list, &[]);
    let said = outcome.said();
    let is_refused =
        said.iter().any(|line| line.contains("no namespace left") && line.contains("closure_helper.so calls PMPI_"));
    if outcome.status != 0 && is_refused { Ok(()) } else { Err(outcome.report().into()) }
}

/// A tool with a library of its own that calls MPI.
fn closure(library: Library) -> PathBuf {
    match library {
        Library::Small => tool(Mpi::Mpich, "closure"),
        Library::Mpich => {
            let helper = library.library("legacy-tools/closure_helper.c");
            mpich_with_qmpi::library_with(&product::root().join("legacy-tools/closure.c"), &helper)
        }
    }
}

/// Contexts that are null in the first calls and not in later ones: all arrive below bridged tools as they were, in every call.
fn contexts() -> Verdict {
    let library = Library::Small;
    let config = Config::counters(library, "")?;
    let native = [library.library("tests/programs/mpi/native_adds.c")];
    let program = library.program("mpi/to_nowhere.c");
    // MPI_Bcast and MPI_Send in turns.
    for (first, sends) in [(0, 0), (1, 0), (2, 1), (7, 3), (1000, 10)] {
        let env = [("QMPI_MPI_CONTEXTS", first.to_string())];
        let outcome = library.run(&program, &native, &config, &["outer", "inner", "native"], &env);
        let contexts = format!("native_adds: {sends} null contexts, {} others", 10 - sends);
        outcome.expect(0, &["done: size 2, time ok".to_owned(), contexts])?;
        Tables::of(&outcome).expect_calls("inner", "MPI_Send", 10)?;
    }
    Ok(())
}
