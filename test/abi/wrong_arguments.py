# SPDX-License-Identifier: Apache-2.0
"""A C program that calls every built function once for each way in which one argument can be wrong.

It knows from spec/mpi which arguments there are, and by its own table which class each mistake has.
Macros: ME, the rank of the caller; it expects MPI_ERRORS_RETURN to be settable on both
communicators. It prints what differs and exits with 1 if anything does.
"""

from __future__ import annotations

import mpi_spec
from mpi_spec import Arg, Function

FAR = "(({type})(intptr_t)0x7ffffff0)"
# Kind: a good input, and (bad input, class) pairs.
INPUTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "comm": ("MPI_COMM_WORLD", [("MPI_COMM_NULL", "MPI_ERR_COMM"), ("NULL", "MPI_ERR_COMM"),
                                (FAR.format(type="MPI_Comm"), "MPI_ERR_COMM")]),
    "group": ("MPI_GROUP_EMPTY", [("MPI_GROUP_NULL", "MPI_ERR_GROUP"),
                                  (FAR.format(type="MPI_Group"), "MPI_ERR_GROUP")]),
    "errhandler": ("MPI_ERRORS_RETURN", [("MPI_ERRHANDLER_NULL", "MPI_ERR_ERRHANDLER"),
                                         ("NULL", "MPI_ERR_ERRHANDLER")]),
    "session": ("MPI_SESSION_NULL", [("MPI_SESSION_NULL", "MPI_ERR_SESSION"),
                                     (FAR.format(type="MPI_Session"), "MPI_ERR_SESSION")]),
    "datatype": ("MPI_INT", [("MPI_DATATYPE_NULL", "MPI_ERR_TYPE"), ("NULL", "MPI_ERR_TYPE"),
                             (FAR.format(type="MPI_Datatype"), "MPI_ERR_TYPE"),
                             ("(MPI_Datatype)MPI_SUM", "MPI_ERR_TYPE")]),
    "op": ("MPI_SUM", [("MPI_OP_NULL", "MPI_ERR_OP"), ("(MPI_Op)MPI_INT", "MPI_ERR_OP")]),
    "info": ("MPI_INFO_NULL", [("NULL", "MPI_ERR_INFO"),
                               (FAR.format(type="MPI_Info"), "MPI_ERR_INFO")]),
    "count": ("1", [("-1", "MPI_ERR_COUNT")]),
    "long_count": ("1", [("-1", "MPI_ERR_COUNT")]),
    "byte_count": ("1", [("-1", "MPI_ERR_ARG")]),
    "leader_comm": ("MPI_COMM_SELF", []),
    "aint_size": ("1", [("-1", "MPI_ERR_ARG")]),
    "dest": ("0", [("1000", "MPI_ERR_RANK"), ("MPI_ANY_SOURCE", "MPI_ERR_RANK")]),
    "source": ("0", [("1000", "MPI_ERR_RANK"), ("-7", "MPI_ERR_RANK")]),
    "root": ("ME", [("1000", "MPI_ERR_ROOT"), ("MPI_PROC_NULL", "MPI_ERR_ROOT")]),
    "tag": ("1", [("-1", "MPI_ERR_TAG"), ("MPI_ANY_TAG", "MPI_ERR_TAG")]),
    "recv_tag": ("1", [("-9", "MPI_ERR_TAG")]),
    "color": ("0", [("-7", "MPI_ERR_ARG")]),
    "string": ('"x"', [("NULL", "MPI_ERR_ARG")]),
    "status": ("&status", [("NULL", "MPI_ERR_ARG")]),
    "request": ("MPI_REQUEST_NULL", []),
    "address": ("bytes", []),
    "argc": ("NULL", []),
    "argv": ("NULL", []),
    "int": ("0", []),
    "flag": ("0", []),
    "number": ("0", []),
    "byte_number": ("0", []),
    "rank": ("0", []),
    "keyval": ("MPI_KEYVAL_INVALID", []),
    "strings": ("NULL", []),
    "attribute_function": ("NULL", []),
}
INPUTS["any_datatype"] = INPUTS["queried_datatype"] = INPUTS["datatype"]
INPUTS["named_datatype"] = (INPUTS["datatype"][0], INPUTS["datatype"][1][1:])
INPUTS["comm_or_null"] = (INPUTS["comm"][0], INPUTS["comm"][1][1:])
ARRAYS = {"request": "requests", "status": "statuses", "int": "numbers", "group_rank": "numbers",
          "group_rank_or_null": "null_ranks", "count": "(void*)counts",
          "displacement": "(void*)displacements", "datatype": "datatypes",
          "any_datatype": "datatypes", "number": "(void*)displacements",
          "byte_number": "(void*)displacements", "aint": "(void*)displacements",
          "long_count": "(void*)displacements", "rank": "numbers", "flag": "numbers"}
# Of these only the communicator knows how long they are, and the good one has no topology.
OF_TOPOLOGY = {"sources", "destinations", "topology"}
# Arrays with a wrong entry, and the class of it.
WRONG_ARRAYS = {"count": ("(void*)negative_counts", "MPI_ERR_COUNT"),
                "datatype": ("null_datatypes", "MPI_ERR_TYPE"),
                "any_datatype": ("null_datatypes", "MPI_ERR_TYPE")}
RANK_KINDS = {"group_rank", "group_rank_or_null"}
Case = tuple[dict[str, str], str]


