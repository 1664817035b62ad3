"""Transformers: a small random network for sequence classification, with the real Trainer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments

from noiselimit import InputError
from noiselimit.integrations.transformers import LimitTrainer
from tests.integrations.test_torch import WRONG

CLEAN = torch.arange(240) % 3
GIVEN = torch.where(WRONG, (CLEAN + 1) % 3, CLEAN)


def sentences() -> Dataset:
    """Three classes with words of their own."""
    words = torch.randint(10, (240, 6), generator=torch.Generator().manual_seed(0)) + 10 * CLEAN[:, None]
    return Dataset.from_dict({"input_ids": words.tolist(), "labels": GIVEN.tolist(), "text": ["a"] * 240})


def model(seed: int = 0) -> BertForSequenceClassification:
    torch.manual_seed(seed)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=30, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=8, num_labels=3,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )
    )  # fmt: skip


def trainer(
    folder: Path, classifier: BertForSequenceClassification, data: Any = None, **settings: Any
) -> LimitTrainer:
    usual: dict[str, Any] = {
        "num_train_epochs": 10, "per_device_train_batch_size": 20, "learning_rate": 2e-3, "report_to": "none",
        "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "logging_strategy": "no", "seed": 0,
    }  # fmt: skip
    arguments = TrainingArguments(str(folder), **usual | settings)
    data = sentences() if data is None else data
    return LimitTrainer(
        classifier, arguments, predictor=model(1), beta=10.0, train_dataset=data, eval_dataset=data
    )


@pytest.mark.filterwarnings("ignore:.*pin_memory")
def test_it_trains_evaluates_saves_and_finds_the_wrong_labels(tmp_path: Path) -> None:
    run = trainer(tmp_path / "out", model())
    run.train()
    predicted = run.predict(sentences()).predictions.argmax(1)
    assert (predicted == CLEAN.numpy()).mean() > 0.97
    flagged = run.label_issues()["is_label_issue"].to_numpy()
    assert (flagged == WRONG.numpy()).mean() > 0.9
    assert run.evaluate()["eval_loss"] > 0.3  # by the given labels
    run.save_model(str(tmp_path / "model"))
    loaded = BertForSequenceClassification.from_pretrained(tmp_path / "model")
    words = torch.tensor(sentences()["input_ids"][:])
    np.testing.assert_array_equal(loaded(words).logits.argmax(1).numpy(), predicted)


@pytest.mark.filterwarnings("ignore:.*pin_memory")
def test_accumulated_batches_equal_one_batch_and_checkpoints_resume(tmp_path: Path) -> None:
    """240 = 2 × 120 = 6 × 40 examples an epoch; the optimiser is SGD, so that scales show."""
    ends = []
    for batch, steps in ((120, 1), (40, 3)):
        run = trainer(
            tmp_path / str(batch), model(), per_device_train_batch_size=batch,
            gradient_accumulation_steps=steps, num_train_epochs=2,
            optim="sgd", learning_rate=0.1, max_grad_norm=0.0, save_strategy="epoch",
        )  # fmt: skip
        run.train()
        ends.append(run.model.classifier.classifier.weight.detach())
    torch.testing.assert_close(ends[0], ends[1], rtol=1e-4, atol=1e-6)
    again = trainer(
        tmp_path / "40", model(), per_device_train_batch_size=40, gradient_accumulation_steps=3,
        num_train_epochs=2, optim="sgd", learning_rate=0.1, max_grad_norm=0.0,
    )  # fmt: skip
    again.train(resume_from_checkpoint=str(tmp_path / "40" / "checkpoint-2"))
    torch.testing.assert_close(again.model.classifier.classifier.weight.detach(), ends[1])
    assert again.limit.record is not None
    assert again.limit.record.batches == 2 * 6


@pytest.mark.filterwarnings("ignore:.*pin_memory")
def test_soft_labels_and_recomputed_activations(tmp_path: Path) -> None:
    data = sentences().remove_columns("labels").add_column("labels", torch.eye(3)[GIVEN].tolist())
    run = trainer(tmp_path, model(), data, num_train_epochs=1, activation_checkpointing=True)
    run.train()
    assert all(network.is_activation_checkpointing for network in (run.limit.classifier, run.limit.predictor))
    assert run.label_issues()["given_label"].tolist() == GIVEN.tolist()
    assert run.evaluate()["eval_loss"] > 0.3


@pytest.mark.filterwarnings("ignore:.*pin_memory")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (sentences().remove_columns("labels"), "no labels"),
        (
            sentences().add_column("label", (GIVEN + 1).tolist()).remove_columns("labels"),
            "labels go from 0 to 2",
        ),
        (list(zip(CLEAN, GIVEN, strict=True)), "an example is a tuple"),
    ],
)
def test_bad_examples(data: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        trainer(tmp_path, model(), data).train()


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="label_smoothing"):
        trainer(tmp_path, model(), label_smoothing_factor=0.1)
    with pytest.raises(InputError, match="first train"):
        trainer(tmp_path, model()).label_issues()
