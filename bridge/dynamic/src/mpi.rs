//! Is an object an MPI library? By what its tables say, never by counting and never by its file's name alone.
//!
//! A tool may define `PMPI_*` as well, under LD_PRELOAD or linked with the program, and may have any name. What tells them apart:
//!
//! | evidence | an MPI library | a tool |
//! |---|---|---|
//! | defines `PMPI_Init` | its C library | perhaps |
//! | takes `PMPI_*` from another library | Fortran's and C++'s, never C's | usually |
//! | refers to `dlsym` | some (Intel MPI, MPICH 5 with devices, MPItrampoline) | if it looks for the next function so |
//! | `MPI_Init` and `PMPI_Init` are one function | most | no: it would call itself |
//! | is linked with an MPI library | Fortran's and C++'s, never C's | usually |
//! | defines objects that only MPI has (`DATA`) | nearly all | no |
//! | defines the profiling interface of Fortran (`pmpi_*`) | Fortran's | no |
//!
//! Common blocks of Fortran are no evidence: each object that is compiled with `mpif.h` defines them.

use core::ffi::CStr;

use crate::hash;
use crate::symbol::{Symbol, SymbolKind};
use crate::tables::Tables;

/// A function that an MPI library has only if it has QMPI itself (MPICH, configured with `--enable-qmpi`). Other builds of MPICH have the
/// functions of the interface as well, which return an error.
pub const ONLY_WITH_QMPI: &CStr = c"QMPI_Init";

