//! What `qmpi doctor` says about launchers: do they pass the variables on to every rank, and what to tell them.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;

use qmpi_launch::environment::{EnvironmentVariable, of_process};
use qmpi_launch::launcher;
use qmpi_launch::program::Program;
use qmpi_launch::{executable, forward};
use qmpi_plan::Launcher;
use qmpi_plan::launcher::Line;

use crate::report::check::Check;

/// The names under which launchers are looked for.
const NAMES: [&str; 7] = ["mpiexec", "mpirun", "mpiexec.hydra", "orterun", "prterun", "srun", "flux"];

/// One answer for each launcher on PATH, under the first of its names.
pub(crate) fn launchers(variables: &[EnvironmentVariable]) -> Vec<Check> {
    let path = std::env::var_os("PATH");
    let mut seen = Vec::new();
    let mut checks = Vec::new();
    for name in NAMES {
        let Some(file) = executable::find(OsStr::new(name), path.as_deref()) else { continue };
        let known = launcher::identify(&file);
        let real = known.as_ref().map_or_else(|| file.canonicalize().unwrap_or(file.clone()), |(_, real)| real.clone());
        if seen.contains(&real) {
            continue;
        }
        seen.push(real);
        checks.push(match known {
            Some((launcher, _)) => habits(launcher, &file.display().to_string(), variables),
            None => Check::warn(
                "launcher",
                format!("{}: its kind cannot be told", file.display()),
                "if ranks on other hosts run without the stack, start the program there with `qmpi run`: LAUNCHER ... qmpi run ./app",
            ),
        });
    }
    checks
}

/// What a launcher does if nothing is said.
fn habits(launcher: Launcher, file: &str, variables: &[EnvironmentVariable]) -> Check {
    let names = forward::names(variables, &of_process);
    let name = launcher.name();
    let dropped = Line { launcher, args: &[], get: &of_process }.dropped(&names);
    if dropped.is_empty() {
        return Check::ok("launcher", format!("{file} ({name}) passes the variables on to all hosts"));
    }
    let advice = launcher.advice(&names);
    let variable = match launcher {
        Launcher::Slurm => Some("SLURM_EXPORT_ENV keeps"),
        Launcher::Pals => Some("PALS_ENVLIST and PALS_ENVALL keep"),
        _ => None,
    };
    let message = match variable {
        Some(variable) => {
            let lost = dropped.join(", ");
            format!("{file} ({name}): {variable} {lost} from all ranks; `qmpi run` tells it to pass them on")
        }
        None => format!("{file} ({name}) does not pass the variables on to other hosts; `qmpi run` tells it to"),
    };
    Check::ok("launcher", message).with_hint(format!("without `qmpi run` pass {advice}"))
}

/// Answers about a command line.
pub(crate) fn command(
    command: &[OsString],
    program: Option<&Program>,
    variables: &[EnvironmentVariable],
) -> Vec<Check> {
    const NAME: &str = "command";
    let path = std::env::var_os("PATH");
    let Some(found) = launcher::find(command, path.as_deref()) else {
        let word = command.first().cloned().unwrap_or_default();
        let (file, name) = (executable::find(&word, path.as_deref()), word.display());
        return vec![match program {
            Some(program) if file.as_ref() == Some(&program.path) => {
                Check::ok(NAME, format!("{name} uses {} and is started by itself", program.mpi()))
            }
            _ if !executable::exists(&word, path.as_deref()) => {
                Check::warn(NAME, format!("{name}: command not found"), "check the spelling and PATH")
            }
            _ => Check::warn(
                NAME,
                format!("{name} is no launcher that is known here: it may keep variables from ranks on other hosts"),
                "start the program with `qmpi run` there: LAUNCHER ... qmpi run ./app",
            ),
        }];
    };
    let forward = forward::forward(command, &found, variables, &of_process);
    let args = found.args(command);
    let (launcher, names) = (found.launcher, forward::names(variables, &of_process));
    let dropped = Line { launcher, args: &args, get: &of_process }.dropped(&names);
    let mut checks: Vec<Check> = forward.warnings.into_iter().map(|warning| Check::of_warning(NAME, warning)).collect();
    if !checks.is_empty() {
        return checks;
    }
    let name = launcher.name();
    checks.push(if dropped.is_empty() {
        Check::ok(NAME, format!("{name} passes the variables on to all ranks"))
    } else {
        let mut message = format!("{name} does not pass {} on to ranks on other hosts", dropped.join(", "));
        let _ = match (&forward.added, &forward.list) {
            (_, Some(list)) => write!(message, "; `qmpi run` sets {}=\"{}\"", list.name, list.value),
            (Some(added), None) => write!(message, "; `qmpi run` adds {added}"),
            (None, None) => write!(message, "; `qmpi run` adds them to its list"),
        };
        Check::ok(NAME, message).with_hint(format!("without `qmpi run` pass {}", launcher.advice(&dropped)))
    });
    checks
}
