// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda.so.1, or with FAKE_HIP for libamdhip64.so.6: "device memory" is what
// fake_allocate() gives, which nobody can read; managed memory is what fake_allocate_managed()
// gives.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { bytes = 1 << 20, device = 2, invalid_value = 1, attribute_memory_type = 2 };

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

static int is_inside(const char* area, uintptr_t address)
{
    return area != NULL && address - (uintptr_t)area < bytes;
}

#ifdef FAKE_HIP

int hipRuntimeGetVersion(int* version)
{
    *version = 60342134;
    return 0;
}

int hipPointerGetAttribute(void* data, int attribute, void* pointer)
{
    enum { managed_type = 3 };
    const int is_managed = is_inside(managed, (uintptr_t)pointer);
    if (attribute != attribute_memory_type ||
        (!is_managed && !is_inside(memory, (uintptr_t)pointer)))
        return invalid_value;
    *(unsigned*)data = is_managed ? managed_type : device;
    return 0;
}

#else

int cuPointerGetAttribute(void* data, int attribute, unsigned long long pointer)
{
    enum { attribute_is_managed = 8 };
    const int is_managed = is_inside(managed, (uintptr_t)pointer);
    if (!is_managed && !is_inside(memory, (uintptr_t)pointer))
        return invalid_value;
    if (attribute == attribute_memory_type)
        *(unsigned*)data = device;
    else if (attribute == attribute_is_managed)
        *(unsigned*)data = (unsigned)is_managed;
    else
        return invalid_value;
    return 0;
}

#endif
