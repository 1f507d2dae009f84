"""Every example runs small, draws its picture and finds its known answers; what is wrong is said."""

import gzip
import re
import struct

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def numbers(text, start):
    """The numbers of the line that starts so, the first such line."""
    line = next(line for line in text.splitlines() if line.startswith(start))
    return [
        float(number) for number in re.findall(r"-?\d[\d,]*\.?\d*(?:e[+-]\d+)?", line[len(start) :].replace(",", ""))
    ]


def test_energy(run):
    out = run("energy")
    assert all(printed in out for printed in ("3.3158e-12", "0.071176", "1.165e-11"))
    one, two = out.split("Two features")

    def expected(loc, scale, x):
        likelihood = stats.norm.pdf(x, loc, scale).prod(axis=1)
        joint = [0.2, 0.8] * likelihood
        return np.stack([[0.2, 0.8], likelihood, joint / joint.sum()], axis=1)

    for text, answer in [
        (one, expected([[2000], [200]], [[800], [100]], [250])),
        (two, expected([[20, 7], [2, 2]], np.sqrt([[8, 5], [1, 5]]), [2, 2])),
    ]:
        assert_allclose([numbers(text, "big"), numbers(text, "small")], answer, rtol=5e-4)


def test_spam(run):
    out = run("spam", repeats=2)
    joint = np.array([[0.75 * 0.8 * 0.01, 0.25 * 0.4 * 0.1], [0.75 * 0.2 * 0.01, 0.25 * 0.6 * 0.1]])
    assert_allclose(numbers(out, "money and perceptron"), [*joint[0], 0.375], atol=5e-5)
    assert_allclose(numbers(out, "perceptron"), [*joint[1], 1 / 11], atol=5e-5)
    for strength in (0, 1, 2, 10_000):  # three emails with the one word, none with the other
        answer = [(3 + strength) / (3 + 2 * strength), strength / (3 + 2 * strength)]
        assert_allclose(numbers(out, f"l = {strength} "), answer, atol=5e-5)
    losses = {l: numbers(out, f"{l:8g}  ")[0] for l in (0.001, 10, 10_000)}
    assert re.search(r"^ +0 +inf", out, re.M)
    assert losses[10] < losses[0.001] < losses[10_000] < np.log(10) + 0.01


def test_spam_of_messages(run, example, tmp_path):
    path = tmp_path / "messages.tsv"
    words = ["win money now", "free prize, win"], ["see you at noon", "the meeting is now"]
    lines = [f"{'spam' if i % 3 else 'ham'}\t{words[i % 3 == 0][i % 2]} {i}" for i in range(600)]
    path.write_text("\n".join(lines) + "\n")
    assert "300 training messages" in run("spam", repeats=2, data=path)
    main = example("spam").main
    with pytest.raises(ValueError, match="name the SMS collection"):
        main(tmp_path / "none.tsv")
    for text, sentence in [
        ("\n".join(lines[:9]), "must have 10 messages of each kind"),
        ("no tab here\n", "must be ham or spam, a tab and the message"),
        ("", "must be ham or spam"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=sentence):
            main(path)


@pytest.mark.slow
def test_logistic(run):
    out = run("logistic", repeats=3)
    assert numbers(out, "log odds of Naive Bayes less its affine form: at most ")[0] < 1e-10
    few, many, best = numbers(out, "      50"), numbers(out, "  10,000"), numbers(out, "the true rule")[0]
    weights, variance = np.linspace(-0.6, 0.6, 20), np.tile([0.5, 1.0, 1.5, 2.0], 5)
    assert_allclose(best, stats.norm.cdf(-0.5 * np.sqrt((weights**2 * variance).sum())), atol=5e-5)
    assert few[0] < few[1]
    assert few[2] < few[3]
    assert_allclose(many[:2], best, atol=0.003)


@pytest.mark.slow
def test_posterior_predictive(run):
    out = run("posterior_predictive", datasets=200)
    width, correlation, petal = out.split("\n\n")[1:4]
    for name in ("setosa", "versicolor", "virginica"):
        assert 0.05 < numbers(width, name)[-1] < 0.95
        assert numbers(correlation, name)[-1] <= 0.01
    assert_allclose(numbers(correlation, "setosa")[0], 0.74, atol=0.005)
    assert numbers(petal, "setosa")[-1] == 1


# the idx files


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def digits(tmp_path):
    """A folder of small images, 300 and 100, each its digit's pattern and some noise; half the files are compressed."""
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 200, (10, 6, 6))
    folder = tmp_path / "mnist"
    folder.mkdir()
    for images, labels, size in [(IMAGES, LABELS, 300), (TEST_IMAGES, TEST_LABELS, 100)]:
        y = np.arange(size) % 10
        (folder / images).write_bytes(idx(patterns[y] + rng.integers(0, 56, (size, 6, 6))))
        (folder / f"{labels}.gz").write_bytes(gzip.compress(idx(y)))
    return folder


