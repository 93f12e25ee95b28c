/* qmpi_thesis.h: the interface of the QMPI prototype of 2018, for tools that were written for it.
 *
 * Include it, after mpi.h, in place of the prototype's own "qmpi.h"; the qmpi.h beside this file is another interface, the
 * one of the MPI Forum's draft, and new tools should use that. Works in C (C99) and C++.
 *
 * A tool exports get_interceptions, which names its wrapper for each function, and the wrappers. A wrapper has two
 * arguments more than the function: its level, and the vector of all layers.
 *
 *     char *get_interceptions(int i)
 *     {
 *         return i == _MPI_Send ? "T1_Send" : "NULL";
 *     }
 *
 *     int T1_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, int i, vector *v)
 *     {
 *         void *f = NULL;
 *         QMPI_TABLE_QUERY(_MPI_Send, &f, (*VECTOR_GET(v, i)).table);
 *         return EXEC_FUNC(f, i, _MPI_Send, v, buf, count, type, to, tag, comm);
 *     }
 *
 * Build it with `mpicc -shared -fPIC`, and run it with `TOOLS=./t1.so:./t2.so`, or with `qmpi run -t ./t1.so`. It may stand
 * above and below tools of any kind.
 *
 * - Level 0 is the runtime itself; the outermost tool is 1. Two instances of one file differ in their level, and share the
 *   file's variables: what must be apart belongs into the context.
 * - What f points to may be called directly, with the arguments of the function, QMPI_Get_level and v.
 * - A wrapper that returns void, where the function returns int, leaves the caller with what is in the result's register by
 *   chance: the prototype's own examples do that. Return what EXEC_FUNC returns.
 * - EXEC_FUNC returns an int: for MPI_Wtime and MPI_Wtick, call what f points to directly.
 * - A wrapper of MPI_Pcontrol gets the first argument only, and must not pass the call on: the runtime tells every tool.
 */
#ifndef QMPI_THESIS_H_INCLUDED
#define QMPI_THESIS_H_INCLUDED

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NUM_MPI_FUNCS 360

/* The functions, MPI's name with an underscore before it, sorted. Not all of MPI 3.1: conversions to and from Fortran and a
 * few others are not in the prototype's table, and a tool cannot intercept them. */
