//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool phdr: ok calls=1
/* phdr: asks dl_iterate_phdr which objects are loaded.
 *
 * Hazard: from another namespace glibc lists that namespace only. A tool that looks for the program (build id,
 * load address), for the MPI library or for itself must find each of them, the program first and nothing twice.
 *
 * Build: mpicc -shared -fPIC -O2 phdr.c -o phdr.so */
#define _GNU_SOURCE
#include "verdict.h"
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

static int objects, program_at = -1, self, mpi, libc;

static int contains(const struct dl_phdr_info *info, const void *address)
{
    uintptr_t a = (uintptr_t)address;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && a - info->dlpi_addr - p->p_vaddr < p->p_memsz)
            return 1;
    }
    return 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    if (contains(info, (void *)getauxval(AT_PHDR)))
        program_at = program_at < 0 ? objects : 1000;
    self += contains(info, &objects);
    mpi += strstr(info->dlpi_name, "libmpi.so") || strstr(info->dlpi_name, "libmpich.so");
    libc += strstr(info->dlpi_name, "libc.so") != NULL;
    objects++;
    return 0;
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    dl_iterate_phdr(visit, NULL);
    if (program_at != 0)
        fail("the program is object %d of %d", program_at, objects);
    if (self != 1 || mpi != 1 || libc != 1)
        fail("listed: the tool %d times, MPI %d times, libc %d times", self, mpi, libc);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("phdr", rank, "");
    return PMPI_Finalize();
}
