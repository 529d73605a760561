"""Colours that hold for every kind of colour vision (Okabe and Ito), for paper and for a page with two themes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """What charts are drawn in."""

    ink: str
    muted: str
    grid: str
    background: str
    main: str
    second: str
    third: str
    fourth: str


PAPER = Palette(
    ink="#1f2328",
    muted="#57606a",
    grid="#dfe3e8",
    background="#ffffff",
    main="#0072B2",
    second="#D55E00",
    third="#009E73",
    fourth="#AA4499",
)

PAGE = Palette(  # style sheets decide, so that a change of theme needs no new drawing
    ink="var(--ink)",
    muted="var(--muted)",
    grid="var(--grid)",
    background="transparent",
    main="var(--main)",
    second="var(--second)",
    third="var(--third)",
    fourth="var(--fourth)",
)
