#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pmi_garbage.py KIND SEED PROGRAM ARGUMENTS...: runs the program as rank 0 of 2 with a PMI_FD
whose other end answers with garbage. The exit code is the program's."""

import os
import random
import socket
import subprocess
import sys
import threading

KINDS = ["random", "text", "truncated", "overlong", "closed", "fields"]


def answer(kind, draw):
    if kind == "random":
        return bytes(draw.randrange(256) for _ in range(draw.randrange(1, 3000))) + b"\n"
    if kind == "text":
        return b"cmd=" + bytes(draw.randrange(32, 127) for _ in range(200)) + b"\n"
    if kind == "truncated":
        whole = b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
        return whole[:draw.randrange(1, len(whole) - 1)]
    if kind == "overlong":
        return b"cmd=response_to_init " + b"x=" + b"y" * (1 << 20) + b"\n"
    if kind == "fields":
        return (b"cmd=response_to_init rc=%d pmi_version=%d pmi_version= ==\n"
                % (draw.randrange(-9, 1 << 40), draw.randrange(-9, 1 << 70)))
    return b""


def serve(end, kind, seed):
    draw = random.Random(seed)
    try:
        while end.recv(65536):
            end.sendall(answer(kind, draw))
            if kind in ("truncated", "closed"):
                break
    except OSError:
        pass
    end.close()


def main():
    kind, seed, *command = sys.argv[1:]
    ours, theirs = socket.socketpair()
    environment = dict(os.environ, PMI_FD=str(theirs.fileno()), PMI_RANK="0", PMI_SIZE="2")
    thread = threading.Thread(target=serve, args=(ours, kind, int(seed)), daemon=True)
    child = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
    theirs.close()
    thread.start()
    return child.wait()


if __name__ == "__main__":
    code = main()
    sys.exit(code if code >= 0 else 128 - code)
