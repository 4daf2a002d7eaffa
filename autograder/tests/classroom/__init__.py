"""Tests of autograder/classroom/. They need the extra `class`."""

import pytest

pytest.importorskip("nbgrader", reason="a class is tested only where the extra `class` is installed")
