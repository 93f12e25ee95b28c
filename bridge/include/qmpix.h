/* Extensions of the QMPI interface: function tables, the tools that are present, and stacks inside of the stack.
 *
 * A tool that wants more than a chain (a switch, a diamond, a tool for some communicators only) builds it with these, out of
 * tools that know nothing of it. The interface itself is qmpi.h's and stays as it is.
 *
 * All functions return MPI_SUCCESS, MPI_ERR_ARG for an argument that is null, unknown or out of range, or MPI_ERR_OTHER for
 * a call at the wrong time. None of them crashes, whatever it is given. They are local, and take locks: a tool looks
 * functions up once and keeps the pointers. */
#ifndef QMPIX_H
#define QMPIX_H

#include "qmpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table of functions: for each function of MPI the address to call, in the way QMPI tools are called
 * (context, tool_id, arguments...), and the tool_id to pass. A function that is not set has none.
 *
 * Numbers of functions are those of the tool that made the table. For a tool that was compiled with the mpi.h of another
 * release of MPICH, look functions up by name. */
typedef int QMPIX_Table;
#define QMPIX_TABLE_NULL 0

/* A new table in which no function is set. */
int QMPIX_Table_create(QMPIX_Table *table);

/* The same, and the numbering of functions that it is used with: QMPIX_NUMBERING of qmpi.h. So is a call of the former. */
int QMPIX_Table_create_numbered(unsigned numbering, QMPIX_Table *table);
#ifdef QMPIX_NUMBERING
#define QMPIX_Table_create(table) QMPIX_Table_create_numbered(QMPIX_NUMBERING, table)
#endif

/* A new table of what comes next below a tool: the answers of QMPI_Get_function for all functions. Once all tools are
 * initialized, that is, from the first MPI call on. */
int QMPIX_Table_next(int tool_id, QMPIX_Table *table);

/* A new table with the same contents. */
int QMPIX_Table_copy(QMPIX_Table table, QMPIX_Table *copy);

/* Destroys a table and sets the variable to QMPIX_TABLE_NULL. Functions that were taken from it stay valid. */
int QMPIX_Table_destroy(QMPIX_Table *table);

/* What is set for a function, by enumerator (MPI_SEND_T) or by name ("MPI_Send"). Not set: MPI_ERR_ARG. */
int QMPIX_Table_query(QMPIX_Table table, int function, void (**function_ptr)(void), int *tool_id);
int QMPIX_Table_query_name(QMPIX_Table table, const char *name, void (**function_ptr)(void), int *tool_id);

/* Sets one function. */
int QMPIX_Table_set(QMPIX_Table table, int function, void (*function_ptr)(void), int tool_id);
int QMPIX_Table_set_name(QMPIX_Table table, const char *name, void (*function_ptr)(void), int tool_id);

/* Unsets one function. */
int QMPIX_Table_unset(QMPIX_Table table, int function);
int QMPIX_Table_unset_name(QMPIX_Table table, const char *name);

/* Loads the tools of a named stack of the configuration file,
 *
 *     [stacks]
 *     rows = ["counter_of_rows", "trace"]
 *
 * outermost first, on top of the functions in `below`, and gives a table of their topmost functions. Every call of this
 * function makes new instances. PMPI tools and native ones may be mixed as in the main stack. Once all tools are
 * initialized; typically in the tool's own function for MPI_Init, before it goes on. */
int QMPIX_Stack_open(const char *name, QMPIX_Table below, QMPIX_Table *top);

/* What a layer is. */
enum QMPIX_Tool_kind { QMPIX_TOOL_PMPI = 1, QMPIX_TOOL_QMPI = 2, QMPIX_TOOL_THESIS = 3 };

/* One layer. The strings stay valid. */
typedef struct {
    int tool_id;             /* 1 for the outermost layer of the main stack */
    int kind;                /* enum QMPIX_Tool_kind */
    const char *label;       /* unique: the name, or name#2 for the second instance */
    const char *name;        /* the name in the tool list */
    const char *path;        /* the tool's file; "" if it was there already */
    const char *version;     /* what it said of itself, or "" */
    const char *description; /* what it said of itself, or "" */
} QMPIX_Tool;