typedef enum _MPI_funcs {
    _MPI_Abort = 0,
    _MPI_Accumulate = 1,
    _MPI_Add_error_class = 2,
    _MPI_Add_error_code = 3,
    _MPI_Add_error_string = 4,
    _MPI_Address = 5,
    _MPI_Allgather = 6,
    _MPI_Allgatherv = 7,
    _MPI_Alloc_mem = 8,
    _MPI_Allreduce = 9,
    _MPI_Alltoall = 10,
    _MPI_Alltoallv = 11,
    _MPI_Alltoallw = 12,
    _MPI_Attr_delete = 13,
    _MPI_Attr_get = 14,
    _MPI_Attr_put = 15,
    _MPI_Barrier = 16,
    _MPI_Bcast = 17,
    _MPI_Bsend = 18,
    _MPI_Bsend_init = 19,
    _MPI_Buffer_attach = 20,
    _MPI_Buffer_detach = 21,
    _MPI_Cancel = 22,
    _MPI_Cart_coords = 23,
    _MPI_Cart_create = 24,
    _MPI_Cart_get = 25,
    _MPI_Cart_map = 26,
    _MPI_Cart_rank = 27,
    _MPI_Cart_shift = 28,
    _MPI_Cart_sub = 29,
    _MPI_Cartdim_get = 30,
    _MPI_Close_port = 31,
    _MPI_Comm_accept = 32,
    _MPI_Comm_call_errhandler = 33,
    _MPI_Comm_compare = 34,
    _MPI_Comm_connect = 35,
    _MPI_Comm_create = 36,
    _MPI_Comm_create_errhandler = 37,
    _MPI_Comm_create_group = 38,
    _MPI_Comm_create_keyval = 39,
    _MPI_Comm_delete_attr = 40,
    _MPI_Comm_disconnect = 41,
    _MPI_Comm_dup = 42,
    _MPI_Comm_dup_with_info = 43,
    _MPI_Comm_free = 44,
    _MPI_Comm_free_keyval = 45,
    _MPI_Comm_get_attr = 46,
    _MPI_Comm_get_errhandler = 47,
    _MPI_Comm_get_info = 48,
    _MPI_Comm_get_name = 49,
    _MPI_Comm_get_parent = 50,
    _MPI_Comm_group = 51,
    _MPI_Comm_idup = 52,
    _MPI_Comm_join = 53,
    _MPI_Comm_rank = 54,
    _MPI_Comm_remote_group = 55,
    _MPI_Comm_remote_size = 56,
    _MPI_Comm_set_attr = 57,
    _MPI_Comm_set_errhandler = 58,
    _MPI_Comm_set_info = 59,
    _MPI_Comm_set_name = 60,
    _MPI_Comm_size = 61,
    _MPI_Comm_split = 62,
    _MPI_Comm_split_type = 63,
    _MPI_Comm_test_inter = 64,
    _MPI_Compare_and_swap = 65,
    _MPI_Dims_create = 66,
    _MPI_Dist_graph_create = 67,
    _MPI_Dist_graph_create_adjacent = 68,
    _MPI_Dist_graph_neighbors = 69,
    _MPI_Dist_graph_neighbors_count = 70,
    _MPI_Errhandler_create = 71,
    _MPI_Errhandler_free = 72,
    _MPI_Errhandler_get = 73,
    _MPI_Errhandler_set = 74,
    _MPI_Error_class = 75,
    _MPI_Error_string = 76,
    _MPI_Exscan = 77,
    _MPI_Fetch_and_op = 78,
    _MPI_File_call_errhandler = 79,
    _MPI_File_close = 80,
    _MPI_File_create_errhandler = 81,
    _MPI_File_delete = 82,
    _MPI_File_get_amode = 83,
    _MPI_File_get_atomicity = 84,
    _MPI_File_get_byte_offset = 85,
    _MPI_File_get_errhandler = 86,
    _MPI_File_get_group = 87,
    _MPI_File_get_info = 88,
    _MPI_File_get_position = 89,
    _MPI_File_get_position_shared = 90,
    _MPI_File_get_size = 91,
    _MPI_File_get_type_extent = 92,
    _MPI_File_get_view = 93,
    _MPI_File_iread = 94,
    _MPI_File_iread_all = 95,
    _MPI_File_iread_at = 96,
    _MPI_File_iread_at_all = 97,
    _MPI_File_iread_shared = 98,
    _MPI_File_iwrite = 99,
    _MPI_File_iwrite_all = 100,
    _MPI_File_iwrite_at = 101,
    _MPI_File_iwrite_at_all = 102,
    _MPI_File_iwrite_shared = 103,
    _MPI_File_open = 104,
    _MPI_File_preallocate = 105,
    _MPI_File_read = 106,
    _MPI_File_read_all = 107,
    _MPI_File_read_all_begin = 108,
    _MPI_File_read_all_end = 109,
    _MPI_File_read_at = 110,
    _MPI_File_read_at_all = 111,
    _MPI_File_read_at_all_begin = 112,
    _MPI_File_read_at_all_end = 113,
    _MPI_File_read_ordered = 114,
    _MPI_File_read_ordered_begin = 115,
    _MPI_File_read_ordered_end = 116,
    _MPI_File_read_shared = 117,
    _MPI_File_seek = 118,
    _MPI_File_seek_shared = 119,
    _MPI_File_set_atomicity = 120,
    _MPI_File_set_errhandler = 121,
    _MPI_File_set_info = 122,
    _MPI_File_set_size = 123,
    _MPI_File_set_view = 124,
    _MPI_File_sync = 125,
    _MPI_File_write = 126,
    _MPI_File_write_all = 127,
    _MPI_File_write_all_begin = 128,
    _MPI_File_write_all_end = 129,
    _MPI_File_write_at = 130,
    _MPI_File_write_at_all = 131,
    _MPI_File_write_at_all_begin = 132,
    _MPI_File_write_at_all_end = 133,
    _MPI_File_write_ordered = 134,
    _MPI_File_write_ordered_begin = 135,
    _MPI_File_write_ordered_end = 136,
    _MPI_File_write_shared = 137,
    _MPI_Finalize = 138,
    _MPI_Finalized = 139,
    _MPI_Free_mem = 140,
    _MPI_Gather = 141,
    _MPI_Gatherv = 142,
    _MPI_Get = 143,
    _MPI_Get_accumulate = 144,
    _MPI_Get_address = 145,
    _MPI_Get_count = 146,
    _MPI_Get_elements = 147,
    _MPI_Get_elements_x = 148,
    _MPI_Get_library_version = 149,
    _MPI_Get_processor_name = 150,
    _MPI_Get_version = 151,
    _MPI_Graph_create = 152,
    _MPI_Graph_get = 153,
    _MPI_Graph_map = 154,
    _MPI_Graph_neighbors = 155,
    _MPI_Graph_neighbors_count = 156,
    _MPI_Graphdims_get = 157,
    _MPI_Grequest_complete = 158,
    _MPI_Grequest_start = 159,
    _MPI_Group_compare = 160,
    _MPI_Group_difference = 161,
    _MPI_Group_excl = 162,
    _MPI_Group_free = 163,
    _MPI_Group_incl = 164,
    _MPI_Group_intersection = 165,
    _MPI_Group_range_excl = 166,
    _MPI_Group_range_incl = 167,
    _MPI_Group_rank = 168,
    _MPI_Group_size = 169,
    _MPI_Group_translate_ranks = 170,
    _MPI_Group_union = 171,
    _MPI_Iallgather = 172,
    _MPI_Iallgatherv = 173,
    _MPI_Iallreduce = 174,
    _MPI_Ialltoall = 175,
    _MPI_Ialltoallv = 176,
    _MPI_Ialltoallw = 177,
    _MPI_Ibarrier = 178,
    _MPI_Ibcast = 179,
    _MPI_Ibsend = 180,
    _MPI_Iexscan = 181,
    _MPI_Igather = 182,
    _MPI_Igatherv = 183,
    _MPI_Improbe = 184,
    _MPI_Imrecv = 185,
    _MPI_Ineighbor_allgather = 186,
    _MPI_Ineighbor_allgatherv = 187,
    _MPI_Ineighbor_alltoall = 188,
    _MPI_Ineighbor_alltoallv = 189,
    _MPI_Ineighbor_alltoallw = 190,
    _MPI_Info_create = 191,
    _MPI_Info_delete = 192,
    _MPI_Info_dup = 193,
    _MPI_Info_free = 194,
    _MPI_Info_get = 195,
    _MPI_Info_get_nkeys = 196,
    _MPI_Info_get_nthkey = 197,
    _MPI_Info_get_valuelen = 198,
    _MPI_Info_set = 199,
    _MPI_Init = 200,
    _MPI_Init_thread = 201,
    _MPI_Initialized = 202,
    _MPI_Intercomm_create = 203,
    _MPI_Intercomm_merge = 204,
    _MPI_Iprobe = 205,
    _MPI_Irecv = 206,
    _MPI_Ireduce = 207,
    _MPI_Ireduce_scatter = 208,
    _MPI_Ireduce_scatter_block = 209,
    _MPI_Irsend = 210,
    _MPI_Is_thread_main = 211,
    _MPI_Iscan = 212,
    _MPI_Iscatter = 213,
    _MPI_Iscatterv = 214,
    _MPI_Isend = 215,
    _MPI_Issend = 216,
    _MPI_Keyval_create = 217,
    _MPI_Keyval_free = 218,
    _MPI_Lookup_name = 219,
    _MPI_Mprobe = 220,
    _MPI_Mrecv = 221,
    _MPI_Neighbor_allgather = 222,
    _MPI_Neighbor_allgatherv = 223,
    _MPI_Neighbor_alltoall = 224,
    _MPI_Neighbor_alltoallv = 225,
    _MPI_Neighbor_alltoallw = 226,
    _MPI_Op_commutative = 227,
    _MPI_Op_create = 228,
    _MPI_Op_free = 229,
    _MPI_Open_port = 230,
    _MPI_Pack = 231,
    _MPI_Pack_external = 232,
    _MPI_Pack_external_size = 233,
    _MPI_Pack_size = 234,
    _MPI_Pcontrol = 235,
    _MPI_Probe = 236,
    _MPI_Publish_name = 237,
    _MPI_Put = 238,
    _MPI_Query_thread = 239,
    _MPI_Raccumulate = 240,
    _MPI_Recv = 241,
    _MPI_Recv_init = 242,
    _MPI_Reduce = 243,
    _MPI_Reduce_local = 244,
    _MPI_Reduce_scatter = 245,
    _MPI_Reduce_scatter_block = 246,
    _MPI_Register_datarep = 247,
    _MPI_Request_free = 248,
    _MPI_Request_get_status = 249,
    _MPI_Rget = 250,
    _MPI_Rget_accumulate = 251,
    _MPI_Rput = 252,
    _MPI_Rsend = 253,
    _MPI_Rsend_init = 254,
    _MPI_Scan = 255,
    _MPI_Scatter = 256,
    _MPI_Scatterv = 257,
    _MPI_Send = 258,
    _MPI_Send_init = 259,
    _MPI_Sendrecv = 260,
    _MPI_Sendrecv_replace = 261,
    _MPI_Ssend = 262,
    _MPI_Ssend_init = 263,
    _MPI_Start = 264,
    _MPI_Startall = 265,
    _MPI_Status_set_cancelled = 266,
    _MPI_Status_set_elements = 267,
    _MPI_Status_set_elements_x = 268,
    _MPI_Test = 269,
    _MPI_Test_cancelled = 270,
    _MPI_Testall = 271,
    _MPI_Testany = 272,
    _MPI_Testsome = 273,
    _MPI_Topo_test = 274,
    _MPI_Type_commit = 275,
    _MPI_Type_contiguous = 276,
    _MPI_Type_create_darray = 277,
    _MPI_Type_create_f90_complex = 278,
    _MPI_Type_create_f90_integer = 279,
    _MPI_Type_create_f90_real = 280,
    _MPI_Type_create_hindexed = 281,
    _MPI_Type_create_hindexed_block = 282,
    _MPI_Type_create_hvector = 283,
    _MPI_Type_create_indexed_block = 284,
    _MPI_Type_create_keyval = 285,
    _MPI_Type_create_resized = 286,
    _MPI_Type_create_struct = 287,
    _MPI_Type_create_subarray = 288,
    _MPI_Type_delete_attr = 289,
    _MPI_Type_dup = 290,
    _MPI_Type_extent = 291,
    _MPI_Type_free = 292,
    _MPI_Type_free_keyval = 293,
    _MPI_Type_get_attr = 294,
    _MPI_Type_get_contents = 295,
    _MPI_Type_get_envelope = 296,
    _MPI_Type_get_extent = 297,
    _MPI_Type_get_extent_x = 298,
    _MPI_Type_get_name = 299,
    _MPI_Type_get_true_extent = 300,
    _MPI_Type_get_true_extent_x = 301,
    _MPI_Type_hindexed = 302,
    _MPI_Type_hvector = 303,
    _MPI_Type_indexed = 304,
    _MPI_Type_lb = 305,
    _MPI_Type_match_size = 306,
    _MPI_Type_set_attr = 307,
    _MPI_Type_set_name = 308,
    _MPI_Type_size = 309,
    _MPI_Type_size_x = 310,
    _MPI_Type_struct = 311,
    _MPI_Type_ub = 312,
    _MPI_Type_vector = 313,
    _MPI_Unpack = 314,
    _MPI_Unpack_external = 315,
    _MPI_Unpublish_name = 316,
    _MPI_Wait = 317,
    _MPI_Waitall = 318,
    _MPI_Waitany = 319,
    _MPI_Waitsome = 320,
    _MPI_Win_allocate = 321,
    _MPI_Win_allocate_shared = 322,
    _MPI_Win_attach = 323,
    _MPI_Win_call_errhandler = 324,
    _MPI_Win_complete = 325,
    _MPI_Win_create = 326,
    _MPI_Win_create_dynamic = 327,
    _MPI_Win_create_errhandler = 328,
    _MPI_Win_create_keyval = 329,
    _MPI_Win_delete_attr = 330,
    _MPI_Win_detach = 331,
    _MPI_Win_fence = 332,
    _MPI_Win_flush = 333,
    _MPI_Win_flush_all = 334,
    _MPI_Win_flush_local = 335,
    _MPI_Win_flush_local_all = 336,
    _MPI_Win_free = 337,
    _MPI_Win_free_keyval = 338,
    _MPI_Win_get_attr = 339,
    _MPI_Win_get_errhandler = 340,
    _MPI_Win_get_group = 341,
    _MPI_Win_get_info = 342,
    _MPI_Win_get_name = 343,
    _MPI_Win_lock = 344,
    _MPI_Win_lock_all = 345,
    _MPI_Win_post = 346,
    _MPI_Win_set_attr = 347,
    _MPI_Win_set_errhandler = 348,
    _MPI_Win_set_info = 349,
    _MPI_Win_set_name = 350,
    _MPI_Win_shared_query = 351,
    _MPI_Win_start = 352,
    _MPI_Win_sync = 353,
    _MPI_Win_test = 354,
    _MPI_Win_unlock = 355,
    _MPI_Win_unlock_all = 356,
    _MPI_Win_wait = 357,
    _MPI_Wtick = 358,
    _MPI_Wtime = 359,
    /* As the prototype spelt them. */
    _MPI_File_get_atomicsity = _MPI_File_get_atomicity,
    _MPI_File_set_atomicsity = _MPI_File_set_atomicity
} _MPI_funcs;

