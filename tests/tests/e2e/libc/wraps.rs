//! Functions that are not MPI's and that tools wrap: in a stack tools see of the program, of MPI and of other libraries what they see under
//! plain `LD_PRELOAD`; layers below see what layers above do themselves.

use std::path::Path;

use libtest_mimic::Failed;
use qmpi_tests::against::{Failures, prints, stacked};
use qmpi_tests::compile::library;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("alone", &Mpi::ALL, alone),
        ("twice", &Mpi::ALL, twice),
        ("twice_hidden", &Mpi::ALL, twice_hidden),
        ("between", &Mpi::ALL, between),
        ("of_a_library", &Mpi::ALL, of_a_library),
        ("settings", &Mpi::ALL, settings),
        ("instrumented", &Mpi::ALL, instrumented),
        ("wrong_settings", &Mpi::ALL, wrong_settings),
        ("profiling_names", &Mpi::ALL, profiling_names),
        ("profiling_names_in_mpi", &Mpi::ALL, profiling_names_in_mpi),
        ("exported_names", &Mpi::ALL, exported_names),
        ("plugin_made_global", &Mpi::ALL, plugin_made_global),
        ("plugin_needed_by_a_library", &Mpi::ALL, plugin_needed_by_a_library),
        ("plugin_needed_and_closed", &Mpi::ALL, plugin_needed_and_closed),
        ("opened_again", &Mpi::ALL, opened_again),
        ("dlopen_passed_on", &Mpi::ALL, dlopen_passed_on),
        ("look_ups", &Mpi::ALL, look_ups),
        ("versioned_look_ups", &Mpi::ALL, versioned_look_ups),
        ("references_to_the_program", &Mpi::ALL, references_to_the_program),
    ])
}

/// The program, in a directory of its own, and what is needed to run it.
struct Files {
    directory: tempfile::TempDir,
    job: Job,
    tool: String,
}

impl Files {
    fn new(mpi: Mpi) -> Result<Files, Failed> {
        let directory = tempfile::tempdir()?;
        let late = library(mpi, &source("late_files"));
        let args = [directory.path().display().to_string(), late.display().to_string()];
        let job = Job::alone(mpi, &program(mpi, "uses_files.c")).args(&args);
        let tool = library(mpi, &source("wraps_files")).display().to_string();
        Ok(Files { directory, job, tool })
    }

    /// What the tool reports under plain `LD_PRELOAD`, and what the program prints.
    fn reference(&self) -> Result<(String, Vec<String>), Failed> {
        let outcome = self.job.clone().preload(Path::new(&self.tool)).run();
        outcome.expect(0, &[])?;
        let report = report(&outcome, "wraps_files").ok_or_else(|| outcome.report())?;
        // The test says something only if the program reaches all wrappers.
        if report.split(' ').any(|word| word == "0") || !outcome.lines().contains(&"event: 42 2 no error") {
            return Err(format!("under LD_PRELOAD: {}", outcome.report()).into());
        }
        Ok((report, outcome.lines().into_iter().map(str::to_owned).collect()))
    }

    fn config(&self, text: &str) -> Result<Job, Failed> {
        let path = self.directory.path().join("qmpi.toml");
        std::fs::write(&path, text)?;
        Ok(self.job.clone().config(&path))
    }
}

fn source(name: &str) -> std::path::PathBuf {
    product::root().join(format!("tests/programs/{name}.c"))
}

/// The counts that a tool reports under this label.
fn report(outcome: &Outcome, label: &str) -> Option<String> {
    outcome.stderr.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(": ")).map(str::to_owned)
}

fn alone(mpi: Mpi) -> Verdict {
    let files = Files::new(mpi)?;
    let (expected, lines) = files.reference()?;
    let mut failures = Failures::default();
    for (mode, job) in stacked(&files.job, &[&files.tool]) {
        let outcome = job.run();
        let same = outcome.expect(0, &lines).and_then(|()| match report(&outcome, "wraps_files") {
            Some(found) if found == expected => Ok(()),
            _ => Err(format!("{mode}: not {expected}\n{}", outcome.report())),
        });
        failures.note(same);
    }
    failures.verdict()
}

