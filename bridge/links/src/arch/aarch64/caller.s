// Stubs that keep the application's return address across PMPI tools, or look it up, by functions of `caller.rs`.

// Tells a function of `caller.rs`: the context in x0, the stack pointer and the return address of the call. Keeps x17.
.macro qmpi_tell function
    qmpi_keep_arguments
    str x17, [x29, 88]
    add x1, x29, 224
    mov x2, x30
    bl \function
    ldr x17, [x29, 88]
    qmpi_restore_arguments
.endm

// In x9: the context that `recall` finds, else that of the payload in x17, else the return address.
.macro qmpi_recall
    qmpi_keep_arguments
    str x17, [x29, 88]
    add x0, x29, 224
    bl {recall}
    ldr x17, [x29, 88]
    ldr x9, [x17, {word}]
    ldr x10, [x29, 8]
    cmp x9, 0
    csel x9, x10, x9, eq
    cmp x0, 0
    csel x9, x9, x0, eq
    qmpi_restore_arguments
.endm
