// SPDX-License-Identifier: Apache-2.0
// Random datatypes by seed: nests of all constructors against their type maps. Size and bounds;
// what MPI_Pack makes of them; MPI_Unpack into another random type of the same signature, and a
// message from one to the other, both ways where elements do not overlap. Bytes in gaps keep their
// values.
//
// CHECK_SEED first seed, CHECK_SEEDS how many.
#include "random_types.h"

enum { depth_max = 4, counts = 4, tag = 4, filler = 0xC3 };

// Memory of some elements of a type; `address` is that of the first one.
struct area {
    MPI_Aint begin;
    size_t bytes;
    unsigned char* memory;
    void* address;
};

static struct model make_leaf(int basic)
{
    struct model m = {
        .type = basic_of(basic).type, .is_basic = 1, .alignment = basic_of(basic).alignment};
    model_add(&m, 0, basic);
    return m;
}

static void release(struct check* t, struct model* m)
{
    if (!m->is_basic && m->type != MPI_DATATYPE_NULL)
        CHECK_CALL(t, MPI_Type_free(&m->type));
    free(m->map);
    m->map = NULL;
}

static MPI_Aint span_of(const struct model* m)
{
    return model_true_end(m) - model_true_begin(m);
}

// Its type is null, and nothing was made, where it would be too large.
static struct model make(struct check* t, const struct shape* s)
{
    struct model m = model_of(s);
    const MPI_Aint extent = model_extent(&m);
    if (m.count > entries_max * counts || span_of(&m) > span_max || extent > span_max ||
        extent < -span_max)
        return m;
    CHECK_CALL(t, s->is_large ? shape_create_large(s, &m.type) : shape_create(s, &m.type));
    return m;
}

// Blocks without overlaps where their elements have none, in some order in memory.
static void place_blocks(uint64_t* random, struct shape* s)
{
    const int in_extents = s->kind == kind_indexed || s->kind == kind_indexed_block;
    const int is_backward = check_below(random, 2), first = check_below(random, parts_max);
    MPI_Aint next = check_below(random, 9) - 4;
    for (int k = 0; k < s->parts; ++k) {
        const int i = (first + (is_backward ? s->parts - k : k)) % s->parts;
        const int length = s->lengths[i];
        const int gap = check_below(random, 2) * check_below(random, in_extents ? 3 : 14);
        struct model block = {.alignment = 1};
        model_append_block(&block, s->old[i], 0, length);
        s->places[i] = next + gap - (in_extents ? 0 : model_true_begin(&block));
        next += gap + (in_extents ? length : span_of(&block));
        free(block.map);
    }
}

static void draw_blocks(uint64_t* random, struct shape* s, const struct model* other)
{
    const int is_even = s->kind == kind_indexed_block || s->kind == kind_hindexed_block;
    s->parts = check_below(random, parts_max);
    for (int i = 0; i < parts_max; ++i) {
        s->lengths[i] = is_even && i > 0 ? s->lengths[0] : check_below(random, 4);
        s->old[i] = s->kind == kind_struct && check_below(random, 2) == 0 ? other : s->old[0];
    }
    place_blocks(random, s);
    if (s->parts > 0 && check_below(random, 8) == 0)
        s->places[0] = check_below(random, 40) - 20;  // may overlap
}

static void draw_array(uint64_t* random, struct shape* s)
{
    s->dimensions = 1 + check_below(random, dimensions_max);
    s->order = check_below(random, 2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int d = 0; d < s->dimensions; ++d) {
        s->sizes[d] = 1 + check_below(random, 5);
        s->subsizes[d] = 1 + check_below(random, s->sizes[d]);
        s->starts[d] = check_below(random, s->sizes[d] - s->subsizes[d] + 1);
        s->grid[d] = 1 + check_below(random, 3);
        s->arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        const int is_named = check_below(random, 2), more = check_below(random, 3);
        switch (check_below(random, 3)) {
            case 0:
                s->distributions[d] = MPI_DISTRIBUTE_NONE;
                s->grid[d] = 1;
                break;
            case 1:
                s->distributions[d] = MPI_DISTRIBUTE_BLOCK;
                if (is_named)
                    s->arguments[d] = (s->sizes[d] + s->grid[d] - 1) / s->grid[d] + more;
                break;
            default:
                s->distributions[d] = MPI_DISTRIBUTE_CYCLIC;
                if (is_named)
                    s->arguments[d] = 1 + more;
        }
    }
    s->process = check_below(random, shape_processes(s));
}

