"""
The Python SDK 2.x client, in one of its modes.

    python_v2_client.py URL legacy|auto|2026-07-28 FEATURE...
"""

import os
import sys
import warnings
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp import Client as SdkClient
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from features import queued, report

# The legacy era is deprecated, and tested here all the same.
warnings.simplefilter("ignore")


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def on_elicit(_context: Any, params: Any) -> types.ElicitResult:
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
    def __init__(self, url: str, mode: str) -> None:
        self.logged: list[str] = []
        self._send_change, self._receive_change = anyio.create_memory_object_stream[str](100)
        self.sdk = SdkClient(
            url,
            mode=mode,
            elicitation_callback=on_elicit,
            sampling_callback=on_sample,
            list_roots_callback=on_roots,
            logging_callback=self._on_log,
            log_level="warning",
            message_handler=self._on_message,
        )

    async def _on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(params.level)

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await self._send_change.send(f"updated {message.params.uri}")
        elif isinstance(message, types.ToolListChangedNotification):
            await self._send_change.send("tools")

    async def open(self) -> None:
        self.revision = self.sdk.protocol_version
        self.server_name = self.sdk.server_info.name if self.sdk.server_info else ""
        self._modern = self.revision == "2026-07-28"
        if not self._modern and self.sdk.server_capabilities.logging is not None:
            await self.sdk.set_logging_level("warning")

    async def listed(self, kind: str) -> list[dict[str, Any]]:
        ask = {
            "tools": self.sdk.list_tools,
            "resources": self.sdk.list_resources,
            "resourceTemplates": self.sdk.list_resource_templates,
            "prompts": self.sdk.list_prompts,
        }[kind]
        return plain(await ask())[kind]

    async def call(self, name: str, arguments: dict[str, Any], progress: Any = None) -> dict:
        return plain(await self.sdk.call_tool(name, arguments, progress_callback=progress))

    async def read(self, uri: str) -> dict[str, Any]:
        return plain(await self.sdk.read_resource(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        return plain(await self.sdk.get_prompt(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return (await self.sdk.complete(ref, {"name": argument, "value": value})).completion.values

    async def call_and_cancel(self, name: str, arguments: dict[str, Any]) -> None:
        running = anyio.Event()

        async def on_progress(*_: Any) -> None:
            running.set()

        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, on_progress)
            await running.wait()
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def changes(self, uri: str):
        if not self._modern:
            await self.sdk.subscribe_resource(uri)
            async with queued(self._receive_change) as heard:
                yield heard
            await self.sdk.unsubscribe_resource(uri)
            return
        async with self.sdk.listen(tools_list_changed=True, resource_subscriptions=[uri]) as subscription:

            async def heard() -> str:
                event = await anext(subscription)
                return f"updated {event.uri}" if isinstance(event, ResourceUpdated) else "tools"

            yield heard

    def code_of(self, error: Exception) -> int | None:
        return error.code if isinstance(error, MCPError) else None


async def main() -> None:
    client = Client(sys.argv[1], sys.argv[2])
    async with client.sdk:
        await client.open()
        await report(client)


anyio.run(main)
os._exit(0)
