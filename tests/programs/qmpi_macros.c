//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
//# libs: -ldl
/* qmpi_macros: what an mpi.h has as a macro only is there as QMPI_f and works: MPICH's conversions of handles, Open MPI's arithmetic
 * of addresses. Compiled as a program it is linked with libqmpi.so; as a library it is a QMPI tool that asks what comes next. */
#include <dlfcn.h>
#include <mpi.h>
#include <qmpi.h>
#include <qmpix.h>
#include <stdint.h>
#include <stdio.h>

static int right, wrong;

static void check(int line, int is_right)
{
    right += is_right;
    wrong += !is_right;
    if (!is_right) {
        printf("macros: line %d is wrong\n", line);
    }
}
#define CHECK(condition) check(__LINE__, (condition) != 0)

/* There and back, beside what mpi.h itself makes of it; `handle` is one that MPI knows. */
#define CONVERT(name, type, handle)                                                                                       \
    do {                                                                                                                  \
        type in_c = (handle);                                                                                             \
        MPI_Fint in_fortran = QMPI_##name##_c2f(context, 0, in_c);                                                        \
        CHECK(in_fortran == MPI_##name##_c2f(in_c));                                                                      \
        CHECK(QMPI_##name##_f2c(context, 0, in_fortran) == in_c);                                                         \
        CHECK(QMPI_##name##_f2c(context, 0, in_fortran) == MPI_##name##_f2c(in_fortran));                                 \
    } while (0)

static void check_all(void)
{
    QMPI_Context context = { 0 };
    MPI_Group group;
    MPI_Request request;
    char text[8];
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Recv_init(text, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &request);
    CONVERT(Comm, MPI_Comm, MPI_COMM_WORLD);
    CONVERT(Type, MPI_Datatype, MPI_DOUBLE);
    CONVERT(Group, MPI_Group, group);
    CONVERT(Info, MPI_Info, MPI_INFO_NULL);
    CONVERT(Request, MPI_Request, request);
    CONVERT(Op, MPI_Op, MPI_SUM);
    CONVERT(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
    CONVERT(Win, MPI_Win, MPI_WIN_NULL);
    CONVERT(Message, MPI_Message, MPI_MESSAGE_NO_PROC);
    CONVERT(File, MPI_File, MPI_FILE_NULL);
#if MPI_VERSION >= 4
    CONVERT(Session, MPI_Session, MPI_SESSION_NULL);
#endif
    const MPI_Aint addresses[] = { 0, 1, -1, INTPTR_MAX, INTPTR_MIN + 1, (MPI_Aint)(intptr_t)text };
    for (unsigned i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        CHECK(QMPI_Aint_add(context, 0, addresses[i], -3) == (MPI_Aint)((uintptr_t)addresses[i] - 3));
        CHECK(QMPI_Aint_diff(context, 0, addresses[i], 5) == (MPI_Aint)((uintptr_t)addresses[i] - 5));
    }
    MPI_Request_free(&request);
    MPI_Group_free(&group);
}

/* What QMPI_Get_function and a table say of such a function is the same function, with the id of the MPI library. */
static void ask(int tool, QMPI_Context context)
{
    QMPI_Comm_c2f_t *c2f, *by_name;
    QMPI_Aint_diff_t *diff;
    QMPIX_Table table;
    int id = -1;
    CHECK(QMPI_Get_function(tool, MPI_COMM_C2F_T, (void (**)(void))&c2f, &id) == MPI_SUCCESS);
    CHECK(id == 0 && c2f(context, id, MPI_COMM_WORLD) == MPI_Comm_c2f(MPI_COMM_WORLD));
    CHECK(QMPIX_Get_function_by_name(tool, "MPI_Comm_c2f", (void (**)(void))&by_name, &id) == MPI_SUCCESS);
    CHECK(id == 0 && by_name == c2f);
    id = -1;
    CHECK(QMPI_Get_function(tool, MPI_AINT_DIFF_T, (void (**)(void))&diff, &id) == MPI_SUCCESS);
    CHECK(id == 0 && diff(context, id, 40, 50) == -10);
    CHECK(QMPIX_Table_next(tool, &table) == MPI_SUCCESS);
    CHECK(QMPIX_Table_query_name(table, "MPI_Comm_c2f", (void (**)(void))&by_name, &id) == MPI_SUCCESS && by_name == c2f);
    CHECK(QMPIX_Table_destroy(&table) == MPI_SUCCESS);
    /* C functions of the same names are still found where they are without libqmpi.so, and nowhere else. */
#ifdef MPI_Comm_c2f
    CHECK(dlsym(RTLD_DEFAULT, "MPI_Comm_c2f") == NULL && dlsym(RTLD_DEFAULT, "PMPI_Comm_c2f") == NULL);
#endif
#ifdef MPI_Aint_diff
    CHECK(dlsym(RTLD_DEFAULT, "MPI_Aint_diff") == NULL && dlsym(RTLD_DEFAULT, "PMPI_Aint_diff") == NULL);
#endif
}

static int my_Barrier(QMPI_Context context, int id, MPI_Comm comm)
{
    QMPI_Barrier_t *next;
    int next_id;
    ask(id, context);
    check_all();
    printf("macros %d: %d right, %d wrong\n", id, right, wrong);
    right = 0;
    QMPI_Get_function(id, MPI_BARRIER_T, (void (**)(void))&next, &next_id);
    return next(context, next_id, comm);
}

static void init(int id)
{
    QMPI_Register_function(id, MPI_BARRIER_T, (void (*)(void))my_Barrier);
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("macros", init);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_all();
    printf("program: %d right, %d wrong\n", right, wrong);
    right = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    fputs("done\n", stdout);
    return 0;
}
