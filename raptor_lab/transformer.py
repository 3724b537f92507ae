"""Loading of models with the library transformers; incomplete ones raise an error."""

from importlib.util import find_spec
from typing import Any

from raptor_core.errors import MissingExtraError, ModelError
from raptor_core.models.embedding.local_models import loading_weights


def load_transformer(class_name: str, model: str, kind: str, option: str) -> tuple[Any, Any]:
    """Load a tokenizer and a model, onto the GPU if there is one.

    Args:
        class_name: class of the library for which the model was saved.
        model: name at the hub, or a local folder.
        kind: what messages call the model, such as "reader".
        option: command-line option that messages name as the remedy.

    Raises:
        ModelError: it cannot be loaded, or its weights are of another class.
        MissingExtraError: its tokenizer needs sentencepiece.
    """
    import torch
    import transformers

    with loading_weights(model, kind, option):
        weights, report = getattr(transformers, class_name).from_pretrained(
            model, output_loading_info=True
        )
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        except (ImportError, ValueError) as error:
            if find_spec("sentencepiece"):
                raise
            raise MissingExtraError("lab", f"the tokenizer of {model}") from error
    if missing := sorted(report["missing_keys"]):
        raise ModelError(
            f"the {kind} {model!r} has no weights for {len(missing)} parts of {class_name}, such "
            f"as {missing[0]}; it is another kind of model. Check {option}"
        )
    return tokenizer, weights.eval().to("cuda" if torch.cuda.is_available() else "cpu")
