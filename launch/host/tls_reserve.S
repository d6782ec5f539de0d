/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory just below the thread pointer, where programs have their thread-locals. A common
 * symbol: the linker puts those behind all other thread-locals, also those of the C++ library.
 * Whether it did is looked at when the host program starts.
 */
#include "tls_reserve.h"

    .hidden headway_tls_reserve
    .tls_common headway_tls_reserve, HEADWAY_TLS_RESERVE, 64
    .section .note.GNU-stack, "", @progbits
