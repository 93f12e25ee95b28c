//! Data symbols of MPI libraries: variables whose *address* is part of the interface.
//!
//! An import of a library that was not linked against MPI has no type, so data are known by name.
//! Functions are not listed here but in qmpi-abi.

use std::ffi::CStr;

use qmpi_dynamic::SymbolKind;

use crate::file::symbol::NamedSymbol;

/// Variables by exact name.
///
/// MPI standard: MPI_F_STATUS(ES)_IGNORE, MPI_F08_STATUS(ES)_IGNORE (4.1, chapter 19.3), and as
/// MPICH declares them in mpi.h MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, MPI_T_PVAR_ALL_HANDLES. MPI_F_ARGV_NULL
/// and its like are in libmpichfort.
const NAMES: &[&str] = &[
    "MPI_F_STATUS_IGNORE",
    "MPI_F_STATUSES_IGNORE",
    "MPI_F08_STATUS_IGNORE",
    "MPI_F08_STATUSES_IGNORE",
    "MPI_F_ARGV_NULL",
    "MPI_F_ARGVS_NULL",
    "MPI_F_ERRCODES_IGNORE",
    "MPI_UNWEIGHTED",
    "MPI_WEIGHTS_EMPTY",
    "MPI_T_PVAR_ALL_HANDLES",
    "MPI_ARGV_NULL",
    "MPI_ARGVS_NULL",
    "MPI_ERRCODES_IGNORE",
    // Objects of MPI's C++ binding, its predefined handles.
    "_ZN3MPI10COMM_WORLDE",
    "_ZN3MPI9COMM_SELFE",
];

/// Variables by prefix.
const PREFIXES: &[&str] = &[
    // Open MPI's predefined handles, and those of its f08 module.
    "ompi_mpi_",
    "ompi_f08_mpi_",
    "ompi_request_null",
    "ompi_message_n",
    // MPICH: sentinels of the f08 module, and C's pointers to them.
    "MPIR_F08_MPI_",
    "MPIR_C_MPI_",
    "MPIR_F_",
];

/// Fortran common blocks by lower-case stem; compilers add capitals and underscores
/// (`MPI_FORTRAN_BOTTOM`, `mpi_fortran_bottom`, `mpi_fortran_bottom_`, `mpi_fortran_bottom__`).
/// Their addresses are MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE for Fortran.
const COMMONS: &[&str] = &[
    // Open MPI (ompi/mpi/fortran/base/constants.h)
    "mpi_fortran_bottom",
    "mpi_fortran_in_place",
    "mpi_fortran_unweighted",
    "mpi_fortran_weights_empty",
    "mpi_fortran_buffer_automatic",
    "mpi_fortran_argv_null",
    "mpi_fortran_argvs_null",
    "mpi_fortran_errcodes_ignore",
    "mpi_fortran_status_ignore",
    "mpi_fortran_statuses_ignore",
    // MPICH (src/binding/fortran/mpif_h/setbotf.f)
    "mpipriv1",
    "mpipriv2",
    "mpiprivc",
    "mpifcmb1",
    "mpifcmb2",
    "mpifcmb3",
    "mpifcmb4",
    "mpifcmb5",
    "mpifcmb6",
    "mpifcmb7",
    "mpifcmb8",
    "mpifcmb9",
];

/// Whether a name is that of an MPI variable, whatever MPI it is from.
pub fn is_mpi_data_name(name: &str) -> bool {
    // Asked about every symbol of every library.
    if !["MPI", "mpi", "ompi_", "_ZN3MPI"].iter().any(|start| name.starts_with(start)) {
        return false;
    }
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || is_fortran_common(name)
}

/// Whether a name is that of a Fortran common block of an MPI library.
pub fn is_fortran_common(name: &str) -> bool {
    // Asked about every variable of every MPI library.
    if !name.as_bytes().get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"mpi")) {
        return false;
    }
    let stem = name.trim_end_matches('_');
    name.len() - stem.len() <= 2 && COMMONS.iter().any(|common| common.eq_ignore_ascii_case(stem))
}

/// Whether a name is that of a variable by which MPI's C and Fortran libraries agree on what an address of Fortran stands for: a
/// common block, a variable of the module `mpi_f08`, or a pointer of C to one of them.
pub fn is_fortran_sentinel(name: &str) -> bool {
    const OF_C_AND_F08: [&str; 5] = ["MPI_F_", "MPI_F08_", "MPIR_F_", "MPIR_F08_MPI_", "MPIR_C_MPI_"];
    OF_C_AND_F08.iter().any(|prefix| name.starts_with(prefix)) || is_fortran_common(name)
}

