//! Functions that are not MPI's and that a tool wraps: preloaded, it gets the calls that the program and its libraries make of them.
//!
//! Many tools export names of the C library without meaning to, those of a library that is linked in (`getopt` of gnulib). A name counts
//! where the file shows how a wrapper goes on:
//!
//! | evidence | as in |
//! |---|---|
//! | the name, or another one of the function, is among the strings, and `dlsym` or `dlvsym` among the imports | `dlsym(RTLD_NEXT, "open")`, `"vfscanf"` |
//! | another name of the function is imported: `__real_f`, `__libc_f`, `__f`, `_IO_f`, `vf` | `__libc_malloc`, `vprintf` |
//! | the compiler inserts calls of it (`-finstrument-functions`, `-pg`) | `__cyg_profile_func_enter` |
//! | a run-time library looks for tools by this name, and has a function without effect where there is none | `ompt_start_tool` |

use std::collections::{HashMap, HashSet};

use qmpi_abi::{classify, is_mpi_like};
use qmpi_dynamic::SymbolKind;

use crate::error::ElfError;
use crate::file::ElfFile;
use crate::tool::spelling;

/// A function that is not MPI's and that a tool wraps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wrapped {
    /// Its name.
    pub name: String,
    /// What shows that it is a wrapper.
    pub evidence: Evidence,
}

/// What shows that a function is a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// The tool may look the next function up by this name.
    LookUp,
    /// It imports the function under another name.
    OtherName,
    /// Compilers insert calls of it.
    Instrumentation,
    /// Run-time libraries call it to find a tool.
    Interface,
}

impl Evidence {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::LookUp => "looked up by name",
            Evidence::OtherName => "imported under another name",
            Evidence::Instrumentation => "called by instrumented code",
            Evidence::Interface => "called by run-time libraries",
        }
    }
}

/// Functions that go on to nothing: compilers call them in every function of a program, or a standard lets a tool be found by them. OpenMP 5:
/// the library calls its own, which is weak, through its PLT, and does without a tool if it gets there. That of OpenACC is looked up, or
/// a weak reference: these get what a tool exports in any case.
const HOOKS: [(&str, Evidence); 6] = [
    ("__cyg_profile_func_enter", Evidence::Instrumentation),
    ("__cyg_profile_func_exit", Evidence::Instrumentation),
    ("__fentry__", Evidence::Instrumentation),
    ("_mcount", Evidence::Instrumentation),
    ("mcount", Evidence::Instrumentation),
    ("ompt_start_tool", Evidence::Interface),
];
/// Of the object itself: linkers and start files define them in each.
const OWN: [&str; 2] = ["_init", "_fini"];

/// Functions of which one hands out memory that another takes back.
pub const ALLOCATOR: [&str; 12] = [
    "aligned_alloc",
    "calloc",
    "cfree",
    "free",
    "malloc",
    "malloc_usable_size",
    "memalign",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "reallocarray",
    "valloc",
];

/// Does a function of this name hand memory out, or take it back?
pub fn is_of_allocator(name: &str) -> bool {
    ALLOCATOR.contains(&name)
}

/// Are there wrappers of functions that hand memory out, and none of `free`? What they may keep before a block, the C library's `free`
/// would not find.
pub fn lacks_free(wrapped: &[Wrapped]) -> bool {
    let has_free = wrapped.iter().any(|wrapped| wrapped.name == "free");
    !has_free && wrapped.iter().any(|wrapped| is_of_allocator(&wrapped.name))
}

/// The functions that are not MPI's and that `object` exports, whether they are wrappers or not.
pub fn exported(object: &ElfFile) -> impl Iterator<Item = &str> {
    let functions = object
        .exports()
        .filter(|symbol| matches!(symbol.kind(), SymbolKind::Function | SymbolKind::Ifunc | SymbolKind::Untyped));
    functions.map(|symbol| symbol.name).filter(|name| {
        !is_mpi_like(name) && !OWN.contains(name) && !name.starts_with("QMPI") && classify(name).is_none()
    })
}

