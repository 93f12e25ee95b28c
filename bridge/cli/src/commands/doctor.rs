//! `qmpi doctor`: what would stop a run on this machine, and in this environment.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

use qmpi_elf::SearchPath;
use qmpi_launch::environment::runtime;
use qmpi_launch::environment::{EnvironmentVariable, of_process};
use qmpi_launch::program::FoundPrograms;
use qmpi_launch::{Warning, executable, installed_mpi};
use qmpi_plan::placement::{self, Namespaces};
use qmpi_plan::preload;
use serde::Serialize;

use crate::args::{DoctorArgs, RuntimeArgs, StackArgs, VerbosityArgs};
use crate::plan::layer::InspectedLayer;
use crate::plan::{CheckedStack, glibc};
use crate::report::check::{Check, Status};
use crate::report::container;
use crate::report::launch;
use crate::terminal;
use crate::{Error, plan};

#[derive(Debug, Serialize)]
struct Diagnosis {
    ok: bool,
    checks: Vec<Check>,
}

/// Runs all checks and prints them. Whether nothing failed.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<bool, Error> {
    let checked = plan::check(&args.stack, &args.command, VerbosityArgs::default(), &of_process);
    let mut checks = checks(&args.stack, &checked);
    let with_variables =
        |checked: CheckedStack| Some((checked.variables(&RuntimeArgs::default(), &of_process).ok()?, Some(checked)));
    let (variables, plan) = checked.ok().and_then(with_variables).unwrap_or_else(|| (without_values(), None));
    checks.extend(launch::launchers(&variables));
    if !args.command.is_empty() {
        let (survey, found) = programs(&args.command);
        checks.extend(launch::command(&args.command, survey.program.as_ref(), &variables));
        checks.extend(found);
        let container = plan.as_ref().and_then(|plan| container::look_at(plan, &variables, &args.command));
        let complete = |name| format!("{name}: the files of the stack are bound, and its variables get in");
        checks.extend(container.map(|(name, lacks)| match lacks {
            Some(Warning { message, hint }) => Check::fail("container", message, hint.unwrap_or_default()),
            None => Check::ok("container", complete(name)),
        }));
        checks.extend(plan.and_then(|plan| fits(plan, &args.command, &survey)));
    }
    let ok = checks.iter().all(|check| check.status != Status::Fail);
    if args.json {
        terminal::answer_json(Diagnosis { ok, checks })?;
    } else {
        terminal::answer(&text(&checks))?;
    }
    Ok(ok)
}

fn checks(asked: &StackArgs, checked: &Result<CheckedStack, Error>) -> Vec<Check> {
    let mut checks = vec![
        c_library(glibc::version()),
        kernel(&read("/proc/sys/kernel/osrelease")),
        proc(Path::new("/proc/self/fd").is_dir()),
        memory_files(&read("/proc/sys/vm/memfd_noexec")),
        runtime_found(),
        namespaces(text_of("LD_AUDIT").as_deref()),
        tunables(text_of("GLIBC_TUNABLES").as_deref()),
        preloaded(text_of("LD_PRELOAD").as_deref()),
    ];
    checks.extend(mpi_libraries());
    checks.push(program("mpicc", "compiler wrapper", std::env::var_os("PATH").as_deref()));
    checks.push(program("mpiexec", "launcher", std::env::var_os("PATH").as_deref()));
    checks.push(stack(asked, checked));
    checks
}

fn c_library(version: Option<glibc::GlibcVersion>) -> Check {
    const NAME: &str = "glibc";
    let text = |(major, minor): glibc::GlibcVersion| format!("{major}.{minor}");
    let oldest = text(glibc::OLDEST);
    match version {
        None => Check::warn(NAME, "the C library's version cannot be told", "PMPI tools need glibc 2.28 or newer"),
        Some(version) if version < glibc::OLDEST => Check::fail(
            NAME,
            format!("{} is older than {oldest}", text(version)),
            "PMPI tools need absolute symbols, which older versions relocate; use a newer system or container",
        ),
        Some(version) => Check::ok(NAME, format!("{} (needed: {oldest} or newer)", text(version))),
    }
}