static struct shape draw_shape(uint64_t* random, const struct model* old, const struct model* other)
{
    struct shape s = {.kind = (enum kind)check_below(random, kinds),
                      .is_large = check_below(random, 2),
                      .old = {old}};
    const MPI_Aint span = span_of(old);
    switch (s.kind) {
        case kind_dup:
            break;
        case kind_contiguous:
            s.parts = check_below(random, 6);
            break;
        case kind_vector:
        case kind_hvector:
            s.parts = check_below(random, 5);
            s.lengths[0] = check_below(random, 4);
            s.stride = s.lengths[0] + check_below(random, 3);
            if (s.kind == kind_hvector)
                s.stride = s.stride * model_extent(old) + check_below(random, 9);
            if (check_below(random, 4) == 0)
                s.stride = -s.stride;
            break;
        case kind_resized:
            s.lower = check_below(random, 41) - 20;
            s.extent = check_below(random, 5) == 0 ? check_below(random, 90) - 30
                                                   : span + check_below(random, 24);
            break;
        case kind_subarray:
        case kind_darray:
            draw_array(random, &s);
            break;
        default:
            draw_blocks(random, &s, other);
    }
    return s;
}

// A nest of constructors.
static struct model draw_type(struct check* t, uint64_t* random, int depth)
{
    if (depth == 0 || check_below(random, 8) == 0)
        return make_leaf(check_below(random, basics));
    struct model old = draw_type(t, random, depth - 1);
    struct model other = draw_type(t, random, check_below(random, depth));
    const struct shape s = draw_shape(random, &old, &other);
    struct model m = make(t, &s);
    release(t, &other);
    if (m.count > entries_max || m.type == MPI_DATATYPE_NULL) {
        release(t, &m);
        return old;
    }
    release(t, &old);
    return m;
}

// `count` elements of one basic type in blocks.
static struct model arrange_equal(struct check* t, uint64_t* random, int basic, int count)
{
    struct model leaf = make_leaf(basic);
    struct shape s = {.is_large = check_below(random, 2), .old = {&leaf}};
    const int length = count % 3 == 0 ? 3 : count % 2 == 0 ? 2 : 1;
    switch (check_below(random, 4)) {
        case 0:
            s.kind = kind_contiguous;
            s.parts = count;
            break;
        case 1:
            s.kind = kind_subarray;
            s.dimensions = 1;
            s.order = MPI_ORDER_C;
            s.starts[0] = check_below(random, 3);
            s.subsizes[0] = count;
            s.sizes[0] = count + s.starts[0] + check_below(random, 3);
            break;
        case 2:
            s.kind = kind_hvector;
            s.parts = count / length;
            s.lengths[0] = length;
            s.stride = model_extent(&leaf) * length + check_below(random, 12);
            break;
        default:
            s.kind = kind_hindexed;
            s.parts = count > 1 ? 2 : 1;
            s.old[1] = &leaf;
            s.lengths[0] = count > 1 ? 1 + check_below(random, count - 1) : count;
            s.lengths[1] = count - s.lengths[0];
            place_blocks(random, &s);
    }
    struct model m = make(t, &s);
    CHECK(t, m.type != MPI_DATATYPE_NULL);
    release(t, &leaf);
    return m;
}

// A type of another form with these basic elements in this order, none over another.
static struct model arrange(struct check* t, uint64_t* random, const struct entry* map, int count)
{
    struct model pieces[parts_max];
    struct shape s = {.kind = kind_struct, .is_large = check_below(random, 2)};
    int equal = 1;
    while (equal < count && map[equal].basic == map[0].basic)
        ++equal;
    if (equal == count)
        return arrange_equal(t, random, map[0].basic, count);
    for (int done = 0; done < count; ++s.parts) {
        const int rest = count - done;
        int length = 1 + check_below(random, 2 * rest / parts_max + 1);
        length = s.parts == parts_max - 1 ? rest : length < rest ? length : rest;
        length = length == count ? count - 1 : length;
        pieces[s.parts] = arrange(t, random, map + done, length);
        s.old[s.parts] = &pieces[s.parts];
        s.lengths[s.parts] = 1;
        done += length;
    }
    place_blocks(random, &s);
    struct model m = make(t, &s);
    CHECK(t, m.type != MPI_DATATYPE_NULL);
    for (int i = 0; i < s.parts; ++i)
        release(t, &pieces[i]);
    return m;
}

