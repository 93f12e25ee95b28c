//! `libqmpi_bridge.so`: PMPI tools as tools of an MPI that has QMPI itself. `libqmpi.so` stands for such an MPI: it is given
//! nothing but a list of names, and the plugin has a configuration that `libqmpi.so` never reads.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_abi::FnId;
use qmpi_abi::numbering::Numbering;
use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, artifact, compile, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("two_reports", &Mpi::ALL, two_reports),
        ("fifteen", &Mpi::ALL, fifteen),
        ("beside_bridged_tools", &Mpi::ALL, beside_bridged_tools),
        ("callers", &Mpi::ALL, callers),
        ("threads", &Mpi::ALL, threads),
        ("pcontrol", &Mpi::ALL, pcontrol),
        ("settings", &Mpi::ALL, settings),
        ("own_calls_and_several_files", &Mpi::ALL, own_calls_and_several_files),
        ("numbering_of_a_header", &[Mpi::Mpich], numbering_of_a_header),
        ("numbering_of_few", &Mpi::ALL, numbering_of_few),
        ("bad_numbering", &Mpi::ALL, bad_numbering),
        ("bad_configuration", &Mpi::ALL, bad_configuration),
        ("filter", &Mpi::ALL, filter),
        ("bad_tool", &Mpi::ALL, bad_tool),
        ("not_in_the_list", &Mpi::ALL, not_in_the_list),
        ("uses_public_functions_only", &[Mpi::OpenMpi], uses_public_functions_only),
    ])
}

/// A configuration of the plugin's.
struct Config {
    directory: tempfile::TempDir,
}

impl Config {
    /// For each tool its name, its file and further lines.
    fn new(tools: &[(&str, &Path, &str)]) -> Result<Config, Failed> {
        let mut text = String::new();
        for (name, path, lines) in tools {
            writeln!(text, "[tool.{name}]\npath = {path:?}\n{lines}")?;
        }
        Config::of(&text)
    }

    fn of(text: &str) -> Result<Config, Failed> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("bridge.toml"), text)?;
        Ok(Config { directory })
    }

    /// Two counters with settings of their own, and what makes broadcasts out of sends and receives.
    fn counters(mpi: Mpi) -> Result<Config, Failed> {
        let (counter, tbcast) = (tool(mpi, "counter"), tool(mpi, "tbcast"));
        let [outer, inner] = ["outer", "inner"].map(|name| format!("env = {{ COUNTER = \"label={name}\" }}"));
        Config::new(&[("outer", &counter, &outer), ("tb", &tbcast, ""), ("inner", &counter, &inner)])
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The MPI with QMPI, the plugin, the program.
    fn job(&self, mpi: Mpi, ranks: usize, file: &str, list: &str) -> Job {
        let job = Job::new(mpi, ranks, &program(mpi, file)).preload(&product::runtime()).preload(&product::plugin());
        job.env("QMPI_BRIDGE_CONFIG", self.file("bridge.toml").display().to_string()).env("QMPI_TOOL_LIST", list)
    }
}

/// A native tool in the list.
fn native(mpi: Mpi, name: &str) -> String {
    format!("{name}={}", tool(mpi, "qmpi_counter").display())
}

