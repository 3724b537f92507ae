"""Forward pass of all-MiniLM-L6-v2 (a BERT encoder) in torch, deterministic by fixed shapes.

docs/adr/0007-vectors-of-their-text-alone.md explains why it is implemented here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from raptor_core.vectors import Vectors

N_DIMS = 384
MAX_TOKENS = 256
_N_LAYERS, _N_HEADS = 6, 12
_EPSILON = 1e-12
_CPU_ROWS, _GPU_ROWS = 64, 4096
"""Tokens in a matrix product: few enough for a question, enough to use a processor well."""
Linear = Callable[[Any], Any]
"""A function from ``(n_tokens, n_in)`` to ``(n_tokens, n_out)``."""


class MiniLM:
    """The encoder, from token ids to vectors.

    The tokens of all texts of a call are rows of one matrix, padded to a multiple of a fixed number
    of rows. Every matrix product has exactly that number of rows, and attention is computed for
    each text separately, at its own length. So no sum depends on the other texts. On a CPU, oneDNN
    computes the products with packed weights, if torch has it.

    Args:
        weights: path of the checkpoint, ``model.safetensors``.
        half: use bfloat16 for weights and products; attention, sums and normalization stay float32.
    """

    def __init__(self, weights: Path, *, half: bool) -> None:
        import torch
        from safetensors.torch import load_file

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._rows = _GPU_ROWS if self._device == "cuda" else _CPU_ROWS
        kind = torch.bfloat16 if half else torch.float32
        values = load_file(weights, device=self._device)
        self._words = values["embeddings.word_embeddings.weight"]
        types = values["embeddings.token_type_embeddings.weight"]
        self._places = values["embeddings.position_embeddings.weight"] + types[0]
        self._norm = _make_norm(values, "embeddings.LayerNorm")
        with torch.inference_mode():
            self._layers = [
                _make_layer(values, f"encoder.layer.{number}.", kind, self._rows)
                for number in range(_N_LAYERS)
            ]

    def vectors(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """Return mean-pooled vectors of texts of 1 to 256 ids, ``(len(texts), 384)`` float32."""
        import torch

        lengths = [len(ids) for ids in texts]
        n_padding = -sum(lengths) % self._rows
        ids = _join_ids([*texts, [0] * n_padding])
        places = _join_ids([*map(range, lengths), [0] * n_padding])
        with torch.inference_mode():
            rows = self._norm(self._words[ids] + self._places[places])
            for layer in self._layers:
                rows = layer(rows, lengths)
            means = [part.mean(0) for part in rows.split([*lengths, n_padding])[: len(lengths)]]
            vectors: Vectors = torch.stack(means).cpu().numpy()
        return vectors


def _join_ids(parts: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])


def _make_layer(
    values: Any, prefix: str, kind: Any, n_rows: int
) -> Callable[[Any, list[int]], Any]:
    """Return a layer of the encoder, a function from rows and the texts' lengths to rows."""
    import torch

    def linear(*names: str, gelu: bool = False) -> Linear:
        weight = torch.cat([values[f"{prefix}{name}.weight"] for name in names]).to(kind)
        bias = torch.cat([values[f"{prefix}{name}.bias"] for name in names]).to(kind)
        return _make_linear(weight, bias, gelu, n_rows)

    project = linear(*(f"attention.self.{name}" for name in ("query", "key", "value")))
    gather = linear("attention.output.dense")
    widen, narrow = linear("intermediate.dense", gelu=True), linear("output.dense")
    attended = _make_norm(values, f"{prefix}attention.output.LayerNorm")
    finished = _make_norm(values, f"{prefix}output.LayerNorm")

    def run(rows: Any, lengths: list[int]) -> Any:
        rows = attended(rows + gather(_compute_attention(project(rows), lengths)))
        return finished(rows + narrow(widen(rows)))

    return run


def _compute_attention(projected: Any, lengths: list[int]) -> Any:
    """Compute attention from queries, keys and values, ``(n_tokens, 1152)``, for each text."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    mixed = torch.zeros(len(projected), N_DIMS, device=projected.device)
    heads = projected.float().view(len(projected), 3, _N_HEADS, -1).permute(1, 2, 0, 3)
    start = 0
    for length in lengths:
        query, key, value = heads[:, None, :, start : start + length]
        attended = scaled_dot_product_attention(query, key, value)[0]
        mixed[start : start + length] = attended.transpose(0, 1).reshape(length, N_DIMS)
        start += length
    return mixed


def _make_norm(values: Any, name: str) -> Linear:
    from torch.nn.functional import layer_norm

    weight, bias = values[f"{name}.weight"], values[f"{name}.bias"]
    return lambda rows: layer_norm(rows, (N_DIMS,), weight, bias, _EPSILON)


def _make_linear(weight: Any, bias: Any, gelu: bool, n_rows: int) -> Linear:
    """Return a linear map, optionally with GELU, that computes exactly ``n_rows`` rows at once."""
    import torch
    from torch.nn import functional

    def plain(rows: Any) -> Any:
        mapped = functional.linear(rows, weight, bias)
        return functional.gelu(mapped) if gelu else mapped

    product = _make_packed_linear(weight, bias, gelu, n_rows) or plain

    def run(rows: Any) -> Any:
        parts = rows.to(weight.dtype).split(n_rows)
        return torch.cat([product(part).float() for part in parts])

    return run


def _make_packed_linear(weight: Any, bias: Any, gelu: bool, n_rows: int) -> Linear | None:
    """Return a product that uses oneDNN with packed weights, or None if it is not available."""
    import torch

    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return None
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, n_rows)  # noqa: SLF001
        product = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001
    except (AttributeError, RuntimeError):  # torch was built without it, or not for this CPU
        return None
    activation, algorithm = ("gelu", "none") if gelu else ("none", "")
    return lambda rows: product(rows, packed, bias, activation, [], algorithm)
