//! Which MPI a library belongs to, or a tool was built for.
//!
//! One table of library names; and the data symbols that tell apart what names do not.

use qmpi_abi::MpiFamily;
use qmpi_dynamic::mpi;

use crate::error::ElfError;
use crate::file::ElfFile;

/// What a library of an MPI is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The C functions.
    C,
    /// `mpif.h`, `use mpi` or `use mpi_f08`.
    Fortran,
    /// The C++ binding of MPI-2.
    Cxx,
    /// Others that only make sense with it (run-time layer, Java).
    Internal,
}

/// Names of libraries in front of `.so`, some with the number behind it; a `*` at the end stands for anything.
type FamilyRow = (&'static [&'static str], Option<MpiFamily>, Role);

const OPEN_MPI: Option<MpiFamily> = Some(MpiFamily::OpenMpi);
const MPICH: Option<MpiFamily> = Some(MpiFamily::Mpich);
const STANDARD: Option<MpiFamily> = Some(MpiFamily::StandardAbi);

/// First match wins.
const LIBRARIES: &[FamilyRow] = &[
    // Open MPI: .so.0 and .1 up to 1.8, .12 in 1.10 (shared with MPICH, see below), .20 in 2 and 3.0, .40 since.
    (&["libmpi.so.0", "libmpi.so.1", "libmpi.so.20", "libmpi.so.40", "libmpi.so.80"], OPEN_MPI, Role::C),
    // MPICH ABI initiative (2013): upstream MPICH, Intel MPI, MVAPICH2, ParaStation. Open MPI 1.10's number
    // is the same; imported `ompi_*` data tell.
    (&["libmpi.so.12"], MPICH, Role::C),
    // No number, or one that no MPI has used yet.
    (&["libmpi"], None, Role::C),
    (&["libmpi_abi", "libpmpi_abi"], STANDARD, Role::C),
    (&["libmpi_abi_*"], STANDARD, Role::Fortran),
    // Debian's MPICH; MPICH before the initiative was libmpich.so.3/.10.
    (&["libmpich", "libpmpich"], MPICH, Role::C),
    // PMPI in a library of its own (MPICH where weak symbols are missing; Intel's and Open MPI's old ones).
    (&["libpmpi"], None, Role::C),
    (&["libmpichfort", "libmpichf90", "libmpifort"], MPICH, Role::Fortran),
    (&["libmpichcxx", "libmpicxx"], MPICH, Role::Cxx),
    (&["libmpl", "libopa"], MPICH, Role::Internal),
    // Intel MPI.
    (&["libmpi_ilp64"], MPICH, Role::Fortran),
    (&["libmpi_mt"], MPICH, Role::C),
    // Cray MPICH: libmpi_gnu_91.so.12, libmpi_cray.so.12, libmpifort_gnu_91.so.12, libmpich_gnu_82.so.3.
    (&["libmpi_gnu*", "libmpi_cray*", "libmpi_intel*", "libmpi_nvidia*", "libmpi_aocc*"], MPICH, Role::C),
    (&["libmpi_amd*", "libmpi_pgi*", "libmpich_gnu*", "libmpich_cray*"], MPICH, Role::C),
    (&["libmpich_intel*", "libmpich_nvidia*"], MPICH, Role::C),
    (&["libmpifort_abi"], STANDARD, Role::Fortran),
    (&["libmpifort_*", "libmpichf90_*"], MPICH, Role::Fortran),
    // Open MPI's other languages, and its vendors.
    (&["libmpi_ibm"], OPEN_MPI, Role::C),
    (&["libmpi_ibm_*", "libmpi_mpifh*", "libmpi_usempi*", "libmpi_f77", "libmpi_f90"], OPEN_MPI, Role::Fortran),
    (&["libmpi_cxx"], OPEN_MPI, Role::Cxx),
    // libopen_mpi: since Open MPI 6 the objects behind the handles, and Fortran's sentinels.
    (&["libmpi_java", "libopen_mpi", "libopen-rte", "libopen-pal", "libmca_common_*"], OPEN_MPI, Role::Internal),
];

/// `libmpi.so.40` → (`libmpi`, `40`); `libmpi.so.40.30.4` the same; `None` for what is not a library's name.
fn split(name: &str) -> Option<(&str, &str)> {
    let (stem, rest) = name.split_once(".so")?;
    if rest.is_empty() {
        return Some((stem, ""));
    }
    let numbers = rest.strip_prefix('.')?;
    let is_version = numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_version.then(|| (stem, numbers.split('.').next().unwrap_or(numbers)))
}

/// The row of a library's name, and which of its stems it has.
fn look_up(name: &str) -> Option<(&'static FamilyRow, &'static str)> {
    // libqmpi's callers ask for every library of the process; nearly all end here.
    if !["libm", "libp", "libo"].iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let (stem, major) = split(name)?;
    let is_it = |known: &&&str| match (known.strip_suffix('*'), known.strip_prefix(stem)) {
        (Some(start), _) => stem.starts_with(start),
        (None, rest) => rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(".so.") == Some(major)),
    };
    LIBRARIES.iter().find_map(|row| Some((row, *row.0.iter().find(is_it)?)))
}

