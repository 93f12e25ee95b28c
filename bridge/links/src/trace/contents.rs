//! What is in the buffers of a call, as a hash: for comparisons, and only where it was asked for.
//!
//! Buffers are looked at when the call has succeeded. Then MPI has found the arguments right, what it sends is still there as it was sent, and
//! what it receives has come. What comes later is left to the call that completes it (`pending.rs`): its pieces are worked out at once, as
//! arguments, datatypes and the communicator may be gone by then.

use std::hash::{DefaultHasher, Hasher};

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Kind, Parameter};

use crate::bytes::rules::{Amount, Buffer, Counts, Moves};
use crate::bytes::{Arguments, Bytes, Settings};
use crate::probe::Recorder;
use crate::trace::datatypes::{Datatypes, Piece};
use crate::trace::pending::Object;
use crate::trace::plan::Plan;

/// Addresses below are constants that stand for something, but for `MPI_BOTTOM`, which is 0.
const LOWEST: u64 = 4096;

/// How the buffers of a function are read.
#[derive(Debug)]
pub(crate) struct Contents {
    bytes: &'static Bytes,
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

/// A buffer's bytes and their hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    /// Which argument.
    pub(crate) place: u8,
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
}

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
pub(crate) enum Found {
    /// What is in it.
    Now(Content),
    /// It is received later, or received or sent when the persistent request is started.
    Later {
        /// Which argument.
        place: u8,
        is_sent: bool,
        plan: Plan,
    },
}

impl Contents {
    /// Of a function that is called with so many words before its arguments; `None`: nothing is known of its buffers.
    pub(crate) fn of(function: FnId, leading: u8) -> Option<Contents> {
        let persistent = Bytes::of_persistent(function, leading);
        let bytes = persistent.or_else(|| Bytes::of(function, leading))?;
        let parameters = function.parameters();
        let place = |found: &dyn Fn(&Parameter) -> bool| parameters.iter().position(found).map(|place| place as u8);
        let of = |kind: Kind| place(&|parameter| parameter.kind == kind);
        let request = place(&|parameter| parameter.kind == Kind::Request && parameter.direction == Direction::Out);
        let begins = ["_begin", "_begin_c"].iter().any(|end| function.name().ends_with(end));
        let later = match (request, of(Kind::Window), of(Kind::File)) {
            (Some(request), ..) => Some((Object::Request, request)),
            (None, Some(window), _) => Some((Object::Window, window)),
            (None, None, Some(file)) if begins => Some((Object::File, file)),
            _ => None,
        };
        let rank =
            |name: &'static str| place(&move |parameter| parameter.kind == Kind::Rank && parameter.name() == name);
        let target = rank("target_rank");
        Some(Contents {
            bytes,
            later,
            is_persistent: persistent.is_some(),
            status: place(&|parameter| parameter.kind == Kind::Status && parameter.direction == Direction::Out),
            has_status_later: rank("source").is_some() || of(Kind::Message).is_some() || of(Kind::File).is_some(),
            source: rank("source").or(target),
            destination: rank("dest").or(target),
            target,
        })
    }

    /// How many there are at most.
    pub(crate) fn most(&self) -> usize {
        self.bytes.buffers.len()
    }

    /// Tells what is in each buffer of a call that has succeeded.
    pub(crate) fn each(
        &self,
        arguments: &Arguments<'_>,
        recorder: &Recorder,
        datatypes: &Datatypes,
        when: When,
        mut tell: impl FnMut(Found),
    ) {
        let Some(settings) = crate::bytes::settings() else { return };
        let is_null =
            |rank: Option<u8>| rank.is_some_and(|rank| arguments.word(rank) as i32 == settings.questions.proc_null);
        self.bytes.each(arguments, recorder, settings, |buffer, is_root, amount| {
            let is_sent = buffer.moves == Moves::Out || buffer.moves == Moves::FromRoot && is_root;
            let start = arguments.word(buffer.place);
            // The last three addresses stand for something: MPI_IN_PLACE and others of MPICH.
            let is_constant = start != 0 && start < LOWEST || start >= u64::MAX - 2;
            if amount == 0 || is_constant || is_null(if is_sent { self.destination } else { self.source }) {
                return;
            }
            let call = Call { buffer, amount, arguments, recorder, settings, datatypes, bytes: self.bytes };
            let when = if is_sent && !self.is_persistent { When::Now } else { when };
            match when {
                When::Now if !self.is_persistent => {}
                When::Later => {
                    return call.plan().into_iter().for_each(|plan| {
                        tell(Found::Later { place: buffer.place, is_sent, plan });
                    });
                }
                When::Now | When::Never => return,
            }
            // What was not received is what was there before, or nothing at all.
            let status = self.status.map(|place| arguments.word(place)).filter(|_| !is_sent);
            let received = status.filter(|status| (LOWEST..u64::MAX).contains(status));
            let received = received.and_then(|status| settings.statuses.bytes(status));
            // MPI does not write to all of the room that it has been given for a message.
            let is_touched = is_sent || self.status.is_none();
            if let Some((bytes, hash)) = call.read(received, is_touched) {
                tell(Found::Now(Content { place: buffer.place, bytes, hash }));
            }
        });
    }
}