static struct area make_area(const struct model* m, int count)
{
    const MPI_Aint way = count > 0 ? (count - 1) * model_extent(m) : 0;
    struct area a = {.begin = model_true_begin(m) + (way < 0 ? way : 0)};
    a.bytes = count > 0 ? (size_t)(span_of(m) + (way < 0 ? -way : way)) : 0;
    a.memory = check_memory(a.bytes);
    // Not by pointers: the address may lie outside.
    a.address = (void*)((uintptr_t)a.memory - (uintptr_t)a.begin);
    memset(a.memory, filler, a.bytes);
    return a;
}

// Byte `number` of the packed elements lies there in the area; `walk` is called for each.
static size_t for_each_byte(const struct model* m, int count, const struct area* a,
                            void (*walk)(unsigned char* byte, size_t number, void* to), void* to)
{
    size_t number = 0;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < m->count; ++k) {
            const MPI_Aint offset = i * model_extent(m) + m->map[k].offset - a->begin;
            for (int byte = 0; byte < basic_of(m->map[k].basic).size; ++byte)
                walk(&a->memory[offset + byte], number++, to);
        }
    }
    return number;
}

static void put_byte(unsigned char* byte, size_t number, void* from)
{
    *byte = ((const unsigned char*)from)[number];
}

static void get_byte(unsigned char* byte, size_t number, void* to)
{
    ((unsigned char*)to)[number] = *byte;
}

static void count_byte(unsigned char* byte, size_t number, void* overlaps)
{
    (void)number;
    *(int*)overlaps += *byte == 1;
    *byte = 1;
}

static int has_overlaps(const struct model* m, int count)
{
    struct area a = make_area(m, count);
    int overlaps = 0;
    for_each_byte(m, count, &a, count_byte, &overlaps);
    free(a.memory);
    return overlaps != 0;
}

// The area holds these packed bytes, and all others are as they were.
static void check_area(struct check* t, const struct model* m, int count, const struct area* a,
                       unsigned char* packed)
{
    struct area want = make_area(m, count);
    for_each_byte(m, count, &want, put_byte, packed);
    size_t wrong = 0;
    while (wrong < a->bytes && a->memory[wrong] == want.memory[wrong])
        ++wrong;
    CHECK_INT(t, wrong, a->bytes);
    free(want.memory);
}

static void check_bounds(struct check* t, const struct model* m)
{
    MPI_Aint lower = -1, extent = -1;
    MPI_Count count_lower = -1, count_extent = -1;
    int size = -1;
    CHECK_CALL(t, MPI_Type_size(m->type, &size));
    CHECK_INT(t, size, model_size(m));
    CHECK_CALL(t, MPI_Type_get_extent(m->type, &lower, &extent));
    CHECK_INT(t, lower, model_lower(m));
    CHECK_INT(t, extent, model_extent(m));
    CHECK_CALL(t, MPI_Type_get_true_extent_c(m->type, &count_lower, &count_extent));
    CHECK_INT(t, count_lower, model_true_begin(m));
    CHECK_INT(t, count_extent, span_of(m));
}

// Elements of two types with one signature.
struct pair {
    struct model model[2];
    int count[2];
    int is_disjoint[2];
};

static void check_packing(struct check* t, const struct pair* p, uint64_t seed)
{
    const struct model* const from = &p->model[0];
    struct area source = make_area(from, p->count[0]);
    const int bytes = p->count[0] * model_size(from);
    unsigned char* const want = check_memory((size_t)bytes);
    check_fill(source.memory, source.bytes, seed);
    for_each_byte(from, p->count[0], &source, get_byte, want);
    int room = -1, position = 0;
    CHECK_CALL(t, MPI_Pack_size(p->count[0], from->type, MPI_COMM_WORLD, &room));
    CHECK(t, room >= bytes);
    unsigned char* const packed = check_memory((size_t)room);
    CHECK_CALL(t, MPI_Pack(source.address, p->count[0], from->type, packed, room, &position,
                           MPI_COMM_WORLD));
    CHECK_INT(t, position, bytes);
    CHECK_INT(t, memcmp(packed, want, (size_t)bytes), 0);
    for (int side = 0; side < 2; ++side) {
        struct area target = make_area(&p->model[side], p->count[side]);
        position = 0;
        if (p->is_disjoint[side]) {
            CHECK_CALL(t, MPI_Unpack(packed, bytes, &position, target.address, p->count[side],
                                     p->model[side].type, MPI_COMM_WORLD));
            CHECK_INT(t, position, bytes);
            check_area(t, &p->model[side], p->count[side], &target, want);
        }
        free(target.memory);
    }
    free(packed);
    free(want);
    free(source.memory);
}

