//# role: companion
//# kind: thesis
//# lang: c
//# mpi: both
/* thesis_as_it_was: compiled with the prototype's own declarations, so that it refers to the prototype's own names, which no
 * library exports. */
#include <stdio.h>

typedef struct { void *func_ptr; int level; } cell;
struct dynamic_lib { char path[100]; void *handle; char *mpi_interceptions[360]; cell table[360]; void *context; };
typedef struct { struct dynamic_lib **items; int capacity; int total; } vector;

int QMPI_Table_query(int index, void **f, cell table[]);
int exec_func(void *f, int level, int index, vector *v, ...);
struct dynamic_lib *vector_get(vector *v, int index);
int vector_total(vector *v);
char *get_interceptions(int i);
int Old_Init(int *argc, char ***argv, int i, vector *v);

char *get_interceptions(int i) { return i == 200 ? "Old_Init" : "NULL"; }

int Old_Init(int *argc, char ***argv, int i, vector *v)
{
    void *f;
    QMPI_Table_query(200, &f, vector_get(v, i)->table);
    int result = exec_func(f, i, 200, v, argc, argv);
    printf("as_it_was: MPI_Init at level %d of %d\n", i, vector_total(v) - 1);
    return result;
}
