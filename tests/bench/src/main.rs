//! Measures what libqmpi costs, beside other runtimes where they are installed. `ci/bench` builds and runs it; docs/benchmark.md says
//! how to read what it writes.

mod build;
mod callgrind;
mod cell;
mod combination;
mod cost;
mod failure;
mod fit;
mod function;
mod goal;
mod graphs;
mod machine;
mod measurement;
mod mpi;
mod options;
mod page;
mod peers;
mod places;
mod plan;
mod process;
mod raw;
mod report;
mod results;
mod sample;
mod session;
mod stack;
mod table;
mod tables;
mod tool;

use clap::Parser;

use failure::Failure;
use options::Options;

fn main() -> std::process::ExitCode {
    match run(&Options::parse()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {failure}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let started = std::time::Instant::now();
    let places = places::Places::find()?;
    let raw = match &options.from {
        Some(file) => raw::Raw::read(file)?,
        None => session::Session::prepare(options, &places)?.measure()?,
    };
    let report = report::Report::of(&results::Results::of(raw.measurements()))?;
    report.write(&places.dir)?;
    println!("{}", report.markdown("report"));
    if let Some(page) = &options.markdown {
        report.write_page(page)?;
    }
    eprintln!("bench: took {} seconds", started.elapsed().as_secs());
    Ok(())
}
