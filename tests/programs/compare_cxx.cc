//# role: companion
//# lang: c++
//# mpi: both
// A PMPI tool of one function that the compiler of C++ links with MPI's library for C++: as that is loaded it asks whether MPI is initialized.
#include <mpi.h>

extern "C" int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }
