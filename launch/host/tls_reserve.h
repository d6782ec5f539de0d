/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADWAY_LAUNCH_HOST_TLS_RESERVE_H
#define HEADWAY_LAUNCH_HOST_TLS_RESERVE_H

/* As tls_reserve_bytes of program_facts.hpp, which the assembler cannot read. */
#define HEADWAY_TLS_RESERVE 32768

#ifdef __cplusplus
extern "C" {
/* constinit: no function that would initialise it is to be looked for. */
extern constinit thread_local char headway_tls_reserve[HEADWAY_TLS_RESERVE]
    __attribute__((visibility("hidden")));
}
#endif

#endif
