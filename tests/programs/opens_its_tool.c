//# lang: c
//# companion: counting_binding.c
/* opens_its_tool TOOL LINK BINDING: asks a tool, which is there already, for its counts in all ways that lead to it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static void ask(const char *how, void *handle, const char *name)
{
    int (*barriers)(void) = (int (*)(void)) dlsym(handle, name);
    if (barriers)
        printf("%s: %d\n", how, barriers());
    else
        printf("%s: not found\n", how);
}

static void open_and_ask(const char *how, const char *file, int mode, const char *name)
{
    void *handle = dlopen(file, mode);
    if (!handle) {
        printf("%s: %s\n", how, dlerror());
        return;
    }
    ask(how, handle, name);
    dlclose(handle);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int call = 0; call < 3; call++)
        MPI_Barrier(MPI_COMM_WORLD);
    ask("before", RTLD_DEFAULT, "counting_api_barriers");
    if (argc > 3) {
        open_and_ask("needed", argv[3], RTLD_NOW, "counting_binding_barriers");
        open_and_ask("there", argv[1], RTLD_LAZY | RTLD_NOLOAD, "counting_api_barriers");
        open_and_ask("path", argv[1], RTLD_LAZY, "counting_api_barriers");
        open_and_ask("link", argv[2], RTLD_NOW, "counting_api_barriers");
        open_and_ask("soname", "libcounting_api.so.1", RTLD_NOW, "counting_api_barriers");
        open_and_ask("again", argv[1], RTLD_LAZY, "counting_api_barriers");
    }
    ask("after", RTLD_DEFAULT, "counting_api_barriers");
    MPI_Finalize();
    return 0;
}
