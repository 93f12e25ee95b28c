//# lang: c
//# mpi: both
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool many_pmpi: ok calls=26 functions=461
/* many_pmpi: wraps the functions of MPI 4.1, each as MPI_f and as PMPI_f, and looks the next ones up by name: RTLD_NEXT, PMPI_f.
 *
 * Hazard: what defines so many PMPI functions looks like an MPI library, in a stack, preloaded beside one, and linked with the
 * program. It needs no library of MPI's functions and refers to none. I/O profilers define both names of each function that they wrap.
 *
 * The wrappers count in a table, and jump to the next function with all arguments as they are.
 *
 * Build: mpicc -shared -fPIC -O2 many_pmpi.c -o many_pmpi.so -ldl */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>

#define FUNCTIONS(X)                                                                                           \
    X(Abort) X(Accumulate) X(Add_error_class) X(Add_error_code) X(Add_error_string) X(Address) X(Aint_add)     \
    X(Aint_diff) X(Allgather) X(Allgather_init) X(Allgatherv) X(Allgatherv_init) X(Alloc_mem) X(Allreduce)     \
    X(Allreduce_init) X(Alltoall) X(Alltoall_init) X(Alltoallv) X(Alltoallv_init) X(Alltoallw)                 \
    X(Alltoallw_init) X(Attr_delete) X(Attr_get) X(Attr_put) X(Barrier) X(Barrier_init) X(Bcast)               \
    X(Bcast_init) X(Bsend) X(Bsend_init) X(Buffer_attach) X(Buffer_detach) X(Buffer_flush) X(Buffer_iflush)    \
    X(Cancel) X(Cart_coords) X(Cart_create) X(Cart_get) X(Cart_map) X(Cart_rank) X(Cart_shift) X(Cart_sub)     \
    X(Cartdim_get) X(Close_port) X(Comm_accept) X(Comm_attach_buffer) X(Comm_c2f) X(Comm_call_errhandler)      \
    X(Comm_compare) X(Comm_connect) X(Comm_create) X(Comm_create_errhandler) X(Comm_create_from_group)         \
    X(Comm_create_group) X(Comm_create_keyval) X(Comm_delete_attr) X(Comm_detach_buffer) X(Comm_disconnect)    \
    X(Comm_dup) X(Comm_dup_with_info) X(Comm_f2c) X(Comm_flush_buffer) X(Comm_free) X(Comm_free_keyval)        \
    X(Comm_get_attr) X(Comm_get_errhandler) X(Comm_get_info) X(Comm_get_name) X(Comm_get_parent)               \
    X(Comm_group) X(Comm_idup) X(Comm_idup_with_info) X(Comm_iflush_buffer) X(Comm_join) X(Comm_rank)          \
    X(Comm_remote_group) X(Comm_remote_size) X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_set_info)          \
    X(Comm_set_name) X(Comm_size) X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_split) X(Comm_split_type)        \
    X(Comm_test_inter) X(Compare_and_swap) X(Dims_create) X(Dist_graph_create) X(Dist_graph_create_adjacent)   \
    X(Dist_graph_neighbors) X(Dist_graph_neighbors_count) X(Errhandler_c2f) X(Errhandler_create)               \
    X(Errhandler_f2c) X(Errhandler_free) X(Errhandler_get) X(Errhandler_set) X(Error_class) X(Error_string)    \
    X(Exscan) X(Exscan_init) X(Fetch_and_op) X(File_c2f) X(File_call_errhandler) X(File_close)                 \
    X(File_create_errhandler) X(File_delete) X(File_f2c) X(File_get_amode) X(File_get_atomicity)               \
    X(File_get_byte_offset) X(File_get_errhandler) X(File_get_group) X(File_get_info) X(File_get_position)     \
    X(File_get_position_shared) X(File_get_size) X(File_get_type_extent) X(File_get_view) X(File_iread)        \
    X(File_iread_all) X(File_iread_at) X(File_iread_at_all) X(File_iread_shared) X(File_iwrite)                \
    X(File_iwrite_all) X(File_iwrite_at) X(File_iwrite_at_all) X(File_iwrite_shared) X(File_open)              \
    X(File_preallocate) X(File_read) X(File_read_all) X(File_read_all_begin) X(File_read_all_end)              \
    X(File_read_at) X(File_read_at_all) X(File_read_at_all_begin) X(File_read_at_all_end)                      \
    X(File_read_ordered) X(File_read_ordered_begin) X(File_read_ordered_end) X(File_read_shared)               \
    X(File_seek) X(File_seek_shared) X(File_set_atomicity) X(File_set_errhandler) X(File_set_info)             \
    X(File_set_size) X(File_set_view) X(File_sync) X(File_write) X(File_write_all) X(File_write_all_begin)     \
    X(File_write_all_end) X(File_write_at) X(File_write_at_all) X(File_write_at_all_begin)                     \
    X(File_write_at_all_end) X(File_write_ordered) X(File_write_ordered_begin) X(File_write_ordered_end)       \
    X(File_write_shared) X(Finalized) X(Free_mem) X(Gather) X(Gather_init) X(Gatherv) X(Gatherv_init) X(Get)   \
    X(Get_accumulate) X(Get_address) X(Get_count) X(Get_elements) X(Get_elements_x) X(Get_hw_resource_info)    \
    X(Get_library_version) X(Get_processor_name) X(Get_version) X(Graph_create) X(Graph_get) X(Graph_map)      \
    X(Graph_neighbors) X(Graph_neighbors_count) X(Graphdims_get) X(Grequest_complete) X(Grequest_start)        \
    X(Group_c2f) X(Group_compare) X(Group_difference) X(Group_excl) X(Group_f2c) X(Group_free)                 \
    X(Group_from_session_pset) X(Group_incl) X(Group_intersection) X(Group_range_excl) X(Group_range_incl)     \
    X(Group_rank) X(Group_size) X(Group_translate_ranks) X(Group_union) X(Iallgather) X(Iallgatherv)           \
    X(Iallreduce) X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ibarrier) X(Ibcast) X(Ibsend) X(Iexscan)          \
    X(Igather) X(Igatherv) X(Improbe) X(Imrecv) X(Ineighbor_allgather) X(Ineighbor_allgatherv)                 \
    X(Ineighbor_alltoall) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw) X(Info_c2f) X(Info_create)             \
    X(Info_create_env) X(Info_delete) X(Info_dup) X(Info_f2c) X(Info_free) X(Info_get) X(Info_get_nkeys)       \
    X(Info_get_nthkey) X(Info_get_string) X(Info_get_valuelen) X(Info_set)                                     \
    X(Initialized) X(Intercomm_create) X(Intercomm_create_from_groups) X(Intercomm_merge) X(Iprobe) X(Irecv)   \
    X(Ireduce) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Irsend) X(Is_thread_main) X(Iscan) X(Iscatter)    \
    X(Iscatterv) X(Isend) X(Isendrecv) X(Isendrecv_replace) X(Issend) X(Keyval_create) X(Keyval_free)          \
    X(Lookup_name) X(Message_c2f) X(Message_f2c) X(Mprobe) X(Mrecv) X(Neighbor_allgather)                      \
    X(Neighbor_allgather_init) X(Neighbor_allgatherv) X(Neighbor_allgatherv_init) X(Neighbor_alltoall)         \
    X(Neighbor_alltoall_init) X(Neighbor_alltoallv) X(Neighbor_alltoallv_init) X(Neighbor_alltoallw)           \
    X(Neighbor_alltoallw_init) X(Op_c2f) X(Op_commutative) X(Op_create) X(Op_f2c) X(Op_free) X(Open_port)      \
    X(Pack) X(Pack_external) X(Pack_external_size) X(Pack_size) X(Parrived) X(Pready) X(Pready_list)           \
    X(Pready_range) X(Precv_init) X(Probe) X(Psend_init) X(Publish_name) X(Put) X(Query_thread)                \
    X(Raccumulate) X(Recv) X(Recv_init) X(Reduce) X(Reduce_init) X(Reduce_local) X(Reduce_scatter)             \
    X(Reduce_scatter_block) X(Reduce_scatter_block_init) X(Reduce_scatter_init) X(Register_datarep)            \
    X(Remove_error_class) X(Remove_error_code) X(Remove_error_string) X(Request_c2f) X(Request_f2c)            \
    X(Request_free) X(Request_get_status) X(Request_get_status_all) X(Request_get_status_any)                  \
    X(Request_get_status_some) X(Rget) X(Rget_accumulate) X(Rput) X(Rsend) X(Rsend_init) X(Scan)               \
    X(Scan_init) X(Scatter) X(Scatter_init) X(Scatterv) X(Scatterv_init) X(Send) X(Send_init) X(Sendrecv)      \
    X(Sendrecv_replace) X(Session_attach_buffer) X(Session_c2f) X(Session_call_errhandler)                     \
    X(Session_create_errhandler) X(Session_detach_buffer) X(Session_f2c) X(Session_finalize)                   \
    X(Session_flush_buffer) X(Session_get_errhandler) X(Session_get_info) X(Session_get_nth_pset)              \
    X(Session_get_num_psets) X(Session_get_pset_info) X(Session_iflush_buffer) X(Session_init)                 \
    X(Session_set_errhandler) X(Ssend) X(Ssend_init) X(Start) X(Startall) X(Status_c2f) X(Status_c2f08)        \
    X(Status_f082c) X(Status_f082f) X(Status_f2c) X(Status_f2f08) X(Status_get_error) X(Status_get_source)     \
    X(Status_get_tag) X(Status_set_cancelled) X(Status_set_elements) X(Status_set_elements_x)                  \
    X(Status_set_error) X(Status_set_source) X(Status_set_tag) X(Test) X(Test_cancelled) X(Testall)            \
    X(Testany) X(Testsome) X(Topo_test) X(Type_c2f) X(Type_commit) X(Type_contiguous) X(Type_create_darray)    \
    X(Type_create_f90_complex) X(Type_create_f90_integer) X(Type_create_f90_real) X(Type_create_hindexed)      \
    X(Type_create_hindexed_block) X(Type_create_hvector) X(Type_create_indexed_block) X(Type_create_keyval)    \
    X(Type_create_resized) X(Type_create_struct) X(Type_create_subarray) X(Type_delete_attr) X(Type_dup)       \
    X(Type_extent) X(Type_f2c) X(Type_free) X(Type_free_keyval) X(Type_get_attr) X(Type_get_contents)          \
    X(Type_get_envelope) X(Type_get_extent) X(Type_get_extent_x) X(Type_get_name) X(Type_get_true_extent)      \
    X(Type_get_true_extent_x) X(Type_get_value_index) X(Type_hindexed) X(Type_hvector) X(Type_indexed)         \
    X(Type_lb) X(Type_match_size) X(Type_set_attr) X(Type_set_name) X(Type_size) X(Type_size_x)                \
    X(Type_struct) X(Type_ub) X(Type_vector) X(Unpack) X(Unpack_external) X(Unpublish_name) X(Wait)            \
    X(Waitall) X(Waitany) X(Waitsome) X(Win_allocate) X(Win_allocate_shared) X(Win_attach) X(Win_c2f)          \
    X(Win_call_errhandler) X(Win_complete) X(Win_create) X(Win_create_dynamic) X(Win_create_errhandler)        \
    X(Win_create_keyval) X(Win_delete_attr) X(Win_detach) X(Win_f2c) X(Win_fence) X(Win_flush)                 \
    X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all) X(Win_free) X(Win_free_keyval)                  \
    X(Win_get_attr) X(Win_get_errhandler) X(Win_get_group) X(Win_get_info) X(Win_get_name) X(Win_lock)         \
    X(Win_lock_all) X(Win_post) X(Win_set_attr) X(Win_set_errhandler) X(Win_set_info) X(Win_set_name)          \
    X(Win_shared_query) X(Win_start) X(Win_sync) X(Win_test) X(Win_unlock) X(Win_unlock_all) X(Win_wait)       \
    X(Wtick) X(Wtime)

