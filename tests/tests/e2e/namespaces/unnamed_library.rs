//! A tool that needs versions of a library which no object names, as `patchelf --remove-needed` leaves it.
//!
//! Under `LD_PRELOAD` the program or MPI brings the library. In a namespace of its own `ld.so` ends the process with an assertion
//! (`elf/dl-version.c: _dl_check_map_versions`), unless the library is there under this name.

use std::path::PathBuf;

use goblin::elf::Elf;
use goblin::elf::dynamic::{DT_DEBUG, DT_NEEDED};
use goblin::elf::program_header::PT_DYNAMIC;
use libtest_mimic::Failed;
use qmpi_tests::compile::tool_variant;
use qmpi_tests::{Job, Mpi, Trial, Verdict, artifact, on_each_mpi, program};

/// The library, and one of its functions.
const LIBRARY: &str = "libm.so.6";

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("in_a_namespace", &Mpi::ALL, in_a_namespace), ("as_a_clone", &Mpi::ALL, as_a_clone)])
}

fn in_a_namespace(mpi: Mpi) -> Verdict {
    stack_of(mpi, 1)
}

/// More instances than there are namespaces.
fn as_a_clone(mpi: Mpi) -> Verdict {
    stack_of(mpi, 17)
}

fn stack_of(mpi: Mpi, instances: usize) -> Verdict {
    let tool = unnamed(mpi)?.display().to_string();
    let outcome = Job::new(mpi, 2, &program(mpi, "ring.c")).stack(&vec![tool.as_str(); instances]).run();
    outcome.expect(0, &[])?;
    match outcome.count("counter: MPI calls of 2 ranks") {
        count if count == instances => Ok(()),
        count => Err(format!("{count} tables of {instances} instances\n{}", outcome.report()).into()),
    }
}

/// The counter, with a reference to a function of a library whose DT_NEEDED is taken away again.
fn unnamed(mpi: Mpi) -> Result<PathBuf, Failed> {
    let named = tool_variant(mpi, "counter", "unnamed", &["-Wl,-u,cos", "-Wl,--no-as-needed", "-lm"]);
    let mut bytes = std::fs::read(&named)?;
    let elf = Elf::parse(&bytes)?;
    let needs_version = elf.verneed.iter().flat_map(|needs| needs.iter());
    let files: Vec<_> = needs_version.filter_map(|need| elf.dynstrtab.get_at(need.vn_file)).collect();
    assert!(files.contains(&LIBRARY), "the tool needs no version of {LIBRARY}: {files:?}");
    let entries = elf.dynamic.as_ref().ok_or("no dynamic section")?.dyns.iter();
    let is_it = |tag, name| tag == DT_NEEDED && elf.dynstrtab.get_at(name) == Some(LIBRARY);
    let index = entries.enumerate().find(|(_, entry)| is_it(entry.d_tag, entry.d_val as usize));
    let section = elf.program_headers.iter().find(|header| header.p_type == PT_DYNAMIC).ok_or("no PT_DYNAMIC")?;
    let at = section.p_offset as usize + index.ok_or("no DT_NEEDED")?.0 * 16;
    // An entry that ld.so fills in itself, and only in an executable.
    bytes[at..at + 8].copy_from_slice(&DT_DEBUG.to_le_bytes());
    let path = named.with_extension("without.so");
    // The other test may run with it: a file that is overwritten in place changes below its mappings.
    artifact::write_source(&path, &bytes);
    Ok(path)
}
