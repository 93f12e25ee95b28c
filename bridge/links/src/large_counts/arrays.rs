//! Arrays of large counts and displacements as arrays of `int`, for collective functions that have read them when they return.

use qmpi_abi::FnId;
use qmpi_abi::large_counts::Width;
use qmpi_abi::parameters::{Factor, Kind, Parameter};

use super::memory;
use crate::arch::ARGUMENT_REGISTERS;

/// What the MPI library says of communicators: how long arrays are. Calls go past all layers.
#[derive(Debug, Clone, Copy)]
pub struct MpiQueries {
    /// `MPI_Comm_test_inter`
    pub test_inter: extern "C" fn(usize, &mut i32) -> i32,
    /// `MPI_Comm_size`
    pub size: extern "C" fn(usize, &mut i32) -> i32,
    /// `MPI_Comm_remote_size`
    pub remote_size: extern "C" fn(usize, &mut i32) -> i32,
    /// `MPI_Comm_rank`
    pub rank: extern "C" fn(usize, &mut i32) -> i32,
    /// `MPI_Topo_test`
    pub topology: extern "C" fn(usize, &mut i32) -> i32,
    /// `MPI_Cartdim_get`
    pub dimensions: extern "C" fn(usize, &mut i32) -> i32,
    /// `MPI_Graph_neighbors_count`
    pub graph_neighbors: extern "C" fn(usize, i32, &mut i32) -> i32,
    /// `MPI_Dist_graph_neighbors_count`
    pub neighbors: extern "C" fn(usize, &mut i32, &mut i32, &mut i32) -> i32,
    /// `MPI_COMM_NULL`, where it is a number: it is not asked about, as an error handler would be called for the question, too.
    pub comm_null: Option<i32>,
    /// `MPI_CART`, `MPI_GRAPH` and `MPI_DIST_GRAPH`
    pub topologies: [i32; 3],
}

/// What a function's arguments are, as far as they are converted.
#[derive(Debug)]
pub(super) struct Arrays {
    mpi: &'static MpiQueries,
    communicator: usize,
    root: Option<usize>,
    values: Vec<usize>,
    arrays: Vec<CountArray>,
}

/// An array of counts.
#[derive(Debug)]
struct CountArray {
    place: usize,
    /// How many elements it has: ranks, sources or destinations of the communicator.
    length: Factor,
    /// It is read at the root alone.
    at_root: bool,
    /// It is not read where the first argument is `MPI_IN_PLACE`.
    of_send_side: bool,
}

impl Arrays {
    /// `None`: the length of an array is not known.
    pub(super) fn of(function: FnId, large: FnId, mpi: &'static MpiQueries) -> Option<Arrays> {
        let parameters = large.parameters();
        let place_of = |is_it: &dyn Fn(&Parameter) -> bool| parameters.iter().position(is_it);
        let receive = place_of(&|parameter| parameter.name() == "recvbuf")?;
        let may_be_in_place = parameters.first()?.name() == "sendbuf";
        let width = |place: usize| Width::of(&function.parameters()[place], &parameters[place]);
        let of_width = |wanted| (0..parameters.len()).filter(move |place| width(*place) == wanted);
        let array = |place: usize| {
            let [length] = *parameters[place].length() else { return None };
            let is_known = matches!(length, Factor::Ranks(_) | Factor::Sources(_) | Factor::Destinations(_));
            let of_send_side = may_be_in_place && place < receive;
            is_known.then_some(CountArray { place, length, at_root: parameters[place].at_root, of_send_side })
        };
        Some(Arrays {
            mpi,
            communicator: place_of(&|parameter| parameter.kind == Kind::Communicator)?,
            root: place_of(&|parameter| parameter.name() == "root"),
            values: of_width(Width::Value).collect(),
            arrays: of_width(Width::Array).map(array).collect::<Option<_>>()?,
        })
    }

