//! A job under memcheck or helgrind, and which of the errors that are reported are in our libraries.
//!
//! An error is ours if the access itself is in `libqmpi.so`, `libqmpi_core.so` or a stub; what our code called on its way elsewhere
//! is not. valgrind's XML names the object file of each frame, where its text has either the source file or the object.
//!
//! | the innermost frame is in | the access is that of |
//! |---|---|
//! | the C library, `ld.so`, or valgrind's replacements of their functions (`memmove`, `pthread_mutex_lock`) | the frame that called it |
//! | an object file | that object |
//! | no object file | a stub, copied into a file in memory: no other code in these processes belongs to none |
//!
//! Copies of stubs that are mapped from `libqmpi_core.so` are in that object, without the name of a function.
//!
//! Leaks are not looked for: what is published is never freed.
//!
//! # What helgrind does not know
//! helgrind knows POSIX locks, `ld.so`'s among them, and instructions with a lock prefix. It does not know
//! - atomic loads and stores, plain instructions on this processor. An access in `core::sync::atomic`, which debug information names
//!   as an inlined frame, is not a race. The other access of the pair is, unless it is atomic as well.
//! - `std::sync::Mutex`, which is made of such. [`BEHIND_A_MUTEX`] names the file whose data several threads reach by one. An error with an
//!   access there is not counted: helgrind has seen no lock, and may show as the other access one to what stood in that memory before.

use std::fmt;
use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};

use crate::{Job, Mpi, Outcome};

/// A tool of valgrind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Invalid reads and writes, jumps that depend on what was never written.
    Memcheck,
    /// Data races, misuse of locks.
    Helgrind,
}

/// A file without `unsafe` whose only variable is a `Mutex`: the compiler rules out a race, and helgrind sees no lock.
pub const BEHIND_A_MUTEX: &str = "bridge/core/src/qmpi/table.rs";

/// How many errors a message shows.
const MOST_SHOWN: usize = 10;

/// One frame of a stack.
#[derive(Debug, Clone, Default)]
struct Frame {
    address: String,
    object: Option<String>,
    function: Option<String>,
    file: Option<String>,
}

/// One access to memory: the stack, innermost frame first.
#[derive(Debug, Clone)]
struct Access {
    /// Of the thread that was running when valgrind reported it, so that its code is still there.
    is_current: bool,
    frames: Vec<Frame>,
}

/// An error that valgrind reports.
#[derive(Debug, Clone)]
pub struct Finding {
    kind: String,
    what: String,
    /// One; two for a race, if valgrind still knows the other.
    accesses: Vec<Access>,
}

/// All of them.
#[derive(Debug)]
pub struct Findings(Vec<Finding>);

/// Runs a program in one process under a tool of valgrind. `job` sets up the job for valgrind as its program: environment, libraries to
/// preload.
///
/// # Errors
/// When the program does not end with status 0 and all of `lines`, or valgrind does not come to its end.
pub fn run(
    tool: Tool,
    mpi: Mpi,
    program: &Path,
    args: &[&str],
    lines: &[String],
    job: impl FnOnce(Job) -> Job,
) -> Result<(Findings, Outcome), String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let report = directory.path().join("valgrind.xml");
    let mut words: Vec<String> = match tool {
        Tool::Memcheck => vec!["--tool=memcheck".into()],
        Tool::Helgrind => vec!["--tool=helgrind".into()],
    };
    words.extend(["--xml=yes".into(), format!("--xml-file={}", report.display())]);
    // Every error, and threads that take turns.
    words.extend(["--error-limit=no", "--read-inline-info=yes", "--fair-sched=try"].map(str::to_owned));
    words.push(program.display().to_string());
    words.extend(args.iter().map(|word| (*word).to_owned()));
    let outcome = job(Job::alone(mpi, Path::new("valgrind")).args(&words)).within(300).run();
    outcome.expect(0, lines)?;
    let text = std::fs::read_to_string(&report).map_err(|error| format!("{error}\n{}", outcome.report()))?;
    let findings = Findings::parse(&text).map_err(|error| format!("{error}\n{}", outcome.report()))?;
    Ok((findings, outcome))
}

impl Findings {
    /// Those of a report.
    ///
    /// # Errors
    /// When it is no XML, or ends before the process did.
    pub fn parse(text: &str) -> Result<Findings, String> {
        // valgrind declares no document type.
        let document =
            Document::parse_with_options(text, ParsingOptions::default()).map_err(|error| error.to_string())?;
        let root = document.root_element();
        let states = children(root, "status").filter_map(|status| text_of(status, "state"));
        if states.last() != Some("FINISHED") {
            return Err("valgrind did not come to its end".into());
        }
        let errors = children(root, "error").map(finding);
        // memcheck's XML has them whatever --leak-check says.
        Ok(Findings(errors.filter(|finding| !finding.kind.starts_with("Leak_")).collect()))
    }

    /// Those in our libraries.
    pub fn ours(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter().filter(|finding| finding.is_ours())
    }

