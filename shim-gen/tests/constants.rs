//! The constants of every real `mpi.h`, as its compiler sees them, are those of `bridge/abi/constants.tsv`.
//!
//! Needs `QMPI_TEST_HEADERS` (see `fresh.rs`) and a C compiler (`cc`, or `$CC`). `BLESS=1` rewrites the file.

#![expect(clippy::unwrap_used, reason = "tests")]

mod headers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use headers::include_directories;
use regex::Regex;

const TABLE: &str = "../bridge/abi/constants.tsv";
const HEAD: &str = "\
# @generated from the headers of MPI libraries by `BLESS=1 cargo nextest run -p shim-gen constants`.
# What a value of a kind is called. `&` is the address of a variable of the MPI library; `-`: the MPI does not have it. Where releases differ,
# their values are separated by `|`, the oldest first.
kind	name	mpich	openmpi	abi
";

/// Kinds of `parameters.tsv` by the type that a constant has.
const TYPES: [(&str, &str); 14] = [
    ("MPI_Comm", "communicator"),
    ("MPI_Group", "group"),
    ("MPI_Datatype", "datatype"),
    ("MPI_Op", "op"),
    ("MPI_Request", "request"),
    ("MPI_Message", "message"),
    ("MPI_Win", "window"),
    ("MPI_File", "file"),
    ("MPI_Info", "info"),
    ("MPI_Errhandler", "errhandler"),
    ("MPI_Session", "session"),
    ("MPI_Status *", "status"),
    ("void *", "buffer"),
    ("int *", "weight"),
];

/// The same by names, of numbers.
const NAMES: [(&str, &str); 17] = [
    ("MPI_(T_)?ERR_\\w+|MPI_SUCCESS", "error_code"),
    ("MPI_THREAD_\\w+", "thread_level"),
    ("MPI_(IDENT|CONGRUENT|SIMILAR|UNEQUAL)", "comparison"),
    ("MPI_COMM_TYPE_\\w+", "split_type"),
    ("MPI_(CART|GRAPH|DIST_GRAPH)", "topology"),
    ("MPI_LOCK_\\w+", "lock_type"),
    ("MPI_MODE_NO\\w+", "assertion"),
    ("MPI_MODE_\\w+", "access_mode"),
    ("MPI_SEEK_\\w+", "whence"),
    ("MPI_ORDER_\\w+", "order"),
    ("MPI_DISTRIBUTE_(BLOCK|CYCLIC|NONE)", "distribution"),
    ("MPI_COMBINER_\\w+", "combiner"),
    ("MPI_TYPECLASS_\\w+", "type_class"),
    ("MPI_(ANY_SOURCE|PROC_NULL|ROOT)", "rank"),
    ("MPI_ANY_TAG", "tag"),
    ("MPI_UNDEFINED", "color"),
    (
        "MPI_(KEYVAL_INVALID|TAG_UB|HOST|IO|WTIME_IS_GLOBAL|UNIVERSE_SIZE|LASTUSEDCODE|APPNUM|WIN_(BASE|SIZE|DISP_UNIT|CREATE_FLAVOR|MODEL))",
        "keyval",
    ),
];

/// Kinds by patterns.
type Patterns = Vec<(Regex, &'static str)>;

static KINDS: LazyLock<(Patterns, Patterns)> = LazyLock::new(|| {
    let cast =
        |ctype: &str| Regex::new(&format!(r"^\(*\(\s*{}\s*\)", regex::escape(ctype).replace(' ', r"\s*"))).unwrap();
    let name = |names: &str| Regex::new(&format!("^({names})$")).unwrap();
    (
        TYPES.iter().map(|(ctype, kind)| (cast(ctype), *kind)).collect(),
        NAMES.iter().map(|(names, kind)| (name(names), *kind)).collect(),
    )
});

fn kind_of(name: &str, expansion: &str) -> Option<&'static str> {
    if let Some((_, kind)) = KINDS.0.iter().find(|(cast, _)| cast.is_match(expansion)) {
        return (!name.contains("ERRCODES")).then_some(kind);
    }
    if expansion.contains('*') || name == "MPI_ERR_LASTCODE" {
        return None;
    }
    KINDS.1.iter().find(|(names, _)| names.is_match(name)).map(|(_, kind)| *kind)
}

