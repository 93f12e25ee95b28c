//# role: companion
/* A program that uses sessions: SESSIONS_WAY says how many, one after the other or overlapping, and where the program calls MPI_Init
 * itself, if at all; or a child ends while a session is open. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int wrong;

static void expect(int is_right, const char *what) {
    if (!is_right) {
        printf("wrong: %s\n", what);
        wrong++;
    }
}

static MPI_Session begin(void) {
    MPI_Session session;
    expect(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, "MPI_Session_init");
    return session;
}

/* Two collective operations of all processes. */
static void work(MPI_Session session, const char *tag) {
    MPI_Group group;
    MPI_Comm all;
    int rank, size, sum = 0, one = 1;
    expect(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS, "the group");
    expect(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &all) == MPI_SUCCESS, "the communicator");
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Barrier(all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    expect(sum == size, "the sum");
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
}

static void end(MPI_Session session) {
    expect(MPI_Session_finalize(&session) == MPI_SUCCESS, "MPI_Session_finalize");
}

static void is_initialized(int wanted) {
    int flag = -1;
    MPI_Initialized(&flag);
    expect(flag == wanted, wanted ? "MPI_Initialized says no" : "MPI_Initialized says yes");
}

static void init(int *argc, char ***argv) {
    int provided = -1;
    expect(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS, "MPI_Init_thread");
    expect(provided >= MPI_THREAD_FUNNELED, "the level of thread support");
    is_initialized(1);
}

int main(int argc, char **argv) {
    const char *way = getenv("SESSIONS_WAY") ? getenv("SESSIONS_WAY") : "one";
    int has_init = 0;
    if (!strcmp(way, "init_before")) {
        MPI_Init(&argc, &argv);
        has_init = 1;
    }
    is_initialized(has_init);
    MPI_Session first = begin();
    is_initialized(has_init);
    work(first, "first");
    if (!strcmp(way, "fork")) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            exit(0);
        expect(waitpid(child, &status, 0) == child && status == 0, "the child");
    }
    if (!strcmp(way, "init_between")) {
        init(&argc, &argv);
        has_init = 1;
    }
    if (!strcmp(way, "overlapping")) {
        MPI_Session second = begin();
        work(second, "second");
        end(first);
        work(second, "third");
        end(second);
    } else {
        if (strcmp(way, "open"))
            end(first);
        if (!strcmp(way, "sequential")) {
            MPI_Session second = begin();
            is_initialized(0);
            work(second, "second");
            end(second);
        }
        if (!strcmp(way, "init_after")) {
            init(&argc, &argv);
            has_init = 1;
        }
    }
    if (has_init) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    }
    printf("%s: %d wrong\n", way, wrong);
    return wrong != 0;
}