enum {
#define AS_ENUM(f) F_##f,
    FUNCTIONS(AS_ENUM) FUNCTION_COUNT
};

static const char *const names[] = {
#define AS_NAME(f) "PMPI_" #f,
    FUNCTIONS(AS_NAME)
};

/* Read by the wrappers below, by name. */
__attribute__((visibility("hidden"))) void *many_pmpi_next[FUNCTION_COUNT];
__attribute__((visibility("hidden"))) long many_pmpi_calls[2];

#define AS_WRAPPER(f) WRAPPER(0, "MPI_" #f, f) WRAPPER(8, "PMPI_" #f, f)
#define WRAPPER(counter, name, f)                                                                              \
    __asm__(".text\n"                                                                                          \
            ".globl " name "\n"                                                                                \
            ".type " name ", %function\n" name ":\n"                                                           \
            COUNT_AND_JUMP(counter, f)                                                                         \
            ".size " name ", . - " name "\n");
#if defined(__x86_64__)
#define COUNT_AND_JUMP(counter, f)                                                                             \
    "    lock incq many_pmpi_calls+" #counter "(%rip)\n"                                                       \
    "    leaq many_pmpi_next(%rip), %r11\n"                                                                    \
    "    jmp *many_pmpi_offset_" #f "(%r11)\n"
