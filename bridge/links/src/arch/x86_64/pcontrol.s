// `MPI_Pcontrol(level, ...)`: calls the tool, then goes on to the next link. All that can hold an argument is kept: six registers, eight vector
// registers (psABI 3.5.7; `al` counts them) and twelve words of the stack.
//
//     rbp+16  the caller's stack arguments      rsp+160  xmm0..xmm7
//     rbp+8   return address                    rsp+96   rdi rsi rdx rcx r8 r9 rax r11
//     rbp     saved rbp                         rsp      copy of twelve stack words

.pushsection .text.qmpi_pcontrol, "ax", @progbits
qmpi_function qmpi_pcontrol
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 288
    mov [rsp + 96], rdi
    mov [rsp + 104], rsi
    mov [rsp + 112], rdx
    mov [rsp + 120], rcx
    mov [rsp + 128], r8
    mov [rsp + 136], r9
    mov [rsp + 144], rax
    mov [rsp + 152], r11
    movups [rsp + 160], xmm0
    movups [rsp + 176], xmm1
    movups [rsp + 192], xmm2
    movups [rsp + 208], xmm3
    movups [rsp + 224], xmm4
    movups [rsp + 240], xmm5
    movups [rsp + 256], xmm6
    movups [rsp + 272], xmm7
    qmpi_copy_words 12, 304
    call qword ptr [r11 + {tool}]
    movups xmm0, [rsp + 160]
    movups xmm1, [rsp + 176]
    movups xmm2, [rsp + 192]
    movups xmm3, [rsp + 208]
    movups xmm4, [rsp + 224]
    movups xmm5, [rsp + 240]
    movups xmm6, [rsp + 256]
    movups xmm7, [rsp + 272]
    mov rdi, [rsp + 96]
    mov rsi, [rsp + 104]
    mov rdx, [rsp + 112]
    mov rcx, [rsp + 120]
    mov r8, [rsp + 128]
    mov r9, [rsp + 136]
    mov rax, [rsp + 144]
    mov r11, [rsp + 152]
    leave
    .cfi_def_cfa rsp, 8
    jmp qword ptr [r11 + {next}]
    qmpi_copy_words_across_pages 12, 304
qmpi_end qmpi_pcontrol
.popsection