/* What comes next for one function: f(arguments..., level, v). */
typedef struct cell {
    void *func_ptr;
    int level;
} cell;

typedef void *dynamic_lib_handle;

/* One layer. */
struct dynamic_lib {
    char path[100];                         /* cut off where it is longer */
    dynamic_lib_handle handle;              /* dlopen's; NULL for a tool of another kind */
    char *mpi_interceptions[NUM_MPI_FUNCS]; /* what get_interceptions said; "NULL": not intercepted */
    cell table[NUM_MPI_FUNCS];
    void *context;
};

/* All layers, [0] standing for the runtime. */
typedef struct vector {
    struct dynamic_lib **items;
    int capacity;
    int total;
} vector;

/* Stores what comes next for function idx, and returns 0. If there is none it returns 1, and what it stores is a
 * function that says so when it is called, and ends the process. */
int QMPI_Table_query(int idx, void **func_ptr, cell table[]);

/* Calls func_ptr with the arguments that follow v, the next level and v, and returns what it returns. How many arguments
 * there are is known from func_index. A NULL, or a level or an index that does not exist, makes it return an error class. */
int QMPI_Exec_func(void *func_ptr, int level, int func_index, vector *v, ...);

/* Keeps a copy of size bytes for the layer at this level; zeros if cntxt is NULL. A copy made before stays where it is. */
void QMPI_Set_context(vector *v, int index, void *cntxt, size_t size);

