//! Inspects a file: what kind of tool it is, and everything else that a [`Tool`] says.
//!
//! Everything follows from symbols, library names and strings; nothing is loaded or run. The rules
//! for the kinds are those of the architecture document, "Three kinds of tool".

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use qmpi_abi::{Binding, FnId, classify, is_mpi_like};
use qmpi_dynamic::Machine;
use qmpi_dynamic::thread_local::StaticRoom;

use crate::error::{ElfError, ElfErrorReason, ObjectKind};
use crate::file::ElfFile;
use crate::file::symbol::NamedSymbol;
use crate::linker::family::{is_dynamic_linker, is_glibc_family};
use crate::linker::search::SearchPath;
use crate::mpi::abi_family::{
    MpiAbi, family_of_library, family_of_name, implements_mpi, is_mpi_library, is_mpi_soname,
};
use crate::mpi::mpi_data::is_mpi_data;
use crate::tool::closure::Closure;
use crate::tool::hazard::{self, Facts};
use crate::tool::rules;
use crate::tool::wrapped::{self, Wrapped};
use crate::tool::{NextFunction, ObjectDetail, REGISTRATION, Tool, ToolKind};

/// The draft's interface besides the registration: shaped like MPI functions, but the runtime's own.
const QMPI_DRAFT: &[&str] = &[
    "MPI_Register_tool_storage",
    "MPI_Register_tool_function",
    "MPI_Get_next_tool_function",
    "MPI_Get_tool_storage",
    "MPI_Get_calling_address",
    "MPI_Register_function",
    "MPI_Get_function",
];
/// Names of the 2018 prototype, which the runtime puts at the end of the process's scope for tools that want them.
const THESIS: &[&str] = &["exec_func", "vector_get", "vector_total"];
const LD_PRELOAD: &str = "LD_PRELOAD";
/// Its wrappers stand in no order with others; preloaded it comes before the stack, as without one.
const ONLY_GOTCHA: &str = "it defines no MPI function, but wraps functions with GOTCHA, which works where it is preloaded beside the stack (LD_PRELOAD)";

/// What the walk over all symbols gathers.
#[derive(Debug, Default)]
struct Gathered {
    facts: Facts,
    objects: Vec<ObjectDetail>,
    pmpi_imports: BTreeSet<FnId>,
    mpi_imports: BTreeSet<FnId>,
    fortran_imports: BTreeSet<String>,
    dlsym_names: BTreeSet<String>,
    /// `PMPI_*` that the root defines.
    own_profiling: BTreeSet<String>,
    unknown: BTreeSet<String>,
    data_imports: BTreeSet<String>,
    /// Those of them without which it cannot be loaded.
    strong_data: BTreeSet<String>,
    data_definitions: BTreeSet<String>,
    imports_registration: bool,
    defines_registration: bool,
    defines_interceptions: bool,
}

impl Tool {
    /// Inspects a tool, its private libraries, and what they need from others. `before`: libraries that are loaded together with it and stand
    /// before it, as in a list in LD_PRELOAD. `shared` tells which libraries the process has once for all, besides MPI's and glibc's.
    ///
    /// # Errors
    /// If one of these files itself is not a sound shared object of this machine. Problems with private
    /// libraries are in `closure.missing`, and in `hazards`.
    pub fn inspect(
        path: &Path,
        before: &[PathBuf],
        search: &SearchPath,
        shared: &dyn Fn(&str) -> bool,
    ) -> Result<Tool, ElfError> {
        let root = open(path, search.machine())?;
        let before = before.iter().map(|path| open(path, search.machine())).collect::<Result<_, _>>()?;
        // The empty name is the program's, as ld.so lists it.
        let served = |name: &str| {
            name.is_empty() || is_glibc_family(name) || is_dynamic_linker(name) || is_mpi_soname(name) || shared(name)
        };
        let closure = Closure::of(root, before, search, &served);
        let parts = closure.parts().count();
        let mut gathered = Gathered::default();
        let mut wanted = HashSet::new();
        for (index, object) in closure.objects.iter().enumerate() {
            let others = gathered.walk(object, index < parts)?;
            wanted.extend(others.into_iter().filter(|symbol| !is_served(symbol, &closure)).map(|symbol| symbol.name));
        }
        if gathered.defines_interceptions {
            wanted.retain(|name| !THESIS.contains(name));
        }
        let elsewhere = undefined_elsewhere(wanted, &closure, search);
        let mut wrapped = Vec::new();
        for part in closure.parts() {
            wrapped.extend(wrapped::find(part)?);
        }
        wrapped.sort_unstable();
        wrapped.dedup_by(|other, first| other.name == first.name);
        Ok(Tool::assemble(closure, gathered, wrapped, elsewhere))
    }

