//! Many instances of one tool, and settings that hold for one of them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, artifact, compile, on_each_mpi, program, tables, tool};

/// As many as glibc has namespaces for.
const MOST: usize = 15;

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("fifteen_counters", &Mpi::ALL, fifteen_counters),
        ("fifteen_that_intercept_everything", &Mpi::ALL, fifteen_that_intercept_everything),
        ("initial_exec_tls", &Mpi::ALL, initial_exec_tls),
        ("descriptors", &Mpi::ALL, descriptors),
        ("descriptors_closed", &Mpi::ALL, descriptors_closed),
        ("functions_of_one_instance", &Mpi::ALL, functions_of_one_instance),
        ("ranks_of_one_instance", &Mpi::ALL, ranks_of_one_instance),
        ("environment_of_one_instance", &Mpi::ALL, environment_of_one_instance),
        ("pcontrol_in_order", &Mpi::ALL, pcontrol_in_order),
        ("pcontrol_of_other_tools", &Mpi::ALL, pcontrol_of_other_tools),
        ("pcontrol_switched_off", &Mpi::ALL, pcontrol_switched_off),
        ("pcontrol_in_fortran", &Mpi::ALL, pcontrol_in_fortran),
    ])
}

/// A directory with a configuration file: for each layer its name, its tool and further lines.
struct Stack {
    directory: tempfile::TempDir,
}

impl Stack {
    fn new() -> Result<Stack, Failed> {
        Ok(Stack { directory: tempfile::tempdir()? })
    }

    fn file(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(name)).unwrap_or_default()
    }

    /// Writes the file. The layers stand in their order.
    fn write(&self, layers: &[(&str, PathBuf, String)]) -> Result<PathBuf, Failed> {
        let names: Vec<&str> = layers.iter().map(|(name, _, _)| *name).collect();
        let mut text = format!("stack = {names:?}\n");
        for (name, path, lines) in layers {
            let _ = writeln!(text, "[tool.{name}]\npath = {path:?}\n{lines}");
        }
        let path = self.directory.path().join("qmpi.toml");
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

fn finished(outcome: &Outcome) -> Verdict {
    outcome.expect(0, &["done".to_owned()])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

/// Each writes a table of its own, and the tables tell the order: each gathers its table with one MPI_Reduce, which all
/// instances further inside count.
fn fifteen_counters(mpi: Mpi) -> Verdict {
    let stack = Stack::new()?;
    let names: Vec<String> = (0..MOST).map(|number| format!("c{number}")).collect();
    let layers: Vec<(&str, PathBuf, String)> = names
        .iter()
        .map(|name| {
            let setting = format!("label={name},file={}", stack.file(name));
            (name.as_str(), tool(mpi, "counter"), format!("env = {{ COUNTER = {setting:?} }}"))
        })
        .collect();
    let outcome = Job::new(mpi, 2, &program(mpi, "ring.c")).config(&stack.write(&layers)?).run();
    finished(&outcome)?;
    for (number, name) in names.iter().enumerate() {
        tables::expect_one_of_many(name, number, &stack.text(name), &outcome)?;
    }
    Ok(())
}

/// A wrapper for every function of this mpi.h, as `shim-gen passthrough` writes it, without a change of the tunables.
fn fifteen_that_intercept_everything(mpi: Mpi) -> Verdict {
    let tool = passthrough(mpi)?.display().to_string();
    let outcome = Job::new(mpi, 2, &program(mpi, "ring.c")).stack(&[tool.as_str(); MOST]).env("QMPI_LOG", "info").run();
    outcome.expect(0, &["done".to_owned()])?;
    let loaded = outcome.said().iter().filter(|line| line.contains("pass.so") && line.contains(" functions, ")).count();
    if loaded != MOST || outcome.stdout.lines().count() != 7 {
        return Err(format!("{loaded} instances\n{}", outcome.report()).into());
    }
    Ok(())
}

fn passthrough(mpi: Mpi) -> Result<PathBuf, Failed> {
    // MPICH 4.0 declares the profiling names of these, but does not have them.
    let missing = ["MPI_Status_c2f08", "MPI_Status_f082c", "MPI_Status_f082f", "MPI_Status_f2f08"];
    let missing: BTreeSet<String> = missing.map(str::to_owned).into();
    let header = header(mpi)?;
    let header = shim_gen::Header::read(&header).map_err(|error| format!("{}: {error}", header.display()))?;
    let text = shim_gen::passthrough(&[header], &["mpi.h".to_owned()], &missing);
    let source = compile::directory(mpi).join("pass.c");
    artifact::write_source(&source, format!("//# cflags: -w\n{text}").as_bytes());
    Ok(compile::library(mpi, &source))
}

/// The mpi.h that the compiler wrapper finds.
fn header(mpi: Mpi) -> Result<PathBuf, Failed> {
    let empty = compile::directory(mpi).join("header.c");
    artifact::write_source(&empty, b"#include <mpi.h>\n");
    let output = Command::new(mpi.compiler("c")).arg("-M").arg(&empty).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = text.split_whitespace().find(|word| word.ends_with("/mpi.h"));
    Ok(Path::new(found.ok_or("the compiler wrapper finds no mpi.h")?).to_owned())
}

/// More than glibc keeps spare: `qmpi run` sizes it.
fn initial_exec_tls(mpi: Mpi) -> Verdict {
    let tool = tool(mpi, "ie_tls").display().to_string();
    let outcome = Job::new(mpi, 2, &program(mpi, "ring.c")).stack(&[tool.as_str(); MOST]).run();
    finished(&outcome)?;
    let big = compile::companion(mpi, "big_tls.c").display().to_string();
    let with_big = Job::new(mpi, 2, &program(mpi, "ring.c")).stack(&[big.as_str(); MOST]).run();
    finished(&with_big)?;
    if outcome.count("tool ie_tls: ok calls=9") != MOST || with_big.count("big_tls: ok") != MOST {
        return Err(format!("not {MOST} reports\n{}\n{}", outcome.report(), with_big.report()).into());
    }
    Ok(())
}

/// The program's own files get the numbers that they have without us.
fn descriptors(mpi: Mpi) -> Verdict {
    let order = tool(mpi, "order").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "closes_files.c")).env("ORDER_FILE", "/dev/null");
    let plain = job.run();
    plain.expect(0, &["closes_files: done".to_owned()])?;
    let own = |outcome: &Outcome| outcome.stdout.lines().next().map(str::to_owned);
    for tools in [&[][..], &[order.as_str(), &order]] {
        let stacked = job.clone().env("ORDER_RANK", "none").stack(tools).run();
        stacked.expect(0, &["closes_files: done".to_owned()])?;
        // A thread of newer UCX has a file open for a while when the program begins.
        let is_same = || own(&stacked) == own(&plain) || (0..20).any(|_| own(&job.run()) == own(&stacked));
        if !is_same() {
            let count = tools.len();
            return Err(format!("{count} tools: {:?} instead of {:?}", own(&stacked), own(&plain)).into());
        }
    }
    Ok(())
}

/// The program closes everything between two instances' use of the same library.
fn descriptors_closed(mpi: Mpi) -> Verdict {
    let stack = Stack::new()?;
    let layer = |name, env: &str| (name, compile::companion(mpi, "opens_libm.c"), env.to_owned());
    let layers = [layer("late", ""), layer("early", "env = { OPENS_LIBM = \"early\" }")];
    let outcome = Job::alone(mpi, &program(mpi, "closes_files.c")).config(&stack.write(&layers)?).run();
    outcome.expect(0, &["closes_files: done".to_owned(), "opens_libm: ok".to_owned()])?;
    if outcome.count("opens_libm: ok") == 2 { Ok(()) } else { Err(outcome.report().into()) }
}

/// Two instances of `order` that write to one file; `lines` are further settings of each.
fn traced(mpi: Mpi, ranks: usize, lines: [&str; 2]) -> Result<Vec<String>, Failed> {
    let stack = Stack::new()?;
    let file = stack.file("trace");
    let layer = |name: &'static str, lines: &str| {
        let env = format!("env = {{ ORDER_LABEL = \"{name}\", ORDER_FILE = {file:?}, ORDER_RANK = \"all\" }}");
        (name, tool(mpi, "order"), format!("{env}\n{lines}"))
    };
    let layers = [layer("a", lines[0]), layer("b", lines[1])];
    let outcome = Job::new(mpi, ranks, &program(mpi, "ring.c")).config(&stack.write(&layers)?).run();
    finished(&outcome)?;
    Ok(stack.text("trace").lines().map(str::to_owned).collect())
}

