//! A tool from before MPI-4 above a layer that has every function with large counts, and a program that calls these functions: their C
//! sources.
//!
//! The C text is in `large_counts/`; the table of functions comes from what `parameters.tsv` says of the types of both forms.

use std::fmt::Write;
use std::path::PathBuf;

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Factor, Kind, Parameter};

use crate::{artifact, product};

const TRACE: &str = include_str!("large_counts/trace.h");
const TOOL: &str = include_str!("large_counts/tool.c");
const PROGRAM: &str = include_str!("large_counts/program.c");

/// The most words that any of these functions takes.
const MOST_WORDS: usize = 13;

/// The C sources, written below `target/tests`.
#[derive(Debug)]
pub struct LargeCounts {
    /// A tool with a wrapper of each function that has a form with large counts, and of none of those forms.
    pub old: PathBuf,
    /// A tool with a wrapper of each of those forms.
    pub below: PathBuf,
    /// The program, for one rank or more.
    pub program: PathBuf,
}

impl LargeCounts {
    /// Writes the files that are not as they should be.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn write() -> LargeCounts {
        let directory = product::target().join("tests/large_counts");
        std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let table = table();
        let file = |name: &str, mpi: &str, cflags: &str, parts: &[&str]| {
            let path = directory.join(format!("every_large_count_{name}.c"));
            let text = format!("//# needs-mpi: {mpi}\n//# cflags: {cflags}\n{table}{TRACE}{}", parts.concat());
            artifact::write_source(&path, text.as_bytes());
            path
        };
        LargeCounts {
            old: file("old", "no", "-O1", &["#define OLD\n", TOOL]),
            below: file("below", "no", "-O1", &[TOOL]),
            // What the MPI lacks, libqmpi has.
            program: file(
                "program",
                "yes",
                "-O1 -rdynamic -Wl,--no-as-needed -Wl,--unresolved-symbols=ignore-all",
                &[PROGRAM],
            ),
        }
    }
}

/// The functions with a form with large counts: both.
fn functions() -> impl Iterator<Item = (FnId, FnId)> {
    FnId::all().filter_map(|large| Some((FnId::by_name(large.name().strip_suffix("_c")?)?, large)))
}

/// The table as macros.
fn table() -> String {
    let mut text = String::new();
    for words in 1..=MOST_WORDS {
        let list = |item: &dyn Fn(usize) -> String| (0..words).map(item).collect::<Vec<_>>().join(", ");
        let parameters = list(&|k| format!("word a{k}"));
        let (arguments, elements) = (list(&|k| format!("a{k}")), list(&|k| format!("a[{k}]")));
        // Writing into a String cannot fail.
        let _ = writeln!(text, "#define PARAMETERS_{words} {parameters}");
        let _ = writeln!(text, "#define ARGUMENTS_{words} {arguments}\n#define ELEMENTS_{words} {elements}");
    }
    let rows: Vec<String> = functions().filter_map(|(small, large)| row(small, large)).collect();
    let _ = writeln!(text, "#define FUNCTIONS(F) \\\n    {}", rows.join(" \\\n    "));
    text
}

/// `F(MPI_Send, 6, "wcwwwC", 0, 0)`; `None` for functions that store counts, of which a program with real arguments has to be the test.
fn row(small: FnId, large: FnId) -> Option<String> {
    let (narrow, wide) = (small.parameters(), large.parameters());
    let is_stored = |parameter: &Parameter| {
        matches!(parameter.direction, Direction::Out | Direction::InOut) && parameter.ctype().starts_with("MPI_Count *")
    };
    if wide.iter().any(is_stored) || small.name() == "MPI_Win_shared_query" || narrow.len() != wide.len() {
        return None;
    }
    let name = small.name();
    let pattern: String = narrow.iter().zip(wide).map(|(narrow, wide)| letter(narrow, wide)).collect();
    let has_arrays = pattern.contains(['n', 'N', 's', 'd']);
    let returns_at_once = wide.iter().any(|parameter| parameter.kind == Kind::Request);
    let has_callbacks = wide.iter().any(|parameter| parameter.kind == Kind::Callback);
    let makes_a_type = name.starts_with("MPI_Type_");
    let past = makes_a_type || has_callbacks || (has_arrays && returns_at_once);
    let takes_in_place = !name.contains("eighbor") && wide.first().is_some_and(|first| first.name() == "sendbuf");
    let receive = wide.iter().position(|parameter| parameter.name() == "recvbuf").unwrap_or(0);
    let side = if takes_in_place && pattern.get(..receive)?.contains('n') { receive } else { 0 };
    Some(format!("F({name}, {}, \"{pattern}\", {}, {side})", pattern.len(), u8::from(past)))
}

fn letter(narrow: &Parameter, wide: &Parameter) -> char {
    match (wide.kind, wide.name()) {
        (Kind::Communicator, _) if wide.direction == Direction::In => 'C',
        (_, "root") => 'r',
        _ if narrow.ctype() == wide.ctype() => 'w',
        _ if !wide.ctype().ends_with("[]") => {
            if wide.kind == Kind::Callback {
                'w'
            } else {
                'c'
            }
        }
        _ => match wide.length() {
            [Factor::Ranks(_)] if wide.at_root => 'N',
            [Factor::Ranks(_)] => 'n',
            [Factor::Sources(_)] => 's',
            [Factor::Destinations(_)] => 'd',
            // Of a datatype's constructor, which is never adapted.
            _ => 'w',
        },
    }
}
