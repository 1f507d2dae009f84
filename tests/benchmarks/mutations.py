"""Mutations: how many small faults, drawn at random from the package, the tests find.

    pip install cosmic-ray pytest-cov
    python -m tests.benchmarks.mutations --record cover.sqlite
    python -m tests.benchmarks.mutations --covered cover.sqlite --number 60

The first runs the tests once and notes which of them reach which line. The second draws faults, more from folders of
more lines, makes each by itself in a copy of the tree, and runs the tests that reach its line: first some, and all if
these find nothing. It prints each fault and whether a test failed. Compiled loops are not traced: their lines count as
not reached, and no fault is drawn from them.
"""

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
KINDS = (
    *("AddNot", "NumberReplacer", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse"),
    *("ReplaceFalseWithTrue", "ZeroIterationForLoop", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add", "ReplaceBinaryOperator_Mul_Div"),
    *("ReplaceBinaryOperator_Div_Mul", "ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_Delete_Not"),
    *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_Gt_GtE"),
    *("ReplaceComparisonOperator_GtE_Gt", "ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
    *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
)
"""The faults of cosmic-ray that a person could make, too."""

SOME, SECONDS = 100, 900
"""The tests that are run first, and the time after which a fault that stops a test from ending is found."""


class Fault(NamedTuple):
    """The occurrence of a kind of fault in a file, at a line from 1."""

    path: Path
    kind: str
    occurrence: int
    line: int


def record(to: Path, options: list[str]) -> None:
    """Run the tests, and write which of them reach which line of the package."""
    command = [sys.executable, "-m", "pytest", "-q", "--cov=bayesnb", "--cov-context=test", "--cov-report=", *options]
    subprocess.run(command, cwd=ROOT, check=False)
    shutil.move(ROOT / ".coverage", to)


def faults_of(path: Path) -> list[Fault]:
    """All faults that could be made in a file."""
    from cosmic_ray.ast import Visitor, get_ast, read_python_source
    from cosmic_ray.plugins import get_operator

    operators = {kind: get_operator(f"core/{kind}")() for kind in KINDS}
    faults: list[Fault] = []
    seen: Counter[str] = Counter()

    class Finder(Visitor):
        def visit(self, node):
            for kind, operator in operators.items():
                for (line, _), _ in operator.mutation_positions(node):
                    faults.append(Fault(path.relative_to(ROOT), kind, seen[kind], line))
                    seen[kind] += 1
            return node

    Finder().walk(get_ast(read_python_source(path)))
    return faults


def tests_by_line(covered: Path, path: Path) -> dict[int, list[str]]:
    """The tests that reach each line of a file."""
    from coverage import CoverageData

    data = CoverageData(str(covered))
    data.read()
    file = next((name for name in data.measured_files() if name.endswith(str(path))), "")
    by_line = data.contexts_by_lineno(file) if file else {}
    return {line: sorted({name.split("|")[0] for name in names if name}) for line, names in by_line.items()}


def draw(number: int, covered: Path, chance: random.Random) -> list[tuple[Fault, list[str]]]:
    """Faults at lines that a test reaches, with these tests: folders by their lines, and files within a folder."""
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in sorted(ROOT.glob("bayesnb/*/**/*.py"))}
    drawn: dict[Fault, list[str]] = {}
    while len(drawn) < number:
        [path] = chance.choices(list(sizes), weights=list(sizes.values()))
        reached = tests_by_line(covered, path.relative_to(ROOT))
        faults = [fault for fault in faults_of(path) if reached.get(fault.line)] if reached else []
        if faults:
            fault = chance.choice(faults)
            drawn[fault] = reached[fault.line]
    return sorted(drawn.items())


def finds(tree: Path, fault: Fault, tests: list[str], chance: random.Random) -> bool:
    """Whether one of the tests fails with the fault."""
    from cosmic_ray.ast import read_python_source
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    file = tree / fault.path
    before = read_python_source(file)
    after = mutate_code(before, get_operator(f"core/{fault.kind}")(), fault.occurrence)
    some = chance.sample(tests, min(SOME, len(tests)))
    rest = [test for test in tests if test not in {*some}]
    file.write_text(after, encoding="utf-8")
    try:
        return not passes(tree, some) or (bool(rest) and not passes(tree, rest))
    finally:
        file.write_text(before, encoding="utf-8")


def passes(tree: Path, tests: list[str]) -> bool:
    """Whether all tests pass in the tree, in time; what is neither a pass nor a failure of a test ends the program."""
    names = tree / "tests_to_run.txt"
    names.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-o", f"cache_dir={tree.parent}/cache", f"@{names}"]
    here = {**os.environ, "PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(command, cwd=tree, env=here, timeout=SECONDS, capture_output=True, check=False, text=True)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1, 2):  # passed, failed, or stopped by an error where tests are collected
        sys.exit(done.stdout + done.stderr)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=Path, help="the file to write which tests reach which lines")
    parser.add_argument("--pytest", default="", help="what else to give pytest, such as a folder of tests")
    parser.add_argument("--covered", type=Path, help="the file that was recorded")
    parser.add_argument("--number", type=int, default=60, help="how many faults to draw")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.record:
        return record(options.record.resolve(), shlex.split(options.pytest))
    chance, found = random.Random(options.seed), Counter()
    drawn = draw(options.number, options.covered, chance)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
        if not passes(tree, sorted({chance.choice(tests) for _, tests in drawn})):
            sys.exit("a test fails without a fault")
        for fault, tests in drawn:
            caught = finds(tree, fault, tests, chance)
            found[fault.path.parts[1], caught] += 1
            said = "found" if caught else "SURVIVED"
            print(f"{said:9} {fault.path}:{fault.line} {fault.kind} {fault.occurrence}, {len(tests)} tests", flush=True)
    for name in sorted({name for name, _ in found}):
        print(f"{name:14} {found[name, True]} of {found[name, True] + found[name, False]} found")
    print(f"{sum(found[key] for key in found if key[1])} of {options.number} found")


if __name__ == "__main__":
    main()
