"""What the contract says of a body, as slowly and plainly as it can be said: RFC 8259 read letter by letter.

`judge` gives the status a body deserves (200, 400 or 422), and the object where it is 200.
"""

from __future__ import annotations

from typing import Any

WHITE = " \t\n\r"
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Broken(Exception):
    """No sound JSON: 400."""


def judge(raw: bytes) -> tuple[int, Any]:
    try:
        reader = Reader(raw.decode("utf-8"))
        value = reader.document()
    except (UnicodeDecodeError, Broken):
        return 400, None
    if reader.beyond or not isinstance(value, dict):
        return 422, None
    return 200, value


class Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.beyond = False

    def document(self) -> Any:
        value = self.value(depth=0)
        self.white()
        if self.at != len(self.text):
            raise Broken
        return value

    def white(self) -> None:
        while self.peek() and self.peek() in WHITE:
            self.at += 1

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        character = self.peek()
        if not character:
            raise Broken
        self.at += 1
        return character

    def expect(self, word: str) -> None:
        if self.text[self.at : self.at + len(word)] != word:
            raise Broken
        self.at += len(word)

    def value(self, depth: int) -> Any:
        self.white()
        match self.peek():
            case "{":
                return self.object(depth + 1)
            case "[":
                return self.array(depth + 1)
            case '"':
                return self.string()
            case "t":
                self.expect("true")
                return True
            case "f":
                self.expect("false")
                return False
            case "n":
                self.expect("null")
                return None
            case _:
                return self.number()

    def object(self, depth: int) -> dict[str, Any]:
        if depth > 32:
            raise Broken
        self.expect("{")
        members: dict[str, Any] = {}
        self.white()
        if self.peek() == "}":
            self.expect("}")
            return members
        while True:
            self.white()
            key = self.string()
            if key in members:
                raise Broken
            self.white()
            self.expect(":")
            members[key] = self.value(depth)
            self.white()
            if self.peek() == "}":
                self.expect("}")
                return members
            self.expect(",")

    def array(self, depth: int) -> list[Any]:
        if depth > 32:
            raise Broken
        self.expect("[")
        items: list[Any] = []
        self.white()
        if self.peek() == "]":
            self.expect("]")
            return items
        while True:
            items.append(self.value(depth))
            self.white()
            if self.peek() == "]":
                self.expect("]")
                return items
            self.expect(",")

    def string(self) -> str:
        self.expect('"')
        units: list[int] = []
        while (character := self.take()) != '"':
            if ord(character) < 0x20:
                raise Broken
            units += self.escape() if character == "\\" else _utf16(character)
        try:
            text = b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le")
        except UnicodeDecodeError:
            raise Broken from None
        if "\0" in text:
            raise Broken
        return text

    def escape(self) -> list[int]:
        character = self.take()
        if character != "u":
            if character not in ESCAPES:
                raise Broken
            return [ord(ESCAPES[character])]
        digits = [self.take() for _ in range(4)]
        if any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            raise Broken
        return [int("".join(digits), 16)]

    def number(self) -> int | float:
        began = self.at
        if self.peek() == "-":
            self.take()
        if self.peek() == "0":
            self.take()
        else:
            self.digits()
        whole = self.at
        if self.peek() == ".":
            self.take()
            self.digits()
        if self.peek() in {"e", "E"}:
            self.take()
            if self.peek() in {"+", "-"}:
                self.take()
            self.digits()
        if self.at == whole:
            return self.integer(self.text[began : self.at])
        number = float(self.text[began : self.at])
        if number in {float("inf"), float("-inf")}:
            raise Broken
        return number

    def digits(self) -> None:
        if self.peek() not in set("0123456789"):
            raise Broken
        while self.peek() in set("0123456789"):
            self.take()

    def integer(self, digits: str) -> int:
        number = 0
        for digit in digits.lstrip("-"):
            number = number * 10 + "0123456789".index(digit)
        number = -number if digits.startswith("-") else number
        if not -(2**63) <= number < 2**64:
            self.beyond = True
        return number


def _utf16(character: str) -> list[int]:
    raw = character.encode("utf-16-le")
    return [int.from_bytes(raw[index : index + 2], "little") for index in range(0, len(raw), 2)]
