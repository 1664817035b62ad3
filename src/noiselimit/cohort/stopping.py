"""Which epoch of a run is kept, and when a run has seen enough: both by noisy validation accuracy."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch so far: highest validation accuracy; ties go to the lower loss, then to the earlier."""

    epoch: int = 0
    accuracy: float = -1.0
    loss: float = float("inf")
    rose_at: int = 0
    """The last epoch whose accuracy was higher than all before; patience counts from here."""

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
