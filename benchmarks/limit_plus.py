"""Trials of LIMIT+, LIMIT with mean teachers and a self-supervised start, on CIFAR-10.

`python -m benchmarks.limit_plus pretrain` trains a backbone on the pictures alone; `train` runs settings
one after another and appends a JSON line for each. A label reaches the classifier only through the predictor
q: its targets are probabilities of q's moving average. Clean labels are only reported.
"""

import argparse
import json
import math
import os
import platform
import time
import traceback
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.steps import CLASSES, MODES, Steps, Student, neighbours, outputs_of, rows_to_one
from noiselimit.data.cifar import CIFAR10, read_cifar
from noiselimit.noise import parse_noise


@dataclass(frozen=True)
class Setting:
    """One trial. The defaults are the recipe that worked, with all 50,000 pictures."""

    noise: str = "uniform:0.4"
    epochs: int = 0  # 0: as many as the time allows, equal for all settings
    examples: int = 50_000
    seed: int = 0
    batch: int = 256
    rate: float = 0.05  # for a batch of 256; the heads' is twice that
    average: float = 0.997  # decay of the moving averages, per 256 examples
    temperature: float = 0.7
    warm: float = 0.05  # share of the training with weak views for q and rho = rho0
    rho0: float = 0.0
    rho: float = 0.9
    ramp: float = 1.0  # share of the training after which rho has its last value
    memory: float = 0.8  # decay of P̄, per epoch
    power: float = 1.0  # sharpens P̄ where T̂ and the posterior use it
    view: str = "plain"  # strong views: plain or rand (like RandAugment)
    align: str = "ratio"  # of the classifier's targets: ratio, sinkhorn or none
    marginal: str = "labels"  # what they are aligned to: labels or uniform
    mixup: float = 1.0  # share of the training after which the classifier mixes pairs of pictures
    knn: float = 0.0  # weight of the neighbours' vote beside P̄, which then begins with their labels
    cross: int = 0  # 1: two predictors, each on half of the pictures, teach on the other's half


class Pretraining(Steps):
    """SimCLR with the decoupled loss (Yeh et al. 2022): two crops of a picture are alike."""

    def __init__(self, images: Tensor, args: argparse.Namespace) -> None:
        super().__init__(images, args.batch, args)
        head = nn.Sequential(nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 128))
        self.student = Student(head, {}, self.device, 0.997)
        rows = torch.arange(2 * args.batch, device=self.device).unsqueeze(1)
        self.other = (rows + args.batch) % len(rows)
        self.hidden = (rows == rows.T) | (self.other == rows.T)

    def state(self) -> list[Tensor]:
        return [self.count, *self.student.state()]

    def step(self) -> None:
        pictures = self.images[self.next_index()].repeat(2, 1, 1, 1)
        seen = self.view("crop", pictures, self.draws(len(pictures)))
        outputs = F.normalize(self.forward(self.student.network, seen)[0])
        alike = outputs @ outputs.T / 0.2
        unlike = torch.logsumexp(alike.masked_fill(self.hidden, -math.inf), 1)
        warm = (20 * self.count / self.total).clamp(max=1)
        loss = (unlike - alike.gather(1, self.other)[:, 0]).mean()
        self.student.update(loss, warm * self.rate(self.args.rate * self.batch / 512))
        self.count += 1


