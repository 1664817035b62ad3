"""LIMIT for Transformers: a Trainer for sequence classification that finds label errors."""

import inspect
from typing import Any

import pandas as pd
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from noiselimit.integrations.torch import Limit
from noiselimit.networks.module import logits_of

ROW = "row"


class LimitTrainer(Trainer):
    """A `transformers.Trainer` that trains a classifier by LIMIT.

    `save_model` writes the classifier as usual, for `from_pretrained`. Checkpoints hold both networks.
    Evaluation reports the cross-entropy of the classifier.

    Parameters
    ----------
    model : PreTrainedModel
        For sequence or token classification.
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
        examples = len(train_dataset) if hasattr(train_dataset, "__len__") else None
        self.limit = Limit(
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
        labels = inputs["labels"]
        if not model.training:
            logits = logits_of(model(**named))
            loss = nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
            return (loss, {"logits": logits}) if return_outputs else loss
        rows = inputs.get(ROW) if labels.dim() == 1 else None
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
            return
        self.model = self.limit.classifier
        super().save_model(output_dir)
        self.model = self.limit

    def label_issues(self) -> pd.DataFrame:
        """Label errors among the training examples; see `LabelRecord.label_issues`."""
        return self.limit.label_issues()


class _WithRows(Dataset[dict[str, Any]]):
    """Examples with their row number."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, row: int) -> dict[str, Any]:
        return {**self.examples[row], ROW: row}
