//! The head of an instance's namespace: the provider that comes first in the lookup scope of everything in it.
//!
//! It is what rebinds an unmodified tool. It defines all that the process's MPI libraries define, and
//!
//! | name | address |
//! |---|---|
//! | `PMPI_f` | the next link of the chain for `f` |
//! | `MPI_f` that the tool calls but does not define | the same |
//! | a function that the tool itself defines | not here: it would steal the tool's calls to itself |
//! | a function that a library of the tool defines | as if it did not: what a preloaded tool needs comes after MPI |
//! | `pmpi_f_` and the other spellings, that the tool calls | the next link of Fortran |
//! | MPI's variables, Fortran's common blocks included | the process's, always: their addresses mean `MPI_IN_PLACE`, ... (`sentinels.rs`) |
//! | what the tool refers to and the MPI of the process lacks | a stub that says so when it is called |
//! | what the tool refers to and only the application has | the application's, as under `LD_PRELOAD` |
//! | functions of the dynamic linker, `getenv` | the overrides |

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{CStr, CString};

use qmpi_elf::write::provider::{Provided, ProvidedKind};
use qmpi_elf::{Name, Names, SymbolKind, Tool};
use qmpi_overrides::names;

use crate::error::LoadError;
use crate::image::Image;
use crate::links::missing;
use crate::process::dlsym;
use crate::process::{Export, Process};
use crate::{log, overrides};

/// The function by which an unwinder asks a frame of C++ what to do (Itanium C++ ABI: Exception Handling, 2.5).
const PERSONALITY: &CStr = c"__gxx_personality_v0";

/// The functions that share the state of C++ exceptions (the same, 2.4 and 2.5, and what libstdc++ adds).
const EXCEPTION_HANDLING: [&CStr; 20] = [
    PERSONALITY,
    c"__cxa_allocate_exception",
    c"__cxa_free_exception",
    c"__cxa_allocate_dependent_exception",
    c"__cxa_free_dependent_exception",
    c"__cxa_init_primary_exception",
    c"__cxa_throw",
    c"__cxa_rethrow",
    c"__cxa_begin_catch",
    c"__cxa_end_catch",
    c"__cxa_get_exception_ptr",
    c"__cxa_current_exception_type",
    c"__cxa_get_globals",
    c"__cxa_get_globals_fast",
    c"__cxa_call_terminate",
    c"__cxa_call_unexpected",
    c"_ZSt18uncaught_exceptionv",
    c"_ZSt19uncaught_exceptionsv",
    c"_ZSt17current_exceptionv",
    c"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
];

/// What the head is made of.
pub(crate) struct Head<'a> {
    pub(crate) process: &'a Process,
    pub(crate) tool: &'a Tool,
    /// The next link for each function, 0 where nothing below has it.
    pub(crate) links: &'a [usize],
    pub(crate) instance: &'static crate::Instance,
}

