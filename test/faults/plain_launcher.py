#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plain_launcher.py RANKS PROGRAM ARGUMENTS...: a launcher that speaks PMI-1 and nothing more, as
those of other MPI libraries do, and cleans up nothing. The exit code is the highest of a rank.
PLAIN_MAPPING says which ranks are told that they share a node, in the words of
PMI_process_mapping; without it all do."""

import os
import selectors
import socket
import subprocess
import sys

JOB = f"plain-{os.getpid()}"


class Client:
    def __init__(self, end):
        self.end, self.unread, self.waits = end, b"", False


class Server:
    """Answers all ranks until their connections are closed."""

    def __init__(self, ends):
        self.clients = [Client(end) for end in ends]
        self.dictionary = {"PMI_process_mapping":
                           os.environ.get("PLAIN_MAPPING", f"(vector,(0,1,{len(ends)}))")}

    def serve(self):
        selector = selectors.DefaultSelector()
        for client in self.clients:
            selector.register(client.end, selectors.EVENT_READ, client)
        while selector.get_map():
            for key, _ in selector.select():
                try:
                    chunk = key.data.end.recv(65536)
                except OSError:
                    chunk = b""
                if not chunk:
                    selector.unregister(key.data.end)
                    key.data.end.close()
                    continue
                *lines, key.data.unread = (key.data.unread + chunk).split(b"\n")
                for line in lines:
                    self.answer(key.data, dict(word.partition("=")[::2]
                                               for word in line.decode().split()))

    def answer(self, client, fields):
        command = fields["cmd"]
        if command == "barrier_in":
            client.waits = True
            if all(each.waits for each in self.clients):
                for each in self.clients:
                    each.waits = False
                    each.end.sendall(b"cmd=barrier_out rc=0\n")
            return
        if command == "put":
            self.dictionary[fields["key"]] = fields["value"]
        value = self.dictionary.get(fields.get("key"))
        answers = {
            "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
            "get_my_kvsname": f"cmd=my_kvsname rc=0 kvsname={JOB}",
            "put": "cmd=put_result rc=0",
            "get": f"cmd=get_result rc={-1 if value is None else 0} value={value}",
            "finalize": "cmd=finalize_ack rc=0",
        }
        if command in answers:
            client.end.sendall(answers[command].encode() + b"\n")
        elif command == "abort":
            os._exit(int(fields["exitcode"]) & 0xFF or 1)
        else:
            sys.exit(f"plain_launcher: an unknown command: {fields}")


def main():
    count, *command = sys.argv[1:]
    ours, children = [], []
    for rank in range(int(count)):
        end, theirs = socket.socketpair()
        environment = dict(os.environ, PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank),
                           PMI_SIZE=count)
        children.append(subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()]))
        theirs.close()
        ours.append(end)
    Server(ours).serve()
    return max(code if code >= 0 else 128 - code for code in (each.wait() for each in children))


if __name__ == "__main__":
    sys.exit(main())
