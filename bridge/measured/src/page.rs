//! What a job measured, as one HTML file: no network, no other file.
//!
//! The template (`page/template.html`) has the words, `style.css` the looks, `script.js` sorting, filters, the drawn ranks and call times.
//! Tables are complete without the script. Every text that comes from the job passes the template's escaping.

mod figure;
mod heat;
mod rows;
mod times;

use minijinja::{Error, Value, context};

use crate::job::MeasuredJob;
use crate::tables::time;
use crate::template::{self, grouped, percent};
use crate::{notes, passed_on};

/// The page.
///
/// # Errors
/// When the template does not fit what it is given: a defect of this crate.
pub fn html(job: &MeasuredJob) -> Result<String, Error> {
    template::render(
        include_str!("page/template.html"),
        context! {
            style => include_str!("page/style.css"),
            script => include_str!("page/script.js"),
            version => env!("CARGO_PKG_VERSION"),
            summary => summary(job),
            figure => figure::of(job),
            layers => rows::layers(job),
            calls => rows::passed_on(&passed_on::calls(job), grouped),
            bytes => rows::passed_on(&passed_on::bytes(job), passed_on::size),
            labels => job.layers.iter().map(|layer| layer.label.as_str()).collect::<Vec<_>>(),
            functions => rows::functions(job),
            distributions => times::all(job),
            spark_width => times::width(times::range(job)),
            heat => heat::of(job),
            missing => left_out(job),
        },
    )
}

/// The first lines: among them what took how much of the ranks' time (the program, the tools, the MPI library), and the tool with the most time
/// with its function with the most.
fn summary(job: &MeasuredJob) -> Value {
    let here = job.size as usize - job.missing.len();
    let (tools, mpi) = (job.tools(), job.layers.last());
    let in_tools: f64 = tools.iter().map(|layer| layer.own.sum_ns).sum();
    let in_mpi = mpi.map_or(0.0, |layer| layer.own.sum_ns);
    let program = job.program_ns();
    // Times of threads add up and may be more than the run.
    let all = (in_tools + in_mpi + program).max(1.0);
    let part = |kind: &str, name: &str, ns: f64| {
        context! { kind, name, time => time(ns), share => percent(job.share(ns)), width => 100.0 * ns / all }
    };
    let costliest = tools.iter().max_by(|left, right| left.own.sum_ns.total_cmp(&right.own.sum_ns));
    let costliest = costliest.filter(|layer| layer.own.sum_ns > 0.0).map(|layer| {
        let function = layer.functions.iter().max_by(|left, right| left.1.own.sum_ns.total_cmp(&right.1.own.sum_ns));
        context! {
            layer => layer.label,
            time => time(layer.own.sum_ns),
            share => percent(job.share(layer.own.sum_ns)),
            function => function.map_or("", |(name, _)| name.as_str()),
            in_function => function.map_or_else(String::new, |(_, function)| time(function.own.sum_ns)),
        }
    });
    let ranks = grouped(u64::from(job.size));
    context! {
        layers => tools.iter().map(|layer| layer.label.as_str()).collect::<Vec<_>>(),
        ranks => if here == job.size as usize { ranks } else { format!("{} of {ranks}", grouped(here as u64)) },
        several => job.size > 1,
        run => time(job.elapsed_ns as f64 / here.max(1) as f64),
        total => time(job.elapsed_ns as f64),
        threads => job.threads,
        parts => [
            part("program", "The program itself", program),
            part("tools", "Tools", in_tools),
            part("mpi", "The MPI library", in_mpi),
        ],
        calls_of_program => grouped(job.layers.first().map_or(0, |layer| layer.calls_out)),
        calls_of_mpi => grouped(mpi.map_or(0, |layer| layer.calls_in)),
        costliest,
    }
}

/// What is not in the numbers: how many ranks, and what is to be known of others; links, of which all layers have one that is not said.
fn left_out(job: &MeasuredJob) -> Value {
    context! {
        count => grouped(job.missing.len() as u64),
        notes => notes::all(job).into_iter().chain(job.blind_spots()).collect::<Vec<_>>(),
        links => job.unmeasured.iter().filter(|what| !what.starts_with("MPI_Pcontrol ")).collect::<Vec<_>>(),
        probe => time(job.probe_ns),
        probe_with_bytes => time(job.probe_with_bytes_ns),
    }
}
