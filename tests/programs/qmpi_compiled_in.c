//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
//# with: ring.c qmpi_foo_bar.c
//# libs: -ldl
/* The ring program with two QMPI tools compiled into it; it has to be linked with libqmpi. */