fn kernel(release: &str) -> Check {
    const NAME: &str = "kernel";
    let release = release.trim();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) < (3, 17) => Check::warn(
            NAME,
            format!("{release} has no memfd_create"),
            "temporary files are used instead; TMPDIR must be a writable directory",
        ),
        (Some(_), Some(_)) => Check::ok(NAME, release),
        _ => Check::warn(NAME, "its release cannot be told", "is /proc mounted?"),
    }
}

fn proc(mounted: bool) -> Check {
    if mounted {
        Check::ok("proc", "/proc is mounted")
    } else {
        Check::warn("proc", "/proc is not mounted", "temporary files are used instead; TMPDIR must be writable")
    }
}

fn memory_files(policy: &str) -> Check {
    // Providers have no code, so that a ban on executable memory files (1) does not concern them. 2 refuses the plain call.
    match policy.trim() {
        "2" => Check::warn(
            "memfd",
            "vm.memfd_noexec=2 refuses memory files that are not sealed",
            "temporary files are used where a memory file is refused",
        ),
        _ => Check::ok("memfd", "memory files are allowed"),
    }
}

fn runtime_found() -> Check {
    match runtime::find(&of_process) {
        Ok(path) => Check::ok("runtime", path.display().to_string()),
        Err(error) => Check::of_error("runtime", error),
    }
}

fn namespaces(audit: Option<&str>) -> Check {
    const NAME: &str = "namespaces";
    let (auditors, left) = (placement::auditors(audit), Namespaces::at_start(audit).free);
    match auditors {
        0 => Check::ok(NAME, format!("{left} left: as many PMPI tools fit in a stack")),
        _ if left == 0 => Check::fail(NAME, "none left: LD_AUDIT takes them all", "unset LD_AUDIT"),
        _ => Check::warn(NAME, format!("{left} left: LD_AUDIT takes {auditors}"), "unset LD_AUDIT to have 15"),
    }
}

fn tunables(value: Option<&str>) -> Check {
    match value {
        None | Some("") => Check::ok("tunables", "GLIBC_TUNABLES is not set; `qmpi run` sets it where tools need it"),
        Some(value) => Check::ok("tunables", format!("GLIBC_TUNABLES={value}; `qmpi run` adds to it")),
    }
}

fn preloaded(value: Option<&str>) -> Check {
    const NAME: &str = "preload";
    let entries: Vec<&str> = preload::entries(value.unwrap_or_default()).collect();
    let missing = entries.iter().find(|entry| entry.contains('/') && !Path::new(entry).is_file());
    if let Some(missing) = missing {
        return Check::warn(
            NAME,
            format!("LD_PRELOAD names {missing}, which does not exist"),
            "the dynamic linker warns about it in every process; remove it",
        );
    }
    if value.is_some_and(preload::has_runtime) {
        return Check::warn(
            NAME,
            "LD_PRELOAD has libqmpi.so already",
            "start from a shell without it, or use `qmpi run` alone",
        );
    }
    if entries.is_empty() {
        Check::ok(NAME, "LD_PRELOAD is not set")
    } else {
        Check::ok(NAME, format!("LD_PRELOAD={}; it stays in front of libqmpi.so", entries.join(":")))
    }
}

fn mpi_libraries() -> Vec<Check> {
    let found = installed_mpi::find();
    if found.is_empty() {
        let hint = "that is fine if the application brings its own; else load a module or set LD_LIBRARY_PATH";
        return vec![Check::warn("mpi", "no MPI library on the linker's path", hint)];
    }
    found.into_iter().map(|library| Check::ok("mpi", library.to_string())).collect()
}

fn program(name: &'static str, what: &str, path: Option<&OsStr>) -> Check {
    match executable::find(OsStr::new(name), path) {
        None => Check::warn(name, format!("no {name} on PATH"), format!("only needed for a {what} of that name")),
        Some(file) => {
            let version = installed_mpi::program_version(&file);
            let version = version.map_or_else(String::new, |version| format!(" ({version})"));
            Check::ok(name, format!("{}{version}", file.display()))
        }
    }
}

/// The programs of a command line, and what keeps the runtime out of them.
fn programs(command: &[OsString]) -> (FoundPrograms, Vec<Check>) {
    match qmpi_launch::program::find(command, std::env::var_os("PATH").as_deref(), &SearchPath::from_process()) {
        Ok(mut survey) => {
            let warnings = std::mem::take(&mut survey.warnings).into_iter();
            (survey, warnings.map(|warning| Check::of_warning("program", warning)).collect())
        }
        Err(error) => (FoundPrograms::default(), vec![Check::of_error("program", error)]),
    }
}

