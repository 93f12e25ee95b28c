//! The commands that the documentation shows: each is one that `qmpi` understands.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};
use qmpi_cli::Cli;

/// README and all pages of docs/.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    let mut directories = vec![root.join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The lines of fenced blocks that are commands of a shell: those with a prompt, or all of a block without one. Lines that end in `\` go on.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut block: Option<Vec<String>> = None;
    for line in page.lines() {
        match (&mut block, line.trim_start().strip_prefix("```")) {
            (None, Some("" | "sh" | "bash" | "console")) => block = Some(Vec::new()),
            (None, Some(_)) => block = Some(vec![String::new()]),
            (None, None) => {}
            (Some(lines), None) => lines.push(line.to_owned()),
            (Some(lines), Some(_)) => {
                let text = lines.join("\n").replace("\\\n", " ");
                let has_prompt = text.lines().any(|line| line.starts_with("$ "));
                let of_shell = |line: &str| {
                    if has_prompt { line.strip_prefix("$ ").map(str::to_owned) } else { Some(line.to_owned()) }
                };
                commands.extend(text.lines().filter_map(of_shell));
                block = None;
            }
        }
    }
    commands
}

/// The words of each call of `qmpi` in a line: up to the end of the command in the shell's sense.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    // What a comment or another command begins with ends this one; substitutions are words of their own.
    let line = line
        .replace("$(pgrep mpiexec)", "PID")
        .replace("$(", " ; ")
        .replace(')', " ; ")
        .replace('"', "")
        .replace(';', " ; ");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut at_command = true;
    let mut index = 0;
    while index < words.len() {
        let word = words[index];
        let ends = |word: &str| matches!(word, ";" | "|" | "&&" | "||" | "&") || word.starts_with(['#', '>', '<']);
        let is_command =
            word == "qmpi" && (at_command || words[..index].iter().any(|word| *word == "srun" || *word == "--"));
        if word.starts_with('#') {
            break;
        }
        if is_command {
            let end = words[index..].iter().position(|word| ends(word)).map_or(words.len(), |len| index + len);
            calls.push(words[index..end].iter().map(|word| (*word).trim_matches('\'').to_owned()).collect());
            index = end;
        } else {
            at_command = ends(word) || (at_command && word.contains('=')) || matches!(word, "eval" | "time");
            index += 1;
        }
    }
    calls
}

/// What `qmpi` says against these words, and nothing for help that is asked for.
fn complaint(words: &[String]) -> Option<String> {
    // What stands for the number of a process.
    let words = words.iter().map(|word| if matches!(&word[..], "PID" | "$!") { "4711" } else { word });
    let error = Cli::try_parse_from(words).err()?;
    let is_answer =
        matches!(error.kind(), clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion);
    (!is_answer).then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// How many calls these lines have, after each was tried.
fn try_all(place: &str, lines: impl Iterator<Item = String>) -> usize {
    // `qmpi env ...` leaves words out.
    let calls = lines.flat_map(|line| calls(&line)).filter(|words| !words.iter().any(|word| word.contains("...")));
    let complaint = |words: &Vec<String>| Some(format!("{place}: {}: {}", words.join(" "), complaint(words)?));
    let calls: Vec<_> = calls.collect();
    let wrong: Vec<String> = calls.iter().filter_map(complaint).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    calls.len()
}

#[test]
fn every_command_of_a_page_is_understood() {
    let of_page = |page: PathBuf| {
        let text = std::fs::read_to_string(&page).unwrap();
        try_all(&page.display().to_string(), commands(&text).into_iter())
    };
    let count: usize = pages().into_iter().map(of_page).sum();
    assert!(count > 20, "only {count} commands are found");
}

#[test]
fn every_example_of_help_is_understood() {
    let commands = Cli::command();
    let of_command = |command: &clap::Command| {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default().replace("\\\n", " ");
        let lines: Vec<String> = help.lines().filter(|line| line.starts_with("      ")).map(str::to_owned).collect();
        try_all(command.get_name(), lines.into_iter())
    };
    let count: usize = commands.get_subcommands().map(of_command).sum();
    assert!(count > 15, "only {count} examples are found");
}
