//! Functions that headers have as macros only: no library of such an MPI has them.
//!
//! @generated from headers and functions.tsv by `shim-gen macros`.

use crate::expression::Expression;
use crate::expression::Expression::{Argument, Difference, Sum};

/// Those of MPICH and its relatives, in the order of their numbers.
#[rustfmt::skip]
pub(crate) static OF_MPICH: [(u16, Expression); 20] = [
    (72, Argument), // MPI_Comm_c2f
    (87, Argument), // MPI_Comm_f2c
    (122, Argument), // MPI_Errhandler_c2f
    (124, Argument), // MPI_Errhandler_f2c
    (262, Argument), // MPI_Group_c2f
    (266, Argument), // MPI_Group_f2c
    (315, Argument), // MPI_Info_c2f
    (320, Argument), // MPI_Info_f2c
    (365, Argument), // MPI_Message_c2f
    (366, Argument), // MPI_Message_f2c
    (392, Argument), // MPI_Op_c2f
    (396, Argument), // MPI_Op_f2c
    (446, Argument), // MPI_Request_c2f
    (447, Argument), // MPI_Request_f2c
    (487, Argument), // MPI_Session_c2f
    (492, Argument), // MPI_Session_f2c
    (584, Argument), // MPI_Type_c2f
    (611, Argument), // MPI_Type_f2c
    (658, Argument), // MPI_Win_c2f
    (668, Argument), // MPI_Win_f2c
];

/// Those of Open MPI and its relatives, in the order of their numbers.
#[rustfmt::skip]
pub(crate) static OF_OPENMPI: [(u16, Expression); 2] = [
    (13, Sum), // MPI_Aint_add
    (14, Difference), // MPI_Aint_diff
];
