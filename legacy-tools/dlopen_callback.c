//# lang: c
//# mpi: both
//# companion: plugin_callback.c
//# cflags: -Wl,--enable-new-dtags,-rpath,$ORIGIN
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool dlopen_callback: ok calls=1
/* dlopen_callback: opens a plugin that calls back into the tool by name.
 *
 * Hazard: a preloaded tool is in the global scope, so its plugins need not be linked with it: an undefined
 * tool_callback in the plugin binds to the tool, an undefined PMPI_Get_version to MPI. Where the tool is loaded
 * as a local object, the dynamic linker does not look into it when it binds the plugin.
 *
 * Build: cc -shared -fPIC -O2 plugin_callback.c -o plugin_callback.so
 *        mpicc -shared -fPIC -O2 dlopen_callback.c -o dlopen_callback.so -Wl,-rpath,'$ORIGIN' -ldl */
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>

static int called_back;

int tool_callback(int n);
int tool_callback(int n)
{
    called_back++;
    return 2 * n;
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    void *plugin = dlopen("plugin_callback.so", RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fail("dlopen: %s", dlerror());
    } else {
        int (*run)(void) = (int (*)(void))dlsym(plugin, "plugin_run");
        if (!run || run() != 42 + MPI_VERSION || called_back != 1)
            fail("the plugin did not call back");
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("dlopen_callback", rank, "");
    return PMPI_Finalize();
}
