# SPDX-License-Identifier: Apache-2.0
"""The argument checks of one entry point, as lines of C++ (spec/mpi/kinds.toml says which)."""

from __future__ import annotations

from mpi_spec import Arg, Function, SpecError

# Kinds whose inputs nothing is asked of.
FREE = {
    "request", "message", "leader_comm", "address", "strings", "argc", "argv", "varargs", "number",
    "displacement", "byte_number", "aint", "offset", "rank", "int", "flag", "keyval",
    "tool_function", "tool_value", "attribute_function", "string_or_null",
}
COMM = {"comm", "comm_or_null"}
NOT_NEGATIVE = {"count", "byte_count", "long_count", "length", "aint_size"}
RANK_OF_COMM = {"dest", "source"}
# Kinds that are looked up in the rank, which is not there before MPI_Init.
NEED_RANK = {*COMM, "group", "datatype", "any_datatype", "queried_datatype", "named_datatype",
             "op"}
OF_ITSELF = {"tag", "recv_tag", "color"}
# Kinds of which a function may take an array of any length, and what looks at all of them.
LISTED = {"count": "check_counts", "any_datatype": "check_any_datatypes", "number": None,
          "byte_number": None, "int": None, "flag": None, "rank": None}
# Kinds of which collectives take one for each rank, and the function that looks at all of them.
PER_RANK = {"count": "check_counts", "displacement": None, "aint": None,
            "datatype": "check_datatypes"}
# What the communicator knows the length of: the member that says it.
LENGTHS = {"group": "peer_count()", "members": "size()", "sources": "source_count()",
           "destinations": "destination_count()"}
# The hand-written function knows the length, and looks at all of it.
UNCHECKED = {"topology"}