fn finished(outcome: &Outcome) -> Verdict {
    outcome.expect(0, &["done".to_owned()])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

/// Broadcasts above, sends and receives below; the native tool between them sees what is above.
fn expect_two_reports(outcome: &Outcome) -> Verdict {
    finished(outcome)?;
    let tables = Tables::of(outcome);
    let sum = 4 * 24 * 3 * 8;
    let outer = tables.get("outer")?.clone();
    for (function, row) in
        [("MPI_Init", (4, 0)), ("MPI_Bcast", (4, 16)), ("MPI_Send", (12, 48)), ("MPI_Reduce", (8, 32))]
    {
        if outer.get(function) != Some(&row) {
            return Err(format!("outer: {function} is not {row:?}\n{}", outcome.report()).into());
        }
    }
    let mut expected = outer;
    expected.insert("MPI_Reduce".into(), (12, 32 + sum));
    tables.expect("counter", &expected)?;
    expected.remove("MPI_Bcast");
    expected.insert("MPI_Reduce".into(), (16, 32 + 2 * sum));
    expected.insert("MPI_Send".into(), (15, 60));
    expected.insert("MPI_Recv".into(), (15, 60));
    Ok(tables.expect("inner", &expected)?)
}

fn two_reports(mpi: Mpi) -> Verdict {
    let config = Config::counters(mpi)?;
    let list = format!("outer,{},tb,inner", native(mpi, "counter"));
    expect_two_reports(&config.job(mpi, 4, "ring.c", &list).run())?;
    // Where nothing else reads QMPI_CONFIG, that is enough: libqmpi.so would take the sections for its own.
    let order = config.job(mpi, 4, "ring.c", &list).env("QMPI_CONFIG", "").run();
    expect_two_reports(&order)
}

/// Settings of what is loaded with a tool, and of where its own calls go.
fn own_calls_and_several_files(mpi: Mpi) -> Verdict {
    let (counter, files) = (tool(mpi, "counter"), tool(mpi, "several_files"));
    let [outer, inner] =
        ["outer", "inner"].map(|name| format!("own_calls = \"hidden\"\nenv = {{ COUNTER = \"label={name}\" }}"));
    let with = "own_calls = \"hidden\"\nwith = [\"several_files_a.so\", \"several_files_b.so\"]";
    let config = Config::new(&[("outer", &counter, &outer), ("files", &files, with), ("inner", &counter, &inner)])?;
    let outcome = config.job(mpi, 4, "ring.c", "outer,files,inner").run();
    finished(&outcome)?;
    if !outcome.stdout.contains("send=abtabtabt recv=bbb barrier=aa ") {
        return Err(format!("not what it prints preloaded\n{}", outcome.report()).into());
    }
    let tables = Tables::of(&outcome);
    tables.expect_calls("outer", "MPI_Reduce", 8)?;
    // The tool between calls MPI_Barrier by its own wrapper at the end, which no layer is called through.
    tables.expect("inner", tables.get("outer")?)?;
    Ok(())
}

/// As many as there are namespaces.
fn fifteen(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    let names: Vec<String> = (0..15).map(|number| format!("c{number}")).collect();
    let lines: Vec<String> = names.iter().map(|name| format!("env = {{ COUNTER = \"label={name}\" }}")).collect();
    let tools: Vec<(&str, &Path, &str)> =
        names.iter().zip(&lines).map(|(name, lines)| (name.as_str(), counter.as_path(), lines.as_str())).collect();
    let outcome = Config::new(&tools)?.job(mpi, 2, "ring.c", &names.join(",")).run();
    finished(&outcome)?;
    let tables = Tables::of(&outcome);
    for (number, name) in (0..).zip(&names) {
        tables.expect_calls(name, "MPI_Send", 6)?;
        tables.expect_calls(name, "MPI_Reduce", 4 + 2 * number)?;
    }
    Ok(())
}

/// Tools that libqmpi.so bridges itself, above and below those of the plugin.
fn beside_bridged_tools(mpi: Mpi) -> Verdict {
    let config = Config::counters(mpi)?;
    let bridged = tool(mpi, "counter").display().to_string();
    let list = format!("first={bridged},outer,tb,inner,last={bridged}");
    let outcome = config.job(mpi, 4, "ring.c", &list).env("COUNTER", "label=bridged").run();
    finished(&outcome)?;
    let tables = Tables::of(&outcome);
    for (label, function, calls) in [
        ("outer", "MPI_Bcast", 4),
        ("outer", "MPI_Reduce", 12),
        ("inner", "MPI_Bcast", 0),
        ("inner", "MPI_Reduce", 16),
        // The one that prints last is the innermost.
        ("bridged", "MPI_Bcast", 0),
        ("bridged", "MPI_Send", 15),
        ("bridged", "MPI_Reduce", 20),
    ] {
        tables.expect_calls(label, function, calls)?;
    }
    if outcome.count("bridged: MPI calls") == 2 { Ok(()) } else { Err(outcome.report().into()) }
}

/// Native tools below the plugin's are told where the program called, not where a PMPI tool did.
fn callers(mpi: Mpi) -> Verdict {
    let config = Config::counters(mpi)?;
    let foo_bar = compile::companion(mpi, "qmpi_foo_bar.c");
    let list = format!("outer,foo={0},inner,bar={0}", foo_bar.display());
    let outcome = config.job(mpi, 2, "ring.c", &list).run();
    finished(&outcome)?;
    for (name, id) in [("foo", 2), ("bar", 4)] {
        let lines = outcome.stdout.lines().filter(|line| line.starts_with(&format!("{name} {id} of 2, rank ")));
        if lines.filter(|line| line.ends_with(", callers ok")).count() != 2 {
            return Err(format!("{name}\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Links are found at their first call: here by eight threads at once.
fn threads(mpi: Mpi) -> Verdict {
    let config = Config::counters(mpi)?;
    for _ in 0..3 {
        let list = format!("outer,{},inner", native(mpi, "counter"));
        let outcome = config.job(mpi, 2, "threads.c", &list).args(&["neighbour".to_owned()]).run();
        outcome.expect(0, &[])?;
        let tables = Tables::of(&outcome);
        for label in ["outer", "counter", "inner"] {
            for function in ["MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Send"] {
                let calls = tables.get("outer")?.get(function).map_or(0, |(calls, _)| *calls);
                tables.expect_calls(label, function, calls)?;
            }
        }
        tables.expect_calls("outer", "MPI_Send", 1600)?;
    }
    Ok(())
}

/// Each tool hears of each call once, whether those above pass it on or not.
fn pcontrol(mpi: Mpi) -> Verdict {
    let (takes, passes) = (tool(mpi, "pcontrol"), tool(mpi, "pcontrol_passes"));
    let tools: [(&str, &Path, &str); 5] = [
        ("first", &takes, ""),
        ("second", &takes, ""),
        ("passes", &passes, ""),
        ("last", &takes, ""),
        ("deaf", &takes, "pcontrol = false"),
    ];
    let config = Config::new(&tools)?;
    let outcome = config.job(mpi, 2, "pcontrol.c", "first,second,passes,last").run();
    outcome.expect(0, &["pcontrol: 3 calls".to_owned()])?;
    let whole = outcome.count("tool pcontrol: ok calls=3 levels=0,1,2 extra=text,2.5,17");
    // What the one that passes the level on does not pass, those below may or may not find in the registers.
    let (all, passes) = (outcome.count("tool pcontrol: ok calls=3"), outcome.count("tool pcontrol_passes: ok calls=3"));
    if whole < 2 || all != 3 || passes != 1 {
        return Err(outcome.report().into());
    }
    let outcome = config.job(mpi, 2, "pcontrol.c", "first,deaf,last").run();
    outcome.expect(0, &["pcontrol: 3 calls".to_owned()])?;
    if outcome.count("tool pcontrol: ok calls=3") == 2 { Ok(()) } else { Err(outcome.report().into()) }
}

/// The functions that a tool may intercept.
fn settings(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    let lines = "functions = [\"MPI_Init\", \"MPI_Bcast\", \"MPI_Finalize\"]\nenv = { COUNTER = \"label=few\" }";
    let config = Config::new(&[("few", &counter, lines)])?;
    let outcome = config.job(mpi, 4, "ring.c", "few").run();
    finished(&outcome)?;
    let rows = [("MPI_Init", 4, 0), ("MPI_Bcast", 4, 16), ("MPI_Finalize", 4, 0)];
    Ok(Tables::of(&outcome).expect_all("few", &rows)?)
}

/// A layer cannot be led past here, which is said.
fn filter(mpi: Mpi) -> Verdict {
    let lines = "functions = [\"MPI_Init\", \"MPI_Bcast\", \"MPI_Finalize\"]\nfilter = { every = 2 }";
    let config = Config::new(&[("all", &tool(mpi, "counter"), lines)])?;
    let outcome = config.job(mpi, 4, "ring.c", "all").run();
    outcome.expect(0, &["done".to_owned()])?;
    if !outcome.stderr.contains("all: `filter` has no effect in libqmpi_bridge.so: the layer sees all calls") {
        return Err(outcome.report().into());
    }
    Ok(Tables::of(&outcome)
        .expect_all("counter", &[("MPI_Init", 4, 0), ("MPI_Bcast", 4, 16), ("MPI_Finalize", 4, 0)])?)
}

/// As for a release of MPICH that the plugin does not know.
fn numbering_of_a_header(mpi: Mpi) -> Verdict {
    let config = Config::counters(mpi)?;
    let file = config.file("numbering.txt");
    let output = Command::new(product::generator())
        .args(["numbering", "--header"])
        .arg(header(mpi)?)
        .arg("--output")
        .arg(&file)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let list = format!("outer,{},tb,inner", native(mpi, "counter"));
    let job = config.job(mpi, 4, "ring.c", &list);
    expect_two_reports(&job.env("QMPI_BRIDGE_NUMBERING", file.display().to_string()).run())
}

/// The directory with the MPI's mpi.h.
fn header(mpi: Mpi) -> Result<PathBuf, Failed> {
    let empty = compile::directory(mpi).join("plugin_header.c");
    artifact::write_source(&empty, b"#include <mpi.h>\n");
    let output = Command::new(mpi.compiler("c")).arg("-M").arg(&empty).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = text.split_whitespace().find(|word| word.ends_with("/mpi.h"));
    let found = Path::new(found.ok_or("the compiler wrapper finds no mpi.h")?);
    Ok(found.parent().ok_or("mpi.h is nowhere")?.to_owned())
}

/// What has no number cannot be intercepted, and goes past the tool; the file is believed, not the library's version.
fn numbering_of_few(mpi: Mpi) -> Verdict {
    let numbering =
        if mpi == Mpi::Mpich { Numbering::for_mpich("4.0.2").ok_or("no numbering")? } else { Numbering::OWN };
    let mut text = String::new();
    for name in ["MPI_Init", "MPI_Send", "MPI_Finalize"] {
        let number = FnId::by_name(name).and_then(|id| numbering.value(id)).ok_or("no number")?;
        writeln!(text, "{number}\t{}_T", name.to_uppercase())?;
    }
    let config = Config::counters(mpi)?;
    let file = config.file("numbering.txt");
    std::fs::write(&file, text)?;
    let job = config.job(mpi, 4, "ring.c", "outer,inner").env("QMPI_BRIDGE_NUMBERING", file.display().to_string());
    let outcome = job.run();
    finished(&outcome)?;
    let tables = Tables::of(&outcome);
    let rows = [("MPI_Init", 4, 0), ("MPI_Send", 12, 48), ("MPI_Finalize", 4, 0)];
    tables.expect_all("outer", &rows)?;
    Ok(tables.expect_all("inner", &rows)?)
}

/// One line with the reason, one with the hint, and the job has ended.
fn refused(outcome: &Outcome, reason: &str, hint: &str) -> Verdict {
    let said = outcome.said();
    let lines = |prefix: &str, text: &str| {
        let lines = said.iter().filter(|line| line.starts_with(prefix));
        (lines.clone().count(), lines.filter(|line| line.contains(text)).count())
    };
    let is_refused = outcome.status != 0 && outcome.count("done") == 0;
    if is_refused
        && lines("qmpi: error: ", reason) == (1, 1)
        && lines("qmpi: hint: ", hint) == (1, 1)
        && said.len() == 2
    {
        Ok(())
    } else {
        Err(format!("not refused with {reason:?} and {hint:?}\n{}", outcome.report()).into())
    }
}

fn bad_numbering(mpi: Mpi) -> Verdict {
    let config = Config::counters(mpi)?;
    let job = config.job(mpi, 1, "ring.c", "outer").env("QMPI_BRIDGE_NUMBERING", "/nowhere/numbering.txt");
    refused(&job.run(), "/nowhere/numbering.txt: No such file", "shim-gen numbering")
}

fn bad_configuration(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    for (text, reason, hint) in [
        (
            format!("[tool.outer]\npth = {counter:?}\n"),
            "bridge.toml:2: unknown key `tool.outer.pth`",
            "did you mean `path`?",
        ),
        ("[tool.outer]\npath = 3\n".to_owned(), "bridge.toml:2: `tool.outer.path` must be", "write a string"),
        ("[tool.outer\n".to_owned(), "bridge.toml:1: ", "the file is TOML"),
        ("[tool.outer]\npath = \"absent.so\"\n".to_owned(), "absent.so does not exist", "give the path"),
        ("[tool.nothing_has_this_name]\n".to_owned(), "no tool `nothing_has_this_name` found", ""),
        (
            format!("[tool.outer]\npath = {counter:?}\nfunctions = [\"MPI_Sned\"]\n"),
            "`MPI_Sned` is no MPI function",
            "MPI_Send",
        ),
    ] {
        refused(&Config::of(&text)?.job(mpi, 1, "ring.c", "outer").run(), reason, hint)?;
    }
    let config = Config::of("")?;
    let job = config.job(mpi, 1, "ring.c", "outer").env("QMPI_BRIDGE_CONFIG", "/nowhere/bridge.toml");
    refused(&job.run(), "cannot read the configuration file /nowhere/bridge.toml", "hint: ")
}

/// A native tool, and a tool of the other MPI.
fn bad_tool(mpi: Mpi) -> Verdict {
    let native = tool(mpi, "qmpi_counter");
    let config = Config::new(&[("outer", &native, "")])?;
    refused(&config.job(mpi, 1, "ring.c", "outer").run(), "it is not a PMPI tool", "qmpi inspect")?;
    let other = if mpi == Mpi::Mpich { Mpi::OpenMpi } else { Mpi::Mpich };
    let config = Config::new(&[("outer", &tool(other, "counter"), "")])?;
    refused(&config.job(mpi, 1, "ring.c", "outer").run(), "is built for", "hint: ")
}

/// A section that is not asked for is registered, and not loaded.
fn not_in_the_list(mpi: Mpi) -> Verdict {
    let config = Config::counters(mpi)?;
    let outcome = config.job(mpi, 2, "ring.c", "tb").run();
    finished(&outcome)?;
    let empty = config.job(mpi, 2, "ring.c", "").run();
    finished(&empty)?;
    if outcome.count("outer:") + empty.count("outer:") == 0 { Ok(()) } else { Err(outcome.report().into()) }
}

/// Of the MPI library, whichever it is, nothing but public functions of QMPI; all else is glibc's.
fn uses_public_functions_only(_: Mpi) -> Verdict {
    let output = Command::new("nm").args(["-D", "--undefined-only"]).arg(product::plugin()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let is_of_system = |name: &str| ["@GLIBC_", "@GCC_"].iter().any(|version| name.contains(version));
    let is_weak = |name: &str| text.lines().any(|line| line.trim_start() == format!("w {name}"));
    // Those of QMPI are weak: in most processes that the library is preloaded into nothing has them.
    let strong: Vec<&&str> = names.iter().filter(|name| !is_of_system(name) && !is_weak(name)).collect();
    if !strong.is_empty() {
        return Err(format!("it needs {strong:?}").into());
    }
    let others: BTreeSet<&str> = names.iter().copied().filter(|name| name.contains("MPI")).collect();
    let public: BTreeSet<&str> =
        ["QMPI_Get_function", "QMPI_Register_function", "QMPI_Register_tool_name", "QMPI_Register_tool_storage"].into();
    if others != public {
        return Err(format!("it uses {others:?}").into());
    }
    // Nor is it linked with an MPI.
    let output = Command::new("objdump").arg("-p").arg(product::plugin()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().find(|line| line.contains("NEEDED") && line.to_lowercase().contains("mpi")) {
        Some(line) => Err(line.to_owned().into()),
        None => Ok(()),
    }
}