/// A buffer of a call.
struct Call<'a> {
    buffer: &'a Buffer,
    amount: u64,
    arguments: &'a Arguments<'a>,
    recorder: &'a Recorder,
    settings: &'a Settings,
    datatypes: &'a Datatypes,
    bytes: &'a Bytes,
}

impl Call<'_> {
    /// How many pieces there are at most.
    fn count(&self) -> u64 {
        match &self.buffer.amount {
            Amount::Product(product) => match (product.counts, product.displacements) {
                (Counts::Array { length, .. }, Some(_)) => self.bytes.elements(length, self.arguments, self.settings),
                _ => 1,
            },
            Amount::Plain { .. } => 1,
        }
    }

    /// The pieces, one after the other; `None` if they are not known or were refused.
    fn pieces(&self, mut tell: impl FnMut(Piece) -> Option<()>) -> Option<()> {
        let start = self.arguments.word(self.buffer.place);
        // With MPI_BOTTOM the datatype has the addresses.
        let mut tell = |(piece, _): (Piece, i64)| {
            let first = piece.datatype.map_or(piece.start, |gaps| gaps.first_byte(piece.start));
            if first < LOWEST { None } else { tell(piece) }
        };
        let size = |datatype| self.settings.sizes.of(datatype, self.recorder);
        let product = match &self.buffer.amount {
            Amount::Plain { datatype, .. } => {
                let datatype = self.arguments.word(*datatype);
                let bytes = size(datatype);
                return tell(self.datatypes.piece(start, self.amount.checked_div(bytes)?, bytes, datatype)?);
            }
            Amount::Product(product) => product,
        };
        let array = match (product.counts, product.displacements) {
            (Counts::Array { place, is_int, .. }, Some(displacements)) => {
                Some((self.arguments.array(place, is_int), displacements))
            }
            _ => None,
        };
        let Some((counts, displacements)) = array else {
            if product.datatypes.is_some() {
                return None;
            }
            let datatype = self.arguments.word(product.datatype);
            let bytes = size(datatype);
            return tell(self.datatypes.piece(start, self.amount.checked_div(bytes)?, bytes, datatype)?);
        };
        let displacements = self.arguments.array(displacements.place, displacements.is_int);
        let types = product.datatypes.map(|place| self.arguments.handles(place, self.settings));
        for element in 0..self.count() {
            let (count, displacement) = (counts.number(element), displacements.signed(element));
            if count == 0 {
                continue;
            }
            let datatype = types.map_or(self.arguments.word(product.datatype), |types| types.word(element));
            let bytes = size(datatype);
            if bytes == 0 {
                continue;
            }
            let (mut piece, extent) = self.datatypes.piece(start, count, bytes, datatype)?;
            // Of bytes where each has its own datatype.
            let step = if types.is_some() { 1 } else { extent };
            piece.start = piece.start.wrapping_add_signed(displacement.wrapping_mul(step));
            tell((piece, extent))?;
        }
        Some(())
    }

    /// Reads all of it, or as much as was received: how many bytes that are, and their hash.
    fn read(&self, received: Option<u64>, is_touched: bool) -> Option<(u64, u64)> {
        let mut hasher = DefaultHasher::new();
        let (mut sum, left) = (0_u64, received.unwrap_or(u64::MAX));
        self.pieces(|piece| {
            if left > 0 {
                let bytes = self.datatypes.read(&piece, left, is_touched || received.is_some(), &mut hasher)?;
                sum = sum.wrapping_add(bytes);
            }
            Some(())
        })?;
        (sum > 0).then(|| (sum, hasher.finish()))
    }

    /// Notes the pieces for later.
    fn plan(&self) -> Option<Plan> {
        let mut plan = Plan::with_room(self.count())?;
        let is_whole = self.pieces(|piece| plan.add(piece, self.datatypes)).is_some();
        if is_whole && !plan.is_empty() {
            return Some(plan);
        }
        plan.release(self.datatypes);
        None
    }
}
