"""Archives and pictures whose text was overwritten: their checksums are made to fit again.

A secret in a member that is stored as it is must not pass, and the archive must still open. What is
compressed or a picture's points says nothing in clear: what reads like a secret there came by
chance, and stays.
"""

import io
import zipfile
import zlib

_ZIP, _PNG, _TAR = b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", b"ustar"
_LOCAL, _CENTRAL, _BLOCK = 30, 46, 512  # bytes of a head in a ZIP, in its directory, in a tar
_DESCRIBED = 0x08  # the flag of a member whose checksum follows its bytes


def mend(given: bytes, kept: bytearray) -> None:
    """`kept` is `given` with bytes overwritten; its length is the same."""
    if given.startswith(_ZIP):
        _mend_zip(given, kept)
    elif given.startswith(_PNG):
        _mend_png(given, kept)
    elif given[257:262] == _TAR:
        _mend_tar(given, kept)


def _mend_zip(given: bytes, kept: bytearray) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(given)) as archive:
            members, at = archive.infolist(), archive.start_dir
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return  # it opened for nobody before either
    for member in members:
        entry = given[at : at + _CENTRAL]
        start, names = member.header_offset, member.header_offset + 26
        begin = start + _LOCAL + sum(_number(given, place, 2) for place in (names, names + 2))
        end = begin + member.compress_size
        if member.compress_type != zipfile.ZIP_STORED:
            kept[begin:end] = given[begin:end]
        elif kept[begin:end] != given[begin:end]:
            fresh = zlib.crc32(kept[begin:end]).to_bytes(4, "little")
            described = end + 4 * (given[end : end + 4] == b"PK\x07\x08")
            local = described if member.flag_bits & _DESCRIBED else start + 14
            for place in (local, at + 16):
                kept[place : place + 4] = fresh
        at += _CENTRAL + sum(_number(entry, place, 2) for place in (28, 30, 32))


def _mend_png(given: bytes, kept: bytearray) -> None:
    at = len(_PNG)
    while at + 12 <= len(given):
        end = at + 8 + int.from_bytes(given[at : at + 4], "big")
        if given[at + 4 : at + 8] == b"IDAT":
            kept[at + 8 : end] = given[at + 8 : end]
        elif kept[at:end] != given[at:end]:
            kept[end : end + 4] = zlib.crc32(kept[at + 4 : end]).to_bytes(4, "big")
        at = end + 4


def _mend_tar(given: bytes, kept: bytearray) -> None:
    """A head's checksum counts its own place as blanks."""
    at = 0
    while given[at + 257 : at + 262] == _TAR:
        head = kept[at : at + _BLOCK]
        if head != given[at : at + _BLOCK]:
            total = sum(head) - sum(head[148:156]) + 8 * 32
            kept[at + 148 : at + 156] = b"%06o\0 " % total
        size = given[at + 124 : at + 136].strip(b"\0 ")
        blocks = -(-int(size, 8) // _BLOCK) if size and not size.strip(b"01234567") else 0
        at += _BLOCK * (1 + blocks)


def _number(given: bytes, at: int, size: int) -> int:
    return int.from_bytes(given[at : at + size], "little")
