//! Messages to the user: answers on stdout, everything else on stderr, colours only on a terminal.

use std::io::{self, IsTerminal, Write};

use qmpi_launch::Warning;
use qmpi_launch::environment::of_process;

use crate::Error;

/// A heading of an answer.
pub(crate) fn bold(text: &str) -> String {
    painted(&io::stdout(), "1", text)
}

pub(crate) fn green(text: &str) -> String {
    painted(&io::stdout(), "32", text)
}

pub(crate) fn yellow(text: &str) -> String {
    painted(&io::stdout(), "33", text)
}

pub(crate) fn red(text: &str) -> String {
    painted(&io::stdout(), "1;31", text)
}

/// Text in a colour, on a terminal that is to have some. <https://no-color.org>: present and not empty means no colours. A terminal called
/// `dumb` has none.
fn painted(stream: &impl IsTerminal, code: &str, text: &str) -> String {
    let is_plain = !stream.is_terminal()
        || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    paint(is_plain || cfg!(test), code, text)
}

fn paint(is_plain: bool, code: &str, text: &str) -> String {
    if is_plain { text.to_owned() } else { format!("\x1b[{code}m{text}\x1b[0m") }
}

/// Writes an answer to stdout.
pub(crate) fn answer(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::output(error)),
        _ => Ok(()),
    }
}

/// The version of everything printed with `--json`. It grows when a field is removed or changes its meaning, not when one is added.
const SCHEMA: u32 = 1;

/// An answer with its version in front.
#[derive(serde::Serialize)]
struct Versioned<T> {
    schema: u32,
    #[serde(flatten)]
    answer: T,
}

/// A value in JSON, with a newline at its end.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string_pretty(value).map_err(Error::output)? + "\n")
}

/// An answer in JSON with its version.
pub(crate) fn versioned(answer: impl serde::Serialize) -> Result<String, Error> {
    json(&Versioned { schema: SCHEMA, answer })
}

pub(crate) fn answer_json(value: impl serde::Serialize) -> Result<(), Error> {
    answer(&versioned(value)?)
}

/// Prints an error and its hint: two lines, whatever is in them.
pub(crate) fn report(error: &Error) {
    say_with_hint("1;31", "error:", &error.message, Some(&error.hint));
}

/// Prints a warning, whatever the rank of this process.
pub(crate) fn warn(Warning { message, hint }: &Warning) {
    say_with_hint("33", "warning:", message, hint.as_deref());
}

/// Prints warnings once a job: where a launcher started this command on every rank, rank 0 speaks for all.
pub(crate) fn warn_once<'a>(warnings: impl IntoIterator<Item = &'a Warning>) {
    if qmpi_plan::rank_from_env(&of_process).is_none_or(|rank| rank == 0) {
        warnings.into_iter().for_each(warn);
    }
}

/// Prints what was done, for `-v`.
pub(crate) fn note(message: &str) {
    say("note:", message);
}

fn say_with_hint(code: &str, tag: &str, message: &str, hint: Option<&str>) {
    say(&painted(&io::stderr(), code, tag), message);
    if let Some(hint) = hint {
        say(&painted(&io::stderr(), "1", "hint:"), hint);
    }
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
        assert_eq!(paint(true, "1;31", "x"), "x");
        assert_eq!(paint(false, "1;31", "x"), "\x1b[1;31mx\x1b[0m");
    }
}
