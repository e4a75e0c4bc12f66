"""Reasons that have a value for programs and words for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Worded(StrEnum):
    """Members are written `NAME = "value", "What people read"`; `text` is the latter."""

    text: str

    def __new__(cls, value: str, text: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member