    fn assemble(
        closure: Closure,
        mut gathered: Gathered,
        wrapped: Vec<Wrapped>,
        [undefined_elsewhere, of_unnamed_libraries]: [Vec<String>; 2],
    ) -> Tool {
        let objects = std::mem::take(&mut gathered.objects);
        let list = |names: &mut BTreeSet<String>| std::mem::take(names).into_iter().collect();
        let intercepts = sorted(objects.iter().flat_map(|object| &object.intercepts).copied());
        let mut mpi_calls = std::mem::take(&mut gathered.mpi_imports);
        mpi_calls.retain(|id| intercepts.binary_search(id).is_err());
        let pmpi_imports: Vec<FnId> = std::mem::take(&mut gathered.pmpi_imports).into_iter().collect();
        let fortran_imports: Vec<String> = list(&mut gathered.fortran_imports);
        let mut dlsym_names: Vec<String> = list(&mut gathered.dlsym_names);

        let imports_profiling = !pmpi_imports.is_empty()
            || fortran_imports.iter().any(|name| classify(name).is_some_and(|symbol| symbol.profiling));
        let is_pcontrol = |id: &FnId| id.name() == "MPI_Pcontrol";
        let passes_pcontrol_on = pmpi_imports.iter().any(is_pcontrol)
            || dlsym_names.iter().filter_map(|name| classify(name)).any(|symbol| is_pcontrol(&symbol.id));
        // A tool that imports what all its wrappers go on to has names of MPI for its report, and looks other functions up.
        let is_wrapped = |id: &FnId| intercepts.binary_search(id).is_ok() && pmpi_imports.binary_search(id).is_err();
        let looks_up = dlsym_names.iter().filter_map(|name| classify(name)).any(|symbol| is_wrapped(&symbol.id));
        if imports_profiling && !looks_up {
            dlsym_names.clear();
        }
        let next_function = match (imports_profiling, dlsym_names.is_empty()) {
            (true, false) => NextFunction::Both,
            (true, true) => NextFunction::PmpiImports,
            (false, false) => NextFunction::Dlsym,
            (false, true) => NextFunction::NoneSeen,
        };
        let abi_evidence = MpiAbi::of_tool(&closure.stopped, gathered.strong_data.iter().map(String::as_str));
        let in_static_room = closure.objects.iter().filter(|object| object.static_room.is_some());
        let static_tls_bytes = in_static_room
            .filter_map(|object| object.tls)
            .fold(0, |sum: u64, tls| sum.saturating_add(tls.size).saturating_add(tls.align.saturating_sub(1)));

        let mut tool = Tool {
            kind: ToolKind::None { reason: String::new() },
            defines_pcontrol: intercepts.iter().any(is_pcontrol),
            passes_pcontrol_on,
            intercepts,
            fortran_wrappers: sorted(objects.iter().flat_map(|object| &object.fortran_wrappers).cloned()),
            fortran_imports,
            pmpi_imports,
            mpi_calls: mpi_calls.into_iter().collect(),
            own_profiling: list(&mut gathered.own_profiling),
            wrapped,
            unknown_mpi: list(&mut gathered.unknown),
            data_imports: list(&mut gathered.data_imports),
            data_definitions: list(&mut gathered.data_definitions),
            dlsym_names,
            next_function,
            abi: abi_evidence.as_ref().map(|abi| abi.family),
            abi_evidence,
            tls: closure.root().tls,
            static_tls: closure.objects.iter().any(|object| object.static_room == Some(StaticRoom::Needed)),
            static_tls_bytes,
            undefined_elsewhere,
            of_unnamed_libraries,
            hazards: Vec::new(),
            objects,
            closure,
        };
        tool.kind = kind_of(&tool, &gathered);
        if tool.kind == ToolKind::MpiLibrary {
            tool.abi = family_of_library(tool.closure.root()).or_else(|| family_of_name(tool.closure.root().name()));
        } else {
            tool.hazards = rules::all(&tool, &gathered.facts);
        }
        tool
    }
}

