//# lang: c
//# mpi: both
//# with: ../../legacy-tools/base_tool.c
//# cflags: -rdynamic -Wl,--hash-style=sysv
//# ranks: 2
//# expect-stdout: tool base_tool: ok calls=9
//# expect-stdout: done
/* The same with a tool in the executable itself. */
#include "ring.c"
