//! What is measured, and how often.

use crate::mpi::Mpi;
use crate::options::Options;

/// The most modules of PnMPI.
pub(crate) const MODULES: u32 = 15;

/// How many layers a call goes through, where it is measured to a thousand.
pub(crate) const LAYERS: [u32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// Instances of bridged tools whose set-up is measured; none is without libqmpi.
pub(crate) const INSTANCES: [Option<u32>; 6] = [None, Some(0), Some(1), Some(2), Some(8), Some(15)];

const BRIDGED: [&str; 8] = ["none", "preload", "0", "1", "2", "5", "10", "15"];
const CALLING: [&str; 4] = ["preload-call", "1-call", "2-call", "10-call"];
const NATIVE: [&str; 10] = ["q1", "q2", "q5", "q10", "q15", "t1", "t2", "t5", "t10", "t15"];
const EDGES: [&str; 15] =
    ["l1", "l5", "z1", "s1", "k1", "pz1", "ps1", "pk1", "tz1", "ts1", "pt1", "pt5", "a1", "h1", "h5"];
const IN_TURNS: [&str; 2] = ["pt1", "pt5"];
const PNMPI: [&str; 6] = ["pnmpi0", "pnmpi1", "pnmpi2", "pnmpi5", "pnmpi10", "pnmpi15"];
const WITH_QMPI: [&str; 11] =
    ["own1", "own2", "own5", "own10", "own15", "plugin1", "plugin2", "plugin5", "plugin10", "plugin15", "turns10"];

/// Those whose instructions are counted.
pub(crate) const COUNTED: [&str; 20] = [
    "none",
    "preload",
    "0",
    "1",
    "2",
    "5",
    "10",
    "15",
    "preload-call",
    "1-call",
    "2-call",
    "q1",
    "q2",
    "t1",
    "t2",
    "z1",
    "s1",
    "ps1",
    "pk1",
    "tz1",
];

/// The numbers of rounds.
pub(crate) struct Plan {
    pub(crate) null: u32,
    open_mpi: u32,
    other: u32,
    pub(crate) setup: u32,
    pub(crate) layers: u32,
}

impl Plan {
    pub(crate) fn of(options: &Options) -> Self {
        match options {
            Options { once: true, .. } => Self { null: 1, open_mpi: 1, other: 1, setup: 1, layers: 1 },
            Options { quick: true, .. } => Self { null: 8, open_mpi: 4, other: 6, setup: 2, layers: 3 },
            _ => Self { null: 40, open_mpi: 12, other: 20, setup: 7, layers: 11 },
        }
    }

    /// Rounds of calls on this MPI. A start of Open MPI takes four times as long as one of MPICH.
    pub(crate) fn rounds(&self, mpi: &Mpi) -> u32 {
        if mpi.is_null() {
            self.null
        } else if mpi.is_open_mpi() {
            self.open_mpi
        } else {
            self.other
        }
    }

    /// The stacks whose calls are measured on this MPI.
    pub(crate) fn stacks(&self, mpi: &Mpi, with_pnmpi: bool) -> Vec<&'static str> {
        let own = if mpi.is_null() {
            [CALLING.as_slice(), &NATIVE, &EDGES].concat()
        } else {
            [NATIVE.as_slice(), &IN_TURNS].concat()
        };
        let pnmpi: &[&str] = if with_pnmpi { &PNMPI } else { &[] };
        let with_qmpi: &[&str] = if mpi.has_qmpi() { &WITH_QMPI } else { &[] };
        [BRIDGED.as_slice(), &own, pnmpi, with_qmpi].concat()
    }

    /// The order of a round: every second one runs backwards, so that a drift cancels out.
    pub(crate) fn order<T: Clone>(round: u32, all: &[T]) -> Vec<T> {
        let mut order = all.to_vec();
        if round.is_multiple_of(2) {
            order.reverse();
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Stack;

    #[test]
    fn every_second_round_runs_backwards() {
        assert_eq!((Plan::order(1, &[1, 2, 3]), Plan::order(2, &[1, 2, 3])), (vec![1, 2, 3], vec![3, 2, 1]));
    }

    #[test]
    fn all_stacks_have_a_meaning() {
        let all = [BRIDGED.as_slice(), &CALLING, &NATIVE, &EDGES, &IN_TURNS, &PNMPI, &WITH_QMPI, &COUNTED].concat();
        assert!(all.iter().all(|name| Stack::parse(name).is_some()), "{all:?}");
    }
}
