//! `qmpi ps`: the ranks of a job, with their processes and stacks.

use std::fmt::Write;

use serde::Serialize;

use crate::args::{PsArgs, RunArgs};
use crate::commands::run;
use crate::mpir::process::{self, Rank};
use crate::mpir::table::Process;
use crate::report::terminal::{self, Style};
use crate::{Error, SCHEMA};

#[derive(Debug, Serialize)]
struct Report {
    schema: u32,
    ranks: Vec<Rank>,
}

/// Shows the ranks of a job that runs, or starts one and shows its ranks when they are there.
///
/// # Errors
/// As `run`; a process that is not there, or has no ranks.
pub fn ps(args: &PsArgs) -> Result<(), Error> {
    let Some(pid) = args.pid else {
        return run::run(&RunArgs {
            stack: args.stack.clone(),
            mpir: true,
            prints_table: Some(args.json),
            command: args.command.clone(),
            ..RunArgs::default()
        });
    };
    print(process::of_job(pid)?, args.json)
}

/// Shows the table of a job that was started for it.
pub fn print_started(processes: &[&Process], json: bool) {
    let ranks = (0..).zip(processes).map(|(rank, process)| Rank::new(rank, process)).collect();
    if let Err(error) = print(ranks, json) {
        terminal::report(&error);
    }
}

fn print(ranks: Vec<Rank>, json: bool) -> Result<(), Error> {
    if json {
        return terminal::answer_json(&Report { schema: SCHEMA, ranks });
    }
    terminal::answer(&text(&ranks, Style::stdout()))
}

fn text(ranks: &[Rank], style: Style) -> String {
    let mut text = String::new();
    let width = |heading: &str, of: &dyn Fn(&Rank) -> usize| ranks.iter().map(of).max().unwrap_or(0).max(heading.len());
    let host = width("host", &|rank| rank.host.len());
    let pid = width("pid", &|rank| rank.pid.to_string().len());
    let program = width("program", &|rank| rank.executable.len());
    let heading = format!("{:>4}  {:host$}  {:>pid$}  {:program$}  stack", "rank", "host", "pid", "program");
    let _ = writeln!(text, "{}", style.bold(&heading));
    for rank in ranks {
        let stack = match &rank.layers {
            None => "?".to_owned(),
            Some(layers) if layers.is_empty() => "-".to_owned(),
            Some(layers) => layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let Rank { rank, host: name, pid: number, executable, .. } = rank;
        let _ = writeln!(text, "{rank:>4}  {name:host$}  {number:>pid$}  {executable:program$}  {stack}");
    }
    text
}
