"""
What a Python client tries, whichever SDK it is written with. Each feature returns what the client saw, in plain JSON;
whether that is right is judged by the test that started the client.
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio

WATCHED = "test://watched-resource"
PATIENCE_S = 10


class Face(Protocol):
    """One face for the clients of both SDKs: results are JSON as on the wire."""

    revision: str
    server_name: str
    logged: list[str]

    async def listed(self, kind: str) -> list[dict[str, Any]]: ...
    async def call(self, name: str, arguments: dict[str, Any], progress: Callable | None = None) -> dict: ...
    async def read(self, uri: str) -> dict[str, Any]: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]: ...
    async def complete(self, prompt: str, argument: str, value: str) -> list[str]: ...
    async def call_and_cancel(self, name: str, arguments: dict[str, Any]) -> None: ...
    def changes(self, uri: str) -> Any: ...
    def code_of(self, error: Exception) -> int | None: ...


def text_of(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


async def code(client: Face, awaitable: Awaitable[Any]) -> int | None:
    try:
        await awaitable
    except Exception as error:
        return client.code_of(error)
    return None


async def introduction(client: Face) -> Any:
    return [client.revision, client.server_name]


async def tools(client: Face) -> Any:
    return [tool["name"] for tool in await client.listed("tools")]


async def call(client: Face) -> Any:
    return json.loads(text_of(await client.call("probe_echo", {"value": {"a": [1, "zwei", None], "ключ": "日本 😀"}})))


async def structured(client: Face) -> Any:
    return (await client.call("probe_structured", {"n": 7}))["structuredContent"]


async def tool_error(client: Face) -> Any:
    return (await client.call("test_error_handling", {})).get("isError")


async def progress(client: Face) -> Any:
    seen: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append([progress, total, message])

    result = await client.call("probe_slow", {"ms": 60, "tickMs": 20, "label": "p"}, on_progress)
    return [seen, text_of(result)]


async def log(client: Face) -> Any:
    await client.call("probe_log", {"label": "l"})
    with anyio.fail_after(PATIENCE_S):
        while "emergency" not in client.logged:
            await anyio.sleep(0.01)
    return client.logged


async def resources(client: Face) -> Any:
    listed = [resource["uri"] for resource in await client.listed("resources")]
    templates = [template["uriTemplate"] for template in await client.listed("resourceTemplates")]
    read = (await client.read("test://static-text"))["contents"][0]["text"]
    made = json.loads((await client.read("test://template/42/data"))["contents"][0]["text"])["id"]
    return {"listed": listed, "templates": templates, "read": read, "made": made}


async def missing_resource(client: Face) -> Any:
    return await code(client, client.read("test://nothing-here"))


async def prompts(client: Face) -> Any:
    listed = [prompt["name"] for prompt in await client.listed("prompts")]
    got = await client.prompt("test_prompt_with_arguments", {"arg1": "eins", "arg2": "zwei"})
    return {"listed": listed, "text": got["messages"][0]["content"]["text"]}


async def completion(client: Face) -> Any:
    return await client.complete("test_prompt_with_arguments", "arg1", "par")


async def elicitation(client: Face) -> Any:
    labels = ["yes", "decline"]
    return [json.loads(text_of(await client.call("probe_elicit_form", {"label": label}))) for label in labels]


async def url_elicitation(client: Face) -> Any:
    return json.loads(text_of(await client.call("probe_elicit_url", {"label": "u"})))["action"]


async def sampling(client: Face) -> Any:
    return json.loads(text_of(await client.call("probe_sample", {"prompt": "say"})))["content"]["text"]


async def roots(client: Face) -> Any:
    return json.loads(text_of(await client.call("probe_roots", {})))


async def rounds(client: Face) -> Any:
    return text_of(await client.call("probe_two_rounds", {"label": "r"}))


async def at_once(client: Face) -> Any:
    seen: dict[int, Any] = {}

    async def one(value: int) -> None:
        seen[value] = json.loads(text_of(await client.call("probe_echo", {"value": value})))["value"]

    async with anyio.create_task_group() as group:
        for value in range(10):
            group.start_soon(one, value)
    return [seen[value] for value in range(10)]


async def changes(client: Face) -> Any:
    async with client.changes(WATCHED) as heard:
        await client.call("probe_trigger_change", {"kind": "updated", "uri": WATCHED})
        await client.call("probe_trigger_change", {"kind": "tools"})
        return sorted([await heard(), await heard()])


async def cancelled(client: Face) -> Any:
    await client.call_and_cancel("probe_slow", {"ms": 30_000, "tickMs": 50})
    # And the client goes on working.
    return json.loads(text_of(await client.call("probe_echo", {"value": "after"})))["value"]


FEATURES = [
    introduction, tools, call, structured, tool_error, progress, log, resources, missing_resource, prompts,
    completion, elicitation, url_elicitation, sampling, roots, rounds, at_once, changes, cancelled,
]  # fmt: skip


async def report(client: Face) -> None:
    """Prints one line of JSON for each feature asked for: what was seen, or the error."""
    for feature in FEATURES:
        if feature.__name__ not in sys.argv[3:]:
            continue
        line: dict[str, Any] = {"feature": feature.__name__}
        try:
            with anyio.fail_after(PATIENCE_S):
                line["seen"] = await feature(client)
        except Exception as error:
            line["error"] = repr(error)
        print(json.dumps(line), flush=True)


@asynccontextmanager
async def queued(receive: Any) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """The next of what a memory stream receives, or a failure."""

    async def heard() -> str:
        with anyio.fail_after(PATIENCE_S / 2):
            return await receive.receive()

    yield heard
