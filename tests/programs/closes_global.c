//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl -Wl,-rpath,$ORIGIN
/* closes_global: a tool that opens a plugin (legacy-tools/plugin_global.c) with RTLD_GLOBAL in MPI_Init, and closes it in MPI_Barrier. */
#include <dlfcn.h>
#include <mpi.h>

static void *plugin;

int MPI_Init(int *argc, char ***argv)
{
    plugin = dlopen("plugin_global.so", RTLD_NOW | RTLD_GLOBAL);
    return PMPI_Init(argc, argv);
}

int MPI_Barrier(MPI_Comm comm)
{
    if (plugin)
        dlclose(plugin);
    return PMPI_Barrier(comm);
}
