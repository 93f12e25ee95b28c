//# role: companion
//# lang: c
//# needs-mpi: no
/* plugin_global: what dlopen_global.c opens. No tool, and no MPI.
 *
 * Build: cc -shared -fPIC -O2 plugin_global.c -o plugin_global.so */
int plugin_fn(int n);

int plugin_fn(int n) { return n + 1; }
