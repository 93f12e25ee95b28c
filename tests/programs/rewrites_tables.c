//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* rewrites_tables: a tool as those that are made with GOTCHA. It has no wrapper under the name of a function of MPI; its constructor goes
 * through the objects of the process, as the debugger's list has them, and puts its own function into each slot of MPI_Barrier. Says at the
 * end how many calls came:
 *
 *     rewrites_tables: 1 calls
 *
 * `gotcha_wrap` is the function by which such a tool is known. With -DAS_LAYER it has a wrapper besides, and so can be a layer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int calls;
static int (*next)(MPI_Comm);

static int wrapper(MPI_Comm c)
{
    calls++;
    return next(c);
}

static void put(void **slot)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)slot & ~(size - 1);
    mprotect((void *)page, size, PROT_READ | PROT_WRITE);
    *slot = (void *)wrapper;
}

static void rewrite(const struct link_map *map)
{
    const ElfW(Rela) *slots = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t size = 0;
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_JMPREL)
            slots = (const ElfW(Rela) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_PLTRELSZ)
            size = entry->d_un.d_val;
        else if (entry->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRTAB)
            names = (const char *)entry->d_un.d_ptr;
    }
    for (size_t i = 0; slots && symbols && names && i < size / sizeof *slots; i++)
        if (strcmp(names + symbols[ELF64_R_SYM(slots[i].r_info)].st_name, "MPI_Barrier") == 0)
            put((void **)(map->l_addr + slots[i].r_offset));
}

int gotcha_wrap(void);

int gotcha_wrap(void)
{
    next = (int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "MPI_Barrier");
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        rewrite(map);
    return 0;
}

#ifdef AS_LAYER
int MPI_Abort(MPI_Comm c, int code) { return PMPI_Abort(c, code); }
#endif

__attribute__((constructor)) static void start(void) { gotcha_wrap(); }

__attribute__((destructor)) static void report(void) { printf("rewrites_tables: %d calls\n", calls); }
