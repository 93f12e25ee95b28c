//! What is in the buffers of a call, as a hash: for comparisons, and only where it was asked for.
//!
//! MPI packs the elements of a buffer into memory of the recorder (`PMPI_Pack`), and these bytes are hashed: so the hash is the same whatever the
//! datatype, and there is nothing in it of gaps between elements. Buffers are read when the call has succeeded. Then MPI has found the arguments
//! right, what it sends is still there, and what it receives has come. What comes later is read when another call completes it (`pending.rs`).
#![expect(unsafe_code, reason = "memory from the kernel")]

use std::hash::{DefaultHasher, Hasher};

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Kind, Parameter};

use crate::buffers::{Amount, Buffer, Counts, Moves};
use crate::bytes::{Array, Bytes, argument};
use crate::mpi::{LOWEST, Mpi};
use crate::pending::Object;
use crate::system;
use crate::thread::Thread;

/// Bytes that are packed at a time, if elements are no larger.
const PACKED: u64 = 1 << 20;
/// As many have room on the stack of the program's thread.
const BLOCK: usize = 2048;

/// How the buffers of a function are read.
#[derive(Debug)]
pub(crate) struct Contents {
    bytes: Bytes,
    /// What completes what is received, if that is not there when the function returns, and its argument.
    pub(crate) later: Option<(Object, u8)>,
    /// Whether the function only prepares what others start.
    pub(crate) is_persistent: bool,
    /// A status that tells how much has been received.
    status: Option<u8>,
    /// Whether the status of the call that completes it will tell.
    pub(crate) has_status_later: bool,
    /// Where data comes from and goes to, which may be `MPI_PROC_NULL`.
    source: Option<u8>,
    destination: Option<u8>,
    /// The rank that an operation on a window has to do with.
    pub(crate) target: Option<u8>,
}

/// Elements of one datatype, one behind the other.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: u64,
    elements: u64,
    datatype: u64,
    /// Bytes of an element.
    size: u64,
    /// The handle is the recorder's own.
    is_held: bool,
}

/// The pieces of a buffer, in their order.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<Piece>);

/// When what a call receives is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// When it returns.
    Now,
    /// When another call completes it.
    Later,
    /// It is not known which one does.
    Never,
}

/// A buffer of a call that has succeeded.
#[derive(Debug)]
pub(crate) struct Found {
    /// Which argument.
    pub(crate) place: u8,
    pub(crate) is_sent: bool,
    pub(crate) pieces: Pieces,
    /// What was received, where a status tells.
    pub(crate) received: Option<u64>,
    pub(crate) is_later: bool,
}

impl Contents {
    /// Of a function; `None`: nothing is known of its buffers.
    pub(crate) fn of(function: FnId) -> Option<Contents> {
        let persistent = Bytes::of_persistent(function);
        let is_persistent = persistent.is_some();
        let bytes = persistent.or_else(|| Bytes::of(function))?;
        let parameters = function.parameters();
        let place = |found: &dyn Fn(&Parameter) -> bool| parameters.iter().position(found).map(|place| place as u8);
        let of = |kind: Kind| place(&|parameter| parameter.kind == kind);
        let out = |kind: Kind| place(&|parameter| parameter.kind == kind && parameter.direction == Direction::Out);
        let rank = |name: &str| place(&|parameter| parameter.kind == Kind::Rank && parameter.name() == name);
        let begins = ["_begin", "_begin_c"].iter().any(|end| function.name().ends_with(end));
        let later = match (out(Kind::Request), of(Kind::Window), of(Kind::File)) {
            (Some(request), ..) => Some((Object::Request, request)),
            (None, Some(window), _) => Some((Object::Window, window)),
            (None, None, Some(file)) if begins => Some((Object::File, file)),
            _ => None,
        };
        let target = rank("target_rank");
        Some(Contents {
            bytes,
            later,
            is_persistent,
            status: out(Kind::Status),
            has_status_later: rank("source").is_some() || of(Kind::Message).is_some() || of(Kind::File).is_some(),
            source: rank("source").or(target),
            destination: rank("dest").or(target),
            target,
        })
    }

    /// How many buffers there are at most.
    pub(crate) fn most(&self) -> usize {
        self.bytes.buffers.len()
    }

    /// Each buffer of a call that has succeeded and that has something in it.
    pub(crate) fn each(&self, arguments: &[u64], thread: &Thread, mpi: &Mpi, when: When, mut tell: impl FnMut(Found)) {
        // MPI cannot be asked before, and packs for a communicator that is gone behind it.
        if !mpi.is_running() {
            return;
        }
        let is_null = |rank: Option<u8>| rank.is_some_and(|rank| argument(arguments, rank) as i32 == mpi.proc_null);
        self.bytes.each(arguments, thread, mpi, |buffer, is_root, amount| {
            let is_sent = buffer.moves == Moves::Out || buffer.moves == Moves::FromRoot && is_root;
            let start = argument(arguments, buffer.place);
            // The last three addresses stand for something: MPI_IN_PLACE and others of MPICH. MPI_BOTTOM is 0.
            let is_constant = start != 0 && start < LOWEST || start >= u64::MAX - 2;
            if amount == 0 || is_constant || is_null(if is_sent { self.destination } else { self.source }) {
                return;
            }
            let when = if is_sent && !self.is_persistent { When::Now } else { when };
            if when == When::Never || self.is_persistent && when == When::Now {
                return;
            }
            let status = self.status.map(|place| argument(arguments, place)).filter(|_| !is_sent);
            let status = status.filter(|status| (LOWEST..u64::MAX).contains(status));
            let received = status.and_then(|status| mpi.received(status));
            let pieces = self.pieces(buffer, amount, arguments, thread, mpi).unwrap_or_default();
            tell(Found { place: buffer.place, is_sent, pieces, received, is_later: when == When::Later });
        });
    }

