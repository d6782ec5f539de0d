#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pmi_descriptors.py polite|flood: a rank that speaks PMI-1 by itself and sends descriptors. The
polite one shares one when it is not asked to, takes it twice, and leaves; the other one sends
descriptors until something that is no command."""

import os
import signal
import socket
import sys

connection = socket.socket(fileno=int(os.environ["PMI_FD"]))


def ask(line, descriptors=()):
    socket.send_fds(connection, [line.encode() + b"\n"], list(descriptors))
    answer, received, _, _ = socket.recv_fds(connection, 4096, 4)
    for each in received:
        os.close(each)
    return answer.decode(), len(received)


def check(got, words, descriptors=0):
    if words not in got[0] or got[1] != descriptors:
        sys.exit(f"pmi_descriptors: got {got}, not '{words}' with {descriptors} descriptors")


def polite():
    is_first = os.environ["PMI_RANK"] == "0"
    check(ask("cmd=init pmi_version=1 pmi_subversion=1"), "headway_descriptor=1")
    check(ask("cmd=headway_take"), "cmd=headway_take_result rc=-1")
    check(ask("cmd=headway_share"), "cmd=headway_share_result rc=-1")
    check(ask("cmd=barrier_in"), "cmd=barrier_out")
    if is_first:
        check(ask("cmd=headway_share", [0, 0, 0]), "cmd=headway_share_result rc=0")
        check(ask("cmd=headway_share", [0]), "cmd=headway_share_result rc=-1")
    check(ask("cmd=barrier_in"), "cmd=barrier_out")
    check(ask("cmd=headway_take"), "cmd=headway_take_result rc=0", 1)
    check(ask("cmd=headway_take"), "cmd=headway_take_result rc=0", 1)
    check(ask("cmd=finalize"), "cmd=finalize_ack")


def flood():
    try:
        for _ in range(500):
            socket.send_fds(connection, [b"c"], [0] * 30)
        connection.sendall(b"\n")
        connection.recv(1)
    except OSError:
        pass
    while True:
        signal.pause()


if sys.argv[1] == "polite":
    polite()
else:
    flood()
