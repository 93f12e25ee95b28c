// Stubs in front of functions of the MPI library that start or complete requests. As long as there is nothing to watch for they are a jump.
// Otherwise the function is called from a frame, with CFI:
//
//     rbp+16      the caller's stack arguments
//     rbp+8       return address
//     rbp         saved rbp
//     rbp-`size`  `Watched`: rdi rsi rdx rcx r8 r9, what the two functions of Rust tell each other, the payload, the result
//     rsp         copy of the stack arguments

// Makes the frame, with the payload in it.
.macro qmpi_watch_enter
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, {size}
    mov [rbp - {size}], rdi
    mov [rbp - {size} + 8], rsi
    mov [rbp - {size} + 16], rdx
    mov [rbp - {size} + 24], rcx
    mov [rbp - {size} + 32], r8
    mov [rbp - {size} + 40], r9
    mov [rbp - {size} + {watch}], r11
.endm

// Calls the function with the arguments, and stores its result.
.macro qmpi_watch_call
    mov r11, [rbp - {size} + {watch}]
    mov rcx, qword ptr [r11 + {words}]
    lea rax, [rcx + 1]
    and rax, -2
    shl rax, 3
    sub rsp, rax
    test rcx, rcx
    jz 4f
3:
    mov rax, [rbp + 8 + 8 * rcx]
    mov [rsp - 8 + 8 * rcx], rax
    dec rcx
    jnz 3b
4:
    mov rdi, [rbp - {size}]
    mov rsi, [rbp - {size} + 8]
    mov rdx, [rbp - {size} + 16]
    mov rcx, [rbp - {size} + 24]
    mov r8, [rbp - {size} + 32]
    mov r9, [rbp - {size} + 40]
    call qword ptr [r11 + {target}]
    mov [rbp - {size} + {result}], rax
.endm

// Returns the result.
.macro qmpi_watch_leave
    mov rax, [rbp - {size} + {result}]
    leave
    .cfi_def_cfa rsp, 8
    ret
.endm

.pushsection .text.qmpi_requests, "ax", @progbits
qmpi_function qmpi_watch_start
    mov r10, qword ptr [rip + {active}]
    cmp dword ptr [r10], 0
    jne 2f
    jmp qword ptr [r11 + {target}]
2:
    qmpi_watch_enter
    qmpi_watch_call
    lea rdi, [rbp - {size}]
    call {after_start}
    qmpi_watch_leave
qmpi_end qmpi_watch_start

qmpi_function qmpi_watch_completion
    cmp qword ptr [rip + {count}], 0
    jne 2f
    jmp qword ptr [r11 + {target}]
2:
    qmpi_watch_enter
    lea rdi, [rbp - {size}]
    call {before}
    qmpi_watch_call
    lea rdi, [rbp - {size}]
    call {after_completion}
    qmpi_watch_leave
qmpi_end qmpi_watch_completion
.popsection
