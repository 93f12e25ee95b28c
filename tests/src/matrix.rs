//! Tools of each kind that intercept every function of the table, and a program that calls every function: their C sources.
//!
//! The C text is in `matrix/`; from the table come macros that it is written with. One of the files holds for every MPI:
//! all arguments are words, and no header of an MPI is read.

use std::fmt::Write;
use std::path::PathBuf;

use qmpi_abi::{FnId, ResultKind, thesis};

use crate::{Mpi, artifact, compile, product};

const TRACE: &str = include_str!("matrix/trace.h");
const TOOL: &str = include_str!("matrix/tool.h");
const PMPI: &str = include_str!("matrix/pmpi.c");
const QMPI: &str = include_str!("matrix/qmpi.c");
const THESIS: &str = include_str!("matrix/thesis.c");
const THESIS_HEADER: &str = include_str!("../../bridge/include/qmpi_thesis.h");
const PROGRAM: &str = include_str!("matrix/program.c");

/// The most words that any function takes.
const MOST_WORDS: u8 = 13;

/// The C sources, written below `target/tests`.
#[derive(Debug)]
pub struct Matrix {
    directory: PathBuf,
}

impl Matrix {
    /// Writes all files, those that are as they should be excepted.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn write() -> Matrix {
        let matrix = Matrix { directory: product::target().join("tests/matrix") };
        std::fs::create_dir_all(&matrix.directory)
            .unwrap_or_else(|error| panic!("{}: {error}", matrix.directory.display()));
        let table = table();
        let tool = |name: &str, kind: char, define: &str, text: &str| {
            let kind = format!("#define KIND '{kind}'\n{define}");
            matrix.file(name, "-O1 -g0", &[&table, TRACE, &kind, TOOL, text]);
        };
        for copy in ["", "2"] {
            tool(&format!("p{copy}"), 'p', "", PMPI);
            tool(&format!("d{copy}"), 'd', "#define KEEPS_PCONTROL\n", PMPI);
            tool(&format!("q{copy}"), 'q', &format!("#define NAME \"matrix_q{copy}\"\n"), QMPI);
            tool(&format!("t{copy}"), 't', THESIS_HEADER, THESIS);
        }
        tool("s", 's', "#define SINK\n", PMPI);
        // In the place of an MPI library; the name is Open MPI's.
        let library = "-O1 -g0 -Wl,-soname,libmpi.so.40";
        let defines = "#define KIND 's'\n#define SINK\n#define LIBRARY\n";
        matrix.file("library", library, &[&table, TRACE, defines, TOOL, PMPI]);
        // The calls stay calls, and dladdr knows the calling functions. What the MPI lacks, libqmpi has.
        let program =
            "-O1 -g0 -fno-optimize-sibling-calls -rdynamic -Wl,--no-as-needed -Wl,--unresolved-symbols=ignore-all";
        for (name, binding) in [("program", "-Wl,-z,lazy"), ("program_now", "-Wl,-z,now"), ("program_got", "-fno-plt")]
        {
            matrix.file(name, &format!("{program} {binding}"), &[&table, TRACE, PROGRAM]);
        }
        matrix.file(
            "only_program",
            &format!("{program} -Wl,-rpath,$ORIGIN/without_mpi"),
            &[&table, TRACE, "#define LIBRARY\n", PROGRAM],
        );
        matrix
    }

    /// The tool of a letter, built: `p` (PMPI), `d` (PMPI, keeps `MPI_Pcontrol` for itself), `q` (QMPI), `t` (thesis), `s` (the sink).
    pub fn tool(&self, mpi: Mpi, name: &str) -> PathBuf {
        compile::library(mpi, &self.source(name))
    }

    /// The program, built: `program`, or one of those that are linked in another way.
    pub fn program(&self, mpi: Mpi, name: &str) -> PathBuf {
        compile::executable(mpi, &self.source(name))
    }

    /// The program with a library of its own in the place of MPI.
    pub fn program_without_mpi(&self) -> PathBuf {
        // Either MPI will do: neither is used.
        let mpi = Mpi::OpenMpi;
        let library = self.tool(mpi, "library");
        let directory = compile::directory(mpi).join("without_mpi");
        std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let link = directory.join("libmpi.so.40");
        // There already, as a rule.
        let _ = std::os::unix::fs::symlink(library, &link);
        compile::executable_with(mpi, &self.source("only_program"), &link)
    }

    fn source(&self, name: &str) -> PathBuf {
        self.directory.join(format!("matrix_{name}.c"))
    }

    fn file(&self, name: &str, cflags: &str, parts: &[&str]) {
        let mpi = if name.starts_with("program") { "yes" } else { "no" };
        let text = format!("//# needs-mpi: {mpi}\n//# cflags: {cflags}\n//# libs: -ldl\n{}", parts.join("\n"));
        artifact::write_source(&self.source(name), text.as_bytes());
    }
}