def good(function: Function, arg: Arg) -> str:
    if arg.kind == "buffer":
        return "bytes" if arg.direction == "in" else "other"
    if arg.kind in ("function", "either_function"):
        return "NULL"
    if arg.literal == "int ranges[][3]":
        return "ranges"
    if arg.is_array:
        return ARRAYS[arg.kind]
    if arg.kind == "length" and arg.direction == "in":
        of_ranks = any(other.kind in RANK_KINDS and other.array == arg.name
                       for other in function.args)
        return "0" if of_ranks else "1"
    if arg.direction == "in":
        return INPUTS[arg.kind][0]
    if arg.kind in ("string", "string_or_null"):
        return "text"
    return "&status" if arg.kind == "status" else f"(void*)&{arg.kind}_place"


def wrong(function: Function, arg: Arg) -> list[Case]:
    """Changes of the good call, with the class of each."""
    name = arg.name
    if arg.kind == "buffer":
        if arg.count is not None and function.find(arg.count).array in OF_TOPOLOGY:
            return []
        cases: list[Case] = [({name: "NULL"}, "MPI_ERR_BUFFER")]
        return cases if arg.in_place else [*cases, ({name: "MPI_IN_PLACE"}, "MPI_ERR_BUFFER")]
    if arg.kind in ("function", "either_function"):
        return [({name: "NULL"}, "MPI_ERR_ARG")]
    if arg.is_array:
        if arg.kind == "status" or arg.array in OF_TOPOLOGY:
            return []
        cases = [({name: "NULL", arg.array or "": "1"}, "MPI_ERR_ARG")]
        if arg.kind in RANK_KINDS and arg.direction == "in" and arg.literal is None:
            cases.append(({name: "far_ranks", arg.array or "": "1"}, "MPI_ERR_RANK"))
        if arg.kind in WRONG_ARRAYS and arg.direction == "in":
            array, error = WRONG_ARRAYS[arg.kind]
            cases.append(({name: array}, error))
        return cases
    # Sizes, lengths and maxima are counts by their type, but only a count has its own class.
    if arg.direction == "in" and arg.kind in ("length", "count"):
        return [({name: "-1"}, "MPI_ERR_COUNT" if "count" in name else "MPI_ERR_ARG")]
    if arg.direction == "in":
        return [({name: value}, error) for value, error in INPUTS[arg.kind][1]]
    if arg.kind == "string_or_null":
        return []
    if arg.kind == "status":
        return [] if arg.direction == "out" else [({name: "NULL"}, "MPI_ERR_ARG")]
    cases = [({name: "NULL"}, "MPI_ERR_ARG")]
    if arg.direction == "inout" and arg.kind in ("comm", "group", "errhandler", "session"):
        cases.append(({name: f"(void*)&null_{arg.kind}"}, INPUTS[arg.kind][1][0][1]))
    return cases


def calls(function: Function, large: bool) -> list[str]:
    args = function.args_of(large)
    base = {arg.name: good(function, arg) for arg in args}
    lines = []
    # There is no good session here: it is looked at first, so nothing else can be wrong.
    sessions = [arg for arg in args if arg.kind == "session" and arg.direction != "out"]
    for arg in sessions or args:
        for change, error in wrong(function, arg):
            values = {**base, **change}
            call = f"{function.c_name(large)}({', '.join(values[one.name] for one in args)})"
            text = call.replace('"', "'")
            lines.append(f'    expect("{text}", {call}, {error});')
    return lines


def program(spec: mpi_spec.Spec) -> tuple[str, int]:
    """The program, and how many wrong calls it makes."""
    lines = [line for function in spec.functions
             if function.built and function.error not in ("nothing", "tool")
             for large in function.variants() for line in calls(function, large)]
    kinds = sorted({arg.kind for function in spec.functions if function.built
                    for arg in function.args if arg.direction != "in"})
    places = "\n".join(f"    long long {kind}_place[8] = {{0}};\n    (void){kind}_place;"
                       for kind in kinds)
    text = f"""#include <mpi.h>
#include <stdio.h>
static int differences = 0;
static void expect(const char* call, int got, int wanted)
{{
    if (got != wanted) {{
        printf("%s: %d instead of %d\\n", call, got, wanted);
        ++differences;
    }}
}}
int main(void)
{{
    long long bytes[8] = {{0}};
    long long other[8] = {{0}};
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {{0}};
    int numbers[4] = {{0}};
    int null_ranks[1] = {{MPI_PROC_NULL}};
    int far_ranks[1] = {{1000}};
    // The first entry is the same read as int and as MPI_Count.
    long long counts[64] = {{1, 1}};
    long long negative_counts[64] = {{-1, -1}};
    long long displacements[64] = {{0}};
    MPI_Datatype datatypes[64];
    MPI_Datatype null_datatypes[64];
    for (int i = 0; i < 64; ++i) {{
        datatypes[i] = MPI_INT;
        null_datatypes[i] = MPI_DATATYPE_NULL;
    }}
    (void)counts, (void)negative_counts, (void)displacements, (void)null_datatypes;
    (void)datatypes;
    int ranges[1][3] = {{{{0, 0, 1}}}};
    MPI_Status status = {{0}};
    MPI_Status statuses[1] = {{{{0}}}};
    MPI_Request requests[1] = {{MPI_REQUEST_NULL}};
    MPI_Comm null_comm = MPI_COMM_NULL;
    MPI_Group null_group = MPI_GROUP_NULL;
    MPI_Errhandler null_errhandler = MPI_ERRHANDLER_NULL;
    MPI_Session null_session = MPI_SESSION_NULL;
    (void)null_session;
{places}
    *(MPI_Comm*)comm_place = MPI_COMM_WORLD;
    *(MPI_Group*)group_place = MPI_GROUP_EMPTY;
    *(MPI_Errhandler*)errhandler_place = MPI_ERRORS_RETURN;
    *(MPI_Request*)request_place = MPI_REQUEST_NULL;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
{chr(10).join(lines)}
    MPI_Finalize();
    return differences != 0;
}}
"""
    return text, len(lines)
