"""The paper's MNIST classifier (tab:mnist-classifier): four convolutions, then 128 units."""

from torch import Tensor, nn

from noiselimit.networks.network import Network, convolution, feature_count


class MnistCnn(nn.Module):
    """[B, channels, height, width] → logits [B, classes], features [B, 128]. Meant for 28 × 28 inputs."""

    def __init__(self, input_shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            *convolution(input_shape[0], 32, kernel=4, stride=2, padding=1),
            *convolution(32, 32, kernel=4, stride=2, padding=1),
            *convolution(32, 64, kernel=3, stride=2, padding=0),
            *convolution(64, 256, kernel=3, stride=1, padding=0),
            nn.Flatten(-3),
        )
        width = feature_count(self.convolutions, input_shape)
        self.hidden = nn.Sequential(nn.Linear(width, 128), nn.ReLU())
        self.head = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.hidden(self.convolutions(x))
        return self.head(features), features


NETWORKS = (Network("mnist-cnn", MnistCnn, takes="images", smallest_side=28),)