#elif defined(__aarch64__)
#define COUNT_AND_JUMP(counter, f)                                                                             \
    "    adrp x9, many_pmpi_calls+" #counter "\n"                                                              \
    "    add x9, x9, :lo12:many_pmpi_calls+" #counter "\n"                                                     \
    "1:  ldxr x10, [x9]\n"                                                                                     \
    "    add x10, x10, 1\n"                                                                                    \
    "    stxr w11, x10, [x9]\n"                                                                                \
    "    cbnz w11, 1b\n"                                                                                       \
    "    adrp x9, many_pmpi_next\n"                                                                            \
    "    add x9, x9, :lo12:many_pmpi_next\n"                                                                   \
    "    ldr x16, [x9, many_pmpi_offset_" #f "]\n"                                                             \
    "    br x16\n"
#endif

/* Where the pointer of each function is, as a number that the assembler knows. */
__asm__(".set many_pmpi_number, 0\n");
#define AS_OFFSET(f)                                                                                           \
    __asm__(".set many_pmpi_offset_" #f ", many_pmpi_number\n"                                                 \
            ".set many_pmpi_number, many_pmpi_number + 8\n");
FUNCTIONS(AS_OFFSET)
FUNCTIONS(AS_WRAPPER)

__attribute__((constructor)) static void find_next(void)
{
    for (int f = 0; f < FUNCTION_COUNT; f++)
        many_pmpi_next[f] = dlsym(RTLD_NEXT, names[f]);
}

