"""Small collections, tokenizers and ONNX models, made on the fly: real files of every kind the system reads."""

import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from surecut.system.recipe import read_recipe
from surecut.system.texts import Document, TextStore, write_store
from surecut.watching import Watch

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
PAD, UNK, CLS, SEP = range(4)
WORDS = tuple(a + b + c for a in "bdfklm" for b in ("ala", "eno", "iru", "osi", "ute") for c in ("k", "n", "r", "st"))
VOCABULARY = {token: number for number, token in enumerate((*SPECIAL, *WORDS))}
WIDTH = 32


def texts(count, seed=0, longest=24):
    """Texts of common and rare words; one in ten is there twice."""
    draw = np.random.default_rng(seed)
    shares = 1 / np.arange(2, len(WORDS) + 2)
    made = []
    for number in range(count):
        words = draw.choice(WORDS, size=draw.integers(4, longest), p=shares / shares.sum())
        made.append(made[number // 2] if number % 10 == 9 else " ".join(words))
    return made


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def write_beir(folder, queries=80, documents=300, seed=0):
    """A BEIR folder: each query is a few words of the one document that is relevant to it."""
    draw = np.random.default_rng(seed + 1)
    corpus = texts(documents, seed)
    (folder / "qrels").mkdir(parents=True)
    write_lines(
        folder / "corpus.jsonl",
        [{"_id": f"d{number}", "title": "", "text": text} for number, text in enumerate(corpus)],
    )
    asked, judged = [], []
    for number in range(queries):
        relevant = int(draw.integers(documents))
        chosen = draw.choice(sorted(set(corpus[relevant].split())), size=3)
        asked.append({"_id": f"q{number}", "text": " ".join((*chosen, draw.choice(WORDS)))})
        judged.append(f"q{number}\td{relevant}\t1\n")
    write_lines(folder / "queries.jsonl", asked)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    return folder


def zipped(folder, path):
    """The folder as BEIR ships it: everything below one folder in a zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*.*")):
            archive.write(file, Path(folder.name) / file.relative_to(folder))
    return path


def store(folder, documents):
    """A text store of (id, text) pairs, or of texts."""
    named = [each if isinstance(each, tuple) else (f"d{number}", each) for number, each in enumerate(documents)]
    write_store((Document(*each) for each in named), folder, "test")
    return TextStore(folder)


def save_tokenizer(folder):
    """Words as tokens, in BERT's frame."""
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def embeddings(draw, poison=None):
    """Rare words are long vectors, special tokens none: shared rare words count. A word may be poison."""
    rarity = np.concatenate((np.zeros(len(SPECIAL)), np.arange(2, len(WORDS) + 2) ** 0.35))
    found = rarity[:, None] * draw.normal(size=(len(VOCABULARY), WIDTH))
    if poison is not None:
        found[VOCABULARY[poison]] = np.nan
    return found


def cross_encoder(folder, labels=1, seed=0, layers=0, poison=None):
    """Likes documents that share words with the query; more layers make it slower, not better."""
    draw = np.random.default_rng(seed)
    near_identity = np.eye(WIDTH) + 0.1 * draw.normal(size=(WIDTH, WIDTH))
    head = np.ones((WIDTH, labels)) * (1 - 2 * (np.arange(labels) % labels < labels - 1))
    weights = {
        "embeddings": embeddings(draw, poison),
        "mixing": near_identity,
        "head": head + 0.1 * draw.normal(size=(WIDTH, labels)),
        "bias": 0.1 * draw.normal(size=labels),
        "widening": draw.normal(size=(WIDTH, 512)) / WIDTH,
        "narrowing": draw.normal(size=(512, WIDTH)) / 512,
    }
    slow, last = [], "embedded"
    for layer in range(layers):
        slow += [_node("MatMul", [last, "widening"], f"w{layer}"), _node("Tanh", [f"w{layer}"], f"t{layer}")]
        slow += [
            _node("MatMul", [f"t{layer}", "narrowing"], f"n{layer}"),
            _node("Add", [last, f"n{layer}"], f"a{layer}"),
        ]
        last = f"a{layer}"
    nodes = [
        _node("Gather", ["embeddings", "input_ids"], "embedded"),
        *slow,
        _node("Cast", ["attention_mask"], "inside", to=TensorProto.FLOAT),
        _node("Cast", ["token_type_ids"], "second", to=TensorProto.FLOAT),
        _node("Mul", ["inside", "second"], "of_document"),
        _node("Sub", ["inside", "of_document"], "of_query"),
        *_mean(last, "of_query", "query"),
        *_mean(last, "of_document", "document"),
        _node("Mul", ["query", "document"], "shared"),
        _node("MatMul", ["shared", "mixing"], "mixed"),
        _node("MatMul", ["mixed", "head"], "scored"),
        _node("Add", ["scored", "bias"], "logits"),
    ]
    return _saved(folder, nodes, weights, "logits", ["batch", labels])


def bi_encoder(folder, seed=0, poison=None):
    """One state a token; the mean of them is near that of texts with the same words."""
    draw = np.random.default_rng(seed)
    weights = {
        "embeddings": embeddings(draw, poison),
        "types": 0.1 * draw.normal(size=(2, WIDTH)),
        "mixing": np.eye(WIDTH) + 0.1 * draw.normal(size=(WIDTH, WIDTH)),
    }
    nodes = [
        _node("Gather", ["embeddings", "input_ids"], "embedded"),
        _node("Gather", ["types", "token_type_ids"], "typed"),
        _node("Add", ["embedded", "typed"], "summed"),
        _node("MatMul", ["summed", "mixing"], "last_hidden_state"),
    ]
    return _saved(folder, nodes, weights, "last_hidden_state", ["batch", "length", WIDTH])


def token_weigher(folder, seed=0):
    """UniCOIL's shape: one weight a token."""
    draw = np.random.default_rng(seed)
    weights = {"weights": draw.normal(1.0, 0.8, size=(len(VOCABULARY), 1))}
    return _saved(folder, [_node("Gather", ["weights", "input_ids"], "out")], weights, "out", ["batch", "length", 1])


def expander(folder, seed=0, poison=None):
    """SPLADE's shape: a logit for every word piece at every token."""
    draw = np.random.default_rng(seed)
    size = len(VOCABULARY)
    weights = {"logits": np.where(draw.random((size, size)) < 0.05, draw.normal(size=(size, size)), -1.0)}
    if poison is not None:
        weights["logits"][VOCABULARY[poison]] = np.nan
    return _saved(folder, [_node("Gather", ["logits", "input_ids"], "out")], weights, "out", ["batch", "length", size])


def quantised(folder, source):
    """A cross-encoder in int8, its activations scaled as they come."""
    from onnxruntime.quantization import quantize_dynamic

    folder.mkdir(parents=True)
    save_tokenizer(folder)
    quantize_dynamic(source / "model.onnx", folder / "model.onnx", op_types_to_quantize=["MatMul"])
    return folder


def _node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], **attributes)


