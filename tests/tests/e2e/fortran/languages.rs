//! One program of each language under one tool of each kind: which of them meet.

use qmpi_tests::{Job, Mpi, Trial, Verdict, cells, on_each_mpi, program, tool};

/// Program, language, and a line of it.
const PROGRAMS: [(&str, &str, &str); 5] = [
    ("ring.c", "C", "done"),
    ("cxx_app.cc", "C++", ""),
    ("fortran_mpifh.f90", "Fortran, mpif.h", "fortran_mpifh: received 42"),
    ("fortran_use_mpi.f90", "Fortran, use mpi", "fortran_use_mpi: received 42"),
    ("fortran_f08.f90", "Fortran, use mpi_f08", "fortran_f08: received 42"),
];

/// File, kind, and how a line of its report begins if it saw the program's calls.
const TOOLS: [(&str, &str, &str); 4] = [
    ("counter", "PMPI tool, C wrappers", "counter: MPI calls of"),
    ("cxx_runtime", "PMPI tool in C++", "tool cxx_runtime: ok"),
    ("qmpi_counter", "QMPI tool", "counter: MPI calls of"),
    ("thesis_counter", "thesis tool", "thesis_counter at level"),
];

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("each_with_each", &Mpi::ALL, each_with_each)])
}

fn each_with_each(mpi: Mpi) -> Verdict {
    for (file, language, line) in PROGRAMS {
        let job = Job::new(mpi, 2, &program(mpi, file));
        let plain = job.run();
        for (name, kind, report) in TOOLS {
            let path = tool(mpi, name).display().to_string();
            let element = if name == "qmpi_counter" { format!("counter={path}") } else { path };
            let outcome = job.clone().stack(&[&element]).run();
            let lines: Vec<String> =
                [line].iter().filter(|line| !line.is_empty()).map(|line| (*line).to_owned()).collect();
            outcome.expect(0, &lines)?;
            let added = outcome.stdout.lines().count() > plain.stdout.lines().count();
            if outcome.count(report) == 0 || !added || !outcome.said().is_empty() {
                return Err(format!("{file}, {name}: no report\n{}", outcome.report()).into());
            }
            cells::note("languages", mpi, language, kind, "yes");
        }
    }
    Ok(())
}
