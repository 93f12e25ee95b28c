//# lang: c++
//# mpi: both
//# libs: -lpthread
//# ranks: 1
//# args: callback
//# expect-stdout: unwinding: callback: ended as expected, 1 destructor
//# args: cancel
//# expect-stdout: unwinding: cancel: ended as expected, 1 destructor
//# args: exit
//# expect-stdout: unwinding: exit: ended as expected, 1 destructor
//# args: handler
//# expect-stdout: unwinding: handler: ended as expected, 1 destructor
/* Ways in which a call of MPI ends without returning: a thread is cancelled or exits in a callback, the program's error handler or
 * reduction throws, or a tool does. Each time an object on the stack below MPI's frames has to be destroyed.
 *
 *   cancel     pthread_cancel of a thread whose reduction is at a cancellation point, inside of MPI_Reduce_local
 *   exit       pthread_exit in that reduction
 *   handler    an error handler throws, inside of MPI_Send
 *   callback   the reduction throws
 *   thrown     the tool unwinding_tool throws an exception of the standard library
 *   own        the tool throws a class of its own, derived from one of the standard library
 *   tool_exit  the tool calls pthread_exit */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static std::atomic<int> destructors, inside;
static std::string mode;

struct Object {
    ~Object() { destructors++; }
};

extern "C" void reduction(void *, void *, int *, MPI_Datatype *)
{
    if (mode == "exit")
        pthread_exit(&inside);
    if (mode == "callback")
        throw std::runtime_error("from the reduction");
    inside = 1;
    while (mode == "cancel")
        usleep(1000);
}

extern "C" void handler(MPI_Comm *, int *, ...) { throw std::runtime_error("from the error handler"); }

static void reduce()
{
    MPI_Op op;
    int in = 1, inout = 2;
    MPI_Op_create(reduction, 1, &op);
    Object object;
    MPI_Reduce_local(&in, &inout, 1, MPI_INT, op);
}

static void name(const char *text)
{
    Object object;
    MPI_Comm_set_name(MPI_COMM_SELF, text);
}

static void *thread(void *)
{
    if (mode == "tool_exit")
        name("pthread_exit");
    else
        reduce();
    return nullptr;
}

static bool ended_as_expected()
{
    if (mode == "cancel" || mode == "exit" || mode == "tool_exit") {
        pthread_t id;
        void *result = nullptr;
        pthread_create(&id, nullptr, thread, nullptr);
        while (mode == "cancel" && !inside)
            usleep(1000);
        if (mode == "cancel")
            pthread_cancel(id);
        pthread_join(id, &result);
        return mode == "cancel" ? result == PTHREAD_CANCELED : result != nullptr;
    }
    try {
        if (mode == "handler") {
            MPI_Errhandler errhandler;
            int number = 0;
            MPI_Comm_create_errhandler(handler, &errhandler);
            MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
            Object object;
            MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_SELF);
        } else if (mode == "callback") {
            reduce();
        } else {
            name(mode == "own" ? "throw own" : "throw");
        }
    } catch (const std::runtime_error &error) {
        std::printf("unwinding: caught: %s\n", error.what());
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    int provided;
    mode = argc > 1 ? argv[1] : "callback";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    bool expected = ended_as_expected();
    std::printf("unwinding: %s: %s, %d destructor%s\n", mode.c_str(), expected ? "ended as expected" : "did not end as expected",
                destructors.load(), destructors == 1 ? "" : "s");
    std::fflush(stdout);
    MPI_Finalize();
    return 0;
}
