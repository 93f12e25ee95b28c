//! What a tool finds that opens the MPI library, or modules that are linked with it, and looks functions up there.

use qmpi_tests::against::Failures;
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("mpi_library", &Mpi::ALL, mpi_library), ("module", &Mpi::ALL, module)])
}

/// Names and paths of the MPI library besides its SONAME: links that are for linkers, and others.
fn mpi_library(mpi: Mpi) -> Verdict {
    let name = match mpi {
        Mpi::OpenMpi => "libmpi.so",
        Mpi::Mpich => "libmpich.so",
    };
    let tool = compile::companion(mpi, "goes_on_by_dlopen.c").display().to_string();
    let job = Job::new(mpi, 2, &program(mpi, "ring.c"));
    let line = "goes_on_by_dlopen: 1 barriers".to_owned();
    let output = std::process::Command::new("cc").arg(format!("-print-file-name={name}")).output()?;
    let path = std::path::PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let directory = tempfile::tempdir()?;
    let link = directory.path().join("libanother.so");
    std::os::unix::fs::symlink(std::fs::canonicalize(&path)?, &link)?;
    let mut failures = Failures::default();
    for name in [name.to_owned(), path.display().to_string(), link.display().to_string()] {
        let job = job.clone().env("GOES_ON_BY", &*name);
        let reference = job.clone().preload(tool.as_ref()).run();
        reference.expect(0, std::slice::from_ref(&line)).map_err(|reason| format!("LD_PRELOAD, {name}: {reason}"))?;
        failures.same_in_stack(&job, &[&tool], &reference);
        let twice = job.stack(&[&tool, &tool]).run();
        failures
            .note(twice.expect(0, &[line.clone(), line.clone()]).map_err(|reason| format!("twice, {name}: {reason}")));
        if twice.count(&line) != 2 {
            failures.note(Err(format!("{name}: not both layers\n{}", twice.report())));
        }
    }
    failures.verdict()
}

/// A module without the function, and one that has a wrapper of its own.
fn module(mpi: Mpi) -> Verdict {
    let source = "tests/programs/asks_module_part.c";
    let modules = [
        (variant::build(mpi, source, "asks_module_plain.so", &[]), "what comes next"),
        (variant::build(mpi, source, "asks_module_wraps.so", &["-DWRAPS"]), "the module's own"),
    ];
    let tool = compile::companion(mpi, "asks_module.c").display().to_string();
    let mut failures = Failures::default();
    for (module, found) in modules {
        let job = Job::new(mpi, 1, &program(mpi, "ring.c")).env("ASKS_MODULE", module.display().to_string());
        let lines = [format!("asks_module: MPI_Comm_rank is {found}")];
        let reference = job.clone().preload(tool.as_ref()).run();
        reference.expect(0, &lines)?;
        failures.same_in_stack(&job, &[&tool], &reference);
        failures.note(job.stack(&[&tool, &tool]).run().expect(0, &lines));
    }
    failures.verdict()
}
