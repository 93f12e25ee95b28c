//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* The smallest process. */
int main(void) { return 5; }