def _mean(states, mask, name):
    """The mean of some tokens' states."""
    return [
        _node("Unsqueeze", [mask, "two"], f"{name}_mask"),
        _node("Mul", [states, f"{name}_mask"], f"{name}_masked"),
        _node("ReduceSum", [f"{name}_masked", "one"], f"{name}_sum", keepdims=0),
        _node("ReduceSum", [mask, "one"], f"{name}_count", keepdims=1),
        _node("Div", [f"{name}_sum", f"{name}_count"], name),
    ]


def _saved(folder, nodes, weights, output, shape):
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizer(folder)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    constants = [numpy_helper.from_array(each.astype(np.float32), name) for name, each in weights.items()]
    constants += [numpy_helper.from_array(np.array([axis]), name) for axis, name in ((1, "one"), (2, "two"))]
    result = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "tiny", inputs, result, constants)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "model.onnx"
    )
    return folder


def token_numbers(query, document=None):
    """[CLS] query [SEP] document [SEP] by hand: ids and segments."""
    first = [CLS, *(VOCABULARY.get(word, UNK) for word in query.split()), SEP]
    if document is None:
        return first, [0] * len(first)
    second = [*(VOCABULARY.get(word, UNK) for word in document.split()), SEP]
    return first + second, [0] * len(first) + [1] * len(second)


def raw_outputs(path, encoded):
    """What onnxruntime itself says of some (ids, segments), all in one padded batch."""
    import onnxruntime

    longest = max(len(ids) for ids, _ in encoded)
    given = {name: np.zeros((len(encoded), longest), np.int64) for name in ("input_ids", "attention_mask")}
    given["token_type_ids"] = np.zeros((len(encoded), longest), np.int64)
    for row, (ids, segments) in enumerate(encoded):
        given["input_ids"][row, : len(ids)] = ids
        given["attention_mask"][row, : len(ids)] = 1
        given["token_type_ids"][row, : len(ids)] = segments
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, given)[0]


def write_recipe(path, *, collection, reranker, depth=50, retriever='kind = "bm25"', fusion="", name="tiny"):
    """A recipe with the bodies of its sections given."""
    path.write_text(
        f'name = "{name}"\ndepth = {depth}\n[collection]\n{collection}\n[retriever]\n{retriever}\n'
        f"[reranker]\n{reranker}\n{fusion}",
        encoding="utf-8",
    )
    return path


def in_small_blocks(path):
    """A recipe that writes after every 6 queries."""
    recipe = read_recipe(path)
    recipe.reranker.pairs_per_block = 320
    return recipe


class LastFirst:
    """A runner whose items are done in the opposite order, as may be on a cluster."""

    def start(self, watch):
        pass

    def infer(self, worker, items):
        work = worker()
        for place in reversed(range(len(items))):
            yield place, work(items[place])


def contents(folder):
    """Every file of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class After(Watch):
    """Does something once so many blocks are written."""

    def __init__(self, blocks, act):
        self._left, self._act = blocks, act

    def advance(self, units, pairs=0):
        self._left -= pairs > 0
        if not self._left:
            self._act()


def stop():
    raise KeyboardInterrupt
