/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: what a function may expect to find again after a call (x86-64 psABI, section 3.2.1):
 * rbx, rbp, r12 to r15, the control words of SSE and x87, the stack; and the thread pointer. Laid
 * on the stack they are:   rsp -> control words, r15, r14, r13, r12, rbx, rbp, return address.
 *
 * Offsets are those of context.hpp, which checks them.
 */
#define CONTEXT_STACK 0
#define CONTEXT_THREAD 8
#define BIRTH_BED 16
#define BIRTH_WORD 24

#define WORD_BORN 1
#define WORD_HOME 2

#define SYS_ARCH_PRCTL 158
#define ARCH_SET_FS 0x1002
#define SYS_FUTEX 202
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

    .text

    .macro SAVE_REGISTERS
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r12, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r13, 0
    pushq %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r14, 0
    pushq %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r15, 0
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    .endm

    .macro RESTORE_REGISTERS_AND_RETURN
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r15
    .cfi_adjust_cfa_offset -8
    popq %r14
    .cfi_adjust_cfa_offset -8
    popq %r13
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    popq %rbx
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    /* Not ret: its prediction would be the address from which the other side was called. */
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rcx
    jmpq *%rcx
    .endm

/* void headway_ult_switch(Context* from, const Context* to) */
    .globl headway_ult_switch
    .hidden headway_ult_switch
    .type headway_ult_switch, @function
    .align 32
headway_ult_switch:
    .cfi_startproc
    SAVE_REGISTERS
    movq %rsp, CONTEXT_STACK(%rdi)
    movq CONTEXT_STACK(%rsi), %rsp
    movq CONTEXT_THREAD(%rsi), %rsi
    cmpb $0, headway_ult_has_wrfsbase(%rip)
    je 1f
    wrfsbase %rsi
    RESTORE_REGISTERS_AND_RETURN
    .cfi_endproc
    .cfi_startproc
    .cfi_def_cfa_offset 64
1:  movl $ARCH_SET_FS, %edi
    movl $SYS_ARCH_PRCTL, %eax
    syscall
    RESTORE_REGISTERS_AND_RETURN
    .cfi_endproc
    .size headway_ult_switch, . - headway_ult_switch

/*
 * void headway_ult_give_birth(Birth* birth)
 *
 * The thread leaves its stack and its thread-locals to the context and sleeps on another stack,
 * where it touches neither, until it may have them back: then it goes on where the context was
 * left last.
 */
    .globl headway_ult_give_birth
    .hidden headway_ult_give_birth
    .type headway_ult_give_birth, @function
    .align 32
headway_ult_give_birth:
    .cfi_startproc
    SAVE_REGISTERS
    movq %rsp, CONTEXT_STACK(%rdi)
    movq %rdi, %rbx
    movq BIRTH_BED(%rbx), %rsp
    .cfi_undefined rip
    movl $WORD_BORN, BIRTH_WORD(%rbx)
    leaq BIRTH_WORD(%rbx), %rdi
    movl $FUTEX_WAKE, %esi
    movl $0x7fffffff, %edx
    movl $SYS_FUTEX, %eax
    syscall
2:  cmpl $WORD_HOME, BIRTH_WORD(%rbx)
    je 3f
    leaq BIRTH_WORD(%rbx), %rdi
    movl $FUTEX_WAIT, %esi
    movl $WORD_BORN, %edx
    xorl %r10d, %r10d
    movl $SYS_FUTEX, %eax
    syscall
    jmp 2b
    .cfi_endproc
    .cfi_startproc
    .cfi_def_cfa_offset 64
3:  movq CONTEXT_STACK(%rbx), %rsp
    RESTORE_REGISTERS_AND_RETURN
    .cfi_endproc
    .size headway_ult_give_birth, . - headway_ult_give_birth

    .section .note.GNU-stack, "", @progbits
