//# role: companion
//# kind: thesis
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* thesis_misuse: calls the functions of qmpi_thesis.h with what they cannot use, and says how many did what they should.
 *
 *     THESIS_MISUSE=call     calls what QMPI_Table_query gives for a function that does not exist
 *     THESIS_MISUSE=wrapper  names a wrapper that does not exist */
#include <mpi.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qmpi_thesis.h"

static int wants(const char *what)
{
    const char *text = getenv("THESIS_MISUSE");
    return text && strcmp(text, what) == 0;
}

char *get_interceptions(int i)
{
    if (i == _MPI_Send && wants("wrapper"))
        return "Misuse_Send";
    return i == _MPI_Barrier ? "Misuse_Barrier" : "";
}

int Misuse_Barrier(MPI_Comm comm, int i, vector *v)
{
    static const int levels[] = { -1, 1000, INT_MIN, INT_MAX };
    int right = 0, value = 7;
    void *f = &value;
    for (int k = 0; k < 4; k++) {
        right += QMPI_Get_context(v, levels[k]) == NULL;
        right += QMPI_Get_level(levels[k], _MPI_Send, v) == -1;
        right += QMPI_Get_level(i, levels[k], v) == -1;
        right += QMPI_Table_query(levels[k], &f, (*VECTOR_GET(v, i)).table) == 1 && f;
        right += exec_func(f, levels[k], _MPI_Barrier, v, comm) != MPI_SUCCESS;
        right += exec_func(f, i, levels[k], v, comm) != MPI_SUCCESS;
        right += vector_get(v, levels[k]) == NULL;
        QMPI_Set_context(v, levels[k], &value, sizeof value);
    }
    if (wants("call"))
        ((int (*)(void))f)();
    right += QMPI_Table_query(_MPI_Send, NULL, (*VECTOR_GET(v, i)).table) == 1;
    right += QMPI_Table_query(_MPI_Send, &f, NULL) == 1;
    right += exec_func(NULL, i, _MPI_Barrier, v, comm) != MPI_SUCCESS;
    right += QMPI_Get_context(NULL, i) == NULL && QMPI_Get_level(i, _MPI_Barrier, NULL) == -1;
    right += vector_total(NULL) == 0 && vector_get(NULL, 0) == NULL;
    QMPI_Set_context(NULL, i, &value, sizeof value);
    QMPI_Set_context(v, i, &value, sizeof value);
    right += *(int *)QMPI_GET_CONTEXT(v, i) == 7;
    /* What the structs say. */
    right += strstr(VECTOR_GET(v, i)->path, "thesis_misuse") != NULL && VECTOR_GET(v, i)->handle != NULL;
    right += strcmp(VECTOR_GET(v, i)->mpi_interceptions[_MPI_Barrier], "Misuse_Barrier") == 0;
    right += strcmp(VECTOR_GET(v, i)->mpi_interceptions[_MPI_Send], "NULL") == 0;
    right += QMPI_Table_query(_MPI_Barrier, &f, (*VECTOR_GET(v, i)).table) == 0;
    printf("thesis_misuse: %d of 38 right\n", right);
    return exec_func(f, i, _MPI_Barrier, v, comm);
}
