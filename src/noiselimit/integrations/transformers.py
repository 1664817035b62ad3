"""LIMIT for Transformers: a Trainer for sequence classification that finds label errors."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from noiselimit.errors import InputError
from noiselimit.integrations.torch import Limit
from noiselimit.networks.module import logits_of

ROW = "row"
RECORD = "limit_record.safetensors"
"""In a checkpoint: what `label_issues` needs."""


class LimitTrainer(Trainer):
    """A `transformers.Trainer` that trains a classifier by LIMIT.

    `save_model` writes the classifier as usual, for `from_pretrained`. Checkpoints hold both networks and the
    record of labels. Evaluation reports the cross-entropy of the classifier.

    Parameters
    ----------
    model : PreTrainedModel
        For sequence or token classification. Labels can be probabilities. Label errors are found in labels of
        sequences, if the training examples have a length.
    predictor : PreTrainedModel, optional
        By default a copy of the model.
    beta, distribution, sigma
        See `LimitLoss`.
    args, train_dataset, **kwargs
        Those of `transformers.Trainer`.
    """

    def __init__(
        self,
        model: nn.Module,
        args: TrainingArguments | None = None,
        *,
        predictor: nn.Module | None = None,
        beta: float = 10.0,
        distribution: str = "laplace",
        sigma: float = 0.0,
        train_dataset: Any = None,
        **kwargs: Any,
    ) -> None:
        if args is not None and args.label_smoothing_factor:
            raise InputError("label_smoothing_factor would change LIMIT's loss: leave it at 0.")
        examples = len(train_dataset) if hasattr(train_dataset, "__len__") else None
        self.limit = _Pair(
            model, predictor, beta=beta, distribution=distribution, sigma=sigma, examples=examples
        )
        if examples is not None:
            train_dataset = _WithRows(train_dataset)
        super().__init__(self.limit, args, train_dataset=train_dataset, **kwargs)
        self.model_accepts_loss_kwargs = True  # so that compute_loss gets num_items_in_batch

    def _set_signature_columns_if_needed(self) -> None:
        """Keep the columns that the classifier takes, and the row numbers."""
        if self._signature_columns is None:
            parameters = inspect.signature(self.limit.classifier.forward).parameters
            self._signature_columns = [*parameters, "label", "labels", ROW]  # type: ignore[assignment]

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """LIMIT's loss in training, cross-entropy in evaluation."""
        named = {name: value for name, value in inputs.items() if name not in ("labels", ROW)}
        if (labels := inputs.get("labels")) is None:
            raise InputError("the examples have no labels: give them a column 'labels'.")
        soft = labels.is_floating_point()
        if not model.training:
            logits = logits_of(model(**named))
            target = labels.flatten(0, -2) if soft else labels.flatten()
            loss = nn.functional.cross_entropy(logits.flatten(0, -2), target)
            return (loss, {"logits": logits}) if return_outputs else loss
        rows = inputs.get(ROW) if labels.dim() == 1 + soft else None  # none for tokens
        output = model(**named, labels=labels, rows=rows)
        loss = output.loss
        if num_items_in_batch is not None:  # gradients are summed over several batches or processes
            loss = loss * (labels != -100).sum() / num_items_in_batch
            if self.args.average_tokens_across_devices:
                loss = loss * self.accelerator.num_processes
        return (loss, {"logits": output.logits}) if return_outputs else loss

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the classifier; a checkpoint gets both networks."""
        if _internal_call:
            super().save_model(output_dir, _internal_call)
            record = None if self.limit.record is None else self.limit.record.state_dict()
            if record and self.args.should_save:
                save_file(record, Path(output_dir or self.args.output_dir or ".") / RECORD)
            return
        self.model = self.limit.classifier
        super().save_model(output_dir)
        self.model = self.limit

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        path = Path(resume_from_checkpoint) / RECORD
        if self.limit.record is not None and path.exists():
            self.limit.record.load_state_dict(load_file(path))

    def label_issues(self) -> pd.DataFrame:
        """Label errors among the training examples; see `LabelRecord.label_issues`."""
        if self.limit.record is None or self.limit.record.sums is None:
            raise InputError(
                "no labels were recorded: first train for sequence classification, on examples with a length."
            )
        return self.limit.record.label_issues()


class _Pair(Limit):
    """Both networks, with what `Trainer` asks of a model."""

    def __getattr__(self, name: str) -> Any:
        if name == "config":
            return self.classifier.config
        if name in ("activation_checkpointing_enable", "gradient_checkpointing_enable"):
            methods = [getattr(network, name) for network in (self.classifier, self.predictor)]
            return lambda *values, **named: [method(*values, **named) for method in methods]
        return super().__getattr__(name)


class _WithRows(Dataset[dict[str, Any]]):
    """Examples with their row number."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, row: int) -> dict[str, Any]:
        example = self.examples[row]
        if not isinstance(example, Mapping):
            raise InputError(f"an example is a {type(example).__name__}: give dicts with 'labels'.")
        return {**example, ROW: row}

    def __getitems__(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        if not hasattr(self.examples, "__getitems__"):
            return [self[row] for row in rows]
        # Of `datasets`, where reading a batch at once is several times faster.
        found = self.examples.__getitems__(rows)
        return [{**example, ROW: row} for example, row in zip(found, rows, strict=True)]
