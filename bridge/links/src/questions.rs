//! What MPI says of a communicator with which a collective operation has just succeeded.
#![expect(unsafe_code, reason = "calls functions of MPI")]

use qmpi_abi::FnId;
use qmpi_elf::MpiFamily;

/// The functions that tell, 0 for one that the MPI does not have, and the numbers that they tell.
#[derive(Debug)]
pub(crate) struct Questions {
    test_inter: usize,
    size: usize,
    remote_size: usize,
    rank: usize,
    topology: usize,
    dimensions: usize,
    graph_neighbors: usize,
    distributed_neighbors: usize,
    cartesian: i32,
    graph: i32,
    distributed: i32,
    /// `MPI_ROOT`
    pub(crate) root: i32,
    /// `MPI_PROC_NULL`
    pub(crate) proc_null: i32,
}

type Ask = extern "C" fn(u64, &mut i32) -> i32;
type AskOfRank = extern "C" fn(u64, i32, &mut i32) -> i32;
type AskThree = extern "C" fn(u64, &mut i32, &mut i32, &mut i32) -> i32;

impl Questions {
    pub(crate) fn new(family: MpiFamily, real: impl Fn(FnId) -> Option<usize>) -> Self {
        let real = |name: &str| FnId::by_name(name).and_then(&real).unwrap_or(0);
        let [cartesian, graph, distributed, root, proc_null] = match family {
            MpiFamily::Mpich => [2, 1, 3, -3, -1],
            MpiFamily::OpenMpi => [1, 2, 3, -4, -2],
            MpiFamily::StandardAbi => [211, 212, 213, -4, -3],
        };
        Self {
            test_inter: real("MPI_Comm_test_inter"),
            size: real("MPI_Comm_size"),
            remote_size: real("MPI_Comm_remote_size"),
            rank: real("MPI_Comm_rank"),
            topology: real("MPI_Topo_test"),
            dimensions: real("MPI_Cartdim_get"),
            graph_neighbors: real("MPI_Graph_neighbors_count"),
            distributed_neighbors: real("MPI_Dist_graph_neighbors_count"),
            cartesian,
            graph,
            distributed,
            root,
            proc_null,
        }
    }

    /// Is it a communicator between two groups?
    pub(crate) fn is_between_groups(&self, communicator: u64) -> bool {
        ask(self.test_inter, communicator).is_some_and(|answer| answer != 0)
    }

    /// The process's rank in it.
    pub(crate) fn rank(&self, communicator: u64) -> Option<i32> {
        ask(self.rank, communicator)
    }

    /// How many ranks each exchanges data with: all of it, or the other group. `is_local`: its own group in any case.
    pub(crate) fn ranks(&self, communicator: u64, is_local: bool) -> u64 {
        let is_remote = !is_local && self.is_between_groups(communicator);
        number(ask(if is_remote { self.remote_size } else { self.size }, communicator))
    }

    /// How many dimensions it has.
    pub(crate) fn dimensions(&self, communicator: u64) -> u64 {
        number(ask(self.dimensions, communicator))
    }

    /// How many neighbors it receives from and sends to.
    pub(crate) fn neighbors(&self, communicator: u64) -> (u64, u64) {
        let none = (0, 0);
        let Some(topology) = ask(self.topology, communicator) else { return none };
        if topology == self.cartesian {
            let neighbors = 2 * self.dimensions(communicator);
            return (neighbors, neighbors);
        }
        if topology == self.graph && self.graph_neighbors != 0 {
            let (mut neighbors, Some(rank)) = (0, self.rank(communicator)) else { return none };
            // SAFETY: this function of MPI.
            let function = unsafe { std::mem::transmute::<usize, AskOfRank>(self.graph_neighbors) };
            let answer = (function(communicator, rank, &mut neighbors) == 0).then_some(neighbors);
            return (number(answer), number(answer));
        }
        if topology == self.distributed && self.distributed_neighbors != 0 {
            let (mut sources, mut destinations, mut is_weighted) = (0, 0, 0);
            // SAFETY: this function of MPI.
            let function = unsafe { std::mem::transmute::<usize, AskThree>(self.distributed_neighbors) };
            if function(communicator, &mut sources, &mut destinations, &mut is_weighted) == 0 {
                return (number(Some(sources)), number(Some(destinations)));
            }
        }
        none
    }
}

fn ask(function: usize, communicator: u64) -> Option<i32> {
    if function == 0 {
        return None;
    }
    let mut answer = 0;
    // SAFETY: a function of MPI with these two parameters.
    let function = unsafe { std::mem::transmute::<usize, Ask>(function) };
    (function(communicator, &mut answer) == 0).then_some(answer)
}

fn number(answer: Option<i32>) -> u64 {
    answer.unwrap_or(0).max(0).cast_unsigned().into()
}
