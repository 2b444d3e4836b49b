"""
A modern server as people write them with MCPServer, with fixtures of the catalogue under `test/peers`. It speaks
2026-07-28 to whoever does, and older revisions to the rest.

    python_v2_server.py
"""

import json
import warnings
from typing import Annotated, Literal

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, ListRoots, Resolve, Sample
from mcp_types import (
    CallToolResult,
    Completion,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestURLParams,
    InputRequiredResult,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

from serving import serve, tell

# Log messages are deprecated in the revision, and tested here all the same.
warnings.simplefilter("ignore")

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
WATCHED = "test://watched-resource"

server = MCPServer("python-v2", instructions="A Python 2.x peer.", version="1.0.0", log_level="CRITICAL")
count = 0


class Form(BaseModel):
    name: str


class Squared(BaseModel):
    n: int
    squared: int


def say(text: str) -> SamplingMessage:
    return SamplingMessage(role="user", content=TextContent(type="text", text=text))


def text_result(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


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
    content = TextContent(type="text", text="This tool intentionally returns an error for testing")
    return CallToolResult(content=[content], is_error=True)


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
        await ctx.log(level, {"probe": "probe_log", "level": level, "label": label})
    return "logged 8 levels"


def ask_form(label: str = "") -> Elicit[Form]:
    return Elicit(f"Probe form {label}", Form)


@server.tool()
async def probe_elicit_form(
    answer: Annotated[ElicitationResult[Form], Resolve(ask_form)], label: str = ""
) -> str:
    """Form elicitation"""
    content = {"content": answer.data.model_dump()} if answer.action == "accept" else {}
    return json.dumps({"action": answer.action, **content})


@server.tool()
async def probe_elicit_url(ctx: Context, label: str = "") -> CallToolResult | InputRequiredResult:
    """URL elicitation, which the SDK leaves to its users"""
    answer = (ctx.input_responses or {}).get("url")
    if answer is not None:
        return text_result(json.dumps({"action": answer.action}))
    params = ElicitRequestURLParams(message=f"Probe url {label}", url=f"https://example.com/authorize?x={label}")
    return InputRequiredResult(input_requests={"url": ElicitRequest(params=params)}, request_state="asked")


def ask_model(prompt: str) -> Sample:
    return Sample([say(prompt)], max_tokens=100)


@server.tool()
async def probe_sample(prompt: str, answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Sampling"""
    return answer.model_dump_json(by_alias=True, exclude_none=True)


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def probe_roots(answer: Annotated[ListRootsResult, Resolve(ask_roots)]) -> str:
    """Lists the roots of the client"""
    return json.dumps([root.model_dump(mode="json", exclude_none=True) for root in answer.roots])


def ask_name(label: str = "") -> Elicit[Form]:
    return Elicit(f"Round 1 {label}", Form)


def quote_name(first: Annotated[Form, Resolve(ask_name)]) -> Sample:
    return Sample([say(f"Round 2 for {first.name}")], max_tokens=100)


@server.tool()
async def probe_two_rounds(
    first: Annotated[Form, Resolve(ask_name)],
    second: Annotated[CreateMessageResult, Resolve(quote_name)],
    label: str = "",
) -> str:
    """Form elicitation, then sampling that quotes its answer"""
    return f"{first.name} / {second.content.text}"


@server.tool()
def probe_counter() -> str:
    """Counts the calls"""
    global count
    count += 1
    return str(count)


@server.tool()
async def probe_trigger_change(
    ctx: Context, kind: Literal["tools", "prompts", "resources", "updated"] = "tools", uri: str = WATCHED
) -> str:
    """Announces a change"""
    if kind == "updated":
        await ctx.notify_resource_updated(uri)
    elif kind == "tools":
        await ctx.notify_tools_changed()
    elif kind == "prompts":
        await ctx.notify_prompts_changed()
    else:
        await ctx.notify_resources_changed()
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
    return Completion(values=values, total=len(values), has_more=False)


serve(server.streamable_http_app())
