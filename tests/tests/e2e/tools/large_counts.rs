//! Tools from before MPI-4 in programs that call functions with large counts (`MPI_Send_c`): what fits into an `int` comes to the tool's
//! `MPI_Send`, with every argument; what does not goes past it, and is said.

use std::path::Path;

use qmpi_tests::large_counts::LargeCounts;
use qmpi_tests::wheel::{run, stacked};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, Wheel, compile, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for library in LIBRARIES {
        let mut add = |name: &str, check: fn(Library) -> Verdict| {
            trials.push(Trial::test(format!("{}::{name}", library.name()), move || {
                library.require();
                check(library)
            }));
        };
        add("each_function", each_function);
        if library.has_large_counts() {
            add("stored", stored);
        }
    }
    trials
}

/// An MPI of Debian, or from PyPI.
#[derive(Debug, Clone, Copy)]
enum Library {
    Debian(Mpi),
    Wheel(Wheel),
}

const LIBRARIES: [Library; 6] = [
    Library::Debian(Mpi::Mpich),
    Library::Debian(Mpi::OpenMpi),
    Library::Wheel(Wheel::MPICH_4),
    Library::Wheel(Wheel::MPICH_5),
    Library::Wheel(Wheel::MPICH_5_ABI),
    Library::Wheel(Wheel::OPEN_MPI_5),
];

impl Library {
    fn name(self) -> &'static str {
        match self {
            Library::Debian(mpi) => mpi.name(),
            Library::Wheel(wheel) => wheel.name,
        }
    }

    fn require(self) {
        match self {
            Library::Debian(mpi) => mpi.require(),
            Library::Wheel(wheel) => wheel.require(),
        }
    }

    /// Has the MPI library such functions itself?
    fn has_large_counts(self) -> bool {
        !matches!(self, Library::Debian(Mpi::OpenMpi) | Library::Wheel(Wheel::OPEN_MPI_5))
    }

    fn tool(self, source: &Path) -> String {
        let file = match self {
            Library::Debian(mpi) => compile::library(mpi, source),
            Library::Wheel(wheel) => wheel.library(source),
        };
        file.display().to_string()
    }

    /// Runs a program with the tools of these sources, outermost first.
    fn run(self, ranks: usize, program: &Path, tools: &[&Path]) -> Outcome {
        let tools: Vec<String> = tools.iter().map(|source| self.tool(source)).collect();
        match self {
            Library::Debian(mpi) => {
                let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
                Job::new(mpi, ranks, &compile::executable(mpi, program)).stack(&tools).run()
            }
            Library::Wheel(wheel) => {
                let mut words = wheel.launcher(ranks);
                words.push(wheel.executable(program).display().to_string());
                run(&stacked(&tools, &words), &[])
            }
        }
    }
}

/// Every function with values at the bounds of `int`, in arguments and in arrays. The layer below answers what goes past the tool, so that
/// the functions need not be of the MPI library.
fn each_function(library: Library) -> Verdict {
    let LargeCounts { old, below, program } = LargeCounts::write();
    let outcome = library.run(3, &program, &[&old, &below]);
    outcome.expect(0, &[])?;
    let right =
        outcome.stdout.lines().filter(|line| line.starts_with("rank ") && line.ends_with(" functions, right")).count();
    if right != 3 || outcome.stdout.lines().count() != 3 {
        return Err(outcome.report().into());
    }
    Ok(())
}

/// Functions that store counts, of the MPI library: the program gets the same answers as without a stack, and the tool sees those that fit.
fn stored(library: Library) -> Verdict {
    let file = |name: &str| product::root().join("tests/programs").join(name);
    let outcome = library.run(1, &file("large_counts_stored.c"), &[&file("large_counts_old.c")]);
    outcome.expect(0, &["stored: 0 wrong", "old: 2 1 1 1 1 1 1 1 1 1 1 2"].map(str::to_owned))?;
    let said = outcome.said().join("\n");
    for function in
        ["MPI_Type_size_c", "MPI_Get_count_c", "MPI_Pack_size_c", "MPI_Buffer_attach_c", "MPI_Buffer_detach_c"]
    {
        if !said.contains(function) {
            return Err(format!("{function} is not said to have gone past\n{}", outcome.report()).into());
        }
    }
    Ok(())
}
