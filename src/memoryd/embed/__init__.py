"""Text → codes: what the vector side of retrieval stores of a chunk, and what it asks with.

One text a run, always: dynamic int8 scales activations by what is in the batch, so that the same
text gives other bits beside other texts; alone, it repeats to the byte on the same processor.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryd.embed import wordpiece

if TYPE_CHECKING:  # importing these takes 0.1 s: the first text encoded pays, not `import`
    import numpy as np
    from numpy.typing import NDArray

MINILM = Path(__file__).parents[1] / "data" / "minilm"
CLS, SEP = 101, 102  # the word pieces that open and close every input
MAX_CHARS = 16_384  # of a text, read before cutting to pieces: no prose needs more for 254


@dataclass(frozen=True)
class Input:
    """What is encoded: `own` is coded, `context` only colours it.

    >>> Input(context="(8 May 2023) Ann: How are you?", own="Bob: Swamped with work.").own
    'Bob: Swamped with work.'
    """

    context: str
    own: str


@dataclass(frozen=True)
class Code:
    """A chunk's sign bits, one a dimension: pooled over its own word pieces, and of each."""

    model: str
    pooled: bytes
    tokens: bytes
    pieces: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Query:
    """A question in floats: `pooled` [dimensions], `tokens` [pieces, dimensions], unit length.

    `words` has for each piece the word it is part of, whose rarity says what the piece weighs.
    """

    model: str
    pooled: NDArray[np.float32]
    tokens: NDArray[np.float32]
    pieces: tuple[int, ...]
    words: tuple[str, ...]


class Unusable(RuntimeError):
    """A folder that holds no model, or a damaged one: words have to do alone."""


class Encoder:
    """The model in `folder`, loaded at first use. Safe to share between threads.

    A folder that holds none makes an encoder too, so that everything else goes on: it says what is
    wrong in `broken`, and refuses to encode.
    """

    def __init__(self, folder: Path = MINILM, threads: int = 1) -> None:
        self.folder = folder
        self.name, self.dimensions, self.limit = "none", 64, 0
        self.broken: str | None = None
        self._threads = threads
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            self.name, self.dimensions = str(manifest["name"]), int(manifest["dimensions"])
            self.limit = int(manifest["pieces"]) - 2  # without [CLS] and [SEP]
        except (OSError, KeyError, TypeError, ValueError) as error:
            self.broken = (
                f"{folder} holds no model that can be used: {type(error).__name__} {error}"
            )

    def key(self, text: Input) -> bytes:
        """Equal for equal codes: a digest of the model and the whole input."""
        return hashlib.sha256(json.dumps([self.name, text.context, text.own]).encode()).digest()

    def encode(self, text: Input) -> Code:
        """Code `text.own`, read after `text.context`.

        What exceeds the model's limit is cut: the end of the context first, then of the own text.
        """
        self.load()
        own = [piece.id for piece in self._pieces(text.own)]
        context = [piece.id for piece in self._pieces(text.context)[: self.limit - len(own)]]
        hidden = self._hidden(context + own)[len(context) :]
        return Code(self.name, _signs(hidden.sum(axis=0)), _signs(hidden), tuple(own))

    def query(self, text: str) -> Query:
        self.load()
        found = self._pieces(text)
        pieces = [piece.id for piece in found]
        words = tuple(piece.word for piece in found)
        hidden = self._hidden(pieces)
        pooled, tokens = _unit(hidden.sum(axis=0)), _unit(hidden)
        return Query(self.name, pooled, tokens, tuple(pieces), words)

    def load(self) -> None:
        """Load the model now, so that the first text does not wait; and see that it works."""
        if self.broken is None and not self._works:
            self.broken = f"{self.folder} holds a model that does not fit its manifest"
        if self.broken is not None:
            raise Unusable(self.broken)

    @cached_property
    def _works(self) -> bool:
        """Codes are compared by words of 64 bits, so their length is a multiple of it."""
        try:
            pieces = [piece.id for piece in self._pieces("ready \u0531")]  # the last has no piece
            return self.dimensions % 64 == 0 and self._hidden(pieces).shape[1] == self.dimensions
        except (OSError, KeyError, ValueError, RuntimeError, ImportError) as error:
            raise Unusable(f"{self.folder} cannot be loaded: {error}") from error

    def _pieces(self, text: str) -> list[wordpiece.Piece]:
        """As many as fit into the model."""
        return self._vocabulary.pieces(text[:MAX_CHARS])[: self.limit]

    def _hidden(self, pieces: list[int]) -> NDArray[np.float32]:
        """The last layer's vector of each piece; nothing runs for no pieces."""
        import numpy as np  # noqa: PLC0415 - lazy, see above

        if not pieces:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        ids = np.array([[CLS, *pieces, SEP]], dtype=np.int64)
        hidden: NDArray[np.float32] = self._session.run(["hidden"], {"ids": ids})[0]
        return hidden[1:-1]

    @cached_property
    def _vocabulary(self) -> wordpiece.WordPiece:
        text = (self.folder / "vocab.txt").read_text(encoding="utf-8")
        return wordpiece.WordPiece(text.removesuffix("\n").split("\n"))

    @cached_property
    def _session(self) -> Any:
        # From version 1.29 on it reports to its maker, unless told not to before it is loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime  # type: ignore[import-untyped] # noqa: PLC0415 - lazy, see above

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors; it warns of missing GPUs otherwise
        file = self.folder / "model.onnx"
        try:
            return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library's errors share no other class
            raise RuntimeError(f"{file} cannot be loaded: {error}") from error


def _signs(vectors: NDArray[np.float32]) -> bytes:
    import numpy as np  # noqa: PLC0415 - lazy, see above

    return np.packbits(vectors > 0, axis=-1).tobytes()


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415 - lazy, see above

    length: NDArray[np.float32] = np.linalg.norm(vectors, axis=-1, keepdims=True)
    length[length == 0] = 1  # of no pieces
    return vectors / length
