//! What is generated and committed is what the generator makes now.
//!
//! What is made from committed files is compared always. `functions.tsv`, `macros.rs`, `qmpi.h` and the numberings need the real headers:
//! `QMPI_TEST_HEADERS` is a directory with the include directory of each library (or a link to it) under these names:
//!
//! ```text
//! mpich-4.0.2/     mpi.h mpi_proto.h mpio.h
//! openmpi-4.1.4/   mpi.h mpi-ext.h openmpi/mpiext/*.h
//! mpich-4.3.2/     mpi.h mpi_proto.h mpio.h
//! mpich-5.0.1/     mpi.h mpi_proto.h mpi_abi.h
//! openmpi-5.0.11/  mpi.h mpi-ext.h openmpi/mpiext/*.h
//! ```
//!
//! Without the variable that part is skipped, except where `CI=true`. `BLESS=1` rewrites the files.

mod golden;
mod headers;

use std::collections::BTreeMap;
use std::path::Path;

use shim_gen::{DefinedBy, FunctionList, HeaderNumbering, Parameters, Rules, Standard, StandardVersion};

const FUNCTIONS: &str = "../bridge/abi/functions.tsv";
const PARAMETERS: &str = "../bridge/abi/parameters.tsv";
const NUMBERINGS: &str = "../bridge/abi/numbering";

fn existing() -> FunctionList {
    FunctionList::read(Path::new(FUNCTIONS)).unwrap_or_else(|error| panic!("{error}"))
}

fn numberings() -> Vec<HeaderNumbering> {
    HeaderNumbering::read_all(Path::new(NUMBERINGS)).unwrap_or_else(|error| panic!("{error}"))
}

fn standard() -> Standard {
    Standard::built_in().unwrap_or_else(|error| panic!("{error}"))
}

/// The table from the real headers, its functions in the places they have.
fn from_headers() -> Option<FunctionList> {
    let headers: Vec<_> =
        headers::directories()?.into_iter().map(|(label, path)| (label, headers::read(&path))).collect();
    Some(FunctionList::build(&headers, Some(&existing()), &standard()).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn everything_generated_is_fresh() {
    // One test, because the other files follow from the first when it is rewritten.
    if let Some(table) = from_headers() {
        golden::check(Path::new(FUNCTIONS), &table.to_tsv());
    }
    let table = existing();
    golden::check(Path::new(FUNCTIONS), &table.to_tsv());
    golden::check(Path::new("../bridge/abi/src/table.rs"), &shim_gen::rust(&table));
    golden::check(Path::new("../bridge/entry/src/exports/functions/list.rs"), &shim_gen::stubs(&table));
    golden::check(Path::new("../bridge/entry/src/exports/shifted/list.rs"), &shim_gen::qmpi_stubs(&table));
    golden::check(Path::new("../bridge/fortran/src/list.rs"), &shim_gen::fortran_stubs(&table));
    let numberings = numberings();
    let tables = shim_gen::numbering_rust(&numberings, &table).unwrap_or_else(|error| panic!("{error}"));
    golden::check(Path::new("../bridge/abi/src/numbering/tables.rs"), &tables);
    if let Some(directories) = headers::directories() {
        let headers: Vec<_> = directories.into_iter().map(|(label, path)| (label, headers::read(&path))).collect();
        let macros = shim_gen::macros_rust(&headers, &table).unwrap_or_else(|error| panic!("{error}"));
        golden::check(Path::new("../bridge/abi/src/macros.rs"), &macros);
        let header = shim_gen::qmpi_header(&headers, &numberings, &table);
        golden::check(Path::new("../bridge/include/qmpi.h"), &header);
    }
}

#[test]
fn parameters_are_those_of_the_headers_and_the_rules() {
    let rules = Rules::built_in().unwrap_or_else(|error| panic!("{error}"));
    if let Some(directories) = headers::directories() {
        let headers: Vec<_> = directories.into_iter().map(|(label, path)| (label, headers::read(&path))).collect();
        let fresh = Parameters::build(&headers, &existing(), &rules).unwrap_or_else(|error| panic!("{error}"));
        golden::check(Path::new(PARAMETERS), &fresh.to_tsv());
    }
    let parameters = Parameters::read(Path::new(PARAMETERS)).unwrap_or_else(|error| panic!("{error}"));
    golden::check(Path::new(PARAMETERS), &parameters.to_tsv());
    let table = shim_gen::parameters_rust(&parameters).unwrap_or_else(|error| panic!("{error}"));
    golden::check(Path::new("../bridge/abi/src/parameters/table.rs"), &table);
    golden::check(Path::new("../bridge/abi/src/parameters/kind.rs"), &shim_gen::kinds_rust(&rules));
    golden::check(Path::new("../docs/parameters.md"), &shim_gen::parameters_page(&parameters, &rules));
    // The columns that both tables have.
    let of_functions: Vec<_> = existing().rows.iter().map(|row| (row.name.clone(), usize::from(row.args))).collect();
    let is_parameter = |parameter: &&shim_gen::ListedParameter| !parameter.is_result();
    let of_parameters: Vec<_> = parameters
        .functions
        .iter()
        .map(|(name, list)| (name.to_owned(), list.iter().filter(is_parameter).count()))
        .collect();
    assert_eq!(of_functions, of_parameters);
}

#[test]
fn numberings_are_those_of_the_headers() {
    let known = numberings();
    for numbering in &known {
        let first = numbering.releases.first().unwrap_or_else(|| panic!("a numbering of no release"));
        let path = format!("{NUMBERINGS}/mpich-{}.{}.{}.txt", first.0, first.1, first.2);
        golden::check(Path::new(&path), &numbering.to_text());
    }
    for (label, path) in headers::directories().into_iter().flatten() {
        let Some(release) = label.name.strip_prefix("mpich-") else { continue };
        let text = |(major, minor, patch): (u8, u8, u8)| format!("{major}.{minor}.{patch}");
        let numbering = known.iter().find(|numbering| numbering.releases.iter().any(|&known| text(known) == release));
        let fresh = HeaderNumbering::read_header(&path, Vec::new()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(numbering.map(|numbering| &numbering.values), Some(&fresh.values), "{release}");
    }
}

#[test]
fn every_row_still_has_a_header() {
    let Some(directories) = headers::directories() else {
        return;
    };
    let headers: Vec<_> = directories.into_iter().map(|(label, path)| (label, headers::read(&path))).collect();
    let fresh = FunctionList::build(&headers, None, &standard()).unwrap_or_else(|error| panic!("{error}"));
    let sorted = |table: &FunctionList| {
        let mut rows: Vec<_> = table.rows.to_vec();
        rows.sort_by(|left, right| left.name.cmp(&right.name));
        rows
    };
    assert_eq!(sorted(&fresh), sorted(&existing()));
}

#[test]
fn the_list_of_standard_functions_and_the_table_agree() {
    let table = existing();
    let rows: BTreeMap<_, _> = table.rows.iter().map(|row| (row.name.as_str(), row.since)).collect();
    assert_eq!(rows.len(), table.rows.len(), "a name is there twice");
    assert!(rows.len() > 700, "{}", rows.len());
    let standard = standard();
    for (name, origin) in &standard.since {
        assert_eq!(rows.get(name.as_str()), Some(origin), "{name}");
    }
    for (name, origin) in rows {
        if origin <= DefinedBy::Standard(StandardVersion::LISTED) {
            assert!(standard.since.contains_key(name), "{name} has no version");
        }
    }
}
