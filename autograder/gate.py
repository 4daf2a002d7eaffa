"""Keeps tracers and timing apart: no learner code is alive on a machine while it times."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Any number trace at once, or one times. Who wants to time goes before new tracers."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._tracers = 0
        self._waiting = 0
        self._timing = False

    @asynccontextmanager
    async def tracing(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._timing and not self._waiting)
            self._tracers += 1
        try:
            yield
        finally:
            async with self._changed:
                self._tracers -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def timing(self) -> AsyncIterator[None]:
        async with self._changed:
            self._waiting += 1
            try:
                await self._changed.wait_for(lambda: not self._timing and not self._tracers)
                self._timing = True
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            async with self._changed:
                self._timing = False
                self._changed.notify_all()
