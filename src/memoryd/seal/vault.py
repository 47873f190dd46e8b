"""Seal and open what is `high`: AES-256-GCM under keys of its tenant, wrapped by the master key.

Sealing is deterministic, so that a replay writes the same bytes. What is sealed is bound to its
tenant and to what it is part of: a copy of it in another place opens nothing.
"""

import base64
import binascii
import functools
import hmac
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES, NONCE_BYTES, ID_BYTES = 32, 12, 8
LEVEL = "high"  # the sensitivity that is sealed
CLOSED = "[sealed: the master key is not here]"
OPENING = "⟦sealed:"
NAME = "sealed"  # of the one string that stands for an event's whole content
HIDDEN = "\x02"  # begins a term or tag that is a keyed hash; no name that a client sends has it
_HEAD = re.compile(r"⟦sealed:([0-9a-f]{16}):")
_CLOSING = "⟧"
_BYTES = b"\0"  # begins sealed bytes; compressed ones never begin so


@dataclass(frozen=True)
class DataKey:
    """A key of a tenant, which seals events from the log position `since` on; None is closed."""

    key_id: str
    since: int
    secret: bytes | None


@dataclass(frozen=True)
class Keys:
    """The keys of one tenant, oldest first."""

    tenant_id: str
    listed: tuple[DataKey, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether something sealed here cannot be opened."""
        return any(key.secret is None for key in self.listed)

    def seals(self, sensitivity: str, position: int) -> bool:
        """Whether what is so sensitive is sealed there: what is older than the first key is not."""
        return sensitivity == LEVEL and bool(self.listed) and self.listed[0].since <= position

    def seal(self, position: int, bound: str, text: str) -> str:
        """`text`, part of the thing `bound`, as an event at `position` writes it."""
        key_id, raw = self._seal(position, f"{self.tenant_id}/{bound}", text.encode())
        return f"{OPENING}{key_id}:{base64.urlsafe_b64encode(raw).decode().rstrip('=')}{_CLOSING}"

    def seal_bytes(self, position: int, bound: str, raw: bytes) -> bytes:
        key_id, sealed = self._seal(position, f"{self.tenant_id}/{bound}", raw)
        return _BYTES + bytes.fromhex(key_id) + sealed

    def _seal(self, position: int, bound: str, raw: bytes) -> tuple[str, bytes]:
        key_id, secret = self._at(position)
        aad = bound.encode()
        # Of what it seals, so that two texts never share one, and one text always has the same.
        said = len(aad).to_bytes(4, "big") + aad + raw
        nonce = hmac.digest(_derived(secret, b"nonce"), said, "sha256")[:NONCE_BYTES]
        return key_id, nonce + _cipher(secret).encrypt(nonce, raw, aad)

    def _at(self, position: int) -> tuple[str, bytes]:
        """The newest key that began by `position`: the same for a write and for its replay."""
        key = [key for key in self.listed if key.since <= position][-1]
        assert key.secret is not None, "a closed key was asked to seal"
        return key.key_id, key.secret

    def digest(self, position: int, digest: bytes) -> bytes:
        """The address of sealed bytes: tells nobody which bytes in clear have the same."""
        return hmac.digest(_derived(self._at(position)[1], b"digest"), digest, "sha256")

    @property
    def hide(self) -> Callable[[str], str] | None:
        """How a term of sealed text is kept in the index: under the first key, for ever, since a
        search knows no positions. None where nothing is sealed, or the key is not here.
        """
        if not self.listed or self.listed[0].secret is None:
            return None
        secret = _derived(self.listed[0].secret, b"terms")
        return lambda term: HIDDEN + hmac.digest(secret, term.encode(), "sha256")[:12].hex()

    def hashed(self, value: bytes) -> bytes:
        """What may be compared and not guessed."""
        assert self.listed[0].secret is not None, "a closed key was asked to hash"
        return hmac.digest(_derived(self.listed[0].secret, b"request"), value, "sha256")


@functools.lru_cache(maxsize=1024)
def _derived(secret: bytes, purpose: bytes) -> bytes:
    return hmac.digest(secret, b"memoryd " + purpose, "sha256")


@functools.lru_cache(maxsize=1024)
def _cipher(secret: bytes) -> AESGCM:
    """Kept: making one takes longer than a page of text."""
    return AESGCM(secret)


class Vault:
    """The keys that this process has opened so far.

    `masters` looks where a master key may be; `make` makes one, where there never was any.
    """

    def __init__(
        self,
        masters: Callable[[], list[bytes]] = list,
        make: Callable[[], bytes] | None = None,
        random: Callable[[int], bytes] | None = None,
    ) -> None:
        self.masters, self.make, self.random = masters, make, random
        self._secrets: dict[str, tuple[str, bytes | None]] = {}  # and whose it is

    @property
    def holds(self) -> bool:
        """Whether any key is open here: it then stays so, whatever becomes of the master key."""
        return any(secret is not None for _, secret in self._secrets.values())

    def take(self, tenant_id: str, rows: Iterable[Any]) -> Keys:
        """The keys of a tenant from their rows, oldest first, as far as they can be opened."""
        listed = []
        for row in rows:
            key_id = row["key_id"]
            known = self._secrets.get(key_id)
            secret = known[1] if known else None
            secret = secret or self._unwrapped(tenant_id, key_id, row["wrapped"])
            self._secrets[key_id] = (tenant_id, secret)
            listed.append(DataKey(key_id, row["since"], secret))
        return Keys(tenant_id, tuple(listed))

    def _unwrapped(self, tenant_id: str, key_id: str, wrapped: bytes) -> bytes | None:
        for master in self.masters():
            try:
                return unwrap(master, tenant_id, key_id, wrapped)
            except InvalidTag:  # another one's: the next may be it
                continue
        return None

    def unknown(self, texts: Iterable[str]) -> bool:
        """Whether `texts` name a key that is not open here."""
        return any(
            self._secrets.get(key_id, ("", None))[1] is None
            for text in texts
            for key_id in _HEAD.findall(text)
        )

    def text(self, text: str, bound: str) -> str:
        """`text` opened, if it was sealed as part of `bound`; otherwise it is as somebody wrote it,
        whatever it looks like.
        """
        found = _HEAD.match(text)
        if found is None or not text.endswith(_CLOSING) or found[1] not in self._secrets:
            return text
        tenant_id, secret = self._secrets[found[1]]
        if secret is None:
            return CLOSED
        try:
            said = text[found.end() : -len(_CLOSING)]
            raw = base64.urlsafe_b64decode(said + "=" * (-len(said) % 4))
            return _opened(secret, f"{tenant_id}/{bound}", raw).decode()
        except (InvalidTag, binascii.Error, ValueError):
            return text

    def bytes_of(self, raw: bytes, bound: str) -> bytes | None:
        """`raw` opened, or as it is where it is not sealed; None where its key is not here."""
        if not raw.startswith(_BYTES):
            return raw
        end = 1 + ID_BYTES
        tenant_id, secret = self._secrets.get(raw[1:end].hex(), ("", None))
        return None if secret is None else _opened(secret, f"{tenant_id}/{bound}", raw[end:])


def _opened(secret: bytes, bound: str, raw: bytes) -> bytes:
    return _cipher(secret).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], bound.encode())


def wrap(master: bytes, tenant_id: str, key_id: str, secret: bytes, nonce: bytes) -> bytes:
    """A key as the database keeps it; `nonce` is random."""
    return nonce + AESGCM(master).encrypt(nonce, secret, f"{tenant_id}/{key_id}".encode())


def unwrap(master: bytes, tenant_id: str, key_id: str, wrapped: bytes) -> bytes:
    return _opened(master, f"{tenant_id}/{key_id}", wrapped)


def check(master: bytes) -> bytes:
    """What the database keeps of the master key: enough to tell another one."""
    return hmac.digest(master, b"memoryd master key", "sha256")[:16]


def matching(masters: Sequence[bytes], stored: bytes) -> bytes | None:
    return next((one for one in masters if hmac.compare_digest(check(one), stored)), None)
