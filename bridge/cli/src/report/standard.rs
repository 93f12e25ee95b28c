//! How old a tool is: the versions of the standard whose functions it wraps, and which calls of today's programs it sees.

use std::collections::BTreeSet;

use qmpi_abi::large_counts;
use qmpi_abi::{FnId, Origin};
use serde::Serialize;

/// What a tool wraps of each version of the standard.
#[derive(Debug, Serialize)]
pub(crate) struct StandardReport {
    /// The newest version that has a function which the tool wraps: `4.0`.
    newest: Option<String>,
    /// How many functions of MPI 4.0 and later it wraps, without those with large counts, and how many there are.
    of_mpi_4: [usize; 2],
    /// How many functions with large counts it wraps, and how many there are.
    with_large_counts: [usize; 2],
    /// Functions with large counts that come to its functions with `int` counts in a stack.
    shown: Vec<&'static str>,
}

impl StandardReport {
    pub(crate) fn of(intercepts: &[FnId]) -> Self {
        let all_large: BTreeSet<FnId> = FnId::all().filter_map(FnId::with_large_counts).collect();
        let of_mpi_4 = FnId::all().filter(|id| matches!(id.function().origin, Origin::Standard(4.., _)));
        let (large, new): (Vec<FnId>, Vec<FnId>) = of_mpi_4.partition(|id| all_large.contains(id));
        let wrapped = |ids: &[FnId]| [ids.iter().filter(|id| intercepts.contains(id)).count(), ids.len()];
        let versions = intercepts.iter().filter_map(|id| match id.function().origin {
            Origin::Standard(major, minor) => Some((major, minor)),
            Origin::Mpich | Origin::OpenMpi => None,
        });
        Self {
            newest: versions.max().map(|(major, minor)| format!("{major}.{minor}")),
            of_mpi_4: wrapped(&new),
            with_large_counts: wrapped(&large),
            shown: large_counts::shown(intercepts).map(FnId::name).collect(),
        }
    }

    /// One line.
    pub(crate) fn text(&self) -> String {
        let Some(newest) = &self.newest else { return "none of its functions".to_owned() };
        let part = |[wrapped, all]: [usize; 2], what: &str| match wrapped {
            0 => format!("none of the {all} {what}"),
            _ => format!("{wrapped} of the {all} {what}"),
        };
        let shown = match self.shown.len() {
            0 => String::new(),
            shown => format!("; in a stack it sees {shown} of these as those with int"),
        };
        format!(
            "functions up to MPI {newest}: {}, {}{shown}",
            part(self.of_mpi_4, "that MPI 4 added"),
            part(self.with_large_counts, "with large counts"),
        )
    }
}
