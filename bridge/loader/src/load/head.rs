//! The head of an instance's namespace: the provider that comes first in the lookup scope of everything in it.
//!
//! It is what rebinds an unmodified tool. It defines all that the libraries of MPI's interface define in the process, and
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
//! | what the tool refers to, weakly or not, and only the application has | the application's, as under `LD_PRELOAD` |
//! | a function that is not MPI's, that a layer below wraps and the tool does not | the wrapper of that layer |
//! | the functions of an allocator that the tool itself defines | the process's: there is one heap |
//! | functions of the dynamic linker, `getenv`, `atexit` and the like | the overrides |

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use qmpi_abi::{FnId, is_mpi_like};
use qmpi_elf::tool::wrapped;
use qmpi_elf::write::provider::{Life, Provided, ProvidedKind, Template};
use qmpi_elf::{ElfFile, Name, NamedSymbol, Names, Tool};
use qmpi_links::missing;
use qmpi_system::log;

use crate::error::LoadError;
use crate::image::{Image, SymbolKind};
use crate::instance::Instance;
use crate::namespace::thread_local;
use crate::overrides;
use crate::process::{Export, Process, dlsym};

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
    pub(crate) tool: &'a Tool,
    pub(crate) instance: &'static Instance,
    /// The function that libraries of the namespace are to call before their constructors (`namespace/thread_local.rs`).
    pub(crate) before_constructors: Option<usize>,
}

/// What the address of a symbol is.
#[derive(Debug, Clone, Copy)]
enum SymbolAddress {
    /// The next link of a function; `otherwise` where there is none.
    Link { id: FnId, otherwise: usize },
    /// The same for all instances of the tool.
    Common(usize),
    /// Another one for each instance.
    Own(usize),
}

impl SymbolAddress {
    fn above(self, links: &[usize]) -> usize {
        match self {
            SymbolAddress::Link { id, otherwise } if links[id.index()] == 0 => otherwise,
            SymbolAddress::Link { id, .. } => links[id.index()],
            SymbolAddress::Common(address) | SymbolAddress::Own(address) => address,
        }
    }
}

/// Heads from which those of other instances of the same tools are made: only addresses differ.
#[derive(Debug, Default)]
pub(crate) struct Heads<'a>(Vec<Written<'a>>);

/// A head that was written.
#[derive(Debug)]
struct Written<'a> {
    tool: &'a Tool,
    process: Arc<Process>,
    soname: String,
    needed: Vec<String>,
    /// The functions that the tool defines itself.
    own: Names<'a>,
    /// How many of its symbols are overrides; an instance with variables of its own has more.
    overrides: usize,
    template: Template,
    /// Of all symbols behind the overrides.
    addresses: Vec<SymbolAddress>,
}

impl<'a> Heads<'a> {
    /// Which one `head` is made from as the library `soname`, which needs `needed` and has so many overrides.
    fn like(&self, head: &Head<'a>, soname: &str, needed: &[&str], overrides: usize) -> Option<usize> {
        let is_like = |written: &Written<'_>| {
            std::ptr::eq(written.tool, head.tool)
                && Arc::ptr_eq(&written.process, &head.instance.process)
                && written.soname == soname
                && written.needed == needed
                && written.overrides == overrides
        };
        self.0.iter().position(is_like).filter(|_| head.has_common_symbols())
    }
}