fn open(path: &Path, machine: Machine) -> Result<ElfFile, ElfError> {
    let file = ElfFile::open_for(path, machine)?;
    if !file.is_shared_object() {
        let reason = ElfErrorReason::NotSharedObject(ObjectKind::Executable);
        return Err(ElfError { path: path.to_owned(), reason });
    }
    Ok(file)
}

fn kind_of(tool: &Tool, gathered: &Gathered) -> ToolKind {
    let root = tool.closure.root();
    if tool.closure.parts().any(is_mpi_library) {
        ToolKind::MpiLibrary
    } else if gathered.defines_registration {
        ToolKind::None { reason: "it defines the QMPI registration itself: a QMPI runtime, not a tool".into() }
    } else if gathered.imports_registration {
        ToolKind::Qmpi
    } else if gathered.defines_interceptions {
        ToolKind::Thesis
    } else if !tool.intercepts.is_empty() || !tool.fortran_wrappers.is_empty() {
        ToolKind::Pmpi
    } else if rules::uses_gotcha(tool, &gathered.facts) {
        ToolKind::None { reason: ONLY_GOTCHA.into() }
    } else if root.exports().next().is_none() {
        ToolKind::None { reason: "it defines no symbol that others could see".into() }
    } else {
        ToolKind::None { reason: "it defines no MPI function and registers no QMPI tool".into() }
    }
}

impl Gathered {
    /// Files every symbol of an object; returns its strong imports that are not MPI's.
    ///
    /// `is_root`: it is the tool's file, or a library that stands before it.
    fn walk<'a>(&mut self, object: &'a ElfFile, is_root: bool) -> Result<Vec<NamedSymbol<'a>>, ElfError> {
        let mut detail = ObjectDetail::default();
        let mut looks_up = false;
        let mut others = Vec::new();
        // MPI's C++ objects are the only mangled names of interest, and those as imports.
        for symbol in object.plain_exports().chain(object.imports()) {
            if symbol.name.ends_with("_tool_name") && REGISTRATION.contains(&symbol.name) {
                self.defines_registration |= symbol.defined && is_root;
                self.imports_registration |= !symbol.defined;
            } else if !self.note_mpi(&symbol, &mut detail, is_root) {
                self.note_other(&symbol, object.name(), is_root);
                if !symbol.defined {
                    looks_up |= matches!(symbol.name, "dlsym" | "dlvsym");
                    if !symbol.is_weak() && !is_qmpi(symbol.name) {
                        others.push(symbol);
                    }
                }
            }
        }
        if is_root {
            self.facts.unique += object.unique_count();
        } else if implements_mpi(object) {
            self.facts.second_mpi.push(object.name().to_owned());
        }
        self.note_strings(object, &detail, is_root, looks_up)?;
        detail.intercepts = sorted(detail.intercepts);
        self.objects.push(detail);
        Ok(others)
    }

    /// Looks through the constants, which costs more than all symbols, only where a look-up may be:
    /// not in MPI libraries, nor in private ones without wrappers (libbfd alone would take a millisecond).
    fn note_strings(
        &mut self,
        object: &ElfFile,
        detail: &ObjectDetail,
        is_root: bool,
        looks_up: bool,
    ) -> Result<(), ElfError> {
        let wraps = !detail.intercepts.is_empty() || !detail.fortran_wrappers.is_empty();
        let looks_up = looks_up && (is_root || wraps);
        let changes_environment = is_root && self.facts.imports.iter().any(|(_, name)| name.ends_with("env"));
        if !(looks_up || changes_environment) || is_mpi_library(object) {
            return Ok(());
        }
        let texts = object.strings_in_rodata(&|text| text == LD_PRELOAD || (looks_up && classify(text).is_some()))?;
        self.facts.names_ld_preload |= changes_environment && texts.contains(LD_PRELOAD);
        self.dlsym_names.extend(texts.into_iter().filter(|text| text != LD_PRELOAD));
        Ok(())
    }

    /// Files a symbol of MPI; `false` for others.
    fn note_mpi(&mut self, symbol: &NamedSymbol<'_>, detail: &mut ObjectDetail, is_root: bool) -> bool {
        if is_mpi_data(symbol) {
            let list = if symbol.defined { &mut self.data_definitions } else { &mut self.data_imports };
            list.insert(symbol.name.to_owned());
            if !symbol.defined && !symbol.is_weak() {
                self.strong_data.insert(symbol.name.to_owned());
            }
            return true;
        }
        let Some(mpi) = classify(symbol.name) else {
            if is_fortran_layer(symbol.name) {
                return true;
            }
            if is_mpi_like(symbol.name) && !is_qmpi(symbol.name) {
                self.unknown.insert(symbol.name.to_owned());
                return true;
            }
            return false;
        };
        match (mpi.binding, symbol.defined, mpi.profiling) {
            (Binding::C, true, false) => detail.intercepts.push(mpi.id),
            (Binding::C, false, false) => self.mpi_imports.extend([mpi.id]),
            (Binding::C, false, true) => self.pmpi_imports.extend([mpi.id]),
            (_, true, true) => self.own_profiling.extend(is_root.then(|| symbol.name.to_owned())),
            (_, true, false) => detail.fortran_wrappers.push(symbol.name.to_owned()),
            (_, false, _) => self.fortran_imports.extend([symbol.name.to_owned()]),
        }
        true
    }

    fn note_other(&mut self, symbol: &NamedSymbol<'_>, object: &str, is_root: bool) {
        if symbol.defined {
            self.defines_interceptions |= is_root && symbol.name == "get_interceptions";
            self.facts.marks.extend(["gotcha_wrap", "la_version"].into_iter().find(|mark| *mark == symbol.name));
        } else {
            self.facts.imports.extend(hazard::watched(symbol.name).map(|name| (object.to_owned(), name)));
        }
    }
}

