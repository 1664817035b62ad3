"""One training in several processes: each runs the networks on its part of every batch.

The outputs of all parts are joined, so every process computes the losses of the whole batch, and the
gradients of the parts add up to its gradient. All else, such as methods, metrics, callbacks and checkpoints,
is as in one process, and no state depends on the number of processes.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import pad
from torch.overrides import TorchFunctionMode

from noiselimit.engine.results import Stopped
from noiselimit.errors import InputError, Notice, first_line
from noiselimit.networks.network import OWN_PART, in_float32

LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables that torchrun sets."""
TIMEOUT = timedelta(hours=2)
"""The first process reads and embeds the data while the others wait."""

Outputs = TypeVar("Outputs", bound=tuple[Tensor | None, ...])


@dataclass(frozen=True)
class Processes:
    """The processes that train together."""

    rank: int = 0
    """The number of this one. Number 0 alone writes files and shows progress."""
    count: int = 1
    device: torch.device | None = None

    def shares(self, examples: int) -> bool:
        """Whether such a batch has two examples for each; otherwise all compute the whole batch."""
        return self.count > 1 and examples >= 2 * self.count

    def part(self, examples: int) -> slice:
        """The examples of a batch that this process computes."""
        if not self.shares(examples):
            return slice(0, examples)
        return slice(examples * self.rank // self.count, examples * (self.rank + 1) // self.count)

    def join(self, examples: int, outputs: Outputs) -> Outputs:
        """Outputs [k, part, n] → [k, examples, n]. Gradients reach only the part of this process."""
        if not self.shares(examples) or all(each is None for each in outputs):
            return outputs
        own = self.part(examples)
        margins = (0, 0, own.start, examples - own.stop)
        whole = [None if each is None else pad(each, margins) for each in outputs]
        targets = [each.detach() for each in whole if each is not None]  # the same memory
        summed = torch.cat([target.flatten() for target in targets])  # one message for all
        self._reduce(summed)
        pieces = torch.split(summed, [target.numel() for target in targets])
        for target, piece in zip(targets, pieces, strict=True):
            target.copy_(piece.view(target.shape))
        return cast(Outputs, tuple(whole))

    def add_gradients(self, examples: int, gradients: Sequence[Tensor]) -> None:
        """Add up the gradients of all parts of a batch, in place."""
        for gradient in gradients if self.shares(examples) else ():
            self._reduce(gradient)

    @contextmanager
    def training(self, examples: int, batch_norm: str) -> Iterator[None]:
        """Within the block, dropout and batch-norm know that they see a part of such a batch."""
        if not self.shares(examples):
            yield
            return
        own = self.part(examples)
        before = OWN_PART.set((own.start, own.stop - own.start))
        try:
            with _Synchronised(self) if batch_norm == "synchronised" else nullcontext():
                yield
        finally:
            OWN_PART.reset(before)

    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by their means over the processes, such as local statistics of batch-norm."""
        for tensor in tensors if self.count > 1 else ():
            if tensor.is_floating_point():
                self._reduce(tensor.div_(self.count))

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process; waits for all of them."""
        if self.count == 1:
            return flag
        found = torch.tensor(float(flag), device=self.device)
        self._reduce(found, largest=True)
        return bool(found)

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.any(False)

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """The first process runs the block before the others, which then find its downloads and caches."""
        if self.rank:
            self.wait()
        yield
        if not self.rank:
            self.wait()

    def require_same(self, what: str, facts: object) -> None:
        """Raise an InputError in all processes unless the facts, plain JSON values, are the same in all."""
        if self.count == 1:
            return
        number = int.from_bytes(hashlib.sha256(json.dumps(facts).encode()).digest()[:7])
        found = torch.tensor([number, -number], device=self.device)
        self._reduce(found, largest=True)  # → the largest number and minus the smallest
        if found.sum():
            raise InputError(f"{what} differ between the processes: give all of them the same.")

    def require_batches(self, size: int) -> None:
        """Raise an InputError if batches of this size are too small for all processes."""
        if self.count > 1 and not self.shares(size):
            raise InputError(
                f"batch_size is {size}, but {self.count} processes share every batch: give at least "
                f"{2 * self.count}, or start fewer processes."
            )

    def quiet(self) -> AbstractContextManager[object]:
        """Within the block, only the first process shows notices."""
        return warnings.catch_warnings(action="ignore", category=Notice) if self.rank else nullcontext()

    def _reduce(self, tensor: Tensor, *, largest: bool = False) -> None:
        """Sum the tensors of all processes, in place, or take the largest values."""
        try:
            dist.all_reduce(tensor, dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM)
        except RuntimeError as error:
            raise InputError(
                "another process of this training ended or cannot be reached "
                f"({first_line(error).partition('. ')[0]}): see its message, and start all of them again to "
                "resume from the last checkpoint."
            ) from error


ALONE = Processes()


def own_device(name: str) -> str:
    """The GPU of this process, if there are GPUs and the user named none of them."""
    if name not in ("auto", "cuda") or not torch.cuda.is_available():
        return name
    return f"cuda:{os.environ.get('LOCAL_RANK', torch.cuda.current_device())}"


def find_processes(device: torch.device) -> Processes:
    """The processes of torch's default group; this one trains on the device."""
    if not (dist.is_available() and dist.is_initialized()):
        raise InputError(
            "distributed is True, but there is no process group: start the script with torchrun and call "
            "torch.distributed.init_process_group in it."
        )
    return Processes(dist.get_rank(), dist.get_world_size(), device)


def meet() -> tuple[Any, int, int]:
    """(where the processes exchange their addresses, the number of this one, how many there are).

    torchrun keeps one store for all its attempts. On one machine, each attempt gets names of its own in it,
    because addresses of processes that have ended would be tried. Machines may count attempts differently.
    """
    store, rank, count = next(dist.rendezvous("env://", timeout=TIMEOUT))  # type: ignore[attr-defined]
    if os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]:
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"attempt-{attempt}", store)  # type: ignore[attr-defined]
    return store, rank, count