/// Are launcher, program and tools of one MPI, and does the program have what tools share with it? Said where that is not so.
fn fits(mut checked: CheckedStack, command: &[OsString], survey: &FoundPrograms) -> Option<Check> {
    let error = checked.check_command(Some(survey.program.as_ref()?), command).err()?;
    Some(Check::of_error("program", error))
}

/// The stack that is asked for; without options that of the environment, which a batch script may have set.
fn stack(asked: &StackArgs, checked: &Result<CheckedStack, Error>) -> Check {
    const NAME: &str = "stack";
    let asks = if asked.tools.is_empty() && asked.config.is_none() { "the environment asks for" } else { "asked for" };
    let checked = match checked {
        Err(Error { message, hint, .. }) => return Check::fail(NAME, message, hint),
        Ok(checked) if checked.layers.is_empty() => return Check::ok(NAME, format!("{asks} no tools")),
        Ok(checked) => checked,
    };
    if let Err(error) = checked.check_mpis() {
        return Check::of_error(NAME, error);
    }
    let labels: Vec<&str> = checked.layers.iter().map(InspectedLayer::label).collect();
    let message = format!("{asks} {}", labels.join(", "));
    match checked.all_warnings().first() {
        Some(warning) => Check::warn(NAME, format!("{message}; {}", warning.message), "`qmpi list` says more"),
        None => Check::ok(NAME, message),
    }
}

/// The names of what a run from this environment would set, where the stack cannot be set up.
fn without_values() -> Vec<EnvironmentVariable> {
    [qmpi_plan::variable::TOOL_LIST, "LD_PRELOAD"].map(|name| EnvironmentVariable { name, value: String::new() }).into()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn text_of(name: &str) -> Option<String> {
    of_process(name).map(|value| value.to_string_lossy().into_owned())
}

fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let status = match check.status {
            Status::Ok => terminal::green("ok  "),
            Status::Warn => terminal::yellow("warn"),
            Status::Fail => terminal::red("fail"),
        };
        let _ = writeln!(text, "{status}  {:<10}  {}", check.name, check.message);
        if let Some(hint) = &check.hint {
            let _ = writeln!(text, "                  hint: {hint}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glibc_before_absolute_symbols() {
        assert_eq!(c_library(Some((2, 27))).status, Status::Fail);
        assert_eq!(c_library(Some((2, 28))).status, Status::Ok);
        assert_eq!(c_library(None).status, Status::Warn);
    }

    #[test]
    fn kernels() {
        assert_eq!(kernel("3.10.0-1160.el7.x86_64\n").status, Status::Warn);
        assert_eq!(kernel("6.1.0-13-amd64\n").status, Status::Ok);
        assert_eq!(kernel("").status, Status::Warn);
    }

    #[test]
    fn auditors_take_namespaces() {
        assert!(namespaces(None).message.starts_with("15 left"));
        assert!(namespaces(Some("/a.so:/b.so")).message.starts_with("13 left"));
        assert_eq!(namespaces(Some(&vec!["a"; 16].join(":"))).status, Status::Fail);
    }

    #[test]
    fn preloads() {
        assert_eq!(preloaded(None).status, Status::Ok);
        assert_eq!(preloaded(Some("libjemalloc.so.2")).status, Status::Ok);
        assert_eq!(preloaded(Some("/nonexistent/x.so")).status, Status::Warn);
        assert_eq!(preloaded(Some("libqmpi.so")).status, Status::Warn);
    }

    #[test]
    fn other_checks() {
        assert_eq!(memory_files("2\n").status, Status::Warn);
        assert_eq!(memory_files("1").status, Status::Ok);
        assert_eq!(proc(false).status, Status::Warn);
        assert_eq!(program("mpicc", "compiler", Some(OsStr::new("/nonexistent"))).status, Status::Warn);
    }

    #[test]
    fn every_line_without_colours() {
        let text = text(&[Check::fail("x", "m", "h")]);
        assert_eq!(text, "fail  x           m\n                  hint: h\n");
    }
}
