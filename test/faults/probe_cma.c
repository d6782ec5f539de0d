// SPDX-License-Identifier: Apache-2.0
// Exit code 0 if process_vm_readv answers EPERM, 1 if it works: shows that the filter is on.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
    char out = 1, in = 0;
    struct iovec to = {&in, 1}, from = {&out, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == EPERM ? 0 : 1;
}
