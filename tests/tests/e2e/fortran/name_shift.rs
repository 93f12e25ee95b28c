//! The name-shifted entry points in Fortran, `call QMPI_SEND(...)`, of `libqmpi_fortran.so`: in every spelling, past all layers.

use std::path::PathBuf;

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("without_a_stack", &Mpi::ALL, without_a_stack),
        ("past_qmpi_tools", &Mpi::ALL, past_qmpi_tools),
        ("past_pmpi_tools", &Mpi::ALL, past_pmpi_tools),
        ("past_tools_in_fortran", &Mpi::ALL, past_tools_in_fortran),
        ("whatever_pmpi_does", &Mpi::ALL, whatever_pmpi_does),
        ("function_that_mpi_lacks", &Mpi::ALL, function_that_mpi_lacks),
    ])
}

fn job(mpi: Mpi) -> Job {
    let library = product::runtime().with_file_name("libqmpi_fortran.so");
    Job::new(mpi, 2, &compile::program_with(mpi, "name_shift.f90", &library))
}

/// All calls arrive and give their results; each of these lines is there once for each rank and layer.
fn check(outcome: &Outcome, layers: usize, line: &str) -> Verdict {
    outcome.expect(0, &["name_shift: right 3, spellings 5".to_owned()])?;
    let found = outcome.lines().iter().filter(|found| found.contains(line)).count();
    if found != 2 * layers || !outcome.said().is_empty() {
        return Err(format!("not {} times {line}\n{}", 2 * layers, outcome.report()).into());
    }
    Ok(())
}

fn foo(mpi: Mpi) -> String {
    format!("foo={}", compile::companion(mpi, "qmpi_foo_bar.c").display())
}

fn pmpi(mpi: Mpi) -> PathBuf {
    compile::companion(mpi, "count_pmpi.c")
}

const ONE_OF_EACH: &str = ": init 1, send 1, irecv 1, wait 1, barrier 1, first MPI_Init";
const COUNTED: &str = ": send 1, irecv 1, wait 1";

fn without_a_stack(mpi: Mpi) -> Verdict {
    check(&job(mpi).run(), 0, "nothing")?;
    check(&job(mpi).by_hand("").run(), 0, "nothing")
}

fn past_qmpi_tools(mpi: Mpi) -> Verdict {
    check(&job(mpi).by_hand(&foo(mpi)).run(), 1, ONE_OF_EACH)
}

fn past_pmpi_tools(mpi: Mpi) -> Verdict {
    let tool = pmpi(mpi).display().to_string();
    check(&job(mpi).by_hand(&format!("{tool},{},{tool}", foo(mpi))).run(), 2, COUNTED)
}

/// A tool with Fortran wrappers, whose own way down is that of Fortran, above and below.
fn past_tools_in_fortran(mpi: Mpi) -> Verdict {
    let (tool, pmpi) = (tool(mpi, "fortran_counter_f").display().to_string(), pmpi(mpi).display().to_string());
    for list in [format!("{tool},{pmpi}"), format!("{pmpi},{tool}")] {
        check(&job(mpi).by_hand(&list).run(), 1, COUNTED)?;
    }
    Ok(())
}

/// Where the program's own PMPI calls enter the stack, these do not.
fn whatever_pmpi_does(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("qmpi.toml");
    std::fs::write(&file, "program_pmpi = \"chain\"\n")?;
    let list = format!("{},{}", pmpi(mpi).display(), foo(mpi));
    check(&job(mpi).by_hand(&list).env("QMPI_CONFIG", file.display().to_string()).run(), 1, COUNTED)
}

fn function_that_mpi_lacks(mpi: Mpi) -> Verdict {
    for list in ["", &foo(mpi)] {
        let outcome = job(mpi).args(&["missing".to_owned()]).by_hand(list).run();
        let is_said = outcome.stderr.contains("qmpi: error: qmpi_abi_get_version_ was called, and no MPI library");
        if outcome.status == 0 || !is_said || outcome.stdout.contains("name_shift: ") {
            return Err(format!("not said\n{}", outcome.report()).into());
        }
    }
    Ok(())
}
