//! `qmpi ctl`: which layers of running processes can be switched, and switches them.

use std::collections::BTreeMap;
use std::fmt::Write;

use qmpi_launch::processes::{self, SwitchableLayer, SwitchableProcess};

use crate::Error;
use crate::args::{CtlAction, CtlArgs};
use crate::terminal;

/// Lists layers, or switches them in every process of the job that has them.
pub(crate) fn ctl(args: &CtlArgs) -> Result<(), Error> {
    let processes = processes::find(args.job)?;
    match &args.action {
        CtlAction::List { json } => list(&processes, *json),
        CtlAction::Enable(switched) => set(&processes, &switched.layers, true),
        CtlAction::Disable(switched) => set(&processes, &switched.layers, false),
    }
}

fn set(processes: &[SwitchableProcess], layers: &[String], enabled: bool) -> Result<(), Error> {
    // Nothing is changed if one of the names is wrong.
    for name in layers {
        if !processes.iter().any(|process| process.layers.iter().any(|layer| is_meant(layer, name))) {
            let mut known: Vec<String> =
                processes.iter().flat_map(|process| &process.layers).map(|layer| layer.label.clone()).collect();
            known.sort_unstable();
            known.dedup();
            return Err(Error::failed(
                format!("no process has a layer `{name}` that can be switched: there are {}", known.join(", ")),
                "`qmpi ctl JOB list` shows the layers",
            ));
        }
    }
    for process in processes {
        for layer in process.layers.iter().filter(|layer| layers.iter().any(|name| is_meant(layer, name))) {
            process.set(layer, enabled)?;
        }
    }
    Ok(())
}

/// A layer is named by its label, or by its number in the stack.
fn is_meant(layer: &SwitchableLayer, name: &str) -> bool {
    layer.label == name || name.parse() == Ok(layer.tool_id)
}

fn list(processes: &[SwitchableProcess], json: bool) -> Result<(), Error> {
    if json {
        return terminal::answer_json(BTreeMap::from([("processes", processes)]));
    }
    terminal::answer(&text(processes))
}

fn text(processes: &[SwitchableProcess]) -> String {
    let mut text = String::new();
    let width = processes.iter().flat_map(|process| &process.layers).map(|layer| layer.label.len()).max().unwrap_or(0);
    for process in processes {
        let rank = process.rank.map_or_else(String::new, |rank| format!(", rank {rank}"));
        let _ = writeln!(text, "{}", terminal::bold(&format!("process {}{rank}: {}", process.pid, process.program)));
        for layer in &process.layers {
            let state = if layer.enabled { terminal::green("on") } else { terminal::yellow("off") };
            let _ = writeln!(text, "  {:>2}  {:width$}  {state}", layer.tool_id, layer.label);
        }
    }
    text
}
