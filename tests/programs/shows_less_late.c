//# role: companion
//# lang: c
//# needs-mpi: no
/* shows_less_late: the same, for a library that the program opens. */
#include "shows_less_part.c"