@contextmanager
def launched_processes(device: torch.device) -> Iterator[Processes]:
    """The processes that torchrun started, which become a group; ALONE if it started one, or none."""
    if not all(variable in os.environ for variable in LAUNCHED) or os.environ["WORLD_SIZE"] == "1":
        yield ALONE
        return
    try:
        if not dist.is_initialized():
            store, rank, count = meet()
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=TIMEOUT)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"the processes cannot connect ({first_line(error)}): check torchrun.") from error
    processes = find_processes(device)
    try:
        with processes.quiet():
            yield processes
    except Stopped:
        raise InputError(
            "another process of this training was interrupted: start all of them again to resume."
        ) from None
    dist.destroy_process_group()  # after an error, the end of this process tells the others


class _Synchronised(TorchFunctionMode):
    """Within it, batch-norm in training uses the statistics of the whole batch.

    A mode, because layers of users and of timm call torch's function by themselves.
    """

    def __init__(self, processes: Processes) -> None:
        super().__init__()
        self.processes = processes

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = dict(zip(("input", "running_mean", "running_var"), args, strict=False)) | (kwargs or {})
        if function is not functional.batch_norm or not named.get("training"):
            return function(*args, **(kwargs or {}))
        out, mean, variance = _BatchNorm.apply(  # type: ignore[no-untyped-call]
            named["input"], named.get("weight"), named.get("bias"), named["eps"], self.processes
        )
        if named["running_mean"] is not None:
            named["running_mean"].lerp_(mean, named["momentum"])
            named["running_var"].lerp_(variance, named["momentum"])
        return out


class _BatchNorm(torch.autograd.Function):
    """Batch-norm of a part [B, C, ...], with its mean and variance [C] over the whole batch."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, processes: Processes
    ) -> tuple[Tensor, Tensor, Tensor]:
        channels = x.shape[1]
        variance, mean = torch.var_mean(in_float32(x), [0, *range(2, x.dim())], correction=0)
        found = mean.new_zeros(processes.count, 2 * channels + 1)
        found[processes.rank] = torch.cat([mean, variance, mean.new_full((1,), x.numel() / channels)])
        processes._reduce(found)
        means, variances, counts = torch.split(found, [channels, channels, 1], 1)
        count = counts.sum()
        mean = (counts * means).sum(0) / count
        variance = (counts * (variances + (means - mean).square())).sum(0) / count
        ctx.save_for_backward(x, weight, mean, variance, count)
        ctx.eps, ctx.processes = eps, processes
        out = functional.batch_norm(x, mean, variance, weight, bias, eps=eps)
        unbiased = variance * (count / (count - 1))
        ctx.mark_non_differentiable(mean, unbiased)
        return out, mean, unbiased

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """As if the statistics were constants; then what the loss of the whole batch owes to them."""
        x, weight, mean, variance, count = ctx.saved_tensors
        dx, dweight, dbias = torch.ops.aten.native_batch_norm_backward(
            gradients[0], x, weight, mean, variance, None, None, False, ctx.eps, [True, True, True]
        )
        sums = torch.stack([dweight, dbias])
        ctx.processes._reduce(sums)
        scale = (variance + ctx.eps).rsqrt()
        slope = -scale.square() * sums[0] / count
        shift = -scale * sums[1] / count - slope * mean
        if weight is not None:
            slope, shift = slope * weight, shift * weight
        shape = (1, -1, *[1] * (x.dim() - 2))
        dx = dx.addcmul_(x, slope.view(shape).to(x.dtype)).add_(shift.view(shape).to(x.dtype))
        return dx, *((None, None) if weight is None else (dweight, dbias)), None, None
