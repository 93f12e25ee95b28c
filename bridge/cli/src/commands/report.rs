//! `qmpi report`: what a job with `--report` measured.

use serde::Serialize;

use crate::args::{ReportArgs, TraceForm};
use crate::measured::job::Job;
use crate::measured::{rank_file, trace};
use crate::report::{self, measured, terminal};
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
    if let Some(form) = args.trace {
        let traces = trace::read(&args.directory)?;
        return match form {
            TraceForm::Text => terminal::answer(&report::trace::text(&traces)),
            TraceForm::Json => terminal::answer_json(&report::trace::events(&traces)),
        };
    }
    let job = Job::of(&rank_file::read(&args.directory)?);
    if args.json {
        return terminal::answer_json(&Answer { schema: SCHEMA, job: &job });
    }
    terminal::answer(&measured::tables(&job, args.all))
}
