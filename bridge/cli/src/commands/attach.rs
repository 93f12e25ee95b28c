//! `qmpi attach`: runs a command for each rank of a job on this host, and shows what is printed.

use std::process::{Command, Stdio};

use qmpi_launch::Warning;
use qmpi_launch::mpir::outputs::{Owners, RankOutputs};
use qmpi_launch::mpir::process::{self, RankProcess};

use crate::args::AttachArgs;
use crate::terminal;
use crate::{Error, LaunchError};

/// Debuggers take memory: so many run at once for each processor.
const EACH: usize = 2;

/// Runs the command for each rank. Returns whether it has succeeded for all of them.
pub(crate) fn attach(args: &AttachArgs) -> Result<bool, Error> {
    let ranks = process::of_job(args.pid)?;
    let meant = |rank: &&RankProcess| args.ranks.as_ref().is_none_or(|ranks| ranks.contains(rank.rank));
    let (here, elsewhere): (Vec<&RankProcess>, Vec<&RankProcess>) =
        ranks.iter().filter(meant).partition(|rank| rank.is_here);
    if here.is_empty() {
        return Err(Error::usage(
            format!("the job of process {} has no such ranks on this host", args.pid),
            format!("`qmpi ps {}` shows its ranks and their hosts", args.pid),
        ));
    }
    if !elsewhere.is_empty() {
        let message = format!("{} ranks run on other hosts, and are left out", elsewhere.len());
        terminal::warn(&Warning::new(message, "run `qmpi attach` there, with the process that has started them"));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * EACH;
    let ran = std::thread::scope(|scope| {
        let chunks = here.chunks(here.len().div_ceil(threads));
        let started: Vec<_> = chunks
            .map(|ranks| scope.spawn(move || ranks.iter().map(|rank| run(args, rank)).collect::<Vec<_>>()))
            .collect();
        started.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    let (mut outputs, mut succeeded) = (RankOutputs::default(), true);
    for (rank, ran) in here.into_iter().zip(ran) {
        let (owners, output, good) = ran?;
        outputs.add(rank, &owners, &output);
        succeeded &= good;
    }
    terminal::answer(&outputs.text()).map(|()| succeeded)
}

/// To what the frames of a rank belong, what the command prints for it on both streams, and whether it succeeds.
fn run<'a>(args: &AttachArgs, rank: &'a RankProcess) -> Result<(Owners<'a>, String, bool), Error> {
    let owners = Owners::of(rank);
    let places = [
        ("{pid}", rank.process.pid.to_string()),
        ("{rank}", rank.rank.to_string()),
        ("{program}", rank.process.executable.clone()),
    ];
    let word = |word: &std::ffi::OsString| {
        let word = word.to_string_lossy().into_owned();
        places.iter().fold(word, |word, (name, value)| word.replace(name, value))
    };
    let mut words = args.command.iter().map(word);
    let program = words.next().unwrap_or_default();
    let output = Command::new(&program).args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|source| LaunchError::of_start(program.as_ref(), source))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Warnings of a debugger that has done what it was asked for are of no interest.
    if !output.status.success() || text.trim().is_empty() {
        text.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    Ok((owners, text, output.status.success()))
}