/// How many functions there are: the program calls each of them twice.
pub fn functions() -> usize {
    FnId::all().len()
}

/// The table as macros.
fn table() -> String {
    let mut text = String::new();
    for words in 0..=MOST_WORDS {
        lists(&mut text, words);
    }
    let rows: Vec<FnId> = FnId::all().filter(|id| !id.function().variadic).collect();
    let is_vendors = |id: &FnId| id.name().starts_with("OMPI_");
    list(&mut text, "FUNCTIONS(F, D)", rows.iter().filter(|id| !is_vendors(id)).map(|id| row(*id, "")));
    list(&mut text, "VENDOR_FUNCTIONS(F)", rows.iter().filter(|id| is_vendors(id)).map(|id| row(*id, "")));
    let numbered = rows.iter().filter_map(|id| Some((*id, thesis::index(*id)?)));
    list(&mut text, "THESIS_FUNCTIONS(F, D)", numbered.map(|(id, number)| row(id, &format!(", {number}"))));
    for id in FnId::all().filter(|id| id.function().variadic) {
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(text, "#define PCONTROL {}", id.index());
        let _ = writeln!(text, "#define THESIS_PCONTROL {}", thesis::index(id).unwrap_or_default());
    }
    text
}

/// `F(587, MPI_Type_commit, 1)`
fn row(id: FnId, more: &str) -> String {
    let function = id.function();
    match function.result {
        ResultKind::Double => format!("D({}, {}{more})", id.index(), function.name),
        _ => format!("F({}, {}, {}{more})", id.index(), function.name, function.args),
    }
}

fn list(text: &mut String, name: &str, rows: impl Iterator<Item = String>) {
    let rows: Vec<String> = rows.collect();
    let _ = writeln!(text, "#define {name} \\\n    {}", rows.join(" \\\n    "));
}

/// What definitions, calls and checks of a function with so many words are made of.
fn lists(text: &mut String, words: u8) {
    let join = |item: &dyn Fn(u8) -> String| (1..=words).map(item).collect::<Vec<_>>().join(", ");
    let or_void = |list: String| if words == 0 { "void".to_owned() } else { list };
    let (comma, space) = if words == 0 { ("", "") } else { (", ", " ") };
    let params = join(&|k| format!("word a{k}"));
    let types = join(&|_| "word".into());
    let args = join(&|k| format!("a{k}"));
    let checks: String = (1..=words).map(|k| format!(" check(f, {k}, a{k});")).collect();
    for (name, value) in [
        ("PARAMS", or_void(params.clone())),
        ("TYPES", or_void(types.clone())),
        ("ARGS", args.clone()),
        // Behind two others, as QMPI has them.
        ("MORE_PARAMS", format!("{comma}{params}")),
        ("MORE_TYPES", format!("{comma}{types}")),
        ("MORE_ARGS", format!("{comma}{args}")),
        // Before two others, as the thesis has them.
        ("FIRST_PARAMS", format!("{params}{comma}")),
        ("FIRST_TYPES", format!("{types}{comma}")),
        ("FIRST_ARGS", format!("{args}{comma}")),
    ] {
        let _ = writeln!(text, "#define {name}_{words} {value}");
    }
    let patterns = join(&|k| format!("WORD(f, {k})"));
    let _ = writeln!(text, "#define WORDS_{words}(f) {patterns}\n#define MORE_WORDS_{words}(f) {comma}{patterns}");
    let _ = writeln!(text, "#define CHECK_{words}(f){space}{checks}");
}