fn cc() -> Command {
    Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

fn preprocess(directory: &Path, text: &str, options: &[&str]) -> String {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("constants-{}.c", std::process::id()));
    std::fs::write(&file, text).unwrap_or_else(|error| panic!("{error}"));
    let output = cc().args(["-E", "-P"]).args(options).arg("-I").arg(directory).arg(&file).output();
    let output = output.unwrap_or_else(|error| panic!("no compiler: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Constants of a header: kind, name and value.
fn constants(label: &str, directory: &Path) -> BTreeMap<(&'static str, String), String> {
    const INCLUDE: &str = "#include <mpi.h>\n";
    let mut names = BTreeSet::new();
    let macros = Regex::new(r"(?m)^#define (MPI_[A-Z0-9_]+) ").unwrap();
    for found in macros.captures_iter(&preprocess(directory, INCLUDE, &["-dM"])) {
        names.insert(found[1].to_owned());
    }
    let (enums, member) =
        (Regex::new(r"enum\s*\w*\s*\{([^}]*)\}").unwrap(), Regex::new(r"\bMPI_[A-Z0-9_]+\b").unwrap());
    for found in enums.captures_iter(&preprocess(directory, INCLUDE, &[])) {
        names.extend(member.find_iter(&found[1]).map(|name| name.as_str().to_owned()));
    }
    let lines: String = names.iter().map(|name| format!("\n@ @{name}_\n@ {name}")).collect();
    let text = preprocess(directory, &format!("{INCLUDE}{lines}\n"), &[]);
    let mut expansions = text.split("@ @").skip(1).filter_map(|part| {
        let (name, expansion) = part.split_once('@')?;
        Some((name.trim().trim_end_matches('_').to_owned(), expansion.trim().to_owned()))
    });
    let address = Regex::new(r"&\s*\(?\s*(\w+)").unwrap();
    let (mut found, mut numbers) = (BTreeMap::new(), Vec::new());
    for (name, expansion) in expansions.by_ref() {
        let Some(kind) = kind_of(&name, &expansion) else { continue };
        match address.captures(&expansion) {
            Some(variable) => {
                found.insert((kind, name), format!("&{}", &variable[1]));
            }
            // Open MPI says of names that were removed from the standard what took their place.
            None if expansion.contains("_Static_assert") => {}
            None => numbers.push((kind, name)),
        }
    }
    let mut program = format!("#include <stdio.h>\n{INCLUDE}int main(void)\n{{\n");
    for (_, name) in &numbers {
        let _ = writeln!(program, "    printf(\"%lld\\n\", (long long)({name}));");
    }
    program.push_str("    return 0;\n}\n");
    let code = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("constants-{label}.c"));
    std::fs::write(&code, program).unwrap_or_else(|error| panic!("{error}"));
    let binary = code.with_extension("exe");
    let output = cc().args(["-w", "-I"]).arg(directory).arg(&code).arg("-o").arg(&binary).output();
    let output = output.unwrap_or_else(|error| panic!("no compiler: {error}"));
    assert!(output.status.success(), "{label}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&binary).output().unwrap_or_else(|error| panic!("{error}"));
    let values = String::from_utf8_lossy(&output.stdout).into_owned();
    found.extend(numbers.into_iter().zip(values.lines().map(str::to_owned)));
    found
}

#[test]
fn constants_are_those_of_the_headers() {
    let Some(directories) = include_directories() else { return };
    let families = ["mpich", "openmpi", "mpi_abi"];
    let mut rows: BTreeMap<(&str, String), [Vec<String>; 3]> = BTreeMap::new();
    for (label, directory) in directories {
        let family = families.iter().position(|family| label.starts_with(family)).unwrap_or_else(|| panic!("{label}"));
        for (constant, value) in constants(&label, &directory) {
            let values = &mut rows.entry(constant).or_default()[family];
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    let mut text = HEAD.to_owned();
    for ((kind, name), values) in &rows {
        let cells = values.each_ref().map(|values| if values.is_empty() { "-".to_owned() } else { values.join("|") });
        let _ = writeln!(text, "{kind}\t{name}\t{}", cells.join("\t"));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(TABLE, text).unwrap_or_else(|error| panic!("{error}"));
        return;
    }
    let known = std::fs::read_to_string(TABLE).unwrap_or_default();
    assert!(known == text, "{TABLE} is not what the headers say: run with BLESS=1 and look at the difference");
}
