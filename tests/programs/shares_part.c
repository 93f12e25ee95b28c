//# role: companion
//# lang: c
//# needs-mpi: no
/* shares_part: a library with a variable, which a program (shares_part_program.c) and a tool (shares_part_tool.c) are linked with. */
int shares_part_next(void);

#ifdef THREAD_LOCAL
/* Which an address cannot stand for. */
__thread int shares_part_local;
#endif
#ifdef CALLS_MPI
int MPI_Initialized(int *flag);
#endif

int shares_part_next(void)
{
#ifdef CALLS_MPI
    int flag;
    MPI_Initialized(&flag);
#endif
    static int number;
    return ++number;
}
