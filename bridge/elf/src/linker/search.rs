//! Where the dynamic linker would find a library, asked before it is asked.
//!
//! In the order of glibc (elf/dl-load.c, `_dl_map_object`). Left out: the executable's own RPATH where it is not in the chain, LD_PRELOAD,
//! and `glibc-hwcaps` subdirectories, which hold variants of the same interface.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use goblin::elf::header::{EI_CLASS, EI_DATA, ELFCLASS64, ELFMAG};
use qmpi_dynamic::Machine;

use crate::file::ElfFile;
use crate::linker::ld_cache::LdCache;
use crate::machine;

const CACHE: &str = "/etc/ld.so.cache";

/// The part of the search that does not depend on the requiring object.
#[derive(Debug)]
pub struct SearchPath {
    library_path: Vec<PathBuf>,
    /// Read when first needed: a tool without private libraries never does.
    cache: OnceLock<LdCache>,
    defaults: Vec<PathBuf>,
    machine: Machine,
}

impl SearchPath {
    /// The search of this process: LD_LIBRARY_PATH as it is now, the system's cache, the default directories.
    pub fn from_process() -> SearchPath {
        SearchPath::new(std::env::var_os("LD_LIBRARY_PATH").as_deref())
    }

    /// A search with a given LD_LIBRARY_PATH (separators `:` and `;`; an empty element is the current directory).
    pub fn new(library_path: Option<&OsStr>) -> SearchPath {
        let library_path = library_path.filter(|value| !value.is_empty()).map(OsStr::as_bytes);
        let elements = library_path.into_iter().flat_map(|value| value.split(|&byte| byte == b':' || byte == b';'));
        let directories = elements.flat_map(|element| match std::str::from_utf8(element) {
            // glibc expands the tokens here too; $ORIGIN is the executable's directory then,
            // which is not known before it runs.
            Ok(text) => expand(text, None, Machine::HOST),
            Err(_) => vec![PathBuf::from(OsStr::from_bytes(element))],
        });
        SearchPath {
            library_path: directories.collect(),
            cache: OnceLock::new(),
            defaults: machine::default_directories(Machine::HOST),
            machine: Machine::HOST,
        }
    }

    /// The same for files of a machine. This machine's cache has none of another one's.
    pub fn for_machine(self, machine: Machine) -> SearchPath {
        if machine == self.machine {
            return self;
        }
        SearchPath { machine, ..self.with_system(machine::default_directories(machine)) }
    }

    /// The machine whose files are looked for.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The same with these default directories, and without a cache.
    pub fn with_system(self, defaults: Vec<PathBuf>) -> SearchPath {
        SearchPath { cache: OnceLock::from(LdCache::default()), defaults, ..self }
    }

    /// The file for a DT_NEEDED `name` of `requirer`. `chain` holds the objects that brought
    /// `requirer` in, nearest first: their RPATHs are inherited.
    pub fn find(&self, name: &str, requirer: &ElfFile, chain: &[&ElfFile]) -> Option<PathBuf> {
        if name.contains('/') {
            return expand(name, Some(requirer.path()), self.machine).into_iter().find(|path| fits(path, self.machine));
        }
        if name.is_empty() {
            return None;
        }
        if requirer.runpath().is_none() {
            let objects = std::iter::once(requirer).chain(chain.iter().copied());
            // An RPATH next to a RUNPATH is ignored, also as an inherited one.
            for object in objects.filter(|object| object.runpath().is_none()) {
                if let Some(found) = object.rpath().and_then(|list| in_list(list, object, name)) {
                    return Some(found);
                }
            }
        }
        self.in_directories(&self.library_path, name)
            .or_else(|| requirer.runpath().and_then(|list| in_list(list, requirer, name)))
            .or_else(|| if requirer.no_default_lib() { None } else { self.in_system(name) })
    }

    /// The file for a name that no object requires: as for `dlopen("libx.so")` of an executable without paths.
    pub fn find_by_name(&self, name: &str) -> Option<PathBuf> {
        if name.is_empty() || name.contains('/') {
            return None;
        }
        self.in_directories(&self.library_path, name).or_else(|| self.in_system(name))
    }

    fn in_system(&self, name: &str) -> Option<PathBuf> {
        let cache = self.cache.get_or_init(|| LdCache::read(Path::new(CACHE)));
        cache.find(name).filter(|path| fits(path, self.machine)).or_else(|| self.in_directories(&self.defaults, name))
    }

    fn in_directories(&self, directories: &[PathBuf], name: &str) -> Option<PathBuf> {
        directories.iter().map(|directory| directory.join(name)).find(|path| fits(path, self.machine))
    }
}

