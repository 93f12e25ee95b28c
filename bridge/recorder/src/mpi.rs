//! Questions to the MPI library, past all layers: about datatypes, communicators and statuses with which a call has just succeeded.
#![expect(unsafe_code, reason = "calls functions of MPI")]

use std::ffi::{CString, c_int};
use std::sync::OnceLock;

use qmpi_abi::trace::{AbiStatus, HAS_BYTES, IS_CANCELLED};

use crate::interface;

/// Whose handles and constants an MPI library has: `enum QMPIX_Abi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abi {
    Mpich,
    OpenMpi,
    Standard,
}

/// What constants are in each MPI: kind, name, and the values in columns in the order of [`Abi`].
const CONSTANTS: &str = include_str!("../../abi/constants.tsv");

/// `MPI_IN_PLACE` of MPICH; 1 in the others.
pub(crate) const IN_PLACE: [u64; 2] = [u64::MAX, 1];

/// Addresses below are null, or constants that stand for something.
pub(crate) const LOWEST: u64 = 4096;

/// Functions of MPI, each with its type; `None` for one that the MPI does not have. Handles have 4 or 8 bytes, and so many are looked at.
macro_rules! functions {
    ($($field:ident: $name:literal ($($argument:ty),*);)*) => {
        #[derive(Debug)]
        struct Functions { $($field: Option<extern "C" fn($($argument),*) -> c_int>,)* }

        impl Functions {
            fn find() -> Functions {
                let find = interface::mpi_symbol;
                // SAFETY: the function of this name has these arguments; 0 is `None`.
                Functions { $($field: unsafe { std::mem::transmute::<usize, Option<_>>(find($name)) },)* }
            }
        }
    };
}

functions! {
    type_size_x: c"MPI_Type_size_x" (u64, &mut i64);
    type_size: c"MPI_Type_size" (u64, &mut c_int);
    type_envelope: c"MPI_Type_get_envelope" (u64, &mut c_int, &mut c_int, &mut c_int, &mut c_int);
    type_extent: c"MPI_Type_get_extent" (u64, &mut i64, &mut i64);
    type_true_extent: c"MPI_Type_get_true_extent" (u64, &mut i64, &mut i64);
    type_contiguous: c"MPI_Type_contiguous" (c_int, u64, &mut u64);
    type_commit: c"MPI_Type_commit" (&mut u64);
    type_free: c"MPI_Type_free" (&mut u64);
    pack: c"MPI_Pack" (u64, c_int, u64, *mut u8, c_int, &mut c_int, u64);
    initialized: c"MPI_Initialized" (&mut c_int);
    finalized: c"MPI_Finalized" (&mut c_int);
    get_count_c: c"MPI_Get_count_c" (u64, u64, &mut i64);
    get_count: c"MPI_Get_count" (u64, u64, &mut c_int);
    test_cancelled: c"MPI_Test_cancelled" (u64, &mut c_int);
    comm_test_inter: c"MPI_Comm_test_inter" (u64, &mut c_int);
    comm_size: c"MPI_Comm_size" (u64, &mut c_int);
    comm_remote_size: c"MPI_Comm_remote_size" (u64, &mut c_int);
    comm_rank: c"MPI_Comm_rank" (u64, &mut c_int);
    topology: c"MPI_Topo_test" (u64, &mut c_int);
    dimensions: c"MPI_Cartdim_get" (u64, &mut c_int);
    graph_neighbors: c"MPI_Graph_neighbors_count" (u64, c_int, &mut c_int);
    distributed_neighbors: c"MPI_Dist_graph_neighbors_count" (u64, &mut c_int, &mut c_int, &mut c_int);
}

/// The MPI library of the process.
#[derive(Debug)]
pub(crate) struct Mpi {
    pub(crate) abi: Abi,
    /// Variables whose addresses are handles, by their names.
    pub(crate) objects: Vec<(String, usize)>,
    functions: Functions,
    datatype_null: u64,
    pub(crate) byte: u64,
    comm_self: u64,
    /// `MPI_NO_OP`: the origin's buffer has no meaning.
    pub(crate) no_op: u64,
    /// `MPI_ROOT`
    pub(crate) root: c_int,
    /// `MPI_PROC_NULL`
    pub(crate) proc_null: c_int,
    /// `MPI_CART`, `MPI_GRAPH`, `MPI_DIST_GRAPH`
    topologies: [c_int; 3],
    /// `ompi_request_empty`
    empty_request: u64,
}

static MPI: OnceLock<Mpi> = OnceLock::new();

/// Looks at the library; `abi` is what the runtime says of it.
pub(crate) fn prepare(abi: c_int) -> Option<&'static Mpi> {
    let abi = match abi {
        1 => Abi::Mpich,
        2 => Abi::OpenMpi,
        3 => Abi::Standard,
        _ => return None,
    };
    Some(MPI.get_or_init(|| Mpi::new(abi)))
}

