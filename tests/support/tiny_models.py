"""Models of a few kilobytes, random and untrained, built by the tests."""

from __future__ import annotations

from pathlib import Path

N_DIMS = 16


def build_tiny_model(folder: Path) -> Path:
    """A sentence-transformers model that reads letters, in ``folder / "model"``."""
    import torch
    from sentence_transformers import SentenceTransformer

    try:
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    except ModuleNotFoundError:  # before version 5.4
        from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    (folder / "vocab.txt").write_text("\n".join([*words, *(f"##{w}" for w in words[5:])]))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=57,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        hidden_size=N_DIMS,
        intermediate_size=32,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    transformer = Transformer(str(folder), max_seq_length=64)
    model = SentenceTransformer(modules=[transformer, Pooling(N_DIMS)], device="cpu")
    model.save(str(folder / "model"))
    return folder / "model"


def build_tiny_dpr(folder: Path, class_name: str) -> Path:
    """An encoder of DPR that reads letters, of the class that transformers has for it."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    (folder / "vocab.txt").write_text("\n".join([*words, *(f"##{w}" for w in words[5:])]))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    config = transformers.DPRConfig(
        vocab_size=57,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        hidden_size=N_DIMS,
        intermediate_size=32,
        initializer_range=1.0,
    )
    torch.manual_seed(len(class_name))
    getattr(transformers, class_name)(config).save_pretrained(folder)
    return folder


def build_tiny_t5(folder: Path) -> Path:
    """A T5 that reads and writes letters."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    tokens = ["<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz0123456789 ().?\\"]
    tokenizer = Tokenizer(models.WordLevel({token: at for at, token in enumerate(tokens)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        "$A </s>", special_tokens=[("</s>", 1)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"d_model": N_DIMS, "d_ff": 32, "d_kv": 8, "num_layers": 1, "num_heads": 2}
    config = T5Config(vocab_size=len(tokens), decoder_start_token_id=0, **sizes)
    model = T5ForConditionalGeneration(config)
    for weights in model.parameters():  # so large that an answer depends on what is read
        weights.data = torch.randn(weights.shape)
    model.save_pretrained(folder)
    return folder


def build_tiny_cross_encoder(folder: Path) -> Path:
    """A cross-encoder that reads letters, for sentence-transformers."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    (folder / "vocab.txt").write_text("\n".join([*words, *(f"##{w}" for w in words[5:])]))
    model = folder / "cross-encoder"
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(model)
    config = BertConfig(
        vocab_size=57,
        num_hidden_layers=1,
        num_attention_heads=2,
        hidden_size=N_DIMS,
        intermediate_size=32,
        num_labels=1,
    )
    torch.manual_seed(0)
    BertForSequenceClassification(config).save_pretrained(model)
    return model
