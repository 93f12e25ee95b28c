//# role: companion
//# kind: thesis
//# lang: c
//# mpi: both
/* thesis_undefined: compiled without qmpi_thesis.h, so that it refers to the prototype's own names. */
int exec_func(void *f, int level, int index, void *v, ...);

char *get_interceptions(int i)
{
    (void)i;
    return "NULL";
}

int Undefined_Barrier(int comm, int i, void *v) { return exec_func(0, i, 16, v, comm); }