impl<'a> Head<'a> {
    fn process(&self) -> &'static Process {
        &self.instance.process
    }

    /// The next link for each function, 0 where nothing below has it.
    fn links(&self) -> &'static [usize] {
        self.instance.answers.links
    }

    /// Writes it as the library `soname`, which needs `needed`.
    pub(crate) fn write<'h>(
        &self,
        soname: &str,
        needed: &[&str],
        heads: &'h mut Heads<'a>,
    ) -> Result<Cow<'h, [u8]>, LoadError> {
        let shared = self.process().shared(soname);
        let mut versions: Vec<&str> = shared.into_iter().flat_map(Image::version_names).collect();
        let mut symbols = overrides::symbols(self.instance, &mut versions);
        let provided = symbols.len();
        if let Some(index) = heads.like(self, soname, needed, provided) {
            let written = &mut heads.0[index];
            symbols.retain(|symbol| !written.own.contains(&symbol.name));
            let overrides = symbols.iter().map(|symbol| symbol.address);
            let others = written.addresses.iter().map(|address| address.above(self.links()) as u64);
            return Ok(written.template.with(overrides.chain(others)).into());
        }
        let own = self.functions_of_tool();
        let overridden: Names<'_> = symbols.iter().map(|symbol| symbol.name).collect();
        symbols.retain(|symbol| !own.contains(&symbol.name));
        let addresses = self.add_symbols(&own, &overridden, &mut symbols)?;
        let template = Template::new(soname, needed, &versions, &symbols, Life::Forever)?;
        let is_own = addresses.iter().any(|address| matches!(address, SymbolAddress::Own(_)));
        if is_own || !self.has_common_symbols() {
            return Ok(template.into_file().into());
        }
        let written = Written {
            tool: self.tool,
            process: Arc::clone(&self.instance.process),
            soname: soname.to_owned(),
            needed: needed.iter().map(|name| (*name).to_owned()).collect(),
            own,
            overrides: provided,
            template,
            addresses,
        };
        heads.0.push(written);
        Ok(heads.0.last().map_or_else(Cow::default, |written| written.template.file().into()))
    }

    /// Has it no symbol that follows from the layers below, and that heads of other instances of the tool may not have?
    fn has_common_symbols(&self) -> bool {
        self.instance.fortran_links.is_empty() && self.instance.wrapped_below.is_empty()
    }

    /// Adds its symbols to `symbols`, the overrides. Returns what the address of each is.
    fn add_symbols(
        &self,
        own: &Names<'_>,
        overridden: &Names<'_>,
        symbols: &mut Vec<Provided<'a>>,
    ) -> Result<Vec<SymbolAddress>, LoadError> {
        let exports = self.process().exports();
        symbols.reserve(exports.len());
        let mut addresses = Vec::with_capacity(exports.len());
        let mut add = |symbol: Provided<'a>, address: SymbolAddress| {
            symbols.push(Provided { address: address.above(self.links()) as u64, ..symbol });
            addresses.push(address);
        };
        for Export { symbol, function } in exports {
            if symbol.kind == ProvidedKind::Function && own.contains(&symbol.name) {
                continue;
            }
            let of_mpi = symbol.address as usize;
            let fortran = || {
                let links = &self.instance.fortran_links;
                if links.is_empty() { None } else { links.get(str::from_utf8(symbol.name.bytes()).ok()?) }
            };
            let address = match function {
                Some(id) => SymbolAddress::Link { id: *id, otherwise: of_mpi },
                None => fortran().map_or(SymbolAddress::Common(of_mpi), |link| SymbolAddress::Own(*link)),
            };
            add(*symbol, address);
        }
        for symbol in self.exception_handling(own) {
            add(symbol, SymbolAddress::Common(symbol.address as usize));
        }
        if let Some(address) = self.before_constructors {
            add(Provided::function(thread_local::BEFORE_CONSTRUCTORS, 0), SymbolAddress::Own(address));
        }
        for name in wrapped::ALLOCATOR.into_iter().filter(|_| self.instance.has_own_allocator) {
            if let Some(address) = global(name) {
                add(Provided::function(name, 0), SymbolAddress::Common(address));
            }
        }
        for (name, address) in &self.instance.wrapped_below {
            if !own.contains(&Name::from(*name)) && !overridden.contains(&Name::from(*name)) {
                add(Provided::function(*name, 0), SymbolAddress::Own(*address));
            }
        }
        for (name, address) in self.imports_that_mpi_lacks(own)? {
            add(Provided::function(name, 0), address);
        }
        Ok(addresses)
    }

    fn functions_of_tool(&self) -> Names<'a> {
        let mut names = Names::default();
        // Most of them are wrappers.
        names.reserve(self.tool.intercepts.len());
        names.extend(self.tool.closure.parts().flat_map(ElfFile::found_functions));
        names
    }

    /// The process's functions of C++ exception handling, where the tool or the program has them in its own file
    /// (`-static-libstdc++`), in place of the tool's or its library's. An exception passes through frames of the program and of the tool;
    /// two copies of these functions do not know each other's state. Under `LD_PRELOAD` both use one copy, too, whichever comes first.
    fn exception_handling(&self, own: &Names<'_>) -> Vec<Provided<'a>> {
        let of_program = || self.process().images().first().is_some_and(|program| program.find(PERSONALITY).is_some());
        let brings_it = own.contains(&Name::from(PERSONALITY)) || of_program();
        let names = EXCEPTION_HANDLING.iter().copied().filter(move |_| brings_it);
        names.filter_map(|name| Some(Provided::function(name, dlsym::global(name)?))).collect()
    }

    /// Addresses for what the tool imports and no MPI library of the process defines.
    fn imports_that_mpi_lacks(&self, own: &Names<'_>) -> Result<Vec<(&'a str, SymbolAddress)>, LoadError> {
        const OTHER_MPI: &str =
            "run the tool on an MPI that has this function, or list only other functions under `functions`";
        let tool = &self.instance.label;
        let mut extra = Vec::new();
        let mut seen = Names::default();
        for symbol in self.tool.closure.objects.iter().flat_map(ElfFile::imports) {
            let name = symbol.name;
            if symbol.is_weak() {
                if let Some(address) = self.of_program(&symbol, own).filter(|_| seen.insert(Name::from(name))) {
                    extra.push((name, SymbolAddress::Common(address)));
                }
                continue;
            }
            // The table has nearly all of them, and to find one takes less time than to look at the shape of its name.
            if qmpi_abi::classify(name).is_none() && !is_mpi_like(name) {
                continue;
            }
            let in_tables = Name::from(name);
            if self.process().exports_name(in_tables) || own.contains(&in_tables) || !seen.insert(in_tables) {
                continue;
            }
            let fortran = || self.instance.fortran_links.get(name).map(|link| SymbolAddress::Own(*link));
            // What one instance has below it, those above it have as well.
            let link = function(self.links(), name).map(|id| SymbolAddress::Link { id, otherwise: 0 });
            // Of an MPI library that has no other part of the interface.
            let of_mpi = || self.process().function(name).map(SymbolAddress::Common);
            let address = match link.or_else(fortran).or_else(of_mpi) {
                Some(address) => address,
                None => {
                    let reason = format!("which {} does not have", self.process().mpi_name());
                    SymbolAddress::Own(missing::stub(tool, name, reason, OTHER_MPI))
                }
            };
            extra.push((name, address));
        }
        for name in &self.tool.of_unnamed_libraries {
            let in_tables = Name::from(name.as_str());
            let is_new = |_: &usize| !self.process().exports_name(in_tables) && seen.insert(in_tables);
            if let Some(address) = global(name).filter(is_new) {
                extra.push((name, SymbolAddress::Common(address)));
            }
        }
        let called = OnceCell::new();
        let mut undefined = Vec::new();
        for name in &self.tool.undefined_elsewhere {
            let in_tables = Name::from(name.as_str());
            if self.process().exports_name(in_tables) || !seen.insert(in_tables) {
                continue;
            }
            let first = self.process().definition(in_tables);
            if first.is_some_and(|symbol| symbol.kind == SymbolKind::Tls) {
                continue; // `thread_local.rs`
            }
            let address = match global(name) {
                Some(address) => SymbolAddress::Common(address),
                None => {
                    undefined.push(name.as_str());
                    SymbolAddress::Own(self.stub_of_undefined(name, called.get_or_init(|| self.tool.called()))?)
                }
            };
            extra.push((name.as_str(), address));
        }
        self.tell_of_undefined(&undefined);
        Ok(extra)
    }

    /// What the process has for a weak reference that nothing in the namespace answers. References to a version are to a library, which the
    /// tool names.
    fn of_program(&self, symbol: &NamedSymbol<'_>, own: &Names<'_>) -> Option<usize> {
        let name = Name::from(symbol.name);
        if symbol.version.is_some() || is_mpi_like(symbol.name) || OF_START_FILES.contains(&symbol.name) {
            return None;
        }
        let is_here = || {
            own.contains(&name)
                || self.process().exports_name(name)
                || self.tool.closure.objects.iter().any(|object| object.finds(symbol.name))
        };
        if self.process().definition(name)?.kind == SymbolKind::Tls || is_here() {
            return None;
        }
        global(symbol.name)
    }

    /// A stub for a function that nothing in the process defines.
    fn stub_of_undefined(&self, name: &str, called: &HashSet<&str>) -> Result<usize, LoadError> {
        let path = &self.instance.path;
        if !called.contains(name) {
            return Err(LoadError::UndefinedData { path: path.clone(), symbol: name.into() });
        }
        let reason = format!("which nothing defines ({})", path.display());
        Ok(missing::stub_until_defined(&self.instance.label, name, reason, UNDEFINED))
    }

    /// One line, however many they are, if it is asked for: a function that is never called is missed by nothing, and a call of one says so.
    fn tell_of_undefined(&self, names: &[&str]) {
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
        log::once(log::LogLevel::Info, &text);
    }
}

/// Weak references that linkers' start files and libgcc have in every object.
const OF_START_FILES: [&str; 3] = ["__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"];

/// What to do about undefined functions.
const UNDEFINED: &str = "link the tool with the library that defines it (readelf -d shows what it is linked with)";

/// What the process's own scope has under this name.
fn global(name: &str) -> Option<usize> {
    dlsym::global(&CString::new(name).ok()?)
}

/// The C function of MPI that a name stands for, if something below has it.
fn function(links: &[usize], name: &str) -> Option<FnId> {
    let id = qmpi_abi::classify(name)?.c_function()?;
    links.get(id.index()).is_some_and(|address| *address != 0).then_some(id)
}