def test_idx(example, digits):
    X, y = example("idx").read_mnist(digits)
    assert X.shape == (400, 36)
    assert X.dtype == np.uint8
    assert_array_equal(y, np.r_[np.arange(300), np.arange(100)] % 10)
    plain = np.frombuffer((digits / TEST_IMAGES).read_bytes(), np.uint8, offset=16)
    assert_array_equal(X[300:].ravel(), plain)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (IMAGES, None, "there is no file"),
        (IMAGES, b"\x89PNG and more", "is not an idx file"),
        (IMAGES, b"", "is not an idx file"),
        (IMAGES, idx(np.zeros((300, 6, 6)))[:-1], "must have 10,816 bytes by its own header, got 10,815"),
        (IMAGES, idx(np.zeros((300, 6, 6)))[:9], "must have"),
        (IMAGES, idx(np.zeros((300, 6, 6))) + b"\0", "got 10,817"),
        (IMAGES, gzip.compress(idx(np.zeros((300, 6, 6))), mtime=0)[:-20], "is damaged"),
        (IMAGES, idx(np.zeros(300)), "in 3 dimensions, got type 8 in 1 dimension: are images and labels exchanged?"),
        (IMAGES, b"\0\0\x0d\3" + bytes(12), "got type 13 in 3 dimensions"),
        (IMAGES, idx(np.zeros((299, 6, 6))), "has 299 images and 300 labels"),
        (IMAGES, idx(np.zeros((300, 5, 5))), "differ in size"),
        (LABELS, idx(np.zeros((300, 6, 6))), "in 1 dimension, got type 8 in 3 dimensions"),
    ],
)
def test_damaged_idx(example, digits, name, content, sentence):
    for path in digits.glob(f"{name}*"):
        path.unlink()
    if content is not None:
        (digits / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        example("mnist").main(digits)


def test_mnist_refuses(example, digits, tmp_path):
    with pytest.raises(ValueError, match="--data must name the folder"):
        example("mnist").main(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="--rows must be at most 400"):
        example("mnist").main(digits, rows=500)


@pytest.mark.slow
def test_mnist_of_small_images(run, digits):
    out = run("mnist", data=digits, rows=400)
    assert "200 training and 200 test images" in out
    assert out.count("100.00% the same") == 2
    assert "scipy" not in run("mnist", data=digits, rows=400, rivals=False)


@pytest.mark.slow
def test_mnist(run, data):
    """The printed accuracies, which are of another sample of 42,000: within one hundredth, to the digits printed."""
    out = run("mnist", data=data / "mnist", rivals=False)
    naive, full = numbers(out, "Naive Bayes + 0.01")[:2], numbers(out, "full covariance + 0.01")[:2]
    assert_allclose(np.round(naive, 2), [0.80, 0.79], rtol=0, atol=0.0101)
    assert_allclose(full, [0.973, 0.942], rtol=0, atol=0.01)


# the examples on how sure a fit may be: each runs small, draws its picture and says that its known answer came out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "files", "answer"),
    [
        (
            "noise_features",
            {"repeats": 2, "noise": [30]},
            (),
            "the average equals the sum over all 64 subsets of 6 columns",
        ),
        (
            "nuts_against_exact",
            {"samples": 800},
            (),
            "NUTS: 81 means within 5 Monte Carlo standard errors",
        ),
        (
            "honest_confidence",
            {"sets": ["wine"], "sizes": [20]},
            ("honest_confidence.csv",),
            "with all weights 1 the tempered posterior predicts as the exact one",
        ),
    ],
)
def test_an_example_ends_with_its_known_answer(run, tmp_path, name, options, files, answer):
    assert answer in run(name, **options, files=files)
    for file in files:
        table = pd.read_csv(tmp_path / "pictures" / file)
        assert len(table) == 8
        assert (table[["log_loss", "calibration_error", "accuracy"]] >= 0).all(axis=None)


