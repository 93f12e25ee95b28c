//# lang: c
//# mpi: both
//# cflags: -rdynamic -Wl,--hash-style=sysv
//# ranks: 4
//# expect-stdout: done
/* ring.c as an executable that exports its symbols by DT_HASH only. */
#include "ring.c"
