"""The course as a site: `sphinx-build -W course _site`. Everything on it is local."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from autograder.pages import stages

COURSE = Path(__file__).parent
DATA = COURSE / "figures" / "h200"

project = "Attention lab"
author = "Attention lab"
root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx_copybutton"]
exclude_patterns = ["_site"]

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "Attention lab"
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
copybutton_selector = "div.highlight-python pre, div.highlight-sh pre"  # what can be run

# MathJax in one file, without fonts: nothing is loaded later, and nothing from elsewhere.
_offline = importlib.util.find_spec("sphinx-mathjax-offline").submodule_search_locations[0]
html_static_path.append(str(Path(_offline) / "static" / "mathjax" / "tex-svg.js"))
mathjax_path = "tex-svg.js"

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")
"""Links to files of the repository that are not on the site: their text stays."""

BESIDE = ["Measurements <figures/h200/README>"]


def read(app: Sphinx, document: str, source: list[str]) -> None:
    """Navigation for the home page; for every other, on which GPU its numbers were measured."""
    source[0] = OUTSIDE.sub(r"\1", source[0])
    # The parser drops a line feed in alternative text, and joins the words around it.
    source[0] = re.sub(r"!\[[^\]]*\]", lambda match: match[0].replace("\n", " "), source[0])
    if document == root_doc:
        documents = [stage.name for stage in stages.PAGES] + BESIDE
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *documents, "```", ""])
        return
    names = sorted(set(re.findall(r"<!-- (?:table |machine )?([a-z][\w-]*)", source[0])))
    files = [DATA / f"{name}.json" for name in names if (DATA / f"{name}.csv").is_file()]
    labels = {json.loads(file.read_text(encoding="utf-8"))["machine"]["label"]: None for file in files}
    if labels and document.count("/") == 0:
        source[0] += f"\n---\n\nMeasured on {'; '.join(labels)}. [The data](figures/h200/README.md)\n"


class Pairs(SphinxTransform):
    """A picture that has a twin for dark pages is shown in the one that fits."""

    default_priority = 200

    def apply(self) -> None:
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for light in list(self.document.findall(nodes.image)):
            path = Path(light["uri"])
            twin = path.with_stem(f"{path.stem}-dark")
            if (folder / twin).is_file():
                dark = copy.deepcopy(light)
                dark["uri"] = twin.as_posix()
                dark["classes"].append("only-dark")
                light["classes"].append("only-light")
                light.parent.insert(light.parent.index(light) + 1, dark)


def reachable(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """What scrolls by itself can be scrolled by keyboard."""
    for tag in ("<pre>", '<div class="table-wrapper'):
        context["body"] = context.get("body", "").replace(tag, f'{tag[:4]} tabindex="0"{tag[4:]}')


def home(app: Sphinx, error: Exception | None) -> None:
    """The home page under the name that web servers look for."""
    if error is None and app.builder.format == "html":
        shutil.copyfile(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
    app.connect("html-page-context", reachable)
    app.connect("build-finished", home)
    app.add_transform(Pairs)
