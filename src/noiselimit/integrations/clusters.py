"""Engines that train runs on a cluster: `train(specs, data, out=..., engine="ray")` or "slurm"."""

import os
import pickle
import shutil
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import check_threads
from noiselimit.errors import InputError, first_line, unknown
from noiselimit.integrations.tasks import Engine, Lost, Task, load_extra, work

CONNECT_TIMEOUT = 10.0
"""Seconds in which an address must answer."""
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How every connection of gRPC, which Ray speaks, begins."""


@dataclass(kw_only=True, eq=False)
class Ray(Engine):
    """A Ray cluster. By default it gets as many tasks as it can run at once.

    A task takes one GPU, if there are any, and as many CPUs as `train` gets `threads`, by default one.
    """

    address: str | None = None
    """auto or HOST:PORT. None: what Ray is connected to, or a cluster on this machine."""

    @contextmanager
    def open(self, out: Path, how: Mapping[str, Any]) -> Iterator[None]:
        """Connect to the cluster, or start one."""
        address = self.address or os.environ.get("RAY_ADDRESS")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # otherwise Ray warns
        if address is None:  # Ray knows no passwords, so a cluster of our own listens on loopback only
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        self._ray, self._data = load_extra("ray", "ray"), None
        own = not self._ray.is_initialized()
        if own:
            _check_address(address)
            settings = {"include_dashboard": False} if address is None else {"address": address}
            on_sigterm = signal.getsignal(signal.SIGTERM)
            try:
                self._ray.init(log_to_driver=False, logging_level="ERROR", **settings)
            except Exception as error:  # of many kinds; on a busy machine, the start may time out
                raise _no_answer(address, error) from None
            with suppress(ValueError):  # not in the main thread
                signal.signal(signal.SIGTERM, on_sigterm)  # Ray has set its own
        try:
            self._find_resources(how)
            yield
        finally:
            if own:
                self._ray.shutdown()

    def _find_resources(self, how: Mapping[str, Any]) -> None:
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        threads, gpus = how["threads"] or 1, sum(int(node.get("GPU", 0)) for node in nodes)
        device = how["device"] if how["device"] != "auto" else "cuda" if gpus else "cpu"
        on_gpu = device != "cpu"
        room = gpus if on_gpu else sum(int(node.get("CPU", 0)) // threads for node in nodes)
        if not (self.tasks or room):
            needs, remedy = ("a GPU", "use device cpu") if on_gpu else (f"{threads} CPUs", "lower threads")
            problem = f"no machine of the Ray cluster has {needs}"
            raise InputError(f"{problem}: {remedy}, or set tasks if machines start on demand.")
        self.how, self.slots = {**how, "device": device, "threads": threads}, self.tasks or room
        resources = {"num_cpus": threads, "num_gpus": int(on_gpu), "max_retries": 0}
        self._work = self._ray.remote(work).options(**resources)

    def submit(self, tasks: Sequence[Task], data: DataSet) -> list[Any]:
        """The data go to Ray's object store once."""
        self._data = self._data or self._ray.put(data)
        return [self._work.remote(task, self._data) for task in tasks]

    def has_ended(self, handle: Any) -> bool:
        """Whether a task has ended."""
        return bool(self._ray.wait([handle], timeout=0)[0])

    def result(self, handle: Any) -> str | None:
        """What the task returned."""
        try:
            return self._ray.get(handle)  # type: ignore[no-any-return]
        except self._ray.exceptions.RayTaskError:  # a bug
            raise
        except self._ray.exceptions.RayError as error:
            raise Lost(first_line(error)) from None

    def cancel(self, handle: Any) -> None:
        """Kill the process of a task."""
        self._ray.cancel(handle, force=True)


def _check_address(address: str | None) -> None:
    """Refuse an address that does not answer; Ray would try for long."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT) as connection:
                connection.sendall(HELLO)
                if not connection.recv(1):
                    raise ConnectionResetError("it closes the connection")
        except (OSError, OverflowError) as error:
            raise _no_answer(address, error) from None


def _no_answer(address: str | None, error: Exception) -> InputError:
    problem, remedy = "Ray does not start on this machine", "try again, or leave out the engine"
    if address:
        problem, remedy = f"no Ray cluster answers at {address}", "start one there, or name another address"
    return InputError(f"{problem} ({first_line(error).rstrip('.')}): {remedy}.")


@dataclass(kw_only=True, eq=False)
class Slurm(Engine):
    """An array job of Slurm, submitted and watched by submitit. By default it has eight tasks."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Of submitit's executor, such as slurm_partition, timeout_min, mem_gb and gpus_per_node."""
    scheduler: str = "slurm"
    """Name of submitit's executor; 'local' starts processes on this machine."""

    @contextmanager
    def open(self, out: Path, how: Mapping[str, Any]) -> Iterator[None]:
        """Check the options. Logs are in OUT/.slurm until all runs have finished."""
        submitit, self._folder = load_extra("submitit", "slurm"), (out / ".slurm").resolve()
        device, threads = how["device"], how["threads"] or 1
        if device == "auto":
            device = "cuda" if any("gpu" in name or "gres" in name for name in self.options) else "cpu"
        self.how, self.slots = {**how, "device": device, "threads": threads}, self.tasks or 8
        self._data = self._folder / "data.pickle"
        try:
            self._executor = submitit.AutoExecutor(self._folder, cluster=self.scheduler)
            usual = {"name": "noiselimit", "cpus_per_task": threads}
            self._executor.update_parameters(**{**usual, **self.options})
        except (RuntimeError, ValueError, TypeError, NameError) as error:
            raise InputError(
                f"Slurm cannot be used ({first_line(error)}): correct its options, or "
                "run the command on a machine of the cluster."
            ) from None
        try:
            yield
            shutil.rmtree(self._folder, ignore_errors=True)
        finally:
            self._data.unlink(missing_ok=True)

    def submit(self, tasks: Sequence[Task], data: DataSet) -> list[Any]:
        """Submit one array job; the data are written once."""
        if not self._data.exists():
            self._data.parent.mkdir(parents=True, exist_ok=True)
            self._data.write_bytes(pickle.dumps(data))
        return list(self._executor.map_array(work, tasks, [self._data] * len(tasks)))

    def has_ended(self, handle: Any) -> bool:
        """Whether a task has ended."""
        return bool(handle.done())

    def result(self, handle: Any) -> str | None:
        """What the task returned."""
        error = handle.exception()
        if error is None:
            return handle.result()  # type: ignore[no-any-return]
        if type(error).__name__ == "FailedJobError":  # a bug
            raise error
        raise Lost(first_line(error))

    def cancel(self, handle: Any) -> None:
        """Cancel a task of the array."""
        handle.cancel(check=False)


ENGINES: dict[str, type[Engine]] = {"ray": Ray, "slurm": Slurm}


@contextmanager
def open_engine(engine: Engine | str, out: Path | None, how: Mapping[str, Any]) -> Iterator[Engine]:
    """Connect to a cluster, given by an engine or its name; `how` has arguments of `make_backend`."""
    if isinstance(engine, str):
        if engine not in ENGINES:
            raise unknown("engine", engine, ENGINES)
        engine = ENGINES[engine]()
    check_threads(how["threads"] or 1, how["threads_per_block"])
    if out is None:
        raise InputError("engine needs out: give a folder that all machines of the cluster see.")
    with engine.open(out, how):
        yield engine
