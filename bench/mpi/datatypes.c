// SPDX-License-Identifier: Apache-2.0
// Elements with gaps: MPI_Pack and MPI_Unpack of twelve layouts, and a ping-pong of the same ones.
// With --by-hand the layouts are packed by the loops a program would write itself, compiled for
// each of them: what a library could reach if it knew the layout when it was compiled.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum {
    page = 4096,
    memory_most = 64 << 20,
    payload_bytes = 1 << 20,
    grid = 128,       // doubles along each edge of a cube
    records = 32768,  // of the arrays of structs
    blocks = 16384    // of the irregular layouts
};

typedef struct {
    int number;
    double place[3];
    char kind;
} Particle;

typedef struct {
    double value;
    int index;
} Pair;

typedef struct Layout Layout;

typedef void (*CopyByHand)(const Layout* layout, unsigned char* memory, unsigned char* packed);

struct Layout {
    const char* name;
    MPI_Datatype type;
    int count;
    int packed_bytes;
    long stride;   // doubles, of vectors
    int* lengths;  // doubles, of irregular layouts
    int* places;   // doubles
    CopyByHand pack;
    CopyByHand unpack;
};

// A pair of loops, one in each direction.
#define BOTH_WAYS(name, ...)                                                                      \
    static void pack_##name(const Layout* layout, unsigned char* memory, unsigned char* packed)   \
    {                                                                                             \
        enum { is_pack = 1 };                                                                     \
        __VA_ARGS__                                                                               \
    }                                                                                             \
    static void unpack_##name(const Layout* layout, unsigned char* memory, unsigned char* packed) \
    {                                                                                             \
        enum { is_pack = 0 };                                                                     \
        __VA_ARGS__                                                                               \
    }

// One item, from the element to the stream or back.
#define MOVE(inside, outside) (is_pack ? ((outside) = (inside)) : ((inside) = (outside)))

BOTH_WAYS(vector, {
    double* const inside = (double*)memory;
    double* const outside = (double*)packed;
    for (long i = 0; i < layout->count; ++i)
        MOVE(inside[i * layout->stride], outside[i]);
})

BOTH_WAYS(face_x, {  // the plane between neighbours in the slowest direction: dense
    (void)layout;
    if (is_pack)
        memcpy(packed, memory, sizeof(double) * grid * grid);
    else
        memcpy(memory, packed, sizeof(double) * grid * grid);
})

BOTH_WAYS(face_y, {
    (void)layout;
    double* const inside = (double*)memory;
    double* outside = (double*)packed;
    for (int x = 0; x < grid; ++x)
        for (int z = 0; z < grid; ++z)
            MOVE(inside[(long)x * grid * grid + z], *outside), ++outside;
})

BOTH_WAYS(face_z, {
    (void)layout;
    double* const inside = (double*)memory;
    double* outside = (double*)packed;
    for (int x = 0; x < grid; ++x)
        for (int y = 0; y < grid; ++y)
            MOVE(inside[((long)x * grid + y) * grid], *outside), ++outside;
})

BOTH_WAYS(cube, {
    (void)layout;
    double* const inside = (double*)memory;
    double* outside = (double*)packed;
    for (int x = 1; x < grid / 2 + 1; ++x)
        for (int y = 1; y < grid / 2 + 1; ++y)
            for (int z = 1; z < grid / 2 + 1; ++z)
                MOVE(inside[((long)x * grid + y) * grid + z], *outside), ++outside;
})

#define MEMBER(member)                                              \
    do {                                                            \
        if (is_pack)                                                \
            memcpy(packed, &record->member, sizeof record->member); \
        else                                                        \
            memcpy(&record->member, packed, sizeof record->member); \
        packed += sizeof record->member;                            \
    } while (0)

BOTH_WAYS(particles, {
    for (int i = 0; i < layout->count; ++i) {
        Particle* const record = (Particle*)memory + i;
        MEMBER(number);
        MEMBER(place);
        MEMBER(kind);
    }
})

BOTH_WAYS(pairs, {
    for (int i = 0; i < layout->count; ++i) {
        Pair* const record = (Pair*)memory + i;
        MEMBER(value);
        MEMBER(index);
    }
})

BOTH_WAYS(blocks, {
    double* const inside = (double*)memory;
    double* outside = (double*)packed;
    for (int i = 0; i < blocks; ++i)
        for (int k = 0; k < layout->lengths[i]; ++k)
            MOVE(inside[layout->places[i] + k], *outside), ++outside;
})

// MPI's names for the same layouts.

static MPI_Datatype struct_of(int members, const int* lengths, const MPI_Aint* places,
                              const MPI_Datatype* types, size_t extent)
{
    MPI_Datatype tight = MPI_DATATYPE_NULL;
    MPI_Datatype padded = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(members, lengths, places, types, &tight);
    MPI_Type_create_resized(tight, 0, (MPI_Aint)extent, &padded);
    MPI_Type_free(&tight);
    return padded;
}

