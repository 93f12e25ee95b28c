//! What constants are in each MPI: `constants.tsv`, generated from the headers of MPI libraries.

use crate::mpi_family::MpiFamily;

const TABLE: &str = include_str!("../constants.tsv");

/// A constant, and what it is in each MPI.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// The kind of parameters that it is a value of (`parameters.tsv`).
    pub kind: &'static str,
    /// Its name in `mpi.h`.
    pub name: &'static str,
    cells: [&'static str; 3],
}

impl Constant {
    /// All constants.
    pub fn all() -> impl Iterator<Item = Constant> {
        TABLE.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(|line| {
            let mut cells = line.split('\t');
            let mut next = || cells.next();
            Some(Constant { kind: next()?, name: next()?, cells: [next()?, next()?, next()?] })
        })
    }

    /// What it is in these MPI libraries: numbers in decimal, `&` and the name of a variable of the library, or `-`. Where releases differ,
    /// there are several, the oldest first.
    pub fn values(&self, family: MpiFamily) -> impl Iterator<Item = &'static str> {
        self.cells[family as usize].split('|')
    }

    /// The numbers that the constants of these names are, in one pass through the table.
    pub fn numbers<const N: usize>(names: [&str; N], family: MpiFamily) -> [Option<i32>; N] {
        let mut numbers = [None; N];
        for constant in Constant::all() {
            if let Some(place) = names.iter().position(|name| *name == constant.name) {
                numbers[place] = constant.values(family).next().and_then(|value| value.parse().ok());
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_mpi() {
        let number = |name, family| Constant::numbers([name], family)[0];
        assert_eq!(MpiFamily::ALL.map(|(family, _)| number("MPI_CART", family)), [Some(2), Some(1), Some(211)]);
        assert_eq!(number("MPI_BUFFER_AUTOMATIC", MpiFamily::OpenMpi), None);
        assert_eq!(number("MPI_COMM_WORLD", MpiFamily::OpenMpi), None, "an address");
        assert_eq!(Constant::numbers(["MPI_GRAPH", "MPI_CART"], MpiFamily::Mpich), [Some(1), Some(2)]);
    }
}
