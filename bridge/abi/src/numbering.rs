//! Which number stands for which function: `enum QMPI_Functions_enum`, which is another one in every MPICH.

mod tables;

use crate::id::FnId;
use crate::table::COUNT;

/// An enumeration of functions, as a tool was compiled with it.
///
/// Beside its own numbers every numbering understands [`Numbering::BASE`] and what follows: `qmpi.h` gives these numbers
/// to functions that an MPICH has, but does not enumerate (all of `MPI_File_*` before MPICH 5.0), and to all functions where
/// a tool is compiled without QMPI in `mpi.h` but may meet an MPICH that has it (MPICH 3 headers, the standard ABI).
#[derive(Debug, PartialEq, Eq)]
pub struct Numbering {
    /// `mpich-4.0.2` after the oldest release that has it, `own`.
    pub name: &'static str,
    /// By number, the function's row in the table; a number that is none past its end.
    functions: &'static [u16],
}

/// A numbering, and the releases of MPICH that have it.
struct ReleasedNumbering {
    releases: &'static [(u8, u8, u8)],
    numbering: Numbering,
}

static ROWS: [u16; COUNT] = {
    let mut rows = [0; COUNT];
    let mut row = 0;
    while row < COUNT {
        // COUNT fits: the generator writes rows as u16.
        rows[row] = row as u16;
        row += 1;
    }
    rows
};

impl Numbering {
    /// The numbering of `qmpi.h`, in force where `mpi.h` has none: a function's number is its row.
    pub const OWN: &'static Self = &Self { name: "own", functions: &ROWS };

    /// What a number below [`Numbering::BASE`] means is unknown.
    pub const UNKNOWN: &'static Self = &Self { name: "unknown", functions: &[] };

    /// `QMPIX_FUNCTION_BASE` of `qmpi.h`: this plus a function's row means the function in every numbering.
    pub const BASE: i32 = 0x10000;

    /// The numbering of an MPICH release like `4.3.1`.
    ///
    /// Of an unknown release that of the nearest one with the same major and minor version, of two equally near ones the older;
    /// this is right for all releases from 4.0 to 5.0.2. `None` for another series, also for those before 4.0, which have no QMPI.
    /// What follows the numbers (`4.2.0rc1`) does not count.
    pub fn for_mpich(version: &str) -> Option<&'static Self> {
        let mut numbers = version.split('.').map(leading_number);
        let series = (numbers.next()??, numbers.next()??);
        nearest(series, numbers.next().flatten().unwrap_or(0))
    }

    /// The numbering of the release with this `MPICH_NUMVERSION`: 40302300 is 4.3.2. As for [`Numbering::for_mpich`].
    pub fn for_mpich_number(number: u32) -> Option<&'static Self> {
        let (major, minor, patch) = release(number);
        nearest((major, minor), patch)
    }

    /// The function that a tool means by `value`.
    pub fn function(&self, value: i32) -> Option<FnId> {
        if let Some(row) = value.checked_sub(Self::BASE).and_then(|row| usize::try_from(row).ok()) {
            return FnId::from_index(row);
        }
        let row = self.functions.get(usize::try_from(value).ok()?)?;
        FnId::from_index(usize::from(*row))
    }

    /// The number of the function in the enumeration itself. Searches: not for the path of a call.
    pub fn value(&self, id: FnId) -> Option<i32> {
        let place = self.functions.iter().position(|row| usize::from(*row) == id.index())?;
        i32::try_from(place).ok()
    }

    /// One more than the last number: `MPI_LAST_FUNC_T`.
    #[expect(clippy::len_without_is_empty, reason = "none but the unknown one is empty")]
    pub fn len(&self) -> usize {
        self.functions.len()
    }
}

/// Major and minor version and patch level of an `MPICH_NUMVERSION`: one or two digits, two and two; three more say which
/// pre-release it is.
pub fn release(number: u32) -> (u32, u32, u32) {
    (number / 10_000_000, number / 100_000 % 100, number / 1000 % 100)
}

