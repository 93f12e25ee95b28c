//! The text of a header with its own includes in place and without preprocessor lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::error::{Result, ShimError};
use crate::read::condition::{Macros, Verdict, decide};
use crate::read::macros::Macro;
use crate::text::{pattern, words};

/// `#  name   rest`
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*#\s*(\w+)\s*(.*?)\s*$"));
/// Both forms: MPICH writes `#include <mpi_proto.h>`.
static INCLUDE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^[<"]([^>"]+)[>"]"#));

/// A comment, or a literal, which may look like one inside. A literal ends at the end of the line at the latest: an apostrophe in an
/// `#error` line opens nothing.
static COMMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?s)//[^\n]*|/\*.*?(?:\*/|$)|"(?:\\[^\n]|[^"\\\n])*"?|'(?:\\[^\n]|[^'\\\n])*'?"#));

/// The first phases of translation (C11 5.1.1.2): continued lines are joined, comments become blanks.
///
/// ```text
/// before   int MPI_Send(const void *buf, /* count */ int n); // old
/// after    int MPI_Send(const void *buf,   int n);
/// ```
fn without_comments(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace("\\\n", "");
    let replaced = COMMENT.replace_all(&text, |found: &Captures| match &found[0] {
        // One blank, also for a comment of many lines: a directive goes on behind it.
        comment if comment.starts_with("/*") => " ".to_owned(),
        comment if comment.starts_with("//") => String::new(),
        literal => literal.to_owned(),
    });
    replaced.into_owned()
}

/// C text that a compiler would see, as far as that can be told without one.
#[derive(Default)]
pub(crate) struct Source {
    pub(crate) text: String,
    macros: Macros,
    /// Macros that have the names of functions.
    pub(crate) functions: Vec<Macro>,
    seen: BTreeSet<PathBuf>,
}

impl Source {
    /// Reads `path`; an include is followed if the file lies beside the including one (or below, if it says so).
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut source = Self::default();
        source.file(path)?;
        Ok(source)
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        // Once per file: headers guard themselves, and mpio.h includes mpi.h, which includes mpio.h.
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let bytes = std::fs::read(path).map_err(|source| ShimError::Read(path.to_owned(), source))?;
        // Comments of real headers hold Latin-1 names; they are thrown away.
        let text = without_comments(&String::from_utf8_lossy(&bytes));
        let mut groups: Vec<Group> = Vec::new();
        for line in text.lines() {
            let is_open = groups.iter().all(|group| group.is_open);
            let Some((_, [directive, rest])) = DIRECTIVE.captures(line).map(|found| found.extract()) else {
                if is_open {
                    self.text += line;
                    self.text.push('\n');
                }
                continue;
            };
            let word = words(rest).next().unwrap_or("");
            match directive {
                "if" => groups.push(Group::new(decide(rest, &self.macros))),
                "ifdef" => groups.push(Group::new(Some(self.macros.contains(word)))),
                "ifndef" => groups.push(Group::new(Some(!self.macros.contains(word)))),
                // A stray #else is the compiler's business.
                "elif" | "else" => {
                    let verdict = if directive == "else" { Some(true) } else { decide(rest, &self.macros) };
                    if let Some(group) = groups.last_mut() {
                        group.turn(verdict);
                    }
                }
                "endif" => drop(groups.pop()),
                "define" if is_open => {
                    self.macros.insert(word.to_owned());
                    self.functions.extend(Macro::read(rest));
                }
                "undef" if is_open => drop(self.macros.remove(word)),
                "include" if is_open => {
                    let included = INCLUDE.captures(rest).map(|name| path.with_file_name(&name[1]));
                    included.filter(|file| file.is_file()).map_or(Ok(()), |file| self.file(&file))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// An `#if` group that the current line is in.
struct Group {
    /// Lines of the current branch are read.
    is_open: bool,
    /// A branch has certainly been taken, the following ones are dead.
    is_done: bool,
}

impl Group {
    fn new(verdict: Verdict) -> Self {
        Self { is_open: verdict != Some(false), is_done: verdict == Some(true) }
    }

    /// Another branch follows.
    fn turn(&mut self, verdict: Verdict) {
        self.is_open = !self.is_done && verdict != Some(false);
        self.is_done |= verdict == Some(true);
    }
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_and_continuations() {
        for (text, expected) in [
            ("a/* ; */b", "a b"),
            ("a// b\nc", "a\nc"),
            ("#define X \\\n 1\nint", "#define X  1\nint"),
            ("a / b", "a / b"),
            ("a/*b*//c", "a /c"),
            ("open /* never closed", "open  "),
        ] {
            assert_eq!(without_comments(text), expected);
        }
    }

    #[test]
    fn literals_hide_comments() {
        for text in
            [r#"__dep__("see // or /* \" */ x");"#, "#error don't // now\nint", r"'\'' '//'", "\"open // x\n\"//\""]
        {
            assert_eq!(without_comments(text), text);
        }
    }
}
