//! `qmpi bisect`: which layers it takes.

use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Mpi, Trial, Verdict, compile, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("layers", &Mpi::ALL, layers),
        ("now_and_then", &[Mpi::Mpich], now_and_then),
        ("nothing_to_search", &[Mpi::Mpich], nothing_to_search),
    ])
}

/// What it says of a program under these layers.
fn bisect(mpi: Mpi, options: &[&str], tools: &[String], command: &[String]) -> Result<(i32, String), Failed> {
    let mut line = Command::new(product::command());
    line.arg("bisect").args(options).envs(mpi.variables());
    // A process on its own needs no daemon of Open MPI's beside it.
    line.env("OMPI_MCA_ess_singleton_isolated", "1").env_remove("QMPI_LOG");
    for tool in tools {
        line.arg("-t").arg(tool);
    }
    let output = line.arg("--").args(command).output()?;
    let text = [&output.stdout[..], &output.stderr].concat();
    Ok((output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned()))
}

/// Layers that change nothing among as many as are named of those that add to the size.
fn layers(mpi: Mpi) -> Verdict {
    let (adds, counter) = (compile::companion(mpi, "adds_to_size.c"), tool(mpi, "counter"));
    let adds = |name: &str| format!("{name}={}", adds.display());
    let nothing = |name: &str| format!("{name}={}", counter.display());
    let command = vec![program(mpi, "fails_by_size.c").display().to_string()];
    for (tools, status, verdict) in [
        (
            vec![nothing("a"), nothing("b"), adds("one")],
            3,
            "The stack makes no difference: status 0 with it and without it.",
        ),
        (
            vec![nothing("a"), adds("one"), nothing("b"), nothing("c"), adds("two"), nothing("d")],
            0,
            "Layers `one`, `two` together, none of them left out: status 3, where without them status 0.\n  | fails_by_size: 2 layers",
        ),
        // Two of them are enough.
        (vec![adds("one"), adds("two"), adds("three"), nothing("a")], 0, "Layers `one`, `two` together"),
        (vec![adds("one"), adds("two"), adds("three"), adds("four"), nothing("a")], 0, "Layers `one`, `two` together"),
    ] {
        let (ended, text) = bisect(mpi, &["--timeout", "20"], &tools, &command)?;
        if ended != status || !text.contains(verdict) {
            return Err(format!("status {ended}, wanted: {verdict}\n{text}").into());
        }
        if tools.len() == 5 && !text.contains("no end") {
            return Err(format!("the whole stack does not end\n{text}").into());
        }
    }
    // A program that fails by itself is none of the stack's faults.
    let (ended, text) = bisect(mpi, &[], &[nothing("a")], &["false".to_owned()])?;
    if ended != 3 || !text.contains("no difference: status 1") {
        return Err(format!("status {ended}\n{text}").into());
    }
    Ok(())
}

/// One layer of three, which fails in its third run only.
fn now_and_then(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("command");
    // Counts runs in which the list has this tool.
    let text = "#!/bin/sh\ncase $QMPI_TOOL_LIST in *adds*) ;; *) exit 0 ;; esac\n\
                echo x >>runs; [ $(wc -l <runs) -lt 3 ] || exit 7\n";
    std::fs::write(&script, text.replace("runs", &directory.path().join("runs").display().to_string()))?;
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let counter = tool(mpi, "counter").display().to_string();
    let tools = [format!("a={counter}"), format!("adds={counter}"), format!("b={counter}")];
    let (ended, text) = bisect(mpi, &["--runs", "3"], &tools, &[script.display().to_string()])?;
    if ended == 0 && text.contains("Layer `adds` alone: status 7, where without it status 0.") {
        return Ok(());
    }
    Err(format!("status {ended}\n{text}").into())
}

fn nothing_to_search(mpi: Mpi) -> Verdict {
    let (ended, text) = bisect(mpi, &[], &[], &["true".to_owned()])?;
    if ended == 2 && text.contains("there are no layers to search") {
        Ok(())
    } else {
        Err(format!("status {ended}\n{text}").into())
    }
}
