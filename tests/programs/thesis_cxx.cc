//# role: companion
//# kind: thesis
//# lang: c++
//# mpi: both
//# cflags: -I../bridge/include -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
/* thesis_cxx: a tool of the thesis's prototype in C++, which names a function by its number as some of the thesis's do. */
#include <cstdio>
#include <mpi.h>

#include "qmpi_thesis.h"

static char wrapper[] = "X_Barrier", none[] = "NULL";

extern "C" char *get_interceptions(int i) { return i == _MPI_Barrier ? wrapper : none; }

extern "C" int X_Barrier(MPI_Comm comm, int i, vector *v)
{
    void *f = NULL;
    QMPI_TABLE_QUERY(16, &f, (*VECTOR_GET(v, i)).table);
    std::fputs("X_Barrier\n", stdout);
    return EXEC_FUNC(f, i, 16, v, comm);
}