/* What a tool says of itself; in its init callback. Null stands for nothing said. */
int QMPIX_Register_tool_info(int tool_id, const char *version, const char *description);

/* Stores the first `max` tools that are present, in the order of their ids, and how many there are. `tools` may be null if
 * `max` is 0. */
int QMPIX_Get_tools(int max, QMPIX_Tool *tools, int *count);

/* Where a tool stands: the place of its layer in the stack, 0 for the MPI library, 1 for the innermost layer and so on outwards, and the
 * layer's label, which stays valid. Of an instance that is no layer but stands in front of one, as those of the recorder of
 * `qmpi run --report` do, it is the layer behind it. Layers of named stacks have no place: MPI_ERR_ARG. */
int QMPIX_Get_layer(int tool_id, int *place, const char **label);

/* Whose handles and constants an MPI library has: those of MPICH, of Open MPI, or of the standard ABI of MPI 5. */
enum QMPIX_Abi { QMPIX_ABI_UNKNOWN = 0, QMPIX_ABI_MPICH = 1, QMPIX_ABI_OPENMPI = 2, QMPIX_ABI_STANDARD = 3 };

/* What is known of the process without MPI being asked. The strings stay valid. */
typedef struct {
    int rank;          /* as the launcher tells it; -1: it does not */
    int size;          /* how many ranks the launcher has started; -1: unknown */
    int layers;        /* how many layers there may be, PMPI tools of the program among them */
    int abi;           /* enum QMPIX_Abi */
    int has_mpi;       /* 0: the runtime has opened the MPI library, for tools in a process that has none, such as a shell */
    const char *mpi;   /* the name of the MPI library's file */
    const char *world; /* what tells this MPI_COMM_WORLD from those of other launchers and of MPI_Comm_spawn, or "" */
} QMPIX_Process;

/* Tells it, in init callbacks and later; MPI_ERR_OTHER before that. */
int QMPIX_Get_process(QMPIX_Process *process);

/* The MPI library's own function of a name, "MPI_Send", below all tools: it is called with MPI's arguments alone, as PMPI_Send is. Or a variable
 * whose address is a handle, as Open MPI has them: "ompi_mpi_comm_world". MPI_ERR_ARG: the library has none. In init callbacks and later. */
int QMPIX_Get_mpi_symbol(const char *name, void **address);

/* Switches a layer off and on again, while other threads are in calls. `tool_id` is that of a layer of the main stack with
 * `switch = true` in its section of the configuration file, or of any layer in a job that was started by `qmpi run --ctl`;
 * MPI_ERR_ARG for others. `qmpi ctl` does the same from outside.
 *
 * A layer that is off stays loaded, and calls go past it to the next; a call that is under way is completed. It still sees
 *
 *   - how requests are completed that it saw started, and not those that it did not;
 *   - all that makes, ends or names an object: communicators, windows and their epochs, files, datatypes, messages, ...;
 *   - MPI_Init, MPI_Finalize, MPI_Abort, MPI_Pcontrol.
 *
 * No lock is held while MPI is called, and no function pointer has to be asked for again: those that QMPI_Get_function gave
 * lead past the layer as well. These functions take a lock. */
int QMPIX_Tool_enable(int tool_id);
int QMPIX_Tool_disable(int tool_id);

/* Stores 1 if calls go through the layer, 0 if they go past it. */
int QMPIX_Tool_is_enabled(int tool_id, int *flag);

/* Puts another function in the place of one that such a layer intercepts, by enumerator or by name, and stores the old one
 * unless `old` is null. It is called as the old one was: with context and tool_id first in a QMPI tool, with MPI's arguments
 * alone in a PMPI tool, and with level and vector last in a tool of the 2018 prototype. A call that is under way is completed
 * by the old function, which therefore has to stay where it is. Fortran wrappers of PMPI tools stay as they are.
 * MPI_ERR_ARG: no such layer, or it does not intercept the function, or the function is one that the layer always sees. */
int QMPIX_Tool_set_function(int tool_id, int function, void (*function_ptr)(void), void (**old)(void));
int QMPIX_Tool_set_function_name(int tool_id, const char *name, void (*function_ptr)(void), void (**old)(void));

#ifdef __cplusplus
}
#endif
#endif
