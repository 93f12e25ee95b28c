//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* slides_example: the example of the Forum's slides of September 2021 (pages 15 to 19), as printed. Where it cannot be:
 *
 *     struct tool_struct, Example_Send, Example_Recv     are used and not declared; they are here, before their use
 *     calloc(0, sizeof(struct tool_struct))              no room for what is written next: calloc(1, ...)
 *     next_tool_id                                       is used and not declared
 *     ...                                                stands for the arguments of MPI_Send
 *
 * "Do things" counts; a destructor prints what was counted. */
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>
#include <stdlib.h>

static int sends, recvs;

struct tool_struct {
    int my_tool_id;
};

int Example_Send(void *context, int tool_id, const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int Example_Recv(void *context, int tool_id, void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Status *status);
void example_init_function_pointer(int tool_id);

__attribute__((constructor))
void register_my_tool() {
    MPI_Register_tool_name("example", &example_init_function_pointer);
}

void example_init_function_pointer(int tool_id) {
    struct tool_struct * my_tool_struct = calloc(1, sizeof(struct tool_struct));
    my_tool_struct->my_tool_id = tool_id;
    MPI_Register_tool_storage(tool_id, my_tool_struct);
    MPI_Register_function(tool_id, MPI_SEND_T, (void (*)(void)) &Example_Send);
    MPI_Register_function(tool_id, MPI_RECV_T, (void (*)(void)) &Example_Recv);
}

int Example_Send(void *context, int tool_id, const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    MPI_Send_t *next_fn;
    int next_tool_id;
    /* ...do things... */
    sends++;
    MPI_Get_function(tool_id, MPI_SEND_T, (void (**)(void)) &next_fn, &next_tool_id);
    return (*next_fn)(context, next_tool_id, buf, count, datatype, dest, tag, comm);
}

/* The same for MPI_Recv, and what page 14 prints: MPI_Get_tool_storage and MPI_Get_calling_address. */
int Example_Recv(void *context, int tool_id, void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Status *status) {
    MPI_Recv_t *next_fn;
    int next_tool_id;
    struct tool_struct *storage;
    void *address;
    MPI_Get_tool_storage(context, tool_id, &storage);
    MPI_Get_calling_address(context, &address);
    recvs += storage->my_tool_id == tool_id && address != NULL;
    MPI_Get_next_tool_function(tool_id, MPI_RECV_T, (void (**)(void)) &next_fn, &next_tool_id);
    return (*next_fn)(context, next_tool_id, buf, count, datatype, source, tag, comm, status);
}

__attribute__((destructor)) static void report(void)
{
    if (sends + recvs > 0)
        printf("example: %d sends, %d receives\n", sends, recvs);
}