fn count(trace: &[String], line: &str) -> usize {
    trace.iter().filter(|known| *known == line).count()
}

/// "enter LABEL" or "leave LABEL", and how often it must stand in a trace.
fn expect_counts(trace: &[String], expected: &[(&str, usize)]) -> Verdict {
    let wrong = expected.iter().find(|(line, times)| count(trace, line) != *times);
    wrong.map_or(Ok(()), |(line, times)| {
        Err(format!("{line:?}: {} times instead of {times}\n{}", count(trace, line), trace.join("\n")).into())
    })
}

fn functions_of_one_instance(mpi: Mpi) -> Verdict {
    let trace = traced(mpi, 2, ["functions = [\"MPI_Send\", \"MPI_Wtime\"]", ""])?;
    let of_a = trace.iter().filter(|line| line.starts_with("enter a ")).count();
    expect_counts(
        &trace,
        &[
            ("enter a MPI_Send", 6),
            ("enter a MPI_Wtime", 3),
            ("enter b MPI_Send", 6),
            ("enter b MPI_Recv", 6),
            ("leave b MPI_Wtime", 3),
            ("enter b MPI_Finalize", 2),
        ],
    )?;
    if of_a == 9 { Ok(()) } else { Err(format!("{of_a} calls in a\n{}", trace.join("\n")).into()) }
}

fn ranks_of_one_instance(mpi: Mpi) -> Verdict {
    // Rank 0 alone calls MPI_Wtime at the end, and every rank at the start.
    let trace = traced(mpi, 3, ["ranks = \"1-7\"", "ranks = \"0\""])?;
    expect_counts(
        &trace,
        &[
            ("enter a MPI_Finalize", 2),
            ("enter b MPI_Finalize", 1),
            ("enter a MPI_Send", 6),
            ("enter b MPI_Send", 3),
            ("enter a MPI_Wtime", 2),
            ("enter b MPI_Wtime", 2),
        ],
    )
}

fn environment_of_one_instance(mpi: Mpi) -> Verdict {
    let stack = Stack::new()?;
    let layer = |name, env: &str| (name, tool(mpi, "env_reader"), env.to_owned());
    let layers = [
        layer("a", "env = { ENV_READER = \"first\" }"),
        layer("b", "env = { ENV_READER = \"second\" }"),
        layer("c", ""),
        layer("d", "env = { ENV_READER = \"\" }"),
    ];
    let job = Job::new(mpi, 2, &program(mpi, "ring.c")).env("ENV_READER", "process");
    let outcome = job.config(&stack.write(&layers)?).run();
    finished(&outcome)?;
    let reports: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("tool env_reader")).collect();
    let expected: Vec<String> = ["first", "second", "process", ""]
        .iter()
        .map(|value| format!("tool env_reader: ok calls=2 getenv={value} secure_getenv={value}"))
        .collect();
    if reports == expected { Ok(()) } else { Err(format!("not {expected:#?}\n{}", outcome.report()).into()) }
}

/// A layer of tests/programs/pcontrol_trace.c, in the variant that passes the call on in some way or not at all.
fn pcontrol_layer(stack: &Stack, mpi: Mpi, name: &'static str, variant: &str) -> (&'static str, PathBuf, String) {
    let file = format!("pcontrol_trace{variant}.c");
    let env = format!("env = {{ PCONTROL_LABEL = \"{name}\", PCONTROL_FILE = {:?} }}", stack.file("trace"));
    (name, compile::companion(mpi, &file), env)
}

fn pcontrol_trace(mpi: Mpi, stack: &Stack, layers: &[(&str, PathBuf, String)], labels: &str) -> Verdict {
    let outcome = Job::new(mpi, 2, &program(mpi, "pcontrol.c")).config(&stack.write(layers)?).run();
    outcome.expect(0, &["pcontrol: 3 calls".to_owned()])?;
    let expected: String =
        (0..3).flat_map(|level| labels.chars().map(move |label| format!("{label} {level}\n"))).collect();
    let trace = stack.text("trace");
    if trace == expected {
        return Ok(());
    }
    Err(format!("{labels} did not hear of three calls once each, in order\n{trace}\n{}", outcome.report()).into())
}

