"""A legacy server without any event store: a tool that logs each of its steps."""

import sys

import anyio
from mcp.server.fastmcp import Context, FastMCP

port = int(sys.argv[1])
server = FastMCP("steps", host="127.0.0.1", port=port, log_level="ERROR")


@server.tool()
async def steps(count: int, pause_ms: int, ctx: Context) -> str:
    """Logs count steps, pause_ms apart."""
    for step in range(1, count + 1):
        await ctx.info(f"step {step}")
        await anyio.sleep(pause_ms / 1000)
    return f"{count} steps done"


server.run(transport="streamable-http")
