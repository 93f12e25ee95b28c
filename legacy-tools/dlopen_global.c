//# lang: c
//# mpi: both
//# companion: plugin_global.c
//# cflags: -Wl,--enable-new-dtags,-rpath,$ORIGIN
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool dlopen_global: ok calls=1
/* dlopen_global: opens a plugin from its constructor and makes its symbols global.
 *
 * Hazard: RTLD_GLOBAL from another namespace than the base crashes in every glibc up to 2.43. Yet afterwards
 * dlsym(RTLD_DEFAULT, ...) must find the plugin's functions, and must not before. The plugin has no slash in
 * its name: it is found through this object's RUNPATH, so the dynamic linker must see which object called dlopen.
 *
 * Build: cc -shared -fPIC -O2 plugin_global.c -o plugin_global.so
 *        mpicc -shared -fPIC -O2 dlopen_global.c -o dlopen_global.so -Wl,-rpath,'$ORIGIN' -ldl */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>

static const char *const plugin = "plugin_global.so";
static int (*plugin_fn)(int);

__attribute__((constructor)) static void open_plugin(void)
{
    void *local = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    if (!local) {
        fail("dlopen, RTLD_LOCAL: %s", dlerror());
        return;
    }
    if (!dlsym(local, "plugin_fn"))
        fail("dlsym on the plugin's handle: %s", dlerror());
    if (dlsym(RTLD_DEFAULT, "plugin_fn"))
        fail("RTLD_DEFAULT finds a symbol of an RTLD_LOCAL plugin");

    void *global = dlopen(plugin, RTLD_NOW | RTLD_GLOBAL);
    if (!global)
        fail("dlopen, RTLD_GLOBAL: %s", dlerror());
    else if (global != local)
        fail("the plugin was loaded twice");
    plugin_fn = (int (*)(int))dlsym(RTLD_DEFAULT, "plugin_fn");
    if (!plugin_fn)
        fail("RTLD_DEFAULT does not find a symbol of an RTLD_GLOBAL plugin");
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    if (plugin_fn && plugin_fn(20) != 21)
        fail("plugin_fn gives a wrong answer");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("dlopen_global", rank, "");
    return PMPI_Finalize();
}
