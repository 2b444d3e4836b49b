"""
A resumable client as the widely used sample has it. It keeps a token file with the session id, the protocol version and
the last event id, dies in mid-task, and comes back without `initialize`.

    resumable_client.py URL TOKEN_FILE LOG_FILE DIE_AFTER

Appends each message it hears to LOG_FILE, and the result. Dies, without a word to anybody, after DIE_AFTER messages; 0
lives to the end.
"""

import json
import os
import sys
from pathlib import Path

import anyio
from mcp import ClientSession, types
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.message import ClientMessageMetadata

url, token_file, log_file, die_after = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
heard = 0
kept: dict[str, str] = json.loads(token_file.read_text()) if token_file.exists() else {}


def note(line: str) -> None:
    with log_file.open("a") as file:
        file.write(line + "\n")


def keep() -> None:
    token_file.write_text(json.dumps(kept))


async def on_log(params: types.LoggingMessageNotificationParams) -> None:
    note(str(params.data))


async def on_token(token: str) -> None:
    """Called behind each event, once its message has been handed over."""
    global heard
    kept["event"] = token
    # Whatever was handed over is written down before its token is.
    await anyio.sleep(0.005)
    keep()
    heard += 1
    if die_after and heard > die_after:
        os._exit(9)


async def main() -> None:
    resuming = "event" in kept
    headers = {"mcp-session-id": kept["session"], "mcp-protocol-version": kept["version"]} if resuming else {}
    async with streamablehttp_client(url, headers=headers, terminate_on_close=False) as (read, write, session_id):
        async with ClientSession(read, write, logging_callback=on_log) as session:
            if not resuming:
                result = await session.initialize()
                kept["session"] = session_id() or ""
                kept["version"] = str(result.protocolVersion)
                # FastMCP logs without being asked, and has no such method.
                if result.capabilities.logging is not None:
                    await session.set_logging_level("info")
            call = types.CallToolRequest(
                params=types.CallToolRequestParams(name="probe_steps", arguments={"count": 50, "pauseMs": 40}),
            )
            metadata = ClientMessageMetadata(
                resumption_token=kept["event"] if resuming else None,
                on_resumption_token_update=on_token,
            )
            answer = await session.send_request(
                types.ClientRequest(call), types.CallToolResult, metadata=metadata
            )
            note("result: " + answer.content[0].text)


anyio.run(main)
os._exit(0)