impl Head<'_> {
    /// Writes it as the library `soname`, which needs `needed`.
    pub(crate) fn write(&self, soname: &str, needed: &[&str]) -> Result<Vec<u8>, LoadError> {
        let own = self.functions_of_tool();
        let mut symbols: Vec<Provided<'_>> = Vec::with_capacity(4096);
        let mut versions: Vec<&str> = self.process.shared(soname).into_iter().flat_map(Image::version_names).collect();
        symbols.extend(overrides::symbols(self.instance, &mut versions)?);
        symbols.retain(|symbol| !own.contains(&symbol.name));
        for Export { symbol, function } in self.process.exports() {
            if symbol.kind == ProvidedKind::Function && own.contains(&symbol.name) {
                continue;
            }
            let link = match function {
                Some(id) => Some(self.links[id.index()]).filter(|link| *link != 0),
                None if self.instance.fortran_links.is_empty() => None,
                None => str::from_utf8(symbol.name.bytes())
                    .ok()
                    .and_then(|name| self.instance.fortran_links.get(name))
                    .copied(),
            };
            symbols.push(link.map_or(*symbol, |link| symbol.at(link)));
        }
        symbols.extend(self.exception_handling(&own));
        let extra = self.imports_that_mpi_lacks(&own)?;
        symbols.extend(extra.iter().map(|(name, address)| Provided::function(*name, *address)));
        Ok(qmpi_elf::write::provider::write(soname, needed, &versions, &symbols)?)
    }

    fn functions_of_tool(&self) -> Names<'_> {
        let root = self.tool.closure.root();
        root.exports()
            .filter(|symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Ifunc))
            .filter(|symbol| root.finds(symbol.name))
            .map(|symbol| Name::from(symbol.name))
            .collect()
    }

    /// The process's functions of C++ exception handling, where the tool or the program has them in its own file
    /// (`-static-libstdc++`), in place of the tool's or its library's. An exception passes through frames of the program and of the tool; two copies of these functions
    /// do not know each other's state. Under `LD_PRELOAD` both use one copy, too, whichever comes first.
    fn exception_handling(&self, own: &Names<'_>) -> Vec<Provided<'_>> {
        let of_program = || self.process.images().first().is_some_and(|program| program.find(PERSONALITY).is_some());
        let brings_it = own.contains(&Name::from(PERSONALITY)) || of_program();
        let names = EXCEPTION_HANDLING.iter().copied().filter(move |_| brings_it);
        names.filter_map(|name| Some(Provided::function(name, dlsym::global(name)?))).collect()
    }

    /// Addresses for what the tool imports and no MPI library of the process defines.
    fn imports_that_mpi_lacks(&self, own: &Names<'_>) -> Result<Vec<(&str, usize)>, LoadError> {
        const OTHER_MPI: &str =
            "run the tool on an MPI that has this function, or list only other functions under `functions`";
        let tool = &self.instance.label;
        let mut extra = Vec::new();
        let mut seen = HashSet::new();
        let objects = self.tool.closure.objects.iter();
        for symbol in objects.flat_map(|object| object.symbols()).filter(|symbol| !symbol.defined) {
            let name = symbol.name;
            let wanted = !symbol.weak && names::is_mpi_function(name) && !own.contains(&Name::from(name));
            if !wanted || self.process.exports_name(name) || !seen.insert(name) {
                continue;
            }
            let fortran = || self.instance.fortran_links.get(name).copied();
            let address = match names::link(self.links, name).or_else(fortran) {
                Some(link) => link,
                None => {
                    let reason = format!("which {} does not have", self.process.mpi_name());
                    missing::stub(tool, name, reason, OTHER_MPI)?
                }
            };
            extra.push((name, address));
        }
        for name in &self.tool.of_unnamed_libraries {
            let address = CString::new(name.as_str()).ok().and_then(|name| dlsym::global(&name));
            if let Some(address) = address.filter(|_| !self.process.exports_name(name) && seen.insert(name)) {
                extra.push((name, address));
            }
        }
        let called = OnceCell::new();
        let mut undefined = Vec::new();
        for name in &self.tool.undefined_elsewhere {
            if self.process.exports_name(name) || !seen.insert(name) {
                continue;
            }
            let address = match CString::new(name.as_str()).ok().and_then(|name| dlsym::global(&name)) {
                Some(address) => address,
                None => {
                    undefined.push(name.as_str());
                    self.stub_of_undefined(name, called.get_or_init(|| self.tool.called()))?
                }
            };
            extra.push((name, address));
        }
        self.warn_of_undefined(&undefined);
        Ok(extra)
    }

    /// A stub for a function that nothing in the process defines.
    fn stub_of_undefined(&self, name: &str, called: &HashSet<&str>) -> Result<usize, LoadError> {
        let path = &self.instance.path;
        if !called.contains(name) {
            return Err(LoadError::UndefinedData { path: path.clone(), symbol: name.into() });
        }
        let reason = format!("which nothing defines ({})", path.display());
        missing::stub_until_defined(&self.instance.label, name, reason, UNDEFINED)
    }

    /// One line, however many they are.
    fn warn_of_undefined(&self, names: &[&str]) {
        let path = self.instance.path.display();
        let text = match names {
            [] => return,
            [name] => format!("{path}: undefined symbol {name}: a call of it will end the process"),
            [name, rest @ ..] => format!(
                "{path}: {} undefined symbols, {name} and {} more: a call of one will end the process",
                names.len(),
                rest.len()
            ),
        };
        log::warn(&text, Some(UNDEFINED));
    }
}

/// What to do about undefined functions.
const UNDEFINED: &str = "link the tool with the library that defines it (readelf -d shows what it is linked with)";
