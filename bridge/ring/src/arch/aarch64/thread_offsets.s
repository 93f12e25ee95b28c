// The offsets of the thread-local variables, four words, where `x8` says (AAPCS64 6.9).
    .cfi_startproc
    adrp x9, :gottprel:qmpi_caller
    ldr x9, [x9, :gottprel_lo12:qmpi_caller]
    str x9, [x8, {caller}]
    adrp x9, :gottprel:qmpi_level
    ldr x9, [x9, :gottprel_lo12:qmpi_level]
    str x9, [x8, {fortran_level}]
    adrp x9, :gottprel:qmpi_own
    ldr x9, [x9, :gottprel_lo12:qmpi_own]
    str x9, [x8, {own_calls}]
    adrp x9, :gottprel:qmpi_past
    ldr x9, [x9, :gottprel_lo12:qmpi_past]
    str x9, [x8, {past}]
    ret
    .cfi_endproc
