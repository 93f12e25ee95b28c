//! From a linker symbol to the MPI function behind it.
//!
//! ```text
//! C         MPI_Send            PMPI_Send                          MPIX_Comm_revoke  OMPI_Affinity_str
//! Fortran   mpi_send  mpi_send_  mpi_send__  MPI_SEND              pmpi_send_ ...
//! mpi_f08   mpi_send_f08_  mpi_send_f08ts_  mpi_send_f08ts_large_  pmpi_send_f08_  pmpir_send_f08ts_
//! ```
//!
//! The four Fortran spellings are those of the compilers that MPI libraries provide for. `f08` and `f08ts` are the
//! names of MPI 4.0 section 19.1.5; `large` is how MPICH tells the large-count specifics apart, and
//! `pmpir_` (and `pmpixr_`) the prefix of its profiling names.

use core::ffi::CStr;

use crate::id::FnId;

/// An MPI function under one of its linker names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MpiSymbol {
    /// The function.
    pub id: FnId,
    /// Whether this is the name of the profiling interface: `PMPI_Send`, `pmpi_send_`.
    pub profiling: bool,
    /// The language whose calling convention the symbol has.
    pub binding: Binding,
}

impl MpiSymbol {
    /// The function, if this is a C name of it.
    pub fn c_function(self) -> Option<FnId> {
        (self.binding == Binding::C).then_some(self.id)
    }
}

/// The language binding that a symbol belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// The C function.
    C,
    /// The procedure of `mpif.h` and `use mpi`, in any compiler's spelling.
    Fortran,
    /// The procedure of `use mpi_f08`.
    F08,
}

/// Longer than any name in the table with its decorations (checked by a test); longer symbols are not MPI.
const LONGEST: usize = 64;

/// Finds the MPI function that a symbol name stands for.
///
/// Allocates nothing. Names that cannot be MPI are turned away at their first bytes, since a start-up asks for every
/// symbol of every library.
pub fn classify(symbol: &str) -> Option<MpiSymbol> {
    classify_bytes(symbol.as_bytes())
}

/// The same for a C string.
pub fn classify_c(symbol: &CStr) -> Option<MpiSymbol> {
    classify_bytes(symbol.to_bytes())
}

/// The names of the table are text, so nothing has to ask whether these bytes are.
fn classify_bytes(symbol: &[u8]) -> Option<MpiSymbol> {
    match symbol {
        [b'P', name @ ..] if name.starts_with(b"MPI") => classify_upper(name, true),
        [b'M', b'P', b'I', ..] | [b'O', b'M', b'P', b'I', b'_', ..] => classify_upper(symbol, false),
        [b'p', name @ ..] if name.starts_with(b"mpi") => classify_lower(name, true),
        [b'm', b'p', b'i', ..] => classify_lower(symbol, false),
        _ => None,
    }
}

