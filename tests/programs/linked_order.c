//# lang: c
//# mpi: both
//# with: ring.c ../../legacy-tools/order.c
//# libs: -ldl
//# ranks: 2
//# expect-stdout: done
/* The ring program with a PMPI tool linked into it that tells of each call on stderr; its label is `linked_order`. */
