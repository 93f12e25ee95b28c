//! Questions to the MPI library, past all layers: about datatypes, communicators and statuses with which a call has just succeeded.
#![expect(unsafe_code, reason = "calls functions of MPI")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::MpiFamily;
use qmpi_abi::constants::Constant;
use qmpi_abi::trace::{AbiStatus, HAS_BYTES, IS_CANCELLED};

use crate::interface;

/// `MPI_IN_PLACE` of MPICH; 1 in the others.
pub(crate) const IN_PLACE: [u64; 2] = [u64::MAX, 1];

/// Addresses below are null, or constants that stand for something.
pub(crate) const LOWEST: u64 = 4096;

/// A function of MPI that is called past all layers: its name, and its address when it has been asked for, 1 of one that this MPI does not have.
#[derive(Debug)]
struct MpiFunction(&'static CStr, AtomicUsize);

static TYPE_SIZE_X: MpiFunction = MpiFunction::named(c"MPI_Type_size_x");
static TYPE_SIZE: MpiFunction = MpiFunction::named(c"MPI_Type_size");
static TYPE_ENVELOPE: MpiFunction = MpiFunction::named(c"MPI_Type_get_envelope");
static TYPE_EXTENT: MpiFunction = MpiFunction::named(c"MPI_Type_get_extent");
static TYPE_TRUE_EXTENT: MpiFunction = MpiFunction::named(c"MPI_Type_get_true_extent");
static TYPE_CONTIGUOUS: MpiFunction = MpiFunction::named(c"MPI_Type_contiguous");
static TYPE_COMMIT: MpiFunction = MpiFunction::named(c"MPI_Type_commit");
static TYPE_FREE: MpiFunction = MpiFunction::named(c"MPI_Type_free");
static PACK: MpiFunction = MpiFunction::named(c"MPI_Pack");
static INITIALIZED: MpiFunction = MpiFunction::named(c"MPI_Initialized");
static FINALIZED: MpiFunction = MpiFunction::named(c"MPI_Finalized");
static GET_COUNT_C: MpiFunction = MpiFunction::named(c"MPI_Get_count_c");
static GET_COUNT: MpiFunction = MpiFunction::named(c"MPI_Get_count");
static TEST_CANCELLED: MpiFunction = MpiFunction::named(c"MPI_Test_cancelled");
static COMM_TEST_INTER: MpiFunction = MpiFunction::named(c"MPI_Comm_test_inter");
static COMM_SIZE: MpiFunction = MpiFunction::named(c"MPI_Comm_size");
static COMM_REMOTE_SIZE: MpiFunction = MpiFunction::named(c"MPI_Comm_remote_size");
static COMM_RANK: MpiFunction = MpiFunction::named(c"MPI_Comm_rank");
static TOPOLOGY: MpiFunction = MpiFunction::named(c"MPI_Topo_test");
static DIMENSIONS: MpiFunction = MpiFunction::named(c"MPI_Cartdim_get");
static GRAPH_NEIGHBORS: MpiFunction = MpiFunction::named(c"MPI_Graph_neighbors_count");
static DISTRIBUTED_NEIGHBORS: MpiFunction = MpiFunction::named(c"MPI_Dist_graph_neighbors_count");

/// A function of MPI. All of their arguments are integers or addresses; whole words more than a function takes do no harm.
type SevenWords = extern "C" fn(u64, u64, u64, u64, u64, u64, u64) -> c_int;

impl MpiFunction {
    const fn named(name: &'static CStr) -> MpiFunction {
        MpiFunction(name, AtomicUsize::new(0))
    }

    /// The runtime finds it in the tables of the MPI library, without a lock.
    fn address(&self) -> Option<usize> {
        if self.1.load(Ordering::Relaxed) == 0 {
            self.1.store(interface::mpi_symbol(self.0).max(1), Ordering::Relaxed);
        }
        Some(self.1.load(Ordering::Relaxed)).filter(|address| *address > 1)
    }

    /// Calls it with these arguments and the addresses of `N` variables behind them; `None` if it fails, or this MPI has none.
    fn call<T: Copy + Default, const N: usize>(&self, arguments: &[u64]) -> Option<[T; N]> {
        let mut answers = [T::default(); N];
        let addresses = answers.iter_mut().map(|answer| std::ptr::from_mut(answer).expose_provenance() as u64);
        let mut words = [0; 7];
        for (word, argument) in words.iter_mut().zip(arguments.iter().copied().chain(addresses)) {
            *word = argument;
        }
        let [a, b, c, d, e, f, g] = words;
        // SAFETY: a function of MPI, which takes seven words at most.
        let function = unsafe { std::mem::transmute::<usize, SevenWords>(self.address()?) };
        (function(a, b, c, d, e, f, g) == 0).then_some(answers)
    }

    fn int(&self, handle: u64) -> Option<c_int> {
        self.call(&[handle]).map(|[answer]| answer)
    }

    /// 0 if it is negative, or not known.
    fn count(&self, handle: u64) -> u64 {
        u64::try_from(self.int(handle).unwrap_or(0)).unwrap_or(0)
    }
}

/// The MPI library of the process.
#[derive(Debug)]
pub(crate) struct Mpi {
    pub(crate) abi: MpiFamily,
    /// Variables whose addresses are handles, by their names.
    pub(crate) objects: BTreeMap<String, usize>,
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

/// Looks at the library; `abi` is what the runtime says of it, in `enum QMPIX_Abi`.
pub(crate) fn prepare(abi: c_int) {
    let place = usize::try_from(abi).ok().and_then(|abi| abi.checked_sub(1));
    if let Some((abi, _)) = place.and_then(|place| MpiFamily::ALL.get(place)) {
        MPI.get_or_init(|| Mpi::new(*abi));
    }
}

/// The library; `None`: it is none whose handles are known.
#[inline]
pub(crate) fn get() -> Option<&'static Mpi> {
    MPI.get()
}

impl Mpi {
    fn new(abi: MpiFamily) -> Mpi {
        let rows = || Constant::all().filter_map(|constant| Some((constant.name, constant.values(abi).next()?)));
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

    /// A handle from a word whose upper half may be anything.
    pub(crate) fn handle(&self, word: u64) -> u64 {
        if self.abi == MpiFamily::Mpich { word & 0xffff_ffff } else { word }
    }

    /// Do all requests have this handle that were complete at once? Of the standard ABI nothing tells.
    pub(crate) fn is_complete_request(&self, handle: u64) -> bool {
        match self.abi {
            // Builtin handles, whose highest bits are 01 (mpich: src/include/mpir_objects.h).
            MpiFamily::Mpich => handle as u32 >> 30 == 1,
            MpiFamily::OpenMpi => handle == self.empty_request,
            MpiFamily::StandardAbi => false,
        }
    }

    /// Bytes of an element of a datatype; 0 if MPI does not say.
    pub(crate) fn type_size(&self, datatype: u64) -> u64 {
        if self.handle(datatype) == self.datatype_null {
            return 0;
        }
        if TYPE_SIZE_X.address().is_some() {
            let [bytes]: [i64; 1] = TYPE_SIZE_X.call(&[datatype]).unwrap_or_default();
            return bytes.max(0).cast_unsigned();
        }
        // MPI 2.2 and older.
        TYPE_SIZE.count(datatype)
    }

    /// Is it a predefined datatype, which stays what it is as long as the process lives? Its envelope is empty (MPI-4.1, 5.1.13).
    pub(crate) fn is_predefined(&self, datatype: u64) -> bool {
        let envelope: Option<[c_int; 4]> = TYPE_ENVELOPE.call(&[datatype]);
        envelope.is_some_and(|[integers, addresses, types, _]| (integers, addresses, types) == (0, 0, 0))
    }

    /// How far it is from one element to the next.
    pub(crate) fn extent(&self, datatype: u64) -> Option<i64> {
        TYPE_EXTENT.call(&[datatype]).map(|[_, extent]| extent)
    }

    /// Where the bytes of an element with absolute addresses lie, if these are so many and there are no gaps between them.
    pub(crate) fn place_of_bytes(&self, datatype: u64, size: u64) -> Option<u64> {
        let [first, length]: [i64; 2] = TYPE_TRUE_EXTENT.call(&[datatype])?;
        (u64::try_from(length) == Ok(size)).then_some(first.cast_unsigned())
    }

    /// Another handle of a datatype, which stays when the program frees its own. Attributes are not copied, so that none of the program's functions is
    /// called.
    pub(crate) fn hold(&self, datatype: u64) -> Option<u64> {
        let mut made: [u64; 1] = TYPE_CONTIGUOUS.call(&[1, datatype])?;
        let address = made.as_mut_ptr().expose_provenance() as u64;
        TYPE_COMMIT.call::<u64, 0>(&[address]).map(|[]| made[0])
    }

    /// Frees what [`Self::hold`] has made. Behind MPI_Finalize nothing is left to be freed.
    pub(crate) fn release(&self, mut held: u64) {
        if self.is_running() {
            let address = std::ptr::from_mut(&mut held).expose_provenance() as u64;
            TYPE_FREE.call::<u64, 0>(&[address]);
        }
    }

    /// Is MPI initialized by MPI_Init and not finalized?
    pub(crate) fn is_running(&self) -> bool {
        let is_true = |function: &MpiFunction| function.call(&[]).map(|[flag]: [c_int; 1]| flag != 0);
        is_true(&INITIALIZED) == Some(true) && is_true(&FINALIZED) == Some(false)
    }

    /// Packs elements into memory; `None` if these are not so many bytes.
    pub(crate) fn pack(&self, start: u64, elements: c_int, datatype: u64, memory: &mut [u8]) -> Option<()> {
        let room = c_int::try_from(memory.len()).ok()?;
        let (memory, mut place): (_, c_int) = (memory.as_mut_ptr().expose_provenance() as u64, 0);
        let address = std::ptr::from_mut(&mut place).expose_provenance() as u64;
        let arguments = [start, elements as u64, datatype, memory, room as u64, address, self.comm_self];
        PACK.call::<u64, 0>(&arguments).filter(|[]| place == room).map(|[]| ())
    }

    /// How many bytes were received. `status`: the address of one that MPI has stored; no other may be asked about.
    pub(crate) fn received(&self, status: u64) -> Option<u64> {
        let arguments = [status, self.byte];
        let bytes = if GET_COUNT_C.address().is_some() {
            GET_COUNT_C.call(&arguments).map(|[bytes]: [i64; 1]| bytes)
        } else {
            GET_COUNT.call(&arguments).map(|[bytes]: [c_int; 1]| bytes.into())
        };
        // MPI_UNDEFINED is negative.
        u64::try_from(bytes?).ok()
    }

    /// Writes into the copy of a status of the standard ABI what MPI says of the original; `None`: there is nothing to ask about.
    pub(crate) fn note_status(&self, status: Option<u64>, copy: &mut AbiStatus) {
        (copy.flags, copy.bytes, copy.unused) = (0, 0, 0);
        let Some(status) = status else { return };
        if let Some(bytes) = self.received(status) {
            (copy.flags, copy.bytes) = (HAS_BYTES, bytes);
        }
        if TEST_CANCELLED.count(status) != 0 {
            copy.flags |= IS_CANCELLED;
        }
    }

    /// Is it a communicator between two groups?
    pub(crate) fn is_between_groups(&self, communicator: u64) -> bool {
        COMM_TEST_INTER.count(communicator) != 0
    }

    /// The process's rank in it.
    pub(crate) fn rank(&self, communicator: u64) -> Option<c_int> {
        COMM_RANK.int(communicator)
    }

    /// How many ranks each exchanges data with: all of it, or the other group. `is_local`: its own group in any case.
    pub(crate) fn ranks(&self, communicator: u64, is_local: bool) -> u64 {
        let is_remote = !is_local && self.is_between_groups(communicator);
        if is_remote { &COMM_REMOTE_SIZE } else { &COMM_SIZE }.count(communicator)
    }

    /// How many dimensions it has.
    pub(crate) fn dimensions(&self, communicator: u64) -> u64 {
        DIMENSIONS.count(communicator)
    }

    /// How many neighbors it receives from and sends to.
    pub(crate) fn neighbors(&self, communicator: u64) -> [u64; 2] {
        let [cartesian, graph, distributed] = self.topologies;
        let count = |answer: c_int| u64::try_from(answer).unwrap_or(0);
        match TOPOLOGY.int(communicator) {
            Some(topology) if topology == cartesian => [2 * self.dimensions(communicator); 2],
            Some(topology) if topology == graph => {
                let rank = self.rank(communicator).unwrap_or(0) as u64;
                let [neighbors] = GRAPH_NEIGHBORS.call(&[communicator, rank]).unwrap_or_default();
                [count(neighbors); 2]
            }
            Some(topology) if topology == distributed => {
                let answers = DISTRIBUTED_NEIGHBORS.call(&[communicator]);
                let [sources, destinations, _] = answers.unwrap_or_default();
                [count(sources), count(destinations)]
            }
            _ => [0; 2],
        }
    }
}
