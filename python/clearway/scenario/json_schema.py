"""The JSON Schema of scenario files, from the declarations that read them: for editors and other programs.

The schema is sound: what it refuses, Clearway refuses. Clearway refuses more, such as quantities out of range, hosts
that do not exist and keys without effect, which a schema can't tell. Only keywords that mean the same in draft 7 and in
draft 2020-12 are used, since editors differ in what they know. A `$ref` has no neighbours for the same reason.

Where a word chooses the other keys (the `kind` of a network, the `name` of a transport), `properties` has the keys of
all words with their documentation, for completion; `if` and `then` say which of them the word allows. Editors complete
from `properties` alone, and errors of `if` and `then` name the fault, which those of `oneOf` do not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clearway import _clearway

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Keys of tables that other tables hold, by the table's path.
NESTED = ("switch.class", "switch.credit_class", "traffic.list")

#: Microseconds, with a u or with either of the letters that Unicode has for micro.
MICROSECONDS = r"[u\u00b5\u03bc]s"
NUMBER = r"[0-9_]+\.?[0-9_]*|\.[0-9_]+"
INTEGER_TEXT = r"^\+?[0-9]+$"
NUMBER_TEXT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
#: A text without a dot that has more than digits.
NAME_TEXT = r"^[^.]*[^.0-9][^.]*$"


def scenario_schema() -> Schema:
    """The JSON Schema of scenario files."""
    tables = {table["path"]: table for table in _clearway.scenario_tables()}
    transports = _clearway.transports()
    definitions: dict[str, Schema] = {}
    own = next(key["doc"] for key in tables["traffic"]["keys"] if key["name"] == "transport")
    definitions["transport-of-traffic"] = transport_value(transports, own, definitions, named=False)
    root = table_of(tables[""]["keys"])
    root["description"] = "A scenario of Clearway: a network, its traffic, and what to observe."
    for path, table in tables.items():
        if path == "" or path in NESTED:
            continue
        if path == "transport":
            one = transport_value(transports, table["doc"], definitions, named=True)
        elif table["kinds"]:
            others = inner(path, tables) | {"transport": {"$ref": "#/$defs/transport-of-traffic"}}
            one = of_kinds(table, others, definitions)
        else:
            one = table_of(table["keys"], table["doc"], inner(path, tables))
        root["properties"][path] = many(one, table["doc"]) if table["many"] else one
    root["properties"]["traffic"]["minItems"] = 1
    root["required"] = ["topology", "traffic"]
    head = {"$schema": DIALECT, "title": f"Scenario of Clearway {_clearway.__version__}"}
    return {**head, **root, "$defs": definitions}


def schema_text() -> str:
    """The JSON Schema of scenario files as the text of a file."""
    return json.dumps(scenario_schema(), indent=1, ensure_ascii=False) + "\n"


def inner(path: str, tables: Mapping[str, _clearway._Table]) -> dict[str, Schema]:
    """The lists of tables that a table holds, by their keys."""
    found = {}
    for nested in NESTED:
        if nested.startswith(f"{path}."):
            table = tables[nested]
            found[nested.removeprefix(f"{path}.")] = many(table_of(table["keys"], table["doc"]), table["doc"])
    return found


def many(one: Schema, doc: str) -> Schema:
    """A list of tables."""
    return {"type": "array", "description": unlinked(doc), "items": one}


def unlinked(doc: str) -> str:
    """Documentation without links to other pages, which lead nowhere from a schema."""
    return re.sub(r"\[([^\[\]]*)\]\([^()]*\.md[^()]*\)", r"\1", re.sub(r" \(\[more\]\([^()]*\)\)", "", doc))


def table_of(keys: Iterable[_clearway._Parameter], doc: str = "", others: Mapping[str, Schema] | None = None) -> Schema:
    """A table that has these keys and no others. `others` are the schemas of keys that are not values."""
    keys = list(keys)
    properties = {key["name"]: (others or {}).get(key["name"]) or value(key) for key in keys}
    found: Schema = {"type": "object", "description": unlinked(doc)} if doc else {"type": "object"}
    found |= {"properties": properties, "additionalProperties": False}
    return found | required(keys)


def required(keys: Iterable[_clearway._Parameter]) -> Schema:
    """The keys that a table must have."""
    names = [key["name"] for key in keys if key["default"] == "required"]
    return {"required": names} if names else {}


def allowed(
    word: tuple[str, str], keys: Iterable[_clearway._Parameter], everything: Mapping[str, Schema], more: Schema
) -> Schema:
    """The table that a word allows, such as `("kind", "star")`: these keys and `more`.

    `everything` has the keys of all words. A value that it checks is not checked again here, so that a mistake is told
    once.
    """
    keys = list(keys)
    checked = {"type", "anyOf", "enum", "$ref"}
    properties = {key["name"]: {} if checked & everything[key["name"]].keys() else shape(key) for key in keys}
    head = {word[0]: {"const": word[1]}}
    return {"properties": {**head, **more, **properties}, "additionalProperties": False, **required(keys)}


def of_kinds(table: _clearway._Table, others: Mapping[str, Schema], definitions: dict[str, Schema]) -> Schema:
    """A table whose key `kind` chooses its other keys. `others` are the schemas of keys that are not values."""
    common = [key for key in table["keys"] if key["name"] != "kind"]
    words = [kind["name"] for kind in table["kinds"]]
    meaning = "\n\n".join(f"`{kind['name']}`: {kind['doc']}" for kind in table["kinds"])
    properties: dict[str, Schema] = {"kind": {"enum": words, "description": meaning}}
    properties |= {key["name"]: others.get(key["name"]) or value(key) for key in common}
    properties |= union([(kind["name"], key) for kind in table["kinds"] for key in kind["keys"]], "kind", others)
    cases = []
    for kind in table["kinds"]:
        cases.append((kind["name"], f"{table['path']}-{kind['name']}"))
        definitions[cases[-1][1]] = allowed(("kind", kind["name"]), [*common, *kind["keys"]], properties, {})
    found = {"type": "object", "description": table["doc"], "properties": properties, "required": ["kind"]}
    return {**found, **choice("kind", cases)}


def transport_value(
    transports: Sequence[_clearway._Transport], doc: str, definitions: dict[str, Schema], *, named: bool
) -> Schema:
    """A transport: its name, or a table of its name and parameters. In traffic the name may come from `[transport]`."""
    words = [transport["name"] for transport in transports]
    meaning = "\n\n".join(f"`{one['name']}`: {one['summary']}. Source: {one['source']}." for one in transports)
    everything = [(transport["name"], key) for transport in transports for key in transport["parameters"]]
    properties: dict[str, Schema] = {"name": {"enum": words, "description": meaning}}
    properties["profile"] = profile([of for transport in transports for of in transport["profiles"]])
    properties |= union(everything, "name", {})
    for transport in transports:
        more = {"profile": profile(transport["profiles"])} if transport["profiles"] else {}
        found = allowed(("name", transport["name"]), transport["parameters"], properties, more)
        definitions[f"transport-{transport['name']}"] = found
    # Keywords of tables mean nothing for a text, so that they can stand beside `anyOf`.
    return {
        "description": doc,
        "anyOf": [{"type": "string", "enum": words}, {"type": "object"}],
        "properties": properties,
        "additionalProperties": False,
        "if": {"type": "object", "required": ["name"]},
        "then": choice("name", [(word, f"transport-{word}") for word in words]),
        **({"required": ["name"]} if named else {}),
    }


def profile(profiles: Iterable[_clearway._Profile]) -> Schema:
    """The names of profiles, one or a list."""
    known = {one["name"]: one["doc"] for one in profiles}
    words = {"enum": list(known)}
    meaning = "\n\n".join(f"`{name}`: {doc}" for name, doc in known.items())
    return {"description": meaning, "anyOf": [words, {"type": "array", "items": words}]}


def choice(key: str, cases: Sequence[tuple[str, str]]) -> Schema:
    """The definition that belongs to the word of a key, by a chain of if, then and else."""
    (word, definition), *rest = cases
    found: Schema = {
        "if": {"properties": {key: {"const": word}}, "required": [key]},
        "then": {"$ref": f"#/$defs/{definition}"},
    }
    return {**found, "else": choice(key, rest)} if rest else found


def union(
    keys: Iterable[tuple[str, _clearway._Parameter]], word: str, others: Mapping[str, Schema]
) -> dict[str, Schema]:
    """Keys that only some words of `kind` or `name` have, with the meaning of each: for completion in editors."""
    groups: dict[str, list[tuple[str, _clearway._Parameter]]] = {}
    for of, key in keys:
        groups.setdefault(key["name"], []).append((of, key))
    found = {}
    for name, members in groups.items():
        docs: dict[str, list[str]] = {}
        for of, key in members:
            docs.setdefault(description(key), []).append(of)
        meaning = "\n\n".join(
            text if len(docs) == 1 else f"With {word} = {', '.join(of)}: {text}" for text, of in docs.items()
        )
        alike = all(shape(key) == shape(members[0][1]) for _, key in members)
        found[name] = {**(others.get(name) or (shape(members[0][1]) if alike else {})), "description": meaning}
    return found


def value(key: _clearway._Parameter) -> Schema:
    """The value of a key, with its documentation and default."""
    found = {"description": description(key), **shape(key)}
    if key["default"] not in ("", "required"):
        found["default"] = typed(key["default"], key["forms"])
    return found


def description(key: _clearway._Parameter) -> str:
    """The documentation of a key, with the limits that a schema can't check, its unit and the source of its default."""
    parts = [unlinked(key["doc"])]
    if key["kind"]:
        parts.append(f"Value: {key['kind']}" + (f", {limits(key)}" if limits(key) else "") + ".")
    if key["source"]:
        parts.append(f"Source of the default: {key['source']}.")
    return "\n\n".join(parts)