fn in_list(list: &str, object: &ElfFile, name: &str) -> Option<PathBuf> {
    list.split(':')
        .flat_map(|element| expand(element, Some(object.path()), object.machine()))
        .map(|directory| directory.join(name))
        .find(|path| fits(path, object.machine()))
}

/// Puts in `$ORIGIN`, `$LIB` and `$PLATFORM` (ld.so(8), "Dynamic string tokens"). `$LIB` may give
/// more than one result. An element with `$ORIGIN` where that is not known gives none.
///
/// `$ORIGIN/../$LIB` of `/opt/t/bin/libt.so` → `/opt/t/bin/../lib/x86_64-linux-gnu`, `/opt/t/bin/../lib64`, ...
fn expand(element: &str, object: Option<&Path>, machine: Machine) -> Vec<PathBuf> {
    if element.is_empty() {
        return vec![PathBuf::from(".")];
    }
    // glibc takes the directory of the path after following symbolic links to the directory only, but keeps a relative path absolute.
    let absolute = object.and_then(|path| std::path::absolute(path).ok());
    let origin = absolute.as_deref().and_then(Path::parent).and_then(Path::to_str);
    let mut texts = vec![element.to_owned()];
    let tokens = [
        ("ORIGIN", origin.as_slice()),
        ("PLATFORM", &[machine::platform(machine)]),
        ("LIB", &machine::lib_tokens(machine)),
    ];
    for (token, values) in tokens.into_iter().filter(|(token, _)| replace_token(element, token, "") != element) {
        let replaced = |text: &String| values.iter().map(|value| replace_token(text, token, value)).collect::<Vec<_>>();
        texts = texts.iter().flat_map(replaced).collect();
    }
    texts.into_iter().map(PathBuf::from).collect()
}

/// Replaces `$TOKEN` and `${TOKEN}`. Without braces the name ends where no identifier goes on
/// (glibc elf/dl-load.c, `is_dst`): `$LIBRARY` is not `$LIB`.
fn replace_token(text: &str, token: &str, value: &str) -> String {
    let mut result = String::with_capacity(text.len() + value.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        result.push_str(before);
        let behind = &from[1..];
        let braced = behind.strip_prefix('{').and_then(|rest| rest.strip_prefix(token)?.strip_prefix('}'));
        let plain = behind
            .strip_prefix(token)
            .filter(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_'));
        let token = braced.or(plain);
        result.push_str(if token.is_some() { value } else { "$" });
        rest = token.unwrap_or(behind);
    }
    result.push_str(rest);
    result
}

/// Whether ld.so would stop at this file: it goes on past files that are missing or made for another
/// machine (elf/dl-load.c, `open_verify`), but an unreadable or damaged one is an error.
fn fits(path: &Path, machine: Machine) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut head = [0; 20];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut head, 0));
    if read.is_err() || !head.starts_with(ELFMAG) {
        // Not passed over: opening it will say what is wrong.
        return true;
    }
    head[EI_CLASS] == ELFCLASS64
        && head[EI_DATA] == machine::HOST_BYTE_ORDER
        && u16::from_le_bytes([head[18], head[19]]) == machine::number(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_where_identifiers_end() {
        assert_eq!(replace_token("$ORIGIN/../lib", "ORIGIN", "/o"), "/o/../lib");
        assert_eq!(replace_token("a${ORIGIN}b$ORIGINx$", "ORIGIN", "/o"), "a/ob$ORIGINx$");
        assert_eq!(replace_token("$LIBRARY:$LIB", "LIB", "lib64"), "$LIBRARY:lib64");
    }

    #[test]
    fn expansion() {
        let object = Path::new("/opt/t/libt.so");
        assert_eq!(expand("${ORIGIN}/x", Some(object), Machine::X86_64), [PathBuf::from("/opt/t/x")]);
        assert!(expand("$ORIGIN/x", None, Machine::X86_64).is_empty());
        assert_eq!(expand("", None, Machine::X86_64), [PathBuf::from(".")]);
        assert!(expand("/usr/$LIB", None, Machine::X86_64).contains(&PathBuf::from("/usr/lib64")));
    }

    #[test]
    fn finds_the_systems_libc() {
        let found = SearchPath::new(None).find_by_name("libc.so.6");
        assert!(found.is_some_and(|path| path.ends_with("libc.so.6")));
        assert_eq!(SearchPath::new(None).find_by_name("libqmpi-there-is-none.so"), None);
    }
}
