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
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        // COUNT fits: the generator writes the indices below as u16.
        if index < COUNT { Some(Self(index as u16)) } else { None }
    }

    /// The row of the function, below [`COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The row itself.
    #[must_use]
    pub fn function(self) -> &'static Function {
        &FUNCTIONS[self.index()]
    }

    /// The C name without the `P` of the profiling interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.function().name
    }

    /// Every function, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone {
        // COUNT fits: the generator writes the indices below as u16.
        (0..COUNT as u16).map(Self)
    }

    /// The function with this C name (without `P`), in any letter case but its own not found.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let mut place = place_of(name.as_bytes());
        loop {
            let row = BY_HASH[place];
            if FUNCTIONS.get(usize::from(row))?.name == name {
                return Some(Self(row));
            }
            place = (place + 1) % PLACES;
        }
    }

    /// The function with this lower-case Fortran name, without underscores at its end.
    pub(crate) fn by_fortran(name: &str) -> Option<Self> {
        let place = BY_FORTRAN.binary_search_by(|&row| FUNCTIONS[usize::from(row)].fortran.cmp(&Some(name)));
        place.ok().map(|place| Self(BY_FORTRAN[place]))
    }
}

/// The functions that initialize MPI: `MPI_Init`, `MPI_Init_thread`, and `MPI_Session_init` of the Sessions Model (MPI 4.0, 11.2, 11.3).
///
/// Numbers of the build: a library that compares with them has no table of names.
pub const INITIALIZATION: [FnId; 3] = [row_of("MPI_Init"), row_of("MPI_Init_thread"), row_of("MPI_Session_init")];

/// `MPI_Abort`.
pub const ABORT: FnId = row_of("MPI_Abort");

/// The function of this name; a build fails for a name that is not in the table.
const fn row_of(name: &str) -> FnId {
    let mut row = 0;
    while row < COUNT {
        if is_same(FUNCTIONS[row].name.as_bytes(), name.as_bytes()) {
            // COUNT fits: the generator writes the indices above as u16.
            return FnId(row as u16);
        }
        row += 1;
    }
    panic!("no such function")
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

/// Where the search for a name begins.
const fn place_of(name: &[u8]) -> usize {
    let (mut hash, mut rest) = (0_u32, name);
    while let [byte, behind @ ..] = rest {
        hash = hash.wrapping_mul(33).wrapping_add(*byte as u32);
        rest = behind;
    }
    hash as usize % PLACES
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
                assert_eq!(FnId::by_fortran(fortran), Some(id), "{fortran}");
            }
        }
        assert_eq!(FnId::all().len(), COUNT);
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
        assert_eq!(FnId::from_index(COUNT), None);
        assert_eq!(FnId::from_index(usize::MAX), None);
    }
}
