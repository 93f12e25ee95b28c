//! Errors of the command line in the form of all others: one line, one hint. Help and version pass through.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::Error;
use crate::args::Cli;
use crate::terminal;

/// Prints what clap has to say about `args`.
pub(crate) fn report(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let error = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away is no error, as for every other answer.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Error::usage("no command given", "`qmpi --help` lists the commands")
        }
        _ => Error::usage(message(error), hint(error, args)),
    };
    terminal::report(&error);
    ExitCode::from(error.status)
}

/// The first paragraph of clap's text, which may list missing arguments on lines of their own, as one line.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

fn hint(error: &clap::Error, args: &[OsString]) -> String {
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .iter()
        .find_map(|&kind| match error.get(kind)? {
            ContextValue::String(text) => Some(text.clone()),
            // clap sorts by resemblance, the best one last.
            ContextValue::Strings(texts) => texts.last().cloned(),
            _ => None,
        });
    let suggested = suggested.or_else(|| match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(word) if word == "help" => Some("qmpi --help".to_owned()),
        ContextValue::String(word) => {
            let definition = Cli::command();
            let names =
                definition.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
            qmpi_plan::nearest(word, names).map(str::to_owned)
        }
        _ => None,
    });
    match suggested {
        Some(suggested) => format!("did you mean `{suggested}`?"),
        None => format!("`{} --help` shows the usage", command(args)),
    }
}

/// `qmpi run`, if that is how `args` begin; else `qmpi`.
fn command(args: &[OsString]) -> String {
    let definition = Cli::command();
    match args.get(1).and_then(|name| definition.find_subcommand(name)) {
        Some(command) => format!("qmpi {}", command.get_name()),
        None => "qmpi".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn lines(args: &[&str]) -> (String, String) {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let error = Cli::try_parse_from(&args).unwrap_err();
        (message(&error), hint(&error, &args))
    }

    #[test]
    fn one_line_each() {
        for (args, text, hint) in [
            (
                &["qmpi", "run"][..],
                "the following required arguments were not provided: <COMMAND>...",
                "`qmpi run --help` shows the usage",
            ),
            (&["qmpi", "run", "--dryrun", "x"], "unexpected argument '--dryrun' found", "did you mean `--dry-run`?"),
            (&["qmpi", "inspct", "x"], "unrecognized subcommand 'inspct'", "did you mean `inspect`?"),
            (&["qmpi", "rnu", "x"], "unrecognized subcommand 'rnu'", "did you mean `run`?"),
            (&["qmpi", "help"], "unrecognized subcommand 'help'", "did you mean `qmpi --help`?"),
            (
                &["qmpi", "run", "-t"],
                "a value is required for '--tool <TOOL>' but none was supplied",
                "`qmpi run --help` shows the usage",
            ),
        ] {
            assert_eq!(lines(args), (text.to_owned(), hint.to_owned()));
        }
    }
}
