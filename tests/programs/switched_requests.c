//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: switched_requests: done
/* Switches layer 2 off and on between the start of requests and their completion, and says what that layer has to see. Where there is
 * no such layer nothing is switched. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern int QMPIX_Tool_enable(int tool_id) __attribute__((weak));
extern int QMPIX_Tool_disable(int tool_id) __attribute__((weak));
extern int QMPIX_Tool_is_enabled(int tool_id, int *flag) __attribute__((weak));

static int is_on = 1, can_switch;
static unsigned random_state = 1;
static MPI_Comm comm;

/* What the layer sees. */
static int starts, waits, waitalls, tests, plain, objects, persistent, startalls, frees, statuses;

static void set(int on)
{
    int flag = !on;
    if (!can_switch)
        return;
    is_on = on;
    if ((on ? QMPIX_Tool_enable(2) : QMPIX_Tool_disable(2)) != MPI_SUCCESS)
        abort();
    if (QMPIX_Tool_is_enabled(2, &flag) != MPI_SUCCESS || flag != on)
        abort();
}

static int chance(void)
{
    random_state = random_state * 1103515245 + 12345;
    return random_state >> 16 & 1;
}

/* A message to this process: two requests, and whether the layer saw how each started. */
struct message {
    MPI_Request requests[2];
    int seen[2], in, out;
};

static void receive(struct message *m)
{
    m->in = 0;
    MPI_Irecv(&m->in, 1, MPI_INT, 0, 5, comm, &m->requests[0]);
    starts += m->seen[0] = is_on;
}

static void begin_send(struct message *m)
{
    m->out = 42;
    MPI_Isend(&m->out, 1, MPI_INT, 0, 5, comm, &m->requests[1]);
    starts += m->seen[1] = is_on;
}

static void wait_each(struct message *m)
{
    for (int i = 0; i < 2; i++) {
        int flag, done = 0;
        MPI_Request_get_status(m->requests[i], &flag, MPI_STATUS_IGNORE);
        statuses += m->seen[i];
        if (chance()) {
            MPI_Wait(&m->requests[i], MPI_STATUS_IGNORE);
            waits += m->seen[i];
        } else {
            while (!done) {
                MPI_Test(&m->requests[i], &done, MPI_STATUS_IGNORE);
                tests += m->seen[i];
            }
        }
    }
}

static void wait_all(struct message *m)
{
    MPI_Request all[3] = { m->requests[0], MPI_REQUEST_NULL, m->requests[1] };
    MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
    waitalls += m->seen[0] || m->seen[1];
    if (all[0] != MPI_REQUEST_NULL || all[2] != MPI_REQUEST_NULL || m->in != 42)
        abort();
}

static void persistent_message(int at_first)
{
    MPI_Request all[2];
    int in = 0, out = 7;
    set(at_first);
    MPI_Recv_init(&in, 1, MPI_INT, 0, 6, comm, &all[0]);
    MPI_Send_init(&out, 1, MPI_INT, 0, 6, comm, &all[1]);
    persistent += 2 * is_on;
    for (int i = 0; i < 6; i++) {
        set(chance());
        MPI_Startall(2, all);
        startalls += at_first || !can_switch;
        set(chance());
        MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
        waitalls += at_first || !can_switch;
    }
    set(!at_first);
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&all[i]);
        frees += at_first || !can_switch;
    }
    if (in != 7)
        abort();
}

int main(int argc, char **argv)
{
    struct message m;
    int rank;
    MPI_Init(&argc, &argv);
    can_switch = QMPIX_Tool_disable && QMPIX_Tool_disable(2) == MPI_SUCCESS;
    set(0);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    objects++;
    for (int i = 0; i < 2000; i++) {
        set(chance());
        receive(&m);
        set(chance());
        begin_send(&m);
        set(chance());
        if (chance())
            wait_each(&m);
        else
            wait_all(&m);
        set(chance());
        MPI_Comm_rank(comm, &rank);
        plain += is_on;
    }
    persistent_message(1);
    persistent_message(0);
    for (int on = 0; on < 2; on++) {
        MPI_Request none = MPI_REQUEST_NULL;
        set(on);
        MPI_Wait(&none, MPI_STATUS_IGNORE);
        waits += is_on;
        MPI_Waitall(1, &none, MPI_STATUSES_IGNORE);
        waitalls += is_on;
    }
    set(0);
    MPI_Comm_free(&comm);
    objects++;
    if (can_switch)
        printf("expected: starts=%d waits=%d waitalls=%d tests=%d plain=%d objects=%d persistent=%d startalls=%d frees=%d "
               "statuses=%d\n",
               starts, waits, waitalls, tests, plain, objects, persistent, startalls, frees, statuses);
    fputs("switched_requests: done\n", stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
