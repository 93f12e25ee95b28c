//# role: companion
//# lang: c
//# needs-mpi: no
/* plugin_callback: what dlopen_callback.c opens. Refers to a function of the tool and to one of MPI, and is
 * linked with neither.
 *
 * Build: cc -shared -fPIC -O2 plugin_callback.c -o plugin_callback.so */
int tool_callback(int n);
int PMPI_Get_version(int *version, int *subversion);
int plugin_run(void);

int plugin_run(void)
{
    int version = 0, subversion = 0;
    PMPI_Get_version(&version, &subversion);
    return tool_callback(21) + version;
}
