//# role: companion
//# lang: c
//# needs-mpi: no
/* names_frames_part: the file of the object that has an address, as dl_iterate_phdr lists objects to the caller. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <string.h>

struct search {
    uintptr_t address;
    const char *file;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && search->address - info->dlpi_addr - p->p_vaddr < p->p_memsz) {
            const char *slash = strrchr(info->dlpi_name, '/');
            search->file = slash ? slash + 1 : info->dlpi_name;
        }
    }
    return 0;
}

#ifdef REWRITES
#include <sys/mman.h>
/* Without this function no library rewrites the tables of others. */
int (*const names_frames_unprotects)(void *, size_t, int) = mprotect;
#endif

const char *names_frames_listed(void *address)
{
    struct search search = { (uintptr_t)address, "nothing" };
    dl_iterate_phdr(visit, &search);
    return search.file;
}
