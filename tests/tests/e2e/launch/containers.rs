//! A stack for a program in a container: `qmpi doctor` and `qmpi run` say what the container lacks. `apptainer` is a script here that
//! hides what is not bound, in a mount namespace of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use qmpi_tests::{Mpi, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("said_before", &Mpi::ALL, said_before), ("docker", &[Mpi::Mpich], docker)])
}

/// `exec --contain [--bind DIR]... IMAGE COMMAND`: IMAGE is a directory that is hidden, unless it is bound.
const APPTAINER: &str = r#"#!/bin/sh
shift
[ "$1" = --contain ] || exit 2
shift
bound=
while [ "$1" = --bind ]; do
    bound="$bound $2"
    shift 2
done
image=$1
shift
case "$bound " in
*" $image "*) exec "$@" ;;
esac
exec unshare --mount --map-root-user sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$image" "$@"
"#;

/// `qmpi COMMAND` with a PATH on which the script is found first.
fn qmpi(mpi: Mpi, scripts: &Path, here: &Path, words: &[&str]) -> std::io::Result<Output> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(product::command());
    command.args(words).current_dir(here).envs(mpi.variables()).env_remove("QMPI_LOG").env("HOME", "/nonexistent");
    command.env("OMPI_MCA_ess_singleton_isolated", "1").env("PATH", format!("{}:{path}", scripts.display())).output()
}

fn script(directory: &Path, name: &str) -> std::io::Result<()> {
    let file = directory.join(name);
    std::fs::write(&file, APPTAINER)?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
}

/// As a shell has to be given it.
fn quoted(path: &str) -> String {
    if path.contains(' ') { format!("'{path}'") } else { path.to_owned() }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The tool is in a directory that the container has only where it is bound: what is said beforehand is what happens.
fn said_before(mpi: Mpi) -> Verdict {
    let scripts = tempfile::tempdir()?;
    script(scripts.path(), "apptainer")?;
    let site = tempfile::Builder::new().prefix("site").tempdir_in(product::target())?;
    let library = site.path().join("counter.so");
    std::fs::copy(tool(mpi, "counter"), &library)?;
    let (layer, directory) = (library.display().to_string(), site.path().display().to_string());
    let runtime = product::runtime();
    let release = runtime.parent().unwrap_or(Path::new("/")).display().to_string();
    let program = program(mpi, "ring.c").display().to_string();
    // Without `--contain` it has the directory of temporary files, below which this clone may be.
    let container = |bound: &[&str]| {
        let mut words = ["apptainer", "exec", "--contain"].map(str::to_owned).to_vec();
        words.extend(bound.iter().flat_map(|path| ["--bind".to_owned(), (*path).to_owned()]));
        words.extend([directory.clone(), program.clone()]);
        words
    };
    let run = |first: &[&str], container: &[String]| {
        let mut words = first.to_vec();
        words.extend(["-t", &layer, "--"]);
        words.extend(container.iter().map(String::as_str));
        qmpi(mpi, scripts.path(), Path::new("/usr"), &words)
    };
    let (without, with) = (container(&[&release]), container(&[&release, &directory]));
    let lacking = format!("the container of apptainer does not have {directory}: the stack is not complete there");
    let hint = format!("hint: add --bind {}\n", quoted(&directory));
    for (first, status) in [(&["run"][..], 3), (&["doctor"], 3)] {
        let output = run(first, &without)?;
        let text = text(&output);
        if !text.contains(&lacking) || !text.contains(&hint) || output.status.code() != Some(status) {
            return Err(format!("{first:?}: {:?}\n{text}", output.status).into());
        }
    }
    let output = run(&["run"], &with)?;
    if !output.status.success() || text(&output).contains("container") || !text(&output).contains("done") {
        return Err(text(&output).into());
    }
    let output = run(&["doctor"], &with)?;
    if !text(&output).contains("apptainer: the files of the stack are bound") {
        Err(text(&output).into())
    } else {
        Ok(())
    }
}

/// Paths and variables that `docker run` has to be told.
fn docker(mpi: Mpi) -> Verdict {
    let scripts = tempfile::tempdir()?;
    script(scripts.path(), "docker")?;
    let layer = tool(mpi, "counter").display().to_string();
    let here = Path::new("/usr");
    let output = qmpi(
        mpi,
        scripts.path(),
        here,
        &["doctor", "-t", &layer, "--", "docker", "run", "--rm", "-it", "image", "app"],
    )?;
    let text = text(&output);
    let tools = Path::new(&layer).parent().unwrap_or(Path::new("/")).display().to_string();
    let bound = format!("-v {}", quoted(&format!("{tools}:{tools}")));
    for part in [&*bound, "-e QMPI_TOOL_LIST -e LD_PRELOAD", "does not get QMPI_TOOL_LIST, LD_PRELOAD"] {
        if !text.contains(part) {
            return Err(format!("{part} is not said\n{text}").into());
        }
    }
    Ok(())
}
