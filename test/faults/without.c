// SPDX-License-Identifier: Apache-2.0
// without CALLS PROGRAM ARGUMENTS...: runs the program with some system calls failing, as under the
// seccomp profiles of containers. CALLS: "cma" (process_vm_readv and process_vm_writev) or "memfd"
// (memfd_create).
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** arguments)
{
    if (count < 3) {
        fprintf(stderr, "without: name system calls and a program to run\n");
        return 2;
    }
    const int is_memfd = strcmp(arguments[1], "memfd") == 0;
    const unsigned first = is_memfd ? SYS_memfd_create : SYS_process_vm_readv;
    const unsigned second = is_memfd ? SYS_memfd_create : SYS_process_vm_writev;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("without: the filter cannot be installed");
        return 77;
    }
    execvp(arguments[2], arguments + 2);
    perror("without: the program cannot be run");
    return 127;
}