/// The numbering of the known release of a series that is nearest to `patch`.
fn nearest(series: (u32, u32), patch: u32) -> Option<&'static Numbering> {
    let known = tables::KNOWN.iter().flat_map(|known| known.releases.iter().map(move |release| (release, known)));
    known
        .filter(|((major, minor, _), _)| (u32::from(*major), u32::from(*minor)) == series)
        .min_by_key(|((_, _, known), _)| u32::from(*known).abs_diff(patch))
        .map(|(_, known)| &known.numbering)
}

/// 2 of `2rc1`.
fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(version: &str) -> Option<&'static str> {
        Numbering::for_mpich(version).map(|numbering| numbering.name)
    }

    fn id(name: &str) -> FnId {
        FnId::by_name(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn releases_find_their_numbering() {
        for (version, expected) in [
            ("4.0.2", "mpich-4.0.2"),
            ("4.0.3", "mpich-4.0.3"),
            ("4.0", "mpich-4.0.2"),
            ("4.0.1", "mpich-4.0.2"),
            ("4.0.9", "mpich-4.0.3"),
            ("4.1.1", "mpich-4.1.3"),
            ("4.2.0rc1", "mpich-4.2.1"),
            ("4.2.2", "mpich-4.2.1"),
            ("4.2.3", "mpich-4.2.3"),
            ("4.2.4", "mpich-4.2.3"),
            ("4.3.2", "mpich-4.3.1"),
            ("5.0.1.post1", "mpich-5.0.0"),
            ("5.0b1", "mpich-5.0.0"),
        ] {
            assert_eq!(name(version), Some(expected), "{version}");
        }
        for version in ["3.4.3", "5.1.0", "6.0", "4", "", "x", "4.x", "99999999999.0"] {
            assert_eq!(name(version), None, "{version}");
        }
    }

    #[test]
    fn releases_by_number() {
        let name = |number| Numbering::for_mpich_number(number).map(|numbering| numbering.name);
        assert_eq!(name(40_002_300), Some("mpich-4.0.2"));
        assert_eq!(name(40_302_300), Some("mpich-4.3.1"));
        // 5.0.0b1
        assert_eq!(name(50_000_101), Some("mpich-5.0.0"));
        for number in [0, 30_403_300, 50_100_300, u32::MAX] {
            assert_eq!(name(number), None, "{number}");
        }
        assert_eq!(release(100_213_300), (10, 2, 13));
    }

    #[test]
    fn what_is_unknown() {
        assert_eq!(Numbering::UNKNOWN.function(0), None);
        assert_eq!(Numbering::UNKNOWN.function(Numbering::BASE), FnId::from_index(0));
    }

    #[test]
    fn numbers_lead_to_functions_and_back() {
        for numbering in tables::KNOWN.iter().map(|known| &known.numbering).chain([Numbering::OWN]) {
            let mut seen = 0;
            for value in 0..i32::try_from(numbering.len()).unwrap_or(0) {
                if let Some(id) = numbering.function(value) {
                    assert_eq!(numbering.value(id), Some(value), "{} in {}", id.name(), numbering.name);
                    seen += 1;
                }
            }
            assert!(seen > 500, "{}", numbering.name);
            for value in [-1, i32::MIN, i32::MAX, Numbering::BASE - 1, i32::try_from(numbering.len()).unwrap_or(0)] {
                assert_eq!(numbering.function(value), None, "{value} in {}", numbering.name);
            }
            for id in FnId::all() {
                let value = Numbering::BASE + i32::try_from(id.index()).unwrap_or(-1);
                assert_eq!(numbering.function(value), Some(id));
            }
        }
        assert_eq!(Numbering::OWN.len(), COUNT);
        assert_eq!(Numbering::OWN.value(id("MPI_Send")), i32::try_from(id("MPI_Send").index()).ok());
    }

    #[test]
    fn facts_of_the_headers() {
        let of = |version| Numbering::for_mpich(version).unwrap_or_else(|| panic!("{version}"));
        assert_eq!(of("4.0.2").function(0), Some(id("MPI_Attr_delete")));
        assert_eq!(of("5.0.0").function(0), Some(id("MPI_Abi_get_fortran_booleans")));
        assert_eq!((of("4.0.2").len(), of("4.0.3").len(), of("5.0.0").len()), (541, 542, 758));
        assert_eq!(of("4.0.2").value(id("MPI_File_open")), None);
        assert!(of("5.0.0").value(id("MPI_File_open")).is_some());
    }
}
