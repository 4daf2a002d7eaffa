"""What a person who grades opens in a browser: no notebook's text or output does anything there."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import nbgrader.server_extensions.formgrader as formgrader
import pytest
import zmq
from nbconvert.exporters import HTMLExporter
from nbformat import v4
from traitlets.config import Config

from autograder.classroom import kernel, outputs
from autograder.classroom.config import configure

PWN = "<script>PWN</script>"
MARKDOWN = f"""
{PWN} <img src=x onerror=PWN> <a href="javascript:PWN">x</a>

[c](javascript:PWN) [c](<java\tscript:PWN>) [c](java&#9;script:PWN) [c](&#x6a;avascript:PWN) <javascript:PWN>
[c](data:text/html,PWN) [d] ![p](attachment:here) ![missing](attachment:gone) ![q](javascript:PWN)

[d]: JavaScript:PWN

${PWN}$ `{PWN}`

```mermaid
{PWN}
```

| a |
|---|
| {PWN} |

[web](https://jax.dev) ![drawn](data:image/svg+xml;base64,PHN2Zy8+) $T<S$
"""
GRADED = {"points": 5, "score": 0, "comment": ""}
SENT = [
    {"output_type": "display_data", "data": {"text/html": PWN, "text/plain": "kept"}, "metadata": {}},
    {"output_type": "display_data", "data": {"application/javascript": "PWN"}, "metadata": {"x": PWN}},
    {"output_type": "display_data", "data": {"image/svg+xml": f"<svg>{PWN}</svg>"}, "metadata": {}},
    {"output_type": "display_data", "data": {"image/png": f'">{PWN}'}, "metadata": {}},
    {"output_type": "display_data", "data": 7, "metadata": 7},
    {"output_type": "stream", "name": 7, "text": {"a": PWN}},
    {"output_type": "stream", "name": "stdout", "text": "\ud800"},
    {"output_type": "error", "ename": 7, "evalue": PWN, "traceback": 7},
    {"output_type": "execute_result", "data": {"text/plain": "3"}, "metadata": None, "execution_count": "x"},
]


class Page(HTMLParser):
    """Collects what would run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tag, self.runs, self.links = "", list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tag = tag
        for name, value in attributes:
            if name.startswith("on") and "PWN" in (value or ""):
                self.runs.append(f"{tag} {name}")
            if name in ("href", "src"):
                self.links.append(value or "")
        self.runs += [tag] * (tag in ("iframe", "object", "embed"))

    def handle_data(self, data: str) -> None:
        self.runs += ["script"] * (self.tag == "script" and "PWN" in data)


def notebook() -> Any:
    answer = v4.new_markdown_cell(MARKDOWN)
    answer.metadata["nbgrader"] = {"grade_id": "question", "grade": True, "solution": True} | GRADED
    answer["attachments"] = {"here": {"image/png": '"onerror="PWN'}}
    code = v4.new_code_cell("x = 1")
    made = v4.new_notebook(cells=[answer, v4.new_markdown_cell(MARKDOWN), v4.new_raw_cell(PWN), code])
    made.cells[1]["attachments"] = {"here": {"image/png": "aGVyZQ=="}}
    code.outputs = [*SENT]  # which are no notebook's, some of them
    code.execution_count = "x"
    outputs.shown(made.cells)
    nbformat.validate(made)
    return made


def page(template: str, made: Any, root: Path) -> str:
    """The notebook as HTML, by the configuration of the course in `root`."""
    config = Config()
    configure(config, root)
    config.HTMLExporter.template_name = template
    config.HTMLExporter.extra_template_basedirs = [str(Path(formgrader.__path__[0]) / "templates")]
    static = Path(formgrader.__path__[0]) / "static" / "node_modules" / "bootstrap" / "dist" / "css"
    config.HTMLExporter.extra_template_paths = [str(static)]
    ours = {"notebook": "one", "score": 0, "max_score": 1, "late_penalty": 0}
    resources = {"nbgrader": ours, "index": 0, "total": 1, "submission_id": "1", "base_url": ""}
    text, _ = HTMLExporter(config=config).from_notebook_node(made, resources)
    return str(text)


@pytest.mark.parametrize("template", ["feedback", "formgrade"])
@pytest.mark.filterwarnings("ignore")  # an output with nothing left to show
def test_nothing_of_a_students_runs(template: str, tmp_path: Path) -> None:
    text = page(template, notebook(), tmp_path)
    opened = Page(text)
    assert opened.runs == []
    assert not [link for link in opened.links if "PWN" in link and not link.startswith("data:image/")]
    assert {"https://jax.dev", "data:image/png;base64,aGVyZQ==", "data:image/svg+xml;base64,PHN2Zy8+"} <= {
        *opened.links
    }
    assert text.count("missing") >= 2 and "T&lt;S" in text


def test_of_output_the_text_and_pictures_are_kept() -> None:
    cell = notebook().cells[3]
    assert cell.execution_count is None
    assert [dict(output.get("data", {})) for output in cell.outputs] == [
        {"text/plain": "kept"},
        {},
        {},
        {"image/png": f'">{PWN}'},
        {},
        {},
        {},
        {"text/plain": "3"},
    ]
    assert [output.text for output in cell.outputs if output.output_type == "stream"][1] == "?"


def test_a_kernel_that_takes_too_much_memory_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = kernel.SandboxedKernelManager()
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    monkeypatch.setattr(kernel.SandboxedKernelManager, "provisioner", SimpleNamespace(process=process))
    monkeypatch.setattr(kernel, "MEMORY", 2**20)
    manager.watch()
    manager.context.term()
    assert process.wait() == -9
    assert "GiB of memory" in manager.verdict


def test_a_kernels_messages_are_bounded(tmp_path: Path) -> None:
    manager = kernel.SandboxedKernelManager()
    manager.share(tmp_path, [])
    client = manager.client()
    with client.context.socket(zmq.SUB) as socket:
        assert socket.getsockopt(zmq.MAXMSGSIZE) == kernel.MAX_MESSAGE
    client.context.term()