/// Whether a symbol has the shape of an MPI function: `MPI_Xxx`, `MPIX_Xxx` (both also with `P` in front) or `OMPI_Xxx`.
///
/// Looks at the spelling alone, so it also holds for functions that the table has never heard of. Predefined callbacks
/// (`MPI_DUP_FN`), constants and Fortran names have no lower-case letter after the prefix and are not meant.
pub fn is_mpi_like(symbol: &str) -> bool {
    let rest = match symbol.as_bytes() {
        [b'P', b'M', b'P', b'I', rest @ ..] | [b'M', b'P', b'I', rest @ ..] => match rest {
            [b'X', b'_', rest @ ..] | [b'_', rest @ ..] => rest,
            _ => return false,
        },
        [b'O', b'M', b'P', b'I', b'_', rest @ ..] => rest,
        _ => return false,
    };
    rest.first().is_some_and(u8::is_ascii_uppercase)
        && rest.iter().any(u8::is_ascii_lowercase)
        && rest.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// `MPI_Send` or `MPI_SEND`, the profiling prefix already gone.
fn classify_upper(name: &[u8], profiling: bool) -> Option<MpiSymbol> {
    if let Some(id) = FnId::by_bytes(name) {
        return Some(MpiSymbol { id, profiling, binding: Binding::C });
    }
    if name.iter().any(u8::is_ascii_lowercase) {
        return None;
    }
    let mut space = [0; LONGEST];
    let lower = space.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let id = FnId::by_fortran(lower)?;
    Some(MpiSymbol { id, profiling, binding: Binding::Fortran })
}

/// `mpi_send`, `mpi_send_`, `mpi_send__`, `mpi_send_f08_` and so on, the profiling prefix already gone.
fn classify_lower(name: &[u8], profiling: bool) -> Option<MpiSymbol> {
    let stem = name.strip_suffix(b"_");
    if let Some(id) = stem.and_then(|stem| modern(stem, profiling)) {
        return Some(MpiSymbol { id, profiling, binding: Binding::F08 });
    }
    let base = stem.map_or(name, |stem| stem.strip_suffix(b"_").unwrap_or(stem));
    let id = FnId::by_fortran(base)?;
    Some(MpiSymbol { id, profiling, binding: Binding::Fortran })
}

/// `mpi_send_f08` → `MPI_Send`, `mpi_send_f08ts_large` → `MPI_Send_c`; `None` if this is no `mpi_f08` name.
fn modern(stem: &[u8], profiling: bool) -> Option<FnId> {
    let (stem, large) = stem.strip_suffix(b"_large").map_or((stem, false), |stem| (stem, true));
    let base = stem.strip_suffix(b"_f08").or_else(|| stem.strip_suffix(b"_f08ts"))?;
    let of_profiling = |prefix| if profiling { base.strip_prefix(prefix) } else { None };
    let id = if let Some(rest) = of_profiling(b"mpir_".as_slice()) {
        FnId::by_fortran(joined(&mut [0; LONGEST], b"mpi_", rest)?)?
    } else if let Some(rest) = of_profiling(b"mpixr_".as_slice()) {
        FnId::by_fortran(joined(&mut [0; LONGEST], b"mpix_", rest)?)?
    } else {
        FnId::by_fortran(base)?
    };
    if large { FnId::by_bytes(joined(&mut [0; LONGEST], id.name().as_bytes(), b"_c")?) } else { Some(id) }
}

/// Both parts after each other in `space`; `None` if they do not fit.
fn joined<'a>(space: &'a mut [u8; LONGEST], head: &[u8], tail: &[u8]) -> Option<&'a [u8]> {
    let whole = space.get_mut(..head.len() + tail.len())?;
    let (front, back) = whole.split_at_mut(head.len());
    front.copy_from_slice(head);
    back.copy_from_slice(tail);
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(symbol: &str) -> Option<(&'static str, bool, Binding)> {
        classify(symbol).map(|symbol| (symbol.id.name(), symbol.profiling, symbol.binding))
    }

    #[test]
    fn c_names() {
        assert_eq!(found("MPI_Send"), Some(("MPI_Send", false, Binding::C)));
        assert_eq!(found("PMPI_Send"), Some(("MPI_Send", true, Binding::C)));
        assert_eq!(found("PMPI_T_init_thread"), Some(("MPI_T_init_thread", true, Binding::C)));
        assert_eq!(found("PMPIX_Comm_revoke"), Some(("MPIX_Comm_revoke", true, Binding::C)));
        assert_eq!(found("OMPI_Affinity_str"), Some(("OMPI_Affinity_str", false, Binding::C)));
    }

    #[test]
    fn fortran_names_in_every_spelling() {
        for name in ["mpi_send", "mpi_send_", "mpi_send__", "MPI_SEND"] {
            assert_eq!(found(name), Some(("MPI_Send", false, Binding::Fortran)), "{name}");
        }
        for name in ["pmpi_type_create_f90_real", "pmpi_type_create_f90_real__", "PMPI_TYPE_CREATE_F90_REAL"] {
            assert_eq!(found(name), Some(("MPI_Type_create_f90_real", true, Binding::Fortran)), "{name}");
        }
    }

    #[test]
    fn names_of_mpi_f08() {
        assert_eq!(found("mpi_send_f08_"), Some(("MPI_Send", false, Binding::F08)));
        assert_eq!(found("mpi_send_f08ts_"), Some(("MPI_Send", false, Binding::F08)));
        assert_eq!(found("pmpi_send_f08_"), Some(("MPI_Send", true, Binding::F08)));
        assert_eq!(found("pmpir_send_f08ts_"), Some(("MPI_Send", true, Binding::F08)));
        assert_eq!(found("pmpixr_comm_revoke_f08_"), Some(("MPIX_Comm_revoke", true, Binding::F08)));
        assert_eq!(found("mpi_send_f08ts_large_"), Some(("MPI_Send_c", false, Binding::F08)));
        assert_eq!(found("pmpir_send_f08ts_large_"), Some(("MPI_Send_c", true, Binding::F08)));
    }

    #[test]
    fn everything_else_is_turned_away() {
        for name in [
            "",
            "M",
            "P",
            "MPI",
            "MPI_",
            "PMPI_",
            "OMPI_",
            "mpi",
            "mpi_",
            "p",
            "pmpi_",
            "printf",
            "MPI_DUP_FN",
            "MPI_Sendx",
            "MPI_send",
            "mpi_Send",
            "mpi_send___",
            "mpi_send_f08",
            "mpir_send_f08ts_",
            "pmpir_send_",
            "mpi_barrier_f08_large_",
            "QMPI_Send",
            "MPIR_Dup_fn",
            "PPMPI_Send",
            "POMPI_Affinity_str",
            "mpi_t_init_thread_",
            "ompi_mpi_comm_world",
            "MPI_Ünicode",
            "PMPIé",
            "mpié_",
        ] {
            assert_eq!(found(name), None, "{name}");
        }
        let long = format!("MPI_{}", "X".repeat(200));
        assert_eq!(found(&long), None);
        assert_eq!(found(&format!("pmpir_{}_f08_large_", "x".repeat(200))), None);
    }

    #[test]
    fn decorated_names_fit() {
        for id in FnId::all() {
            assert!(id.name().len() + "_c".len() < LONGEST, "{}", id.name());
        }
    }

    #[test]
    fn shape_alone() {
        for name in ["MPI_Send", "PMPI_Send", "MPIX_New_thing", "PMPIX_New_thing", "OMPI_New", "MPI_T_new"] {
            assert!(is_mpi_like(name), "{name}");
        }
        for name in [
            "MPI_SEND",
            "MPI_DUP_FN",
            "mpi_send_",
            "MPI_send",
            "MPI_",
            "MPIR_Send",
            "POMPI_Send",
            "MPI_Send.cold",
            "OMPI_C_MPI_DUP_FN",
        ] {
            assert!(!is_mpi_like(name), "{name}");
        }
    }
}
