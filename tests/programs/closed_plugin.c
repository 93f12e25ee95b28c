//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* closed_plugin: registers an exit handler when it is loaded, and another when it is asked. */
#include <stdlib.h>

static void (*told)(void);

static void tell(void) { told(); }

__attribute__((constructor)) static void begin(void) { atexit(tell); }

void plugin_calls(void (*function)(void))
{
    told = function;
    atexit(tell);
}
