"""Parts of the trials of LIMIT+: views of pictures, networks with moving averages, recorded steps."""

import argparse
import gc
import math
import os
import sys
import time
import traceback
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from noiselimit.networks.resnet import Basic, ResNet

MODES = ("compile", "graph", "eager")  # each asks less of the machine than the one before
CLASSES, DRAWS = 10, 16
NORMAL = ((0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616))  # mean and deviation of red, green and blue


def view(kind: str, x: Tensor, u: Tensor) -> Tensor:
    """Random, normalised views of pictures [B, 3, S, S] in bytes, from uniform draws [B, DRAWS]."""
    flip, zero, s = (u[:, 0] < 0.5) * 2.0 - 1, torch.zeros_like(u[:, 0]), 2 * u - 1
    if kind == "weak":  # moves by up to four pixels
        across, down = (((u[:, i] * 9).floor() - 4) * (2 / x.shape[-1]) for i in (1, 2))
        rows = (flip, zero, across, zero, zero + 1, down)
    elif kind == "crop":  # a fifth to all of the picture
        area, ratio = 0.2 + 0.8 * u[:, 1], torch.exp(s[:, 2] * math.log(4 / 3))
        wide, high = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
        rows = (flip * wide, zero, s[:, 3] * (1 - wide), zero, high, s[:, 4] * (1 - high))
    else:
        size = 1.7 if kind == "rand" else 1.0
        angle, zoom, shear = s[:, 1] * size * math.pi / 12, torch.exp(0.18 * s[:, 2]), 0.15 * size * s[:, 3]
        cos, sin, across, down = zoom * angle.cos(), zoom * angle.sin(), *(0.25 * size * s[:, 4:6]).unbind(1)
        rows = (flip * cos, shear - sin, across, flip * sin, cos, down)
    grid = F.affine_grid(torch.stack(rows, 1).view(-1, 2, 3), list(x.shape), align_corners=False)
    x = F.grid_sample(x / 255, grid, padding_mode="reflection", align_corners=False)
    if kind == "rand":
        x = change_one_way(change_one_way(x, u[:, 6:8]), u[:, 8:10])
    elif kind != "weak":
        x = jitter(x, u[:, 6:12], 0.2 if kind == "crop" else 0.1)
    x = normal(x)
    if kind in ("weak", "crop"):
        return x
    places = torch.arange(x.shape[-1], device=x.device)  # cut out a square of half the side
    near = [(places - u[:, i, None] * len(places)).abs() < len(places) / 4 for i in (12, 13)]
    return x * ~(near[0].unsqueeze(2) & near[1].unsqueeze(1)).unsqueeze(1)


def normal(x: Tensor) -> Tensor:
    return torch.stack([(x[:, i] - mean) / deviation for i, (mean, deviation) in enumerate(NORMAL)], 1)


def grey(x: Tensor) -> Tensor:
    return (0.299 * x[:, 0] + 0.587 * x[:, 1] + 0.114 * x[:, 2]).unsqueeze(1)


def jitter(x: Tensor, u: Tensor, grey_share: float) -> Tensor:
    """Change brightness, contrast, saturation and hue of four fifths; some become grey."""
    kept, *draws = u.view(*u.shape, 1, 1, 1).unbind(1)
    draws = [(2 * draw - 1) * (kept < 0.8) for draw in draws]
    x = (x * (1 + 0.4 * draws[0])).clamp(0, 1)
    middle = grey(x).mean((2, 3), keepdim=True)
    x = (middle + (x - middle) * (1 + 0.4 * draws[1])).clamp(0, 1)
    shade, turn = grey(x), 0.2 * math.pi * draws[2].squeeze(1)
    coloured = u[:, 4].view(-1, 1, 1, 1) >= grey_share
    colour = (x - shade) * (1 + 0.4 * draws[4]) * coloured
    red, green, blue = colour.unbind(1)
    # Colours without their shade are a plane, in which the television standard's i and q are coordinates.
    i, q = 0.596 * red - 0.274 * green - 0.322 * blue, 0.211 * red - 0.523 * green + 0.312 * blue
    i, q = i * turn.cos() - q * turn.sin(), i * turn.sin() + q * turn.cos()
    turned = (0.956 * i + 0.621 * q, -0.272 * i - 0.647 * q, -1.106 * i + 1.703 * q)
    return (shade + torch.stack(turned, 1)).clamp(0, 1)


