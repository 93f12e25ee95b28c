//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* A small library that opens_in_threads.c and opens_definition.c open. */
int opened_part(void);
int opened_part(void) { return 7; }

double opened_sum(double a, double b, int c, int d, int e, int f, int g, int h, double i);
double opened_sum(double a, double b, int c, int d, int e, int f, int g, int h, double i)
{
    return a + b + c + d + e + f + g + h + i;
}