/// A name with its hash.
#[derive(Clone, Copy)]
struct Hashed(&'static [u8], u32);

const fn hashed(name: &'static [u8]) -> Hashed {
    Hashed(name, hash::gnu(name))
}

const MPI_INIT: Hashed = hashed(b"MPI_Init");
const PMPI_INIT: Hashed = hashed(b"PMPI_Init");
const OMPI_COMM_WORLD: Hashed = hashed(b"ompi_mpi_comm_world");

/// Objects that MPI libraries define and that are compiled into nothing else: predefined handles, the addresses that C and Fortran
/// agree on, variables of the implementation.
const DATA: [Hashed; 7] = [
    OMPI_COMM_WORLD,
    hashed(b"MPI_UNWEIGHTED"),
    hashed(b"MPI_F_STATUS_IGNORE"),
    hashed(b"MPIR_F08_MPI_IN_PLACE"),
    hashed(b"MPIR_fortran_true"),
    hashed(b"MPIR_Process"),
    hashed(b"_ZN3MPI10COMM_WORLDE"),
];

/// The profiling interface of Fortran in the spellings of its compilers.
const FORTRAN: [Hashed; 5] = [
    hashed(b"pmpi_init_"),
    hashed(b"pmpi_init__"),
    hashed(b"pmpi_init"),
    hashed(b"PMPI_INIT"),
    hashed(b"pmpi_init_f08_"),
];

/// Beginnings of the names by which programs ask for the C library of an MPI.
const OF_PROGRAMS: [&[u8]; 3] = [b"libmpi.so.", b"libmpich.so.", b"libmpi_abi.so."];

/// Beginnings of the names of all MPI's C libraries that others are linked with.
const LINKED: [&[u8]; 5] = [b"libmpi.so", b"libmpich.so", b"libmpi_abi.so", b"libmpi_cray", b"libmpi_gnu"];

/// Does the object implement MPI's functions, with the profiling interface?
///
/// `needed` is asked, if it matters, which libraries the object is linked with.
pub fn implements<'n, N: Iterator<Item = &'n [u8]>>(tables: &Tables<'_>, needed: impl FnOnce() -> N) -> bool {
    let is_function = |symbol: Symbol<'_>| symbol.kind() != SymbolKind::Data;
    if !find(tables, &PMPI_INIT).is_some_and(is_function) {
        return false;
    }
    let has_data = defines_data(tables);
    let soname = tables.soname().map(CStr::to_bytes);
    let is_of_programs = soname.is_some_and(|name| begins(name, &OF_PROGRAMS));
    if has_data && is_of_programs {
        return true;
    }
    let References { profiling, dlsym } = References::of(tables);
    let is_mpi = || !dlsym || has_data || is_of_programs || has_one_function(tables);
    !profiling && is_mpi() && !needed().any(|name| begins(name, &LINKED))
}

/// Is `MPI_Init` another name of `PMPI_Init`?
fn has_one_function(tables: &Tables<'_>) -> bool {
    let value = |name| find(tables, name).map(|symbol| symbol.value());
    value(&MPI_INIT).is_some_and(|address| value(&PMPI_INIT) == Some(address))
}

/// Does the object belong to MPI? `has_name`: its name is that of an MPI library. `is_program`: it may have copies of MPI's objects.
pub fn belongs<'n, N: Iterator<Item = &'n [u8]>>(
    tables: &Tables<'_>,
    needed: impl FnOnce() -> N,
    has_name: impl FnOnce() -> bool,
    is_program: bool,
) -> bool {
    // Where PMPI is in a library of its own, the other one defines `MPI_*` and objects.
    let is_outer = || !is_program && find(tables, &MPI_INIT).is_some() && defines_data(tables);
    let has_objects =
        || !is_program && find(tables, &OMPI_COMM_WORLD).is_some_and(|symbol| symbol.kind() == SymbolKind::Data);
    implements(tables, needed) || is_outer() || has_objects() || (has_name() && !is_in_front(tables))
}

/// Does the object, whose name is that of an MPI library, stand in front of MPI all the same? It defines functions of MPI, takes what
/// comes next from elsewhere, and has nothing that only MPI has.
fn is_in_front(tables: &Tables<'_>) -> bool {
    // What has this SONAME is what programs are linked with; where `MPI_*` and `PMPI_*` are in two libraries it is the outer one.
    let is_of_programs = tables.soname().is_some_and(|name| begins(name.to_bytes(), &OF_PROGRAMS));
    if is_of_programs || defines_data(tables) || FORTRAN.iter().any(|name| find(tables, name).is_some()) {
        return false;
    }
    let References { profiling, dlsym } = References::of(tables);
    if !profiling && !dlsym {
        return false;
    }
    let mut wraps = false;
    for symbol in tables.symbols().filter(Symbol::is_found_by_linker) {
        let Some(start) = symbol.name_start::<7>() else { continue };
        match (symbol.kind(), &start) {
            // Of its own, and Fortran's profiling interface, which a tool refers to.
            (SymbolKind::Data, [b'M', b'P', b'I', b'R', b'_', ..]) | (_, [b'p', b'm', b'p', b'i', b'_', ..]) => {
                return false;
            }
            (_, [b'P', b'M', b'P', b'I', b'_', first, second])
                if first.is_ascii_uppercase() && second.is_ascii_uppercase() =>
            {
                return false;
            }
            (SymbolKind::Data, _) => {}
            (_, [b'M', b'P', b'I', b'_', ..] | [b'm', b'p', b'i', b'_', ..] | [b'P', b'M', b'P', b'I', b'_', ..]) => {
                wraps = true;
            }
            _ => {}
        }
    }
    wraps
}

/// Does the object define what only MPI libraries define? These may be others than define the functions: since Open MPI 6 they are.
pub fn defines_data(tables: &Tables<'_>) -> bool {
    DATA.iter().any(|name| find(tables, name).is_some_and(|symbol| symbol.kind() == SymbolKind::Data))
}

/// What an object refers to.
struct References {
    /// `PMPI_*`, or Fortran's `pmpi_*`. Weak references are some as well: nothing in MPI's C library is weak of these.
    profiling: bool,
    /// `dlsym` or `dlvsym`.
    dlsym: bool,
}

impl References {
    fn of(tables: &Tables<'_>) -> References {
        let mut found = References { profiling: false, dlsym: false };
        for symbol in tables.undefined() {
            match symbol.name_start::<5>() {
                Some([b'P', b'M', b'P', b'I', b'_'] | [b'p', b'm', b'p', b'i', b'_']) => found.profiling = true,
                Some([b'd', b'l', b's' | b'v', ..]) => {
                    found.dlsym |= symbol.is_named(b"dlsym") || symbol.is_named(b"dlvsym");
                }
                _ => {}
            }
        }
        found
    }
}

fn find<'a>(tables: &Tables<'a>, name: &Hashed) -> Option<Symbol<'a>> {
    tables.find(name.0, name.1)
}

fn begins(name: &[u8], beginnings: &[&[u8]]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}
