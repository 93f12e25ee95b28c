//! Messages to the user: answers on stdout, everything else on stderr, colours only on a terminal.

use std::io::{self, IsTerminal, Write};

use crate::Error;

/// Whether to emphasize.
#[derive(Debug, Clone, Copy)]
pub struct Style(bool);

impl Style {
    /// For text without emphasis.
    pub const PLAIN: Self = Self(false);

    /// For stdout.
    #[must_use]
    pub fn stdout() -> Self {
        Self(io::stdout().is_terminal() && allowed())
    }

    fn stderr() -> Self {
        Self(io::stderr().is_terminal() && allowed())
    }

    /// A heading.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Something good.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Something to look at.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Something bad.
    #[must_use]
    pub fn red(self, text: &str) -> String {
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
///
/// # Errors
/// [`Error::Output`], but not if the reader went away: `qmpi inspect ... | head` is no failure.
pub fn answer(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}

/// An answer in JSON, with a newline at its end.
///
/// # Errors
/// As [`answer`].
pub fn answer_json(value: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::Output(error.into()))?;
    answer(&(text + "\n"))
}

/// Prints an error and its hint: two lines, whatever is in them.
pub fn report(error: &Error) {
    report_lines(&error.to_string(), Some(&error.hint()));
}

/// Prints a message that is not one of [`Error`]'s in the same form.
pub fn report_lines(message: &str, hint: Option<&str>) {
    let style = Style::stderr();
    say(&style.red("error:"), message);
    if let Some(hint) = hint {
        say(&style.bold("hint:"), hint);
    }
}

/// Prints what is probably not meant, and does not stop anything.
pub fn warn(message: &str, hint: Option<&str>) {
    let style = Style::stderr();
    say(&style.yellow("warning:"), message);
    if let Some(hint) = hint {
        say(&style.bold("hint:"), hint);
    }
}

/// Prints what was done, for `-v`.
pub fn note(message: &str) {
    say("note:", message);
}

fn say(tag: &str, message: &str) {
    let message = message.replace('\n', " ");
    // There is no reader left if stderr is closed.
    let _ = writeln!(io::stderr().lock(), "qmpi: {tag} {message}");
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
