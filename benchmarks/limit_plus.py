"""Trials of LIMIT+, a successor of LIMIT with mean teachers and a self-supervised start, on CIFAR-10.

`python -m benchmarks.limit_plus pretrain` trains a backbone on the pictures alone; `train` runs settings of
LIMIT+ one after another and appends a row per setting to a file. A label reaches the classifier only through the
predictor q: the classifier's targets are probabilities of q's moving average. Clean labels are only reported.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import affine_grid, avg_pool2d, grid_sample, log_softmax, normalize, one_hot, pad

from noiselimit.data.cifar import CIFAR10, read_cifar
from noiselimit.networks.resnet import Basic, ResNet
from noiselimit.noise import parse_noise

MODES = ("compile", "graph", "eager")  # each next one needs less of the machine
CLASSES, DRAWS, MOMENTUM, DECAY = 10, 32, 0.9, 5e-4
NORMAL = ((0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616))  # mean and deviation of red, green and blue


@dataclass(frozen=True)
class Setting:
    """One trial. The defaults are the recipe that worked, with all 50,000 pictures."""

    noise: str = "uniform:0.4"
    epochs: int = 0  # 0: what the time left allows, equal for all settings
    examples: int = 50_000
    seed: int = 0
    batch: int = 256
    rate: float = 0.05  # for a batch of 256; the heads' is twice that
    average: float = 0.997  # per step of 256 examples
    temperature: float = 0.7
    warm: float = 0.05  # share of the training with rho = rho0 and weak views for q
    rho0: float = 0.0
    rho: float = 0.9
    ramp: float = 1.0  # share of the training after which rho has its last value
    memory: float = 0.8  # of the classifier's probabilities, per epoch
    view: str = "plain"  # strong views: plain or rand (like RandAugment)
    align: str = "ratio"  # of targets: ratio, sinkhorn or none
    marginal: str = "labels"  # what targets are aligned to: labels or uniform
    mixup: float = 1.0  # share of the training after which the classifier mixes pairs
    knn: float = 0.0  # weight of the neighbours' vote beside the classifier's probabilities
    cross: int = 0  # 1: two predictors, each on half of the pictures, teach on the other's half


def parse_setting(text: str) -> Setting:
    """Read 'noise=pair:0.4 rho=0.95', with defaults for what is not named."""
    kinds: dict[str, Any] = {field.name: type(field.default) for field in fields(Setting)}
    pairs = (word.split("=", 1) for word in text.split())
    return Setting(**{name: kinds[name](value) for name, value in pairs})


# Views. All take pictures [B, 3, S, S] in bytes and uniform draws [B, DRAWS] and return normalised pictures.


def _warp(x: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """Sample the pictures at an affine map of the plane; `rows` are its six numbers, [B] each."""
    theta = torch.stack(list(rows), 1).view(-1, 2, 3)
    grid = affine_grid(theta, list(x.shape), align_corners=False)
    return grid_sample(x / 255, grid, padding_mode="reflection", align_corners=False)


def _finish(x: Tensor) -> Tensor:
    channels = [(x[:, i] - mean) / deviation for i, (mean, deviation) in enumerate(NORMAL)]
    return torch.stack(channels, 1)


def _signed(u: Tensor) -> Tensor:
    return 2 * u - 1


def plain_view(x: Tensor) -> Tensor:
    """The pictures as they are."""
    return _finish(x / 255)


def weak_view(x: Tensor, u: Tensor) -> Tensor:
    """Flip, and move by up to four pixels."""
    flip, zero = (u[:, 0] < 0.5) * 2.0 - 1, torch.zeros_like(u[:, 0])
    down, across = (((u[:, i] * 9).floor() - 4) * (2 / x.shape[-1]) for i in (1, 2))
    return _finish(_warp(x.float(), (flip, zero, across, zero, zero + 1, down)))


def _grey(x: Tensor) -> Tensor:
    return (0.299 * x[:, 0] + 0.587 * x[:, 1] + 0.114 * x[:, 2]).unsqueeze(1)


def _jitter(x: Tensor, u: Tensor, strength: float, hue: float, grey: float) -> Tensor:
    """Brightness, contrast, saturation and hue of most pictures; some become grey."""
    on, kept, *draws = (column.view(-1, 1, 1, 1) for column in u.unbind(1))
    light, contrast, saturation = (1 + strength * _signed(draw) * (on < 0.8) for draw in draws[:3])
    x = (x * light).clamp(0, 1)
    middle = _grey(x).mean((2, 3), keepdim=True)
    x = (middle + (x - middle) * contrast).clamp(0, 1)
    shade = _grey(x)
    turn = 2 * math.pi * hue * _signed(draws[3]).squeeze(1) * (on < 0.8).squeeze(1)
    colour = torch.where(kept < grey, 0.0, saturation) * (x - shade)
    red, green, blue = colour.unbind(1)
    # Colour without its shade is a plane: i and q of the television standard are coordinates there.
    i, q = 0.596 * red - 0.274 * green - 0.322 * blue, 0.211 * red - 0.523 * green + 0.312 * blue
    i, q = i * turn.cos() - q * turn.sin(), i * turn.sin() + q * turn.cos()
    turned = (0.956 * i + 0.621 * q, -0.272 * i - 0.647 * q, -1.106 * i + 1.703 * q)
    return (shade + torch.stack(turned, 1)).clamp(0, 1)


def crop_view(x: Tensor, u: Tensor) -> Tensor:
    """For the contrastive start: a crop of a fifth to all of the picture, flip, colours, grey."""
    area, ratio = 0.2 + 0.8 * u[:, 0], torch.exp(_signed(u[:, 1]) * math.log(4 / 3))
    width, height = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
    across, down = _signed(u[:, 2]) * (1 - width), _signed(u[:, 3]) * (1 - height)
    flip, zero = (u[:, 4] < 0.5) * 2.0 - 1, torch.zeros_like(area)
    x = _warp(x.float(), (flip * width, zero, across, zero, height, down))
    return _finish(_jitter(x, u[:, 5:11], 0.4, 0.1, 0.2))


def _affine(x: Tensor, u: Tensor, size: float) -> Tensor:
    """Flip, turn by up to 15 degrees, shear, scale and move, all times `size`."""
    flip = (u[:, 0] < 0.5) * 2.0 - 1
    angle, shear = _signed(u[:, 1]) * size * math.pi / 12, _signed(u[:, 2]) * size * 0.15
    zoom = torch.exp(_signed(u[:, 3]) * 0.18)
    across, down = (_signed(u[:, i]) * size * 0.25 for i in (4, 5))
    cos, sin = zoom * angle.cos(), zoom * angle.sin()
    return _warp(x.float(), (flip * cos, shear - sin, across, flip * sin, cos, down))


def _cutout(x: Tensor, u: Tensor) -> Tensor:
    """A square of half the side, anywhere, becomes zero."""
    side = x.shape[-1]
    places = torch.arange(side, device=x.device)
    near = [(places - (u[:, i, None] * side).floor()).abs() < side / 4 for i in (0, 1)]
    return x * ~(near[0].unsqueeze(2) & near[1].unsqueeze(1)).unsqueeze(1)


def strong_view(x: Tensor, u: Tensor) -> Tensor:
    """Affine map, colours, some grey, cutout."""
    x = _jitter(_affine(x, u[:, :6], 1.0), u[:, 6:12], 0.4, 0.1, 0.1)
    return _cutout(_finish(x), u[:, 12:14])


def rand_view(x: Tensor, u: Tensor) -> Tensor:
    """Larger affine map, two of eight changes of the colours with random strength, cutout."""
    x = _affine(x, u[:, :6], 1.7)
    for first in (6, 8):
        choice, amount = (u[:, i].view(-1, 1, 1, 1) for i in (first, first + 1))
        low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
        factor, shade, levels = 1 + 0.9 * _signed(amount), _grey(x), (2 ** (2 + 4 * amount)).floor()
        middle = shade.mean((2, 3), keepdim=True)
        blurred = avg_pool2d(pad(x, (1, 1, 1, 1), "replicate"), 3, 1)
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
        x = x.clamp(0, 1)
    return _cutout(_finish(x), u[:, 12:14])


# Networks.


def make_network(head: nn.Module) -> nn.Module:
    """A ResNet-18 whose head is applied outside, in float32."""
    network = ResNet((3, 32, 32), CLASSES, block=Basic, depths=(2, 2, 2, 2), small=True)
    network.fc = nn.Identity()  # type: ignore[assignment]
    network.head = head
    return network


def forward(network: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return outputs of the head and features."""
    x = x.contiguous(memory_format=torch.channels_last)
    with torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):
        features = network(x)[1]
    features = features.float()
    return network.head(features), features  # type: ignore[operator]


