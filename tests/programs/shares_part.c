//# role: companion
//# lang: c
//# needs-mpi: no
/* shares_part: a library with a variable, which a program (shares_part_program.c) and a tool (shares_part_tool.c) are linked with. */
int shares_part_next(void);

int shares_part_next(void)
{
    static int number;
    return ++number;
}
