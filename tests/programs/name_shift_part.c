//# role: companion
//# lang: c
//# mpi: both
/* name_shift_part: what name_shift.f90 calls: entry points by the names that other compilers of Fortran give them, and of mpi_f08. */

typedef int fortran;
typedef void barrier(const fortran *comm, fortran *error);
barrier qmpi_barrier, qmpi_barrier_, qmpi_barrier__, QMPI_BARRIER, qmpi_barrier_f08_;

void all_spellings_(const fortran *comm, fortran *right);
void missing_function_(void);
void qmpi_abi_get_version_(fortran *major, fortran *minor, fortran *error);

void all_spellings_(const fortran *comm, fortran *right)
{
    barrier *const all[] = { qmpi_barrier, qmpi_barrier_, qmpi_barrier__, QMPI_BARRIER, qmpi_barrier_f08_ };
    *right = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        fortran error = -1;
        all[i](comm, &error);
        *right += error == 0;
    }
}

/* Of MPI 5.0: neither of the tests' MPI libraries has it. */
void missing_function_(void)
{
    fortran major, minor, error;
    qmpi_abi_get_version_(&major, &minor, &error);
}
