#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stands in for ssh where hosts are network namespaces: on_host.sh [ssh options] ADDRESS COMMAND...
# runs the command there, in its own process, ipc, host name and mount spaces, and with temporary
# files of its own (daemons of Open MPI name theirs by process numbers, which are the same on all).
# HOSTS_OF_TEST is what the names of the namespaces begin with; the last number of the address ends
# them. HOSTS_CORES: the core of each host, in their order.
set -eu
while [ $# -gt 0 ]; do
    case "$1" in
        -l | -o | -p) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
place="${1##*.}"
space="$HOSTS_OF_TEST$place"
shift
core=$(echo "${HOSTS_CORES:-}" | cut -d ' ' -f "$place")
if [ -n "$core" ]; then
    taskset -pc "$core" $$ >/dev/null
fi
# The name spaces end with the process that ssh would be, however that ends.
exec ip netns exec "$space" unshare --uts --ipc --mount --pid --fork --kill-child --mount-proc \
    sh -c 'hostname "$0"; mount -t tmpfs none /dev/shm; export TMPDIR=/dev/shm; exec "$@"' \
    "$space" sh -c "$*" </dev/null
