"""Together, or alone after an error."""

import asyncio

from anira.serving.turns import Turns


def test_whoever_must_be_alone_waits_for_the_others_and_goes_before_newcomers():
    seen = []

    async def visit(turns, name, how, leave):
        async with getattr(turns, how)():
            seen.append(name)
            await leave.wait()
        seen.append(f"-{name}")

    async def run():
        turns = Turns()
        gates = {name: asyncio.Event() for name in "abcd"}
        tasks = []
        for name, how in (("a", "together"), ("b", "together"), ("c", "alone"), ("d", "together")):
            tasks.append(asyncio.create_task(visit(turns, name, how, gates[name])))
            await asyncio.sleep(0)
        assert (seen, turns.waiting) == (["a", "b"], 2)
        for name in "abcd":
            gates[name].set()
            await asyncio.sleep(0.001)
        await asyncio.gather(*tasks)
        assert turns.waiting == 0

    asyncio.run(run())
    assert seen == ["a", "b", "-a", "-b", "c", "-c", "d", "-d"]


def test_one_that_gives_up_is_not_waited_for():
    async def run():
        turns = Turns()
        async with turns.together():
            impatient = asyncio.create_task(turns.alone().__aenter__())
            await asyncio.sleep(0)
            impatient.cancel()
            await asyncio.gather(impatient, return_exceptions=True)
            async with turns.together():
                assert turns.waiting == 0

    asyncio.run(asyncio.wait_for(run(), 30))
