//! Back traces as gdb and py-spy print them, and the tree that those of several ranks make.
//!
//! ```text
//! #1  0x00007f1c in MPI_Barrier (comm=0x4400) at hangs.c:9        gdb
//! #2  main () from /usr/lib/libx.so
//!     recv (mpi4py/MPI.pyx:12)                                    py-spy, below a line `Thread 11 (idle)`, with a name or without
//!     0x7f1c (libmpi.so.40)                                       the same with --native
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;

use qmpi_plan::RankSet;

/// A frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BacktraceFrame {
    /// Its function.
    pub function: String,
    /// A line of a file, or a library.
    pub place: String,
    /// Where it goes on, if that is shown.
    pub address: Option<u64>,
    /// What its code belongs to: a layer, the program, a library.
    pub owner: String,
}

impl BacktraceFrame {
    /// One whose owner is not known yet.
    fn new(function: &str, place: &str, address: Option<u64>) -> Self {
        let function = if function.is_empty() { "??" } else { function };
        Self { function: function.into(), place: place.into(), address, owner: String::new() }
    }
}

/// The back trace of each thread in a text, the innermost frame first; empty if there is none.
pub fn read(text: &str) -> Vec<Vec<BacktraceFrame>> {
    let mut threads: Vec<Vec<BacktraceFrame>> = Vec::new();
    let mut is_python = false;
    for line in text.lines() {
        if let Some((0, frame)) = of_gdb(line) {
            threads.push(vec![frame]);
            is_python = false;
        } else if let (Some((_, frame)), Some(thread)) = (of_gdb(line), threads.last_mut()) {
            thread.push(frame);
        } else if is_thread_of_python(line) {
            is_python = true;
            threads.push(Vec::new());
        } else if let (true, Some(frame), Some(thread)) = (is_python, of_python(line), threads.last_mut()) {
            thread.push(frame);
        }
    }
    threads.retain(|thread| !thread.is_empty());
    threads
}