    /// Converts the arguments of a call in their places: in registers, and on the stack. `false`: something does not fit, and nothing was
    /// changed.
    pub(super) fn convert(&self, registers: *mut usize, stack: *mut usize) -> bool {
        let call = &mut Call { registers, stack };
        if self.values.iter().any(|place| i32::try_from(call.argument(*place).cast_signed()).is_err()) {
            return false;
        }
        let communicator = call.argument(self.communicator);
        if self.mpi.comm_null == Some(communicator as i32) {
            return false;
        }
        let is_in_place = matches!(call.argument(0).cast_signed(), -1 | 1);
        let mut elements = Vec::new();
        let mut starts = [None; 4];
        for (array, start) in self.arrays.iter().zip(&mut starts) {
            let address = call.argument(array.place);
            if address == 0 || (array.of_send_side && is_in_place) {
                continue;
            }
            let Some(length) = self.length(array, communicator, call) else { return false };
            if length == 0 {
                continue;
            }
            *start = Some(elements.len());
            // SAFETY: the standard says that the function reads so many elements of 64 bits there.
            let wide = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<i64>(address), length) };
            for element in wide {
                let Ok(element) = i32::try_from(*element) else { return false };
                elements.push(element);
            }
        }
        if elements.is_empty() {
            return true;
        }
        let memory = memory::for_call(call.stack.addr(), elements);
        for (array, start) in self.arrays.iter().zip(starts) {
            if let Some(start) = start {
                *call.word(array.place) = memory.wrapping_add(start).expose_provenance();
            }
        }
        true
    }

    /// How many elements of an array are read; `None`: the call has to go past the layer.
    fn length(&self, array: &CountArray, communicator: usize, call: &mut Call) -> Option<usize> {
        let ask = |question: extern "C" fn(usize, &mut i32) -> i32| {
            let mut answer = 0;
            (question(communicator, &mut answer) == 0).then_some(answer)
        };
        let length = match array.length {
            Factor::Ranks(_) => {
                let is_inter = ask(self.mpi.test_inter)? != 0;
                if let (true, Some(root)) = (array.at_root, self.root) {
                    // Between two groups, the root is told by a constant; nobody's calls are worth a table of it.
                    if is_inter {
                        return None;
                    }
                    if ask(self.mpi.rank)? != call.argument(root) as i32 {
                        return Some(0);
                    }
                }
                ask(if is_inter { self.mpi.remote_size } else { self.mpi.size })?
            }
            Factor::Sources(_) => self.neighbors(communicator)?.0,
            Factor::Destinations(_) => self.neighbors(communicator)?.1,
            _ => return None,
        };
        usize::try_from(length).ok()
    }

    /// How many neighbors a rank receives from, and how many it sends to.
    fn neighbors(&self, communicator: usize) -> Option<(i32, i32)> {
        let MpiQueries { rank, topology, dimensions, graph_neighbors, neighbors, topologies, .. } = *self.mpi;
        let [cartesian, graph, distributed] = topologies;
        let (mut kind, mut sources, mut destinations, mut weighted) = (0, 0, 0, 0);
        if topology(communicator, &mut kind) != 0 {
            return None;
        }
        let code = if kind == cartesian {
            let code = dimensions(communicator, &mut sources);
            (sources, destinations) = (2 * sources, 2 * sources);
            code
        } else if kind == graph {
            let mut own = 0;
            let code = rank(communicator, &mut own) | graph_neighbors(communicator, own, &mut sources);
            destinations = sources;
            code
        } else if kind == distributed {
            neighbors(communicator, &mut sources, &mut destinations, &mut weighted)
        } else {
            return None;
        };
        (code == 0).then_some((sources, destinations))
    }
}

/// The arguments of a call.
struct Call {
    registers: *mut usize,
    /// The words on the stack.
    stack: *mut usize,
}

impl Call {
    fn word(&mut self, place: usize) -> &mut usize {
        let word = match place.checked_sub(ARGUMENT_REGISTERS) {
            None => self.registers.wrapping_add(place),
            Some(place) => self.stack.wrapping_add(place),
        };
        // SAFETY: the function has an argument at this place, which belongs to the function that is called (psABI 3.2.3, AAPCS64 6.4).
        unsafe { &mut *word }
    }

    fn argument(&mut self, place: usize) -> usize {
        *self.word(place)
    }
}
