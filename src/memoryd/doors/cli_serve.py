"""`memoryd serve` and `memoryd status`."""

import asyncio
import os
import signal
import socket
from typing import Any

import click

from memoryd import daemon
from memoryd.core import errors
from memoryd.core.config import Settings
from memoryd.doors import logs, reach, serving, tuning
from memoryd.doors.cli import json_option, main, run, say, settings, show

GRACE_SECONDS = 3  # for requests under way; the stop of what it started takes some two more
MOST = 65_535  # of a port


@main.command()
@click.option("--host", help="Address to listen on (MEMORYD_HOST; default 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, MOST), help="Port (MEMORYD_PORT; default 7377).")
@click.option(
    "--log-level", default="info", type=click.Choice(["debug", "info", "warning", "error"])
)
@click.option(
    "--background/--no-background",
    default=True,
    help="Index and embed in this process, or leave that to another daemon of the same home.",
)
def serve(host: str | None, port: int | None, log_level: str, background: bool) -> None:
    """Start the daemon and its PostgreSQL.

    \b
    Example: memoryd serve --port 8000
    """
    logs.start(log_level)
    tuning.share_memory()
    run(_serve(settings(host=host, port=port), background, log_level))


async def _serve(chosen: Settings, background: bool, log_level: str) -> None:
    import uvicorn  # noqa: PLC0415  # only this command needs it

    from memoryd.doors import app, sharing  # noqa: PLC0415

    with _listen(chosen) as listening:
        async with (
            daemon.running(chosen, say, work=background) as running,
            sharing.shared(app.build(running), chosen, log_level) as answering,
        ):
            await daemon.check_open_address(running)
            server = uvicorn.Server(
                uvicorn.Config(
                    answering,
                    loop="none",
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    timeout_keep_alive=serving.KEEP_ALIVE_SECONDS,
                    timeout_graceful_shutdown=GRACE_SECONDS,
                )
            )
            # uvicorn takes these over, and raises them again when it has stopped: the clean-up
            # that follows must not be cut short then.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            tuning.collect_seldom()
            announce = asyncio.create_task(_announce(server, listening))
            with serving.announced(chosen, serving.address(*listening.getsockname()[:2])):
                await server.serve(sockets=[listening])
            announce.cancel()


def _listen(chosen: Settings) -> socket.socket:
    """Bind before anything else starts, so that a taken port is said at once.

    An open address takes no connection before its keys were checked: the server listens then.
    """
    if chosen.port > MOST:
        raise errors.Invalid(
            f"MEMORYD_PORT is {chosen.port}: a port is a number from 0 to {MOST}",
            field="MEMORYD_PORT",
        )
    # The protocol is named, since asyncio sets TCP_NODELAY only where it is: 40 ms an answer.
    listening = socket.socket(_family(chosen.host), socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two daemons share the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((chosen.host, chosen.port))
        if chosen.loopback:
            listening.listen(1024)
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        raise errors.Unavailable(
            f"cannot listen on {chosen.host} port {chosen.port} ({reason}); is another memoryd "
            "running there? Try: memoryd serve --port 0"
        ) from error
    return listening


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


async def _announce(server: Any, listening: socket.socket) -> None:
    while not server.started:  # noqa: ASYNC110  # uvicorn offers a flag, not an event
        await asyncio.sleep(0.01)
    host, port = listening.getsockname()[:2]
    url = serving.address(host, port)
    draft = (
        '{"session_id":"s1","actor":{"type":"human","id":"me"},"kind":"message",'
        '"content":{"text":"We ship on Friday."}}'
    )
    click.echo(f"""memoryd is ready.

  API document   {url}/docs
  console        {url}/
  MCP endpoint   {url}/mcp

Try it:

  curl {url}/api/v1/events -H 'Content-Type: application/json' \\
    -d '{draft}'

Stop it with Ctrl-C.""")


@main.command()
@json_option
def status(as_json: bool) -> None:
    """Say whether a daemon is running and ready.

    \b
    Example: memoryd status --json
    """
    url = serving.url(settings())
    try:
        found = run(_ready(settings(url=url)))
    except errors.MemorydError as error:
        if not as_json:
            raise
        show({"url": url, "status": "unavailable", "detail": error.detail}, True, str)
        raise SystemExit(1) from error
    show(
        {"url": url, **found},
        as_json,
        lambda: "\n".join(
            f"{name:<16}{value}"
            for name, value in {"url": url, **found}.items()
            if value is not None
        ),
    )


async def _ready(chosen: Settings) -> dict[str, Any]:
    async with reach.client(chosen, say) as client:
        return await reach.call(client, "GET", "/readyz")
