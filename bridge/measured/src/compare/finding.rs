//! What was found to be different, and what was found to vary by itself.

use std::collections::BTreeMap;

use serde::Serialize;

/// What kind of thing differs. The order is that in which findings are shown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// How the job ended.
    #[default]
    Status,
    /// A function that comes to the tool on one side only.
    Wrapper,
    /// What the program calls, and what it gets back.
    CallsIn,
    /// What arrives at the MPI library, and what comes back from there.
    CallsOut,
    /// What a rank or the launcher printed.
    Output,
    /// What was written into the directory.
    File,
    /// What a call costs in the tools.
    Cost,
}

impl Aspect {
    pub fn title(self) -> &'static str {
        match self {
            Self::Status => "exit status",
            Self::Wrapper => "wrappers",
            Self::CallsIn => "calls of the program",
            Self::CallsOut => "calls that arrive at MPI",
            Self::Output => "output",
            Self::File => "files",
            Self::Cost => "cost of a call",
        }
    }
}

/// A difference between the sides.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: Aspect,
    pub rank: Option<u32>,
    /// In which of its threads, in the order of their first calls, if calls are known one by one.
    pub thread: Option<u32>,
    /// Which call of the thread on this edge, from 1, on the old side; on the new one if the old has none.
    pub call: Option<usize>,
    /// Where the program makes that call, or the one in which a tool makes it.
    pub site: Option<String>,
    /// How many calls of the rank differ in this way.
    pub times: usize,
    /// The function, where it is of one.
    pub function: Option<String>,
    /// The stream or file, where it is of one.
    pub name: Option<String>,
    /// In a sentence, without rank and call.
    pub message: String,
    pub diff: Option<String>,
}

impl Finding {
    /// One that is of no rank, call, function or file.
    pub fn new(kind: Aspect, message: String) -> Self {
        Self { kind, message, times: 1, ..Self::default() }
    }
}

/// What varies between runs of one side, and was not compared: where, and what.
pub(super) type Varying = BTreeMap<String, Vec<String>>;

/// Notes once that something varies, and how.
pub(super) fn vary(varying: &mut Varying, what: &str, how: &str) {
    let list = varying.entry(what.to_owned()).or_default();
    if !list.iter().any(|known| known == how) {
        list.push(how.to_owned());
    }
}
