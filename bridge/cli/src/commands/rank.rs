//! `qmpi compare-rank`: what `qmpi compare` has a launcher start in place of each rank.

use qmpi_launch::rank_start::RankStart;

use crate::Error;
use crate::args::RankArgs;

/// Becomes the program; returns only when that fails.
pub(crate) fn become_program(args: &RankArgs) -> Result<(), Error> {
    let variables = args.variable.iter().filter_map(|variable| variable.split_once('='));
    let start = RankStart {
        to: args.to.clone(),
        preload: args.preload.clone(),
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        traced: args.traced,
        whole: args.whole,
    };
    match start.become_program(&args.command)? {}
}
