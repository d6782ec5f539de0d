// SPDX-License-Identifier: Apache-2.0
// A stand-in for libamdhip64.so.6, as fake_cuda.c.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { bytes = 1 << 20, device = 2, managed_type = 3, invalid_value = 1, memory_type = 2 };

static char *memory, *managed;

void* fake_allocate(void)
{
    if (memory == NULL)
        memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory;
}

void* fake_allocate_managed(void)
{
    if (managed == NULL)
        managed = calloc(1, bytes);
    return managed;
}

int hipRuntimeGetVersion(int* version)
{
    *version = 60342134;
    return 0;
}

int hipPointerGetAttribute(void* data, int attribute, void* pointer)
{
    const uintptr_t address = (uintptr_t)pointer;
    if (attribute != memory_type)
        return invalid_value;
    if (managed != NULL && address - (uintptr_t)managed < bytes)
        *(unsigned*)data = managed_type;
    else if (memory != NULL && address - (uintptr_t)memory < bytes)
        *(unsigned*)data = device;
    else
        return invalid_value;
    return 0;
}