/// The inner instance also sees the file that the outer one opens for itself; the outer one does not see that of the inner one.
fn twice(mpi: Mpi) -> Verdict {
    two(mpi, "visible", [1, 2])
}

/// Each sees its own file, which comes by way of its own wrapper, and that of no other.
fn twice_hidden(mpi: Mpi) -> Verdict {
    two(mpi, "hidden", [1, 1])
}

/// How many files more than the program's the two instances see.
fn two(mpi: Mpi, own_calls: &str, more: [usize; 2]) -> Verdict {
    let files = Files::new(mpi)?;
    let (expected, lines) = files.reference()?;
    let log = |name: &str| files.directory.path().join(format!("marker-{name}")).display().to_string();
    let section = |name: &str| {
        let (tool, log) = (&files.tool, log(name));
        format!(
            "[tool.{name}]\npath = \"{tool}\"\nown_calls = \"{own_calls}\"\n\
             env = {{ FILES_LABEL = \"{name}\", FILES_LOG = \"{log}\" }}\n"
        )
    };
    let job = files.config(&format!("stack = [\"outer\", \"inner\"]\n{}{}", section("outer"), section("inner")))?;
    let outcome = job.run();
    outcome.expect(0, &lines)?;
    for (label, more) in ["outer", "inner"].into_iter().zip(more) {
        let found = report(&outcome, label).ok_or_else(|| outcome.report())?;
        // Its printf goes on with vprintf, which it does not wrap.
        for name in ["open", "close", "write", "fopen", "fcntl", "pthread_create", "malloc", "free", "dlopen"] {
            let more = if ["open", "close"].contains(&name) { more } else { 0 };
            let wanted = count(&expected, name).map(|count| count + more);
            if count(&found, name) != wanted {
                return Err(format!("{label}: {name} not {wanted:?}\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// A function of a library that the program has and the tool has not, and one whose names differ.
fn of_a_library(mpi: Mpi) -> Verdict {
    let imports = variant::build(mpi, "tests/programs/wraps_part.c", "wraps_part_imports.so", &["-DIMPORTS"]);
    [library(mpi, &source("wraps_part")), imports].iter().try_for_each(|tool| wraps_part(mpi, tool))
}

fn wraps_part(mpi: Mpi, tool: &Path) -> Verdict {
    let tool = tool.display().to_string();
    let job = Job::alone(mpi, &program(mpi, "uses_part.c"));
    let reference = job.clone().preload(Path::new(&tool)).run();
    let expected = ["part 2, number 42", "wraps_part: 1 parts, 1 scans"].map(str::to_owned);
    reference.expect(0, &expected)?;
    let mut failures = Failures::default();
    failures.same_in_stack(&job, &[&tool], &reference);
    // The outer one goes on with vfscanf, which the inner one does not wrap.
    let inner = "wraps_part: 1 parts, 0 scans".to_owned();
    failures.note(job.stack(&[&tool, &tool]).run().expect(0, &[&expected[..], &[inner]].concat()));
    failures.verdict()
}

/// What another tool does itself is seen by the layers below it, and not by those above: one file of two.
fn between(mpi: Mpi) -> Verdict {
    let files = Files::new(mpi)?;
    let (expected, lines) = files.reference()?;
    let opener = library(mpi, &source("opens_at_init")).display().to_string();
    let section = |name: &str| {
        let log = files.directory.path().join(format!("marker-{name}")).display().to_string();
        format!("[tool.{name}]\npath = \"{opener}\"\nenv = {{ OPENS_AT_INIT = \"{log}\" }}\n")
    };
    let files_section = format!("[tool.files]\npath = \"{}\"\n", files.tool);
    let (above, below) = (section("above"), section("below"));
    let job = files.config(&format!("stack = [\"above\", \"files\", \"below\"]\n{above}{files_section}{below}"))?;
    let outcome = job.run();
    outcome.expect(0, &lines)?;
    let found = report(&outcome, "wraps_files").ok_or_else(|| outcome.report())?;
    let wanted = count(&expected, "open").map(|count| count + 1);
    if count(&found, "open") == wanted {
        return Ok(());
    }
    Err(format!("open: not {wanted:?}\n{}", outcome.report()).into())
}

fn count(report: &str, name: &str) -> Option<usize> {
    let mut words = report.split(' ').skip_while(|word| *word != name);
    words.nth(1)?.parse().ok()
}

/// `wraps` says which functions reach the tool.
fn settings(mpi: Mpi) -> Verdict {
    let files = Files::new(mpi)?;
    let (expected, lines) = files.reference()?;
    let mut failures = Failures::default();
    let own = |name| if name == "open" || name == "close" { Some(0) } else { count(&expected, name).map(|_| 0) };
    for (wraps, reaching) in [("\"none\"", &[][..]), ("[\"fopen\", \"dlopen\"]", &["fopen", "dlopen"])] {
        let text = format!("stack = [\"files\"]\n[tool.files]\npath = \"{}\"\nwraps = {wraps}\n", files.tool);
        let outcome = files.config(&text)?.run();
        failures.note(outcome.expect(0, &lines));
        let found = report(&outcome, "wraps_files").unwrap_or_default();
        for name in ["open", "fopen", "fcntl", "malloc", "dlopen"] {
            let wanted = if reaching.contains(&name) { count(&expected, name) } else { own(name) };
            if count(&found, name) != wanted {
                failures.note(Err(format!("wraps = {wraps}: {name} not {wanted:?}\n{}", outcome.report())));
            }
        }
    }
    failures.verdict()
}

/// A program that is compiled with -finstrument-functions calls hooks of a tool, which begin with underscores and have no next function.
fn instrumented(mpi: Mpi) -> Verdict {
    let tool = library(mpi, &source("function_hooks")).display().to_string();
    let program = variant::build(mpi, "tests/programs/asks_size.c", "asks_size_hooks", &["-finstrument-functions"]);
    let job = Job::alone(mpi, &program);
    let reference = job.clone().preload(Path::new(&tool)).run();
    let expected = report(&reference, "hooks").ok_or_else(|| reference.report())?;
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &[&tool]) {
        let outcome = job.run();
        if report(&outcome, "hooks").as_ref() != Some(&expected) {
            failures.note(Err(format!("{mode}: not {expected}\n{}", outcome.report())));
        }
    }
    failures.verdict()
}

/// A tool that defines `PMPI_Send` gets the program's calls of it.
fn profiling_names(mpi: Mpi) -> Verdict {
    let tool = tool(mpi, "defines_pmpi");
    let job = Job::alone(mpi, &program(mpi, "calls_pmpi.c"));
    let reference = job.clone().preload(&tool).run();
    reference.expect(0, &["tool defines_pmpi: ok calls=3 profiling=5".to_owned(), "dlsym: 7".to_owned()])?;
    let mut failures = Failures::default();
    failures.same_in_stack(&job, &[&tool.display().to_string()], &reference);
    failures.verdict()
}

/// What the program uses where it is there, by weak references and look-ups, functions and variables: of several tools that have it, the
/// outermost one's, as it is the first one's of a list that is preloaded.
fn exported_names(mpi: Mpi) -> Verdict {
    let job = Job::alone(mpi, &program(mpi, "refers_to_tool.c"));
    let tools = [1, 2].map(|number| {
        let (name, option) = (format!("refers_to_program_{number}.so"), format!("-DNUMBER={number}"));
        variant::build(mpi, "tests/programs/refers_to_program.c", &name, &[&option])
    });
    let mut failures = Failures::default();
    for (outer, inner, number) in [(0, 1, 1), (1, 0, 2)] {
        let (outer, inner) = (&tools[outer], &tools[inner]);
        let line = [format!("program: references {number} {number}0, look-ups {number} {number}0")];
        failures.note(job.clone().preload(outer).preload(inner).run().expect(0, &line));
        for (_, job) in stacked(&job, &[&outer.display().to_string(), &inner.display().to_string()]) {
            failures.note(job.run().expect(0, &line));
        }
    }
    failures.verdict()
}

/// The program finds the functions of a library that the tool opened with RTLD_GLOBAL.
fn plugin_made_global(mpi: Mpi) -> Verdict {
    let (job, line) = (Job::alone(mpi, &program(mpi, "asks_plugin.c")), "asks_plugin: found");
    prints(&job, &tool(mpi, "dlopen_global"), line, line)
}

/// A library that the program opens is bound to it; with a layer beside it that wraps `dlopen`, too.
fn plugin_needed_by_a_library(mpi: Mpi) -> Verdict {
    let argument = compile::companion(mpi, "needs_plugin.c").display().to_string();
    let (job, line) = (Job::alone(mpi, &program(mpi, "asks_plugin.c")).args(&[argument]), "asks_plugin: library works");
    prints(&job, &tool(mpi, "dlopen_global"), line, line)?;
    let [opens, wraps] = [tool(mpi, "dlopen_global"), library(mpi, &source("wraps_files"))];
    let [opens, wraps] = [opens, wraps].map(|path| path.display().to_string());
    for tools in [[&*opens, &*wraps], [&*wraps, &*opens]] {
        job.clone().stack(&tools).run().expect(0, &[line.to_owned()])?;
    }
    Ok(())
}

/// A library that the program opens before the tool has opened it, meanwhile, and when the tool has closed it.
fn plugin_needed_and_closed(mpi: Mpi) -> Verdict {
    let argument = compile::companion(mpi, "needs_plugin.c").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "asks_plugin_again.c")).args(&[argument]);
    let line = "asks_plugin_again: no yes no";
    prints(&job, &compile::companion(mpi, "closes_global.c"), line, line)
}

/// A library that the program closes and opens again may stand at the same place: it is another one all the same, whose calls are seen.
fn opened_again(mpi: Mpi) -> Verdict {
    let part = compile::companion(mpi, "opens_again_part.c").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "opens_again.c")).args(&[part]);
    let tool = compile::companion(mpi, "counts_getppid.c");
    let lines = ["opens_again: 2 times at the same place".to_owned(), "counts_getppid: 3".to_owned()];
    let mut failures = Failures::default();
    for (mode, job) in
        [("LD_PRELOAD", job.clone().preload(&tool))].into_iter().chain(stacked(&job, &[&tool.display().to_string()]))
    {
        failures.note(job.run().expect(0, &lines).map(|_| ()).map_err(|error| format!("{mode}: {error}")));
    }
    failures.verdict()
}

/// What a tool's wrapper of `dlopen` passes on, as its last act or not, is opened in the program's namespace.
fn dlopen_passed_on(mpi: Mpi) -> Verdict {
    let part = compile::companion(mpi, "opens_again_part.c").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "where_opened.c")).args(&[part]);
    let lines = ["where_opened: in the program", "wraps_dlopen: 0 failed, some"].map(str::to_owned);
    let mut failures = Failures::default();
    for (name, options) in [("wraps_dlopen_jumps.so", &[][..]), ("wraps_dlopen_works.so", &["-DWORK"])] {
        let tool = variant::build(mpi, "tests/programs/wraps_dlopen.c", name, &[&["-O2"], options].concat());
        let reference = job.clone().preload(&tool).run();
        reference.expect(0, &lines)?;
        let tool = tool.display().to_string();
        for (mode, job) in stacked(&job, &[&tool]).into_iter().chain(stacked(&job, &[&tool, &tool])) {
            failures.note(job.run().expect(0, &lines).map_err(|reason| format!("{name}, {mode}: {reason}")));
        }
    }
    failures.verdict()
}

