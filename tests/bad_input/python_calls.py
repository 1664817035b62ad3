"""Bad input to Python's functions. `inputs` [12, 4] and `labels` [12] are good."""

from asked import Case

GOOD = "inputs, labels = np.zeros((12, 4)), np.arange(12) % 3\n"
TRAIN = "noiselimit.train(noiselimit.RunSpec('ce', epochs=1), "
ISSUES = "noiselimit.find_label_issues"
EVEN = "np.full((12, 3), 1 / 3)"


def _case(what: str, code: str, *words: str, needs_run: bool = False) -> Case:
    return Case("Python", what, GOOD + code, words, needs_run=needs_run)


CASES = [
    _case("method", "noiselimit.RunSpec('limit-k')", "method 'limit-k'", "'limit-l'"),
    _case("hyper-parameter", "noiselimit.RunSpec('ce', {'beta': 1})", "beta", "'ce'", "leave it out"),
    _case("hyper-parameter negative", "noiselimit.RunSpec(hyper={'beta': -1})", "beta is -1", "≥ 0"),
    _case("hyper-parameters no mapping", "noiselimit.RunSpec(hyper=3)", "hyper is 3", "mapping"),
    _case("epochs", "noiselimit.RunSpec(epochs=1.5)", "epochs is 1.5", "whole number ≥ 1"),
    _case("seed", "noiselimit.RunSpec(seed=-1)", "seed is -1", "≥ 0"),
    _case("share", "noiselimit.RunSpec(validation_share=1)", "validation_share is 1", "< 1"),
    _case("network", "noiselimit.RunSpec(network='mpl')", "network 'mpl'", "'mlp'"),
    _case("noise", "noiselimit.RunSpec(noise=0.4)", "noise is 0.4", "'uniform:0.4'"),
    _case("matrix", "noiselimit.MatrixNoise([[0.5, 0.6], [0, 1]])", "row 0 sums to 1.1", "rescale"),
    _case("features", "noiselimit.RunSpec(predictor_features='x')", "predictor_features is 'x'", "dotted"),
    _case("pickled weights", "noiselimit.RunSpec(initial_weights='w.pth')", "w.pth is a pickle", "convert"),
    _case("weights missing", "noiselimit.RunSpec(initial_weights='w.safetensors')", "does not exist", "give"),
    _case("grid option", "noiselimit.grid(method='ce', epoch=[1])", "option 'epoch'", "'epochs'"),
    _case("no specs", "noiselimit.train([], (inputs, labels))", "specs must be", "noiselimit.grid"),
    _case("data of another type", TRAIN + "3)", "data of type int", "tuple (X, y)"),
    _case("labels too few", TRAIN + "(inputs, labels[:11]))", "12 inputs but 11 labels", "give one"),
    _case("labels of two types", TRAIN + "(inputs, ['a', 1] * 6))", "row 1 has type int", "strings only"),
    _case("input infinite", TRAIN + "(inputs + np.inf, labels))", "row 0", "repair or remove"),
    _case("inputs of text", TRAIN + "(np.full((12, 1), 'a'), labels))", "type <U1", "real numbers"),
    _case("inputs of one dimension", TRAIN + "(inputs[0], labels))", "shape [4]", "[n, features]"),
    _case("ragged inputs", TRAIN + "([[1, 2], [3]], [0, 1]))", "cannot become an array", "NumPy"),
    _case("data set of no pairs", TRAIN + "[1, 2, 3])", "item 0 is not a pair", "(input, label)"),
    _case(
        "column of dates",
        TRAIN + "(pd.DataFrame({'a': pd.to_datetime(['2020-01-01'] * 12)}), labels))",
        "column 'a'", "dates", "replace",
    ),
    _case(
        "column missing a number",
        TRAIN + "(pd.DataFrame({'a': [1.0] * 11 + [None]}), labels))",
        "column 'a'", "row 11", "fill it in",
    ),
    _case("device", TRAIN + "(inputs, labels), device='tpu')", "device 'tpu'", "cpu"),
    _case("threads", TRAIN + "(inputs, labels), threads=0)", "threads is 0", "from 1 to"),
    _case("no run folder", "noiselimit.load_run('nowhere')", "nowhere", "noiselimit train"),
    _case("data set", "noiselimit.load_data('digts')", "data set 'digts'", "'digits'"),
    _case("resize", "noiselimit.Reading(resize=0)", "resize is 0", "from 1 to 2048"),
    _case(
        "inputs of another shape",
        "noiselimit.load_run('run').predict_proba(inputs)",
        "shape [4]", "trained on [5]", "like those",
        needs_run=True,
    ),
    _case("estimator seeds", "noiselimit.LimitClassifier(seeds=0).fit(inputs, labels)", "seeds is 0", "≥ 1"),
    _case("issues without data", f"{ISSUES}()", "no", "labels=..., pred_probs=..."),
    _case("issues without labels", f"{ISSUES}(inputs)", "no y", "give both"),
    _case("probabilities no sum", f"{ISSUES}(labels=labels, pred_probs=2 * {EVEN})", "row 0 of pred_probs"),
    _case("probabilities too few", f"{ISSUES}(labels=labels[:5], pred_probs={EVEN})", "5 labels", "12 rows"),
    _case("label without column", f"{ISSUES}(labels=labels + 1, pred_probs={EVEN})", "is 3", "from 0 to 2"),
    _case(
        "two steerings",
        f"{ISSUES}(labels=labels, pred_probs={EVEN}, budget=1, min_quality=0.5)",
        "each say how many", "give one",
    ),
    _case(
        "bound on impossible noise",
        "from noiselimit.information import least_information\nleast_information(-1.0, 0.1, 10)",
        "-1", "give",
    ),
]  # fmt: skip
