//# role: companion
//# lang: c
//# mpi: none
/* wrapped_part: a library of a program, of which a tool wraps a function. */
int wrapped_part(int value);

int wrapped_part(int value)
{
    return value + 1;
}
