// SPDX-License-Identifier: Apache-2.0
// The computation: every thread of the OpenMP team multiplies its own square matrices of doubles,
// `order` wide. One product is the whole work. Its matrices take 24 * order^2 bytes: some 240 KiB
// where it lasts 1 ms, 4 MiB where it lasts 64 ms, and of these 8 * 32 * order are in use at a
// time.
#include <omp.h>
#include <stdlib.h>

#include "nbc_parts.h"

enum { page = 4096, block = 32 };

typedef struct {
    double* left;
    double* right;
    double* product;
} Matrices;

static Matrices* team;
static int team_size;
static int order_most;

int nbc_work_threads(void)
{
    return omp_get_max_threads();
}

static void* filled(int order, double first)
{
    void* place = NULL;
    const size_t count = (size_t)order * (size_t)order;
    if (posix_memalign(&place, page, count * sizeof(double)) != 0)
        return NULL;
    for (size_t index = 0; index < count; ++index)
        ((double*)place)[index] = first + (double)(index % 7);
    return place;
}

void nbc_work_free(void)
{
    for (int thread = 0; thread < team_size; ++thread) {
        free(team[thread].left);
        free(team[thread].right);
        free(team[thread].product);
    }
    free(team);
    team = NULL;
    team_size = 0;
    order_most = 0;
}

bool nbc_work_resize(int order)
{
    if (order <= order_most)
        return true;
    nbc_work_free();
    const int threads = nbc_work_threads();
    team = calloc((size_t)threads, sizeof *team);
    if (team == NULL)
        return false;
    team_size = threads;
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : failed)
    {
        Matrices* const mine = &team[omp_get_thread_num()];
        mine->left = filled(order, 1.0);
        mine->right = filled(order, 2.0);
        mine->product = filled(order, 0.0);
        failed += mine->left == NULL || mine->right == NULL || mine->product == NULL;
    }
    if (failed != 0)
        return false;
    order_most = order;
    return true;
}

// Rows of a block stay in the first cache while they are used.
static void multiply(const Matrices* matrices, int order)
{
    for (int row = 0; row < order; ++row) {
        double* const product = matrices->product + (size_t)row * (size_t)order;
        for (int column = 0; column < order; ++column)
            product[column] = 0.0;
    }
    for (int first = 0; first < order; first += block) {
        const int last = first + block < order ? first + block : order;
        for (int row = 0; row < order; ++row) {
            double* const product = matrices->product + (size_t)row * (size_t)order;
            for (int inner = first; inner < last; ++inner) {
                const double factor = matrices->left[(size_t)row * (size_t)order + (size_t)inner];
                const double* const right = matrices->right + (size_t)inner * (size_t)order;
                for (int column = 0; column < order; ++column)
                    product[column] += factor * right[column];
            }
        }
    }
}

void nbc_work(int order)
{
    if (order <= 0)
        return;
#pragma omp parallel num_threads(team_size)
    multiply(&team[omp_get_thread_num()], order);
}
