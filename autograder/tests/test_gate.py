"""No tracer is alive while something is timed, and who wants to time does not wait for ever."""

from __future__ import annotations

import asyncio

from autograder.gate import Gate


def test_timing_excludes_tracers_and_goes_first() -> None:
    log: list[str] = []

    async def trace(gate: Gate, name: str) -> None:
        async with gate.tracing():
            log.append(f"{name} in")
            await asyncio.sleep(0)
            log.append(f"{name} out")

    async def run() -> None:
        gate = Gate()
        entered = asyncio.Event()
        release = asyncio.Event()

        async def first() -> None:
            async with gate.tracing():
                entered.set()
                await release.wait()
                log.append("first out")

        async def clock() -> None:
            async with gate.timing():
                log.append("timing in")
                await asyncio.sleep(0.01)
                log.append("timing out")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(first())
            await entered.wait()
            tasks.create_task(clock())
            await asyncio.sleep(0.01)
            tasks.create_task(trace(gate, "late"))
            await asyncio.sleep(0.01)
            release.set()

    asyncio.run(run())
    assert log == ["first out", "timing in", "timing out", "late in", "late out"]