/// A tool that wraps `dlsym` sees the program's look-ups, which find what they find without it; in a stack of two, both do.
fn look_ups(mpi: Mpi) -> Verdict {
    let tool = library(mpi, &source("wraps_look_ups"));
    let job = Job::alone(mpi, &program(mpi, "looks_up.c"));
    let reference = job.clone().preload(&tool).run();
    let lines = ["pointer 1", "call 1", "library 1", "next 1", "nothing 1"].map(|line| format!("looks_up: {line}"));
    reference.expect(0, &lines)?;
    let counts = "wraps_look_ups: dlsym 2 calls 2".to_owned();
    reference.expect(0, std::slice::from_ref(&counts))?;
    let mut failures = Failures::default();
    let tool = tool.display().to_string();
    failures.same_in_stack(&job, &[&tool], &reference);
    let twice = job.stack(&[&tool, &tool]).run();
    failures.note(twice.expect(0, &lines));
    if twice.lines().iter().filter(|line| **line == counts).count() != 2 {
        failures.note(Err(format!("twice: not two of {counts}\n{}", twice.report())));
    }
    failures.verdict()
}

/// The same of one that wraps `dlvsym`.
fn versioned_look_ups(mpi: Mpi) -> Verdict {
    let job = Job::alone(mpi, &program(mpi, "shows_less.c"));
    let job = job.args(&[compile::companion(mpi, "shows_less_late.c").display().to_string()]);
    let tool = compile::companion(mpi, "sees_less.c");
    let seen = |outcome: &Outcome| outcome.stdout.lines().any(|line| line.ends_with(" dlvsym 1"));
    let jobs = stacked(&job, &[&tool.display().to_string()]);
    for (mode, job) in [("LD_PRELOAD", job.preload(&tool))].into_iter().chain(jobs) {
        let outcome = job.run();
        if !seen(&outcome) || !outcome.stdout.contains("found 1 opened 1") {
            return Err(format!("{mode}: {}", outcome.report()).into());
        }
    }
    Ok(())
}

