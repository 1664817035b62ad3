"""Which epoch of a run is kept, and when a run has seen enough: both by noisy validation accuracy."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from noiselimit.cohort.outcome import Record


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch so far: highest validation accuracy; ties go to the lower loss, then to the earlier."""

    epoch: int = 0
    accuracy: float = -1.0
    loss: float = float("inf")
    rose_at: int = 0
    """The last epoch whose accuracy was higher than all before; patience counts from here."""

    @classmethod
    def of(cls, history: Iterable[Record]) -> "BestEpoch":
        """The best of the epochs that these records tell of."""
        best = cls()
        for record in history:
            accuracy, loss = record["validation_accuracy"], record["validation_loss"]
            assert accuracy is not None
            assert loss is not None
            best = best.after(int(record["epoch"] or 0), accuracy, loss)
        return best

    def after(self, epoch: int, accuracy: float, loss: float) -> "BestEpoch":
        """The best epoch once this one is known too."""
        if accuracy > self.accuracy:
            return BestEpoch(epoch, accuracy, loss, rose_at=epoch)
        if accuracy == self.accuracy and loss < self.loss:
            return replace(self, epoch=epoch, loss=loss)
        return self

    def exhausted(self, epoch: int, patience: int) -> bool:
        """Whether `patience` epochs have passed without a higher accuracy."""
        return epoch - self.rose_at >= patience
