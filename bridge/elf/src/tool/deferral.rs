//! Does a tool put `MPI_Finalize` off? Some wrappers return without a call of `PMPI_Finalize`, which an exit handler or a destructor makes.
//!
//! Seen are direct calls, through the PLT or not, within the tool's file and its private libraries; from the wrapper, and from what runs
//! at the end: destructors, and functions that `atexit` and its like are given. Not seen are where calls through pointers lead and what is
//! passed to other functions, and whether a branch is taken. So a tool counts only if it is evident:
//!
//! | from the wrapper | from the end | |
//! |---|---|---|
//! | reaches `PMPI_Finalize` | | no |
//! | does not | reaches it | at exit |
//! | does not, and makes no call through a pointer | does not | elsewhere |
//! | does not | does not, and makes calls through pointers | elsewhere, perhaps at exit |
//! | does not | does not | not known |
//!
//! In the last but one a table of functions leads there, as that of a tool that consists of modules; the wrapper might use the table as
//! well.

use std::collections::HashSet;

use crate::ElfFile;
use crate::arch::{Flow, Register, Value};
use crate::file::code::{Code, Word};
use crate::tool::Tool;

/// Where a tool calls `PMPI_Finalize`, if not in its `MPI_Finalize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deferral {
    /// In an exit handler or a destructor.
    AtExit,
    /// In other functions.
    Elsewhere,
}

const WRAPPER: &str = "MPI_Finalize";
const GOALS: [&str; 5] = ["PMPI_Finalize", "pmpi_finalize", "pmpi_finalize_", "pmpi_finalize__", "PMPI_FINALIZE"];
/// Functions that register what runs at the end, and that begin to use MPI: some of them calls the former.
const REGISTERING: [&str; 4] = ["atexit", "on_exit", "__cxa_atexit", "at_quick_exit"];
const BEGINNINGS: [&str; 6] = ["MPI_Init", "MPI_Init_thread", "mpi_init", "mpi_init_", "mpi_init_thread_", WRAPPER];
/// Functions that do not return: what stands behind a call of one belongs to another function.
const ENDINGS: [&str; 14] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "__assert_fail",
    "__stack_chk_fail",
    "__chk_fail",
    "longjmp",
    "pthread_exit",
    "__cxa_throw",
    "__cxa_rethrow",
    "_Unwind_Resume",
    "_ZSt9terminatev",
];
/// Instructions, over all objects: more than any wrapper has, and a fraction of a second.
const LONGEST_WALK: usize = 1 << 20;

impl Tool {
    /// Whether the tool evidently puts `MPI_Finalize` off, and to where. Reads its code: for the desk.
    pub fn deferral(&self) -> Option<Deferral> {
        let has = |list: &[qmpi_abi::FnId]| list.iter().any(|id| id.name() == WRAPPER);
        // Where it is looked up by name, a call goes through a pointer.
        let wraps = self.objects.first().is_some_and(|root| has(&root.intercepts));
        if !wraps || !has(&self.pmpi_imports) || self.dlsym_names.iter().any(|name| GOALS.contains(&name.as_str())) {
            return None;
        }
        let mut graph = Graph::of(&self.closure.objects)?;
        let wrapper = graph.walk(graph.named(&[WRAPPER]))?;
        if wrapper.reaches_goal {
            return None;
        }
        let mut beginnings = graph.named(&BEGINNINGS);
        beginnings.extend(graph.each(Code::at_start));
        let mut end = graph.walk(beginnings)?.registered;
        end.extend(graph.each(Code::at_end));
        let end = graph.walk(end)?;
        if end.reaches_goal {
            return Some(Deferral::AtExit);
        }
        // The address alone says nothing: it may be in a table that the wrapper calls through.
        let is_called = self.called().iter().any(|name| GOALS.contains(name));
        (is_called && (!wrapper.calls_anywhere || end.calls_anywhere)).then_some(Deferral::Elsewhere)
    }
}

/// An object by its number, and an address in it.
type Place = (usize, u64);

/// The code of a tool and its private libraries.
struct Graph<'a> {
    files: &'a [ElfFile],
    codes: Vec<Code<'a>>,
}

/// What a walk came across.
#[derive(Default)]
struct Seen {
    reaches_goal: bool,
    /// A call of which only a running process knows where it leads.
    calls_anywhere: bool,
    /// What was registered for the end.
    registered: Vec<Place>,
}

