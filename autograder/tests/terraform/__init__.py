"""Tests of terraform/. They need the extra `infra` and no network."""

import pytest

for module in ("hcl2", "yaml"):
    pytest.importorskip(module, reason="terraform/ is tested only where the extra `infra` is installed")