def limits(key: _clearway._Parameter) -> str:
    """The limits of a key in words."""
    least, most = key["min"], key["max"]
    if least and most:
        return f"from {least} to {most}"
    return f"at least {least}" if least else f"at most {most}" if most else ""


def shape(key: _clearway._Parameter) -> Schema:
    """The forms in which the value of a key may be written."""
    return forms(key["forms"], key["min"], key["max"])


def forms(all_forms: Sequence[Mapping[str, Any]], least: str = "", most: str = "") -> Schema:
    """The schema of a value that has one of these forms."""
    words = [one["of"] for one in all_forms if one["form"] == "word"]
    found: list[Schema] = [{"enum": words}] if words else []
    found += [form(one, least, most) for one in all_forms if one["form"] != "word"]
    return found[0] if len(found) == 1 else {"anyOf": found}


def form(one: Mapping[str, Any], least: str = "", most: str = "") -> Schema:
    """The schema of a form. Numbers and truth values may be texts as well, as `--set` gives them."""
    of: Any = one.get("of")
    match one["form"]:
        case "quantity":
            units = "|".join(MICROSECONDS if unit == "us" else re.escape(unit) for unit in of)
            return {"type": "string", "pattern": rf"^\s*({NUMBER})\s*({units})\s*$"}
        case "counted":
            return {"type": "string", "pattern": rf"^\s*[0-9_]+\s*({'|'.join(of)})\s*$"}
        case "integer":
            found: Schema = {"type": ["integer", "string"], "pattern": INTEGER_TEXT, "minimum": int(least or 0)}
            return {**found, "maximum": int(most) if most else of}
        case "number":
            bounds = {"minimum": least, "maximum": most}
            given = {name: number(limit) for name, limit in bounds.items() if limit}
            return {"type": ["number", "string"], "pattern": NUMBER_TEXT, **given}
        case "truth":
            return {"type": ["boolean", "string"], "pattern": "^(true|false)$"}
        case "text":
            return {"type": "string", "minLength": 1}
        case "name":
            return {"type": "string", "pattern": NAME_TEXT}
        case "list":
            return {"type": "array", "items": forms(of or [])}
        case "row":
            # `items` as a list of schemas is of draft 7 alone, `prefixItems` of draft 2020-12.
            rows = [forms(entry) for entry in of or []]
            return {
                "type": "array",
                "minItems": len(rows),
                "maxItems": len(rows),
                "items": rows[0] if all(row == rows[0] for row in rows) else {"anyOf": rows},
            }
        case "table":
            keys = dict(of or {})
            return {
                "type": "object",
                "properties": {name: forms(inside) for name, (_, inside) in keys.items()},
                "additionalProperties": False,
                "required": [name for name, (required, _) in keys.items() if required],
            }
        case "tables":
            return {"type": "array", "items": {"type": "object"}}
        case other:
            raise AssertionError(f"{other} is no form of a value")


def number(text: str) -> int | float:
    """A limit as JSON has it: without a point where it is whole."""
    found = float(text)
    return int(found) if found.is_integer() and "e" not in text.lower() else found


def typed(text: str, all_forms: Sequence[Mapping[str, Any]]) -> object:
    """A default as the file would have it: a number, a truth value or a text."""
    kinds = {one["form"] for one in all_forms}
    if "truth" in kinds and text in ("true", "false"):
        return text == "true"
    if "integer" in kinds and re.fullmatch("[0-9]+", text):
        return int(text)
    if "number" in kinds and re.fullmatch(NUMBER_TEXT, text):
        return number(text)
    return text
