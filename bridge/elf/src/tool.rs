//! What a tool is: its kind, what it intercepts, how it goes on, and what it needs.

pub mod closure;
pub mod hazard;
mod inspection;
mod rules;
pub mod spelling;
pub mod wrapped;

use std::collections::HashSet;

use qmpi_abi::{FnId, MpiFamily, classify, is_mpi_like};

use crate::file::symbol::NamedSymbol;
use crate::file::{ElfFile, Tls};
use crate::mpi::abi_family::MpiAbi;
use crate::tool::closure::Closure;
use crate::tool::hazard::Hazard;
use crate::tool::wrapped::{Wrapped, is_of_allocator};

/// The kind of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolKind {
    /// Defines `MPI_*`, or Fortran names: bridged.
    Pmpi,
    /// Registers itself by name: loaded as it is.
    Qmpi,
    /// Exports `get_interceptions`, the interface of the 2018 prototype.
    Thesis,
    /// Not a tool but an MPI library.
    MpiLibrary,
    /// None of these.
    None {
        /// Why, as a clause: "it defines no MPI function".
        reason: String,
    },
}

/// How a tool reaches the layer below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NextFunction {
    /// Imports `PMPI_*`.
    PmpiImports,
    /// Looks names up at run time.
    Dlsym,
    /// Both.
    Both,
    /// Neither was seen.
    NoneSeen,
}

/// The wrappers in one object of a tool's closure.
#[derive(Debug, Clone, Default)]
pub struct ObjectDetail {
    /// C functions that it defines, sorted.
    pub intercepts: Vec<FnId>,
    /// Fortran procedures that it defines, by symbol name.
    pub fortran_wrappers: Vec<String>,
}

/// An inspected tool. Lists are sorted and cover the whole closure unless they say otherwise.
#[derive(Debug)]
pub struct Tool {
    /// What it is.
    pub kind: ToolKind,
    /// The tool and its private libraries.
    pub closure: Closure,
    /// The wrappers object by object, in the order of the closure.
    pub objects: Vec<ObjectDetail>,
    /// C functions that are defined as `MPI_*`.
    pub intercepts: Vec<FnId>,
    /// Fortran procedures that are defined (any spelling, mpif.h and f08), by symbol name.
    pub fortran_wrappers: Vec<String>,
    /// Fortran procedures that are imported (any spelling, with or without `p`), by symbol name.
    pub fortran_imports: Vec<String>,
    /// C functions that are imported as `PMPI_*`.
    pub pmpi_imports: Vec<FnId>,
    /// C functions that are imported as `MPI_*` and that the closure does not define.
    pub mpi_calls: Vec<FnId>,
    /// What the tool itself defines as `PMPI_f`, of C and of Fortran.
    pub own_profiling: Vec<String>,
    /// Functions that are not MPI's and that the tool itself wraps.
    pub wrapped: Vec<Wrapped>,
    /// Names with the shape of an MPI function that are in no table, defined or imported.
    pub unknown_mpi: Vec<String>,
    /// MPI variables that are imported: predefined handles, sentinels, Fortran common blocks.
    pub data_imports: Vec<String>,
    /// MPI variables that the closure defines itself (Fortran common blocks, mostly).
    pub data_definitions: Vec<String>,
    /// MPI names that an object that imports dlsym or dlvsym has among its strings.
    pub dlsym_names: Vec<String>,
    /// How it reaches the next layer.
    pub next_function: NextFunction,
    /// The MPI it was built for, or is; `None`: works with any.
    pub abi: Option<MpiFamily>,
    /// What shows it.
    pub abi_evidence: Option<MpiAbi>,
    /// Defines `MPI_Pcontrol`.
    pub defines_pcontrol: bool,
    /// Imports `PMPI_Pcontrol`, or may look it up: trusted to pass it on.
    pub passes_pcontrol_on: bool,
    /// Thread-local storage of the tool itself.
    pub tls: Option<Tls>,
    /// Whether any object of the closure uses initial-exec TLS.
    pub static_tls: bool,
    /// Bytes that `ld.so` may put into the static block of each thread, over the closure, alignment included: of objects with
    /// initial-exec TLS, and of those with descriptors, which get room there as long as there is some.
    pub static_tls_bytes: u64,
    /// Strong imports that the closure, MPI, glibc and the shared libraries do not define; versions ignored.
    pub undefined_elsewhere: Vec<String>,
    /// Strong imports that libc or libm define while the closure needs them not by name: they are not in its namespace.
    pub of_unnamed_libraries: Vec<String>,
    /// What a namespace cannot do for it, or does only with help.
    pub hazards: Vec<Hazard>,
}

/// Names of the registration function in MPICH and in the draft.
pub(crate) const REGISTRATION: &[&str] = &["QMPI_Register_tool_name", "MPI_Register_tool_name"];

/// Does this object register QMPI tools, or refer to what does?
pub fn registers_tools(object: &ElfFile) -> bool {
    object.imports().any(|symbol| REGISTRATION.contains(&symbol.name))
}

impl Tool {
    /// The wrappers in its file and in the libraries that stand before it, in the order of a list in LD_PRELOAD.
    pub fn parts(&self) -> impl Iterator<Item = &ObjectDetail> {
        let before = self.closure.before().len();
        self.objects.iter().skip(1).take(before).chain(self.objects.first())
    }

    /// Why every instance needs a linker namespace of its own, if it does: clones that share one have one copy of the tool's
    /// private libraries, which must neither call MPI nor call back.
    pub fn clone_obstacle(&self) -> Option<String> {
        if self.closure.objects.len() <= 1 {
            return None;
        }
        if let Some(before) = self.closure.before().first() {
            return Some(format!("it is loaded together with {}", before.name()));
        }
        if let Some(name) = self.closure.unnamed.first() {
            return Some(format!("it or a library of its needs versions of {name} without naming it"));
        }
        let root: HashSet<&str> = self.closure.root().exports().map(|symbol| symbol.name).collect();
        for library in self.closure.objects.iter().skip(1) {
            let is_mpi = |symbol: &NamedSymbol<'_>| classify(symbol.name).is_some() || is_mpi_like(symbol.name);
            if let Some(symbol) = library.imports().find(is_mpi) {
                return Some(format!("its library {} calls {}", library.name(), symbol.name));
            }
            if let Some(symbol) = library.imports().find(|symbol| !symbol.is_weak() && root.contains(symbol.name)) {
                return Some(format!("its library {} refers to {} in the tool", library.name(), symbol.name));
            }
        }
        None
    }

    /// The imports that are called, rather than read. Where that cannot be told an import is not among them.
    pub fn called(&self) -> HashSet<&str> {
        self.closure.objects.iter().filter_map(|object| object.called().ok()).flatten().collect()
    }
    /// Does it define a whole allocator that goes on to no other? Under `LD_PRELOAD` it takes the place of the C library's for the process.
    /// Blocks that were handed out before the tool was loaded would come to its `free`.
    pub fn has_own_allocator(&self) -> bool {
        let is_wrapper = self.wrapped.iter().any(|wrapped| is_of_allocator(&wrapped.name));
        let is_whole = |object: &ElfFile| ["malloc", "free", "calloc", "realloc"].iter().all(|name| object.finds(name));
        !is_wrapper && self.closure.parts().any(is_whole)
    }
}
