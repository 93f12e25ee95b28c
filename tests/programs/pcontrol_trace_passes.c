//# role: companion
//# lang: c
//# mpi: both
//# cflags: -DPASSES
//# with: pcontrol_trace.c
//# libs: -ldl
/* pcontrol_trace, calling PMPI_Pcontrol. */