/// The library; `None`: it is none whose handles are known.
#[inline]
pub(crate) fn get() -> Option<&'static Mpi> {
    MPI.get()
}

fn int(ask: Option<extern "C" fn(u64, &mut c_int) -> c_int>, handle: u64) -> Option<c_int> {
    let mut answer = 0;
    (ask?(handle, &mut answer) == 0).then_some(answer)
}

fn number(answer: Option<c_int>) -> u64 {
    u64::try_from(answer.unwrap_or(0)).unwrap_or(0)
}

impl Mpi {
    fn new(abi: Abi) -> Mpi {
        let rows = || {
            CONSTANTS.lines().map(|line| line.split('\t')).filter_map(|mut row| row.nth(1).zip(row.nth(abi as usize)))
        };
        let symbol = |name: &str| CString::new(name).map_or(0, |name| interface::mpi_symbol(&name));
        let named =
            |(_, value): (&str, &'static str)| value.strip_prefix('&').map(|name| (name.to_owned(), symbol(name)));
        let constant = |wanted: &str| {
            let value = rows().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value);
            match value.strip_prefix('&') {
                Some(name) => symbol(name) as u64,
                None => value.parse().map_or(0, i64::cast_unsigned),
            }
        };
        let number = |name| constant(name) as c_int;
        // No constant of mpi.h, but the handle of all requests that were complete at once.
        let empty = ("ompi_request_empty".to_owned(), symbol("ompi_request_empty"));
        Mpi {
            abi,
            functions: Functions::find(),
            datatype_null: constant("MPI_DATATYPE_NULL"),
            byte: constant("MPI_BYTE"),
            comm_self: constant("MPI_COMM_SELF"),
            no_op: constant("MPI_NO_OP"),
            root: number("MPI_ROOT"),
            proc_null: number("MPI_PROC_NULL"),
            topologies: ["MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH"].map(number),
            empty_request: empty.1 as u64,
            objects: rows().filter_map(named).chain([empty]).filter(|(_, address)| *address != 0).collect(),
        }
    }

    /// Bytes of a handle in an array.
    pub(crate) fn handle_size(&self) -> usize {
        if self.abi == Abi::Mpich { 4 } else { 8 }
    }

    /// A handle from a word whose upper half may be anything.
    pub(crate) fn handle(&self, word: u64) -> u64 {
        if self.abi == Abi::Mpich { word & 0xffff_ffff } else { word }
    }

    /// Do all requests have this handle that were complete at once? Of the standard ABI nothing tells.
    pub(crate) fn is_complete_request(&self, handle: u64) -> bool {
        match self.abi {
            // Builtin handles, whose highest bits are 01 (mpich: src/include/mpir_objects.h).
            Abi::Mpich => handle as u32 >> 30 == 1,
            Abi::OpenMpi => handle == self.empty_request,
            Abi::Standard => false,
        }
    }

    /// Bytes of an element of a datatype; 0 if MPI does not say.
    pub(crate) fn type_size(&self, datatype: u64) -> u64 {
        if self.handle(datatype) == self.datatype_null {
            return 0;
        }
        if let Some(ask) = self.functions.type_size_x {
            let mut bytes = 0;
            return if ask(datatype, &mut bytes) == 0 { bytes.max(0).cast_unsigned() } else { 0 };
        }
        // MPI 2.2 and older.
        number(int(self.functions.type_size, datatype))
    }

    /// Is it a predefined datatype, which stays what it is as long as the process lives? Its envelope is empty (MPI-4.1, 5.1.13).
    pub(crate) fn is_predefined(&self, datatype: u64) -> bool {
        let (mut integers, mut addresses, mut types, mut combiner) = (1, 0, 0, 0);
        let Some(ask) = self.functions.type_envelope else { return false };
        let code = ask(datatype, &mut integers, &mut addresses, &mut types, &mut combiner);
        code == 0 && (integers, addresses, types) == (0, 0, 0)
    }

    /// How far it is from one element to the next.
    pub(crate) fn extent(&self, datatype: u64) -> Option<i64> {
        let (mut lower, mut extent) = (0, 0);
        (self.functions.type_extent?(datatype, &mut lower, &mut extent) == 0).then_some(extent)
    }

    /// Where the bytes of an element with absolute addresses lie, if these are so many and there are no gaps between them.
    pub(crate) fn place_of_bytes(&self, datatype: u64, size: u64) -> Option<u64> {
        let (mut first, mut length) = (0, 0);
        let code = self.functions.type_true_extent?(datatype, &mut first, &mut length);
        (code == 0 && u64::try_from(length) == Ok(size)).then_some(first.cast_unsigned())
    }

