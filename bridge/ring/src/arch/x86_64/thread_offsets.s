// The offsets of the thread-local variables, four words, where `rdi` says, which `rax` returns (psABI 3.2.3).
    .cfi_startproc
    mov rax, rdi
    mov rcx, qword ptr [rip + qmpi_caller@GOTTPOFF]
    mov qword ptr [rax + {caller}], rcx
    mov rcx, qword ptr [rip + qmpi_level@GOTTPOFF]
    mov qword ptr [rax + {fortran_level}], rcx
    mov rcx, qword ptr [rip + qmpi_own@GOTTPOFF]
    mov qword ptr [rax + {own_calls}], rcx
    mov rcx, qword ptr [rip + qmpi_past@GOTTPOFF]
    mov qword ptr [rax + {past}], rcx
    ret
    .cfi_endproc