class Student:
    """A network with its optimiser and its moving average."""

    def __init__(self, network: nn.Module, device: torch.device, average: float) -> None:
        self.network = network.to(device)
        self.teacher = deepcopy(network).eval().requires_grad_(False)
        self.share = 1 - average
        named = list(network.named_parameters())
        self.parameters = [value for name, value in named if not name.startswith("head")]
        self.body = len(self.parameters)
        self.parameters += [value for name, value in named if name.startswith("head")]
        # One dimension each: gradients may come in another layout than their parameters.
        self.flat = [value.detach().view(-1) for value in self.parameters]
        self.momentum = [torch.zeros_like(value) for value in self.flat]

    def state(self) -> list[Tensor]:
        """All tensors that a step changes."""
        both = (*self.network.state_dict().values(), *self.teacher.state_dict().values())
        return [*both, *self.momentum]

    def update(self, loss: Tensor, rate: Tensor, head: float) -> None:
        """One step of SGD with Nesterov's momentum; then move the average."""
        grads = [grad.reshape(-1) for grad in torch.autograd.grad(loss, self.parameters)]
        for part, lr in ((slice(self.body), rate), (slice(self.body, None), rate * head)):
            torch._fused_sgd_(
                self.flat[part],
                grads[part],
                self.momentum[part],
                weight_decay=DECAY,
                momentum=MOMENTUM,
                lr=lr,
                dampening=0.0,
                nesterov=True,
                maximize=False,
                is_first_step=False,
            )
        pairs = zip(self.teacher.state_dict().values(), self.network.state_dict().values(), strict=True)
        moving = [(to, value) for to, value in pairs if to.is_floating_point()]
        torch._foreach_lerp_([to for to, _ in moving], [value for _, value in moving], self.share)


