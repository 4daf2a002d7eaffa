"""Markers are answered from the data, code blocks run, and whatever cannot be is named with its place."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import pytest

from autograder import author
from autograder.bench import rows
from autograder.bench.rows import Row
from autograder.pages import filling, places
from autograder.tests.bench.test_bench import MACHINE
from autograder.tests.pages.page import Page, course

NAIVE = Row(
    "seq", "naive", "bfloat16", False, 4, 1024, 1024, 8, 8, 64, device_ms=1.7034, temp_bytes=3221225472
)
FUSED = dataclasses.replace(NAIVE, variant="cuDNN, fused", device_ms=0.28612, temp_bytes=512, cudnn=True)
LONGER = dataclasses.replace(FUSED, T=2048, device_ms=None, temp_bytes=None, note="does not fit")


PRICES = "- The machine: 2 * 0.5 = 1.00 an hour.\n- Asleep (no GPU): 0.1 + 0.15 = 0.25 an hour, or more.\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with measurements and no pages."""
    root = tmp_path_factory.mktemp("project")
    found = [dataclasses.replace(NAIVE, kernels=7, peak_share=0.1234), FUSED, LONGER]
    rows.write(root / "course" / "figures" / "h200", "seq", found, MACHINE.to_json())
    (root / "terraform").mkdir()
    (root / "terraform" / "README.md").write_text(PRICES, encoding="utf-8")
    return root


def write(root: Path, text: str) -> Path:
    page = root / "course" / "02-naive.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize(
    ("marker", "answer"),
    [
        ("seq variant=naive: device_ms", "1.7 ms"),
        ("seq variant=naive: temp_bytes", "3.22 GB"),
        ("seq variant='cuDNN, fused' T=1024: temp_bytes", "512 bytes"),
        ("seq variant=naive: peak_share", "12.3 %"),
        ("seq variant=naive: kernels", "7"),
        ("seq variant='cuDNN, fused' T=1024: cudnn", "yes"),
        ("seq variant=naive T=1024: device_ms / variant='cuDNN, fused'", "6.0 times"),
        ("seq variant=naive T=1024: temp_bytes / variant='cuDNN, fused': temp_bytes", "6,300,000 times"),
        ("seq machine: matrix_tflops", "800 TFLOP/s"),
        ("seq machine: copy_gbytes_s", "4,300 GB/s"),
        ("machine seq", "NVIDIA Example, JAX 0.11.2, cuDNN 9.19.0, 2026-11-30"),
        ("= 2 * 32 * 8 * 128 * 2 bytes", "131 kB"),
        ("= (1 + 2**10) // 3", "341"),
        ("= -1 / 3 %", "-0.333 %"),
        ("= 4096**2", "16,777,216"),
        ("= 72 * (price('machine') + price('Asleep'))", "90"),
        ("constant autograder.runner.ratio.CONFIDENCE", "0.998"),
        ("constant autograder.runner.ratio.RESAMPLES", "3,000"),
        ("constant autograder.catalog.FP8_ERROR", "0.01 to 0.15"),
        ("= 430e9 / (seq.copy_gbytes_s * 1e9) * 1000 ms", "100 ms"),
    ],
)
def test_a_number_is_filled(measured: Path, marker: str, answer: str) -> None:
    page = write(measured, f"It is <!-- {marker} -->?<!-- end -->.\n")
    assert author.main(["pages", "--check"], measured) == 1
    assert author.main(["pages"], measured) == 0
    assert page.read_text(encoding="utf-8") == f"It is <!-- {marker} -->{answer}<!-- end -->.\n"
    assert author.main(["pages", "--check"], measured) == 0


def test_a_table_is_filled(measured: Path) -> None:
    page = write(measured, "<!-- table seq rows=T,variant: device_ms temp_bytes -->\n<!-- end -->\n")
    assert author.main(["pages"], measured) == 0
    assert page.read_text(encoding="utf-8").splitlines()[1:-1] == [
        "| T | function | device, ms | temporary memory |",
        "| --- | --- | --- | --- |",
        "| 1024 | naive | 1.7 | 3.22 GB |",
        "| 1024 | cuDNN, fused | 0.286 | 512 bytes |",
        "| 2048 | cuDNN, fused | does not fit |  |",
    ]


