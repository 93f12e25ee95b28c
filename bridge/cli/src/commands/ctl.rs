//! `qmpi ctl`: which layers of running processes can be switched, and switches them.

use std::collections::BTreeMap;
use std::fmt::Write;

use qmpi_launch::processes::{self, SwitchableProcess};
use serde::Serialize;

use crate::Error;
use crate::args::{CtlAction, CtlArgs};
use crate::terminal;

#[derive(Debug, Serialize)]
struct SwitchableProcessReport {
    pid: u32,
    rank: Option<u32>,
    program: String,
    layers: Vec<SwitchableLayer>,
}

#[derive(Debug, Serialize)]
struct SwitchableLayer {
    tool_id: u32,
    label: String,
    enabled: bool,
}

/// Lists layers, or switches them in every process of the job that has them.
pub(crate) fn ctl(args: &CtlArgs) -> Result<(), Error> {
    let processes = processes::find(args.job)?;
    match &args.action {
        CtlAction::List { json } => list(&processes, *json),
        CtlAction::Enable { layers } => set(&processes, layers, true),
        CtlAction::Disable { layers } => set(&processes, layers, false),
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
fn is_meant(layer: &qmpi_plan::control::Switchable, name: &str) -> bool {
    layer.label == name || name.parse() == Ok(layer.tool)
}

fn list(processes: &[SwitchableProcess], json: bool) -> Result<(), Error> {
    if json {
        let processes: Vec<_> = processes.iter().map(SwitchableProcessReport::new).collect();
        return terminal::answer_json(BTreeMap::from([("processes", processes)]));
    }
    terminal::answer(&text(processes))
}

impl SwitchableProcessReport {
    fn new(process: &SwitchableProcess) -> Self {
        let layer = |layer: &qmpi_plan::control::Switchable| SwitchableLayer {
            tool_id: layer.tool,
            label: layer.label.clone(),
            enabled: layer.is_on,
        };
        Self {
            pid: process.pid,
            rank: process.rank,
            program: process.program.clone(),
            layers: process.layers.iter().map(layer).collect(),
        }
    }
}

fn text(processes: &[SwitchableProcess]) -> String {
    let mut text = String::new();
    let width = processes.iter().flat_map(|process| &process.layers).map(|layer| layer.label.len()).max().unwrap_or(0);
    for process in processes {
        let rank = process.rank.map_or_else(String::new, |rank| format!(", rank {rank}"));
        let _ = writeln!(text, "{}", terminal::bold(&format!("process {}{rank}: {}", process.pid, process.program)));
        for layer in &process.layers {
            let state = if layer.is_on { terminal::green("on") } else { terminal::yellow("off") };
            let _ = writeln!(text, "  {:>2}  {:width$}  {state}", layer.tool, layer.label);
        }
    }
    text
}
