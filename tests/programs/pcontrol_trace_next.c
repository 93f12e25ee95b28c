//# role: companion
//# lang: c
//# mpi: both
//# cflags: -DPASSES_NEXT
//# with: pcontrol_trace.c
//# libs: -ldl
/* pcontrol_trace, calling what dlsym(RTLD_NEXT, "MPI_Pcontrol") finds. */
