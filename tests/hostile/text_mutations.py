"""Files that are whole as text, JSON, TOML or CSV and say something absurd."""

import json
import re
from random import Random
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 1.5, -0.0, 2**31, 2**63, 2**64, 10**400, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"), "", " ", "x", "0", "nan", "auto", "none", "\ud800", "\0",
    "../../outside", "/etc/passwd", "os:system", "os.path:join", "<script>alert(1)</script>", "{{7*7}}",
    "a" * 70_000, [], [[]], [None], [1, "a"], {}, {"a": 1}, {"matrix": [[1]]}, {"given": "x"},
    {"matrix": [[1e308, 1e308]]}, [[0.5, 0.5], [0.5, 0.5]], list(range(2000)), {"": {"": {}}},
)  # fmt: skip
ODD_TOKENS = (
    "", "nan", "inf", "-inf", "-1", "0", "1e999", "1e-999", "9" * 400, "9" * 5000, "0x10", "true", "null",
    "1979-05-27T07:32:00Z", '"', "'", '"""', "[", "]", "{", "}", "[" * 3000, "{" * 3000, '{"a":' * 3000, ",",
    ";", "\t", "\n", "\r", "\r\n", "\0", "\ufeff", "\u2028", "é", "\u202e", "=", "[a]", "[[a]]", "a.b.c = 1",
    "a" * 70_000, "1,2", "1;2", "2020-01-01", "NA", "None", "1.0", "1.5", "-0", "٣", "1_000", "<script>",
)  # fmt: skip


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, each in inner for found in _places(each, (*place, key)))]


def change_value(value: Any, random: Random) -> Any:
    """A JSON value with one of its parts replaced, removed, renamed or doubled; `value` itself is spent."""
    place = random.choice(_places(value))
    if not place:
        return random.choice(ODD_VALUES)
    parent = value
    for key in place[:-1]:
        parent = parent[key]
    kind, key = random.randrange(8), place[-1]
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[random.choice(("", "x", "schema", "<b>", str(key).upper()))] = parent.pop(key)
    elif kind == 1:
        parent.append(parent[key])
    elif kind == 2 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] *= random.choice((-1, 0, 1.5, 2, 10, 1e9))
    else:
        parent[key] = random.choice(ODD_VALUES)
    return value


def change_json(content: bytes, random: Random) -> bytes:
    value = change_value(json.loads(content), random)
    return json.dumps(value, ensure_ascii=random.random() < 0.8).encode("utf-8", "surrogatepass")


def change_lines(content: bytes, random: Random) -> bytes:
    """One line of a JSON Lines file changed."""
    lines = content.splitlines()
    row = random.randrange(len(lines))
    lines[row] = change_json(lines[row], random)
    return b"\n".join(lines) + b"\n"


def change_tokens(content: bytes, random: Random) -> bytes:
    """Words, numbers or marks of a text replaced, put in or taken out; now and then a whole line."""
    text = content.decode("utf-8")
    if random.random() < 0.15:
        lines = text.splitlines(keepends=True)
        row = random.randrange(len(lines))
        lines[row : row + 1] = random.choice(([], [lines[row]] * 2, [lines[row]] * 300, ["\n", lines[row]]))
        return "".join(lines).encode()
    for _ in range(random.choice((1, 1, 2, 5))):
        tokens = re.findall(r"\w+|\s+|[^\w\s]", text)
        if not tokens:
            break
        place = random.randrange(len(tokens))
        if random.random() < 0.5:
            tokens[place] = random.choice(ODD_TOKENS)
        else:
            tokens.insert(place, random.choice(ODD_TOKENS))
        text = "".join(tokens)
    return text.encode("utf-8", "surrogatepass")
