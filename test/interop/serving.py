"""How the Python servers are served and what they tell the test that started them."""

import uvicorn
from starlette.applications import Starlette


def tell(line: str) -> None:
    """A line for the test, on stdout."""
    print(line, flush=True)


class AnnouncingServer(uvicorn.Server):
    """Says on which port it listens once it does."""

    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        tell(f"listening {self.servers[0].sockets[0].getsockname()[1]}")


def serve(app: Starlette) -> None:
    """Serves on a free loopback port until killed."""
    AnnouncingServer(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")).run()
