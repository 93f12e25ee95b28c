//! Trials: one check each, by name; and the modules of the test program `e2e`, each of which lists its own.

use std::collections::BTreeSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed};

use crate::{Mpi, documented, product};

/// What comes of a check.
pub type Verdict = Result<(), Failed>;

/// A check: its name, the MPIs it is for, and what it does.
pub type Check = (&'static str, &'static [Mpi], fn(Mpi) -> Verdict);

/// A check that is ready to run.
pub struct Trial {
    name: String,
    check: Box<dyn FnOnce() -> Verdict + Send>,
}

impl Trial {
    /// With this name within its module.
    pub fn test(name: impl Into<String>, check: impl FnOnce() -> Verdict + Send + 'static) -> Trial {
        Trial { name: name.into(), check: Box::new(check) }
    }
}

/// A check that no directive could describe, on each MPI that it is for. Where an MPI is missing, the checks for it fail.
pub fn on_each_mpi(checks: &[Check]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for mpi in Mpi::ALL {
        for &(name, _, check) in checks.iter().filter(|(_, mpis, _)| mpis.contains(&mpi)) {
            trials.push(Trial::test(format!("{}::{name}", mpi.name()), move || {
                mpi.require();
                check(mpi)
            }));
        }
    }
    trials
}

/// A module of the test program.
pub struct Module {
    path: &'static str,
    trials: fn() -> Vec<Trial>,
}

impl Module {
    /// With this path (`e2e::group::topic`), and the function that lists its trials.
    pub const fn new(path: &'static str, trials: fn() -> Vec<Trial>) -> Module {
        Module { path, trials }
    }

    /// The path without the program.
    fn name(&self) -> &'static str {
        self.path.split_once("::").map_or(self.path, |(_, name)| name)
    }
}

inventory::collect!(Module);

/// Makes a module part of the test program, with the function that lists its trials. A `mod` line in `main.rs` is all that
/// there is beside it.
#[macro_export]
macro_rules! module {
    ($trials:path) => {
        $crate::trial::inventory::submit! { $crate::trial::Module::new(module_path!(), $trials) }
    };
}

#[doc(hidden)]
pub use inventory;

/// Runs what the command line selects of all trials of all modules: the test program's `main`. Names are
/// `group::module::mpi::check`. A filter `^group::module::` selects those whose names begin with it.
///
/// # Panics
/// When two trials have one name: a selection by name would run both, or count both as one.
pub fn run_all() -> ExitCode {
    let mut arguments = Arguments::from_args();
    if arguments.exact {
        // cargo-nextest: a process for each trial. In a thread of its own, what belongs to the thread might outlive main.
        arguments.test_threads = Some(1);
    }
    let mut modules: Vec<&Module> = inventory::iter::<Module>.into_iter().collect();
    modules.sort_by_key(|module| module.name());
    let names: BTreeSet<&str> = modules.iter().map(|module| module.name()).collect();

    let mut trials = vec![libtest_mimic::Trial::test("every_file_is_a_module", move || every_file_is_in(&names))];
    let mut known = BTreeSet::new();
    for module in modules {
        for trial in (module.trials)() {
            let name = format!("{}::{}", module.name(), trial.name);
            assert!(known.insert(name.clone()), "two trials have the name {name}");
            trials.push(libtest_mimic::Trial::test(name, trial.check));
        }
    }
    trials
        .push(libtest_mimic::Trial::test("every_documented_test_exists", move || every_documented_test_is_in(&known)));
    // The filters of libtest look for their text anywhere in a name: `tools::` is in `qmpi::tools::`, too.
    if let Some(start) = arguments.filter.take_if(|filter| filter.starts_with('^')) {
        trials.retain(|trial| trial.name().starts_with(&start[1..]));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A file without its line in `main.rs` would be compiled by nothing, and missed by nothing.
fn every_file_is_in(modules: &BTreeSet<&str>) -> Verdict {
    for group in std::fs::read_dir(product::root().join("tests/tests/e2e"))? {
        let group = group?.path();
        if group.file_name().is_some_and(|name| name == "main.rs") {
            continue;
        }
        for entry in std::fs::read_dir(&group)? {
            let path = entry?.path();
            let [group, name] = [&group, &path].map(|path| path.file_stem().unwrap_or_default().to_string_lossy());
            if !modules.contains(format!("{group}::{name}").as_str()) {
                return Err(format!(
                    "{} is no module of the tests: it needs `mod {name};` in `mod {group}` of main.rs, and `qmpi_tests::module!`",
                    path.display()
                )
                .into());
            }
        }
    }
    Ok(())
}

/// A page that names a test which is no longer there would vouch for nothing.
fn every_documented_test_is_in(trials: &BTreeSet<String>) -> Verdict {
    for page in documented::PAGES {
        let text = std::fs::read_to_string(product::root().join(page))?;
        documented::all_exist(page, &text, trials)?;
    }
    Ok(())
}