/// Whether a SONAME or file name is that of a library that belongs to an MPI, whatever its language. A tool may have such a name as
/// well: [`is_mpi_library`] looks at what the file has.
pub fn is_mpi_soname(name: &str) -> bool {
    look_up(name).is_some()
}

/// Whether a SONAME or file name is that of an MPI's C library.
pub fn is_mpi_c_library_file_name(name: &str) -> bool {
    role_of(name) == Some(Role::C)
}

/// Whether a file is a library of an MPI: by what it defines and refers to; the name counts only where nothing shows a tool.
pub fn is_mpi_library(file: &ElfFile) -> bool {
    let needed = || file.needed().iter().map(String::as_bytes);
    mpi::belongs(&file.tables(), needed, || is_mpi_soname(file.name()), !file.is_shared_object())
}

/// Whether a file has MPI's functions with the profiling interface, rather than stands in front of them.
pub fn implements_mpi(file: &ElfFile) -> bool {
    mpi::implements(&file.tables(), || file.needed().iter().map(String::as_bytes))
}

/// Whether a name is one that MPI libraries have and tools as well: the file has to be looked at. Reading the symbols of MPI's large
/// libraries takes a millisecond, so those with names that are MPI's alone are not read.
pub fn is_name_of_tools_too(name: &str) -> bool {
    const OF_MPI_ALONE: [&str; 4] = ["libmpi_abi_*", "libmpi_mpifh*", "libmpi_usempi*", "libmca_common_*"];
    look_up(name).is_some_and(|(_, stem)| {
        let is_loose = stem.ends_with('*') && !OF_MPI_ALONE.contains(&stem);
        is_loose || ["libpmpi", "libmpl", "libopa"].contains(&stem)
    })
}

/// What a library of an MPI is for; `None` if it is not one by its name.
pub fn role_of(name: &str) -> Option<Role> {
    look_up(name).map(|((.., role), _)| *role)
}

/// The family that a library's name tells; `None` for other libraries, and for names that several use.
pub fn family_of_name(name: &str) -> Option<MpiFamily> {
    look_up(name).and_then(|((_, family, _), _)| *family)
}

/// The family that a data symbol belongs to.
fn family_of_data(symbol: &str) -> Option<MpiFamily> {
    if symbol.starts_with("ompi_") {
        OPEN_MPI
    } else if symbol.starts_with("MPIR_") || symbol.starts_with("mpipriv") || symbol.starts_with("mpifcmb") {
        MPICH
    } else {
        None
    }
}

/// The MPI that a binary was built for, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiAbi {
    /// The MPI.
    pub family: MpiFamily,
    /// The library name or symbol that shows it.
    pub evidence: String,
    /// Something that shows another one: such a tool works with neither.
    pub contradiction: Option<(MpiFamily, String)>,
}

impl MpiAbi {
    /// The MPI that a tool was built for, from the libraries at which its closure stops and the data symbols
    /// it must find. Those that it refers to weakly it does without: they show nothing. `None`: nothing ties it to one.
    pub fn of_tool<'a>(stopped: &[String], strong_data: impl IntoIterator<Item = &'a str>) -> Option<MpiAbi> {
        let data = strong_data.into_iter().filter_map(|symbol| Some((family_of_data(symbol)?, symbol.to_owned())));
        let names = stopped.iter().map(|name| name.rsplit('/').next().unwrap_or(name));
        let names = names
            // Internal libraries may be needed by other software (libopen-pal by PMIx tools).
            .filter(|name| role_of(name) != Some(Role::Internal))
            .filter_map(|name| Some((family_of_name(name)?, name.to_owned())));
        // Symbols first: libmpi.so.12 is also the name of Open MPI 1.10's library.
        let mut all = data.chain(names);
        let (family, evidence) = all.next()?;
        let open_mpi_1_10 = |name: &str| family == MpiFamily::OpenMpi && name == "libmpi.so.12";
        let contradiction = all.find(|(other, name)| *other != family && !open_mpi_1_10(name));
        Some(MpiAbi { family, evidence, contradiction })
    }
}

/// The family of an MPI library: by what it exports or is bound to, else by its name. `None` if it exports no `PMPI_*`.
pub fn family_of_library(file: &ElfFile) -> Option<MpiFamily> {
    let (mut open_mpi, mut mpich, mut profiling) = (false, false, false);
    // Since Open MPI 6 the objects are in another library than the functions, whatever that is called.
    let is_bound_to_objects = || file.imports().any(|symbol| symbol.name == "ompi_mpi_comm_world");
    for symbol in file.plain_exports() {
        match symbol.name {
            "ompi_mpi_comm_world" | "ompi_mpi_init" => open_mpi = true,
            "MPIR_Process" | "MPIR_Err_create_code" | "MPIR_F08_MPI_IN_PLACE" | "MPI_F_STATUS_IGNORE" => mpich = true,
            name => profiling |= name.starts_with("PMPI_"),
        }
    }
    let by_name = family_of_name(file.name());
    match (profiling, by_name, open_mpi, mpich) {
        (false, ..) => None,
        (_, STANDARD, ..) => STANDARD,
        (_, _, true, _) => OPEN_MPI,
        (_, _, _, false) if is_bound_to_objects() => OPEN_MPI,
        (_, Some(family), ..) => Some(family),
        (.., true) => MPICH,
        _ => None,
    }
}

