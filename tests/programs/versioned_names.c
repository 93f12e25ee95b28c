//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# cflags: -Wl,--version-script=programs/versioned_names.map -Wl,-soname,versioned_names.so
/* The names of the versions that versioned_1.c, versioned_2.c and versioned_3.c ask for, which ld.so looks for at start-up; no functions of MPI. */
void versioned_names_1(void) {}
void versioned_names_2(void) {}
void versioned_names_3(void) {}
