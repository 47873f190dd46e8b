"""Pages for a person: the start page and the API document, all from this package, offline."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

_HERE = Path(__file__).parent
_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; style-src 'self' "
    "'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}


def add(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def start() -> FileResponse:
        return FileResponse(_HERE / "index.html", headers=_HEADERS)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(_HERE / "docs.html", headers=_HEADERS)

    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
