//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include -Wl,--unresolved-symbols=ignore-all
//# with: ring.c qmpi_foo_bar.c
//# libs: -ldl
/* The ring program with two QMPI tools compiled into it; libqmpi is only there at run time. */