def soft_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Its gradient for the logits is softmax − target, LIMIT's predicted gradient if q made the target."""
    return -(target * log_softmax(logits, 1)).sum(1).mean()


def normalised(values: Tensor) -> Tensor:
    return values / values.sum(1, keepdim=True).clamp(min=1e-12)


# Steps that a CUDA graph can record: everything is on the device, and nothing is read back.


class Steps:
    """A training whose steps can be recorded. `count` and `total` are steps done and to do, on the device."""

    def __init__(self, images: Tensor, batch: int, mode: str) -> None:
        self.images, self.batch, self.mode, self.device = images, batch, mode, images.device
        self.count = torch.zeros(1, dtype=torch.long, device=self.device)
        self.total = torch.ones(1, device=self.device)
        self.steps = max(len(images) // batch, 1)
        self.order = torch.zeros(self.steps, batch, dtype=torch.long, device=self.device)

    def fast(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, compiled if wanted."""
        return torch.compile(function, dynamic=False) if self.mode == "compile" else function

    def draws(self, count: int) -> Tensor:
        return torch.rand(count, DRAWS, device=self.device)

    def next_index(self) -> Tensor:
        return self.order.index_select(0, self.count % self.steps).view(-1)

    def shuffle(self) -> None:
        """Draw the order of an epoch; the last few pictures of it are left out."""
        order = torch.randperm(len(self.images), device=self.device)
        self.order.copy_(order[: self.order.numel()].view_as(self.order))

    def step(self) -> None:
        raise NotImplementedError

    def state(self) -> list[Tensor]:
        raise NotImplementedError

    def prepare(self) -> tuple[Callable[[], None], float]:
        """Return the recorded step and the seconds per epoch; the state is as before."""
        self.shuffle()
        before = [(value, value.clone()) for value in self.state()]
        if self.device.type != "cuda":
            run, timed = self.step, 1
        else:
            run, timed = self._record(), 20
        for _ in range(timed):
            run()
        _synchronise(self.device)
        started = time.monotonic()
        for _ in range(timed):
            run()
        _synchronise(self.device)
        seconds = (time.monotonic() - started) / timed * self.steps
        for value, old in before:
            value.copy_(old)
        return run, seconds

    def _record(self) -> Callable[[], None]:
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        if self.mode == "eager":
            return self.step
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph.replay


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


class Pretraining(Steps):
    """SimCLR with the decoupled loss (Yeh et al. 2022): two crops of a picture are alike."""

    def __init__(self, images: Tensor, batch: int, mode: str, rate: float) -> None:
        super().__init__(images, batch, mode)
        head = nn.Sequential(nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 128))
        self.student = Student(make_network(head), self.device, 0.997)
        self.rate = rate * batch / 512
        self.forward, self.view = self.fast(forward), self.fast(crop_view)
        rows = torch.arange(2 * batch, device=self.device)
        other = (rows + batch) % (2 * batch)
        self.other = other.unsqueeze(1)
        self.hidden = (rows.unsqueeze(1) == rows) | (other.unsqueeze(1) == rows)

    def state(self) -> list[Tensor]:
        return [self.count, *self.student.state()]

    def step(self) -> None:
        progress = self.count / self.total
        pictures = self.images[self.next_index()].repeat(2, 1, 1, 1)
        views = self.view(pictures, self.draws(len(pictures)))
        outputs = normalize(self.forward(self.student.network, views)[0])
        alike = outputs @ outputs.T / 0.2
        unlike = torch.logsumexp(alike.masked_fill(self.hidden, -math.inf), 1)
        loss = unlike - alike.gather(1, self.other)[:, 0]
        rate = self.rate * (1 + torch.cos(math.pi * progress)) / 2 * (progress * 20).clamp(max=1)
        self.student.update(loss.mean(), rate, 1.0)
        self.count += 1


class Trial(Steps):
    """A training with one setting."""

    def __init__(self, setting: Setting, images: Tensor, labels: Tensor, start: dict[str, Tensor], mode: str):
        super().__init__(images, setting.batch, mode)
        self.setting, self.labels, count = setting, labels, len(images)
        average = setting.average ** (setting.batch / 256)
        self.classifier, *self.predictors = (self._student(start, average) for _ in range(2 + setting.cross))
        self.forward, self.weak = self.fast(forward), self.fast(weak_view)
        self.strong = self.fast({"plain": strong_view, "rand": rand_view}[setting.view])
        self.given = one_hot(labels, CLASSES).float()
        self.marginal = self.given.mean(0)
        if setting.marginal == "uniform":
            self.marginal = torch.full_like(self.marginal, 1 / CLASSES)
        self.mean, self.scale = self.marginal.clone(), torch.ones_like(self.marginal)
        self.past = torch.full_like(self.given, 1 / CLASSES)  # P̄, the classifier's probabilities
        self.votes = self.past.clone()
        self.taught = self.past.clone()  # q's sharpened probabilities
        self.transition = torch.eye(CLASSES, device=self.device)  # T̂[class, given label]
        self.features = torch.zeros(count, 512, device=self.device, dtype=torch.bfloat16)
        self.fold = torch.randperm(count, device=self.device) % 2
        if setting.knn:
            self._start_votes()

    def _student(self, start: dict[str, Tensor], average: float) -> Student:
        network = make_network(nn.Linear(512, CLASSES))
        if start:
            network.load_state_dict({**network.state_dict(), **start})
        return Student(network, self.device, average)

    def state(self) -> list[Tensor]:
        students = [value for one in (self.classifier, *self.predictors) for value in one.state()]
        return [self.count, self.mean, self.scale, self.past, self.taught, self.features, *students]

    def shuffle(self) -> None:
        """With two predictors, a batch has as many pictures of one fold as of the other."""
        if not self.setting.cross:
            return super().shuffle()
        order = torch.randperm(len(self.images), device=self.device)
        half = self.batch // 2
        for part in (0, 1):
            mine = order[self.fold[order] == part][: self.steps * half]
            self.order[:, part * half : (part + 1) * half] = mine.view(-1, half)
        return None

    def step(self) -> None:
        setting, index, progress = self.setting, self.next_index(), self.count / self.total
        pictures, folds, batch = self.images[index], len(self.predictors), self.batch
        rate = setting.rate * batch / 256 * (1 + torch.cos(math.pi * progress)) / 2
        weak = self.weak(pictures, self.draws(batch))
        parts = [slice(i * batch // folds, (i + 1) * batch // folds) for i in range(folds)]
        with torch.no_grad():
            # With two predictors, that which never saw the label of a picture makes its target.
            logits = [self.forward(self.predictors[i - 1].teacher, weak[parts[i]])[0] for i in range(folds)]
            target = self._classifier_target(torch.cat(logits), index)
            now, features = self.forward(self.classifier.teacher, weak)
            self._remember(now.softmax(1), features, index)
            wanted = self._predictor_target(progress, index)
        seen = self.strong(pictures, self.draws(batch))
        seen = torch.where(progress < setting.warm, weak, seen)
        for student, part in zip(self.predictors, parts, strict=True):
            loss = soft_loss(self.forward(student.network, seen[part])[0], wanted[part])
            student.update(loss, rate, 2.0)
        seen = self.strong(pictures, self.draws(batch))
        if setting.mixup < 1:
            weight = torch.where(progress < setting.mixup, 1.0, self.draws(batch)[:, :1])
            target = weight * target + (1 - weight) * target.flip(0)
            weight = weight.view(-1, 1, 1, 1)
            seen = weight * seen + (1 - weight) * seen.flip(0)
        self.classifier.update(soft_loss(self.forward(self.classifier.network, seen)[0], target), rate, 2.0)
        self.count += 1

    def _classifier_target(self, logits: Tensor, index: Tensor) -> Tensor:
        """Sharpened probabilities of q's average, aligned to the marginal of the labels."""
        target = (logits / self.setting.temperature).softmax(1)
        self.taught.index_copy_(0, index, target)
        if self.setting.align == "ratio":
            self.mean.lerp_(target.mean(0), 0.01)
            self.scale.copy_(self.marginal / self.mean)
        return normalised(target * self.scale)

    def _remember(self, now: Tensor, features: Tensor, index: Tensor) -> None:
        # With votes, P̄ has values from the start; else it begins as a plain mean.
        visits = math.inf if self.setting.knn else self.count // self.steps + 1
        share = torch.clamp(torch.ones_like(now) / visits, min=1 - self.setting.memory)
        self.past.index_copy_(0, index, self.past[index] + share * (now - self.past[index]))
        if self.setting.knn:
            self.features.index_copy_(0, index, normalize(features).to(self.features.dtype))

    def _predictor_target(self, progress: Tensor, index: Tensor) -> Tensor:
        """(1 − ρ)·label + ρ·posterior."""
        setting = self.setting
        ramp = ((progress - setting.warm) / max(setting.ramp - setting.warm, 1e-6)).clamp(0, 1)
        rho = setting.rho0 + (setting.rho - setting.rho0) * ramp
        prior = self.past[index]
        if setting.knn:
            prior = prior + setting.knn * (self.votes[index] - prior)
        return (1 - rho) * self.given[index] + rho * self._posterior(prior, self.labels[index])

    def _posterior(self, prior: Tensor, labels: Tensor) -> Tensor:
        return normalised(prior * self.transition.T[labels])

    def estimate_transition(self) -> None:
        """T̂ by Bayes from P̄ and the given labels; the factors that align all targets, if by Sinkhorn."""
        self.transition.copy_(normalised(self.past.T @ self.given))
        if self.setting.align == "sinkhorn":
            scale = torch.ones_like(self.scale)
            for _ in range(30):
                rows = 1 / (self.taught @ scale).clamp(min=1e-12)
                scale = self.marginal * len(rows) / (self.taught.T @ rows).clamp(min=1e-12)
            self.scale.copy_(scale / scale.mean())

    def vote(self) -> None:
        """Mean posterior of the neighbours, without the picture itself."""
        judged = self._posterior(self.past, self.labels)
        self.votes.copy_(judged[neighbours(self.features)].mean(1))

    def _start_votes(self) -> None:
        """Begin P̄ with the neighbours' labels: a class is as likely as it is more frequent than usual."""
        self.features.copy_(outputs_of(self.classifier.teacher, self.images)[1])
        near = self.given[neighbours(self.features)].mean(1) / self.given.mean(0).clamp(min=1e-6)
        self.past.copy_(0.8 * one_hot(near.argmax(1), CLASSES) + 0.2 / CLASSES)
        self.estimate_transition()
        self.vote()


# What is reported.


@torch.no_grad()
def outputs_of(network: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Logits and normalised features of the pictures as they are."""
    parts = [forward(network, plain_view(part)) for part in torch.split(images, 2000)]
    return torch.cat([part[0] for part in parts]), normalize(torch.cat([part[1] for part in parts]))


def neighbours(features: Tensor, count: int = 200) -> Tensor:
    """[n, count]: the positions of the nearest other rows."""
    count = min(count, len(features) - 1)
    near = [(part @ features.T).topk(count + 1).indices[:, 1:] for part in torch.split(features, 2000)]
    return torch.cat(near)


def percent(right: Tensor) -> float:
    return round(100 * right.float().mean().item(), 3)


def area_under_curve(score: Tensor, positive: Tensor) -> float:
    """ROC AUC from ranks; ties do not matter for gaps."""
    ranks = torch.empty(len(score), dtype=torch.float64, device=score.device)
    ranks[score.argsort()] = torch.arange(1, len(score) + 1, dtype=torch.float64, device=score.device)
    many = positive.sum().double()
    return round(((ranks[positive].sum() - many * (many + 1) / 2) / (many * (len(score) - many))).item(), 5)


@dataclass(frozen=True)
class Data:
    """CIFAR-10 on the device."""

    images: Tensor
    clean: Tensor
    test_images: Tensor
    test_labels: Tensor
    examples: Any

    def noisy(self, noise: str, seed: int) -> Tensor:
        labels = parse_noise(noise).apply(self.examples, seed).labels
        return torch.from_numpy(np.asarray(labels)).to(self.images.device)


def load(folder: Path, device: torch.device, examples: int, step: int) -> Data:
    """`step` > 1 leaves pixels out, for quick tests."""
    data = read_cifar(CIFAR10, folder)
    parts: list[Tensor] = []
    for part, count in ((data.examples, examples), (data.test, 10_000 if step == 1 else 500)):
        assert part is not None
        parts.append(torch.from_numpy(np.asarray(part.inputs)[:count, :, ::step, ::step].copy()).to(device))
        parts.append(torch.from_numpy(np.asarray(part.labels)[:count]).to(device))
    images, clean, test_images, test_labels = parts
    return Data(images, clean, test_images, test_labels, data.examples)


def evaluate(trial: Trial, data: Data, epoch: int) -> dict[str, float]:
    """Test accuracies of the averages, and how good P̄ and T̂ are."""
    students = {"classifier": trial.classifier, "predictor": trial.predictors[0]}
    found = {
        name: percent(outputs_of(one.teacher, data.test_images)[0].argmax(1) == data.test_labels)
        for name, one in students.items()
    }
    clean = data.clean[: len(trial.past)]
    judged = trial._posterior(trial.past, trial.labels)
    return {
        "epoch": epoch,
        **found,
        "past": percent(trial.past.argmax(1) == clean),
        "posterior": percent(judged.argmax(1) == clean),
        "targets": percent(trial.taught.argmax(1) == clean),
        "votes": percent(trial.votes.argmax(1) == clean),
        "diagonal": round(trial.transition.diagonal().mean().item(), 4),
    }


def detection(trial: Trial, data: Data) -> dict[str, float]:
    """The gap's ROC AUC, and the shares of wrong labels that each average repeats."""
    clean = data.clean[: len(trial.labels)]
    wrong = trial.labels != clean
    logits = [outputs_of(one.teacher, trial.images)[0] for one in trial.predictors]
    r = logits[0] if len(logits) == 1 else torch.where(trial.fold.unsqueeze(1) == 0, logits[1], logits[0])
    a = outputs_of(trial.classifier.teacher, trial.images)[0]
    gap = (trial.given - r.softmax(1)).norm(dim=1)
    return {
        "gap_auc": area_under_curve(gap, wrong),
        "memorised": percent(a.argmax(1)[wrong] == trial.labels[wrong]),
        "memorised_predictor": percent(r.argmax(1)[wrong] == trial.labels[wrong]),
        "train_clean": percent(a.argmax(1) == clean),
    }


# Commands.


def environment(device: torch.device) -> dict[str, Any]:
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.machine()
    versions = {"torch": torch.__version__, "numpy": np.__version__, "python": platform.python_version()}
    return {"device": name, **versions, "commit": os.environ.get("NOISELIMIT_COMMIT", "")}


class NotReadyError(Exception):
    """The first steps failed, perhaps because this machine cannot compile or record them."""


def prepare(training: Steps) -> tuple[Callable[[], None], float]:
    """Return the fast step and the seconds of an epoch."""
    began = time.time()
    try:
        run, seconds = training.prepare()
    except Exception as error:
        raise NotReadyError from error
    name = f"{training.mode}: ready after {time.time() - began:.0f} s"
    print(f"{name}; {seconds / training.steps * 1e3:.2f} ms a step, {seconds:.2f} s an epoch", flush=True)
    return run, seconds


def run_epoch(training: Steps, run: Callable[[], None]) -> None:
    training.shuffle()
    for _ in range(training.steps):
        run()
    _synchronise(training.device)


def pretrain(args: argparse.Namespace, device: torch.device) -> None:
    """Train the backbone and save its average in two files, bfloat16."""
    began = time.time()
    data = load(args.data, device, args.examples, args.pixels)
    torch.manual_seed(args.seed)
    training = Pretraining(data.images, args.batch, args.mode, args.rate)
    run, seconds = prepare(training)
    epochs = args.epochs or max(1, int((args.until - time.time() - 5) / seconds))
    training.total.fill_(epochs * training.steps)
    for epoch in range(epochs):
        run_epoch(training, run)
        last = epoch + 1 == epochs or time.time() > args.until
        if last or (epoch + 1) % max(epochs // 5, 1) == 0:
            features = outputs_of(training.student.teacher, data.images)[1]
            votes = one_hot(data.clean, CLASSES)[neighbours(features.to(torch.bfloat16))].sum(1)
            found = {"epoch": epoch + 1, "neighbours": percent(votes.argmax(1) == data.clean)}
            print(f"pretrain {found} after {time.time() - began:.0f} s", flush=True)
        if last:
            break
    save_start(training.student.teacher, args.save)
    facts = {"phase": "pretrain", "planned": epochs, **found, "batch": args.batch, "rate": args.rate}
    seconds = round(seconds, 3)
    append(args.out, {**facts, "seconds_per_epoch": seconds, "mode": args.mode, **environment(device)})


def save_start(network: nn.Module, stem: Path) -> None:
    """Two files STEM-1 and STEM-2 of about half the bytes each."""
    kept = {name: value for name, value in network.state_dict().items() if not name.startswith("head")}
    kept = {name: value.to(torch.bfloat16) if value.dim() > 1 else value for name, value in kept.items()}
    half, size = sum(value.nbytes for value in kept.values()) / 2, 0.0
    parts: tuple[dict[str, Tensor], ...] = ({}, {})
    for name, value in kept.items():
        parts[size + value.nbytes / 2 > half][name] = value.contiguous().cpu()
        size += value.nbytes
    stem.parent.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts, 1):
        save_file(part, f"{stem}-{number}.safetensors")


def append(path: Path, row: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def run_trial(
    setting: Setting, data: Data, start: dict[str, Tensor], args: argparse.Namespace, left: int
) -> dict[str, Any]:
    """Train one setting. `left` is how many settings share the time left, with this one."""
    began = time.time()
    torch.manual_seed(setting.seed)
    labels = data.noisy(setting.noise, setting.seed)[: len(data.images)][: setting.examples]
    trial = Trial(setting, data.images[: setting.examples], labels, start, args.mode)
    run, seconds = prepare(trial)
    if not setting.epochs:
        args.epochs = args.epochs or max(2, int(0.92 * (args.until - time.time()) / left / seconds))
        trial.setting = setting = replace(setting, epochs=args.epochs)
    trial.total.fill_(setting.epochs * trial.steps)
    history: list[dict[str, float]] = []
    for epoch in range(setting.epochs):
        run_epoch(trial, run)
        trial.estimate_transition()
        last = epoch + 1 == setting.epochs or time.time() > args.until - 5
        if last or (epoch + 1) % max(setting.epochs // 8, 1) == 0:
            if setting.knn:
                trial.vote()
            history.append(evaluate(trial, data, epoch + 1))
            print(f"{time.time() - began:5.0f} s", history[-1], flush=True)
        if last:
            break
    found = {"accuracy": history[-1]["classifier"], **detection(trial, data), "history": history}
    spent = {"seconds": round(time.time() - began, 1), "seconds_per_epoch": round(seconds, 3)}
    return {"phase": "train", **asdict(setting), **found, **spent, "mode": args.mode}


def train(args: argparse.Namespace, device: torch.device) -> None:
    """Run the settings one after another; append a row when one ends."""
    data = load(args.data, device, args.examples, args.pixels)
    start: dict[str, Tensor] = {}
    for path in args.start:
        start |= load_file(path)
    settings = [parse_setting(text) for text in args.setting]
    for number, text in enumerate(args.setting):
        if number < args.skip:
            continue
        if time.time() > args.until - 20:
            print(f"no time left for: {text}", flush=True)
            continue
        print(f"\n{text}", flush=True)
        try:
            row = run_trial(settings[number], data, start, args, len(settings) - number)
        except NotReadyError:
            args.skip = number
            raise
        except Exception:
            traceback.print_exc()
            continue
        facts = {"text": text, "start": [Path(path).name for path in args.start], **environment(device)}
        append(args.out, {**row, **facts})
    print_table(args.out, len(settings))


def print_table(path: Path, count: int) -> None:
    names = ("accuracy", "gap_auc", "memorised", "train_clean", "epochs", "seconds", "text")
    print("\n" + "  ".join(f"{name:>11}" for name in names))
    for line in path.read_text().splitlines()[-count:] if path.exists() else ():
        row = json.loads(line)
        print("  ".join(f"{row.get(name, '')!s:>11}" for name in names), flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phase", choices=("pretrain", "train"))
    parser.add_argument("--data", type=Path, required=True, help="folder of cifar-10-batches-bin")
    parser.add_argument("--out", type=Path, required=True, help="file for one JSON line per result")
    parser.add_argument("--minutes", type=float, default=9.0, help="stop after this time")
    parser.add_argument("--epochs", type=int, default=0, help="0: as many as the time allows")
    parser.add_argument("--mode", choices=MODES, default=MODES[0], help="falls back to the next one")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--pixels", type=int, default=1, help="take every nth row and column, for tests")
    parser.add_argument("--save", type=Path, default=Path("start"), help="pretrain: stem of two files")
    parser.add_argument("--seed", type=int, default=0, help="pretrain")
    parser.add_argument("--batch", type=int, default=512, help="pretrain: pictures per step")
    parser.add_argument("--rate", type=float, default=0.24, help="pretrain: learning rate for 512 pictures")
    parser.add_argument("--start", nargs="*", default=[], help="train: files that pretrain saved")
    parser.add_argument("--setting", action="append", default=[], help="train: 'noise=uniform:0.8 rho=0.95'")
    parser.add_argument("--parallel", type=int, default=1, help="train: settings at a time, in processes")
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.until = args.until or time.time() + 60 * args.minutes
    return args


def in_parallel(args: argparse.Namespace) -> None:
    """Share the settings out among processes on one device."""
    common = sys.argv[1:]
    for text in args.setting:
        place = common.index(text)
        del common[place - 1 : place + 1]
    command = [sys.executable, "-m", "benchmarks.limit_plus", *common, "--parallel", "1"]
    shares = [args.setting[number :: args.parallel] for number in range(args.parallel)]
    children = [
        subprocess.Popen([*command, *(word for text in share for word in ("--setting", text))])
        for share in shares
        if share
    ]
    for child in children:
        child.wait()
    print_table(args.out, len(args.setting))


def main() -> None:
    args = options()
    if args.parallel > 1:
        return in_parallel(args)
    device = torch.device(args.device)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    try:
        {"pretrain": pretrain, "train": train}[args.phase](args, device)
    except NotReadyError:
        traceback.print_exc()
        if args.mode == MODES[-1]:
            raise
        mode = MODES[MODES.index(args.mode) + 1]
        print(f"falling back to {mode}", flush=True)
        again = ["--mode", mode, "--until", str(args.until), "--skip", str(args.skip)]
        # A new process, because an error while recording may leave the device unusable.
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.limit_plus", *sys.argv[1:], *again])
    return None


if __name__ == "__main__":
    main()
