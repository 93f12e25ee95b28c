//# lang: c
//# mpi: both
//# companion: versioned_part.c
//# companion: versioned_part_2.c
//# companion: versioned_names.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
//# ranks: 1
//# expect-stdout: versioned: received 7
/* Sends one message to itself. This program's reference to MPI_Send asks for no version; that of versioned_1.c, versioned_2.c and
 * versioned_3.c for one. With the argument `dlsym` MPI_Send is looked up, with `dlvsym VERSION` in this version; with `pointer` it is called
 * by way of a pointer that was initialized; with `part LIBRARY` a library calls it, which is opened for that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifdef ASKS_FOR
__asm__(".symver MPI_Send, MPI_Send@" ASKS_FOR);
#endif

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static send_function *volatile pointer = MPI_Send;

int main(int argc, char **argv)
{
    int number = 7, received = 0;
    MPI_Request request;
    send_function *looked_up = NULL;
    MPI_Init(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "dlvsym") == 0)
        looked_up = (send_function *)dlvsym(RTLD_DEFAULT, "MPI_Send", argv[2]);
    else if (argc > 1 && strcmp(argv[1], "dlsym") == 0)
        looked_up = (send_function *)dlsym(RTLD_DEFAULT, "MPI_Send");
    else if (argc > 1 && strcmp(argv[1], "pointer") == 0)
        looked_up = pointer;
    else if (argc > 2 && strcmp(argv[1], "part") == 0)
        looked_up = (send_function *)dlsym(dlopen(argv[2], RTLD_NOW), "versioned_part");
    MPI_Irecv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    if (looked_up)
        looked_up(&number, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    else
        MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("versioned: received %d\n", received);
    if (argc > 1)
        printf("versioned: %s\n", looked_up ? "found" : "not found");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
