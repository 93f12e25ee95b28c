//! What the two libraries export, and what they leave alone.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;

use qmpi_abi::FnId;
use qmpi_elf::ElfFile;
use qmpi_tests::{Trial, Verdict, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 6] = [
        ("the_runtime_exports_mpi_and_the_qmpi_interface", the_runtime_exports_mpi_and_the_qmpi_interface),
        (
            "the_bridge_exports_no_function_of_mpi_and_needs_the_public_interface_only",
            the_bridge_exports_no_function_of_mpi_and_needs_the_public_interface_only,
        ),
        ("the_recorder_is_a_tool_that_needs_the_public_interface_only", the_recorder_needs_the_public_interface_only),
        ("neither_needs_an_mpi_library", neither_needs_an_mpi_library),
        ("the_runtime_needs_glibc_alone", the_runtime_needs_glibc_alone),
        ("the_runtime_is_small", the_runtime_is_small),
    ];
    let passes = |test: fn()| {
        move || -> Verdict {
            test();
            Ok(())
        }
    };
    tests.into_iter().map(|(name, test)| Trial::test(name, passes(test))).collect()
}

fn exports(file: &Path) -> BTreeSet<String> {
    ElfFile::open(file).unwrap().exports().map(|symbol| symbol.name.to_owned()).collect()
}

/// `QMPI_Send` of `MPI_Send`, as MPICH shifts names.
fn shifted(name: &str) -> String {
    format!("Q{name}")
}

fn the_runtime_exports_mpi_and_the_qmpi_interface() {
    let mut found = exports(&product::runtime());
    for id in FnId::all() {
        for name in [id.name().to_owned(), shifted(id.name())] {
            assert!(found.remove(&name), "{name} is not exported");
        }
    }
    let golden = product::root().join("tests/golden/libqmpi-exports.txt");
    let rest: String = found.iter().map(|name| format!("{name}\n")).collect();
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
        std::fs::write(&golden, &rest).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(rest, expected, "BLESS=1 rewrites {}", golden.display());
    // The MPI library itself calls these; an application that does means to bypass tools.
    assert!(!rest.contains("PMPI"), "{rest}");
}

fn the_bridge_exports_no_function_of_mpi_and_needs_the_public_interface_only() {
    let bridge = product::runtime().with_file_name("libqmpi_bridge.so");
    // The one symbol is for dlsym to find (bridge/loader/src/process/loader_lock.rs); nothing refers to it.
    assert_eq!(exports(&bridge), BTreeSet::from(["qmpi_under_loader_lock".to_owned()]));
    let file = ElfFile::open(&bridge).unwrap();
    let of_qmpi: BTreeSet<&str> =
        file.imports().map(|symbol| symbol.name).filter(|name| name.contains("MPI")).collect();
    let public =
        ["QMPI_Get_function", "QMPI_Register_function", "QMPI_Register_tool_name", "QMPI_Register_tool_storage"];
    assert_eq!(of_qmpi, BTreeSet::from(public));
    assert!(!file.needed().iter().any(|name| name.contains("qmpi")), "{:?}", file.needed());
}

fn the_recorder_needs_the_public_interface_only() {
    let recorder = product::runtime().with_file_name("libqmpi_recorder.so");
    assert_eq!(exports(&recorder), BTreeSet::new());
    let file = ElfFile::open(&recorder).unwrap();
    let of_qmpi: BTreeSet<&str> =
        file.imports().map(|symbol| symbol.name).filter(|name| name.contains("MPI")).collect();
    let public = [
        "QMPIX_Get_layer",
        "QMPIX_Get_mpi_symbol",
        "QMPIX_Get_process",
        "QMPIX_Get_tools",
        "QMPI_Get_function",
        "QMPI_Register_function",
        "QMPI_Register_tool_name",
    ];
    assert_eq!(of_qmpi, BTreeSet::from(public));
    assert!(!file.needed().iter().any(|name| name.contains("qmpi")), "{:?}", file.needed());
}

fn neither_needs_an_mpi_library() {
    for name in ["libqmpi.so", "libqmpi_bridge.so", "libqmpi_recorder.so"] {
        let file = ElfFile::open(&product::runtime().with_file_name(name)).unwrap();
        let foreign: Vec<&String> = file.needed().iter().filter(|name| name.contains("mpi")).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }
}

/// It is mapped by every process of a job. One index that may be out of bounds brings 4 KB of formatting of numbers with it.
fn the_runtime_is_small() {
    // On AArch64, whose pages may have 64 KiB, a segment begins on one of its own.
    let most = if cfg!(target_arch = "aarch64") { 150_000 + 65_536 } else { 150_000 };
    let bytes = std::fs::metadata(product::runtime()).unwrap().len();
    assert!(bytes <= most, "{bytes} bytes");
}

/// Without it, its references have no versions: an unversioned symbol answers for each version that is asked for.
fn the_runtime_needs_glibc_alone() {
    let file = ElfFile::open(&product::runtime()).unwrap();
    let mut needed = file.needed().iter().map(String::as_str);
    assert_eq!(needed.next(), Some("libc.so.6"));
    // `_r_debug`.
    assert!(needed.all(|name| name.starts_with("ld-linux")), "{:?}", file.needed());
}
