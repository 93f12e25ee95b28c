//! The text of a header with its own includes in place and without preprocessor lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::error::{Error, Result};
use crate::read::comments;
use crate::read::condition::{Macros, Verdict, decide};
use crate::read::macros::Macro;

/// `#  name   rest`
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*#\s*(\w+)\s*(.*?)\s*$"));
/// Both forms: MPICH writes `#include <mpi_proto.h>`.
static INCLUDE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^[<"]([^>"]+)[>"]"#));

/// A regular expression that is part of the program.
#[expect(clippy::expect_used, reason = "every caller passes a literal, and a test compiles each")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("valid regular expression")
}

/// C text that a compiler would see, as far as that can be told without one.
#[derive(Default)]
pub(crate) struct Source {
    text: String,
    macros: Macros,
    functions: Vec<Macro>,
    seen: BTreeSet<PathBuf>,
}

impl Source {
    /// Reads `path`; an include is followed if the file lies beside the including one (or below, if it says so).
    pub(crate) fn read(path: &Path) -> Result<String> {
        Ok(Self::read_with_macros(path)?.0)
    }

    /// The same, and the macros that have the names of functions.
    pub(crate) fn read_with_macros(path: &Path) -> Result<(String, Vec<Macro>)> {
        let mut source = Self::default();
        source.file(path)?;
        Ok((source.text, source.functions))
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        // Once per file: headers guard themselves, and mpio.h includes mpi.h, which includes mpio.h.
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        // Comments of real headers hold Latin-1 names; they are thrown away.
        let text = comments::strip(&String::from_utf8_lossy(&bytes));
        let mut branches = Branches::default();
        for line in text.lines() {
            let Some((_, [directive, rest])) = DIRECTIVE.captures(line).map(|found| found.extract()) else {
                if branches.open() {
                    self.text.push_str(line);
                    self.text.push('\n');
                }
                continue;
            };
            let word = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            match directive {
                "if" => branches.enter(decide(rest, &self.macros)),
                "ifdef" => branches.enter(Some(self.macros.contains(word))),
                "ifndef" => branches.enter(Some(!self.macros.contains(word))),
                "elif" => branches.turn(decide(rest, &self.macros)),
                "else" => branches.turn(Some(true)),
                "endif" => branches.leave(),
                "define" if branches.open() => {
                    self.macros.insert(word.to_owned());
                    self.functions.extend(Macro::read(rest));
                }
                "undef" if branches.open() => {
                    self.macros.remove(word);
                }
                "include" if branches.open() => self.include(path, rest)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn include(&mut self, from: &Path, target: &str) -> Result<()> {
        let Some(name) = INCLUDE.captures(target) else {
            return Ok(());
        };
        let path = from.with_file_name(&name[1]);
        if path.is_file() { self.file(&path) } else { Ok(()) }
    }
}

/// The stack of `#if` groups that the current line is in.
#[derive(Default)]
struct Branches(Vec<Group>);

struct Group {
    /// Lines of the current branch are read.
    open: bool,
    /// A branch has certainly been taken, the following ones are dead.
    done: bool,
}

impl Branches {
    fn open(&self) -> bool {
        self.0.iter().all(|group| group.open)
    }

    fn enter(&mut self, verdict: Verdict) {
        self.0.push(Group { open: verdict != Some(false), done: verdict == Some(true) });
    }

    fn turn(&mut self, verdict: Verdict) {
        // A stray #else is the compiler's business.
        if let Some(group) = self.0.last_mut() {
            group.open = !group.done && verdict != Some(false);
            group.done |= verdict == Some(true);
        }
    }

    fn leave(&mut self) {
        self.0.pop();
    }
}