// Every rank sends one type to its right and receives the other one from its left.
static void check_message(struct check* t, const struct pair* p, int sent, uint64_t seed)
{
    const int received = 1 - sent;
    const struct model *from = &p->model[sent], *to = &p->model[received];
    const int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
    struct area source = make_area(from, p->count[sent]), other = make_area(from, p->count[sent]);
    struct area target = make_area(to, p->count[received]);
    unsigned char* const want = check_memory((size_t)(p->count[sent] * model_size(from)));
    check_fill(source.memory, source.bytes, seed + (uint64_t)t->rank);
    check_fill(other.memory, other.bytes, seed + (uint64_t)left);
    for_each_byte(from, p->count[sent], &other, get_byte, want);
    MPI_Status status;
    int count = -1;
    CHECK_CALL(t,
               MPI_Sendrecv(source.address, p->count[sent], from->type, right, tag, target.address,
                            p->count[received], to->type, left, tag, MPI_COMM_WORLD, &status));
    check_area(t, to, p->count[received], &target, want);
    CHECK_CALL(t, MPI_Get_elements(&status, to->type, &count));
    CHECK_INT(t, count, p->count[received] * to->count);
    free(want);
    free(target.memory);
    free(other.memory);
    free(source.memory);
}

// Marked bounds of a part may leave other parts outside: then elements are set further apart.
static void set_apart(struct check* t, struct model* m)
{
    if (model_extent(m) >= span_of(m))
        return;
    const struct shape s = {
        .kind = kind_resized, .old = {m}, .lower = model_true_begin(m), .extent = span_of(m)};
    struct model wider = make(t, &s);
    release(t, m);
    *m = wider;
}

// The first is a nest of constructors, the second has its elements, or all of them as one.
static struct pair draw_pair(struct check* t, uint64_t* random)
{
    struct pair p = {.model = {draw_type(t, random, 1 + check_below(random, depth_max))}};
    p.count[0] = check_below(random, counts);
    const int in_one = check_below(random, 2);
    const int repeated = in_one ? p.count[0] : 1, total = repeated * p.model[0].count;
    struct entry* const map = check_memory(sizeof *map * (size_t)total);
    for (int i = 0; i < total; ++i)
        map[i] = p.model[0].map[i % p.model[0].count];
    p.count[1] = in_one ? 1 : p.count[0];
    if (total > 0) {
        p.model[1] = arrange(t, random, map, total);
        set_apart(t, &p.model[1]);
    } else {
        p.model[1] = make_leaf(0);
        p.count[1] = 0;
    }
    free(map);
    for (int side = 0; side < 2; ++side) {
        if (!p.model[side].is_basic)
            CHECK_CALL(t, MPI_Type_commit(&p.model[side].type));
        p.is_disjoint[side] = !has_overlaps(&p.model[side], p.count[side]);
    }
    CHECK(t, p.is_disjoint[1]);
    return p;
}

static void run_seed(struct check* t, uint64_t seed)
{
    uint64_t random = seed;
    struct pair p = draw_pair(t, &random);
    for (int side = 0; side < 2; ++side)
        check_bounds(t, &p.model[side]);
    check_packing(t, &p, seed);
    check_message(t, &p, 0, seed);
    if (p.is_disjoint[0])
        check_message(t, &p, 1, seed + 7919);
    for (int side = 0; side < 2; ++side)
        release(t, &p.model[side]);
}

static int test_main(void)
{
    struct check t = check_start("random");
    const uint64_t first = (uint64_t)check_setting("CHECK_SEED", 1);
    const uint64_t seeds = (uint64_t)check_setting("CHECK_SEEDS", 300);
    for (uint64_t seed = first; seed < first + seeds; ++seed) {
        const long failures = t.failures;
        run_seed(&t, seed);
        if (t.failures > failures && failures == 0)
            fprintf(stderr, "random: repeat with CHECK_SEED=%llu CHECK_SEEDS=1\n",
                    (unsigned long long)seed);
    }
    return check_finish(&t);
}
