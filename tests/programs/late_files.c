//# role: companion
//# lang: c
/* late_files: a library that the program opens. Its references to the C library are bound when it is loaded. */
#include <stdio.h>

static FILE *(*const by_pointer)(const char *, const char *) = fopen;

int late_files(const char *path)
{
    FILE *one = fopen(path, "w"), *two = by_pointer(path, "r");
    if (!one || !two)
        return 1;
    fclose(one);
    fclose(two);
    return 0;
}
