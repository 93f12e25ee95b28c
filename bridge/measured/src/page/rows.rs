//! Rows of the page's tables. Numbers are as they are sorted; the template shows them.

use minijinja::{Value, context};

use crate::job::{MeasuredFunction, MeasuredJob, MeasuredLayer, TimeSpread};
use crate::page::times;
use crate::passed_on::{PassedOn, PassedRow};

/// Own time, however it is looked at.
fn own_time(job: &MeasuredJob, own: &TimeSpread, calls: u64) -> Value {
    context! {
        sum => own.sum_ns,
        share => job.share(own.sum_ns),
        a_call => own.sum_ns / calls.max(1) as f64,
        least => own.min_ns,
        most => own.max_ns,
        rank => own.max_rank,
    }
}

/// What each layer costs.
pub(super) fn layers(job: &MeasuredJob) -> Vec<Value> {
    let row = |(place, layer): (usize, &MeasuredLayer)| {
        context! {
            label => layer.label,
            is_mpi => place + 1 == job.layers.len(),
            calls_in => layer.calls_in,
            calls_out => layer.calls_out,
            own => own_time(job, &layer.own, layer.calls_in),
        }
    };
    job.layers.iter().enumerate().skip(1).map(row).collect()
}

/// What layers make of calls or bytes. The template says it in words as well.
pub(super) fn passed_on(rows: &[PassedRow<'_>], shown: fn(u64) -> String) -> Vec<Value> {
    let cell = |cell: &PassedOn| {
        let PassedOn { comes_in, goes_out, .. } = *cell;
        context! { comes_in, goes_out, text => cell.text(shown), is_changed => cell.is_changed() }
    };
    let row = |row: &PassedRow<'_>| {
        let cells: Vec<Value> = row.cells.iter().map(cell).collect();
        let is_changed = row.cells.iter().any(PassedOn::is_changed);
        context! { function => row.function, way => row.way, is_changed, cells }
    };
    rows.iter().map(row).collect()
}

/// Functions at layers, those first that take the most time.
pub(super) fn functions(job: &MeasuredJob) -> Vec<Value> {
    let range = times::range(job);
    let row = |(layer, name, function): (&MeasuredLayer, &str, &MeasuredFunction)| {
        context! {
            function => name,
            layer => layer.label,
            calls => function.calls_in,
            own => own_time(job, &function.own, function.calls_in),
            half => times::half(function),
            longest => function.longest_ns,
            bars => times::bars(function, range),
        }
    };
    job.functions_by_time().into_iter().map(row).collect()
}
