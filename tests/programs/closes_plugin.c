//# role: companion
//# lang: c
//# mpi: both
//# companion: closed_plugin.c
//# libs: -Wl,-rpath,$ORIGIN
/* closes_plugin: a tool that opens and closes a plugin with exit handlers, and leaves it open at last. */
#include "../../legacy-tools/verdict.h"
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

static int closed;

static void on_close(void) { closed++; }

static void *opened(void)
{
    void *plugin = dlopen("closed_plugin.so", RTLD_NOW);
    void (*call)(void (*)(void)) = plugin ? (void (*)(void (*)(void)))dlsym(plugin, "plugin_calls") : NULL;
    if (call)
        call(on_close);
    else
        fail("%s", dlerror());
    return plugin;
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    for (int times = 1; times <= 100 && !verdict_failure[0]; times++) {
        dlclose(opened());
        if (closed != 2 * times)
            fail("%d handlers in %d times", closed, times);
    }
    return PMPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    count_call();
    opened();
    return PMPI_Finalize();
}

__attribute__((destructor)) static void end(void)
{
    int rank = -1, initialized = 0;
    PMPI_Initialized(&initialized);
    if (!initialized)
        return;
    rank = getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK")
               ? atoi(getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK"))
               : 0;
    /* Both handlers of the plugin that was left open. */
    if (closed != 202)
        fail("%d handlers at the end", closed);
    verdict("closes_plugin", rank, "");
}