class Checks:
    """Collects the checks in the order in which they are done: the object that holds the error
    handler, then the arguments from left to right, then the buffers."""

    def __init__(self, function: Function, args: list[Arg]) -> None:
        self.function = function
        self.args = args
        self.by_name = {arg.name: arg for arg in args}
        self.comm = next((arg for arg in args if arg.kind in COMM and arg.direction != "out"),
                         None)
        self.at_root_needed = any(arg.root_only or arg.in_place == "root" for arg in args)

    def lines(self) -> list[str]:
        result: list[str] = []
        if self.comm is not None:
            result += self.handle(self.comm)
        late: list[str] = []
        root = next((arg for arg in self.args if arg.kind == "root"), None)
        if self.at_root_needed:
            if root is None:
                raise SpecError(f"{self.function.name}: root_only without a root")
            result += self.input(root)
            result.append(
                f"const bool at_root = is_at_root({root.name}, *{self.comm_object()});")
        for arg in self.args:
            if arg is self.comm or (arg is root and self.at_root_needed):
                continue
            if arg.kind == "buffer":
                late += self.guarded(arg, self.buffer(arg))
            elif arg.direction == "out":
                result += self.output(arg)
            else:
                result += self.guarded(arg, self.input(arg))
        return result + late + self.alias()

    def comm_object(self) -> str:
        if self.comm is None:
            raise SpecError(f"{self.function.name}: a rank needs a communicator argument")
        return f"{self.comm.name}_object"

    @staticmethod
    def refuse(condition: str, action: str) -> list[str]:
        return [f"if ({condition}) [[unlikely]] {{", f"    return {action};", "}"]

    @staticmethod
    def returning(checked: str) -> list[str]:
        """Ends with the class that a check gives, if it gives one."""
        return [f"if (const int code = {checked}; code != MPI_SUCCESS) [[unlikely]] {{",
                "    return code;", "}"]

    def not_null(self, arg: Arg) -> list[str]:
        return self.refuse(f"{arg.name} == nullptr", f'refuse_null(call, "{arg.name}")')

    def array_not_null(self, arg: Arg) -> list[str]:
        length = arg.array
        if length in UNCHECKED:
            return []
        if length not in self.by_name:
            raise SpecError(f"{self.function.name}: the length of {arg.name} is not an argument")
        length_is_pointer = self.by_name[length].direction != "in"
        if length_is_pointer:
            raise SpecError(f"{self.function.name}: the length of {arg.name} is an output")
        return self.refuse(f"{length} > 0 && {arg.name} == nullptr",
                           f'refuse_null(call, "{arg.name}")')

    def output(self, arg: Arg) -> list[str]:
        if arg.kind in {"status", "string_or_null"}:
            return []
        return self.array_not_null(arg) if arg.is_array else self.not_null(arg)

    def input(self, arg: Arg) -> list[str]:
        kind = arg.kind
        if self.function.any_time and kind in NEED_RANK:
            raise SpecError(f"{self.function.name}: {kind} cannot be checked before MPI_Init")
        pointer = arg.direction == "inout"
        if kind in COMM | {"group", "errhandler", "session", "sync"} and not arg.is_array:
            return self.handle(arg)
        if kind in {"group_rank", "group_rank_or_null"} and arg.is_array:
            return self.group_ranks(arg)
        if arg.is_array and kind in {"request", "status"}:
            return self.array_not_null(arg)
        if arg.array in LENGTHS and kind in PER_RANK:
            return self.per_rank(arg)
        if arg.is_array and kind in LISTED:
            return self.listed(arg)
        if arg.is_array:
            raise SpecError(f"{self.function.name}: no check for an array of kind {kind}")
        if pointer or kind in {"string", "status", "function", "either_function"}:
            return self.not_null(arg)
        if kind == "info":
            return self.refuse(f"!is_info(call, {arg.name})",
                               f'refuse_info(call, "{arg.name}", {arg.name})')
        if kind in {"datatype", "any_datatype", "queried_datatype", "named_datatype", "op"}:
            what = "op" if kind == "op" else "datatype"
            return self.refuse(f"!is_{kind}(call.rank(), {arg.name})",
                               f'refuse_{what}(call, "{arg.name}", {arg.name})')
        if kind in NOT_NEGATIVE:
            error = "MPI_ERR_COUNT" if "count" in arg.name else "MPI_ERR_ARG"
            return self.refuse(f"{arg.name} < 0",
                               f'refuse_negative(call, "{arg.name}", {arg.name}, {error})')
        if kind == "root":
            return self.refuse(f"!is_root({arg.name}, *{self.comm_object()})",
                               f'refuse_root(call, "{arg.name}", {arg.name}, '
                               f"*{self.comm_object()})")
        if kind in RANK_OF_COMM:
            size = f"{self.comm_object()}->peer_count()"
            return self.refuse(f"!is_{kind}({arg.name}, {size})",
                               f'refuse_{kind}(call, "{arg.name}", {arg.name}, {size})')
        if kind in OF_ITSELF:
            return self.refuse(f"!is_{kind}({arg.name})",
                               f'refuse_{kind}(call, "{arg.name}", {arg.name})')
        if kind in FREE:
            return []
        raise SpecError(f"{self.function.name}: no check for kind {kind}")

    def handle(self, arg: Arg) -> list[str]:
        """Resolves a handle to `<name>_object`."""
        lines = self.not_null(arg) if arg.direction == "inout" else []
        value = f"*{arg.name}" if arg.direction == "inout" else arg.name
        if arg is self.comm:
            found, what = f"call.communicator({value})", "communicator"
        elif arg.kind in COMM:
            found, what = f"object::find_communicator(call.rank(), {value})", "communicator"
        elif arg.kind == "group":
            found, what = f"object::find_group(call.rank(), {value})", "group"
        elif arg.kind == "session":
            found, what = f"find_session(call, {value})", "session"
        elif arg.kind == "sync":
            found, what = f"find_sync(call, {value})", "sync"
        else:
            found, what = f"find_error_handler(call, {value})", "error_handler"
        target = f"{arg.name}_object"
        lines.append(f"auto* const {target} = {found};")
        is_missing = f"{target} == nullptr"
        if arg.kind == "comm_or_null":
            is_missing += f" && {value} != MPI_COMM_NULL"
        return lines + self.refuse(is_missing,
                                   f'refuse_{what}(call, "{arg.name}", {value})')

    def group_ranks(self, arg: Arg) -> list[str]:
        lines = self.array_not_null(arg)
        if arg.literal is not None:
            return lines
        before = self.args[: self.args.index(arg)]
        group = next((other for other in before if other.kind == "group"), None)
        if group is None:
            raise SpecError(f"{self.function.name}: {arg.name} has no group argument before it")
        allows_null = "true" if arg.kind == "group_rank_or_null" else "false"
        checked = (f'check_group_ranks(call, "{arg.name}", {arg.name}, {arg.array}, '
                   f"*{group.name}_object, {allows_null})")
        return lines + self.returning(checked)

    def per_rank(self, arg: Arg) -> list[str]:
        length = self.length_of(arg)
        return (self.refuse(f"{arg.name} == nullptr && {length} > 0",
                            f'refuse_null(call, "{arg.name}")')
                + self.entries(arg, PER_RANK[arg.kind], length))

    def listed(self, arg: Arg) -> list[str]:
        return self.array_not_null(arg) + self.entries(arg, LISTED[arg.kind], str(arg.array))

    def length_of(self, arg: Arg) -> str:
        """Of an array that has an entry for each rank, source or destination."""
        return f"{self.comm_object()}->{LENGTHS[str(arg.array)]}"

    def entries(self, arg: Arg, check: str | None, length: str) -> list[str]:
        if check is None:
            return []
        return self.returning(f'{check}(call, "{arg.name}", {self.amount(arg.name)}, {length})')

    def amount(self, name: str) -> str:
        """A count or a datatype as the functions of abi/check.hpp take it."""
        arg = self.by_name[name]
        return f"object::CountArray({name})" if arg.is_array and arg.kind == "count" else name

    def in_place(self, arg: Arg) -> str:
        condition = f"is_in_place({arg.name})"
        return f"at_root && {condition}" if arg.in_place == "root" else condition

    def buffer(self, arg: Arg) -> list[str]:
        if arg.count is None or arg.datatype is None:
            raise SpecError(f"{self.function.name}: buffer {arg.name} has no count or datatype")
        counts = self.by_name[arg.count]
        size = f", {self.length_of(counts)}" if counts.is_array else ""
        condition = f"!is_buffer(call, {arg.name}, {self.amount(arg.count)}, {arg.datatype}{size})"
        if arg.in_place is not None:
            condition = f"!({self.in_place(arg)}) && {condition}"
        if self.is_counted_in_bytes(arg):
            # Displacements may be addresses, counted from MPI_BOTTOM, which is null.
            condition = f"{arg.name} != nullptr && {condition}"
        return self.refuse(condition, f'refuse_buffer(call, "{arg.name}", {arg.name})')

    def is_counted_in_bytes(self, buffer: Arg) -> bool:
        """Its blocks lie where an array of MPI_Aint says, which is among the next arguments."""
        behind = self.args[self.args.index(buffer) + 1:][:3]
        return any(arg.kind == "aint" and arg.array in LENGTHS for arg in behind)

    def alias(self) -> list[str]:
        """Where MPI_IN_PLACE exists, the two buffers must not be one. With displacements they may
        be: the blocks of both can lie side by side."""
        buffers = [arg for arg in self.args if arg.kind == "buffer"]
        if len(buffers) != 2 or all(arg.in_place is None for arg in buffers):
            return []
        if any(arg.kind == "displacement" for arg in self.args):
            return []
        first, second = buffers
        # Between two groups no rank has both buffers.
        rooted = "at_root && root >= 0 && " if any(arg.root_only for arg in buffers) else ""
        any_element = f"{first.count} > 0"
        if first.count is not None and self.by_name[first.count].is_array:
            length = self.length_of(self.by_name[first.count])
            any_element = f"has_elements({self.amount(first.count)}, {length})"
        condition = (f"{rooted}{first.name} == {second.name} && {first.name} != nullptr && "
                     f"{any_element}")
        return self.refuse(condition, f'refuse_alias(call, "{first.name}", "{second.name}")')

    def taking_part(self, arg: Arg) -> list[str]:
        """Between two groups, some ranks of the root's group look at less, or at nothing."""
        root = next((other for other in self.args if other.kind == "root"), None)
        if root is None or arg is root or arg.kind in {"info", "request"}:
            return []
        buffers = [other for other in self.args
                   if other is arg or arg.name in (other.count, other.datatype)]
        buffers = [other for other in buffers if other.kind == "buffer"]
        at_root = any(other.root_only for other in self.args if other.kind == "buffer")
        if at_root and len(buffers) == 1:
            return [f"{root.name} >= 0"]
        return [f"{root.name} != MPI_PROC_NULL"]

    def guarded(self, arg: Arg, lines: list[str]) -> list[str]:
        """Wraps checks of an argument that is not looked at on every rank."""
        conditions = ["at_root"] if arg.root_only else self.taking_part(arg)
        owners = [other for other in self.args
                  if other.kind == "buffer" and arg.name in (other.count, other.datatype)]
        if arg.kind == "displacement":
            before = self.args[: self.args.index(arg)]
            owners = [other for other in before if other.kind == "buffer"][-1:]
        if len(owners) == 1 and owners[0].in_place is not None:
            condition = self.in_place(owners[0])
            conditions.append(f"!({condition})" if "&&" in condition else f"!{condition}")
        if not conditions or not lines:
            return lines
        return [f"if ({' && '.join(conditions)}) {{", *("    " + line for line in lines), "}"]