/// Whether a tool passes the call on or not: each hears of it once, the outermost first.
fn pcontrol_in_order(mpi: Mpi) -> Verdict {
    for (labels, variants) in [
        ("abcd", &["", "_passes", "", "_passes"][..]),
        ("abc", &["_passes", "_passes", ""]),
        ("abc", &["", "", ""]),
        ("abc", &["_next", "", "_next"]),
    ] {
        let stack = Stack::new()?;
        let mut layers: Vec<(&str, PathBuf, String)> = Vec::new();
        for (name, variant) in ["a", "b", "c", "d"].into_iter().zip(variants) {
            layers.push(pcontrol_layer(&stack, mpi, name, variant));
            // Between them one that has nothing to do with it.
            if layers.len() == 3 {
                layers.push(("order", tool(mpi, "order"), "env = { ORDER_FILE = \"/dev/null\" }".to_owned()));
            }
        }
        pcontrol_trace(mpi, &stack, &layers, labels)
            .map_err(|failed| format!("{variants:?}: {}", failed.message().unwrap_or_default()))?;
    }
    Ok(())
}

fn pcontrol_of_other_tools(mpi: Mpi) -> Verdict {
    let tools = ["pcontrol", "order", "pcontrol_passes", "pcontrol"].map(|name| tool(mpi, name).display().to_string());
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let outcome = Job::new(mpi, 2, &program(mpi, "pcontrol.c")).env("ORDER_FILE", "/dev/null").stack(&tools).run();
    let takes = "tool pcontrol: ok calls=3 levels=0,1,2 extra=text,2.5,17";
    let passes = "tool pcontrol_passes: ok calls=3 levels=0,1,2";
    outcome.expect(0, &["pcontrol: 3 calls".to_owned(), takes.to_owned(), passes.to_owned()])?;
    if outcome.count(takes) == 2 && outcome.count("tool ") == 3 { Ok(()) } else { Err(outcome.report().into()) }
}

fn pcontrol_switched_off(mpi: Mpi) -> Verdict {
    let stack = Stack::new()?;
    let layer = |name, variant| pcontrol_layer(&stack, mpi, name, variant);
    let mut layers = [layer("a", ""), layer("b", "_passes"), layer("c", "")];
    layers[1].2.push_str("\npcontrol = false");
    pcontrol_trace(mpi, &stack, &layers, "ac")?;
    std::fs::remove_file(stack.file("trace"))?;
    layers[0].2.push_str("\npcontrol = false");
    pcontrol_trace(mpi, &stack, &layers, "c")
}

/// Fortran wrappers do not pass it on either; between them is a tool without, and one that is not to hear of it.
fn pcontrol_in_fortran(mpi: Mpi) -> Verdict {
    let stack = Stack::new()?;
    let layers = [
        ("a", tool(mpi, "fortran_pcontrol"), String::new()),
        ("b", tool(mpi, "fortran_pcontrol"), "pcontrol = false".to_owned()),
        ("c", tool(mpi, "pcontrol_passes"), String::new()),
        ("d", tool(mpi, "fortran_pcontrol"), String::new()),
    ];
    let outcome = Job::new(mpi, 2, &program(mpi, "fortran_pcontrol.f90")).config(&stack.write(&layers)?).run();
    let hears = "tool fortran_pcontrol: ok calls=3 levels=one,two";
    let deaf = "tool fortran_pcontrol: ok calls=1 levels=";
    let passes = "tool pcontrol_passes: ok calls=2 levels=1,2";
    outcome.expect(0, &["fortran_pcontrol: done", hears, deaf, passes].map(str::to_owned))?;
    let count = |line: &str| outcome.stdout.lines().filter(|said| *said == line).count();
    let right = count(hears) == 2 && count(deaf) == 1 && outcome.count("tool ") == 4;
    if right { Ok(()) } else { Err(outcome.report().into()) }
}
