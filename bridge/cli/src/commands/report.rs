//! `qmpi report`: what a job with `--report` measured.

use serde::Serialize;

use crate::args::ReportArgs;
use crate::measured::job::Job;
use crate::measured::rank_file;
use crate::report::measured;
use crate::report::terminal;
use crate::{Error, SCHEMA};

#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    #[serde(flatten)]
    job: &'a Job,
}

/// Prints the tables, or JSON.
///
/// # Errors
/// [`Error::Report`] if there is nothing to show.
pub fn report(args: &ReportArgs) -> Result<(), Error> {
    let job = Job::of(&rank_file::read(&args.directory)?);
    if args.json {
        return terminal::answer_json(&Answer { schema: SCHEMA, job: &job });
    }
    terminal::answer(&measured::tables(&job, args.all))
}
