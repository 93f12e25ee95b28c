//# lang: c++
//# mpi: both
//# cflags: -static-libgcc -static-libstdc++
//# libs: -lpthread
//# program: unwinding.cc
//# expect-stdout: tool unwinding_tool: ok calls=1 destroyed=1
/* unwinding_tool.cc with an unwinder and a C++ library of its own, so that the tool runs where the C++ library is older. */
#include "unwinding_tool.cc"
