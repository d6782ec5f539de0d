# SPDX-License-Identifier: Apache-2.0
"""Ranks that are threads of one process: a program finds there what a process would give it."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

import fixture

PROGRAMS = fixture.HERE / "programs"
HOST = str(fixture.stage() / "bin/headway-host")


class HostTest(fixture.LaunchTest):
    host = "thread"  # what its ranks are
    everything = "all"  # that hosted.c can show
    hosted: str
    hosted_cpp: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = Path(cls._programs.name)
        cls.hosted = cls.compile("gcc", PROGRAMS / "hosted.c", folder / "hosted", "-pthread")
        cls.hosted_cpp = cls.compile("g++", PROGRAMS / "hosted.cpp", folder / "hosted_cpp",
                                     "-pthread")

    @staticmethod
    def compile(compiler: str, source: Path, result: Path, *flags: str) -> str:
        subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-o", result, source, *flags],
                       check=True)
        return str(result)

    def make(self, source: str, *flags: str, compiler: str = "gcc") -> str:
        path = self.folder / ("made.c" if compiler == "gcc" else "made.cpp")
        path.write_text(source)
        return self.compile(compiler, path, self.folder / "made", *flags)

    def in_both(self, ranks: int, *words: str) -> list[str]:
        """Sorted output of a program that must print the same in both hosts."""
        done = {}
        for host in ("process", self.host):
            folder = self.folder / host
            folder.mkdir()
            done[host] = self.run_job("--ranks", host, "-n", str(ranks), *words, cwd=folder,
                                      stdin="input for rank 0\n")
        lines = {host: sorted(each.stdout.splitlines()) for host, each in done.items()}
        self.assertEqual(lines[self.host], lines["process"], done[self.host].stderr)
        self.assertEqual((done[self.host].returncode, done[self.host].stderr),
                         (done["process"].returncode, done["process"].stderr))
        self.assertTrue(lines[self.host])
        return lines[self.host]

    def threads(self, ranks: int, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.run_job("--ranks", self.host, "-n", str(ranks), *words)


class SameAsProcess(HostTest):
    def test_c(self) -> None:
        self.environment["GIVEN"] = "1"
        words = (self.everything, "-a", "x", "operand", "-b", "last")
        lines = self.in_both(5, self.hosted, *words)
        self.assertIn("3: data 8 11 1 1 8 8 1", lines)
        self.assertIn("4: destructor 9 12", lines)
        self.assertIn("0: streams nput for rank 0", lines)
        self.assertIn("1: streams nothing", lines)

    def test_c_that_finds_variables_by_tables(self) -> None:
        by_table = self.compile("gcc", PROGRAMS / "hosted.c", self.folder / "by_table", "-fPIC",
                                "-pthread")
        self.in_both(3, by_table, self.everything, "-a", "x", "operand", "-b", "last")

    def test_cpp(self) -> None:
        lines = self.in_both(4, self.hosted_cpp)
        self.assertIn("2: gone local of main", lines)
        self.assertIn("3: caught own own", lines)

    def test_ends_in_good_order(self) -> None:
        for how in ("exit", "thread-exit", "pthread_exit", "quick_exit"):
            with self.subTest(how=how):
                self.folder = self.folder / how
                self.folder.mkdir()
                self.in_both(3, self.hosted, how)

    def test_exit_at_once_calls_nothing(self) -> None:
        done = self.threads(3, self.hosted, "_exit")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_openmp(self) -> None:
        program = self.make(
            "#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
            "static int mine;\n#pragma omp threadprivate(mine)\nstatic int sum;\n"
            "int main(void) {\n"
            "    const int rank = atoi(getenv(\"MPI_LOCALRANKID\"));\n"
            "    for (int round = 0; round < 20; round++) {\n"
            "        #pragma omp parallel num_threads(3) reduction(+ : sum)\n"
            "        { mine += rank; sum += mine; }\n"
            "    }\n"
            "    printf(\"%d %d\\n\", rank, sum);\n"
            "    return 0;\n}\n", "-fopenmp")
        # Many, so that libgomp's thread-locals exceed what the loader keeps by itself.
        self.assertEqual(self.in_both(16, program)[0], "0 0")

    def test_tables_of_many_pages(self) -> None:
        # So long that most of their pages are the same in the copy and in the file.
        program = self.make(
            "#include <stdio.h>\nstatic char text[30000];\n"
            "#define A(n) text + n, text + n + 1, text + n + 2, text + n + 3, text + n + 4,\n"
            "#define B(n) A(n) A(n + 5) A(n + 10) A(n + 15) A(n + 20) A(n + 25) A(n + 30)\n"
            "#define C(n) B(n) B(n + 35) B(n + 70) B(n + 105) B(n + 140) B(n + 175) B(n + 210)\n"
            "#define D(n) C(n) C(n + 245) C(n + 490) C(n + 735) C(n + 980) C(n + 1225)\n"
            "static char* volatile pointers[] = {\n"
            "    D(0) D(2000) D(4000) D(6000) D(8000) D(10000) };\n"
            "int main(void) {\n"
            "    long sum = 0;\n"
            "    for (unsigned i = 0; i < sizeof pointers / sizeof *pointers; i++)\n"
            "        sum += pointers[i] - text;\n"
            "    printf(\"%ld\\n\", sum);\n"
            "    return 0;\n}\n")
        self.assertEqual(len(self.in_both(4, program)), 4)

    def test_programs_of_others(self) -> None:
        for words in (("ls", "-d", "/"), ("date", "-u", "-d", "@86400", "+%F")):
            with self.subTest(words=words):
                done = self.threads(2, *words)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(len(done.stdout.splitlines()), 2, done.stdout)

    def test_exec_belongs_into_a_child(self) -> None:
        done = self.threads(2, "env", "-i", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot become another program (exec)", done.stderr)

    def test_a_program_is_looked_for_where_its_ranks_start(self) -> None:
        inner = self.folder / "inner"
        inner.mkdir()
        shutil.copy(self.hosted, inner / "own")
        done = self.run_job("--ranks", self.host, "-n", "2", "--wdir", "inner", "./own",
                            self.everything, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((inner / "of-rank-1").is_dir(), self.everything == "all")

    def test_several_programs(self) -> None:
        done = self.run_job("--ranks", "thread", "-n", "1", "-x", "A=1", self.hosted_cpp, ":",
                            "-n", "2", "--wdir", "/", self.hosted, "exit")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("0: gone global", done.stdout)
        self.assertIn("2: on_exit 0 text", done.stdout)


class Ends(HostTest):
    def test_a_code_names_its_rank(self) -> None:
        done = self.threads(3, self.hosted, "code")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stderr,
                         "headway: rank 1 exited with code 7; the other ranks were ended\n")

    def test_err_ends_the_rank(self) -> None:
        done = self.threads(3, self.hosted, "err")
        self.assertEqual(done.returncode, 8)
        self.assertIn("hosted: no luck: No such file or directory\n", done.stderr)
        self.assertIn("headway: rank 1 exited with code 8", done.stderr)

    def test_signals_name_their_rank(self) -> None:
        for how, signal in (("abort", 6), ("segv", 11)):
            with self.subTest(how=how):
                done = self.threads(3, self.hosted, how)
                self.assertEqual(done.returncode, 128 + signal)
                self.assertIn(f"headway: rank 1 was killed by signal {signal} ", done.stderr)

    def test_an_exception_nobody_catches(self) -> None:
        done = self.threads(2, self.hosted_cpp, "throw")
        self.assertEqual(done.returncode, 128 + 6)
        self.assertIn("nobody catches this", done.stderr)
        self.assertIn("headway: rank 1 was killed by signal 6 ", done.stderr)

    def test_a_stack_that_is_exhausted(self) -> None:
        program = self.make(
            "#include <stdlib.h>\n"
            "int deep(volatile char* before) { volatile char here[4096]; here[0] = *before;\n"
            "    return deep(here) + here[1]; }\n"
            "int main(void) { char first = 1; return deep(&first); }\n", "-Wno-infinite-recursion")
        done = self.threads(1, program)
        self.assertEqual(done.returncode, 128 + 11)
        self.assertIn("headway: rank 0 was killed by signal 11 ", done.stderr)


class Refused(HostTest):
    EMPTY = "int main(void) { return 0; }\n"

    def refusal(self, *words: str) -> str:
        done = self.threads(2, *words)
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_with_the_cure(self) -> None:
        cases = ((("-static",), "link it without -static"), (("-no-pie",), "-fPIE -pie"),
                 (("-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1",), "wants the loader"))
        for flags, cure in cases:
            with self.subTest(flags=flags):
                self.assertIn(cure, self.refusal(self.make(self.EMPTY, *flags)))

    def test_programs_of_another_mpi(self) -> None:
        source = self.folder / "mpi.c"
        source.write_text("int MPI_Init(int* count, char*** words) { return !count + !words; }\n")
        self.compile("gcc", source, self.folder / "libmpi.so.40", "-shared", "-fPIC",
                     "-Wl,-soname,libmpi.so.40")
        program = self.make(
            "int MPI_Init(int*, char***);\nint main(void) { return MPI_Init(0, 0); }\n",
            "-L" + str(self.folder), "-l:libmpi.so.40", "-Wl,-rpath," + str(self.folder))
        self.assertIn("another MPI library (libmpi.so.40)", self.refusal(program))

    def test_what_a_process_has_once(self) -> None:
        cases = (("char __thread big[40000]; int main(void) { return big[5]; }\n", "gcc",
                  "bytes of thread-locals"),
                 ("#include <stddef.h>\nvoid* malloc(size_t bytes) { return (void*)bytes; }\n"
                  + self.EMPTY, "gcc", "defines malloc"),
                 ("#include <cstdlib>\n#include <iostream>\n#include <new>\n"
                  "void* operator new(std::size_t bytes) { return std::malloc(bytes); }\n"
                  "int main() { std::cout << *new int(1); }\n", "g++", "defines _Znwm"),
                 ("#include <error.h>\nint main(void) { return (int)error_message_count; }\n",
                  "gcc", "uses the variable 'error_message_count' of libc.so.6"))
        for source, compiler, sentence in cases:
            with self.subTest(sentence=sentence):
                said = self.refusal(self.make(source, compiler=compiler))
                self.assertIn(sentence, said)
                self.assertIn("--ranks process", said)

    def test_programs_that_change_their_user(self) -> None:
        path = self.folder / "changes"
        shutil.copy(self.hosted, path)
        path.chmod(0o4755)
        said = self.refusal(str(path))
        self.assertIn(f"{path} changes its user when it starts (setuid)", said)
        self.assertIn("--ranks process", said)

    def test_systems_without_memory_files(self) -> None:
        without = self.compile("gcc", fixture.ROOT / "test/faults/without.c",
                               self.folder / "without")
        words = {
            "mpiexec": (fixture.mpiexec(), "--ranks", self.host, "-n", "2"),
            # As another launcher starts it: nobody has looked before.
            "host": (HOST, "-n", "2", *(["--ult"] if self.host == "ult" else []))}
        for name, command in words.items():
            with self.subTest(who=name):
                done = self.run_job("memfd", *command, self.hosted, "exit", command=without)
                if done.returncode == 77:
                    self.skipTest("no right to install a seccomp filter")
                self.assertEqual((done.returncode, done.stdout), (127, ""), done.stderr)
                lines = done.stderr.splitlines()
                self.assertEqual(len(lines), 1, done.stderr)
                self.assertRegex(lines[0], "^headway.*: .*hosted")
                self.assertIn("no memory files (memfd_create: Operation not permitted)", lines[0])
                self.assertIn("--ranks process", lines[0])

    def test_functions(self) -> None:
        program = self.make("#include <unistd.h>\nint main(void) { return daemon(0, 0); }\n")
        self.assertIn("calls daemon", self.refusal(program))

    def test_python(self) -> None:
        python = os.path.realpath("/usr/bin/python3")
        self.assertIn("is Python", self.refusal(python))

    def test_what_is_no_program(self) -> None:
        self.assertIn("no directory of PATH", self.refusal("no-such-program"))
        script = self.folder / "script"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        self.assertIn("is a script; run it with --ranks process", self.refusal(str(script)))

    def test_options(self) -> None:
        done = self.run_job("--ranks", self.host, "--label", self.hosted, "exit")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--label", done.stderr)


class SharedLibraries(HostTest):
    """A library with a counter: of constructors, and of calls."""

    program: str

    def setUp(self) -> None:
        super().setUp()
        source = self.folder / "counter.c"
        source.write_text(
            "static int made, calls; int open_to_all = 5;\n"
            "__attribute__((constructor)) static void make(void) { ++made; }\n"
            "int count_made(void) { return __atomic_load_n(&made, 5); }\n"
            "int count_call(void) { return __atomic_add_fetch(&calls, 1, 5); }\n")
        self.compile("gcc", source, self.folder / "libcounter.so.3", "-shared", "-fPIC",
                     "-Wl,-soname,libcounter.so.3")
        # Without a name of its own it is asked for by that of its file.
        self.compile("gcc", source, self.folder / "libplain.so", "-shared", "-fPIC")
        self.program = self.user_of("libcounter.so.3")

    def user_of(self, library: str, more: str = "") -> str:
        return self.make(
            "#include <stdio.h>\nint count_made(void), count_call(void);\n"
            "extern int open_to_all;\n"
            "int main(void) { printf(\"%d %d\\n\", count_made(), count_call());\n"
            f"    {more} return 0; }}\n",
            "-L" + str(self.folder), "-l:" + library, "-Wl,-rpath," + str(self.folder))

    def lines(self, *words: str) -> list[str]:
        done = self.run_job("--ranks", self.host, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(done.stdout.splitlines())

    def test_private_unless_asked(self) -> None:
        self.assertEqual(self.lines("-n", "3", self.program), ["1 1"] * 3)

    def test_one_for_all_ranks(self) -> None:
        for name in ("libcounter.so.3", "libcounter.so", "libcounter"):
            with self.subTest(name=name):
                self.assertEqual(self.lines("--shared-lib", name, "-n", "3", self.program),
                                 ["1 1", "1 2", "1 3"])

    def test_a_library_without_a_name(self) -> None:
        program = self.user_of("libplain.so")
        self.assertEqual(self.lines("--shared-lib", "libplain.so", "-n", "2", program),
                         ["1 1", "1 2"])

    def test_each_process_has_one(self) -> None:
        self.assertEqual(self.lines("--shared-lib", "libcounter.so", "--processes-per-node", "2",
                                    "-n", "4", self.program), ["1 1", "1 1", "1 2", "1 2"])

    def test_of_one_program_of_several(self) -> None:
        self.assertEqual(self.lines("--shared-lib", "libcounter.so", "-n", "2", self.program, ":",
                                    "-n", "2", self.program), ["1 1", "1 1", "1 1", "1 2"])

    def test_what_is_refused(self) -> None:
        copied = self.user_of("libcounter.so.3", "printf(\"%d\\n\", open_to_all);")
        shutil.copy(copied, self.folder / "copied")
        cases = (("libnone.so", self.user_of("libcounter.so.3"),
                  "loads no library 'libnone.so' (--shared-lib); it has libcounter.so.3"),
                 ("libcount", self.program, "loads no library 'libcount'"),
                 ("libcounter.so", str(self.folder / "copied"),
                  "has the variable 'open_to_all' of libcounter.so.3 (--shared-lib) in itself"))
        for name, program, sentence in cases:
            with self.subTest(name=name):
                done = self.run_job("--ranks", self.host, "--shared-lib", name, "-n", "2", program)
                self.assertEqual((done.returncode, done.stdout), (127, ""))
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(sentence, done.stderr)

    def test_check_host_says_so(self) -> None:
        done = self.run_job("check-host", self.program, "--shared-lib", "libcounter.so",
                            command=str(fixture.stage() / "bin/headway"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, "libraries that ranks share: .*libcounter.so.3")
        self.assertIn("libraries of its own in every rank: none", done.stdout)


class Check(HostTest):
    def check(self, program: str) -> "subprocess.CompletedProcess[str]":
        return self.run_job("check-host", program, command=str(fixture.stage() / "bin/headway"))

    def test_says_what_would_happen(self) -> None:
        done = self.check(self.hosted_cpp)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("can run as several ranks of one process", done.stdout)
        self.assertIn("libraries of its own in every rank: libstdc++.so.6", done.stdout)

    def test_says_what_ranks_share(self) -> None:
        program = self.make("#include <locale.h>\nint main(void) { setlocale(LC_ALL, \"\"); }\n")
        self.assertIn("one locale for all ranks (setlocale)", self.check(program).stdout)

    def test_refuses_as_the_host_does(self) -> None:
        done = self.check(self.make(Refused.EMPTY, "-static"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("link it without -static", done.stderr)

    def test_all_functions_of_the_table_are_there(self) -> None:
        shown = subprocess.run(["nm", "-D", "--defined-only", HOST], text=True, check=True,
                               stdout=subprocess.PIPE).stdout
        names = {line.split()[-1] for line in shown.splitlines() if line.split()[-2] == "T"}
        listing = (fixture.ROOT / "launch/libc_face.toml").read_text()
        missing = [name for name in names if f'"{name}"' not in listing]
        self.assertEqual(missing, [])
        self.assertGreater(len(names), 40)


if __name__ == "__main__":
    unittest.main()