impl<'a> Graph<'a> {
    /// `None`: a file cannot be read any more.
    fn of(files: &'a [ElfFile]) -> Option<Graph<'a>> {
        let codes = files.iter().map(Code::of).collect::<Result<Vec<_>, _>>().ok()?;
        Some(Graph { files, codes })
    }

    /// The functions of these names that the tool's own file defines.
    fn named(&self, names: &[&str]) -> Vec<Place> {
        names.iter().filter_map(|name| Some((0, self.files.first()?.function(name)?))).collect()
    }

    fn each(&self, functions: for<'c> fn(&'c Code<'a>) -> &'c [u64]) -> Vec<Place> {
        let of = |(index, code)| functions(code).iter().map(move |address| (index, *address)).collect::<Vec<_>>();
        self.codes.iter().enumerate().flat_map(of).collect()
    }

    /// Where a name is bound to in the tool's namespace, unless it is another library.
    fn function(&self, name: &str) -> Option<Place> {
        self.files.iter().enumerate().find_map(|(index, file)| Some((index, file.function(name)?)))
    }

    /// Follows direct calls from these places. `None`: that takes too long.
    fn walk(&mut self, mut todo: Vec<Place>) -> Option<Seen> {
        let mut seen = Seen::default();
        let mut visited: HashSet<Place> = HashSet::new();
        while let Some((object, start)) = todo.pop() {
            let (mut address, mut argument, mut result) = (start, None, None);
            while visited.insert((object, address)) && (address == start || !self.codes[object].is_start(address)) {
                if visited.len() > LONGEST_WALK {
                    return None;
                }
                let Some((length, flow)) = self.codes[object].step(address) else { break };
                let flow = match (flow, result) {
                    (Flow::JumpLoaded, Some(Value::In(word))) => Flow::JumpThrough(word),
                    (Flow::JumpLoaded, Some(Value::Address(target))) => Flow::Jump(target),
                    (Flow::JumpLoaded, None) => Flow::JumpAnywhere,
                    (Flow::CallLoaded, Some(Value::In(word))) => Flow::CallThrough(word),
                    (Flow::CallLoaded, Some(Value::Address(target))) => Flow::Call(target),
                    (Flow::CallLoaded, None) => Flow::CallAnywhere,
                    (flow, _) => flow,
                };
                let callee = match flow {
                    Flow::On => {
                        result = None;
                        None
                    }
                    Flow::Test | Flow::JumpLoaded | Flow::CallLoaded => None,
                    Flow::Set(Register::Argument, value) => {
                        argument = Some(value);
                        None
                    }
                    Flow::Set(Register::Result, value) => {
                        result = Some(value);
                        None
                    }
                    Flow::Pass => {
                        argument = result;
                        None
                    }
                    Flow::End => break,
                    Flow::JumpAnywhere => {
                        // Of a `switch` as well, whose parts are then not seen.
                        seen.calls_anywhere = true;
                        break;
                    }
                    Flow::CallAnywhere => {
                        seen.calls_anywhere = true;
                        (argument, result) = (None, None);
                        None
                    }
                    Flow::Branch(target) => {
                        todo.push((object, target));
                        None
                    }
                    Flow::Jump(target) | Flow::Call(target) => {
                        let name = self.codes[object].name_of_entry(target);
                        Some(name.map_or(Word::Address(target), Word::Name))
                    }
                    Flow::JumpThrough(word) | Flow::CallThrough(word) => match self.codes[object].word(word) {
                        Some(word) => Some(word),
                        // A pointer in data.
                        None => {
                            seen.calls_anywhere = true;
                            None
                        }
                    },
                };
                let mut ends = matches!(flow, Flow::Jump(_) | Flow::JumpThrough(_));
                if let Some(callee) = callee {
                    if let Word::Name(name) = callee {
                        seen.reaches_goal |= GOALS.contains(&name);
                        ends |= ENDINGS.contains(&name);
                        if REGISTERING.contains(&name) {
                            seen.registered.extend(argument.and_then(|value| self.function_in(object, value)));
                        }
                    }
                    todo.extend(self.place(object, callee));
                    (argument, result) = (None, None);
                }
                if ends {
                    break;
                }
                address = address.wrapping_add(length);
            }
        }
        Some(seen)
    }

    fn function_in(&self, object: usize, value: Value) -> Option<Place> {
        match value {
            Value::Address(address) => Some((object, address)),
            Value::In(word) => self.place(object, self.codes[object].word(word)?),
        }
    }

    fn place(&self, object: usize, word: Word<'_>) -> Option<Place> {
        match word {
            Word::Address(address) => Some((object, address)),
            Word::Name(name) => self.function(name),
        }
    }
}
