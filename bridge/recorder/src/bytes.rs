//! How many bytes a call sends and receives, where its arguments tell: counts, datatypes, communicators.
//!
//! What a function sends is what it reads from buffers of the program, what it receives is the room that it is given in them. Arguments are
//! looked at when the call has succeeded: then MPI has read the same, and questions about them are allowed. A buffer of which nothing in the call
//! tells the size, or whose arguments have no meaning on this rank, has no bytes.
#![expect(unsafe_code, reason = "arrays of the program")]

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Factor, Kind, Parameter};

use crate::buffers::{self, Amount, Buffer, Counts, Moves, Product};
use crate::mpi::{self, IN_PLACE, Mpi};
use crate::system::ticks;
use crate::thread::Thread;

/// How the bytes of a function's calls are counted.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) buffers: Vec<Buffer>,
    root: Option<usize>,
    communicator: Option<usize>,
    /// An operation that may be `MPI_NO_OP`.
    no_op: Option<usize>,
    /// Arrays follow the local group, in reductions, also between two groups.
    is_local: bool,
    /// Whether MPI is asked how long arrays are, and they are added up: that takes time, which is nobody's.
    asks: bool,
}

/// What a rank is in a collective operation with a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The root of its group, or there is none: all arguments have a meaning.
    Root,
    /// The root of an operation between two groups: it alone is in its group.
    RootBetween,
    /// One of the others.
    Other,
    /// In the root's group, and not the root.
    Nothing,
}

/// The number of elements in a word; none if it is negative.
#[inline]
pub(crate) fn number(word: u64, is_int: bool) -> u64 {
    let number = if is_int { i64::from(word as i32) } else { word.cast_signed() };
    number.max(0).cast_unsigned()
}

/// An argument.
#[inline]
pub(crate) fn argument(arguments: &[u64], place: u8) -> u64 {
    arguments.get(usize::from(place)).copied().unwrap_or(0)
}

impl Bytes {
    /// Of a function; `None`: its arguments do not tell.
    pub(crate) fn of(function: FnId) -> Option<Bytes> {
        Self::with(function, buffers::buffers(function))
    }

    /// What is sent and received each time that a persistent request is started.
    pub(crate) fn of_persistent(function: FnId) -> Option<Bytes> {
        Self::with(function, buffers::persistent_buffers(function))
    }

    fn with(function: FnId, buffers: Vec<Buffer>) -> Option<Bytes> {
        if buffers.is_empty() {
            return None;
        }
        let place = |is_it: &dyn Fn(&Parameter) -> bool| function.parameters().iter().position(is_it);
        let of = |kind: Kind| place(&|parameter| parameter.kind == kind);
        Some(Bytes {
            root: place(&|parameter| parameter.kind == Kind::Rank && parameter.name() == "root"),
            communicator: of(Kind::Communicator),
            no_op: of(Kind::Op).filter(|_| of(Kind::Window).is_some()),
            is_local: of(Kind::Op).is_some(),
            asks: buffers.iter().any(|buffer| buffer.amount.asks()),
            buffers,
        })
    }

    /// What a call that has succeeded has sent and received.
    #[inline]
    pub(crate) fn count(&self, arguments: &[u64], thread: &Thread) -> [u64; 2] {
        // Most calls: one buffer, and a datatype that the thread remembers.
        if let [Buffer { amount: Amount::Plain { count, is_int, datatype }, moves, is_origin: false, .. }] =
            self.buffers[..]
            && moves != Moves::FromRoot
            && let Some(size) = thread.sizes.known(argument(arguments, datatype))
        {
            return moves.ways(false, number(argument(arguments, count), is_int).wrapping_mul(size));
        }
        self.count_all(arguments, thread)
    }