/* That copy; NULL before there is one. */
void *QMPI_Get_context(vector *v, int i);

/* The level to pass to what comes next for function func_index below the layer at this level; -1 if there is none. */
int QMPI_Get_level(int level, int func_index, vector *v);

/* The runtime is loaded into programs that know nothing of it, so names as common as these exist here only. */
#define exec_func QMPI_Exec_func

static inline int vector_total(vector *v)
{
    return v ? v->total : 0;
}

static inline struct dynamic_lib *vector_get(vector *v, int index)
{
    return v && index >= 0 && index < v->total ? v->items[index] : NULL;
}

static inline int QMPI_Table_query_inline_(int idx, void **func_ptr, cell table[])
{
    *func_ptr = table[idx].func_ptr;
    return *func_ptr ? 0 : QMPI_Table_query(idx, func_ptr, table);
}

/* The same without a call where that is possible, and without a check of what is passed. */
#define VECTOR_GET(v, i) ((v)->items[(i)])
#define QMPI_TABLE_QUERY(idx, f, table) QMPI_Table_query_inline_((idx), (f), (table))
#define MPI_TABLE_QUERY(idx, f, table) QMPI_Table_query_inline_((idx), (f), (table))
#define EXEC_FUNC QMPI_Exec_func
#define QMPI_SET_CONTEXT(v, index, cntxt, size) QMPI_Set_context((v), (index), (cntxt), (size))
#define QMPI_GET_CONTEXT(v, i) ((*VECTOR_GET(v, i)).context)
#define QMPI_GET_LEVEL(i, func_index, v) ((*VECTOR_GET(v, i)).table[(func_index)].level)

/* The tool's own: what the runtime asks it. */
char *get_interceptions(int i);

#ifdef __cplusplus
}
#endif

#endif
