//! `qmpi ps`: the ranks of a job, with their processes and stacks.

use std::collections::BTreeMap;
use std::fmt::Write;

use qmpi_launch::mpir::process::{self, RankProcess};
use qmpi_launch::mpir::table::MpirProcess;

use crate::Error;
use crate::args::{PsArgs, RunArgs};
use crate::commands::run;
use crate::terminal;

/// Shows the ranks of a job that runs, or starts one and shows its ranks when they are there.
pub(crate) fn ps(args: &PsArgs) -> Result<(), Error> {
    if let Some(pid) = args.pid {
        return print(process::of_job(pid)?, args.json);
    }
    let run = RunArgs { stack: args.stack.clone(), mpir: true, command: args.command.clone(), ..RunArgs::default() };
    run::run(&run, &mut |processes| {
        let ranks = (0..).zip(processes).map(|(rank, process)| RankProcess::new(rank, process)).collect();
        if let Err(error) = print(ranks, args.json) {
            terminal::report(&error);
        }
    })
}

fn print(ranks: Vec<RankProcess>, json: bool) -> Result<(), Error> {
    if json {
        return terminal::answer_json(BTreeMap::from([("ranks", ranks)]));
    }
    terminal::answer(&text(&ranks))
}

fn text(ranks: &[RankProcess]) -> String {
    let mut text = String::new();
    let width =
        |heading: &str, of: &dyn Fn(&RankProcess) -> usize| ranks.iter().map(of).max().unwrap_or(0).max(heading.len());
    let host = width("host", &|rank| rank.process.host.len());
    let pid = width("pid", &|rank| rank.process.pid.to_string().len());
    let program = width("program", &|rank| rank.process.executable.len());
    let heading = format!("{:>4}  {:host$}  {:>pid$}  {:program$}  stack", "rank", "host", "pid", "program");
    let _ = writeln!(text, "{}", terminal::bold(&heading));
    for rank in ranks {
        let stack = match &rank.layers {
            None => "?".to_owned(),
            Some(layers) if layers.is_empty() => "-".to_owned(),
            Some(layers) => layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let RankProcess { rank, process: MpirProcess { host: name, pid: number, executable }, .. } = rank;
        let _ = writeln!(text, "{rank:>4}  {name:host$}  {number:>pid$}  {executable:program$}  {stack}");
    }
    text
}