/// A tool refers to a variable of the program, and weakly to a function.
fn references_to_the_program(mpi: Mpi) -> Verdict {
    let tool = library(mpi, &source("refers_to_program"));
    let line = "tool 1: variable 7, weak reference bound";
    prints(&Job::alone(mpi, &program(mpi, "refers_to_tool.c")), &tool, line, line)
}

/// A tool that defines functions under their PMPI names gets the calls that MPI's own I/O makes by these.
fn profiling_names_in_mpi(mpi: Mpi) -> Verdict {
    // ROMIO is MPICH's; Open MPI has it beside its own.
    let job = Job::alone(mpi, &program(mpi, "mpi_io.c")).env("OMPI_MCA_io", "^ompio");
    let tool = library(mpi, &source("counts_profiling"));
    let reference = job.clone().preload(&tool).run();
    reference.expect(0, &["mpi_io: done".to_owned()])?;
    if reference.count("counts_profiling: ") != 1 || reference.count("counts_profiling: 0 ") == 1 {
        return Err(format!("LD_PRELOAD: no calls\n{}", reference.report()).into());
    }
    let mut failures = Failures::default();
    failures.same_in_stack(&job, &[&tool.display().to_string()], &reference);
    failures.verdict()
}

fn wrong_settings(mpi: Mpi) -> Verdict {
    let files = Files::new(mpi)?;
    let mut failures = Failures::default();
    for (wraps, message, hint) in [
        ("[\"opeen\"]", "`wraps` names opeen, which the tool does not define", "did you mean `open`?"),
        ("\"most\"", "`tool.files.wraps`: `most` is neither \"all\" nor \"none\"", "list functions"),
    ] {
        let text = format!("stack = [\"files\"]\n[tool.files]\npath = \"{}\"\nwraps = {wraps}\n", files.tool);
        let outcome = files.config(&text)?.run();
        let said = outcome.said();
        let has = |text: &str| said.iter().filter(|line| line.contains(text)).count() == 1;
        if outcome.status == 0 || !has(message) || !has(hint) {
            failures.note(Err(format!("wraps = {wraps}: not {message}, {hint}\n{}", outcome.report())));
        }
    }
    failures.verdict()
}
