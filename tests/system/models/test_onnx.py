"""ONNX files: found, run, and batched one by one where their scores would depend on company."""

import onnx
import pytest
from onnx import TensorProto, helper

from surecut import InputError
from surecut.system.models.folder import find_model
from surecut.system.models.onnx import OnnxModel, scales_over_batch
from surecut.system.models.tokens import Tokenizer
from tests.system.making import cross_encoder, raw_outputs, token_numbers


def test_a_model_gives_what_onnxruntime_gives(models):
    pairs = [("balak dalan", "fenok"), ("kirun", "balak balak dalan")]
    tokens = Tokenizer.from_folder(models.cross, 512).pairs(*zip(*pairs, strict=True))
    raw = raw_outputs(models.cross / "model.onnx", [token_numbers(*pair) for pair in pairs])
    assert OnnxModel(models.cross / "model.onnx")(tokens.batch([0, 1])).tobytes() == raw.tobytes()


def test_dynamic_quantisation_is_noticed_and_batches_are_of_one(models):
    assert scales_over_batch(models.int8 / "model.onnx")
    assert not scales_over_batch(models.cross / "model.onnx")
    assert OnnxModel(models.int8 / "model.onnx", batch_size=32).batch_size == 1
    assert OnnxModel(models.cross / "model.onnx", batch_size=32).batch_size == 32


@pytest.mark.parametrize("content", [b"", b"no model at all"])
def test_what_is_no_model_is_named(tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.onnx: not a model that onnxruntime can run"):
        OnnxModel(tmp_path / "model.onnx")


def with_input(folder, name, kind):
    """A network that takes one input only."""
    inputs = [helper.make_tensor_value_info(name, kind, ["batch", "length"])]
    result = [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", "length"])]
    graph = helper.make_graph([helper.make_node("Cast", [name], ["out"], to=TensorProto.FLOAT)], "odd", inputs, result)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "odd.onnx")
    return OnnxModel(folder / "odd.onnx")


def test_only_the_inputs_a_model_has_are_given(models, tmp_path):
    batch = Tokenizer.from_folder(models.cross, 512).texts(["balak"]).batch([0])
    assert with_input(tmp_path, "input_ids", TensorProto.INT64)(batch).tolist() == batch.ids.tolist()


@pytest.mark.parametrize(("name", "kind"), [("position_ids", TensorProto.INT64), ("input_ids", TensorProto.FLOAT)])
def test_a_model_that_wants_something_else_is_one_sentence(models, tmp_path, name, kind):
    batch = Tokenizer.from_folder(models.cross, 512).texts(["balak"]).batch([0])
    with pytest.raises(InputError, match=r"odd\.onnx"):
        with_input(tmp_path, name, kind)(batch)


def test_the_fingerprint_is_of_the_content_not_of_the_place(tmp_path):
    def printed(folder):
        return find_model(str(folder)).fingerprint()

    one = cross_encoder(tmp_path / "one")
    same, other = cross_encoder(tmp_path / "elsewhere" / "two"), cross_encoder(tmp_path / "three", seed=1)
    assert printed(one) == printed(same) != printed(other)
    before = printed(one)
    (one / "config.json").write_text('{"max_position_embeddings": 64}')
    assert printed(one) != before


@pytest.mark.parametrize("location", ["model.onnx_data", "weights.pb"])
def test_weights_beside_the_onnx_file_are_in_the_fingerprint(tmp_path, location):
    prints = []
    for seed in (0, 1):
        folder = cross_encoder(tmp_path / str(seed), seed=seed)
        whole = onnx.load(folder / "model.onnx")
        onnx.save(whole, folder / "model.onnx", save_as_external_data=True, location=location, size_threshold=0)
        prints.append(find_model(str(folder)).fingerprint())
    assert (tmp_path / "0" / "model.onnx").read_bytes() == (tmp_path / "1" / "model.onnx").read_bytes()
    assert prints[0] != prints[1]