# the example of explanations runs, draws its picture and finds its known answers


@pytest.mark.slow
def test_explaining(run):
    out = run("explaining", train=60, draws=20)
    assert "known answer: prior and contributions add up to the predicted log odds" in out
    assert "known answer: each contribution is its weight times the log ratio" in out
    assert "P(benign) = " in out


@pytest.mark.slow  # three tables of splits
def test_second_opinion(run):
    out = run("second_opinion", train=80, repeats=2)
    assert "known answer: with the rows that s* names, two classes are equally probable" in out
    assert "known answer: if the rows and the prior count twice, s* is twice as large" in out
    assert "more rows would make" in out
    for name in ("tumours", "wine", "digits"):
        size, every, probable, robust, *_ = numbers(out, name)
        assert (size, every < probable, every < robust) == (20, True, True)


# the pipeline's example: gradients through a fit inside jit train a network, and what was exported equals the fit


@pytest.mark.slow
def test_the_network_learns_and_what_was_loaded_equals_the_fit(run):
    pytest.importorskip("equinox")
    out = run("jax_pipeline", steps=30, rows=400, files=("posterior.bin",))
    assert "what was loaded equals the fit" in out
    pixels, before, after = (float(loss) for loss in re.findall(r"^posterior on .*? (\d+\.\d+) ", out, re.M))
    assert after < before
    assert after < pixels


@pytest.mark.slow
def test_the_gradient_through_the_fit_is_that_of_differences(example):
    eqx, pipeline = pytest.importorskip("equinox"), example("jax_pipeline")
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        y = jnp.asarray(np.arange(60) % 10)
        x = jnp.asarray(rng.normal(size=(60, 5)) + np.asarray(y)[:, None] * rng.normal(size=5))
        network = eqx.nn.Linear(5, 3, key=jax.random.key(1), dtype=jnp.float64)
        slope, direction = eqx.filter_grad(pipeline.log_loss)(network, x, y), jnp.asarray(rng.normal(size=(3, 5)))

        def moved(step):
            return pipeline.log_loss(eqx.tree_at(lambda n: n.weight, network, network.weight + step * direction), x, y)

        assert_allclose((slope.weight * direction).sum(), (moved(1e-5) - moved(-1e-5)) / 2e-5, rtol=1e-6)


def test_without_the_package_one_sentence_says_so(example, monkeypatch):
    pipeline = example("jax_pipeline")
    monkeypatch.setattr(pipeline, "eqx", None)
    with pytest.raises(SystemExit, match="this example builds its network with Equinox: pip install equinox"):
        pipeline.main()


# the examples of priors run, draw their pictures and find their known answers


@pytest.mark.parametrize(
    ("name", "repeats", "answers"),
    [
        pytest.param(
            "full_bayes",
            40,
            ["the exact prediction has the least expected log loss on rows of the program, by up to"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "smoothing",
            2,
            [r"fit_empirical learns l = \S+ from the first digits, scipy \S+\n", "of rows of the program it learns"],
            marks=pytest.mark.slow,
        ),
        (
            "semi_supervised",
            2,
            ["the log posterior never fell, and with every row labelled fit_em is fit_map", "on rows of the model"],
        ),
    ],
)
def test_known_answers(run, name, repeats, answers):
    out = run(name, repeats=repeats)
    assert all(re.search(answer, out) for answer in answers)


@pytest.mark.slow
def test_borrowing(run):
    out = run("borrowing")
    assert "known answer: the 24 means of a and b by NUTS are those by quadrature" in out
    laplace, learnt = (np.array(line[24:].split(), float) for line in out.splitlines()[2:4])
    assert learnt[-1] < laplace[-1]
    assert learnt[0] < laplace[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws yet")
def test_bring_your_own_model(run):
    with jax.numpy_rank_promotion("allow"):  # as it is for users; NumPyro's samplers promote ranks
        out = run("bring_your_own_model", rows=60, samples=100)
    assert "variance: identity of site 'variance', conjugate" in out
    assert "variance: square of site 'scale', a prior of its own" in out
    assert out.count("Monte Carlo standard errors") == 2
