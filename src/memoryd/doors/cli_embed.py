"""`memoryd embed`: which model makes the vectors."""

from pathlib import Path
from typing import Any

import click

from memoryd import daemon
from memoryd import embed as models
from memoryd.core import db, errors
from memoryd.core.config import Settings
from memoryd.doors.cli import (
    end_progress,
    json_option,
    main,
    own_settings,
    progress_bar,
    run,
    say,
    show,
)
from memoryd.search import encoders


@main.group()
def embed() -> None:
    """See or change the model that makes the vectors.

    \b
    Example: memoryd embed status
    """


@embed.command("switch")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def switch_model(folder: Path, as_json: bool) -> None:
    """Encode everything with the model in FOLDER, then use it.

    FOLDER holds model.onnx, vocab.txt and manifest.json, as tools/export_model.py writes them; it
    must stay where it is. Searches go on meanwhile; stopped, the command resumes where it was.

    \b
    Example: memoryd embed switch /srv/models/my-minilm
    """
    encoder = models.Encoder(folder.resolve())
    try:
        encoder.load()
    except models.Unusable as error:
        raise errors.Invalid(str(error)) from error
    run(_switch(own_settings(), encoder))
    shown = {"model": encoder.name, "folder": str(encoder.folder)}
    show(shown, as_json, lambda: f"{encoder.name} is in use; running daemons follow in seconds")


async def _switch(chosen: Settings, encoder: models.Encoder) -> None:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        await encoders.switch(target, encoder, progress_bar("chunks"))
        end_progress()


@embed.command("status")
@json_option
def model_status(as_json: bool) -> None:
    """Say which model is in use.

    \b
    Example: memoryd embed status
    """
    found = run(_current(own_settings()))
    trouble = f"\n({found['trouble']})" if found["trouble"] else ""
    show(found, as_json, lambda: f"{found['model']}  ({found['folder']}){trouble}")


async def _current(chosen: Settings) -> dict[str, Any]:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        conn = await db.connect(target, db.APP)
        used = encoders.Encoders()
        try:
            await used.look(conn)
        finally:
            await conn.close()
        shown = {"model": used.current.name, "folder": str(used.current.folder)}
        return {**shown, "trouble": used.trouble}
