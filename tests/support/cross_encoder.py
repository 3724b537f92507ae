"""Cross-encoders of a few kilobytes, built where a test needs one."""


def make_cross_encoder(folder, labels, change=None):
    """A random BERT classifier in ``folder`` that reads letters; ``change`` sets its weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        id2label=labels,
        label2id={name: at for at, name in labels.items()},
    )
    torch.manual_seed(7)
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        if change:
            change(model)
    model.save_pretrained(folder)
    return str(folder)
