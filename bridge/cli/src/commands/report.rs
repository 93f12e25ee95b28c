//! `qmpi report`: what a job with `--report` measured.

use std::path::Path;

use serde::Serialize;

use crate::args::{ReportArgs, TraceForm};
use crate::measured::job::Job;
use crate::measured::{rank_file, trace};
use crate::report::{self, measured, page, terminal};
use crate::{Error, SCHEMA};

#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    #[serde(flatten)]
    job: &'a Job,
}

/// Prints the tables, or JSON, or writes the page and prints its name.
///
/// # Errors
/// [`Error::Report`] if there is nothing to show, [`Error::WriteHtml`] if the page cannot be written.
pub fn report(args: &ReportArgs) -> Result<(), Error> {
    if let Some(form) = args.trace {
        let traces = trace::read(&args.directory)?;
        let mut lines = trace::Lines::default();
        return match form {
            TraceForm::Text => terminal::answer(&report::trace::text(&traces, args.sites.then_some(&mut lines))),
            TraceForm::Json => terminal::answer_json(&report::trace::events(&traces, &mut lines)),
        };
    }
    let job = Job::of(&rank_file::read(&args.directory)?);
    if args.json {
        return terminal::answer_json(&Answer { schema: SCHEMA, job: &job });
    }
    match &args.html {
        Some(Some(file)) => write_page(&job, file),
        Some(None) => write_page(&job, &args.directory.join("report.html")),
        None => terminal::answer(&measured::tables(&job, args.all)),
    }
}

fn write_page(job: &Job, path: &Path) -> Result<(), Error> {
    let written = page::html(job).map_err(std::io::Error::other).and_then(|html| std::fs::write(path, html));
    written.map_err(|source| Error::WriteHtml { path: path.to_owned(), source })?;
    terminal::answer(&format!("{}\n", path.display()))
}
