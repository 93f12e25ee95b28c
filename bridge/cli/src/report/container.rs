//! What a container lacks of a stack.

use std::ffi::OsString;
use std::path::PathBuf;

use qmpi_launch::Warning;
use qmpi_launch::container::{self, Container};
use qmpi_launch::environment::{EnvironmentVariable, of_process, runtime};
use qmpi_plan::preload;
use qmpi_plan::variable;

use crate::plan::CheckedStack;

/// The name of the container's program, and the warning if it lacks something, where COMMAND starts a container.
pub(crate) fn look_at(
    checked: &CheckedStack,
    variables: &[EnvironmentVariable],
    command: &[OsString],
) -> Option<(String, Option<Warning>)> {
    let container = container::find(command, &of_process)?;
    let warning = lacks(checked, variables, &container);
    Some((container.name, warning))
}

fn lacks(checked: &CheckedStack, variables: &[EnvironmentVariable], container: &Container) -> Option<Warning> {
    let directories = container.lacks(&needed(checked, variables));
    let names: Vec<&str> = variables.iter().map(|variable| variable.name).collect();
    let dropped = container.drops(&names);
    let mut parts = Vec::new();
    let mut options = Vec::new();
    if !directories.is_empty() {
        let list: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
        parts.push(format!("does not have {}", list.join(", ")));
        options.push(container.bind_options(&directories));
    }
    if !dropped.is_empty() {
        parts.push(format!("does not get {}", dropped.join(", ")));
        let lost = variables.iter().filter(|variable| dropped.contains(&variable.name));
        let lost: Vec<(&str, &str)> = lost.map(|variable| (variable.name, variable.value.as_str())).collect();
        options.push(container.variable_options(&lost));
    }
    let message =
        format!("the container of {} {}: the stack is not complete there", container.name, parts.join(", and "));
    (!parts.is_empty()).then(|| Warning::new(message, format!("add {}", options.join(" "))))
}

/// The files that processes open: the runtime, the tools with their libraries, the configuration.
fn needed(checked: &CheckedStack, variables: &[EnvironmentVariable]) -> Vec<PathBuf> {
    let value = |name: &str| variables.iter().find(|variable| variable.name == name).map(|variable| &variable.value);
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in value(preload::VARIABLE).into_iter().flat_map(|value| preload::entries(value)) {
        if !entry.starts_with('/') {
            continue;
        }
        let path = PathBuf::from(entry);
        if preload::file_name(entry) == preload::RUNTIME {
            paths.push(path.with_file_name(runtime::CORE));
            paths.extend(value(variable::REPORT).map(|_| path.with_file_name(runtime::RECORDER)));
        }
        paths.push(path);
    }
    paths.extend(value(variable::CONFIG).map(PathBuf::from));
    let files = value(variable::SITE_CONFIG).into_iter().flat_map(|value| value.split(':'));
    paths.extend(files.filter(|file| !file.is_empty()).map(PathBuf::from));
    for layer in &checked.layers {
        if layer.layer().path.is_absolute() {
            paths.push(layer.layer().path.clone());
        }
        let private = layer.planned.pmpi().into_iter().flat_map(|tool| tool.closure.objects.iter().skip(1));
        paths.extend(private.map(|object| object.path().to_owned()).filter(|path| !is_of_system(path)));
    }
    paths
}

/// Libraries of the host's system: an image has its own.
fn is_of_system(path: &std::path::Path) -> bool {
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].iter().any(|directory| path.starts_with(directory))
}
