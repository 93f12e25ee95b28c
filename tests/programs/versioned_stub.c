//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# cflags: -Wl,--version-script=programs/versioned_stub.map -Wl,-soname,versioned_names.so
/* What versioned_1.c, versioned_2.c and versioned_3.c are linked with: MPI_Send in three versions. At run time there is versioned_names.c in its place, so
 * that the definitions are those of a tool, or the MPI library's, which has no versions. */
__attribute__((symver("MPI_Send@TOOL_1"))) int send_v1(void) { return 1; }
__attribute__((symver("MPI_Send@@TOOL_2"))) int send_v2(void) { return 2; }
__attribute__((symver("MPI_Send@TOOL_3"))) int send_v3(void) { return 3; }