    #[inline(never)]
    fn count_all(&self, arguments: &[u64], thread: &Thread) -> [u64; 2] {
        let (mut bytes, Some(mpi)) = ([0_u64; 2], mpi::get()) else { return [0; 2] };
        let began = if self.asks { ticks() } else { 0 };
        self.each(arguments, thread, mpi, |buffer, is_root, amount| {
            let [sent, received] = buffer.moves.ways(is_root, amount);
            bytes = [bytes[0].wrapping_add(sent), bytes[1].wrapping_add(received)];
        });
        if self.asks {
            thread.leave_out(ticks().wrapping_sub(began));
        }
        bytes
    }

    /// The buffers that have a meaning in a call that has succeeded, whether the rank is the root, and how many bytes each has.
    pub(crate) fn each(&self, arguments: &[u64], thread: &Thread, mpi: &Mpi, mut tell: impl FnMut(&Buffer, bool, u64)) {
        let role = self.role(arguments, mpi);
        for buffer in &self.buffers {
            let is_due = match role {
                Role::Root => true,
                Role::RootBetween => buffer.at_root || buffer.moves == Moves::FromRoot,
                Role::Other => !buffer.at_root,
                Role::Nothing => false,
            };
            let is_in_place = buffer.may_be_in_place && IN_PLACE.contains(&argument(arguments, buffer.place));
            let has_no_operation = || self.no_op.is_some_and(|op| mpi.handle(arguments[op]) == mpi.no_op);
            if !is_due || is_in_place || buffer.is_origin && has_no_operation() {
                continue;
            }
            let amount = match &buffer.amount {
                Amount::Plain { count, is_int, datatype } => {
                    let count = number(argument(arguments, *count), *is_int);
                    size(count, argument(arguments, *datatype), thread, mpi)
                }
                Amount::Product(product) => self.product(product, arguments, thread, mpi),
            };
            tell(buffer, matches!(role, Role::Root | Role::RootBetween), amount);
        }
    }

    fn role(&self, arguments: &[u64], mpi: &Mpi) -> Role {
        let (Some(root), Some(communicator)) = (self.root, self.communicator) else { return Role::Root };
        let (root, communicator) = (arguments[root] as i32, arguments[communicator]);
        if mpi.is_between_groups(communicator) {
            return match root {
                root if root == mpi.root => Role::RootBetween,
                root if root == mpi.proc_null => Role::Nothing,
                _ => Role::Other,
            };
        }
        if mpi.rank(communicator) == Some(root) { Role::Root } else { Role::Other }
    }

    /// A product with arrays or the size of a communicator. All of it is right, or it is 0.
    fn product(&self, product: &Product, arguments: &[u64], thread: &Thread, mpi: &Mpi) -> u64 {
        let count = match product.counts {
            Counts::Number => 1,
            Counts::Argument { place, is_int } => number(argument(arguments, place), is_int),
            Counts::Array { place, is_int, length } => {
                let elements = 0..self.elements(length, arguments, mpi);
                let counts = Array::of_numbers(arguments, place, is_int);
                if let Some(types) = product.datatypes {
                    let types = Array::of_handles(arguments, types, mpi);
                    let bytes = |element| size(counts.number(element), types.word(element), thread, mpi);
                    return elements.map(bytes).fold(0, u64::wrapping_add);
                }
                elements.map(|element| counts.number(element)).fold(0, u64::wrapping_add)
            }
        };
        let count = count.wrapping_mul(self.elements(product.times, arguments, mpi));
        size(count, argument(arguments, product.datatype), thread, mpi)
    }

    /// How many ranks or neighbors these are: the product.
    pub(crate) fn elements(&self, length: &[Factor], arguments: &[u64], mpi: &Mpi) -> u64 {
        let number = |factor: &Factor| match *factor {
            Factor::Ranks(place) => mpi.ranks(argument(arguments, place), self.is_local),
            Factor::Sources(place) => mpi.neighbors(argument(arguments, place)).0,
            Factor::Destinations(place) => mpi.neighbors(argument(arguments, place)).1,
            _ => 0,
        };
        length.iter().map(number).fold(1, u64::wrapping_mul)
    }
}