/// The number of a frame, and itself.
fn of_gdb(line: &str) -> Option<(usize, BacktraceFrame)> {
    let (number, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let number = number.parse().ok()?;
    let rest = rest.trim_start();
    let (address, rest) = match rest.strip_prefix("0x").and_then(|rest| rest.split_once(" in ")) {
        Some((digits, rest)) => (Some(u64::from_str_radix(digits, 16).ok()?), rest),
        None => (None, rest),
    };
    // Arguments are values of this rank.
    let (function, behind) = rest.split_once(" (").unwrap_or((rest, ""));
    let place = behind.rsplit_once(") at ").or_else(|| behind.rsplit_once(") from ")).map_or("", |(_, place)| place);
    Some((number, BacktraceFrame::new(function, place, address)))
}

/// `Thread 11 (active+gil): "MainThread"`. gdb has a thread in the parentheses: `Thread 1 (Thread 0x7f (LWP 11)):`.
fn is_thread_of_python(line: &str) -> bool {
    let state = line.strip_prefix("Thread ").and_then(|line| line.split_once(" (")).map(|(_, state)| state);
    state.is_some_and(|state| state.starts_with(|letter: char| letter.is_ascii_lowercase()))
}

fn of_python(line: &str) -> Option<BacktraceFrame> {
    let (function, place) = line.strip_prefix("    ")?.rsplit_once(" (")?;
    let (function, place) = (function.trim(), place.strip_suffix(')')?);
    // An address differs between ranks.
    let address = function.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    Some(BacktraceFrame::new(if address.is_some() { "" } else { function }, place, address))
}

/// Frames that ranks have in common, from the outermost one on.
#[derive(Debug, Default)]
pub struct Tree {
    ranks: BTreeSet<u32>,
    frame: BacktraceFrame,
    calls: Vec<Tree>,
}

/// Room for indentation.
const COLUMNS: usize = 8;

impl Tree {
    /// Adds the back trace of a thread of a rank.
    pub fn add(&mut self, rank: u32, thread: &[BacktraceFrame]) {
        self.ranks.insert(rank);
        let Some((frame, inner)) = thread.split_last() else { return };
        let is_it = |tree: &Tree| {
            (&tree.frame.function, &tree.frame.place) == (&frame.function, &frame.place)
                && tree.frame.owner == frame.owner
        };
        let place = self.calls.iter().position(is_it).unwrap_or_else(|| {
            self.calls.push(Tree { frame: frame.clone(), ..Tree::default() });
            self.calls.len() - 1
        });
        self.calls[place].add(rank, inner);
    }

    /// As text: frames of the same ranks one below the other, with a line in front where the ranks part.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let width = self.widest().min(60);
        self.write(&mut text, 0, &BTreeSet::new(), width);
        text
    }

    fn widest(&self) -> usize {
        self.calls.iter().map(Tree::widest).max().unwrap_or(0).max(self.frame.function.len())
    }

    fn write(&self, text: &mut String, depth: usize, above: &BTreeSet<u32>, width: usize) {
        let indent = "  ".repeat(depth);
        if self.ranks != *above {
            let _ = writeln!(text, "{indent}{}", ranks(&self.ranks));
        }
        if !self.frame.function.is_empty() {
            let BacktraceFrame { function, place, owner, .. } = &self.frame;
            // Columns stay where they are as far as there is room.
            let width = (width + COLUMNS).saturating_sub(indent.len());
            let line = format!("{indent}  {function:width$}  {owner:16}  {place}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        // Threads of the same ranks part as well.
        let parts = self.calls.len() > 1;
        for call in &self.calls {
            let above = if parts { &BTreeSet::new() } else { &self.ranks };
            call.write(text, depth + usize::from(parts), above, width);
        }
    }
}

/// `rank 3`, `ranks 0-2,5`.
pub fn ranks(ranks: &BTreeSet<u32>) -> String {
    let list = ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    // A set writes neighbors as a range.
    let list = list.parse::<RankSet>().map_or(list, |set| set.to_string());
    if ranks.len() == 1 { format!("rank {list}") } else { format!("ranks {list}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GDB: &str = "\
[New LWP 12]
0x00007f in poll () from /lib/libc.so.6

Thread 1 (Thread 0x7f (LWP 11) \"a\"):
#0  0x00007f10 in poll () from /lib/libc.so.6
#1  <signal handler called>
#2  0x00007f20 in MPI_Send (buf=0x1, f=0x7 <g(int)>) at tool.c:12
#3  main (argc=1) at app.c:5
[Inferior 1 (process 11) detached]
";

    #[test]
    fn traces_of_gdb() {
        let threads = read(GDB);
        let frames: Vec<_> = threads[0].iter().map(|frame| (frame.function.as_str(), frame.place.as_str())).collect();
        let expected = [
            ("poll", "/lib/libc.so.6"),
            ("<signal handler called>", ""),
            ("MPI_Send", "tool.c:12"),
            ("main", "app.c:5"),
        ];
        assert_eq!((threads.len(), frames.as_slice()), (1, expected.as_slice()));
        assert_eq!((threads[0][0].address, threads[0][3].address), (Some(0x7f10), None));
        assert!(read("a line\nanother\n").is_empty());
    }

    #[test]
    fn traces_of_py_spy() {
        let text = "Process 1: python a.py\nPython v3.11.2 (/usr/bin/python3.11)\n\nThread 1 (idle): \"MainThread\"\n    recv (mpi4py/MPI.pyx:1)\n    <module> (a.py:9)\n";
        let threads = read(text);
        assert_eq!(threads.len(), 1);
        assert_eq!((threads[0][1].function.as_str(), threads[0][1].place.as_str()), ("<module>", "a.py:9"));
    }

    #[test]
    fn threads_of_py_spy_without_a_name() {
        let text = "Process 1: python a.py\nPython v3.11.2 (/usr/bin/python3.11)\n\nThread 1 (active)\n    0x7f72a9d3a59b (MPI.cpython-311-x86_64-linux-gnu.so)\n    <module> (a.py:9)\n";
        let threads = read(text);
        assert_eq!(threads.len(), 1);
        let inner = &threads[0][0];
        assert_eq!((inner.function.as_str(), inner.address), ("??", Some(0x7f72_a9d3_a59b)));
        assert_eq!(inner.place, "MPI.cpython-311-x86_64-linux-gnu.so");
    }

    #[test]
    fn ranks_part_where_their_traces_do() {
        let frame = |name: &str| BacktraceFrame { function: name.into(), ..BacktraceFrame::default() };
        let mut tree = Tree::default();
        for (rank, inner) in [(0, "send"), (1, "recv"), (2, "recv")] {
            tree.add(rank, &[frame(inner), frame("work"), frame("main")]);
        }
        let expected = "ranks 0-2\n  main\n  work\n  rank 0\n    send\n  ranks 1-2\n    recv\n";
        assert_eq!(tree.text(), expected);
    }

    #[test]
    fn numbers_of_ranks() {
        assert_eq!(ranks(&[0, 1, 2, 5, 7, 8].into()), "ranks 0-2,5,7-8");
        assert_eq!(ranks(&[4].into()), "rank 4");
    }
}