/// Is it one of these? Few names get as far as the walk over all of them.
fn is_exported(object: &ElfFile, name: &str) -> bool {
    !name.is_empty() && object.finds(name) && exported(object).any(|exported| exported == name)
}

/// Those of which the file shows that they are wrappers. Sorted.
pub(crate) fn find(object: &ElfFile) -> Result<Vec<Wrapped>, ElfError> {
    let mut found: HashMap<String, Evidence> = HashMap::new();
    let mut looks_up = false;
    for import in object.imports() {
        looks_up |= matches!(import.name, "dlsym" | "dlvsym");
        if import.name.starts_with(['_', 'v']) {
            let names = spelling::imported_for(import.name).into_iter();
            found.extend(names.filter(|name| is_exported(object, name)).map(|name| (name, Evidence::OtherName)));
        }
    }
    let hooks = HOOKS.into_iter().filter(|(name, _)| is_exported(object, name));
    found.extend(hooks.map(|(name, evidence)| (name.to_owned(), evidence)));
    // All exports are gone through only where there may be a look-up: an MPI tool has hundreds.
    let exports: HashSet<&str> = if looks_up { exported(object).collect() } else { HashSet::new() };
    let others: Vec<(Vec<String>, &str)> =
        exports.iter().map(|export| (spelling::looked_up_as(export), *export)).collect();
    if !exports.is_empty() {
        let others = others.iter().flat_map(|(names, export)| names.iter().map(|name| (name.as_str(), *export)));
        let names = Ends::of(exports.iter().map(|export| (*export, *export)).chain(others));
        let texts = object.strings_in_rodata(&|text| names.functions(text).next().is_some())?;
        let functions = texts.iter().flat_map(|text| names.functions(text));
        found.extend(functions.map(|name| (name.to_owned(), Evidence::LookUp)));
    }
    let mut found: Vec<Wrapped> = found.into_iter().map(|(name, evidence)| Wrapped { name, evidence }).collect();
    found.sort_unstable();
    Ok(found)
}

/// Names of functions by their ends: linkers keep `open` as the end of `fopen`.
struct Ends<'a> {
    /// The functions that each name is evidence of.
    functions: HashMap<&'a str, Vec<&'a str>>,
    lengths: Vec<usize>,
    /// Which pairs of last bytes there are: most strings end otherwise.
    last: HashSet<[u8; 2]>,
}

impl<'a> Ends<'a> {
    /// Pairs of a name and a function.
    fn of(names: impl Iterator<Item = (&'a str, &'a str)>) -> Ends<'a> {
        let mut functions: HashMap<&str, Vec<&str>> = HashMap::new();
        names.for_each(|(name, function)| functions.entry(name).or_default().push(function));
        let mut lengths: Vec<usize> = functions.keys().map(|name| name.len()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let last = functions.keys().filter_map(|name| name.as_bytes().last_chunk::<2>().copied()).collect();
        Ends { functions, lengths, last }
    }

    /// The functions that a name is evidence of with which `text` ends.
    fn functions(&self, text: &str) -> impl Iterator<Item = &'a str> {
        let may_be_one = text.as_bytes().last_chunk::<2>().is_some_and(|last| self.last.contains(last));
        let lengths = self.lengths.iter().take_while(move |length| may_be_one && **length <= text.len());
        lengths.filter_map(|length| self.functions.get(text.get(text.len() - length..)?)).flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ends_of_strings() {
        let names = ["open", "fopen", "dup", "read"].map(|name| (name, name));
        let ends = Ends::of(names.into_iter().chain([("vfscanf", "__isoc99_fscanf")]));
        let of = |text| {
            let mut found: Vec<&str> = ends.functions(text).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(of("open"), ["open"]);
        assert_eq!(of("freopen"), ["open"]);
        assert_eq!(of("fopen"), ["fopen", "open"]);
        assert_eq!(of("fdup"), ["dup"]);
        assert_eq!(of("__isoc99_vfscanf"), ["__isoc99_fscanf"]);
        assert!(of("reads").is_empty() && of("d").is_empty() && of("äd").is_empty());
    }
}