    /// Where the elements of a buffer lie; `None` if that is not known.
    fn pieces(&self, buffer: &Buffer, amount: u64, arguments: &[u64], thread: &Thread, mpi: &Mpi) -> Option<Pieces> {
        let start = argument(arguments, buffer.place);
        let piece = |start, elements, datatype| {
            let size = thread.sizes.of(datatype, mpi);
            Piece { start, elements, datatype, size, is_held: false }
        };
        let one = |datatype| {
            let size = thread.sizes.of(datatype, mpi);
            let elements = amount.checked_div(size)?;
            // MPI_BOTTOM: the datatype has the addresses. MPICH does not pack from there (its MPI_Pack refuses a null pointer).
            let piece = match start {
                0 if elements > 1 => return None,
                0 => piece(mpi.place_of_bytes(datatype, size)?, size, mpi.byte),
                start => piece(start, elements, datatype),
            };
            Some(Pieces(vec![piece]))
        };
        let product = match &buffer.amount {
            Amount::Plain { datatype, .. } => return one(argument(arguments, *datatype)),
            Amount::Product(product) => product,
        };
        let (Counts::Array { place, is_int, length }, Some(displacements)) = (product.counts, product.displacements)
        else {
            return one(argument(arguments, product.datatype)).filter(|_| product.datatypes.is_none());
        };
        if start == 0 {
            return None;
        }
        let counts = Array::of_numbers(arguments, place, is_int);
        let displacements = Array::of_numbers(arguments, displacements.place, displacements.is_int);
        let types = product.datatypes.map(|place| Array::of_handles(arguments, place, mpi));
        let mut pieces = Vec::new();
        for element in (0..self.bytes.elements(length, arguments, mpi)).filter(|element| counts.number(*element) > 0) {
            let datatype = types.map_or(argument(arguments, product.datatype), |types| types.word(element));
            // Of bytes where each has its own datatype.
            let step = if types.is_some() { 1 } else { mpi.extent(datatype)? };
            let start = start.wrapping_add_signed(displacements.signed(element).wrapping_mul(step));
            pieces.push(piece(start, counts.number(element), datatype));
        }
        Some(Pieces(pieces))
    }
}

impl Pieces {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the datatypes until [`Self::release`]: the program may free its own before the buffer is read.
    pub(crate) fn hold(&mut self, mpi: &Mpi) {
        for piece in self.0.iter_mut().filter(|piece| !mpi.is_predefined(piece.datatype)) {
            match mpi.hold(piece.datatype) {
                Some(held) => (piece.datatype, piece.is_held) = (held, true),
                None => piece.size = 0,
            }
        }
    }

    /// Gives up what is held.
    pub(crate) fn release(&mut self, mpi: &Mpi) {
        self.0.drain(..).filter(|piece| piece.is_held).for_each(|piece| mpi.release(piece.datatype));
    }

    /// How many bytes there are, of those that were received, and their hash; `None`: there is nothing, or MPI does not pack it.
    pub(crate) fn hash(&self, received: Option<u64>, mpi: &Mpi) -> Option<(u64, u64)> {
        if !mpi.is_running() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        let (mut sum, mut left) = (0, received.unwrap_or(u64::MAX));
        for piece in &self.0 {
            // An element that has come in part is left out: what is behind its end may be anything.
            let elements = piece.elements.min(left.checked_div(piece.size)?);
            piece.pack(elements, mpi, &mut hasher)?;
            sum += elements * piece.size;
            left -= elements * piece.size;
        }
        (sum > 0).then(|| (sum, hasher.finish()))
    }
}

impl Piece {
    fn pack(&self, elements: u64, mpi: &Mpi, hasher: &mut DefaultHasher) -> Option<()> {
        let at_once = (PACKED / self.size).clamp(1, elements.max(1));
        let room = usize::try_from(at_once.checked_mul(self.size)?).ok()?;
        let mut block = [0_u8; BLOCK];
        let mut memory = (room > BLOCK).then(|| Memory::map(room));
        let packed = match &mut memory {
            Some(memory) => memory.as_mut()?.bytes(),
            None => &mut block,
        };
        let extent = if elements > at_once { mpi.extent(self.datatype)? } else { 0 };
        let mut done = 0;
        while done < elements {
            let count = at_once.min(elements - done);
            let start = self.start.wrapping_add_signed(extent.wrapping_mul(done.cast_signed()));
            let packed = packed.get_mut(..usize::try_from(count * self.size).ok()?)?;
            mpi.pack(start, i32::try_from(count).ok()?, self.datatype, packed)?;
            hasher.write(packed);
            done += count;
        }
        Some(())
    }
}

/// Memory from the kernel, which gets it back.
struct Memory {
    start: *mut u8,
    size: usize,
}

impl Memory {
    fn map(size: usize) -> Option<Memory> {
        let start = system::map_memory(size).cast();
        (!std::ptr::eq(start, std::ptr::null())).then_some(Memory { start, size })
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped, as long as this value lives.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.size) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`; an error is none that could be.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}
