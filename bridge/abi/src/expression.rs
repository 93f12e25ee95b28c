//! What a function does that an MPI has as a macro only (MPI 2.6.4).

use crate::id::FnId;
use crate::macros::{OF_MPICH, OF_OPENMPI};

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
    /// What the headers of MPICH and its relatives make of the function, if they have it as a macro only.
    pub fn of_mpich(id: FnId) -> Option<Self> {
        find(&OF_MPICH, id)
    }

    /// The same of Open MPI and its relatives.
    pub fn of_openmpi(id: FnId) -> Option<Self> {
        find(&OF_OPENMPI, id)
    }
}

fn find(list: &[(u16, Expression)], id: FnId) -> Option<Expression> {
    list.iter().find(|(row, _)| usize::from(*row) == id.index()).map(|(_, expression)| *expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> FnId {
        FnId::by_name(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn of_each_vendor() {
        assert_eq!(Expression::of_mpich(id("MPI_Comm_c2f")), Some(Expression::Argument));
        assert_eq!(Expression::of_mpich(id("MPI_Session_f2c")), Some(Expression::Argument));
        assert_eq!(Expression::of_mpich(id("MPI_File_c2f")), None);
        assert_eq!(Expression::of_mpich(id("MPI_Aint_add")), None);
        assert_eq!(Expression::of_openmpi(id("MPI_Aint_add")), Some(Expression::Sum));
        assert_eq!(Expression::of_openmpi(id("MPI_Aint_diff")), Some(Expression::Difference));
        assert_eq!(Expression::of_openmpi(id("MPI_Comm_c2f")), None);
    }
}
