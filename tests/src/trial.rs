//! One check, on each MPI that it is for: the body of a test that no directive could describe.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::Mpi;

/// What comes of a check.
pub type Verdict = Result<(), Failed>;

/// A check: its name, the MPIs it is for, and what it does.
pub type Check = (&'static str, &'static [Mpi], fn(Mpi) -> Verdict);

/// Runs all checks, as a test program's `main`.
///
/// # Panics
/// When an MPI is missing.
pub fn on_each_mpi(checks: &[Check]) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for mpi in Mpi::ALL {
        mpi.require();
        for &(name, _, check) in checks.iter().filter(|(_, mpis, _)| mpis.contains(&mpi)) {
            trials.push(Trial::test(format!("{}::{name}", mpi.name()), move || check(mpi)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
