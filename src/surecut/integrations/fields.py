"""What the integrations share whose libraries build on pydantic: fields, checks of copies, serialisation."""

from collections.abc import Mapping
from typing import Any, Generic, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SkipValidation, field_serializer

from surecut.integrations.stage import Given, Item, ListStage, as_record


class PruneFields(BaseModel, Generic[Item]):
    """A certificate with its options. They do not change: a copy with others is checked like a new one."""

    certificate: SkipValidation[Given] = Field(frozen=True)
    id_key: str | None = Field(default=None, frozen=True)
    system: dict[str, str] = Field(default={}, frozen=True)
    any_system: bool = Field(default=False, frozen=True)
    any_length: bool = Field(default=False, frozen=True)

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    _stage: Any = PrivateAttr(default=None)

    def __init__(self, certificate: Given, **options: Any) -> None:
        fields: dict[str, Any] = {"certificate": certificate, **options}
        super().__init__(**fields)
        self._stage = self._make_stage()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with some fields set otherwise."""
        copied = super().model_copy(update=update, deep=deep)
        copied._stage = copied._make_stage()
        return copied

    def copy(self, **options: Any) -> Self:
        """The same by its older name."""
        return self.model_copy(**options)

    @field_serializer("certificate")
    def _as_record(self, certificate: Given) -> str | dict[str, Any]:
        return as_record(certificate)

    @property
    def stage(self) -> ListStage[Item]:
        """The certificate at work."""
        if self._stage is None:  # made without __init__
            self._stage = self._make_stage()
        made: ListStage[Item] = self._stage
        return made

    def _make_stage(self) -> ListStage[Item]:
        raise NotImplementedError

    @property
    def _options(self) -> dict[str, Any]:
        return {"system": self.system, "any_system": self.any_system, "any_length": self.any_length}
