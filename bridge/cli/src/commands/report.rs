//! `qmpi report`: what a job with `--report` measured.

use std::path::Path;

use qmpi_measured::MeasuredJob;
use qmpi_measured::{events, page, rank_file, tables};

use crate::args::{ReportArgs, TraceForm};
use crate::{Error, terminal};

/// Prints the tables, or JSON, or writes the page and prints its name.
pub(crate) fn report(args: &ReportArgs) -> Result<(), Error> {
    match args.trace {
        Some(TraceForm::Text) => return terminal::answer(&events::text(&args.directory, args.sites)?),
        Some(TraceForm::Json) => return terminal::answer(&terminal::json(&events::events(&args.directory)?)?),
        None => {}
    }
    let job = MeasuredJob::of(&rank_file::read(&args.directory)?);
    if args.json {
        return terminal::answer_json(&job);
    }
    match &args.html {
        Some(Some(file)) => write_page(&job, file),
        Some(None) => write_page(&job, &args.directory.join("report.html")),
        None => terminal::answer(&tables::tables(&job, args.all)),
    }
}

fn write_page(job: &MeasuredJob, path: &Path) -> Result<(), Error> {
    let written = page::html(job).map_err(std::io::Error::other).and_then(|html| std::fs::write(path, html));
    written.map_err(|error| {
        let message = format!("{}: the page cannot be written: {error}", path.display());
        Error::failed(message, "name a file that can be written: --html=FILE")
    })?;
    terminal::answer(&format!("{}\n", path.display()))
}
