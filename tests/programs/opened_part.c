//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* A small library that opens_in_threads.c opens and closes. */
int opened_part(void);
int opened_part(void) { return 7; }
