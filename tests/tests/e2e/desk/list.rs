//! `qmpi list` with tools of all kinds: those that register themselves are loaded and asked, and cannot do any harm.

use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::wheel::run;
use qmpi_tests::{Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("edges_through_all_kinds", &Mpi::ALL, edges_through_all_kinds),
        ("settings", &Mpi::ALL, settings),
        ("fortran_wrappers_only", &Mpi::ALL, fortran_wrappers_only),
        ("names_without_a_file", &Mpi::ALL, names_without_a_file),
        ("without_loading", &Mpi::ALL, without_loading),
        ("tools_that_misbehave", &[Mpi::Mpich], tools_that_misbehave),
    ])
}

fn list(tools: &[String], more: &[&str]) -> Outcome {
    let mut words = vec![product::command().display().to_string(), "list".into()];
    words.extend(tools.iter().flat_map(|tool| ["-t".to_owned(), tool.clone()]));
    words.extend(more.iter().map(|&word| word.to_owned()));
    run(&words, &[])
}

fn companion(mpi: Mpi, name: &str, file: &str) -> String {
    format!("{name}={}", compile::companion(mpi, file).display())
}

/// Prints each of these lines, and is silent otherwise.
fn shows(outcome: &Outcome, lines: &[&str]) -> Verdict {
    outcome.expect(0, &lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>())?;
    if outcome.stderr.is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

fn edges_through_all_kinds(mpi: Mpi) -> Verdict {
    let counter = companion(mpi, "pmpi", "count_pmpi.c");
    let tools = [
        counter.clone(),
        companion(mpi, "foo", "qmpi_foo_bar.c"),
        companion(mpi, "thesis", "count_thesis.c"),
        companion(mpi, "bar", "qmpi_foo_bar.c"),
        counter,
    ];
    shows(
        &list(&tools, &[]),
        &[
            "  by pmpi, foo, thesis, bar, pmpi#2: 4 functions",
            "      MPI_Finalize, MPI_Irecv, MPI_Send, MPI_Wait",
            "  by foo, thesis, bar: 1 function",
            "  application -> pmpi: 4 functions: MPI_Finalize, MPI_Irecv, MPI_Send, MPI_Wait",
            "  pmpi -> foo: 4 functions: MPI_Finalize, MPI_Irecv, MPI_Send, MPI_Wait",
            "  foo -> thesis: 5 functions: MPI_Finalize, MPI_Init_thread, MPI_Irecv, MPI_Send, ... (1 more)",
            "  foo -> MPI library: 2 functions: MPI_Barrier, MPI_Comm_rank",
            "  thesis -> bar: 5 functions: MPI_Finalize, MPI_Init_thread, MPI_Irecv, MPI_Send, ... (1 more)",
            "  bar -> pmpi#2: 4 functions: MPI_Finalize, MPI_Irecv, MPI_Send, MPI_Wait",
        ],
    )
}

/// `functions` and a name for an instance, in the file; and what is printed for scripts.
fn settings(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("qmpi.toml");
    let library = compile::companion(mpi, "qmpi_foo_bar.c");
    let text = format!(
        "stack = [\"foo\", \"foo\"]\n[tool.foo]\npath = {library:?}\nfunctions = [\"MPI_Send\", \"MPI_Recv\"]\n"
    );
    std::fs::write(&file, text)?;
    let config = file.display().to_string();
    shows(
        &list(&[], &["-c", &config]),
        &["  application -> foo: 1 function: MPI_Send", "  foo -> foo#2: 1 function: MPI_Send"],
    )?;
    let outcome = list(&[], &["-c", &config, "--json"]);
    // Layers are numbered as tools know them.
    let lines = ["\"tool_id\": 1,", "\"tool_id\": 2,", "\"intercepts_unknown\": null,", "\"language\": \"C\","];
    shows(&outcome, &lines.map(|line| format!("      {line}")).each_ref().map(String::as_str))
}

/// They get calls of Fortran, as long as no layer above has a C wrapper.
fn fortran_wrappers_only(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let only = library(
        directory.path().join("fortran_only.so"),
        "void pmpi_send_(void); void pmpi_recv_(void); void mpi_send_(void) { pmpi_send_(); } \
         void mpi_recv_(void) { pmpi_recv_(); }",
    )?;
    let (only, counter) = (format!("only={only}"), companion(mpi, "pmpi", "count_pmpi.c"));
    shows(
        &list(&[only.clone(), counter.clone()], &[]),
        &[
            "intercepted in Fortran",
            "  by only: 2 functions",
            "  application -> only: 2 functions in Fortran: MPI_Recv, MPI_Send",
            "  only -> pmpi: 1 function in Fortran: MPI_Send",
            "  only -> MPI library: 1 function in Fortran: MPI_Recv",
        ],
    )?;
    shows(
        &list(&[counter, only], &[]),
        &[
            "  application -> pmpi: 1 function in Fortran: MPI_Send",
            "  application -> only: 1 function in Fortran: MPI_Recv",
        ],
    )
}

/// A name without a file: another tool's library has it, or no tool of the list.
fn names_without_a_file(mpi: Mpi) -> Verdict {
    let library = companion(mpi, "foo", "qmpi_foo_bar.c");
    let outcome = list(&["bar".to_owned(), library.clone()], &[]);
    shows(&outcome, &["   1  bar  QMPI    (registered by name)"])?;
    // All that the one intercepts the other one does.
    if outcome.count("  bar -> foo: ") != 1 || outcome.count("  by bar, foo: ") != 1 || outcome.count("  by ") != 1 {
        return Err(format!("not the same functions\n{}", outcome.report()).into());
    }
    let outcome = list(&["ghost".to_owned(), library], &[]);
    shows(
        &outcome,
        &["      intercepts what it registers when it runs; edges do not show it: \
                       no tool of the list registers the name; the program may"],
    )
}

fn without_loading(mpi: Mpi) -> Verdict {
    let tools = [companion(mpi, "pmpi", "count_pmpi.c"), companion(mpi, "foo", "qmpi_foo_bar.c")];
    let outcome = list(&tools, &["--no-load"]);
    shows(&outcome, &["      intercepts what it registers when it runs; edges do not show it: it is not loaded"])?;
    if outcome.stdout.contains("-> foo") { Err(format!("edges\n{}", outcome.report()).into()) } else { Ok(()) }
}

fn library(output: PathBuf, source: &str) -> Result<String, Failed> {
    let file = output.with_extension("c");
    std::fs::write(&file, source)?;
    let result = Command::new("cc").args(["-shared", "-fPIC", "-w"]).arg(&file).arg("-o").arg(&output).output()?;
    if result.status.success() {
        return Ok(output.display().to_string());
    }
    Err(format!("{}: {}", output.display(), String::from_utf8_lossy(&result.stderr)).into())
}

/// One prints and starts a process, one crashes when it is initialized, one does not load, one never comes back. What is known
/// without them is shown.
fn tools_that_misbehave(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let tool = |name: &str, init: &str, constructor: &str| -> Result<String, Failed> {
        let source = format!(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n
             int QMPI_Register_tool_name(const char *, void (*)(int)); extern int nothing;
             static void init(int id) {{ {init} }}
             __attribute__((constructor)) static void begin(void)
             {{ {constructor}; QMPI_Register_tool_name(\"{name}\", init); }}"
        );
        Ok(format!("{name}={}", library(directory.path().join(format!("{name}.so")), &source)?))
    };
    let sound = companion(mpi, "foo", "qmpi_foo_bar.c");
    let noisy = tool("noisy", "", "puts(\"qmpi-survey\"); printf(\"no end\"); fflush(0); system(\"echo hello\")")?;
    let crashes = tool("crashes", "*(int *)8 = 1;", "")?;
    let lacking = tool("lacking", "nothing = 1;", "")?;
    let hangs = tool("hangs", "for (;;) pause();", "")?;
    let unknown = "      intercepts what it registers when it runs; edges do not show it: ";
    let of_foo =
        "  application -> foo: 10 functions: MPI_Barrier, MPI_Finalize, MPI_Init, MPI_Init_thread, ... (6 more)";
    let outcome = list(&[noisy, sound.clone(), lacking, crashes], &[]);
    outcome.expect(0, &[of_foo.to_owned()])?;
    let reasons =
        ["lacking.so: undefined symbol: nothing", "loading the tools ended the process (signal: 11 (SIGSEGV)"];
    let is_said = |reason: &&str| {
        outcome.stdout.lines().filter(|line| line.starts_with(unknown) && line.contains(reason)).count() == 1
    };
    if !reasons.iter().all(is_said) || outcome.stdout.contains("hello") {
        return Err(format!("not why tools are not known, or what a tool printed\n{}", outcome.report()).into());
    }
    let outcome = list(&[sound, hangs], &[]);
    shows(&outcome, &[of_foo, &format!("{unknown}loading the tools takes more than 10 seconds")])
}
