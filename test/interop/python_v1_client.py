"""
The Python SDK 1.x client.

    python_v1_client.py URL legacy FEATURE...
"""

import os
import sys
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import ClientSession, McpError, types
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

from features import queued, report


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def on_elicit(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    if "decline" in params.message:
        return types.ElicitResult(action="decline")
    if params.mode == "url":
        return types.ElicitResult(action="accept")
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def on_sample(_context: Any, _params: Any) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="hi")
    return types.CreateMessageResult(role="assistant", model="test-model", content=content)


async def on_roots(_context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///root", name="Root")])


class Client:
    def __init__(self) -> None:
        self.logged: list[str] = []
        self._send_change, self._receive_change = anyio.create_memory_object_stream[str](100)

    async def on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(params.level)

    async def on_message(self, message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            if isinstance(message.root, types.ResourceUpdatedNotification):
                await self._send_change.send(f"updated {message.root.params.uri}")
            elif isinstance(message.root, types.ToolListChangedNotification):
                await self._send_change.send("tools")

    async def open(self, session: ClientSession) -> None:
        self._session = session
        result = await session.initialize()
        self.revision = str(result.protocolVersion)
        self.server_name = result.serverInfo.name
        if result.capabilities.logging is not None:
            await session.set_logging_level("warning")

    async def listed(self, kind: str) -> list[dict[str, Any]]:
        ask = {
            "tools": self._session.list_tools,
            "resources": self._session.list_resources,
            "resourceTemplates": self._session.list_resource_templates,
            "prompts": self._session.list_prompts,
        }[kind]
        return plain(await ask())[kind]

    async def call(self, name: str, arguments: dict[str, Any], progress: Any = None) -> dict:
        return plain(await self._session.call_tool(name, arguments, progress_callback=progress))

    async def read(self, uri: str) -> dict[str, Any]:
        return plain(await self._session.read_resource(AnyUrl(uri)))

    async def prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        return plain(await self._session.get_prompt(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return (await self._session.complete(ref, {"name": argument, "value": value})).completion.values

    async def call_and_cancel(self, name: str, arguments: dict[str, Any]) -> None:
        running = anyio.Event()

        async def on_progress(*_: Any) -> None:
            running.set()

        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, on_progress)
            await running.wait()
            # The SDK says nothing to the server when a call is cancelled, and keeps the id to itself.
            params = types.CancelledNotificationParams(requestId=self._session._request_id - 1, reason="enough")
            notification = types.CancelledNotification(params=params)
            await self._session.send_notification(types.ClientNotification(notification))
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def changes(self, uri: str):
        await self._session.subscribe_resource(AnyUrl(uri))
        async with queued(self._receive_change) as heard:
            yield heard
        await self._session.unsubscribe_resource(AnyUrl(uri))

    def code_of(self, error: Exception) -> int | None:
        return error.error.code if isinstance(error, McpError) else None


async def main() -> None:
    client = Client()
    async with streamablehttp_client(sys.argv[1]) as (read, write, _):
        async with ClientSession(
            read,
            write,
            logging_callback=client.on_log,
            message_handler=client.on_message,
            elicitation_callback=on_elicit,
            sampling_callback=on_sample,
            list_roots_callback=on_roots,
        ) as session:
            await client.open(session)
            await report(client)


anyio.run(main)
os._exit(0)
