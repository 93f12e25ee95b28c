// Copies words that may be arguments from the caller's stack, as many as can be read. The words begin right above the stub's own frame: how far
// its page goes they can be read. The kernel says whether the next page can: `rt_sigprocmask` reads the new mask there before it looks at
// `how`, which is invalid.

// Copies words from r10 to where the stack pointer was before the call.
//
//     rsp+72  the words' place
//     rsp+64  return address
//     rsp+56  how many words
//     rsp     rsi rdi rdx rcx rax r11 r10
.macro qmpi_copy_readable words
qmpi_function qmpi_copy_readable_\words
    push \words
    .cfi_adjust_cfa_offset 8
    .irp register, r10, r11, rax, rcx, rdx, rdi, rsi
        push \register
        .cfi_adjust_cfa_offset 8
    .endr
    // The page behind that of the return address, whose last byte lies before the first word.
    lea rsi, [r10 - 1]
    or rsi, {smallest_page} - 1
    inc rsi
    mov eax, {rt_sigprocmask}
    mov rdi, -1
    xor edx, edx
    mov r10d, {kernel_sigset_size}
    syscall
    mov r10, qword ptr [rsp + 48]
    mov ecx, dword ptr [rsp + 56]
    cmp rax, -{efault}
    jne 2f
    mov rcx, rsi
    sub rcx, r10
    shr rcx, 3
2:
    mov rsi, r10
    lea rdi, [rsp + 72]
    rep movsq
    .irp register, rsi, rdi, rdx, rcx, rax, r11, r10
        pop \register
        .cfi_adjust_cfa_offset -8
    .endr
    add rsp, 8
    .cfi_adjust_cfa_offset -8
    ret
qmpi_end qmpi_copy_readable_\words
.endm

.pushsection .text.qmpi_copy_readable, "ax", @progbits
    qmpi_copy_readable 12
    qmpi_copy_readable 14
    qmpi_copy_readable 18
.popsection
