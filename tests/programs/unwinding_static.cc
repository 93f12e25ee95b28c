//# lang: c++
//# mpi: both
//# cflags: -static-libgcc -static-libstdc++
//# libs: -lpthread
//# ranks: 1
//# args: callback
//# expect-stdout: unwinding: callback: ended as expected, 1 destructor
/* unwinding.cc with an unwinder and a C++ library of its own. */
#include "unwinding.cc"
