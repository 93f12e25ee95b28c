//! Messages to the user: answers on stdout, everything else on stderr, colours only on a terminal.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use qmpi_launch::Warning;

use crate::Error;

/// Whether to emphasize.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style(bool);

impl Style {
    /// For text without emphasis.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self(false);

    /// For stdout.
    pub(crate) fn stdout() -> Self {
        Self(io::stdout().is_terminal() && allowed())
    }

    fn stderr() -> Self {
        Self(io::stderr().is_terminal() && allowed())
    }

    /// A heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Something good.
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Something to look at.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Something bad.
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// <https://no-color.org>: present and not empty means no colours. A terminal called `dumb` has none.
fn allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Writes an answer to stdout.
pub(crate) fn answer(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}

/// The version of everything printed with `--json`. It grows when a field is removed or changes its meaning, not when one is added.
const SCHEMA: u32 = 1;

/// An answer with its version in front.
#[derive(serde::Serialize)]
pub(crate) struct Versioned<T> {
    schema: u32,
    #[serde(flatten)]
    pub(crate) answer: T,
}

impl<T> Versioned<T> {
    pub(crate) fn new(answer: T) -> Self {
        Self { schema: SCHEMA, answer }
    }
}

/// A value in JSON, with a newline at its end.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string_pretty(value).map_err(|error| Error::Output(error.into()))? + "\n")
}

/// An answer in JSON with its version.
pub(crate) fn answer_json(answer_: impl serde::Serialize) -> Result<(), Error> {
    answer(&json(&Versioned::new(answer_))?)
}

/// Prints an error and its hint: two lines, whatever is in them.
pub(crate) fn report(error: &Error) {
    report_lines(&error.to_string(), Some(&error.hint()));
}

/// Prints a message that is not one of [`Error`]'s in the same form.
pub(crate) fn report_lines(message: &str, hint: Option<&str>) {
    let style = Style::stderr();
    say(&style.red("error:"), message);
    if let Some(hint) = hint {
        say(&style.bold("hint:"), hint);
    }
}

/// Prints a warning, whatever the rank of this process.
pub(crate) fn warn(Warning { message, hint }: &Warning) {
    let style = Style::stderr();
    say(&style.yellow("warning:"), message);
    if let Some(hint) = hint {
        say(&style.bold("hint:"), hint);
    }
}

/// Prints warnings once a job: where a launcher started this command on every rank, rank 0 speaks for all.
pub(crate) fn warn_once<'a>(warnings: impl IntoIterator<Item = &'a Warning>, get: &dyn Fn(&str) -> Option<OsString>) {
    if qmpi_plan::rank_from_env(get).is_none_or(|rank| rank == 0) {
        warnings.into_iter().for_each(warn);
    }
}

/// Prints what was done, for `-v`.
pub(crate) fn note(message: &str) {
    say("note:", message);
}

fn say(tag: &str, message: &str) {
    let message = message.replace('\n', " ");
    // There is no reader left if stderr is closed.
    // One write: what a launcher kills meanwhile has said all of the line or nothing.
    let _ = io::stderr().lock().write_all(format!("qmpi: {tag} {message}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays() {
        assert_eq!(Style::PLAIN.red("x"), "x");
        assert_eq!(Style(true).red("x"), "\x1b[1;31mx\x1b[0m");
    }
}
