//! The variables of a process with a stack.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::mpi::Mpi;
use crate::peers::Peers;
use crate::places::Places;
use crate::process::Environment;
use crate::stack::Stack;
use crate::tool::Tool;

/// What the name of a stack means on an MPI.
pub(super) fn of(places: &Places, peers: &Peers, mpi: &Mpi, name: &str) -> Result<Environment, Failure> {
    let stack = Stack::parse(name).ok_or_else(|| Failure::new(format!("no stack: {name}")))?;
    let at = places.dir.join(&mpi.name);
    let mut with = Environment::new();
    if mpi.is_null() {
        with.push(("LD_LIBRARY_PATH", at.clone().into()));
    }
    let libqmpi = ("LD_PRELOAD", OsString::from(places.libqmpi()));
    match stack {
        Stack::None => {}
        Stack::Preload { calling } => with.push(("LD_PRELOAD", at.join(pass(calling)).into())),
        Stack::Bridged { count, calling } => {
            let tool = at.join(pass(calling));
            with.extend([libqmpi, ("QMPI_TOOL_LIST", list((0..count).map(|_| tool.clone())))]);
        }
        Stack::Letters { letters, times } => {
            let turn = tools(&at, &letters)?;
            let all = (0..times).flat_map(|_| turn.clone());
            with.extend([libqmpi, ("QMPI_TOOL_LIST", list(all))]);
        }
        // As in the prototype.
        Stack::Thesis(count) => {
            with.extend([libqmpi, ("TOOLS", joined((0..count).map(|_| at.join("thesis.so").into()), ":"))]);
        }
        Stack::PnMpi(count) => {
            let pnmpi = peers.pnmpi(mpi).ok_or_else(|| Failure::new(format!("no PnMPI for {}", mpi.name)))?;
            let modules = at.join("pnmpi");
            with.extend([
                ("LD_PRELOAD", pnmpi.library().into()),
                ("PNMPI_CONF", modules.join(format!("{count}.conf")).into()),
                ("PNMPI_LIB_PATH", modules.into()),
            ]);
        }
        Stack::Own(count) => with.extend(own_chain(places, &at, &["table"], count)?),
        Stack::Plugin(count) => with.extend(own_chain(places, &at, &["bridged"], count)?),
        Stack::Turns(count) => with.extend(own_chain(places, &at, &["table", "bridged"], count)?),
    }
    Ok(with)
}

fn pass(calling: bool) -> &'static str {
    if calling { "call.so" } else { "pass.so" }
}

fn tools(at: &Path, letters: &str) -> Result<Vec<PathBuf>, Failure> {
    let file = |letter| Tool::with(letter).map(|tool| at.join(format!("{}.so", tool.file)));
    let all: Option<Vec<PathBuf>> = letters.chars().map(file).collect();
    all.ok_or_else(|| Failure::new(format!("no tools: {letters}")))
}

/// `QMPI_TOOL_LIST`: a label and a file for each.
fn list(files: impl Iterator<Item = PathBuf>) -> OsString {
    let labelled = files.enumerate().map(|(at, file)| {
        let mut layer = OsString::from(format!("t{}=", at + 1));
        layer.push(file);
        layer
    });
    joined(labelled, ",")
}

fn joined(words: impl Iterator<Item = OsString>, separator: &str) -> OsString {
    words.collect::<Vec<_>>().join(std::ffi::OsStr::new(separator))
}

/// Tools of these names in turns in the chain of MPICH's own QMPI. That of a PMPI tool is one that libqmpi_bridge.so makes.
fn own_chain(places: &Places, at: &Path, names: &[&str], count: u32) -> Result<Environment, Failure> {
    let config = at.join("bridge.toml");
    let text = format!("[tool.bridged]\npath = {:?}\n", at.join("pass.so"));
    std::fs::write(&config, text).map_err(|error| Failure::of(&config, &error))?;
    let bridge = names.contains(&"bridged").then(|| OsString::from(places.plugin()));
    let native = names.contains(&"table").then(|| at.join("table.so").into());
    let chain = (0..count as usize).map(|layer| OsString::from(names[layer % names.len()]));
    Ok(vec![
        ("LD_PRELOAD", joined(bridge.into_iter().chain(native), ":")),
        ("QMPI_CONFIG", config.into()),
        ("MPIR_CVAR_QMPI_TOOL_LIST", joined(chain, ":")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_labels_in_turns() {
        let files = ["/a/pass.so", "/a/table.so", "/a/pass.so"].map(PathBuf::from);
        assert_eq!(list(files.into_iter()), "t1=/a/pass.so,t2=/a/table.so,t3=/a/pass.so");
        assert_eq!(tools(Path::new("/a"), "pt").expect("two"), ["/a/pass.so", "/a/table.so"].map(PathBuf::from));
        assert!(tools(Path::new("/a"), "p?").is_err());
    }
}