class Trial(Steps):
    """A training with one setting."""

    def __init__(
        self, s: Setting, images: Tensor, labels: Tensor, start: dict[str, Tensor], args: Any
    ) -> None:
        super().__init__(images, s.batch, args)
        self.setting, self.labels, decay = s, labels, s.average ** (s.batch / 256)
        students = [Student(nn.Linear(512, CLASSES), start, self.device, decay) for _ in range(2 + s.cross)]
        self.classifier, *self.predictors = students
        self.given = F.one_hot(labels, CLASSES).float()
        self.marginal = self.given.mean(0)
        if s.marginal == "uniform":
            self.marginal = torch.full_like(self.marginal, 1 / CLASSES)
        self.mean, self.scale = self.marginal.clone(), torch.ones_like(self.marginal)
        self.past = torch.full_like(self.given, 1 / CLASSES)  # P̄: the classifier's probabilities
        self.votes, self.taught = (
            self.past.clone(),
            self.past.clone(),
        )  # neighbours' posteriors; q's probabilities
        self.transition = torch.eye(CLASSES, device=self.device)  # T̂[class, given label]
        self.features = torch.zeros(len(images), 512, device=self.device)
        self.fold = torch.randperm(len(images), device=self.device) % 2
        if s.knn:  # a class is as likely as it is more frequent among the neighbours than elsewhere
            self.features.copy_(outputs_of(self.classifier.teacher, images)[1])
            near = self.given[neighbours(self.features)].mean(1) / self.given.mean(0)
            self.past.copy_(0.8 * F.one_hot(near.argmax(1), CLASSES) + 0.2 / CLASSES)
            self.end_epoch(vote=True)

    def state(self) -> list[Tensor]:
        students = [value for one in (self.classifier, *self.predictors) for value in one.state()]
        return [self.count, self.mean, self.scale, self.past, self.taught, self.features, *students]

    def shuffle(self) -> None:
        super().shuffle()
        if self.setting.cross:  # a batch has as many pictures of one fold as of the other
            order, half = torch.randperm(len(self.images), device=self.device), self.batch // 2
            parts = [order[self.fold[order] == fold][: self.steps * half] for fold in (0, 1)]
            self.order.copy_(torch.cat([part.view(-1, half) for part in parts], 1))

    def step(self) -> None:
        s, index, progress, folds = (
            self.setting,
            self.next_index(),
            self.count / self.total,
            len(self.predictors),
        )
        pictures, rate = self.images[index], self.rate(s.rate * s.batch / 256)
        weak = self.view("weak", pictures, self.draws(s.batch))
        parts = [slice(i * s.batch // folds, (i + 1) * s.batch // folds) for i in range(folds)]
        with torch.no_grad():
            # Of two predictors, the one that never saw a picture's label makes its target.
            logits = [self.forward(self.predictors[i - 1].teacher, weak[parts[i]])[0] for i in range(folds)]
            target = self.classifier_target(torch.cat(logits), index)
            self.remember(self.forward(self.classifier.teacher, weak), index)
            wanted = self.predictor_target(progress, index)
        seen = self.view(s.view, pictures, self.draws(s.batch))
        seen = torch.where(progress < s.warm, weak, seen)
        for predictor, part in zip(self.predictors, parts, strict=True):
            predictor.fit(self.forward(predictor.network, seen[part])[0], wanted[part], rate)
        seen = self.view(s.view, pictures, self.draws(s.batch))
        if s.mixup < 1:
            weight = 1 - self.draws(s.batch)[:, :1] * (progress >= s.mixup)
            target = weight * target + (1 - weight) * target.flip(0)
            weight = weight.view(-1, 1, 1, 1)
            seen = weight * seen + (1 - weight) * seen.flip(0)
        self.classifier.fit(self.forward(self.classifier.network, seen)[0], target, rate)
        self.count += 1

    def classifier_target(self, logits: Tensor, index: Tensor) -> Tensor:
        """Sharpened probabilities of q's average, aligned to the marginal."""
        target = (logits / self.setting.temperature).softmax(1)
        self.taught.index_copy_(0, index, target)
        if self.setting.align == "ratio":
            self.mean.lerp_(target.mean(0), 0.01)
            self.scale.copy_(self.marginal / self.mean.clamp(min=1e-3))
        return rows_to_one(target * self.scale)

    def remember(self, outputs: tuple[Tensor, Tensor], index: Tensor) -> None:
        """Move P̄ to what the classifier's average says now. It begins as a plain mean, or with the votes."""
        now, visits = outputs[0].softmax(1), self.count // self.steps + 1
        share = (1 / visits).clamp(min=1 - self.setting.memory)
        if self.setting.knn:  # the votes know more than a classifier that has just begun
            share = (1 - self.setting.memory) * (self.count / self.total >= self.setting.warm)
        self.past.index_copy_(0, index, self.past[index] + share * (now - self.past[index]))
        self.features.index_copy_(0, index, F.normalize(outputs[1]))

    def predictor_target(self, progress: Tensor, index: Tensor) -> Tensor:
        """(1 − ρ)·label + ρ·posterior."""
        s = self.setting
        rho = s.rho0 + (s.rho - s.rho0) * ((progress - s.warm) / max(s.ramp - s.warm, 1e-6)).clamp(0, 1)
        prior = self.past[index]
        if s.knn:
            prior = prior + s.knn * (self.votes[index] - prior)
        return (1 - rho) * self.given[index] + rho * self.posterior(prior, self.labels[index])

    def posterior(self, prior: Tensor, labels: Tensor) -> Tensor:
        return rows_to_one(prior.pow(self.setting.power) * self.transition.T[labels])

    def end_epoch(self, vote: bool) -> None:
        """Estimate T̂ by Bayes; update the factors of Sinkhorn's alignment and the neighbours' votes."""
        past = rows_to_one(self.past.pow(self.setting.power))
        self.transition.copy_(rows_to_one(past.T @ self.given))
        if self.setting.align == "sinkhorn":
            scale = torch.ones_like(self.scale)
            for _ in range(30):
                scale = self.marginal / rows_to_one(self.taught * scale).mean(0).clamp(min=1e-6) * scale
            self.scale.copy_(scale / scale.mean())
        if vote and self.setting.knn:
            judged = self.posterior(self.past, self.labels)
            self.votes.copy_(judged[neighbours(self.features)].mean(1))

    def evaluate(self, data: Any) -> dict[str, float]:
        """Percentages right: the averages on the test part, and P̄ and its like on the training part."""
        found = {
            name: percent(outputs_of(one.teacher, data.test_images)[0].argmax(1) == data.test_labels)
            for name, one in (("classifier", self.classifier), ("predictor", self.predictors[0]))
        }
        judged = self.posterior(self.past, self.labels)
        for name, values in (
            ("past", self.past),
            ("posterior", judged),
            ("q", self.taught),
            ("votes", self.votes),
        ):
            found[name] = percent(values.argmax(1) == data.clean[: len(values)])
        return {**found, "diagonal": round(self.transition.diagonal().mean().item(), 4)}

    def detect(self, clean: Tensor) -> dict[str, float]:
        """The gap's ROC AUC, and the shares of the wrong labels that the averages repeat."""
        wrong, all_r = (
            self.labels != clean,
            [outputs_of(one.teacher, self.images)[0] for one in self.predictors],
        )
        r = torch.where(self.fold.unsqueeze(1) == 0, all_r[-1], all_r[0])
        a = outputs_of(self.classifier.teacher, self.images)[0].argmax(1)
        ranks = (self.given - r.softmax(1)).norm(dim=1).argsort().argsort().double() + 1
        many = wrong.sum().double()
        auc = (ranks[wrong].sum() - many * (many + 1) / 2) / (many * (len(wrong) - many))
        repeated = [percent(said[wrong] == self.labels[wrong]) for said in (a, r.argmax(1))]
        found = {
            "gap_auc": round(auc.item(), 5),
            "memorised": repeated[0],
            "memorised_predictor": repeated[1],
        }
        return {**found, "train_clean": percent(a == clean)}


def percent(right: Tensor) -> float:
    return round(100 * right.float().mean().item(), 3)


def load(args: argparse.Namespace) -> Any:
    """CIFAR-10 on the device."""
    data = read_cifar(CIFAR10, args.data)
    found: dict[str, Any] = {"examples": data.examples}
    parts = (("", data.examples, args.examples), ("test_", data.test, args.examples))
    for name, part, count in parts:
        images = np.asarray(part.inputs)[:count, :, :: args.pixels, :: args.pixels].copy()  # type: ignore[union-attr]
        found[f"{name}images"] = torch.from_numpy(images).to(args.device)
        found[f"{name}labels"] = torch.from_numpy(np.asarray(part.labels)[:count]).to(args.device)  # type: ignore[union-attr]
    return argparse.Namespace(**found, clean=found["labels"])


def append(args: argparse.Namespace, row: dict[str, Any]) -> None:
    name = torch.cuda.get_device_name() if args.device == "cuda" else platform.machine()
    versions = {"torch": torch.__version__, "numpy": np.__version__, "python": platform.python_version()}
    facts = {"mode": args.mode, "device": name, **versions, "commit": os.environ.get("NOISELIMIT_COMMIT", "")}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("a") as file:
        file.write(json.dumps({"phase": args.phase, **row, **facts}) + "\n")


def pretrain(args: argparse.Namespace) -> None:
    """Train the backbone and save its average."""
    torch.manual_seed(args.seed)
    began, data = time.time(), load(args)
    training = Pretraining(data.images, args)
    seconds = training.prepare()
    epochs = args.epochs or max(1, int((args.until - time.time() - 6) / seconds))
    training.total.fill_(epochs * training.steps)
    for epoch in range(1, epochs + 1):
        training.run_epoch()
        last = epoch == epochs or time.time() > args.until
        if last or epoch % max(epochs // 4, 1) == 0:
            near = neighbours(outputs_of(training.student.teacher, data.images)[1])
            right = F.one_hot(data.clean, CLASSES)[near].sum(1).argmax(1) == data.clean
            found = {"epoch": epoch, "neighbours": percent(right), "seconds": round(time.time() - began, 1)}
            print(found, flush=True)
        if last:
            break
    save(training.student.teacher, args.save)
    append(
        args,
        {"epochs": epochs, **found, "seconds_per_epoch": seconds, "batch": args.batch, "rate": args.rate},
    )


def save(network: nn.Module, stem: Path) -> None:
    """Write the backbone to STEM-1 and -2.safetensors, weights in bfloat16, below 16 MB each."""
    parts: list[dict[str, Tensor]] = [{}, {}]
    for name, value in network.state_dict().items():
        if not name.startswith("head"):
            number = int(name.startswith("layer4.1"))  # its two convolutions are 42 % of the weights
            parts[number][name] = (value.to(torch.bfloat16) if value.dim() > 1 else value).contiguous().cpu()
    stem.parent.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts, 1):
        save_file(part, f"{stem}-{number}.safetensors")


def train(args: argparse.Namespace) -> None:
    """Run the settings; append a row as each ends."""
    data = load(args)
    start = {name: value for path in args.start for name, value in load_file(path).items()}
    kinds: dict[str, Any] = {field.name: type(field.default) for field in fields(Setting)}
    pairs = [[word.split("=", 1) for word in text.split()] for text in args.setting]
    settings = [Setting(**{name: kinds[name](value) for name, value in pair}) for pair in pairs]
    rows = []
    for number in range(args.skip, len(settings)):
        args.skip = number
        if time.time() > args.until - 30:
            print("no time left for", args.setting[number], flush=True)
            continue
        print(f"\n{args.setting[number]}", flush=True)
        try:
            row = run_trial(settings[number], data, start, args, len(settings) - number)
        except Exception:
            traceback.print_exc()
            continue
        rows.append({**row, "start": [Path(path).name for path in args.start], "text": args.setting[number]})
        append(args, rows[-1])
    names = ("accuracy", "gap_auc", "memorised", "train_clean", "epochs", "seconds", "text")
    print("\n" + "  ".join(f"{name:>11}" for name in names))
    for row in rows:
        print("  ".join(f"{row[name]!s:>11}" for name in names), flush=True)


def run_trial(setting: Setting, data: Any, start: dict[str, Tensor], args: Any, left: int) -> dict[str, Any]:
    """Train one setting. `left` is how many settings share the time left, with this one."""
    began = time.time()
    torch.manual_seed(setting.seed)
    noisy = parse_noise(setting.noise).apply(data.examples, setting.seed).labels
    labels = torch.from_numpy(np.asarray(noisy)).to(args.device)[: len(data.images)][: setting.examples]
    trial = Trial(setting, data.images[: setting.examples], labels, start, args)
    seconds = trial.prepare()
    if not setting.epochs:
        args.epochs = args.epochs or max(2, int(0.92 * (args.until - time.time()) / left / seconds))
        setting = replace(setting, epochs=args.epochs)
    trial.total.fill_(setting.epochs * trial.steps)
    history = []
    for epoch in range(1, setting.epochs + 1):
        trial.run_epoch()
        last = epoch == setting.epochs or time.time() > args.until - 8
        report = last or epoch % max(setting.epochs // 8, 1) == 0
        trial.end_epoch(vote=report)
        if report:
            history.append({"epoch": epoch, **trial.evaluate(data)})
            print(f"{time.time() - began:5.0f} s", history[-1], flush=True)
        if last:
            break
    found = {"accuracy": history[-1]["classifier"], **trial.detect(data.clean[: len(labels)])}
    spent = {"seconds": round(time.time() - began, 1), "seconds_per_epoch": round(seconds, 3)}
    return {**asdict(setting), **found, **spent, "history": history}


def main() -> None:
    """Read the options and run the phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phase", choices=("pretrain", "train"))
    parser.add_argument("--data", type=Path, required=True, help="folder of cifar-10-batches-bin")
    parser.add_argument("--out", type=Path, required=True, help="file for a JSON line per result")
    parser.add_argument("--minutes", type=float, default=9.0, help="end after this time")
    parser.add_argument("--epochs", type=int, default=0, help="0: as many as the time allows")
    parser.add_argument("--mode", choices=MODES, default=MODES[0], help="falls back to the next one")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--examples", type=int, default=50_000, help="for tests: the first N only")
    parser.add_argument("--pixels", type=int, default=1, help="for tests: every Nth row and column only")
    parser.add_argument("--save", type=Path, default=Path("start"), help="pretrain: stem of two files")
    parser.add_argument("--seed", type=int, default=0, help="pretrain")
    parser.add_argument("--batch", type=int, default=512, help="pretrain: pictures per step")
    parser.add_argument("--rate", type=float, default=0.24, help="pretrain: learning rate for 512 pictures")
    parser.add_argument("--start", nargs="*", default=[], help="train: files that pretrain saved")
    parser.add_argument("--setting", action="append", default=[], help="train: 'noise=uniform:0.8 rho=0.95'")
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.until = args.until or time.time() + 60 * args.minutes
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    {"pretrain": pretrain, "train": train}[args.phase](args)


if __name__ == "__main__":
    main()