/// The same for a C string. Its bytes are looked at first, before anything asks whether they are text.
pub fn is_fortran_sentinel_c(name: &CStr) -> bool {
    let may_be = name.to_bytes().first_chunk().is_some_and(|start| may_be_sentinel(*start));
    may_be && name.to_str().is_ok_and(is_fortran_sentinel)
}

/// Whether a name that begins so may be one: a look at a word, and no function of MPI's begins like that. Names that are shorter are none.
pub fn may_be_sentinel(start: [u8; 6]) -> bool {
    let [a, b, c, d, e, f] = start;
    let (mpi, kind) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]));
    // Capitals become small letters, and of other characters none becomes a letter.
    let is_any = |kinds: &[[u8; 2]]| kinds.iter().any(|likely| u16::from_le_bytes(*likely) == kind | 0x2020);
    match (mpi | 0x2020_2020).to_le_bytes() {
        // `MPI_F_`, `MPI_F08_`, `mpi_fortran_`; a set bit makes `_` another character.
        [b'm', b'p', b'i', 0x7f] => is_any(&[[b'f', 0x7f], *b"f0", *b"fo"]),
        [b'm', b'p', b'i', b'r'] => is_any(&[[0x7f, b'f'], [0x7f, b'c']]),
        [b'm', b'p', b'i', b'p'] => is_any(&[*b"ri"]),
        [b'm', b'p', b'i', b'f'] => is_any(&[*b"cm"]),
        _ => false,
    }
}

/// Whether a name that begins so may be one of MPI: `MPI`, `mpi` and the like, alone or behind a `P` or an `O`.
pub fn begins_like_mpi(start: [u8; 4]) -> bool {
    let start = (u32::from_le_bytes(start) | 0x2020_2020).to_le_bytes();
    matches!(start, [b'm', b'p', b'i', _] | [b'p' | b'o', b'm', b'p', b'i'])
}

/// Whether a symbol is MPI data: by its name, or because it has the type of data and an MPI name.
pub fn is_mpi_data(symbol: &NamedSymbol<'_>) -> bool {
    let may_be_data = !matches!(symbol.kind(), SymbolKind::Function | SymbolKind::Ifunc);
    may_be_data
        && (is_mpi_data_name(symbol.name) || (symbol.kind() == SymbolKind::Data && symbol.name.starts_with("MPI_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_tell_sentinels() {
        let commons = COMMONS.iter().flat_map(|name| [(*name).to_owned(), name.to_uppercase(), format!("{name}__")]);
        let others = ["MPI_F_", "MPI_F08_", "MPIR_F_", "MPIR_F08_MPI_", "MPIR_C_MPI_"].map(str::to_owned);
        for name in commons.chain(others) {
            let start = name.as_bytes().first_chunk();
            assert!(start.is_some_and(|start| may_be_sentinel(*start)), "{name}");
        }
        let functions = qmpi_abi::FnId::all().filter_map(|id| id.name().as_bytes().first_chunk());
        let others = [b"MPI_F\0", b"ompi_m", b"MPIP_f", b"mpi@fo"];
        for start in functions.chain(others) {
            assert!(!may_be_sentinel(*start), "{}", start.escape_ascii());
        }
    }

    #[test]
    fn names_that_begin_like_mpi() {
        for start in [b"MPI_", b"mpi_", b"PMPI", b"pmpi", b"OMPI", b"ompi", b"MPIX"] {
            assert!(begins_like_mpi(*start), "{}", start.escape_ascii());
        }
        for start in [b"QMPI", b"MP_I", b"\x10MPI", b"PMP\x09"] {
            assert!(!begins_like_mpi(*start), "{}", start.escape_ascii());
        }
    }

    #[test]
    fn sentinels_of_fortran() {
        for name in ["mpi_fortran_in_place_", "mpipriv1_", "MPI_F_STATUS_IGNORE", "MPIR_F08_MPI_IN_PLACE"] {
            assert!(is_fortran_sentinel(name), "{name}");
        }
        for name in ["ompi_mpi_comm_world", "MPI_UNWEIGHTED", "MPI_Send", "mpi_send_"] {
            assert!(!is_fortran_sentinel(name), "{name}");
        }
    }

    #[test]
    fn names_of_both_families() {
        for name in [
            "ompi_mpi_comm_world",
            "MPI_UNWEIGHTED",
            "MPIR_F08_MPI_IN_PLACE",
            "mpi_fortran_in_place_",
            "MPI_FORTRAN_BOTTOM",
            "mpipriv1_",
            "mpifcmb5__",
        ] {
            assert!(is_mpi_data_name(name), "{name}");
        }
        for name in ["MPI_Send", "mpi_send_", "mpipriv1___", "ompi_info"] {
            assert!(!is_mpi_data_name(name), "{name}");
        }
    }
}