static MPI_Datatype particle_type(void)
{
    const int lengths[] = {1, 3, 1};
    const MPI_Aint places[] = {offsetof(Particle, number), offsetof(Particle, place),
                               offsetof(Particle, kind)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    return struct_of(3, lengths, places, types, sizeof(Particle));
}

static MPI_Datatype pair_type(void)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {offsetof(Pair, value), offsetof(Pair, index)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
    return struct_of(2, lengths, places, types, sizeof(Pair));
}

static MPI_Datatype part_of_grid(const int sizes[3], const int starts[3])
{
    const int all[] = {grid, grid, grid};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(3, all, sizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

// Blocks of 1 to 5 doubles with gaps of 1 to 7.
static MPI_Datatype irregular(Layout* layout)
{
    unsigned seed = 12345;
    int place = 0;
    layout->lengths = malloc(sizeof(int) * blocks);
    layout->places = malloc(sizeof(int) * blocks);
    for (int i = 0; i < blocks; ++i) {
        seed = seed * 1664525U + 1013904223U;
        layout->lengths[i] = 1 + (int)(seed >> 16) % 5;
        layout->places[i] = place;
        place += layout->lengths[i] + 1 + (int)(seed >> 24) % 7;
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_indexed(blocks, layout->lengths, layout->places, MPI_DOUBLE, &type);
    return type;
}

static Layout vector_layout(const char* name, long stride)
{
    Layout layout = {.name = name, .stride = stride, .pack = pack_vector, .unpack = unpack_vector};
    MPI_Datatype tight = MPI_DATATYPE_NULL;
    MPI_Type_vector(1, 1, 1, MPI_DOUBLE, &tight);
    // Elements of one double each, `stride` apart, as many as payload and memory allow.
    MPI_Type_create_resized(tight, 0, stride * (long)sizeof(double), &layout.type);
    MPI_Type_free(&tight);
    const long most = memory_most / (long)sizeof(double) / stride;
    layout.count = (int)(payload_bytes / (long)sizeof(double));
    if (layout.count > most)
        layout.count = (int)most;
    return layout;
}

enum { layout_count = 12 };

static void describe(Layout layouts[layout_count])
{
    static const int half[] = {grid / 2, grid / 2, grid / 2};
    static const int one[] = {1, 1, 1};
    static const int origin[] = {0, 0, 0};
    static const int x_plane[] = {1, grid, grid};
    static const int y_plane[] = {grid, 1, grid};
    static const int z_plane[] = {grid, grid, 1};
    Layout* next = layouts;
    *next++ = vector_layout("stride 1", 1);
    *next++ = vector_layout("stride 2", 2);
    *next++ = vector_layout("stride 16", 16);
    *next++ = vector_layout("stride 512", 512);
    *next++ = vector_layout("stride 4096", 4096);
    *next++ = (Layout){.name = "face x",
                       .type = part_of_grid(x_plane, origin),
                       .count = 1,
                       .pack = pack_face_x,
                       .unpack = unpack_face_x};
    *next++ = (Layout){.name = "face y",
                       .type = part_of_grid(y_plane, origin),
                       .count = 1,
                       .pack = pack_face_y,
                       .unpack = unpack_face_y};
    *next++ = (Layout){.name = "face z",
                       .type = part_of_grid(z_plane, origin),
                       .count = 1,
                       .pack = pack_face_z,
                       .unpack = unpack_face_z};
    *next++ = (Layout){.name = "cube",
                       .type = part_of_grid(half, one),
                       .count = 1,
                       .pack = pack_cube,
                       .unpack = unpack_cube};
    *next++ = (Layout){.name = "structs",
                       .type = particle_type(),
                       .count = records,
                       .pack = pack_particles,
                       .unpack = unpack_particles};
    *next++ = (Layout){.name = "pairs",
                       .type = pair_type(),
                       .count = records,
                       .pack = pack_pairs,
                       .unpack = unpack_pairs};
    *next = (Layout){.name = "blocks", .count = 1, .pack = pack_blocks, .unpack = unpack_blocks};
    next->type = irregular(next);
    for (int i = 0; i < layout_count; ++i) {
        MPI_Type_commit(&layouts[i].type);
        int element_bytes = 0;
        MPI_Type_size(layouts[i].type, &element_bytes);
        layouts[i].packed_bytes = element_bytes * layouts[i].count;
    }
}

static void forget(Layout layouts[layout_count])
{
    for (int i = 0; i < layout_count; ++i) {
        MPI_Type_free(&layouts[i].type);
        free(layouts[i].lengths);
        free(layouts[i].places);
    }
}

typedef struct {
    const Harness* harness;
    const Layout* layout;
    unsigned char* memory;
    unsigned char* packed;
    int is_pack;
} Work;

static void by_mpi(void* context, long repeats)
{
    const Work* const work = context;
    const Layout* const layout = work->layout;
    for (long i = 0; i < repeats; ++i) {
        int position = 0;
        if (work->is_pack) {
            MPI_Pack(work->memory, layout->count, layout->type, work->packed, layout->packed_bytes,
                     &position, MPI_COMM_SELF);
        } else {
            MPI_Unpack(work->packed, layout->packed_bytes, &position, work->memory, layout->count,
                       layout->type, MPI_COMM_SELF);
        }
    }
}

static void by_hand(void* context, long repeats)
{
    const Work* const work = context;
    for (long i = 0; i < repeats; ++i)
        (work->is_pack ? work->layout->pack : work->layout->unpack)(work->layout, work->memory,
                                                                    work->packed);
}

static void ping_pong(void* context, long repeats)
{
    const Work* const work = context;
    const Layout* const layout = work->layout;
    const int rank = work->harness->rank;
    const MPI_Comm comm = work->harness->comm;
    for (long i = 0; i < repeats; ++i) {
        if (rank == 0)
            MPI_Send(work->memory, layout->count, layout->type, 1, 1, comm);
        MPI_Recv(work->memory, layout->count, layout->type, 1 - rank, 1, comm, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(work->memory, layout->count, layout->type, 0, 1, comm);
    }
}

static unsigned char pattern(size_t index)
{
    return (unsigned char)(7 * index + index / 251 + 1);
}

// The library packs and unpacks what the loops do: a figure of one that does not is worth nothing.
static void verify(Work work)
{
    const size_t bytes = (size_t)work.layout->packed_bytes;
    unsigned char* const expected = malloc(bytes);
    if (expected == NULL)
        harness_fail(work.harness, "no memory");
    for (size_t i = 0; i < memory_most; ++i)
        work.memory[i] = pattern(i);
    work.layout->pack(work.layout, work.memory, expected);
    work.is_pack = 1;
    by_mpi(&work, 1);
    if (memcmp(expected, work.packed, bytes) != 0)
        harness_fail(work.harness, "MPI_Pack made other bytes than a loop");
    for (size_t i = 0; i < bytes; ++i)
        work.packed[i] = (unsigned char)~work.packed[i];
    work.is_pack = 0;
    by_mpi(&work, 1);
    work.layout->pack(work.layout, work.memory, expected);
    if (memcmp(expected, work.packed, bytes) != 0)
        harness_fail(work.harness, "MPI_Unpack put bytes elsewhere than a loop");
    free(expected);
}

static void measure(Work work, const char* verb, HarnessStep step)
{
    static double samples_us[harness_samples_max];
    char name[64];
    snprintf(name, sizeof name, "%s %s", verb, work.layout->name);
    if (!harness_wants(work.harness, name))
        return;
    verify(work);
    const int count = harness_sample(work.harness, step, &work, samples_us);
    for (int i = 0; step == ping_pong && i < count; ++i)
        samples_us[i] /= 2;  // one way
    harness_emit(work.harness, name, "time_us", "us", samples_us, count);
}

// Whether --by-hand is among the arguments, which are closed behind it.
static int take_by_hand(int* argc, char** argv)
{
    for (int i = 1; i < *argc; ++i) {
        if (strcmp(argv[i], "--by-hand") != 0)
            continue;
        for (int k = i; k < *argc; ++k)
            argv[k] = argv[k + 1];
        --*argc;
        return 1;
    }
    return 0;
}

int main(int argc, char** argv)
{
    Harness harness;
    const int is_by_hand = take_by_hand(&argc, argv);
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    if (harness.ranks > 2)
        harness_fail(&harness, "datatypes needs 1 rank, or 2 for ping-pongs: mpiexec -n 2");
    void* memory = NULL;
    void* packed = NULL;
    if (posix_memalign(&memory, page, memory_most) != 0 ||
        posix_memalign(&packed, page, (size_t)4 << 20) != 0)
        harness_fail(&harness, "no memory");
    Layout layouts[layout_count];
    describe(layouts);
    for (int i = 0; i < layout_count; ++i) {
        Work work = {&harness, &layouts[i], memory, packed, 1};
        if (harness.ranks == 2) {
            measure(work, "ping-pong", ping_pong);
            continue;
        }
        measure(work, "pack", is_by_hand ? by_hand : by_mpi);
        work.is_pack = 0;
        measure(work, "unpack", is_by_hand ? by_hand : by_mpi);
    }
    forget(layouts);
    free(memory);
    free(packed);
    return harness_end(&harness);
}