    /// Fails if there is one in our libraries.
    ///
    /// # Errors
    /// All of them.
    pub fn expect_none_of_ours(&self) -> Result<(), String> {
        let ours: Vec<String> = self.ours().take(MOST_SHOWN).map(Finding::to_string).collect();
        if ours.is_empty() {
            Ok(())
        } else {
            Err(format!("{} in our libraries\n{}", self.ours().count(), ours.join("\n")))
        }
    }

    /// Fails unless there is one of this kind that is ours and whose access is in this object file, in a function whose name contains
    /// this; empty: in code without a name.
    ///
    /// # Errors
    /// All that are ours.
    pub fn expect(&self, kind: &str, object: &str, function: &str) -> Result<(), String> {
        let found = self.ours().any(|finding| {
            finding.kind == kind && finding.accesses.iter().any(|access| access.is_ours_in(object, function))
        });
        if found {
            return Ok(());
        }
        let ours: Vec<String> = self.ours().take(MOST_SHOWN).map(Finding::to_string).collect();
        Err(format!("no {kind} in {function:?} of {object}; of {} errors ours are\n{}", self.0.len(), ours.join("\n")))
    }
}

impl Finding {
    /// Is it in our libraries?
    pub fn is_ours(&self) -> bool {
        let has_lock = self.accesses.iter().any(Access::is_behind_a_mutex);
        !has_lock && self.accesses.iter().any(|access| access.ours().is_some())
    }
}

impl Access {
    fn is_behind_a_mutex(&self) -> bool {
        self.frames.iter().any(|frame| frame.is_in_file(BEHIND_A_MUTEX))
    }

    /// The frame that makes it, if that is ours and the access is not one that helgrind does not know.
    fn ours(&self) -> Option<&Frame> {
        let is_atomic = self.frames.first().is_some_and(|frame| frame.is_in_file("core/src/sync/atomic.rs"));
        if is_atomic || self.is_behind_a_mutex() {
            return None;
        }
        let frame = self.frames.iter().find(|frame| !frame.is_of_the_system())?;
        match frame.file_name() {
            Some(name) => name.starts_with("libqmpi"),
            // An earlier access may have been in a library that is closed by now.
            None => self.is_current,
        }
        .then_some(frame)
    }

    /// Is it ours, in this object file and a function whose name contains this? An inlined function is a frame of its own, with the
    /// address of the one that it is part of.
    fn is_ours_in(&self, object: &str, function: &str) -> bool {
        let Some(ours) = self.ours() else { return false };
        let mut same = self.frames.iter().filter(|frame| frame.address == ours.address);
        let is_function = |frame: &Frame| match &frame.function {
            Some(name) => !function.is_empty() && name.contains(function),
            None => function.is_empty(),
        };
        ours.file_name() == Some(object) && same.any(is_function)
    }
}

impl Frame {
    /// The name of the object file.
    fn file_name(&self) -> Option<&str> {
        self.object.as_deref().and_then(|path| path.rsplit('/').next())
    }

    fn is_of_the_system(&self) -> bool {
        const SYSTEM: [&str; 4] = ["vgpreload_", "libc.so.", "libpthread.so.", "ld-linux-"];
        let name = self.file_name().unwrap_or_default();
        SYSTEM.iter().any(|start| name.starts_with(start))
    }

    fn is_in_file(&self, end: &str) -> bool {
        self.file.as_ref().is_some_and(|file| file.ends_with(end))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.kind, self.what)?;
        for access in &self.accesses {
            let mark = if access.ours().is_some() { "ours" } else { "not ours" };
            writeln!(f, "  {mark}:")?;
            for Frame { address, object, function, file } in access.frames.iter().take(12) {
                let [object, function, file] = [object, function, file].map(|part| part.as_deref().unwrap_or("-"));
                writeln!(f, "    {address} {object} {function} {file}")?;
            }
        }
        Ok(())
    }
}

fn children<'a, 'input: 'a>(node: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn text_of<'a>(node: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    node.children().find(|child| child.has_tag_name(name))?.text()
}

/// `<error>`: what happened, and its stack; then auxiliary texts, each with a stack of its own: the other access of a race, or where
/// a block was allocated.
fn finding(error: Node<'_, '_>) -> Finding {
    let what =
        text_of(error, "what").or_else(|| text_of(error.children().find(|node| node.has_tag_name("xwhat"))?, "text"));
    let mut accesses = Vec::new();
    let mut is_access = true;
    for node in error.children() {
        match node.tag_name().name() {
            "auxwhat" | "xauxwhat" => {
                let text = node.text().unwrap_or_default();
                is_access = text_of(node, "text").unwrap_or(text).starts_with("This conflicts with");
            }
            "stack" if is_access => {
                let frames = children(node, "frame").map(frame).collect();
                accesses.push(Access { is_current: accesses.is_empty(), frames });
                is_access = false;
            }
            _ => {}
        }
    }
    Finding { kind: text_of(error, "kind").unwrap_or_default().into(), what: what.unwrap_or_default().into(), accesses }
}

fn frame(node: Node<'_, '_>) -> Frame {
    let text = |name| text_of(node, name).map(str::to_owned);
    let file =
        text("file").map(|file| text("dir").map_or_else(|| file.clone(), |directory| format!("{directory}/{file}")));
    Frame { address: text("ip").unwrap_or_default(), object: text("obj"), function: text("fn"), file }
}