def change_one_way(x: Tensor, u: Tensor) -> Tensor:
    """One of eight changes with random strength, as in RandAugment."""
    choice, amount = u.view(-1, 2, 1, 1, 1).unbind(1)
    low, high, shade = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True), grey(x)
    factor, levels = 0.1 + 1.8 * amount, torch.exp2(2 + (4 * amount).floor())
    middle = shade.mean((2, 3), keepdim=True)
    blurred = F.avg_pool2d(F.pad(x, (1, 1, 1, 1), "replicate"), 3, 1)
    changes = (
        x,
        (x - low) / (high - low + 0.01),
        torch.where(x < 0.3 + 0.7 * amount, x, 1 - x),
        (x * levels).floor() / levels,
        x * factor,
        middle + (x - middle) * factor,
        shade + (x - shade) * factor,
        blurred + (x - blurred) * factor * 1.5,
    )
    for number, change in enumerate(changes):
        x = torch.where((choice * len(changes)).floor() == number, change, x)
    return x.clamp(0, 1)


def forward(network: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the head's outputs and the features, in float32."""
    x = x.contiguous(memory_format=torch.channels_last)
    with torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):
        features = network(x)[1]
    return network.head(features.float()), features.float()


@torch.no_grad()
def outputs_of(network: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Logits and normalised features of the pictures as they are."""
    parts = [forward(network, normal(part / 255)) for part in images.split(2000)]  # type: ignore[no-untyped-call]
    return torch.cat([part[0] for part in parts]), F.normalize(torch.cat([part[1] for part in parts]))


def neighbours(features: Tensor, count: int = 200) -> Tensor:
    """[n, count]: the positions of the nearest other rows."""
    parts = features.split(2000)  # type: ignore[no-untyped-call]
    return torch.cat([(part @ features.T).topk(count + 1).indices[:, 1:] for part in parts])


def rows_to_one(values: Tensor) -> Tensor:
    return values / values.sum(1, keepdim=True).clamp(min=1e-12)


class Student:
    """A ResNet-18 with its optimiser and its moving average, the teacher."""

    def __init__(
        self, head: nn.Module, start: dict[str, Tensor], device: torch.device, average: float
    ) -> None:
        network = ResNet((3, 32, 32), CLASSES, block=Basic, depths=(2, 2, 2, 2), small=True)
        network.fc, network.head = nn.Identity(), head  # type: ignore[assignment]
        network.load_state_dict({**network.state_dict(), **start})
        self.network, self.share = network.to(device), 1 - average
        self.teacher = deepcopy(self.network).eval().requires_grad_(False)
        named = sorted(network.named_parameters(), key=lambda pair: pair[0].startswith("head"))
        self.body = sum(not name.startswith("head") for name, _ in named)
        self.parameters = [value for _, value in named]
        # One dimension each, because gradients may come in another layout than their parameters.
        self.flat = [value.detach().view(-1) for value in self.parameters]
        self.momentum = [torch.zeros_like(value) for value in self.flat]

    def state(self) -> list[Tensor]:
        """All tensors that a step changes."""
        return [*self.network.state_dict().values(), *self.teacher.state_dict().values(), *self.momentum]

    def update(self, loss: Tensor, rate: Tensor) -> None:
        """One step of SGD with Nesterov's momentum, twice as fast for the head; then move the average."""
        grads = [grad.reshape(-1) for grad in torch.autograd.grad(loss, self.parameters)]
        for part, lr in ((slice(self.body), rate), (slice(self.body, None), 2 * rate)):
            lists = (self.flat[part], grads[part], self.momentum[part])
            how: dict[str, Any] = {"weight_decay": 5e-4, "momentum": 0.9, "dampening": 0.0, "nesterov": True}
            torch._fused_sgd_(*lists, lr=lr, **how, maximize=False, is_first_step=False)
        pairs = zip(self.teacher.state_dict().values(), self.network.state_dict().values(), strict=True)
        to, values = zip(*(pair for pair in pairs if pair[0].is_floating_point()), strict=True)
        torch._foreach_lerp_(to, values, self.share)

    def fit(self, logits: Tensor, target: Tensor, rate: Tensor) -> None:
        """One step on a loss with gradient softmax − target: LIMIT's, if q made the target."""
        self.update(-(target * logits.log_softmax(1)).sum(1).mean(), rate)


class Steps:
    """Training steps that a CUDA graph can record: all numbers stay on the device."""

    def __init__(self, images: Tensor, batch: int, args: argparse.Namespace) -> None:
        self.images, self.batch, self.args, self.device = images, batch, args, images.device
        self.steps = max(len(images) // batch, 1)
        self.count = torch.zeros(1, dtype=torch.long, device=self.device)
        self.total = torch.ones(1, device=self.device)
        self.order = torch.zeros(self.steps, batch, dtype=torch.long, device=self.device)
        compiled = args.mode == "compile"
        self.view = torch.compile(view, dynamic=False) if compiled else view
        self.forward = torch.compile(forward, dynamic=False) if compiled else forward

    def step(self) -> None:
        raise NotImplementedError

    def state(self) -> list[Tensor]:
        raise NotImplementedError

    def draws(self, count: int) -> Tensor:
        return torch.rand(count, DRAWS, device=self.device)

    def next_index(self) -> Tensor:
        return self.order.index_select(0, self.count % self.steps).view(-1)

    def rate(self, most: float) -> Tensor:
        return most * (1 + torch.cos(math.pi * self.count / self.total)) / 2

    def shuffle(self) -> None:
        order = torch.randperm(len(self.images), device=self.device)
        self.order.copy_(order[: self.order.numel()].view_as(self.order))

    def run_epoch(self) -> None:
        self.shuffle()
        for _ in range(self.steps):
            self.run()
        self.synchronise()

    def synchronise(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def prepare(self) -> float:
        """Set `run`, the fast step; return the seconds of an epoch. The state is as before."""
        began = time.time()
        self.shuffle()
        before = [(value, value.clone()) for value in self.state()]
        try:
            self.run: Callable[[], object] = self.record()
            self.run()
            self.synchronise()
        except Exception:
            traceback.print_exc()
            fall_back(self.args)
        started, timed = time.time(), 20 if self.device.type == "cuda" else 1
        for _ in range(timed):
            self.run()
        self.synchronise()
        seconds = (time.time() - started) / timed
        for value, old in before:
            value.copy_(old)
        print(
            f"{self.args.mode}: ready after {started - began:.0f} s, {1e3 * seconds:.2f} ms a step, ", end=""
        )
        print(f"{seconds * self.steps:.2f} s an epoch", flush=True)
        return seconds * self.steps

    def record(self) -> Callable[[], object]:
        if self.args.mode == "eager" or self.device.type != "cuda":
            return self.step
        gc.collect()
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            self.step()
        return graph.replay


def fall_back(args: argparse.Namespace) -> None:
    """Go on in the next mode, in a new process: an error while recording may leave the device unusable."""
    if args.mode == MODES[-1]:
        raise SystemExit("no mode works")
    again = [
        "--mode",
        MODES[MODES.index(args.mode) + 1],
        "--until",
        str(args.until),
        "--skip",
        str(args.skip),
    ]
    print("falling back:", *again, flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "benchmarks.limit_plus", *sys.argv[1:], *again])
