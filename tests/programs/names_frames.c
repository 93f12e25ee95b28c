//# role: companion
//# lang: c
//# mpi: both
//# links: names_frames_part.c
//# cflags: -rdynamic -fno-optimize-sibling-calls -Wl,-rpath,$ORIGIN
//# libs: -ldl
/* names_frames: a program that asks the C library what code of a tool (names_frames_tool.c) is called: a frame between MPI_Reduce_local and
 * the operation that MPI calls in it, and a function that it looks up. For each it prints
 *
 *     frame: dladdr names_frames_tool.so MPI_Reduce_local
 *     frame: dladdr1 names_frames_tool.so symbol 1
 *     frame: backtrace_symbols names_frames_tool.so(MPI_Reduce_local
 *     frame: dl_iterate_phdr names_frames_tool.so
 *     frame: dl_iterate_phdr of a library names_frames_tool.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *names_frames_listed(void *address);

/* The same in the program itself. */
#define names_frames_listed listed_to_program
#include "names_frames_part.c"
#undef names_frames_listed

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void ask(const char *what, void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr(address, &info) || !strstr(info.dli_fname, "names_frames_tool"))
        return;
    printf("%s: dladdr %s %s\n", what, file_of(info.dli_fname), info.dli_sname ? info.dli_sname : "nothing");
    dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP);
    dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT);
    printf("%s: dladdr1 %s symbol %d\n", what, map ? file_of(map->l_name) : "nothing", symbol != NULL);
    char **text = backtrace_symbols(&address, 1);
    if (text)
        printf("%s: backtrace_symbols %.*s\n", what, (int)strcspn(file_of(text[0]), "+"), file_of(text[0]));
    free(text);
    printf("%s: dl_iterate_phdr %s\n", what, listed_to_program(address));
    printf("%s: dl_iterate_phdr of a library %s\n", what, names_frames_listed(address));
}

static void operation(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    void *frames[64];
    int depth = backtrace(frames, 64);
    (void)in, (void)inout, (void)length, (void)datatype;
    for (int i = 0; i < depth; i++)
        ask("frame", frames[i]);
}

int main(int argc, char **argv)
{
    int one = 1, two = 2;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Op_create(operation, 1, &op);
    MPI_Reduce_local(&one, &two, 1, MPI_INT, op);
    MPI_Op_free(&op);
    void *function = dlsym(RTLD_DEFAULT, "names_frames_tool");
    if (function)
        ask("function", function);
    MPI_Finalize();
    return 0;
}
