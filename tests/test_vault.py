"""The cipher alone: what is sealed opens where it belongs, and nowhere else."""

import itertools
import os
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag

from memoryd.core import errors
from memoryd.seal import master, vault
from memoryd.seal.vault import CLOSED, Keys, Vault

MASTER, OTHER = b"m" * 32, b"o" * 32
WORDS = "the rocket starts on Tuesday; 火曜日"


def row(
    key_id: str, since: int, tenant: str = "t", secret: bytes | None = None
) -> dict[str, object]:
    secret = secret or key_id.encode()[:1] * 32
    wrapped = vault.wrap(MASTER, tenant, key_id, secret, b"n" * 12)
    return {"key_id": key_id, "since": since, "wrapped": wrapped}


def opened(*masters: bytes) -> tuple[Vault, Keys]:
    own = Vault(lambda: list(masters))
    return own, own.take("t", [row("a" * 16, 1), row("b" * 16, 5)])


def test_what_is_sealed_opens_as_it_was() -> None:
    own, keys = opened(MASTER)
    sealed = keys.seal(3, "evt_1", WORDS)

    assert "rocket" not in sealed and sealed.startswith(vault.OPENING)
    assert own.text(sealed, "evt_1") == WORDS
    assert own.bytes_of(keys.seal_bytes(3, "x.0", b"\x78raw"), "x.0") == b"\x78raw"


@pytest.mark.parametrize("text", ["", "x", "⟦sealed:", WORDS * 10_000, "\ud7ff\uffff"])
def test_any_text_comes_back(text: str) -> None:
    own, keys = opened(MASTER)

    assert own.text(keys.seal(1, "evt_1", text), "evt_1") == text


def test_sealing_again_writes_the_same_bytes_and_elsewhere_others() -> None:
    _, keys = opened(MASTER)
    places = itertools.product((3, 9), ("evt_1", "evt_2"))
    sealed = [keys.seal(position, bound, WORDS) for position, bound in places]

    assert sealed == [
        keys.seal(position, bound, WORDS)
        for position, bound in itertools.product((4, 5), ("evt_1", "evt_2"))
    ]
    assert len(set(sealed)) == 4


def test_a_copy_in_another_place_opens_nothing() -> None:
    own, keys = opened(MASTER)
    sealed = keys.seal(3, "evt_1", WORDS)
    foreign = own.take("u", [row("c" * 16, 1, "u", b"a" * 32)]).seal(3, "evt_1", WORDS)
    renamed = foreign.replace("c" * 16, "a" * 16)

    assert own.text(sealed, "evt_2") == sealed
    assert own.text(f"{sealed} ", "evt_1") == f"{sealed} "
    assert own.text(renamed, "evt_1") == renamed, "the tenant is part of what it is bound to"


@pytest.mark.parametrize(
    "forged",
    [
        "⟦sealed:aaaaaaaaaaaaaaaa:x⟧",
        "⟦sealed:aaaaaaaaaaaaaaaa:AAAA⟧",
        "⟦sealed:aaaaaaaaaaaaaaaa:" + "A" * 60 + "⟧",
        "⟦sealed:ffffffffffffffff:AAAA⟧",
        "⟦sealed:nonsense⟧",
        "⟦sealed:",
    ],
)
def test_what_only_looks_sealed_stays_as_it_was_written(forged: str) -> None:
    assert opened(MASTER)[0].text(forged, "evt_1") == forged


def test_the_newest_key_that_has_begun_seals_and_all_open() -> None:
    own, keys = opened(MASTER)
    sealed = [keys.seal(position, "evt_1", WORDS) for position in (4, 5)]

    assert [text[8:9] for text in sealed] == ["a", "b"]
    assert [own.text(text, "evt_1") for text in sealed] == [WORDS, WORDS]


@pytest.mark.parametrize("masters", [(), (OTHER,)])
def test_without_the_master_key_all_is_closed(masters: tuple[bytes, ...]) -> None:
    sealed = opened(MASTER)[1].seal(3, "evt_1", WORDS)
    own, keys = opened(*masters)

    assert keys.closed and keys.hide is None
    assert own.text(sealed, "evt_1") == CLOSED
    with pytest.raises(AssertionError, match="closed key"):
        keys.seal(3, "evt_1", WORDS)


def test_terms_are_hidden_alike_whatever_key_seals() -> None:
    before = Vault(lambda: [MASTER]).take("t", [row("a" * 16, 1)]).hide
    after = opened(MASTER)[1].hide
    other = Vault(lambda: [MASTER]).take("u", [row("b" * 16, 1, "u")]).hide
    assert before and after and other

    assert before("rocket") == after("rocket") != other("rocket")
    assert "rocket" not in before("rocket") and before("rocket") != before("rockets")


def test_addresses_of_sealed_bytes_tell_nothing_of_the_same_in_clear() -> None:
    _, keys = opened(MASTER)
    digest = b"d" * 32

    assert keys.digest(1, digest) == keys.digest(2, digest) != digest
    assert keys.digest(1, digest) != keys.digest(9, digest)


def test_a_wrapped_key_belongs_to_its_tenant() -> None:
    wrapped = vault.wrap(MASTER, "t", "a" * 16, b"s" * 32, b"n" * 12)

    assert vault.unwrap(MASTER, "t", "a" * 16, wrapped) == b"s" * 32
    for stolen in [(MASTER, "u", "a" * 16), (MASTER, "t", "b" * 16), (OTHER, "t", "a" * 16)]:
        with pytest.raises(InvalidTag):
            vault.unwrap(*stolen, wrapped)


def silent(_: str) -> None:
    pass


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, "YWJj", "é" * 64])
def test_a_master_key_of_another_length_is_refused(text: str) -> None:
    with pytest.raises(errors.Invalid, match="32 bytes"):
        master.parse(text, "MEMORYD_MASTER_KEY")


def test_a_master_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first = master.vault("", tmp_path / "home", os.urandom, silent)
    second = master.vault("", tmp_path / "home", os.urandom, silent)
    assert first.masters() == [] and first.make and second.make
    made = [first.make(), second.make()]

    assert made[0] == made[1] and first.masters() == second.masters() == made[:1]
    assert (tmp_path / "home" / master.FILE).stat().st_mode & 0o777 == 0o600
    assert [file.name for file in (tmp_path / "home").iterdir()] == [master.FILE]


def test_a_change_of_master_keys_that_broke_off_is_settled_by_the_database(tmp_path: Path) -> None:
    own = master.vault("", tmp_path, os.urandom, silent)
    assert own.make
    old = own.make()
    master.write_next(tmp_path, OTHER)
    both = own.masters()
    master.settle(tmp_path, vault.check(old))
    undone = own.masters()
    master.write_next(tmp_path, OTHER)
    master.settle(tmp_path, vault.check(OTHER))

    assert both == [old, OTHER] and undone == [old]
    assert own.masters() == [OTHER]