/// Whether the file that an import's version names is there. This is what ld.so checks, and it
/// saves looking a thousand names of libstdc++ up.
fn is_served(import: &NamedSymbol<'_>, closure: &Closure) -> bool {
    import.version.map(|version| version.file.as_str()).is_some_and(|file| {
        is_glibc_family(file)
            || is_dynamic_linker(file)
            || closure.stopped.iter().any(|name| name == file)
            || closure.objects.iter().any(|object| object.name() == file)
    })
}

/// The imports among `wanted` that no object defines: looked for in the closure first, and only what
/// is left then in the libraries that others serve. Also returns those that libc or libm define, which no object needs by name.
fn undefined_elsewhere(mut wanted: HashSet<&str>, closure: &Closure, search: &SearchPath) -> [Vec<String>; 2] {
    let mut of_unnamed = Vec::new();
    for object in &closure.objects {
        cross_off(&mut wanted, object);
    }
    // libc and libm may be there without being named, in a tool that was linked with -nostdlib.
    let others = closure.stopped.iter().map(String::as_str).chain(["libc.so.6", "libm.so.6"]);
    for name in others {
        if wanted.is_empty() {
            break;
        }
        let found = search.find(name, closure.root(), &[]);
        if let Some(Ok(object)) = found.map(|path| ElfFile::open_for(&path, search.machine())) {
            let is_named = closure.stopped.iter().any(|stopped| stopped == name);
            let defined = cross_off(&mut wanted, &object).into_iter().filter(|_| !is_named);
            of_unnamed.extend(defined.map(str::to_owned));
        }
    }
    [sorted(wanted.into_iter().map(str::to_owned)), sorted(of_unnamed)]
}

/// Takes out what an object defines, and returns that.
fn cross_off<'a>(wanted: &mut HashSet<&'a str>, object: &ElfFile) -> Vec<&'a str> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let is_plain = !wanted.iter().any(|name| name.starts_with("_Z"));
    object.symbols_like(Some(true), is_plain).filter_map(|symbol| wanted.take(symbol.name)).collect()
}

/// Names of the QMPI interface, which the runtime defines: `QMPI_*`, its extensions, and the draft's and the slides' spelling.
fn is_qmpi(name: &str) -> bool {
    name.starts_with("QMPI_")
        || name.starts_with("QMPIX_")
        || REGISTRATION.contains(&name)
        || QMPI_DRAFT.contains(&name)
}

/// `MPI_Init_f`, `MPI_Init_f08`: what Open MPI's Fortran bindings call the C side of a procedure.
/// Tools that were made from its sources define them, too; they are not called from outside.
fn is_fortran_layer(name: &str) -> bool {
    let stem = name.strip_suffix("_f").or_else(|| name.strip_suffix("_f08"));
    stem.is_some_and(|stem| classify(stem).is_some())
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    items.dedup();
    items
}
