// SPDX-License-Identifier: Apache-2.0
// A hello world: the driver times the whole job, from the launcher's start to its end.
#include <stdio.h>

#include "harness.h"

int main(int argc, char** argv)
{
    Harness harness;
    if (harness_begin(&argc, &argv, &harness))
        printf("hello from rank %d of %d\n", harness.rank, harness.ranks);
    fflush(stdout);
    return harness_end(&harness);
}
