# SPDX-License-Identifier: Apache-2.0
"""How each MPI library is built against and launched on stated cores.

Ours and the rivals that speak the MPI ABI run the same binary; Open MPI runs its own. Ours runs at
its default settings, the rivals at the best documented setting for one node; both are printed with
the results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from headway import hosts, rivals
from headway.description import Variant

OURS = "headway"

# Settings of any MPI that a user's shell may hold; none of them may reach a measured job.
FOREIGN_SETTINGS = (
    "FI_",
    "HEADWAY_",
    "HYDRA_",
    "HYDI_",
    "I_MPI_",
    "LD_",
    "MPICH_",
    "MPIEXEC_",
    "MPIR_",
    "OMPI_",
    "OPAL_",
    "PMI",
    "PRTE_",
    "UCX_",
)


@dataclass(frozen=True)
class Library:
    """One library under measurement.

    label: name in tables and JSON. launcher: mpiexec without the number of ranks. pin / unpin:
    arguments that bind each rank to a core of its own or to none; `{cores}` becomes `0,1`.
    environment: settings, `{cores}` replaced too. own_compiler: mpicc where the library needs a
    binary of its own, else None (the MPI ABI). settings: one line for the reader. without_cma:
    settings under which it copies through shared memory instead of process_vm_readv. prterun: its
    launcher over hosts, None for mpiexec.hydra of MPICH, with on_hosts_arguments (`{subnet}`
    becomes that of the hosts) and on_hosts_environment.
    """

    label: str
    launcher: tuple[str, ...]
    pin: tuple[str, ...]
    unpin: tuple[str, ...]
    settings: str
    environment: Mapping[str, str] = field(default_factory=dict)
    pin_environment: Mapping[str, str] = field(default_factory=dict)
    own_compiler: Path | None = None
    without_cma: Mapping[str, str] = field(default_factory=dict)
    prterun: Path | None = None
    on_hosts_arguments: tuple[str, ...] = ("-bind-to", "none")
    on_hosts_environment: Mapping[str, str] = field(default_factory=dict)
    is_ours: bool = False

    def command_on_hosts(self, made: hosts.Hosts, ranks: int) -> list[str]:
        """The same over hosts, which share the ranks evenly. Raises RivalError without Hydra."""
        subnet = f"{made.subnet}.0/24"
        words = [part.replace("{subnet}", subnet) for part in self.on_hosts_arguments]
        per_host = ranks // made.count
        if self.prterun is not None:
            return made.prterun(str(self.prterun), ranks, per_host, *words)
        mpich = rivals.find("mpich")
        if mpich is None:
            raise rivals.RivalError(
                "Jobs over hosts need MPICH's launcher; run './dev rivals mpich'."
            )
        return made.hydra(str(mpich / "bin" / "mpiexec.hydra"), ranks, per_host, *words)

    def command(self, ranks: int, cores: Sequence[int], pin: bool) -> list[str]:
        """The launcher's command line up to the program; `cores` are those to bind to."""
        listed = ",".join(str(core) for core in cores[:ranks])
        binding = [part.replace("{cores}", listed) for part in (self.pin if pin else self.unpin)]
        return [*self.launcher, "-n", str(ranks), *binding]

    def job_environment(
        self, ranks: int, cores: Sequence[int], pin: bool, has_cma: bool = True
    ) -> dict[str, str]:
        """The user's environment without settings of any MPI, with those of this library."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(FOREIGN_SETTINGS)
        }
        listed = ",".join(str(core) for core in cores[:ranks])
        settings = {**self.environment, **(self.pin_environment if pin else {})}
        settings |= {} if has_cma else self.without_cma
        return clean | {name: value.replace("{cores}", listed) for name, value in settings.items()}


def ours(stage: Path, arguments: Sequence[str] = ()) -> Library:
    """Headway as staged in `stage`, its mpiexec with further arguments."""
    return Library(
        label=OURS,
        launcher=(str(stage / "bin" / "mpiexec"), *arguments),
        pin=("--bind-to", "core"),
        unpin=_unpin_ours(arguments),
        settings=" ".join(arguments) or "defaults",
        without_cma={"HEADWAY_CMA": "off"},
        is_ours=True,
    )


def relaunched(library: Library, arguments: Sequence[str]) -> Library:
    """Ours, with other arguments of its mpiexec."""
    return replace(
        library,
        launcher=(library.launcher[0], *arguments),
        unpin=_unpin_ours(arguments),
    )


def _unpin_ours(arguments: Sequence[str]) -> tuple[str, ...]:
    # User-level ranks are not bound; their workers are, unless told otherwise.
    return () if "ult" in arguments else ("--bind-to", "none")


def settings_line(library: Library, shows_cma: bool, is_on_hosts: bool = False) -> str:
    """The settings for the reader; with those of jobs without CMA where there are such jobs."""
    if is_on_hosts:
        launcher = "prterun" if library.prterun is not None else "mpiexec.hydra of MPICH"
        set_ = [f"{name}={value}" for name, value in library.on_hosts_environment.items()]
        return f"{launcher} {' '.join([*library.on_hosts_arguments, *set_])}"
    if not shows_cma:
        return library.settings
    refused = " ".join(f"{name}={value}" for name, value in library.without_cma.items())
    return f"{library.settings}; where CMA is refused: {refused}"


def variant(library: Library, changes: Variant) -> Library:
    """`library` as a variant of a bench has it, under a name of its own."""
    parts = [f"{name}={value}" for name, value in changes.environment.items()]
    if changes.program is not None:
        parts.append(f"bench/mpi/{changes.program}.c")
    parts += changes.arguments or ()
    return replace(
        library,
        label=changes.label,
        settings=f"{' '.join(parts)}, else as {library.label}" if parts else library.settings,
        environment={**library.environment, **changes.environment},
    )


def mpich(path: Path) -> Library:
    """MPICH: its defaults; choice of netmod and progress knobs moved nothing on one node."""
    return Library(
        label=rivals.RIVALS["mpich"].label,
        launcher=(str(path / "bin" / "mpiexec"),),
        pin=("-bind-to", "user:{cores}"),
        unpin=("-bind-to", "none"),
        settings="defaults; pinned by -bind-to user:CORES",
        environment={"LD_LIBRARY_PATH": str(path / "lib")},
        on_hosts_environment={"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
        without_cma={"MPIR_CVAR_CH4_CMA_ENABLE": "0"},
    )


def intel(path: Path) -> Library:
    """Intel MPI: shared memory only, as its documentation advises for one node."""
    return Library(
        label=rivals.RIVALS["intel"].label,
        launcher=(str(path / "bin" / "mpiexec"),),
        pin=(),
        unpin=(),
        settings="I_MPI_FABRICS=shm; pinned by I_MPI_PIN_PROCESSOR_LIST=CORES, else I_MPI_PIN=0",
        environment={
            "I_MPI_ROOT": str(path),
            "LD_LIBRARY_PATH": str(path / "lib"),
            "I_MPI_FABRICS": "shm",
            "I_MPI_PIN": "0",
        },
        pin_environment={"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": "{cores}"},
        without_cma={"I_MPI_SHM_CMA": "0"},
    )


def openmpi(path: Path) -> Library:
    """Open MPI: the ob1 layer over shared memory, its path for one node."""
    return Library(
        label=rivals.RIVALS["openmpi"].label,
        launcher=(
            str(path / "bin" / "mpiexec"),
            "--allow-run-as-root",
            *("--mca", "pml", "ob1", "--mca", "btl", "self,sm"),
        ),
        pin=("--map-by", "pe-list={cores}:ordered", "--bind-to", "core"),
        unpin=("--oversubscribe", "--bind-to", "none"),
        settings="--mca pml ob1 --mca btl self,sm; pinned by --map-by pe-list=CORES:ordered",
        own_compiler=path / "bin" / "mpicc",
        prterun=path / "bin" / "mpirun",
        on_hosts_arguments=(
            *("--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"),
            *("--mca", "btl_tcp_if_include", "{subnet}"),
        ),
        without_cma={"OMPI_MCA_smsc": "^cma"},
    )


MAKERS = {"mpich": mpich, "intel": intel, "openmpi": openmpi}
