//# role: companion
//# lang: c
//# mpi: none
/* needs_plugin: a library that refers to a function of a tool's plugin (legacy-tools/plugin_global.c). */
int plugin_fn(int n);
int through_plugin(int n);

int through_plugin(int n)
{
    return plugin_fn(n);
}
