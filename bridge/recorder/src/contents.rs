//! What is in the buffers of a call, as a hash: for comparisons, and only where it was asked for.
//!
//! MPI packs the elements of a buffer into memory of the recorder (`PMPI_Pack`), and these bytes are hashed: so the hash is the same whatever the
//! datatype, and there is nothing in it of gaps between elements. Buffers are read when the call has succeeded. Then MPI has found the arguments
//! right, what it sends is still there, and what it receives has come. What comes later is read when another call completes the request
//! (`pending.rs`).

use std::hash::{DefaultHasher, Hasher};

use qmpi_abi::parameters::Kind;

use crate::arguments::{CallArguments, Signature};
use crate::buffers::{Buffer, Buffers};
use crate::mpi::{self, LOWEST, Mpi};

/// Bytes that are packed at a time, if elements are no larger.
const PACKED: u64 = 1 << 20;

/// How the buffers of a function are read.
#[derive(Debug)]
pub(crate) struct TransferredContents {
    pub(crate) buffers: Buffers,
    /// Whether what is received is there when the function returns or its request is complete. What a window or a file says of it is not followed.
    pub(crate) is_followed: bool,
    /// A status that tells how much has been received: of the function, or else of the call that completes the request.
    status: Option<u8>,
    pub(crate) has_status_later: bool,
    /// Where data comes from and goes to, which may be `MPI_PROC_NULL`.
    source: Option<u8>,
    destination: Option<u8>,
}

/// Elements of one datatype, one behind the other.
#[derive(Debug)]
struct Piece {
    start: u64,
    elements: u64,
    datatype: u64,
    /// Bytes of an element.
    size: u64,
    /// The handle is the recorder's own, which frees it when the piece is gone.
    is_held: bool,
}

/// The pieces of a buffer, in their order.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<Piece>);

impl TransferredContents {
    /// Of a function; `None`: nothing is known of its buffers.
    pub(crate) fn of(signature: &Signature) -> Option<TransferredContents> {
        let file = signature.of_kind(Kind::File);
        let (source, target) = (signature.rank("source"), signature.rank("target_rank"));
        Some(TransferredContents {
            buffers: Buffers::of(signature)?,
            is_followed: (signature.result(Kind::Request).is_some() || signature.of_kind(Kind::Window).is_none())
                && !signature.ends_with(&["_begin", "_begin_c"]),
            status: signature.result(Kind::Status),
            has_status_later: source.or(signature.of_kind(Kind::Message)).or(file).is_some(),
            source: source.or(target),
            destination: signature.rank("dest").or(target),
        })
    }

    /// Tells of each buffer of a call that has succeeded and that has something in it: which argument it is, whether it is sent, and its pieces. Of what
    /// was received, how many bytes, where a status tells.
    pub(crate) fn each(&self, arguments: &CallArguments, mut tell: impl FnMut(u8, bool, Pieces, Option<u64>)) {
        let mpi = arguments.mpi;
        // MPI cannot be asked before, and packs for a communicator that is gone behind it.
        if !mpi.is_running() {
            return;
        }
        let is_null = |rank: Option<u8>| rank.is_some_and(|rank| arguments.word(rank) as i32 == mpi.proc_null);
        self.buffers.each(arguments, |buffer, is_root| {
            let is_sent = buffer.moves.ways(is_root) == [true, false];
            let start = arguments.word(buffer.place);
            // The last three addresses stand for something: MPI_IN_PLACE and others of MPICH. MPI_BOTTOM is 0.
            let is_constant = start != 0 && start < LOWEST || start >= u64::MAX - 2;
            let is_to_nobody = is_null(if is_sent { self.destination } else { self.source });
            if is_constant || is_to_nobody || buffer.bytes(arguments) == 0 {
                return;
            }
            let status = self.status.filter(|_| !is_sent).and_then(|place| arguments.address(place));
            let received = status.and_then(|status| mpi.received(status));
            tell(buffer.place, is_sent, Pieces::of(buffer, arguments).unwrap_or_default(), received);
        });
    }
}

impl Pieces {
    /// Where the elements of a buffer lie; `None` if that is not known.
    fn of(buffer: &Buffer, arguments: &CallArguments) -> Option<Pieces> {
        let (mpi, address) = (arguments.mpi, arguments.word(buffer.place));
        let mut pieces = Vec::new();
        buffer.each_run(arguments, |run| {
            let size = arguments.type_size(run.datatype);
            let piece = |start, elements, datatype, size| Piece { start, elements, datatype, size, is_held: false };
            // MPI_BOTTOM: the datatype has the addresses. MPICH does not pack from there (its MPI_Pack refuses a null pointer).
            pieces.push(if address == 0 {
                let first = mpi.place_of_bytes(run.datatype, size);
                let first = first.filter(|_| run.displacement.is_none() && run.elements == 1);
                first.map(|first| piece(first, size, mpi.byte, 1))
            } else {
                let distance = run.displacement.unwrap_or(0);
                let step = if run.is_in_bytes || distance == 0 { Some(1) } else { mpi.extent(run.datatype) };
                let start = step.map(|step| address.wrapping_add_signed(distance.wrapping_mul(step)));
                start.map(|start| piece(start, run.elements, run.datatype, size))
            });
        });
        pieces.into_iter().collect::<Option<_>>().map(Pieces)
    }

    /// Keeps the datatypes: the program may free its own before the buffer is read.
    pub(crate) fn hold(&mut self, mpi: &Mpi) {
        for piece in self.0.iter_mut().filter(|piece| !mpi.is_predefined(piece.datatype)) {
            match mpi.hold(piece.datatype) {
                Some(held) => (piece.datatype, piece.is_held) = (held, true),
                None => piece.size = 0,
            }
        }
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

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(mpi) = mpi::get().filter(|_| self.is_held) {
            mpi.release(self.datatype);
        }
    }
}

impl Piece {
    fn pack(&self, elements: u64, mpi: &Mpi, hasher: &mut DefaultHasher) -> Option<()> {
        let at_once = (PACKED / self.size).clamp(1, elements.max(1));
        let (room, mut packed) = (usize::try_from(at_once.checked_mul(self.size)?).ok()?, Vec::new());
        packed.try_reserve_exact(room).ok()?;
        packed.resize(room, 0);
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
