//# role: companion
//# needs-mpi: no
// Preloaded in front of glibc, for a function of it. Its own references have versions, so that it has a table of them.
#include <unistd.h>

const char *gnu_get_libc_version(void) {
    return getppid() < 0 ? "?" : "of the preloaded library";
}
