//! Errors of the command line in the form of all others: one line, one hint. Help and version pass through.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::terminal;

/// Prints what clap has to say.
pub fn report(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away is no error, as for every other answer.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            terminal::report_lines("no command given", Some("`qmpi --help` lists the commands"));
            ExitCode::from(2)
        }
        _ => {
            terminal::report_lines(&message(error), Some(&hint(error)));
            ExitCode::from(2)
        }
    }
}

/// The first paragraph of clap's text, which may list missing arguments on lines of their own, as one line.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

fn hint(error: &clap::Error) -> String {
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .iter()
        .find_map(|&kind| match error.get(kind)? {
            ContextValue::String(text) => Some(text.clone()),
            ContextValue::Strings(texts) => texts.first().cloned(),
            _ => None,
        });
    match suggested {
        Some(suggested) => format!("did you mean `{suggested}`?"),
        None => format!("`{} --help` shows the usage", command(error)),
    }
}

/// `qmpi run`, from `Usage: qmpi run [OPTIONS] <COMMAND>...`.
fn command(error: &clap::Error) -> String {
    let text = error.to_string();
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or("qmpi");
    let words: Vec<&str> =
        usage.split_whitespace().take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    words.join(" ")
}
