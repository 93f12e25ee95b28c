//! What a function does that an MPI has as a macro only (MPI 2.6.4).

use crate::id::FnId;
use crate::macros::{OF_MPICH, OF_OPENMPI};
use crate::mpi_family::MpiFamily;

/// What such a macro stands for. All compute on one machine word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expression {
    /// The value of its one argument: conversions of handles that are the same integers in C and Fortran.
    Argument,
    /// Its first argument plus its second.
    Sum,
    /// Its first argument minus its second.
    Difference,
}

impl Expression {
    /// What the headers of these MPI libraries make of the function, if they have it as a macro only.
    pub fn of(id: FnId, family: MpiFamily) -> Option<Self> {
        let list: &[(u16, Self)] = match family {
            MpiFamily::Mpich => &OF_MPICH,
            MpiFamily::OpenMpi => &OF_OPENMPI,
            MpiFamily::StandardAbi => &[],
        };
        list.iter().find(|(row, _)| usize::from(*row) == id.index()).map(|(_, expression)| *expression)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> FnId {
        FnId::by_name(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn of_each_vendor() {
        assert_eq!(Expression::of(id("MPI_Comm_c2f"), MpiFamily::Mpich), Some(Expression::Argument));
        assert_eq!(Expression::of(id("MPI_Session_f2c"), MpiFamily::Mpich), Some(Expression::Argument));
        assert_eq!(Expression::of(id("MPI_File_c2f"), MpiFamily::Mpich), None);
        assert_eq!(Expression::of(id("MPI_Aint_add"), MpiFamily::Mpich), None);
        assert_eq!(Expression::of(id("MPI_Aint_add"), MpiFamily::OpenMpi), Some(Expression::Sum));
        assert_eq!(Expression::of(id("MPI_Aint_diff"), MpiFamily::OpenMpi), Some(Expression::Difference));
        assert_eq!(Expression::of(id("MPI_Comm_c2f"), MpiFamily::OpenMpi), None);
    }
}
