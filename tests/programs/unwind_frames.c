//# role: companion
//# lang: c
//# mpi: both
//# cflags: -fno-optimize-sibling-calls
//# with: ../../legacy-tools/unwind.c
//# libs: -lunwind
/* The tool unwind, whose wrapper calls the next one instead of jumping to it: each layer leaves a frame. */
