//! What is generated and committed is what the generator makes now.
//!
//! `table.rs` and `list.rs` are compared always. `functions.tsv` itself needs the real headers: `QMPI_TEST_HEADERS` is a
//! directory with the include directory of each library (or a link to it) under these names:
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

use shim_gen::{Origin, Standard, Table, Version};

const FUNCTIONS: &str = "../bridge/abi/functions.tsv";

fn existing() -> Table {
    Table::read(Path::new(FUNCTIONS)).unwrap_or_else(|error| panic!("{error}"))
}

fn standard() -> Standard {
    Standard::built_in().unwrap_or_else(|error| panic!("{error}"))
}

/// The table from the real headers, its functions in the places they have.
fn from_headers() -> Option<Table> {
    let headers: Vec<_> =
        headers::directories()?.into_iter().map(|(label, path)| (label, headers::read(&path))).collect();
    Some(Table::build(&headers, Some(&existing()), &standard()).unwrap_or_else(|error| panic!("{error}")))
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
    golden::check(Path::new("../bridge/runtime/src/entry/list.rs"), &shim_gen::stubs(&table));
}

#[test]
fn every_row_still_has_a_header() {
    let Some(directories) = headers::directories() else {
        return;
    };
    let headers: Vec<_> = directories.into_iter().map(|(label, path)| (label, headers::read(&path))).collect();
    let fresh = Table::build(&headers, None, &standard()).unwrap_or_else(|error| panic!("{error}"));
    let sorted = |table: &Table| {
        let mut rows: Vec<_> = table.rows().to_vec();
        rows.sort_by(|left, right| left.name.cmp(&right.name));
        rows
    };
    assert_eq!(sorted(&fresh), sorted(&existing()));
}

#[test]
fn the_list_of_standard_functions_and_the_table_agree() {
    let table = existing();
    let rows: BTreeMap<_, _> = table.rows().iter().map(|row| (row.name.as_str(), row.since)).collect();
    assert_eq!(rows.len(), table.rows().len(), "a name is there twice");
    assert!(rows.len() > 700, "{}", rows.len());
    let standard = standard();
    for (name, origin) in standard.names() {
        assert_eq!(rows.get(name), Some(&origin), "{name}");
    }
    for (name, origin) in rows {
        if origin <= Origin::Standard(Version::LISTED) {
            assert!(standard.since(name).is_some(), "{name} has no version");
        }
    }
}
