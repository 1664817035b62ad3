"""A small convolutional network for little pictures, such as scikit-learn's 8 × 8 digits."""

from torch import Tensor, nn

from noiselimit.networks.network import Network, convolution, feature_count


class SmallCnn(nn.Module):
    """[B, channels, height, width] → logits [B, classes], features [B, 128]."""

    def __init__(self, input_shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            *convolution(input_shape[0], 16, kernel=3, stride=1, padding=1),
            *convolution(16, 32, kernel=3, stride=2, padding=1),
            *convolution(32, 64, kernel=3, stride=2, padding=1),
            nn.Flatten(-3),
        )
        width = feature_count(self.convolutions, input_shape)
        self.hidden = nn.Sequential(nn.Linear(width, 128), nn.ReLU())
        self.head = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.hidden(self.convolutions(x))
        return self.head(features), features


NETWORKS = (Network("small-cnn", SmallCnn, takes="images"),)