/* Again: a stack may be there by now. */
static int init(const char *name, int *argc, char ***argv, int *wanted, int *got)
{
    find_next();
    if (!wanted) {
        int (*next)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, name);
        return next(argc, argv);
    }
    int (*next)(int *, char ***, int, int *) = (int (*)(int *, char ***, int, int *))dlsym(RTLD_NEXT, name);
    return next(argc, argv, *wanted, got);
}

int PMPI_Init(int *argc, char ***argv) { return init("PMPI_Init", argc, argv, NULL, NULL); }

int PMPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    return init("PMPI_Init_thread", argc, argv, &wanted, got);
}

int MPI_Init(int *argc, char ***argv)
{
    many_pmpi_calls[0]++;
    return init("PMPI_Init", argc, argv, NULL, NULL);
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    many_pmpi_calls[0]++;
    return init("PMPI_Init_thread", argc, argv, &wanted, got);
}

int PMPI_Finalize(void)
{
    int (*finalize)(void) = (int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize");
    return finalize();
}

int MPI_Finalize(void)
{
    int (*comm_rank)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))many_pmpi_next[F_Comm_rank];
    int rank = -1;
    if (comm_rank)
        comm_rank(MPI_COMM_WORLD, &rank);
    else
        fail("dlsym(RTLD_NEXT, \"PMPI_Comm_rank\") is NULL");
    verdict_calls = (int)many_pmpi_calls[0] + 1;
    if (many_pmpi_calls[1] != 0)
        fail("%ld calls came to its PMPI functions", many_pmpi_calls[1]);
    verdict_with("many_pmpi", rank, "functions=%d", FUNCTION_COUNT + 3);
    return PMPI_Finalize();
}