/// The version that an MPI library gives of itself, as in `Open MPI v4.1.4` or `MPICH Version: 4.0.2`.
///
/// Reads all constants of the file: for the desk, not for a start-up. Libraries that put the text
/// together at run time have the bare number somewhere; it is taken if it is the only one.
///
/// # Errors
/// If the file cannot be read.
pub fn library_version(file: &ElfFile) -> Result<Option<String>, ElfError> {
    let texts = file.strings_in_rodata(&|text| is_version_text(text) || is_bare_version(text))?;
    if let Some(text) = texts.iter().find(|text| is_version_text(text)) {
        return Ok(Some(text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(',').to_owned()));
    }
    let mut bare = texts.iter().filter(|text| is_bare_version(text));
    let (first, second) = (bare.next(), bare.next());
    Ok(match (first, second, family_of_library(file)) {
        (Some(number), None, Some(MpiFamily::OpenMpi)) => Some(format!("Open MPI v{number}")),
        (Some(number), None, Some(MpiFamily::Mpich)) => Some(format!("MPICH Version: {number}")),
        _ => None,
    })
}

/// Starts with a product's name, and goes on with a number where others go on with something else.
fn is_version_text(text: &str) -> bool {
    const PRODUCTS: [(&str, bool); 6] = [
        ("Open MPI v", true),
        ("MPICH Version:", true),
        ("MVAPICH2 Version", true),
        ("MVAPICH Version", true),
        ("Intel(R) MPI Library ", false),
        ("MPI VERSION    :", false),
    ];
    let goes_on =
        |rest: &str| rest.trim_start_matches([' ', '\t', ':']).starts_with(|first: char| first.is_ascii_digit());
    let is_of =
        |product: &str, has_number: bool| text.strip_prefix(product).is_some_and(|rest| !has_number || goes_on(rest));
    text.len() < 200 && PRODUCTS.iter().any(|(product, has_number)| is_of(product, *has_number))
}

/// `4.0.2`, `4.2.0rc1`.
fn is_bare_version(text: &str) -> bool {
    let mut parts = text.splitn(3, '.');
    let number = |part: Option<&str>| {
        part.is_some_and(|part| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // MPIs are past version 0; what they bundle often is not.
    number(parts.next().filter(|&major| major != "0"))
        && number(parts.next())
        && parts.next().is_some_and(|last| {
            let rest = last.trim_start_matches(|first: char| first.is_ascii_digit());
            last.len() != rest.len()
                && last.len() <= 6
                && ["", "a", "b", "rc", "p"].contains(&rest.trim_end_matches(|last: char| last.is_ascii_digit()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_families() {
        for (name, family) in [
            ("libmpi.so.40", OPEN_MPI),
            ("libmpi.so.20", OPEN_MPI),
            ("libmpi.so.40.30.4", OPEN_MPI),
            ("libmpi_mpifh.so.40", OPEN_MPI),
            ("libmpi_usempif08.so.40", OPEN_MPI),
            ("libmpi_usempi_ignore_tkr.so.40", OPEN_MPI),
            ("libmpi.so.12", MPICH),
            ("libmpich.so.12.2.2", MPICH),
            ("libmpifort.so.12", MPICH),
            ("libmpi_gnu_91.so.12", MPICH),
            ("libmpi_cray.so.12", MPICH),
            ("libmpi_abi.so.1", STANDARD),
            ("libmpi.so", None),
        ] {
            assert!(is_mpi_soname(name), "{name}");
            assert_eq!(family_of_name(name), family, "{name}");
        }
        for name in [
            "libmpiP.so",
            "libm.so.6",
            "libmpi.a",
            "libmpi.so.40-gdb.py",
            "libmpitrace.so",
            "libmpc.so.3",
            "libqmpi.so",
        ] {
            assert!(!is_mpi_soname(name), "{name}");
        }
        assert!(is_mpi_c_library_file_name("libmpich.so.12.2.2"));
        assert!(!is_mpi_c_library_file_name("libmpi_mpifh.so.40"));
    }

    #[test]
    fn version_texts() {
        assert!(is_version_text("Open MPI v4.1.4, package: x"));
        assert!(is_version_text("MPICH Version:\t4.2.0"));
        assert!(!is_version_text("Open MPI v%d.%d.%d"));
        for text in ["4.0.2", "4.2.0rc1", "4.3.0a2"] {
            assert!(is_bare_version(text), "{text}");
        }
        for text in ["4.0", "4.0.2.1", "127.0.0.1", "1.2.x", "a.b.c"] {
            assert!(!is_bare_version(text), "{text}");
        }
    }
}
