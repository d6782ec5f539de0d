#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU, known by the driver library that the program has loaded, is refused with a
sentence; other memory is served as ever. The driver libraries are stand-ins."""

import os
import subprocess
import unittest

from job import HERE, JobTest

DRIVERS = {"CUDA": "libcuda.so.1", "HIP": "libamdhip64.so.6"}
CASES = {"send": ("MPI_Send", "buf"), "long": ("MPI_Isend", "buf"),
         "receive": ("MPI_Irecv", "buf"), "reduce": ("MPI_Allreduce", "recvbuf"),
         "inplace": ("MPI_Allreduce", "recvbuf"), "lists": ("MPI_Alltoallv", "sendbuf")}
HAS_GPU = any(os.path.exists(node) for node in ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg"))


class DeviceTest(JobTest):
    def go(self, driver, when, case, ranks=2, **environment):
        name = DRIVERS[driver]
        library = f"{self.folder.name}/{name}"
        if not os.path.exists(library):
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{name}", "-o", library,
                            f"-DFAKE_{driver}", HERE / "fake_driver.c"], check=True)
        program = self.build(HERE / "device.c")
        return self.mpiexec(ranks, program, library, when, case, **environment)

    def check_refused(self, outcome, driver, case):
        function, argument = CASES[case]
        line = self.assert_refused(outcome, function, "MPI_ERR_BUFFER")[0]
        self.assertRegex(
            line, rf"^headway: rank \d: {function}: argument {argument} \(0x[0-9a-f]+\) is memory "
            rf"of a GPU \({driver}\), which .*; copy it to memory of the host and give that")
        self.assertNotIn("went on", outcome.stdout)

    def test_driver_loaded_before_init(self):
        for driver in DRIVERS:
            for case in CASES:
                with self.subTest(driver, case=case):
                    self.check_refused(self.go(driver, "before", case), driver, case)

    def test_driver_loaded_after_init(self):
        for driver in DRIVERS:
            for case in CASES:
                with self.subTest(driver, case=case):
                    outcome = self.go(driver, "after", case, HEADWAY_DEVICE_MEMORY="watch")
                    self.check_refused(outcome, driver, case)

    def test_host_memory_is_served(self):
        for driver in DRIVERS:
            for when in ("before", "after"):
                for case in ("host", "managed"):
                    with self.subTest(driver, when=when, case=case):
                        outcome = self.go(driver, when, case, 3, HEADWAY_DEVICE_MEMORY="watch")
                        self.assert_ok(outcome)
                        self.assertEqual(outcome.stdout.count("went on"), 3)

    def test_switched_off(self):
        """Nobody looks: the copy itself hits memory that cannot be read."""
        outcome = self.go("CUDA", "before", "send", 1, HEADWAY_DEVICE_MEMORY="off")
        self.assertEqual(outcome.code, 128 + 11, str(outcome))

    @unittest.skipIf(HAS_GPU, "this machine has a GPU, so buffers are always looked at")
    def test_nobody_looks_without_a_gpu_and_a_driver(self):
        outcome = self.go("CUDA", "after", "send", 1)
        self.assertEqual(outcome.code, 128 + 11, str(outcome))


if __name__ == "__main__":
    unittest.main()
