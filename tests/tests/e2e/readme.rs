//! What README tells newcomers to type, as it is printed there.

use std::fmt::Write;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Mpi, Trial, Verdict, on_each_mpi, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("in_60_seconds", &Mpi::ALL, in_60_seconds)])
}

/// A fenced block: its language, and its lines.
struct Block<'a> {
    language: &'a str,
    lines: Vec<&'a str>,
}

/// The blocks of a section.
fn blocks<'a>(page: &'a str, section: &str) -> Vec<Block<'a>> {
    let lines = page.lines().skip_while(|line| *line != section).skip(1).take_while(|line| !line.starts_with("## "));
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

/// Runs the commands one after the other in one shell, and compares what they print with what stands below them.
fn in_60_seconds(mpi: Mpi) -> Verdict {
    let root = product::root();
    let page = std::fs::read_to_string(root.join("README.md"))?;
    let directory = tempfile::tempdir()?;
    let (mut script, mut expected) = (String::from("set -e\n"), Vec::new());
    // What cargo makes is there; commands of another MPI than the default's have a suffix.
    let release = product::command().with_file_name("");
    writeln!(script, "cargo() {{ mkdir -p target && ln -sfn {release:?} target/release; }}")?;
    let suffix = mpi.name();
    writeln!(script, "mpicc() {{ mpicc.{suffix} \"$@\"; }}\nexport -f mpicc")?;
    let launcher = mpi.launcher(4).join(" ").replace(" -n 4", "");
    writeln!(
        script,
        "mkdir bin && printf '#!/bin/sh\\nexec {launcher} \"$@\"\\n' >bin/mpiexec && chmod +x bin/mpiexec"
    )?;
    writeln!(script, "ln -s {root:?}/tests {root:?}/legacy-tools . && PATH=$PWD/bin:$PATH")?;
    for block in blocks(&page, "## In 60 seconds") {
        if block.language == "toml" {
            let name = block.lines.first().and_then(|line| line.strip_prefix("# ")).ok_or("a file without a name")?;
            std::fs::write(directory.path().join(name), block.lines.join("\n"))?;
            continue;
        }
        for line in &block.lines {
            match line.strip_prefix("$ ") {
                Some(command) => writeln!(script, "{command}")?,
                None => expected.push(without_times(line)),
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
    let report = || -> Failed { format!("{script}\n{text}{}", String::from_utf8_lossy(&output.stderr)).into() };
    let printed: Vec<String> = text.lines().map(without_times).collect();
    let missing = expected.iter().find(|line| !printed.contains(line));
    match missing {
        _ if !output.status.success() => Err(report()),
        Some(line) => Err(format!("not printed: {line}\n{}", report().message().unwrap_or("")).into()),
        None if expected.len() < 10 => Err("README shows no output any more".into()),
        None => Ok(()),
    }
}
