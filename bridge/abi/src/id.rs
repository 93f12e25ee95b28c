//! The number of a function, stable for ever.

use crate::function::Function;
use crate::table::{BY_FORTRAN, COUNT, FUNCTIONS};

/// The number of an MPI function: its row in `functions.tsv`.
///
/// Only values below [`COUNT`] exist, so an array of that length can be indexed without a check that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FnId(u16);

impl FnId {
    /// The function in row `index`, or `None` past the end of the table.
    pub const fn from_index(index: usize) -> Option<Self> {
        // COUNT fits: the generator writes the indices below as u16.
        if index < COUNT { Some(Self(index as u16)) } else { None }
    }

    /// The row of the function, below [`COUNT`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The row itself.
    pub const fn function(self) -> &'static Function {
        &FUNCTIONS[self.index()]
    }

    /// The C name without the `P` of the profiling interface.
    pub fn name(self) -> &'static str {
        self.function().name
    }

    /// Every function, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone {
        // COUNT fits: the generator writes the indices below as u16.
        (0..COUNT as u16).map(Self)
    }

    /// The function with this C name (without `P`), in any letter case but its own not found.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::by_bytes(name.as_bytes())
    }

    /// The same for bytes that may be no text.
    pub(crate) fn by_bytes(name: &[u8]) -> Option<Self> {
        let mut place = place_of(name);
        loop {
            let row = BY_HASH[place];
            if FUNCTIONS.get(usize::from(row))?.name.as_bytes() == name {
                return Some(Self(row));
            }
            place = (place + 1) % PLACES;
        }
    }

    /// The function with this lower-case Fortran name, without underscores at its end.
    pub(crate) fn by_fortran(name: &[u8]) -> Option<Self> {
        let fortran = |row: u16| FUNCTIONS[usize::from(row)].fortran.map(str::as_bytes);
        let place = BY_FORTRAN.binary_search_by(|&row| fortran(row).cmp(&Some(name)));
        place.ok().map(|place| Self(BY_FORTRAN[place]))
    }
}

/// The functions that initialize MPI: `MPI_Init`, `MPI_Init_thread`, and `MPI_Session_init` of the Sessions Model (MPI 4.0, 11.2, 11.3).
///
/// Numbers of the build: a library that compares with them has no table of names.
pub const INITIALIZATION: [FnId; 3] = [named(b"MPI_Init"), named(b"MPI_Init_thread"), named(b"MPI_Session_init")];

/// `MPI_Abort`.
pub const ABORT: FnId = named(b"MPI_Abort");

/// The function of this name; a build fails for a name that is not in the table.
pub const fn named(name: &[u8]) -> FnId {
    let mut place = place_of(name);
    while BY_HASH[place] != u16::MAX {
        if is_same(FUNCTIONS[BY_HASH[place] as usize].name.as_bytes(), name) {
            return FnId(BY_HASH[place]);
        }
        place = (place + 1) % PLACES;
    }
    panic!("no function of functions.tsv has this name")
}

const fn is_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([a, behind_a @ ..], [b, behind_b @ ..]) = (left, right) {
        if *a != *b {
            return false;
        }
        (left, right) = (behind_a, behind_b);
    }
    left.is_empty() && right.is_empty()
}

/// Places for rows in [`BY_HASH`]: at least half of them are free.
const PLACES: usize = (2 * COUNT).next_power_of_two();

/// Rows by the hash of their C names; the next place where one is taken, and a number of no row in free ones. Start-up looks up the
/// names of thousands of symbols.
static BY_HASH: [u16; PLACES] = {
    let mut table = [u16::MAX; PLACES];
    let mut row = 0;
    while row < COUNT {
        let mut place = place_of(FUNCTIONS[row].name.as_bytes());
        while table[place] != u16::MAX {
            place = (place + 1) % PLACES;
        }
        // COUNT fits: the generator writes the indices above as u16.
        table[place] = row as u16;
        row += 1;
    }
    table
};

/// Where the search for a name begins: by what follows its `MPI_`, its end and its length, which tell names of the table apart as well as
/// all their bytes do, in a tenth of the time.
const fn place_of(name: &[u8]) -> usize {
    /// 2^64 divided by the golden ratio: spreads a number over the bits above it.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let behind_prefix = match name {
        [_, _, _, _, rest @ ..] => first_word(rest),
        _ => 0,
    };
    let end = match name.last_chunk() {
        Some(end) => u64::from_le_bytes(*end),
        None => 0,
    };
    let number = behind_prefix.wrapping_mul(SPREAD).wrapping_add(end).wrapping_add(name.len() as u64);
    (number.wrapping_mul(SPREAD) >> (u64::BITS - PLACES.trailing_zeros())) as usize
}

/// The first eight bytes of a text, or as many as there are.
const fn first_word(text: &[u8]) -> u64 {
    if let Some(word) = text.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    let (mut word, mut rest) = (0, text);
    while let [before @ .., byte] = rest {
        word = word << u8::BITS | *byte as u64;
        rest = before;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_row() {
        for id in FnId::all() {
            assert_eq!(FnId::by_name(id.name()), Some(id), "{}", id.name());
            assert_eq!(FnId::from_index(id.index()), Some(id));
            if let Some(fortran) = id.function().fortran {
                assert_eq!(FnId::by_fortran(fortran.as_bytes()), Some(id), "{fortran}");
            }
        }
        assert_eq!(FnId::all().len(), COUNT);
    }

    /// A search looks at one or two names.
    #[test]
    fn few_names_begin_at_one_place() {
        let mut rows = [0_u8; PLACES];
        FnId::all().for_each(|id| rows[place_of(id.name().as_bytes())] += 1);
        assert!(rows.iter().all(|count| *count <= 4));
        assert!(rows.iter().filter(|count| **count > 0).count() > COUNT * 3 / 4);
    }

    #[test]
    fn functions_that_initialize_mpi() {
        assert_eq!(INITIALIZATION.map(FnId::name), ["MPI_Init", "MPI_Init_thread", "MPI_Session_init"]);
    }

    #[test]
    fn names_outside_the_table_are_not_found() {
        for name in ["", "MPI_", "MPI_send", "PMPI_Send", "MPI_Sendx", "zzz"] {
            assert_eq!(FnId::by_name(name), None, "{name}");
        }
        assert_eq!(FnId::by_bytes(b"MPI_Sen\xff"), None);
        assert_eq!(FnId::from_index(COUNT), None);
        assert_eq!(FnId::from_index(usize::MAX), None);
    }
}
