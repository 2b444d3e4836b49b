"""
A legacy server as people write them with FastMCP, with fixtures of the catalogue under `test/peers`.

    python_v1_server.py [--event-store | --stateless]

Stateless, it answers in JSON: no sessions, no streams, and so nothing but answers.
"""

import json
import sys
from typing import Literal

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.lowlevel import NotificationOptions
from mcp.server.session import ServerSession
from mcp.types import (
    CallToolResult,
    Completion,
    SamplingMessage,
    TextContent,
)
from pydantic import AnyUrl, BaseModel

from event_store import MemoryEventStore
from serving import serve, tell

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
WATCHED = "test://watched-resource"

server = FastMCP(
    "python-v1",
    instructions="A Python 1.x peer.",
    log_level="CRITICAL",
    event_store=MemoryEventStore() if "--event-store" in sys.argv else None,
    stateless_http="--stateless" in sys.argv,
    json_response="--stateless" in sys.argv,
)
subscribers: dict[str, set[ServerSession]] = {}
counts: dict[ServerSession, int] = {}


class Form(BaseModel):
    name: str


class Squared(BaseModel):
    n: int
    squared: int


def say(text: str) -> SamplingMessage:
    return SamplingMessage(role="user", content=TextContent(type="text", text=text))


@server.tool()
async def probe_steps(count: int, pauseMs: int, ctx: Context) -> str:
    """Logs count steps, pauseMs apart"""
    tell("run probe_steps")
    for step in range(1, count + 1):
        await ctx.info(f"step {step}")
        await anyio.sleep(pauseMs / 1000)
    return f"{count} steps done"


@server.tool(structured_output=False)
def probe_echo(value: dict | list | str | int | None = None) -> str:
    """Returns its arguments as text"""
    return json.dumps({"value": value}, ensure_ascii=False)


@server.tool()
def probe_structured(n: int) -> Squared:
    """structuredContent with an outputSchema"""
    return Squared(n=n, squared=n * n)


@server.tool()
def test_error_handling() -> CallToolResult:
    """Fails"""
    raise ValueError("This tool intentionally returns an error for testing")


@server.tool()
async def probe_slow(ctx: Context, ms: int, tickMs: int | None = None, label: str = "") -> str:
    """Runs for ms, with progress every tickMs; stops when cancelled"""
    tick_ms = tickMs or ms
    ticks = max(1, ms // tick_ms)
    try:
        for tick in range(1, ticks + 1):
            await ctx.report_progress(tick, ticks, f"tick {tick}")
            await anyio.sleep(tick_ms / 1000)
    except anyio.get_cancelled_exc_class():
        tell("aborted probe_slow")
        raise
    return f"done {label} after {ticks} ticks"


@server.tool()
async def probe_log(ctx: Context, label: str = "") -> str:
    """Logs one line at each of the eight levels"""
    for level in LEVELS:
        data = {"probe": "probe_log", "level": level, "label": label}
        await ctx.session.send_log_message(level, data, related_request_id=ctx.request_id)
    return "logged 8 levels"


@server.tool()
async def probe_elicit_form(ctx: Context, label: str = "") -> str:
    """Form elicitation"""
    answer = await ctx.elicit(f"Probe form {label}", Form)
    content = {"content": answer.data.model_dump()} if answer.action == "accept" else {}
    return json.dumps({"action": answer.action, **content})


@server.tool()
async def probe_elicit_url(ctx: Context, label: str = "") -> str:
    """URL elicitation"""
    identifier = f"elicitation-{ctx.request_id}"
    answer = await ctx.elicit_url(f"Probe url {label}", f"https://example.com/authorize?x={label}", identifier)
    await ctx.session.send_elicit_complete(identifier, related_request_id=ctx.request_id)
    return json.dumps({"action": answer.action})


@server.tool()
async def probe_sample(prompt: str, ctx: Context) -> str:
    """Sampling, as the SDK's examples do it: without naming the call, so it is asked on the standalone stream"""
    answer = await ctx.session.create_message([say(prompt)], max_tokens=100)
    return answer.model_dump_json(by_alias=True, exclude_none=True)


@server.tool()
async def probe_roots(ctx: Context) -> str:
    """Lists the roots of the client: on the standalone stream, the SDK has no other way"""
    answer = await ctx.session.list_roots()
    return json.dumps([root.model_dump(mode="json", exclude_none=True) for root in answer.roots])


@server.tool()
async def probe_two_rounds(ctx: Context, label: str = "") -> str:
    """Form elicitation, then sampling that quotes its answer"""
    first = await ctx.elicit(f"Round 1 {label}", Form)
    name = first.data.name if first.action == "accept" else first.action
    second = await ctx.session.create_message(
        [say(f"Round 2 for {name}")], max_tokens=100, related_request_id=ctx.request_id
    )
    return f"{name} / {second.content.text}"


@server.tool()
def probe_counter(ctx: Context) -> str:
    """Counts the calls in this session"""
    counts[ctx.session] = counts.get(ctx.session, 0) + 1
    return str(counts[ctx.session])


@server.tool()
async def probe_trigger_change(
    ctx: Context, kind: Literal["tools", "prompts", "resources", "updated"] = "tools", uri: str = WATCHED
) -> str:
    """Announces a change, of lists to the caller's session only: FastMCP knows no other"""
    if kind == "updated":
        for session in subscribers.get(uri, set()):
            await session.send_resource_updated(AnyUrl(uri))
    elif kind == "tools":
        await ctx.session.send_tool_list_changed()
    elif kind == "prompts":
        await ctx.session.send_prompt_list_changed()
    else:
        await ctx.session.send_resource_list_changed()
    return f"announced {kind}"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource(WATCHED, mime_type="text/plain")
def watched_resource() -> str:
    return "Watched resource content"


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    return json.dumps({"id": id})


@server.prompt()
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion()
async def complete(ref, argument, context) -> Completion:
    values = [word for word in ("paris", "park", "party") if word.startswith(argument.value)]
    return Completion(values=values, total=len(values), hasMore=False)


# What FastMCP leaves to the server below it: subscriptions, and saying that lists may change.
lowlevel = server._mcp_server


@lowlevel.subscribe_resource()
async def on_subscribe(uri: AnyUrl) -> None:
    subscribers.setdefault(str(uri), set()).add(lowlevel.request_context.session)


@lowlevel.unsubscribe_resource()
async def on_unsubscribe(uri: AnyUrl) -> None:
    subscribers.get(str(uri), set()).discard(lowlevel.request_context.session)


initialization_options = lowlevel.create_initialization_options


def with_changes(*_args):
    options = initialization_options(
        NotificationOptions(tools_changed=True, prompts_changed=True, resources_changed=True)
    )
    options.capabilities.resources.subscribe = True
    return options


lowlevel.create_initialization_options = with_changes

serve(server.streamable_http_app())
