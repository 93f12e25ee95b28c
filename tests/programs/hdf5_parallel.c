//# role: companion
//# lang: c
//# mpi: both
/* hdf5_parallel: one dataset written by all ranks together, each its rows, and read back with collective transfers; built by
 * tests/real_programs.rs with HDF5's own compiler wrapper. The argument is the file. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 8, COLUMNS = 64 };

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, all_wrong = 0, mine[ROWS][COLUMNS], back[ROWS][COLUMNS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t all[2] = { (hsize_t)ROWS * ranks, COLUMNS }, part[2] = { ROWS, COLUMNS };
    hsize_t start[2] = { (hsize_t)ROWS * rank, 0 };
    hid_t space = H5Screate_simple(2, all, NULL), memory = H5Screate_simple(2, part, NULL);
    hid_t set = H5Dcreate2(file, "rows", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        mine[i / COLUMNS][i % COLUMNS] = rank * 100000 + i;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL);
    wrong += H5Dwrite(set, H5T_NATIVE_INT, memory, space, transfer, mine) < 0;
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    MPI_Barrier(MPI_COMM_WORLD);
    start[0] = (hsize_t)ROWS * ((rank + 1) % ranks);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL);
    wrong += H5Dread(set, H5T_NATIVE_INT, memory, space, transfer, back) < 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wrong += back[i / COLUMNS][i % COLUMNS] != (rank + 1) % ranks * 100000 + i;
    H5Pclose(transfer);
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(access);

    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("hdf5_parallel: %d wrong\n", all_wrong);
    MPI_Finalize();
    return all_wrong != 0;
}