    /// Another handle of a datatype, which stays when the program frees its own. Attributes are not copied, so that none of the program's functions is
    /// called.
    pub(crate) fn hold(&self, datatype: u64) -> Option<u64> {
        let mut held = 0;
        let is_made = self.functions.type_contiguous?(1, datatype, &mut held) == 0;
        (is_made && self.functions.type_commit?(&mut held) == 0).then_some(held)
    }

    /// Frees what [`Self::hold`] has made.
    pub(crate) fn release(&self, mut held: u64) {
        // Behind MPI_Finalize nothing is left to be freed.
        if let Some(free) = self.functions.type_free.filter(|_| self.is_running()) {
            free(&mut held);
        }
    }

    /// Is MPI initialized by MPI_Init and not finalized?
    pub(crate) fn is_running(&self) -> bool {
        let ask = |function: Option<extern "C" fn(&mut c_int) -> c_int>| {
            let mut flag = 0;
            (function?(&mut flag) == 0).then_some(flag != 0)
        };
        ask(self.functions.initialized) == Some(true) && ask(self.functions.finalized) == Some(false)
    }

    /// Packs elements into memory; `None` if these are not so many bytes.
    pub(crate) fn pack(&self, start: u64, elements: c_int, datatype: u64, memory: &mut [u8]) -> Option<()> {
        let room = c_int::try_from(memory.len()).ok()?;
        let mut place = 0;
        let pack = self.functions.pack?;
        let code = pack(start, elements, datatype, memory.as_mut_ptr(), room, &mut place, self.comm_self);
        (code == 0 && place == room).then_some(())
    }

    /// How many bytes were received. `status`: the address of one that MPI has stored; no other may be asked about.
    pub(crate) fn received(&self, status: u64) -> Option<u64> {
        let (mut bytes, mut code) = (0, 1);
        if let Some(ask) = self.functions.get_count_c {
            code = ask(status, self.byte, &mut bytes);
        } else if let Some(ask) = self.functions.get_count {
            let mut count = 0;
            code = ask(status, self.byte, &mut count);
            bytes = count.into();
        }
        // MPI_UNDEFINED is negative.
        u64::try_from(bytes).ok().filter(|_| code == 0)
    }

    /// Writes into the copy of a status of the standard ABI what MPI says of the original; `None`: there is nothing to ask about.
    pub(crate) fn note_status(&self, status: Option<u64>, copy: &mut AbiStatus) {
        (copy.flags, copy.bytes, copy.unused) = (0, 0, 0);
        let Some(status) = status else { return };
        if let Some(bytes) = self.received(status) {
            (copy.flags, copy.bytes) = (HAS_BYTES, bytes);
        }
        if int(self.functions.test_cancelled, status).is_some_and(|flag| flag != 0) {
            copy.flags |= IS_CANCELLED;
        }
    }

    /// Is it a communicator between two groups?
    pub(crate) fn is_between_groups(&self, communicator: u64) -> bool {
        int(self.functions.comm_test_inter, communicator).is_some_and(|answer| answer != 0)
    }

    /// The process's rank in it.
    pub(crate) fn rank(&self, communicator: u64) -> Option<c_int> {
        int(self.functions.comm_rank, communicator)
    }

    /// How many ranks each exchanges data with: all of it, or the other group. `is_local`: its own group in any case.
    pub(crate) fn ranks(&self, communicator: u64, is_local: bool) -> u64 {
        let is_remote = !is_local && self.is_between_groups(communicator);
        let ask = if is_remote { self.functions.comm_remote_size } else { self.functions.comm_size };
        number(int(ask, communicator))
    }

    /// How many dimensions it has.
    pub(crate) fn dimensions(&self, communicator: u64) -> u64 {
        number(int(self.functions.dimensions, communicator))
    }

    /// How many neighbors it receives from and sends to.
    pub(crate) fn neighbors(&self, communicator: u64) -> (u64, u64) {
        let [cartesian, graph, distributed] = self.topologies;
        let topology = int(self.functions.topology, communicator);
        if topology == Some(cartesian) {
            let neighbors = 2 * self.dimensions(communicator);
            return (neighbors, neighbors);
        }
        if let (true, Some(ask), Some(rank)) =
            (topology == Some(graph), self.functions.graph_neighbors, self.rank(communicator))
        {
            let mut neighbors = 0;
            let answer = (ask(communicator, rank, &mut neighbors) == 0).then_some(neighbors);
            return (number(answer), number(answer));
        }
        if let (true, Some(ask)) = (topology == Some(distributed), self.functions.distributed_neighbors) {
            let (mut sources, mut destinations, mut is_weighted) = (0, 0, 0);
            if ask(communicator, &mut sources, &mut destinations, &mut is_weighted) == 0 {
                return (number(Some(sources)), number(Some(destinations)));
            }
        }
        (0, 0)
    }
}
