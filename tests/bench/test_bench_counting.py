"""Operations and bytes against numbers counted by hand."""

import math

import pytest

from noiselimit.bench.counting import epoch_cost, network_operations
from noiselimit.bench.traffic import network_traffic
from noiselimit.bench.work import CIFAR_CE, CIFAR_LIMIT, DIGITS_LIMIT, MNIST

# The paper's MNIST network: outputs of its layers, and multiplications per output.
LAYERS = [
    (32 * 14 * 14, 16 * 1),
    (32 * 7 * 7, 16 * 32),
    (64 * 3 * 3, 9 * 32),
    (256, 9 * 64),
    (128, 256),
    (10, 128),
]


def test_operations_of_the_mnist_network():
    forward = [2 * outputs * each for outputs, each in LAYERS]
    counted = network_operations("mnist-cnn", (1, 28, 28), 10)
    assert counted.forward == sum(forward)
    assert counted.training == 3 * sum(forward) - forward[0]  # the pictures need no gradient


def test_traffic_of_the_mnist_network():
    """Fourteen passes over what batch-norm follows, six over the rest, fewer at the two ends."""
    sizes = [outputs for outputs, _ in LAYERS]
    normed, plain = sizes[:4], sizes[4:]
    inputs = 2 * 28 * 28  # read for the product and for the weight gradient
    written_and_read = 1 + 2  # written, and its gradient read for both gradients
    read_by_next = 2 + 1  # read by the next layer and by its weight gradient, its gradient written
    passes = (written_and_read + 8) * sum(normed) + written_and_read * sum(plain)
    passes += read_by_next * (sum(sizes) - sizes[-1]) + inputs - sizes[0]  # no gradient of the pictures
    counted = network_traffic("mnist-cnn", (1, 28, 28), 10)
    assert counted.training_values == passes
    assert counted.evaluation_values == 28 * 28 + 2 * sum(sizes) - sizes[-1]
    assert counted.parameters == 512 + 16384 + 18432 + 147456 + 2 * (32 + 32 + 64 + 256) + 32896 + 1290


def test_a_shortcut_and_the_pool_of_a_residual_network_are_counted():
    eighteen = network_traffic("resnet-18", (3, 32, 32), 10)
    thirty_four = network_traffic("resnet-34", (3, 32, 32), 10)
    # ResNet-34 has 1, 2, 4 and 1 more blocks of two layers with 14 passes each and one shortcut of three.
    more = sum(
        blocks * channels * side**2
        for blocks, channels, side in ((1, 64, 32), (2, 128, 16), (4, 256, 8), (1, 512, 4))
    )
    assert thirty_four.training_values - eighteen.training_values == (2 * 14 + 3) * more
    assert thirty_four.evaluation_values - eighteen.evaluation_values == (2 * 2 + 1) * more


@pytest.mark.parametrize("work", [MNIST, DIGITS_LIMIT])
def test_the_cost_of_an_epoch_is_the_sum_of_its_parts(work):
    def cost(trained: int, evaluated: int):
        return epoch_cost(work, train_examples=trained, evaluated_examples=evaluated, precision="bfloat16")

    operations = network_operations(work.network, work.input_shape, 10)
    traffic = network_traffic(work.network, work.input_shape, 10)
    pixels = math.prod(work.input_shape)
    steps = math.ceil(1000 / work.batch_size)
    assert cost(1000, 0).operations == 2 * 1000 * operations.training
    assert cost(0, 10).operations == 10 * operations.forward
    assert cost(0, 10).bytes == 10 * (2 * traffic.evaluation_values + 3 * pixels)
    step_bytes = 2 * 28 * traffic.parameters * steps
    assert cost(1000, 0).bytes == 1000 * (2 * 2 * traffic.training_values + 3 * pixels) + step_bytes
    assert cost(1000, 10).bytes == cost(1000, 0).bytes + cost(0, 10).bytes


def test_a_pair_costs_twice_one_network():
    limit, ce = (
        epoch_cost(work, train_examples=100, evaluated_examples=0, precision="float32").operations
        for work in (CIFAR_LIMIT, CIFAR_CE)
    )
    assert limit == 2 * ce
