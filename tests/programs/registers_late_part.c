//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* registers_late_part: what registers_late_fortran.f90 calls: a QMPI tool that it registers in its main program. */
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>

static int my_Init(QMPI_Context context, int id, int *argc, char ***argv)
{
    QMPI_Init_t *next;
    int next_id;
    QMPI_Get_function(id, MPI_INIT_T, (void (**)(void))&next, &next_id);
    fputs("tool: MPI_Init\n", stdout);
    fflush(stdout);
    return next(context, next_id, argc, argv);
}

static int my_Allreduce(QMPI_Context context, int id, const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm)
{
    QMPI_Allreduce_t *next;
    int next_id;
    QMPI_Get_function(id, MPI_ALLREDUCE_T, (void (**)(void))&next, &next_id);
    printf("tool: MPI_Allreduce, in place %d\n", from == MPI_IN_PLACE);
    fflush(stdout);
    return next(context, next_id, from, to, count, type, op, comm);
}

static void init(int id)
{
    QMPI_Register_function(id, MPI_INIT_T, (void (*)(void))my_Init);
    QMPI_Register_function(id, MPI_ALLREDUCE_T, (void (*)(void))my_Allreduce);
}

void register_late_(void)
{
    printf("registered %d\n", QMPI_Register_tool_name("late", init));
    fflush(stdout);
}
