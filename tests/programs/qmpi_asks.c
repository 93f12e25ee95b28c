//# role: companion
//# kind: qmpi
//# lang: c
//# mpi: both
/* asks: a QMPI tool that asks QMPI_Get_function in every call, and says where its own code calls that: `asks: directly`, or
 * `asks: by the table` of its linkage. */
#include "qmpi.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int calls;

static int asks_Barrier(QMPI_Context context, int tool, MPI_Comm comm)
{
    void (*next)(void);
    int next_tool;
    if (QMPI_Get_function(tool, MPI_BARRIER_T, &next, &next_tool) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    calls++;
    return ((QMPI_Barrier_t *)next)(context, next_tool, comm);
}

/* Which of both the first call in this function leads to. */
#ifdef __aarch64__
static const char *path(const unsigned char *code)
{
    for (int place = 0; place < 128; place += 4) {
        uint32_t word;
        memcpy(&word, code + place, sizeof word);
        /* bl: 26 bits with a sign, words from here */
        if ((word & 0xfc000000) != 0x94000000)
            continue;
        const unsigned char *target = code + place + ((int32_t)(word << 6) >> 6) * 4L;
        return target == (const unsigned char *)(uintptr_t)QMPI_Get_function ? "directly" : "by the table";
    }
    return "nowhere";
}
#else
static const char *path(const unsigned char *code)
{
    const unsigned char *table;
    __asm__("lea QMPI_Get_function@PLT(%%rip), %0" : "=r"(table));
    for (int place = 0; place < 128; place++) {
        int32_t relative;
        memcpy(&relative, code + place + 1, sizeof relative);
        const unsigned char *target = code + place + 1 + sizeof relative + relative;
        if (code[place] == 0xe8 && target == table)
            return "by the table";
        if (code[place] == 0xe8 && target == (const unsigned char *)(uintptr_t)QMPI_Get_function)
            return "directly";
    }
    return "nowhere";
}
#endif

static int asks_Finalize(QMPI_Context context, int tool)
{
    void (*next)(void);
    int next_tool;
    /* A number of no function, and a tool that there is not. */
    if (QMPI_Get_function(tool, 1 << 20, &next, &next_tool) == MPI_SUCCESS
        || QMPI_Get_function(1 << 20, MPI_BARRIER_T, &next, &next_tool) == MPI_SUCCESS
        || QMPI_Get_function(tool, MPI_BARRIER_T, NULL, &next_tool) == MPI_SUCCESS)
        fputs("asks: an answer to a wrong question\n", stdout);
    if (calls > 0)
        printf("asks: %s\n", path((const unsigned char *)(uintptr_t)asks_Barrier));
    if (QMPI_Get_function(tool, MPI_FINALIZE_T, &next, &next_tool) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    return ((QMPI_Finalize_t *)next)(context, next_tool);
}

static void initialize(int tool)
{
    QMPI_Register_function(tool, MPI_BARRIER_T, (void (*)(void))asks_Barrier);
    QMPI_Register_function(tool, MPI_FINALIZE_T, (void (*)(void))asks_Finalize);
}

__attribute__((constructor)) static void announce(void) { QMPI_Register_tool_name("asks", initialize); }
