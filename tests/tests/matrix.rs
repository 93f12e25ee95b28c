//! Every kind of tool above every other kind, two and three deep, for every function: who sees a call in which order, every
//! bit of its arguments and of its result, whose storage a tool gets, and where the application called.
//!
//! `src/matrix.rs` has the tools and the program. The innermost layer answers every call, so MPI is never initialized.

use std::process::ExitCode;
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Failed, Trial};
use qmpi_tests::matrix::{self, Matrix};
use qmpi_tests::{Job, Mpi};

/// PMPI, QMPI, thesis.
const KINDS: [&str; 3] = ["p", "q", "t"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for mpi in Mpi::ALL {
        mpi.require();
        let mut add = |program: &'static str, layers: Vec<&'static str>| {
            let name = format!("{}::{program}::{}", mpi.name(), layers.concat());
            trials.push(Trial::test(name, move || check(mpi, program, &layers)));
        };
        for a in KINDS {
            add("program", vec![a]);
            for b in KINDS {
                add("program", vec![a, b]);
                for c in KINDS {
                    add("program", vec![a, b, c]);
                }
            }
        }
        // The same twice are two instances of one file: so these are two files.
        add("program", vec!["p", "p2"]);
        add("program", vec!["q", "q2"]);
        add("program", vec!["t", "t2"]);
        // Keeps MPI_Pcontrol for itself.
        for layers in
            [&["d"][..], &["d", "d2"], &["d", "p"], &["p", "d"], &["d", "q"], &["q", "d"], &["d", "t"], &["t", "d"]]
        {
            add("program", layers.to_vec());
        }
        add("program", vec!["p", "q", "t", "t2", "q2", "p2", "t", "q", "p"]);
        for program in ["program", "program_now", "program_got"] {
            add(program, vec![]);
            if program != "program" {
                for kind in KINDS {
                    add(program, vec![kind]);
                }
                add(program, vec!["p", "q", "t"]);
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(mpi: Mpi, program: &str, layers: &[&str]) -> Result<(), Failed> {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    let matrix = MATRIX.get_or_init(Matrix::write);
    let paths: Vec<String> =
        layers.iter().chain(&["s"]).map(|name| matrix.tool(mpi, name).display().to_string()).collect();
    let letters: String = layers.iter().filter_map(|name| name.chars().next()).chain(['s']).collect();
    let job = Job::alone(mpi, &matrix.program(mpi, program)).args(std::slice::from_ref(&letters));
    let outcome = job.by_hand(&paths.join(",")).run();
    let functions = matrix::functions();
    let verdict = format!("matrix {letters}: {functions} functions, {} calls, 0 wrong", 2 * functions);
    outcome.expect(0, &[verdict])?;
    if !outcome.said().is_empty() {
        return Err(format!("not silent\n{}", outcome.report()).into());
    }
    Ok(())
}
