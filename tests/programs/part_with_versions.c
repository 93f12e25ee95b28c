//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# cflags: -Wl,--default-symver -Wl,-soname,part_with_versions.so
/* A library with a symbol version, for missing_version.c. */
int part_with_versions(int value);
int part_with_versions(int value) { return value + 41; }
