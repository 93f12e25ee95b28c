//! Settings of a tool's section that cure what `qmpi inspect` reports of it.
//!
//! | reported | cured by |
//! |---|---|
//! | a library that it would have a copy of, whatever the program has: it calls MPI, or has thread-local variables for others | `share` |
//! | a library of its own uses glibc's internals | `share` |
//! | functions that no library of its own defines, or a library that is not found, and a file beside it has them | `with` |

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use qmpi_abi::classify;
use qmpi_elf::{
    ElfFile, SymbolKind, Tool, ToolKind, is_glibc_family, is_language_runtime, is_mpi_soname, requires_glibc_private,
};

use crate::report::listing::{file_name, shortened};

/// Files of a directory that are looked at, at most: a tool's own has few, one of the system thousands.
const MOST_FILES: usize = 200;
const SHOWN: usize = 4;

/// For a tool, each as a line.
pub(crate) fn of(tool: &Tool) -> Vec<String> {
    // Other kinds are loaded into the program's namespace, and have neither setting.
    if tool.kind != ToolKind::Pmpi {
        return Vec::new();
    }
    tool.closure.private().iter().filter_map(|library| share(tool, library)).chain(with(tool)).collect()
}

/// When a library of the tool's own should be the process's, if it may have to be.
fn share(tool: &Tool, library: &ElfFile) -> Option<String> {
    let name = library.name();
    let is_wrapped = || tool.wrapped.iter().any(|wrapped| library.finds(&wrapped.name));
    // A program seldom has what lies beside a tool.
    let is_beside = || library.path().parent() == tool.closure.root().path().parent();
    let reason = if requires_glibc_private(library) {
        "as it uses glibc's internals, which the process has once"
    } else if is_language_runtime(name) || is_wrapped() || is_beside() {
        return None;
    } else if calls_mpi(tool, library, &mut Vec::new()) {
        "if the program has this library, too, and both have to use one copy: as it calls MPI, the tool has its own otherwise"
    } else if has_thread_local_variables(library) {
        "if the program has this library, too, and both have to use one copy: as it has thread-local variables for others, the tool has its own otherwise"
    } else {
        return None;
    };
    Some(format!("share = [\"{name}\"] in its section, {reason}"))
}

/// Does a library call MPI, or need one of the tool's own that does?
fn calls_mpi<'a>(tool: &'a Tool, library: &'a ElfFile, seen: &mut Vec<&'a str>) -> bool {
    if seen.contains(&library.name()) {
        return false;
    }
    seen.push(library.name());
    let needed = |other: &&'a ElfFile| library.needed().iter().any(|name| name == other.name());
    library.imports().any(|symbol| classify(symbol.name).is_some())
        || tool.closure.private().iter().filter(needed).any(|other| calls_mpi(tool, other, seen))
}

fn has_thread_local_variables(library: &ElfFile) -> bool {
    library.exports().any(|symbol| symbol.kind() == SymbolKind::Tls)
}

/// The files beside the tool that have what it lacks.
fn with(tool: &Tool) -> Option<String> {
    let absent = tool.closure.missing.iter().filter(|missing| missing.error.is_none());
    let missing: Vec<&str> = absent.map(|missing| missing.name.as_str()).collect();
    let mut undefined: BTreeSet<&str> = tool.undefined_elsewhere.iter().map(String::as_str).collect();
    if missing.is_empty() && undefined.is_empty() {
        return None;
    }
    let root = tool.closure.root();
    let directory = root.path().parent()?;
    let mut names = Vec::new();
    let mut reasons = Vec::new();
    for library in libraries_in(directory, tool) {
        let defined: Vec<&str> = undefined.iter().filter(|name| library.finds(name)).copied().collect();
        let is_missing = library.soname().is_some_and(|soname| missing.contains(&soname));
        if defined.is_empty() && !is_missing {
            continue;
        }
        let file = file_name(library.path());
        reasons.push(match is_missing {
            true => format!("{file} is beside it, where it does not look"),
            false => format!("{file}, beside it, defines {}", shortened(&defined, SHOWN)),
        });
        names.push(format!("\"{file}\""));
        undefined.retain(|name| !library.finds(name));
    }
    if names.is_empty() {
        return None;
    }
    let given = tool.closure.before().iter().map(|part| match part.path().parent() == Some(directory) {
        true => format!("\"{}\"", file_name(part.path())),
        false => format!("\"{}\"", part.path().display()),
    });
    names.extend(given);
    Some(format!("with = [{}] in its section: {}", names.join(", "), reasons.join("; ")))
}

/// Other shared objects of a directory than those of the tool, each once, by name.
fn libraries_in(directory: &Path, tool: &Tool) -> Vec<ElfFile> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| file_name(path).contains(".so")).collect();
    if paths.len() > MOST_FILES {
        return Vec::new();
    }
    paths.sort();
    let machine = tool.closure.root().machine();
    let mut known: Vec<(u64, u64)> = tool.closure.objects.iter().map(ElfFile::identity).collect();
    let mut libraries = Vec::new();
    for path in paths {
        let Ok(library) = ElfFile::open_for(&path, machine) else { continue };
        let is_other = library.is_shared_object() && !is_glibc_family(library.name()) && !is_mpi_soname(library.name());
        if is_other && !known.contains(&library.identity()) {
            known.push(library.identity());
            libraries.push(library);
        }
    }
    libraries
}
