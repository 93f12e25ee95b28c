//# role: companion
//# lang: c
//# mpi: both
//# libs: -lpthread
/* A tool with a thread that has a lock most of the time, and a thread that makes the tool's calls: what a wrapper takes is what it waits for
 * them. */
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, work = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static pthread_t holder, worker;
static volatile int is_over;
static enum { NOTHING, BARRIER, END } task;
static MPI_Comm in;

static void *hold(void *unused)
{
    while (!is_over) {
        pthread_mutex_lock(&lock);
        usleep(500);
        pthread_mutex_unlock(&lock);
        usleep(50);
    }
    return unused;
}

static void *do_work(void *unused)
{
    pthread_mutex_lock(&work);
    while (task != END) {
        if (task == BARRIER) {
            PMPI_Barrier(in);
            task = NOTHING;
            pthread_cond_signal(&answered);
        }
        pthread_cond_wait(&asked, &work);
    }
    pthread_mutex_unlock(&work);
    return unused;
}

int MPI_Init(int *argc, char ***argv)
{
    int provided, result = PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&holder, NULL, hold, NULL);
    pthread_create(&worker, NULL, do_work, NULL);
    return result;
}

int MPI_Barrier(MPI_Comm comm)
{
    pthread_mutex_lock(&work);
    in = comm;
    task = BARRIER;
    pthread_cond_signal(&asked);
    while (task != NOTHING)
        pthread_cond_wait(&answered, &work);
    pthread_mutex_unlock(&work);
    return MPI_SUCCESS;
}

int MPI_Type_size(MPI_Datatype type, int *size)
{
#ifdef WAITS
    pthread_mutex_lock(&lock);
    usleep(20);
    pthread_mutex_unlock(&lock);
#endif
    return PMPI_Type_size(type, size);
}

int MPI_Finalize(void)
{
    is_over = 1;
    pthread_mutex_lock(&work);
    task = END;
    pthread_cond_signal(&asked);
    pthread_mutex_unlock(&work);
    pthread_join(holder, NULL);
    pthread_join(worker, NULL);
    return PMPI_Finalize();
}
