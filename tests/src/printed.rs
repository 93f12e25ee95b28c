//! Commands and outputs that a page of the documentation prints: typed one after the other in one shell, they have to print that.
//!
//! ````text
//! ```toml            a file, whose name is in the first line
//! # demo.toml
//! ```
//!
//! ```                commands, each followed by lines of its output
//! $ qmpi run ...
//! demo: 3 broadcasts
//! ```
//! ````

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

use crate::{Mpi, Verdict, product};

/// A fenced block: its language, and its lines.
struct Block<'a> {
    language: &'a str,
    lines: Vec<&'a str>,
}

/// The blocks in these lines.
fn blocks<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Block<'a>> {
    let (mut blocks, mut is_open) = (Vec::<Block<'_>>::new(), false);
    for line in lines {
        match line.strip_prefix("```") {
            Some(language) => {
                if !is_open {
                    blocks.push(Block { language, lines: Vec::new() });
                }
                is_open = !is_open;
            }
            None if is_open => blocks.iter_mut().last().into_iter().for_each(|block| block.lines.push(line)),
            None => {}
        }
    }
    blocks
}

/// A line without the times in it.
fn without_times(line: &str) -> String {
    let is_time = |word: &&str| word.parse::<f64>().is_ok() && word.contains('.');
    line.split_whitespace().filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ")
}

/// Puts before the commands of a page what they take for granted: `qmpi`, `mpicc` and `mpiexec` of this MPI on PATH.
fn machine(mpi: Mpi) -> Result<String, Failed> {
    let mut script = String::from("set -e\n");
    // What cargo makes is there; commands of another MPI than the default's have a suffix.
    let release = product::command().with_file_name("");
    writeln!(script, "cargo() {{ mkdir -p target && ln -sfn {release:?} target/release; }}")?;
    let suffix = mpi.name();
    writeln!(script, "mpicc() {{ mpicc.{suffix} \"$@\"; }}\nexport -f mpicc")?;
    let launcher = mpi.launcher(4).join(" ").replace(" -n 4", "");
    writeln!(
        script,
        "mkdir bin && printf '#!/bin/sh\\nexec {launcher} \"$@\"\\n' >bin/mpiexec && chmod +x bin/mpiexec\nPATH=$PWD/bin:$PATH"
    )?;
    Ok(script)
}

/// Runs the commands in these lines of a page, in an empty directory in which `prepare` has run, and compares what each prints with what
/// stands below it: these lines have to come, in any order, as ranks print at the same time, and others may come as well.
///
/// # Errors
/// The first line that does not come, with all commands and their output.
pub fn run<'a>(mpi: Mpi, lines: impl Iterator<Item = &'a str>, prepare: &str) -> Verdict {
    /// What nobody prints: it separates the output of commands.
    const MARK: &str = "=== printed ===";
    let directory = tempfile::tempdir()?;
    let mut script = machine(mpi)?;
    writeln!(script, "{prepare}")?;
    let mut expected: Vec<Vec<String>> = Vec::new();
    for block in blocks(lines) {
        if block.language == "toml" {
            let name = block.lines.first().and_then(|line| line.strip_prefix("# ")).ok_or("a file without a name")?;
            write_file(&directory.path().join(name), &block.lines)?;
            continue;
        }
        for line in &block.lines {
            if let Some(command) = line.strip_prefix("$ ") {
                writeln!(script, "echo '{MARK}'\n{command}")?;
                expected.push(Vec::new());
            } else {
                expected.last_mut().ok_or("output before any command")?.push(without_times(line));
            }
        }
    }
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(directory.path())
        .envs(mpi.variables())
        .env_remove("QMPI_LOG")
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let report = || format!("{script}\n{text}{}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(report().into());
    }
    let printed: Vec<&str> = text.split(&format!("{MARK}\n")).skip(1).collect();
    if printed.len() != expected.len() || expected.iter().map(Vec::len).sum::<usize>() < 10 {
        return Err(format!("the page shows no output any more\n{}", report()).into());
    }
    for (printed, expected) in printed.iter().zip(&expected) {
        let mut printed: Vec<String> = printed.lines().map(without_times).collect();
        for line in expected {
            match printed.iter().position(|printed| printed == line) {
                Some(place) => _ = printed.swap_remove(place),
                None => return Err(format!("not printed: {line}\n{}", report()).into()),
            }
        }
    }
    Ok(())
}

fn write_file(path: &Path, lines: &[&str]) -> std::io::Result<()> {
    std::fs::write(path, lines.join("\n"))
}
