//! A buffer that is read later: pieces that were worked out when the call was made. Datatypes may have been freed when it is complete.
#![expect(unsafe_code, reason = "memory from the kernel")]

use std::hash::{DefaultHasher, Hasher};
use std::ptr;

use crate::trace::datatypes::{Datatypes, Memory, Piece};

/// The pieces. All of one buffer, in their order; none: there is nothing to be read.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    first: Piece,
    count: usize,
    /// Where there is more than one piece: all but the first.
    others: Option<Memory>,
    room: usize,
    /// The last datatype with gaps, as the program knows it, and the handle that was made of it.
    last: Option<(u64, u64)>,
}

impl Plan {
    /// For at most so many pieces.
    pub(crate) fn with_room(pieces: u64) -> Option<Plan> {
        let room = usize::try_from(pieces.saturating_sub(1)).ok()?;
        let others = match room {
            0 => None,
            room => Some(Memory::map(room.checked_mul(size_of::<Piece>())?)?),
        };
        Some(Plan { others, room, ..Plan::default() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a piece, whose datatype stays until [`Plan::release`].
    pub(crate) fn add(&mut self, mut piece: Piece, datatypes: &Datatypes) -> Option<()> {
        if let Some(gaps) = &mut piece.datatype {
            let held = match self.last {
                Some((known, held)) if known == gaps.datatype => held,
                _ => datatypes.hold(gaps.datatype)?,
            };
            self.last = Some((gaps.datatype, held));
            gaps.datatype = held;
        }
        match self.count {
            0 => self.first = piece,
            count if count <= self.room => {
                let place = self.other(count - 1)?;
                // SAFETY: there is room for it.
                unsafe { place.write(piece) };
            }
            _ => return None,
        }
        self.count += 1;
        Some(())
    }

    fn other(&self, place: usize) -> Option<*mut Piece> {
        let start = self.others.as_ref()?.address();
        Some(ptr::with_exposed_provenance_mut(start + place * size_of::<Piece>()))
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let others = (1..self.count).filter_map(|place| {
            let piece = self.other(place - 1)?;
            // SAFETY: `add` has written it.
            Some(unsafe { piece.read() })
        });
        (self.count > 0).then_some(self.first).into_iter().chain(others)
    }

    /// Reads all of it, or as much as was received; `None` if it cannot be read, or there is nothing.
    pub(crate) fn read(&self, received: Option<u64>, is_touched: bool, datatypes: &Datatypes) -> Option<(u64, u64)> {
        let mut hasher = DefaultHasher::new();
        let (mut sum, mut left) = (0_u64, received.unwrap_or(u64::MAX));
        for piece in self.pieces() {
            if left == 0 {
                break;
            }
            let bytes = datatypes.read(&piece, left, is_touched || received.is_some(), &mut hasher)?;
            sum = sum.wrapping_add(bytes);
            left = left.saturating_sub(bytes);
        }
        (sum > 0).then(|| (sum, hasher.finish()))
    }

    /// Gives up what it holds.
    pub(crate) fn release(&mut self, datatypes: &Datatypes) {
        let mut before = None;
        for piece in self.pieces() {
            let Some(gaps) = piece.datatype else { continue };
            // One handle for as many pieces as there are with the datatype one after the other.
            if before != Some(gaps.datatype) {
                datatypes.release(gaps.datatype);
            }
            before = Some(gaps.datatype);
        }
        *self = Plan::default();
    }
}
