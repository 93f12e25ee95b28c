//# lang: c
//# mpi: both
//# with: ring.c ../../legacy-tools/base_tool.c
//# ranks: 2
//# expect-stdout: done
//# expect-stdout: tool base_tool: ok calls=9
/* The ring program with a PMPI tool linked into it, before the MPI library. */
