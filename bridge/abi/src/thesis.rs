//! The 2018 thesis's enumeration of functions: the numbers that tools of its prototype mean functions by.
//!
//! `numbering/thesis.txt` is the table, with the rule behind it; it is read while this crate compiles.

use crate::id::{FnId, named};

/// A name per line, in the order of the numbers from 0 on; lines that begin with `#` are comments.
const TEXT: &str = include_str!("../numbering/thesis.txt");

/// How many functions it has: `NUM_MPI_FUNCS`.
pub const COUNT: usize = 360;

/// By number, the function's row in the table.
static ROWS: [u16; COUNT] = read(TEXT.as_bytes());

/// By row, the function's number; [`NONE`] for the others.
static NUMBERS: [u16; crate::COUNT] = {
    let mut numbers = [NONE; crate::COUNT];
    let mut number = 0;
    while number < COUNT {
        // COUNT fits.
        numbers[ROWS[number] as usize] = number as u16;
        number += 1;
    }
    numbers
};

const NONE: u16 = u16::MAX;

/// The function of this number.
pub const fn function(index: usize) -> Option<FnId> {
    if index < COUNT { FnId::from_index(ROWS[index] as usize) } else { None }
}

/// The number of this function; `None` if the thesis's table has no place for it.
pub fn index(id: FnId) -> Option<usize> {
    let number = NUMBERS[id.index()];
    (number != NONE).then_some(usize::from(number))
}

/// Reads the table. What is wrong in it is an error of the compiler.
const fn read(text: &[u8]) -> [u16; COUNT] {
    let mut rows = [NONE; COUNT];
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        let mut end = at;
        while text[end] != b'\n' {
            end += 1;
        }
        if text[at] != b'#' {
            rows[count] = named(text.split_at(end).0.split_at(at).1).index() as u16;
            count += 1;
        }
        at = end + 1;
    }
    assert!(count == COUNT, "there are not COUNT names");
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    /// Appendix 7.1 as it is printed: name, number, separated by blanks.
    const PRINTED: &str = include_str!("../tests/thesis-appendix.txt");
    /// What is misprinted there: number, what stands there, what must stand there.
    const MISPRINTS: [(usize, &str, &str); 6] = [
        (84, "MPI_File_get_atomicsity", "MPI_File_get_atomicity"),
        (120, "MPI_File_set_atomicsity", "MPI_File_set_atomicity"),
        (180, "MPI_Ibcast", "MPI_Ibsend"),
        (183, "MPI_Igather", "MPI_Igatherv"),
        (184, "MPI_Iprobe", "MPI_Improbe"),
        (185, "MPI_Irecv", "MPI_Imrecv"),
    ];

    fn name(index: usize) -> &'static str {
        function(index).map_or("", FnId::name)
    }

    #[test]
    fn every_number_of_the_appendix_agrees() {
        let mut seen = [false; COUNT];
        for entry in PRINTED.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace) {
            let (printed, number) = entry.split_once('=').unwrap_or_else(|| panic!("{entry}"));
            let number: usize = number.parse().unwrap_or_else(|error| panic!("{entry}: {error}"));
            let printed = printed.strip_prefix('_').unwrap_or_else(|| panic!("{entry}"));
            match MISPRINTS.iter().find(|(index, _, _)| *index == number) {
                Some((_, wrong, right)) => assert_eq!((printed, name(number)), (*wrong, *right)),
                None => assert_eq!(name(number), printed, "{number}"),
            }
            assert!(!std::mem::replace(&mut seen[number], true), "{number} stands there twice");
        }
        assert!(seen.iter().all(|seen| *seen), "{COUNT} entries");
    }

    /// The rule that stands above the table explains all of it.
    #[test]
    fn the_rule() {
        let left_out = ["MPI_Aint_add", "MPI_Aint_diff", "MPI_Comm_spawn", "MPI_Comm_spawn_multiple"];
        let converts = |name: &str| {
            ["_c2f", "_f2c", "_c2f08", "_f082c", "_f082f", "_f2f08"].iter().any(|ending| name.ends_with(ending))
        };
        let is_in = |id: &FnId| {
            let function = id.function();
            matches!(function.origin, Origin::Standard(major, minor) if (major, minor) <= (3, 1))
                && !converts(function.name)
                && !function.name.starts_with("MPI_T_")
                && !left_out.contains(&function.name)
        };
        let mut expected: Vec<&str> = FnId::all().filter(is_in).map(FnId::name).collect();
        expected.sort_unstable();
        let table: Vec<&str> = (0..COUNT).map(name).collect();
        assert_eq!(table, expected);
    }

    #[test]
    fn there_and_back() {
        for number in 0..COUNT {
            assert_eq!(function(number).and_then(index), Some(number));
        }
        assert_eq!((function(COUNT), function(usize::MAX)), (None, None));
        assert_eq!(FnId::all().filter(|id| index(*id).is_some()).count(), COUNT);
        assert_eq!(FnId::by_name("MPI_Comm_spawn").and_then(index), None);
    }

    /// The header for tools has the same numbers.
    #[test]
    fn the_header_agrees() {
        let header = include_str!("../../include/qmpi_thesis.h");
        let enumerators = header.lines().filter_map(|line| {
            let (name, number) = line.trim().strip_prefix("_MPI_")?.strip_suffix(',')?.split_once(" = ")?;
            Some((format!("MPI_{name}"), number.parse().ok()?))
        });
        let expected = (0..COUNT).map(|number| (name(number).to_owned(), number));
        assert_eq!(enumerators.collect::<Vec<(String, usize)>>(), expected.collect::<Vec<_>>());
        assert!(header.contains(&format!("#define NUM_MPI_FUNCS {COUNT}\n")));
    }
}
