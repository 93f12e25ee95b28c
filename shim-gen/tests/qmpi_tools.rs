//! Generated QMPI tools compile beside `qmpi.h` and every real header, without a warning.
//!
//! Needs `QMPI_TEST_HEADERS` (see `fresh.rs`) and a C compiler, `cc` or `$CC`.

mod headers;

use std::collections::BTreeSet;
use std::path::Path;

use headers::{compiles, directories, include_directories};
use shim_gen::Header;

const C: &[&str] = &["-std=c99", "-pedantic"];

fn skeleton(header: &Header, functions: &[&str]) -> String {
    let functions: Vec<_> = functions.iter().map(|&name| name.to_owned()).collect();
    shim_gen::skeleton(std::slice::from_ref(header), &["mpi.h".to_owned()], "mytool", &functions)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn all(header: &Header) -> Vec<&str> {
    header.functions().map(|declared| declared.prototype.name.as_str()).collect()
}

fn read(directory: &Path) -> Header {
    headers::read(&directory.join("mpi.h"))
}

#[test]
fn skeletons_for_every_function() {
    for (label, directory) in directories().into_iter().flatten() {
        let header = read(&directory);
        compiles(&format!("skeleton-{}", label.name), &skeleton(&header, &all(&header)), C, &directory);
        let text = shim_gen::qmpi_passthrough(&[header], &["mpi.h".to_owned()], "pass", &BTreeSet::new());
        compiles(&format!("qmpi-passthrough-{}", label.name), &text, C, &directory);
    }
    // The standard ABI's header, in which MPICH has extensions of its own.
    for (label, directory) in include_directories().into_iter().flatten().filter(|(label, _)| label == "mpi_abi") {
        let header = read(&directory);
        compiles(&format!("skeleton-{label}"), &skeleton(&header, &all(&header)), C, &directory);
        let text = shim_gen::qmpi_passthrough(&[header], &["mpi.h".to_owned()], "pass", &BTreeSet::new());
        compiles(&format!("qmpi-passthrough-{label}"), &text, C, &directory);
    }
}

#[test]
fn one_skeleton_for_every_mpi() {
    let Some(directories) = include_directories() else { return };
    let some =
        ["MPI_Send", "MPI_Recv", "MPI_Wtime", "MPI_Pcontrol", "MPI_File_open", "MPI_Status_c2f", "MPI_Type_hvector"];
    // The oldest headers: what they declare, all have, except that the standard ABI has no MPI_Fint.
    for (name, from) in &directories[..2] {
        let header = read(from);
        for (label, directory) in &directories {
            let mut functions: Vec<_> = if name.starts_with("openmpi") { all(&header) } else { some.to_vec() };
            if label == "mpi_abi" {
                let standard = read(directory);
                functions.retain(|function| standard.function(function).is_some());
            }
            // MPICH's header has MPI_Session_init, so the skeleton has it too.
            if name.starts_with("mpich") && read(directory).function("MPI_Session_init").is_none() {
                continue;
            }
            compiles(&format!("skeleton-{name}-{label}"), &skeleton(&header, &functions), C, directory);
        }
    }
}

#[test]
fn what_a_skeleton_says() {
    let header = headers::read(Path::new("tests/fixtures/nasty.h"));
    let text = skeleton(&header, &["MPI_Wtime", "MPIX_Void", "MPI_Pcontrol", "MPI_Wtime", "OMPI_Extension"]);
    for line in [
        "static double mytool_Wtime(QMPI_Context context, int tool_id)",
        "    returned = ((QMPI_Wtime_t *) next->function)(context, next->tool_id);",
        "static void mytool_X_Void(QMPI_Context context, int tool_id)",
        "    ((QMPIX_Void_t *) next->function)(context, next->tool_id);",
        "    QMPI_Register_function(tool_id, OMPI_EXTENSION_T, (void (*)(void)) mytool_OMPI_Extension);",
        "    QMPI_Register_tool_name(\"mytool\", initialize);",
    ] {
        assert_eq!(text.lines().filter(|known| *known == line).count(), 1, "{line}\n{text}");
    }
    assert!(!text.contains('@'), "a place that nothing filled\n{text}");
}
