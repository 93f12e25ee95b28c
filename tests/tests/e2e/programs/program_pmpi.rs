//! A program that calls `PMPI_f` itself: what PMPI tools see is what they see preloaded, what QMPI tools see is what the documents of
//! QMPI say, and `program_pmpi` of the configuration decides otherwise.

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("pmpi_tools", &Mpi::ALL, pmpi_tools),
        ("qmpi_tools", &Mpi::ALL, qmpi_tools),
        ("both", &Mpi::ALL, both),
        ("as_configured", &Mpi::ALL, as_configured),
        ("of_fortran", &Mpi::ALL, of_fortran),
        ("of_qmpi_tools_themselves", &Mpi::ALL, of_qmpi_tools_themselves),
    ])
}

const PROGRAMS: [&str; 2] = ["program_pmpi.c", "program_pmpi_fortran.f90"];

fn job(mpi: Mpi, file: &str) -> Job {
    Job::new(mpi, 1, &program(mpi, file))
}

fn pmpi(mpi: Mpi) -> String {
    compile::companion(mpi, "count_pmpi.c").display().to_string()
}

fn foo(mpi: Mpi) -> String {
    format!("foo={}", compile::companion(mpi, "qmpi_foo_bar.c").display())
}

/// So many layers of each kind saw so many calls of MPI_Send.
fn saw(outcome: &Outcome, pmpi: usize, qmpi: usize, sends: usize) -> Verdict {
    outcome.expect(0, &["done".to_owned()])?;
    let of_foo = outcome.lines().iter().filter(|line| line.starts_with("foo ")).count();
    let counted = |line: &&&str| line.starts_with("foo ") && line.contains(&format!(" send {sends}, "));
    let right_of_foo = outcome.lines().iter().filter(counted).count();
    let right_of_pmpi = outcome.count(&format!("pmpi, rank 0: send {sends}, "));
    if (right_of_pmpi, of_foo, right_of_foo) != (pmpi, qmpi, qmpi) || !outcome.said().is_empty() {
        return Err(format!("not {sends} calls in each of {pmpi} and {qmpi} layers\n{}", outcome.report()).into());
    }
    Ok(())
}

/// Past them, as without us. Of Fortran, a preloaded tool with C wrappers sees none of the calls on Open MPI and all on MPICH.
fn pmpi_tools(mpi: Mpi) -> Verdict {
    let tool = pmpi(mpi);
    saw(&job(mpi, PROGRAMS[0]).preload(tool.as_ref()).run(), 1, 0, 1)?;
    for file in PROGRAMS {
        saw(&job(mpi, file).by_hand(&tool).run(), 1, 0, 1)?;
        saw(&job(mpi, file).by_hand(&format!("{tool},{tool}")).run(), 2, 0, 1)?;
    }
    Ok(())
}

/// "The PMPI symbol will start the chain of QMPI tools": and the calling address is in the program.
fn qmpi_tools(mpi: Mpi) -> Verdict {
    let qmpi = foo(mpi);
    let outcome = job(mpi, PROGRAMS[0]).by_hand(&format!("{qmpi},{qmpi}")).run();
    saw(&outcome, 0, 2, 3)?;
    if outcome.lines().iter().filter(|line| line.ends_with(", callers ok")).count() != 2 {
        return Err(format!("other callers\n{}", outcome.report()).into());
    }
    Ok(())
}

/// With PMPI tools in the stack, what these see decides.
fn both(mpi: Mpi) -> Verdict {
    let (pmpi, qmpi) = (pmpi(mpi), foo(mpi));
    for list in [format!("{pmpi},{qmpi}"), format!("{qmpi},{pmpi}")] {
        saw(&job(mpi, PROGRAMS[0]).by_hand(&list).run(), 1, 1, 1)?;
    }
    Ok(())
}

fn as_configured(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("qmpi.toml");
    let (pmpi, qmpi) = (pmpi(mpi), foo(mpi));
    for (word, list, layers, sends) in [
        ("chain", format!("{pmpi},{qmpi},{pmpi}"), (2, 1), 3),
        ("chain", format!("{pmpi},{pmpi}"), (2, 0), 3),
        ("past", format!("{qmpi},{qmpi}"), (0, 2), 1),
        ("auto", format!("{qmpi},{pmpi}"), (1, 1), 1),
        ("auto", qmpi.clone(), (0, 1), 3),
    ] {
        std::fs::write(&file, format!("program_pmpi = \"{word}\"\n"))?;
        for program in PROGRAMS {
            let job = job(mpi, program).by_hand(&list).env("QMPI_CONFIG", file.display().to_string());
            saw(&job.run(), layers.0, layers.1, sends)?;
        }
    }
    Ok(())
}

fn of_fortran(mpi: Mpi) -> Verdict {
    let (pmpi, qmpi) = (pmpi(mpi), foo(mpi));
    saw(&job(mpi, PROGRAMS[1]).by_hand(&format!("{qmpi},{qmpi}")).run(), 0, 2, 3)?;
    saw(&job(mpi, PROGRAMS[1]).by_hand(&format!("{qmpi},{pmpi}")).run(), 1, 1, 1)
}

/// What a QMPI tool calls as PMPI_f goes past all layers; the program's calls enter.
fn of_qmpi_tools_themselves(mpi: Mpi) -> Verdict {
    let tool = format!("calls_pmpi={}", compile::companion(mpi, "qmpi_calls_pmpi.c").display());
    let outcome = job(mpi, PROGRAMS[0]).by_hand(&format!("{tool},{tool}")).run();
    Ok(outcome.expect(0, &[1, 2].map(|id| format!("calls_pmpi {id}: 3 sends")))?)
}
