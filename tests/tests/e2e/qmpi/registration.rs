//! Until when a QMPI tool can be registered: until MPI is initialized, in the World Model or in the Sessions Model, with a stack that
//! names the tool, with one that does not, and with none. And which tool a path means.

use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("in_main", &Mpi::ALL, in_main),
        ("in_main_after_early_calls", &Mpi::ALL, after_early_calls),
        ("in_main_with_sessions", &[Mpi::Mpich], with_sessions),
        ("in_main_of_fortran", &Mpi::ALL, of_fortran),
        ("without_a_stack", &Mpi::ALL, without_a_stack),
        ("beside_other_tools", &Mpi::ALL, beside_other_tools),
        ("too_late", &Mpi::ALL, too_late),
        ("of_several", &Mpi::ALL, of_several),
    ])
}

fn job(mpi: Mpi, what: &str) -> Job {
    let program = compile::program_with(mpi, "registers_late.c", &product::runtime());
    Job::new(mpi, 1, &program).args(&[what.to_owned()])
}

fn expect(job: &Job, lines: [&str; 2]) -> Verdict {
    let outcome = job.run();
    outcome.expect(0, &lines.map(str::to_owned))?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

const OF_THE_TOOL: &str = "registered ok, again arg, in the callback late, in MPI_Init late, after late";
const OF_NO_TOOL: &str = "registered ok, again arg, in the callback -, in MPI_Init -, after late";
const NOT_CALLED: &str = "callbacks 0, inits 0, sessions 0, barriers 0, initialized 0";

fn in_main(mpi: Mpi) -> Verdict {
    let calls = "callbacks 1, inits 1, sessions 0, barriers 1, initialized 1";
    expect(&job(mpi, "plain").by_hand("late"), [OF_THE_TOOL, calls])?;
    expect(&job(mpi, "plain").stack(&["late"]), [OF_THE_TOOL, calls])?;
    let twice = "callbacks 2, inits 2, sessions 0, barriers 2, initialized 2";
    expect(&job(mpi, "plain").by_hand("late,late"), [OF_THE_TOOL, twice])
}

/// What may be called before MPI_Init does not end registration. Interception begins when MPI is initialized.
fn after_early_calls(mpi: Mpi) -> Verdict {
    let calls = "callbacks 1, inits 1, sessions 0, barriers 1, initialized 1";
    expect(&job(mpi, "after").by_hand("late"), [OF_THE_TOOL, calls])
}

fn with_sessions(mpi: Mpi) -> Verdict {
    let calls = "callbacks 1, inits 0, sessions 1, barriers 0, initialized 0";
    expect(&job(mpi, "sessions").by_hand("late"), [OF_THE_TOOL, calls])?;
    // Of a stack without it as well.
    let counter = format!("{0},{0}", compile::companion(mpi, "count_pmpi.c").display());
    let outcome = job(mpi, "sessions").by_hand(&counter).run();
    Ok(outcome.expect(0, &[OF_NO_TOOL.to_owned(), NOT_CALLED.to_owned()])?)
}

/// Open MPI's Fortran library calls C by names that no tool has, and that do not come to libqmpi.so before start-up.
fn of_fortran(mpi: Mpi) -> Verdict {
    let program = compile::program_with(mpi, "registers_late_fortran.f90", &product::runtime());
    let outcome = Job::new(mpi, 1, &program).by_hand("late").run();
    let lines = ["registered 0", "tool: MPI_Init", "tool: MPI_Allreduce, in place 1", "done 1"];
    Ok(outcome.expect(0, &lines.map(str::to_owned))?)
}

/// Registered, and not asked for.
fn without_a_stack(mpi: Mpi) -> Verdict {
    expect(&job(mpi, "plain").by_hand(""), [OF_NO_TOOL, NOT_CALLED])?;
    expect(&job(mpi, "after").by_hand(""), [OF_NO_TOOL, NOT_CALLED])?;
    // Everything is set up before `main`, which is no reason to warn.
    expect(&job(mpi, "plain").by_hand("").env("QMPI_LOG", "warn"), [OF_NO_TOOL, NOT_CALLED])?;
    // Linked, and not preloaded.
    expect(&job(mpi, "plain"), [OF_NO_TOOL, NOT_CALLED])
}

fn beside_other_tools(mpi: Mpi) -> Verdict {
    let counter = compile::companion(mpi, "count_pmpi.c").display().to_string();
    let outcome = job(mpi, "after").by_hand(&format!("{counter},{counter}")).run();
    outcome.expect(0, &[OF_NO_TOOL.to_owned(), NOT_CALLED.to_owned()])?;
    let calls = "callbacks 1, inits 1, sessions 0, barriers 1, initialized 1";
    let outcome = job(mpi, "after").by_hand(&format!("{counter},late,{counter}")).run();
    outcome.expect(0, &[OF_THE_TOOL.to_owned(), calls.to_owned()])?;
    if outcome.count("pmpi, rank 0: ") != 2 {
        return Err(format!("the other tools are not there\n{}", outcome.report()).into());
    }
    Ok(())
}

/// A name of the list that nothing registers is missed when MPI is initialized, and not before.
fn too_late(mpi: Mpi) -> Verdict {
    let outcome = job(mpi, "after").by_hand("later").run();
    let is_said = outcome.stderr.contains("no tool `later` found") && outcome.stderr.contains("hint: ");
    if outcome.status == 0 || !is_said || outcome.stdout.contains("registered") {
        return Err(format!("not refused\n{}", outcome.report()).into());
    }
    Ok(())
}

/// A path under another name: of a file that registers several tools, the command says which there are, before anything is started.
fn of_several(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let renamed = directory.path().join("renamed.so").display().to_string();
    std::fs::copy(tool(mpi, "qmpi_counter"), &renamed)?;
    let job = Job::new(mpi, 2, &program(mpi, "ring.c"));
    for layer in [renamed.clone(), format!("other={renamed}")] {
        let outcome = job.clone().stack(&[&layer]).run();
        let hint = format!("qmpi: hint: write which of them is meant: -t counter={renamed}");
        let said = outcome.said();
        let is_right = matches!(&said[..], [error, last] if error.contains("registers the tools counter, rows, columns") && *last == hint);
        if !is_right || outcome.status != 3 {
            return Err(outcome.report().into());
        }
    }
    let outcome = job.stack(&[&format!("counter={renamed}")]).run();
    outcome.expect(0, &["done".to_owned()])?;
    Ok(())
}