impl Moves {
    /// So many bytes as those that are sent and those that are received.
    #[inline]
    fn ways(self, is_root: bool, bytes: u64) -> [u64; 2] {
        match self {
            Moves::Out => [bytes, 0],
            Moves::In => [0, bytes],
            Moves::Both => [bytes, bytes],
            Moves::FromRoot if is_root => [bytes, 0],
            Moves::FromRoot => [0, bytes],
        }
    }
}

/// Bytes of so many elements. Where there are none, the datatype may be anything.
fn size(count: u64, datatype: u64, thread: &Thread, mpi: &Mpi) -> u64 {
    if count == 0 { 0 } else { count.wrapping_mul(thread.sizes.of(datatype, mpi)) }
}

/// An array that is an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array {
    address: u64,
    /// Bytes of an element, 4 or 8.
    size: usize,
}

impl Array {
    pub(crate) fn of_numbers(arguments: &[u64], place: u8, is_int: bool) -> Array {
        Array { address: argument(arguments, place), size: if is_int { 4 } else { 8 } }
    }

    pub(crate) fn of_handles(arguments: &[u64], place: u8, mpi: &Mpi) -> Array {
        Array { address: argument(arguments, place), size: mpi.handle_size() }
    }

    pub(crate) fn word(&self, element: u64) -> u64 {
        let address = self.address as usize + element as usize * self.size;
        if self.size == 4 {
            // SAFETY: MPI has read the array, which has so many elements.
            u64::from(unsafe { ptr::with_exposed_provenance::<u32>(address).read_unaligned() })
        } else {
            // SAFETY: MPI has read the array, which has so many elements.
            unsafe { ptr::with_exposed_provenance::<u64>(address).read_unaligned() }
        }
    }

    pub(crate) fn signed(&self, element: u64) -> i64 {
        let word = self.word(element);
        if self.size == 4 { i64::from(word as i32) } else { word.cast_signed() }
    }

    /// A number of elements; none if it is negative.
    pub(crate) fn number(&self, element: u64) -> u64 {
        self.signed(element).max(0).cast_unsigned()
    }
}

/// Sizes that a thread remembers: those of predefined datatypes. The handle of any other may be that of another datatype tomorrow, and is asked for
/// each time.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sizes([Size; 64]);

/// A datatype, and its size. The handle 0 is none.
#[derive(Debug)]
#[repr(C)]
struct Size {
    handle: AtomicU64,
    bytes: AtomicU64,
}

impl Sizes {
    /// The size of a datatype that was asked for.
    #[inline]
    pub(crate) fn known(&self, datatype: u64) -> Option<u64> {
        let known = self.place(datatype);
        (known.handle.load(Ordering::Relaxed) == datatype).then(|| known.bytes.load(Ordering::Relaxed))
    }

    /// Bytes of an element; 0 if MPI does not say.
    #[inline]
    pub(crate) fn of(&self, datatype: u64, mpi: &Mpi) -> u64 {
        self.known(datatype).unwrap_or_else(|| self.ask(datatype, mpi))
    }

    #[cold]
    fn ask(&self, datatype: u64, mpi: &Mpi) -> u64 {
        let bytes = mpi.type_size(datatype);
        if bytes != 0 && mpi.is_predefined(datatype) {
            self.set(datatype, bytes);
        }
        bytes
    }

    #[inline]
    fn place(&self, datatype: u64) -> &Size {
        // Handles are addresses of large objects, or differ in some bits (Knuth: multiplicative hashing).
        let place = datatype.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        &self.0[place as usize]
    }

    /// Remembers a size, or forgets it: 0. The handler of a signal that comes in between finds no handle.
    pub(crate) fn set(&self, datatype: u64, bytes: u64) {
        let place = self.place(datatype);
        place.handle.store(0, Ordering::Release);
        place.bytes.store(bytes, Ordering::Release);
        place.handle.store(if bytes == 0 { 0 } else { datatype }, Ordering::Release);
    }
}
