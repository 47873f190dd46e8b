"""The questions in receipts: asked by those who see what is `high`, they may quote it.

Only the words are sealed; which rows a bundle was made of stays readable to the database.
"""

from collections.abc import Mapping
from typing import Any

from memoryd.core import db, privacy
from memoryd.core.model import Reader
from memoryd.seal import keys
from memoryd.seal.connection import vault_of
from memoryd.seal.vault import LEVEL

NOW = 2**62  # beyond any position: the newest key
Kept = tuple[dict[str, Any], Mapping[str, Any]]  # inputs, and what the receipt records


async def sealed(
    conn: db.Conn, reader: Reader, acb_id: str, inputs: dict[str, Any], record: Mapping[str, Any]
) -> Kept:
    """As they are kept; in a tenant without keys, as they are."""
    found = await keys.load(conn, reader.tenant_id)
    usable = found.listed and not found.closed
    if not usable or LEVEL not in privacy.sight(reader).sensitivities:
        return inputs, record  # whoever asks sees nothing sealed, and so quotes nothing of it
    return _changed(inputs, record, lambda words: found.seal(NOW, acb_id, words))


def opened(conn: db.Conn, acb_id: str, inputs: dict[str, Any], record: Mapping[str, Any]) -> Kept:
    return _changed(inputs, record, lambda words: vault_of(conn).text(words, acb_id))


def _changed(inputs: dict[str, Any], record: Mapping[str, Any], change: Any) -> Kept:
    asked, shown = inputs["asked"], record["provenance"]
    if not asked.get("query_text"):
        return inputs, record
    words = {"query_text": change(asked["query_text"])}
    terms = {"query_terms": [change(term) for term in shown["query_terms"]]}
    return {**inputs, "asked": asked | words}, {**record, "provenance": {**shown, **terms}}