def test_a_header_and_the_overviews_are_filled(measured: Path) -> None:
    blocks = "".join(f"<!-- {name} -->\n<!-- end -->\n\n" for name in ("stage", "stages", "path"))
    text = write(measured, blocks)
    assert author.main(["pages"], measured) == 0
    filled = text.read_text(encoding="utf-8")
    assert "Stage 2 of 13 · 10 minutes · on the [60-minute path]" in filled
    assert "Exercise 1: write `exercises/naive_attention.py`, then run `grade 1`." in filled
    assert "| [11 · An FP8 gate, and proof that FP8 ran](11-fp8.md) | 10 | `grade 5` |" in filled
    assert "6. [Grouped-query attention without copies](09-heads.md)" in filled


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("seq variant=naive T=7: device_ms", "no row has T=7; with the filters before it, it is 1024"),
        ("seq: device_ms", "expected one row; 3 match: add variant=, which is naive, cuDNN, fused"),
        ("seq variant=naive: time", "there is no column time; there are sweep, variant"),
        ("seq length=3: device_ms", "there is no column length"),
        ("tails variant=naive: device_ms", "there is no sweep 'tails' in h200/; there are seq"),
        ("seq T=2048: device_ms", "that row has no device_ms: does not fit"),
        ("seq variant=naive", "expected SWEEP column=value …: COLUMN"),
        ("seq variant=naive: device_ms kernels", "expected one column"),
        ("seq variant=naive: device_ms / variant=naive: kernels", "expected two columns of one unit"),
        ("seq machine: colour", "the machine has no colour; it has device"),
        ("= 2 * x bytes", "expected arithmetic on numbers"),
        ("= 1 / 0", "expected arithmetic on numbers"),
        ("= 2 * seq.speed ms", "the machine has no speed; it has"),
        ("= 2 * seq.device ms", "expected arithmetic on numbers"),
        ("= 2 * other.matrix_tflops", "there is no sweep 'other'"),
        ("= price('H100')", "expected one line `- …H100…: … = PRICE an hour` in terraform/README.md; 0"),
        ("= price(3)", "expected arithmetic on numbers"),
        ("constant autograder.runner.ratio.SURENESS", "expected a constant's full name"),
        ("constant CONFIDENCE", "expected a constant's full name"),
        ("constant autograder.catalog.EXERCISES", "expected a number, or a range"),
        ("source: Vaswani, 2017", "expected the source in the text"),
        ("table seq rows=T: device_ms", "expected <!-- end --> on a line of its own"),
        ("stage", "expected <!-- end --> on a line of its own"),
        ("TODO", "expected SWEEP"),
    ],
)
def test_a_wrong_marker_is_named(
    measured: Path, capsys: pytest.CaptureFixture[str], marker: str, said: str
) -> None:
    text = f"One.\n\nIt is <!-- {marker} -->3<!-- end -->.\n"
    page = write(measured, text)
    assert author.main(["pages"], measured) == 1
    assert f"course/02-naive.md:3: <!-- {marker} -->: {said}" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!-- = 2 -->\n", "1: <!-- = 2 -->: expected <!-- end --> before it"),
        ("<!-- = 2 -->2 <!-- = 3 -->3<!-- end -->\n", "1: <!-- = 3 -->: expected <!-- end --> before it"),
        ("a\n<!-- end -->\n", "2: <!-- end -->: no marker is open here"),
        (
            "<!-- table seq rows=T: device_ms -->\n<!-- end -->\n",
            "1: <!-- table seq rows=T: device_ms -->: expected one row for T=1024; 2",
        ),
        ("<!-- table seq: device_ms -->\n<!-- end -->\n", "with rows=COLUMN"),
        ("<!-- source: Vaswani, 2017 --><!-- end --> Vaswani\n", "expected the number between"),
    ],
)
def test_what_does_not_pair_up_is_named(
    measured: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    write(measured, text)
    assert author.main(["pages"], measured) == 1
    assert said in capsys.readouterr().err


def test_a_source_stays_and_code_is_no_marker(measured: Path) -> None:
    text = "<!-- source: Vaswani, 2017 -->\n| 1 % |\n<!-- end -->\n"
    text += "It is <!-- source: Vaswani, 2017 -->41 %<!-- end --> (Vaswani).\n\n```\n<!-- = 2 -->\n```\n"
    page = write(measured, text)
    assert author.main(["pages", "--check"], measured) == 0
    assert page.read_text(encoding="utf-8") == text


CODE = """```python
import jax

x = 1
print("one", jax.devices()[0].platform)
```

```text
```

```python skip
raise SystemExit
```

```python
print(x + 1)
```

```text
3
```
"""


def test_outputs_are_filled(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = write(measured, CODE)
    assert author.main(["pages", "--check"], measured) == 1
    assert "-3\n+2\n" in capsys.readouterr().err
    assert author.main(["pages"], measured) == 0
    assert page.read_text(encoding="utf-8") == CODE.replace("```text\n```", "```text\none cpu\n```").replace(
        "3\n", "2\n"
    )
    assert author.main(["pages", "--check"], measured) == 0


def test_code_that_fails_is_named(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(measured, CODE.replace("x + 1", "x + y"))
    (measured / "course" / "06-benchmark.md").write_text(
        "```python\nraise SystemExit(3)\n```\n", encoding="utf-8"
    )
    (measured / "course" / "12-scale.md").write_text(
        "```python\n)\n```\n```py\n```\n```python\nprint(2)\n```\n", encoding="utf-8"
    )
    assert author.main(["pages", "--check"], measured) == 1
    shown = capsys.readouterr().err
    assert (
        "course/02-naive.md:16: this block was to run, and raised NameError: name 'y' is not defined" in shown
    )
    assert "course/06-benchmark.md:2: this block was to run, and raised SystemExit: 3" in shown
    assert "course/12-scale.md:2: this block was to run, and raised SyntaxError" in shown
    assert "course/12-scale.md:4: expected ```python or ```python skip; got ```py" in shown
    for name in ("06-benchmark.md", "12-scale.md"):
        (measured / "course" / name).unlink()
    write(measured, "```python\nprint(2)\n```\n\nText.\n")
    assert author.main(["pages"], measured) == 1
    assert (
        "02-naive.md:3: expected a ```text block directly below, for the output '2\\n'"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("page", course(), ids=lambda page: page.path.name)
def test_this_courses_markers_are_in_step(page: Page) -> None:
    """Without running the pages' code, which takes longer."""
    data = author.ROOT / "course" / "figures" / "h200"
    answer = partial(filling.answer, path=page.path, text=page.text, data=data)
    assert places.fill(page.path.name, page.text, answer) == (page.text, [])


@pytest.mark.slow
def test_this_courses_pages_are_in_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert author.main(["pages", "--check"]) == 0, capsys.readouterr().err
