//! Small nasty headers, and what is read from each: `fixtures/NAME.h` and `fixtures/NAME.txt`.

mod golden;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use shim_gen::Header;

/// One line per function: which of its names are declared, the prototype, and the arguments of a call.
fn shown(path: &Path) -> String {
    let header = match Header::read(path) {
        Ok(header) => header,
        Err(error) => return format!("error: {error}\nhint: {}\n", error.hint()),
    };
    let mut text = String::new();
    for declared in header.functions() {
        let prototype = &declared.prototype;
        let names = match (declared.plain, declared.profiling) {
            (true, true) => "MPI PMPI",
            (true, false) => "MPI",
            _ => "PMPI",
        };
        let _ = writeln!(
            text,
            "[{names}] {} {}({}) <- {}",
            prototype.result,
            prototype.name,
            prototype.parameters(),
            prototype.arguments()
        );
    }
    text
}

#[test]
fn every_fixture_reads_as_expected() {
    let directory = Path::new("tests/fixtures");
    let mut headers: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{error}"))
        .map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "h"))
        .collect();
    headers.sort();
    assert!(!headers.is_empty());
    for header in headers {
        golden::check(&header.with_extension("txt"), &shown(&header));
    }
}
