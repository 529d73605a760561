"""transformers checkpoints on torch, each as a network that takes tokens and gives one array."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surecut.arrays import Array
from surecut.errors import InputError, Unscorable
from surecut.extras import needed
from surecut.system.models.folder import read_json
from surecut.system.models.tokens import Batch

_BATCH = 32


class TorchModel:
    """A module in inference mode; torch spreads each batch over the cores by itself."""

    workers = 1

    def __init__(
        self,
        folder: Path,
        module: Any,
        output: Callable[[Any, Any], Any],
        batch_size: int | None = None,
        device: str | None = None,
    ) -> None:
        self._torch = needed("torch", "torch")
        self._folder = folder
        self._device, self._module = placed(module, device)
        self._output = output
        self._takes_types = "token_type_ids" in inspect.signature(module.forward).parameters
        self.batch_size = batch_size or _BATCH

    def __call__(self, batch: Batch) -> Array:
        torch = self._torch
        with torch.inference_mode(), explained(self._folder):
            given = {"input_ids": torch.from_numpy(batch.ids), "attention_mask": torch.from_numpy(batch.mask)}
            if self._takes_types:
                given["token_type_ids"] = torch.from_numpy(batch.types)
            given = {name: each.to(self._device) for name, each in given.items()}
            result: Array = self._output(self._module(**given), given["attention_mask"]).float().cpu().numpy()
        return result


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """What goes wrong inside a network is one sentence."""
    try:
        yield
    except (RuntimeError, IndexError, ValueError) as error:  # out of memory is a RuntimeError too
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Unscorable(f"{folder}: failed on a batch ({reason}); if memory is short, lower batch_size") from None


def placed(module: Any, device: str | None) -> tuple[str, Any]:
    """A module in inference mode on the device asked for, or on a GPU if there is one."""
    chosen = device or ("cuda" if needed("torch", "torch").cuda.is_available() else "cpu")
    try:
        return chosen, module.to(chosen).eval()
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device = '{chosen}': {str(error).splitlines()[0]}") from None


def load_classifier(folder: Path, batch_size: int | None, device: str | None) -> TorchModel:
    """A sequence classifier: MonoBERT, MonoELECTRA, every cross-encoder. Gives its logits."""
    module = _loaded("AutoModelForSequenceClassification", folder)
    return TorchModel(folder, module, lambda output, mask: output.logits, batch_size, device)


def load_encoder(folder: Path, batch_size: int | None, device: str | None) -> TorchModel:
    """A bi-encoder: the hidden state of every token, or one vector where the checkpoint gives that (DPR)."""
    if _architecture(folder) in ("DPRContextEncoder", "DPRQuestionEncoder"):
        module = _loaded(_architecture(folder), folder)
        return TorchModel(folder, module, lambda output, mask: output.pooler_output, batch_size, device)
    module = _loaded("AutoModel", folder, unread=("pooler",))
    return TorchModel(folder, module, lambda output, mask: output.last_hidden_state, batch_size, device)


def load_splade(folder: Path, batch_size: int | None, device: str | None) -> TorchModel:
    """A masked language model read as SPLADE: max over tokens of log(1 + relu(logit)), one weight a word piece."""

    def pooled(output: Any, mask: Any) -> Any:
        weights = output.logits.relu().log1p() * mask.unsqueeze(-1)
        return weights.amax(dim=1)

    return TorchModel(folder, _loaded("AutoModelForMaskedLM", folder), pooled, batch_size, device)


def load_unicoil(folder: Path, batch_size: int | None, device: str | None) -> TorchModel:
    """BERT with one number a token on top, relu(w h + b): checkpoints hold (coil_encoder.)bert.* and tok_proj.*."""
    torch, transformers = needed("torch", "torch"), needed("transformers", "torch")
    weights = quietly(lambda: _weights(folder), folder)
    if "tok_proj.weight" not in weights:
        raise InputError(f"{folder}: no tok_proj weights; this is not a UniCOIL checkpoint")

    class UniCoil(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, config: Any) -> None:
            super().__init__()
            self.bert = transformers.BertModel(config, add_pooling_layer=False)
            self.tok_proj = torch.nn.Linear(config.hidden_size, 1)

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            hidden = self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
            return self.tok_proj(hidden.last_hidden_state).relu()

    module = UniCoil(quietly(lambda: transformers.BertConfig.from_pretrained(folder), folder))
    found = quietly(lambda: module.load_state_dict(weights, strict=False), folder)
    if found.missing_keys:
        raise InputError(f"{folder}: the checkpoint has no weights for {found.missing_keys[0]}")
    return TorchModel(folder, module, lambda output, mask: output.squeeze(-1), batch_size, device)


def _weights(folder: Path) -> dict[str, Any]:
    """A checkpoint's tensors by name, without the prefix that published UniCOIL ones carry."""
    if (folder / "model.safetensors").is_file():
        tensors = needed("safetensors.torch", "torch").load_file(folder / "model.safetensors")
    else:
        tensors = needed("torch", "torch").load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    return {name.removeprefix("coil_encoder."): tensor for name, tensor in tensors.items()}


def _loaded(name: str, folder: Path, unread: tuple[str, ...] = ()) -> Any:
    """A checkpoint whose weights are all there, but for parts that nobody reads."""
    transformers = needed("transformers", "torch")
    needed("torch", "torch")
    kind = getattr(transformers, name)
    module, found = quietly(lambda: kind.from_pretrained(folder, output_loading_info=True), folder)
    missing = [key for key in sorted(found["missing_keys"]) if not any(part in key for part in unread)]
    if missing:
        raise InputError(f"{folder}: the checkpoint has no weights for {missing[0]}; it was not trained for this")
    return module


def quietly(load: Callable[[], Any], folder: Path) -> Any:
    """Loading without transformers' own report; what cannot be loaded is one sentence."""
    logging = needed("transformers", "torch").utils.logging
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return load()
    except Exception as error:  # torch, safetensors and transformers each raise their own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{folder}: cannot be loaded ({reason[0]})") from None
    finally:
        logging.set_verbosity(before)
        logging.enable_progress_bar()


def _architecture(folder: Path) -> str:
    return str((read_json(folder / "config.json").get("architectures") or [""])[0])
