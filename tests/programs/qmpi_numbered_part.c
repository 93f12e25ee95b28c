//# role: companion
//# lang: c
//# mpi: both
/* qmpi_numbered_part: another part of a QMPI tool, with nothing in it but the header. */
#include <mpi.h>
#include <qmpi.h>
