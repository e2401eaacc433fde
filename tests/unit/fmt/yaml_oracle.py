"""Compares weir's YAML reader with PyYAML: values, keys, places, and what is refused.

usage: yaml_oracle.py YAML_PRINT DIFFERS_MD [FILE...]

Every known difference is a row of SCALAR_DIFFERENCES or of REFUSALS or SYNTAX_DIFFERENCES below,
under the name it has in yaml-differs.md. A row that is met by no case, or that makes no difference,
fails the test: the list stays true. WEIR_SEED=n repeats a run.
"""

import bisect
import copy
import json
import os
import random
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: PyYAML is not installed (Debian: python3-yaml)")
    sys.exit(77)

from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

TAG = "tag:yaml.org,2002:"
N_GENERATED = 1500
N_MUTATED = 3000


class Unlisted(Exception):
    """A difference that has no name yet."""


class Refused(Exception):
    """Weir is to refuse this, at (line, column) if that is known."""

    def __init__(self, name, at=None):
        super().__init__(name)
        self.name = name
        self.at = at


# --- plain scalars that weir reads like kubectl and PyYAML does not -------------------------------

WORDS = {
    "null": "~ null Null NULL",
    True: "y Y yes Yes YES on On ON true True TRUE",
    False: "n N no No NO off Off OFF false False FALSE",
}
GO_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
GO_BASED = re.compile(r"([-+]?)0([xX][0-9a-fA-F]+|[bB][01]+|[oO]?[0-7]+)")
GO_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def kubectl_reading(text):
    """The rules of go-yaml v2, written down a second time."""
    if text == "" or text in WORDS["null"].split():
        return ("null", None)
    for value in (True, False):
        if text in WORDS[value].split():
            return ("a boolean", value)
    if text[0] not in "+-.0123456789":
        return ("a string", text)
    plain = text if text[0] == "." else text.replace("_", "")
    if GO_DECIMAL.fullmatch(plain):
        return ("a number", int(plain))
    based = GO_BASED.fullmatch(plain)
    if based:
        digits = based[2].lower()
        base = {"x": 16, "b": 2}.get(digits[0], 8)
        value = int(digits.lstrip("xbo"), base) if digits[0] != "b" else int(digits[1:], 2)
        value = -value if based[1] == "-" else value
        if -(2**63) <= value < 2**64:
            return ("a number", value)
    if GO_FLOAT.fullmatch(plain):
        whole = re.fullmatch(r"[-+]?[0-9]+", plain)
        return ("a number", int(plain) if whole else float(plain))
    return ("a string", text)


# What may differ, by the look of the text; the first that fits names it.
SCALAR_DIFFERENCES = [
    ("y-and-n", r"[yYnN]"),
    ("base-60", r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"),
    ("time", r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"),
    ("inf-and-nan", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
    ("value-key", r"="),
    ("big-based", r"[-+]?0([xX][0-9a-fA-F]{16,}|[bB][01]{64,}|[oO]?[0-7]{22,})"),
    ("octal-0o", r"[-+]?0[oO][0-7_]+"),
    ("upper-case-base", r"[-+]?0(X[0-9a-fA-F_]+|B[01_]+)"),
    ("leading-zero", r"[-+]?0[0-9]*[89][0-9]*"),
    ("underscores", r".*_.*"),
    ("exponent", r"[-+]?[0-9]*(\.[0-9]*)?[eE][-+]?[0-9]+"),
    ("signed-point", r"[-+]\.[0-9]+"),
]


# --- what weir refuses and PyYAML's composer takes ------------------------------------------------

REFUSALS = {
    "duplicate-key",
    "null-key",
    "complex-key",
    "other-tag",
    "tag-mismatch",
    "inf-under-float-tag",
    "nul-character",
    "recursive-alias",
    "too-deep",
    "merge-of-no-mapping",
    "too-many-aliases",
}

# --- what PyYAML's composer refuses and weir takes ------------------------------------------------

TAKEN = {"anchor-again"}

# --- where libyaml and PyYAML disagree on the syntax ----------------------------------------------
# name, who takes it, pattern in the text, pattern in the error of the other

SYNTAX_DIFFERENCES = [
    ("tab", "weir", rb"\t", r"'\\t'"),
    ("question-mark", "weir", rb"\?", r"got '\?'"),
    ("comment-behind-block", "weir", rb"[|>][-+0-9]*#", r"indicators, but found '#'"),
    ("tag-and-bracket", "weir", rb"![,\[\]{}]", r"<tag>|scanning a tag|other-tag"),
    ("unknown-directive", "PyYAML", rb"(^|[\r\n])%", r"unknown directive name"),
    ("surrogate-escape", "PyYAML", rb"\\[uU](0000)?[dD][89a-fA-F]", r"invalid Unicode character"),
    ("colon-without-blank", "PyYAML", rb":", r"found unexpected ':', while scanning a plain"),
    ("tab-in-block", "PyYAML", rb"\t", r"tab character where an indentation space is expected"),
]

# Both take it: where an empty value stands, and what a second byte order mark is.
OTHERS = {"place-of-nothing", "second-bom"}

seen = {}
verbose = os.environ.get("WEIR_VERBOSE") is not None


def note(name, text):
    seen.setdefault(name, text)


class Loader(yaml.SafeLoader):
    """Remembers where aliases stand: the composed nodes do not say."""

    def __init__(self, text):
        super().__init__(text)
        self.alias_of_key = {}
        self.alias_of_item = {}
        self.kept = []

    def compose_node(self, parent, index):
        if not self.check_event(yaml.AliasEvent):
            if self.anchors.pop(self.peek_event().anchor, None) is not None:
                note("anchor-again", self.name)
            node = super().compose_node(parent, index)
            self.kept.append(node)
            return node
        mark = self.peek_event().start_mark
        node = super().compose_node(parent, index)
        if isinstance(parent, MappingNode) and index is None:
            # A key is told apart by its node, so each use gets its own.
            node = copy.copy(node)
            node.start_mark = mark
            self.kept.append(node)
            return node
        if isinstance(parent, SequenceNode):
            self.alias_of_item[id(parent), index] = mark
        elif index is not None:
            self.alias_of_key[id(index)] = mark
        return node


class Builder:
    """From PyYAML's nodes to what yaml_print.c should say."""

    def __init__(self, text, loader):
        self.loader = loader
        self.offset = 1 if text.startswith("\ufeff") else 0
        self.text = text[self.offset:]
        self.lines = [0]
        for i, c in enumerate(self.text):
            if c == "\n" or (c == "\r" and self.text[i + 1:i + 2] != "\n"):
                self.lines.append(i + 1)
        self.constructor = SafeConstructor()
        self.flattened = {}
        self.open = []

    def at(self, mark):
        return self.place(max(mark.index - self.offset, 0))

    def place(self, index):
        line = bisect.bisect_right(self.lines, index)
        start = self.lines[line - 1]
        return [line, len(self.text[start:index].encode()) + 1]

    def behind_blanks(self, mark):
        index = max(mark.index - self.offset, 0)
        blanks = re.compile(r"(\s|#[^\r\n]*)*").match(self.text, index)
        return self.place(blanks.end())

    def scalar(self, node, at):
        """(kind, value, quoted)"""
        plain = node.style is None
        tag = node.tag
        implicit = getattr(node, "weir_implicit", True)
        if "\0" in node.value:
            raise Refused("nul-character", at)
        if implicit and not plain:
            return ("a string", node.value, True)
        if implicit:
            kind, value = self.plain(node.value)
            return (kind, value, False)
        if tag in (TAG + "str", "!"):
            return ("a string", node.value, True)
        wanted = {"null": "null", "bool": "a boolean", "int": "a number", "float": "a number"}
        name = tag[len(TAG):] if tag.startswith(TAG) else None
        if name not in wanted:
            raise Refused("other-tag", at)
        kind, value = self.plain(node.value)
        if kind != wanted[name] or (name == "int" and not isinstance(value, int)):
            is_inf = re.fullmatch(r"[-+]?\.(inf|nan)", node.value.lower())
            raise Refused("inf-under-float-tag" if is_inf else "tag-mismatch", at)
        return (kind, value, False)

    def plain(self, text):
        theirs = self.their_plain(text)
        ours = kubectl_reading(text)
        if ours == theirs and isinstance(ours[1], type(theirs[1])):
            return ours
        for name, pattern in SCALAR_DIFFERENCES:
            if re.fullmatch(pattern, text):
                note(name, text)
                return ours
        raise Unlisted(f"{text!r}: kubectl {ours}, PyYAML {theirs}")

    def their_plain(self, text):
        tag = self.loader.resolve(ScalarNode, text, (True, False))
        node = ScalarNode(tag, text)
        kind = tag[len(TAG):]
        if kind == "null":
            return ("null", None)
        if kind == "bool":
            return ("a boolean", self.constructor.construct_yaml_bool(node))
        try:
            if kind == "int":
                return ("a number", self.constructor.construct_yaml_int(node))
            if kind == "float":
                return ("a number", self.constructor.construct_yaml_float(node))
        except ValueError:
            return ("broken", text)
        return ("a string" if kind in ("str", "merge") else kind, text)

    def key(self, node):
        at = self.at(node.start_mark)
        if not isinstance(node, ScalarNode):
            raise Refused("complex-key", at)
        kind, value, _ = self.scalar(node, at)
        if kind == "null":
            raise Refused("null-key", at if node.value else None)
        if kind == "a boolean":
            return "true" if value else "false", at
        return value, at

    def check_keys(self, node):
        """Before `<<` is resolved, in the order of the text."""
        keys = {}
        merges = None
        for key_node, value_node in node.value:
            key, at = self.key(key_node)
            key = str(key)
            if key in keys:
                raise Refused("duplicate-key", at)
            keys[key] = at
            if key_node.tag == TAG + "merge":
                merges = value_node
            # What is inside comes before the next key.
            self.build(value_node, self.at(value_node.start_mark))
        if merges is not None:
            parts = merges.value if isinstance(merges, SequenceNode) else [merges]
            if not all(isinstance(part, MappingNode) for part in parts):
                raise Refused("merge-of-no-mapping")

    def members(self, node):
        if id(node) not in self.flattened:
            self.check_keys(node)
            self.loader.flatten_mapping(node)
            self.flattened[id(node)] = True
        members = {}
        for key_node, value_node in node.value:
            key, at = self.key(key_node)
            mark = self.loader.alias_of_key.get(id(key_node), value_node.start_mark)
            members[str(key)] = [key, at, self.build(value_node, self.at(mark))]
        return members

    def build(self, node, at):
        if isinstance(node, ScalarNode):
            kind, value, quoted = self.scalar(node, at)
            made = {"kind": kind, "value": value, "quoted": quoted, "at": at}
            if kind == "null" and node.start_mark.index == node.end_mark.index:
                made["or_at"] = self.behind_blanks(node.start_mark)
            return made
        if node in self.open:
            raise Refused("recursive-alias")
        if len(self.open) == 128:
            raise Refused("too-deep")
        wanted = "map" if isinstance(node, MappingNode) else "seq"
        if node.tag not in (TAG + wanted, "!"):
            raise Refused("other-tag", at)
        self.open.append(node)
        try:
            if isinstance(node, MappingNode):
                return {"kind": "an object", "at": at, "members": self.members(node)}
            items = []
            for i, item in enumerate(node.value):
                mark = self.loader.alias_of_item.get((id(node), i), item.start_mark)
                items.append(self.build(item, self.at(mark)))
            return {"kind": "an array", "at": at, "items": items}
        finally:
            self.open.pop()


def remember_explicit_tags(loader_class):
    """A scalar node does not say whether its tag was written; the event does."""
    original = loader_class.compose_scalar_node

    def compose_scalar_node(self, anchor):
        event = self.peek_event()
        node = original(self, anchor)
        node.weir_implicit = event.tag is None
        if event.tag == "!":
            node.tag = "!"
        return node

    loader_class.compose_scalar_node = compose_scalar_node


remember_explicit_tags(Loader)


def expected(data):
    """("documents", [...]) or ("refused", Refused) or ("syntax", YAMLError)"""
    try:
        text = data.decode()
        loader = Loader(text)
        builder = Builder(text, loader)
        documents = []
        while loader.check_node():
            root = loader.get_node()
            documents.append(builder.build(root, builder.at(root.start_mark)))
        return "documents", documents
    except Unlisted as unlisted:
        return "unlisted", unlisted
    except Refused as refused:
        note(refused.name, data)
        return "refused", refused
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return "syntax", error


def same_number(text, value):
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", text):
        return False
    if isinstance(value, int):
        return re.fullmatch(r"-?[0-9]+", text) and int(text) == value
    return float(text) == value or (value != value)


def difference(ours, theirs, path="$"):
    """None, or where the two differ."""
    if ours["kind"] != theirs["kind"]:
        return f"{path}: {ours['kind']} {ours['text']!r}, not {theirs['kind']}"
    if ours["at"] != theirs["at"] and ours["at"] == theirs.get("or_at"):
        note("place-of-nothing", path)
    elif ours["at"] != theirs["at"]:
        return f"{path}: at {ours['at']}, not {theirs['at']}"
    kind = ours["kind"]
    if kind == "an object":
        members = {key: (at, node) for key, at, node in ours["members"]}
        wanted = {}
        for key, at, node in theirs["members"].values():
            # Keys that are numbers take our text; that it is the same number is checked here.
            texts = [k for k in members if not isinstance(key, str) and same_number(k, key)]
            wanted[texts[0] if texts else str(key)] = (at, node)
        if members.keys() != wanted.keys():
            return f"{path}: keys {sorted(members)}, not {sorted(wanted)}"
        for key, (at, node) in members.items():
            if at != wanted[key][0]:
                return f"{path}.{key}: key at {at}, not {wanted[key][0]}"
            found = difference(node, wanted[key][1], f"{path}.{key}")
            if found:
                return found
        return None
    if kind == "an array":
        if len(ours["items"]) != len(theirs["items"]):
            return f"{path}: {len(ours['items'])} items, not {len(theirs['items'])}"
        pairs = zip(ours["items"], theirs["items"])
        return next((d for i, (a, b) in enumerate(pairs)
                     if (d := difference(a, b, f"{path}[{i}]"))), None)
    value = theirs["value"]
    same = {
        "null": lambda: ours["text"] == "",
        "a boolean": lambda: ours["text"] == ("true" if value else "false"),
        "a number": lambda: same_number(ours["text"], value),
        "a string": lambda: ours["text"] == value,
    }[kind]()
    if not same:
        return f"{path}: {ours['text']!r}, not {value!r}"
    if ours["quoted"] != theirs["quoted"]:
        return f"{path}: quoted is {ours['quoted']}"
    return None


def count(node):
    children = node.get("items", [m[2] for m in node.get("members", {}).values()])
    return 1 + sum(count(child) for child in children)


def syntax_difference(data, taker, error):
    for name, who, in_text, in_error in SYNTAX_DIFFERENCES:
        if who == taker and re.search(in_text, data) and re.search(in_error, error):
            note(name, data)
            return True
    return False


def judge(data, ours):
    """None, or what is wrong."""
    if b"\xef\xbb\xbf" in data[1:]:
        note("second-bom", data)
        return None
    verdict, theirs = expected(data)
    error = ours.get("error", "")
    is_syntax = error.startswith("not YAML")
    if verdict == "unlisted":
        return str(theirs)
    if verdict == "syntax":
        if error or syntax_difference(data, "weir", str(theirs)):
            return None
        return f"taken, but PyYAML: {theirs}"
    if is_syntax and syntax_difference(data, "PyYAML", error):
        return None
    if verdict == "refused":
        if not error:
            ok = syntax_difference(data, "weir", str(theirs))
            return None if ok else f"taken: {theirs}"
        if not is_syntax and theirs.at is not None and ours["at"] != theirs.at:
            return f"{theirs} at {ours['at']}, not {theirs.at}: {error}"
        return None
    if error.startswith("aliases expand") and sum(map(count, theirs)) > 100000:
        note("too-many-aliases", data)
        return None
    if error:
        return f"refused ({ours['at']} {error})"
    if len(ours["documents"]) != len(theirs):
        return f"{len(ours['documents'])} documents, not {len(theirs)}"
    return next((d for i, (a, b) in enumerate(zip(ours["documents"], theirs))
                 if (d := difference(a, b, f"${i}"))), None)


# --- cases ----------------------------------------------------------------------------------------

PLAIN = """
a abc a-b a:b a#b -a ?a :a a,b null Null NULL nULL ~ true True TRUE tRUE false yes Yes YES no No
NO on On ON off Off OFF y Y n N oN 0 1 -1 +1 -0 +0 00 007 0755 08 09 -017 019 0o17 0O17 0o8 -0o7 0x1F
0X1f -0x1F 0xG 0x 0b101 0B11 0b2 1_000 1__0 1_ _1 -_1 +_ 0_7 0x_F 0_x1 0b_1 0o_7 1.5 .5 5. -.5 +.5 +1.5
1e3 1E3 1e+3 1.e3 1.5e3 1.5e+3 1.5e-3 .5e3 .5e+3 -.5e3 1e 1e+ e3 . .. ... - -- + .inf -.inf +.inf .Inf
.INF .nan .NaN .NAN .iNf 1.2.3 1_0.5 1.5_0 ._5 .5_0 ._ 5_e3 12:30 1:02:03 01:30:00 20:30.15 -1:30 12:60
2026-11-30 2026-1-3 2026-11-30T10:00:00Z 2001-12-14t21:59:43.10-05:00 2026-13-45 = << < 0xFFFFFFFFFFFFFFFF
0x10000000000000000 -0x8000000000000000 -0x8000000000000001 0b{ones} 18446744073709551616
99999999999999999999999999 1e400 500m 20Gi 1.0 v1 größe 日本 a\u00a0b 08.5 0.10 00.5 -08 1e1_0
""".replace("{ones}", "1" * 65).replace("{", "").replace("}", "").split()

FIXED = [
    "", " ", "\n", "\ufeff\ufeffa", "{a:, b: c}", "[!, ! b]", "a: >\n  \tb\n", "a: [b?, c]", ">#-\n a\n", "[1.5?, b]", "# c", "---", "---\n---", "--- a\n--- b\n", "a\n...\nb\n", "...", "%YAML 1.1\n---\na",
    "%YAML 1.1\n%YAML 1.1\n---\na", "%FOO bar\n---\na", "a: 1\n---\n# only\n", "\ufeffa: 1", "\ufeff",
    "a: 1\r\nb: 2\rc: 3\n", "a: \"x\\\n  y\\x41\\u00e9\\U0001F600\\n\\_\\N\\L\\P\\e\"",
    "a: 'it''s'\nb: |+\n  x\n\nc: >-\n  f\n  g\n\n   h\n\n  i\nd: |2\n   x\n", "a: |\n\n  x\n",
    "- - a\n  - b\n-\n  c: d\n- ? e\n  : f\n", "? a\n? b\n: c\n", "{a, b: , c: d, ? e, \"f\":g}",
    "[a: b, c: {d: e}, [f], ? g : h]", "a:\n- b\n- c:\n  - d\n", "&a a: &b b\nc: *b\n",
    "a: &x {k: 1}\nb: *x\nc: [*x, *x]\n", "a: &x [1, &y {z: 2}]\nb: {v: *y, w: *x}\n",
    "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\nc: {<<: [*x, {m: 4, k: 5}]}\nd:\n  <<: {n: 6}\n",
    "a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y}\n", "<<: {a: &v [1]}\nb: *v\n",
    "a: {<<: []}\n", "a: {<<: 5}\n", "a: {<<: [x]}\n", "'<<': {a: 1}\n", "a: <<\n", "[<<]",
    "a: 1\na: 2\n", "{a: 1, 'a': 2}", "1: a\n'1': b\n", "yes: 1\non: 2\n", "true: 1\n'true': 2\n",
    "{<<: {a: 1}, <<: {b: 2}}", "~: 1\n", ": 1\n", "{[a]: b}", "? {a: b}\n: c\n", "0x10: a\n16: b\n",
    "1.5: a\n.5: b\n1e3: c\n0x1F: d\n", "a: !!str 5\nb: !!int '5'\nc: !!float 1\nd: !!bool 'no'\ne: !!null ''\n",
    "a: !!int x\n", "a: !!int 1.5\n", "a: !!float .inf\n", "a: !!bool 1\n", "a: !!null x\n", "a: !!float x\n",
    "a: ! x\nb: ! [c]\n", "a: !foo x\n", "a: !!binary aGk=\n", "a: !!set {x}\n", "a: !!map {x: 1}\n",
    "a: !!seq {x: 1}\n", "a: !!omap []\n", "a: !!timestamp 2026-11-30\n", "!!str a: !!str b\n",
    "%TAG !e! tag:yaml.org,2002:\n---\n- !e!int '0x1F'\n", "- !<tag:yaml.org,2002:str> 5\n",
    "a: \"\\0\"\n", "a: \"x\\0y\"\n", "\"\\0\": a\n", "a: &x [*x]\n", "&x a: *x\n", "a: &x {b: *x}\n",
    "[" * 128 + "]" * 128, "[" * 129 + "]" * 129, "- " * 129 + "a", "a: *b\n", "a: &b 1\n---\nc: *b\n",
    "a:\n\tb: 1\n", "a: @b\n", "a: `b`\n", "a: %b\n", "a: {b}/c\n", "a: b: c\n", "a:\n  b: 1\n c: 2\n",
    "- a\nb: 1\n", "a: [1, 2\nb: 3\n", "a: 'x\n", "a: \"\\d\"\n", "a: \x01\n", "a: \x7f\n", "a: \x85b\n",
    "{\"a\":1,\"b\":[true,null]}", "{\n\t\"a\": 1\n}", "a: b # c\nd: e#f\n", "a:\n  - b\n  -c\n",
    "key with spaces: value with spaces\n", "a: b\n  c\n  d\n", "a: 'b\n  c'\n", "\"a\n b\": c\n",
    "a: -\n", "a: - b\n", "- -\n- - -\n", "a: [\n]\n", "a: {\n}\n", "a: [b,]\n", "a: [,b]\n", "a: {b: c,}\n",
    "a: &b\nc: *b\n", "a: &b !!str\n", "a: !!str &b\nc: *b\n", "x: &1 a\ny: *1\n", "a: |x\n", "a: |\n b\n  c\n",
    "a: >\n b\n\n\n c\n", "a: \"\\ud83d\\ude00\"\n", "a: '\U0001F600'\n", "ä: ö\nß: [ü, é]\n",
]


def embed(rng, plain):
    """One plain scalar in the places a scalar can be in."""
    yield plain
    yield f"a: {plain}\n"
    yield f"- {plain}\n- x\n"
    yield f"[x, {plain}, y]"
    yield f"{plain}: v\n"
    yield f"a: '{plain}'\nb: \"{plain}\"\nc: !!str {plain}\n"
    yield f"a: !!{rng.choice(['int', 'float', 'bool', 'null'])} {plain}\n"


class Generator:
    """Random documents in all styles; not all of them are valid."""

    def __init__(self, rng):
        self.rng = rng

    def document(self):
        self.n_keys = 0
        self.anchors = []
        self.mappings = []  # the anchors that `<<` can take
        return self.block(0, 0) if self.rng.random() < 0.7 else self.flow(0) + "\n"

    def plain(self):
        # What may not start a plain scalar in brackets, or splits there, would spoil too many.
        while True:
            plain = self.rng.choice(PLAIN)
            if not re.match(r"[:?]|-$|.*,", plain) or self.rng.random() < 0.01:
                return plain

    def scalar(self):
        r = self.rng.random()
        plain = self.plain()
        if r < 0.7:
            return plain
        if r < 0.8:
            return "'" + plain.replace("'", "''") + "'"
        if r < 0.9:
            return '"' + plain + self.rng.choice(["", "\\n", "\\t", "\\u00e9"]) + '"'
        if r < 0.995:
            return self.rng.choice(["!!str ", "! "]) + plain
        return "!!int " + plain

    def key(self):
        self.n_keys += 1
        r = self.rng.random()
        if r < 0.03:
            return self.plain()
        if r < 0.035:
            return "same"
        return self.rng.choice(["k%d", "'q %d'", '"d%d"', "ö%d"]) % self.n_keys

    def anchor(self):
        if self.rng.random() > 0.15:
            return "", None
        self.n_keys += 1
        name = f"n{self.n_keys if self.rng.random() < 0.9 else 0}"
        return f"&{name} ", name

    def alias(self):
        return "*" + self.rng.choice(self.anchors)

    def merge(self):
        names = self.mappings if self.rng.random() < 0.99 else self.anchors
        if not names or self.rng.random() > 0.3:
            return None
        if self.rng.random() < 0.3:
            return "[" + ", ".join(f"*{self.rng.choice(names)} " for _ in range(2)) + "]"
        return f"*{self.rng.choice(names)} "

    def flow(self, depth):
        r = self.rng.random()
        if self.anchors and r < 0.1:
            return self.alias() + " "
        prefix, name = self.anchor()
        if depth > 3 or r < 0.5:
            text = prefix + self.scalar()
        elif r < 0.75:
            items = [self.flow(depth + 1) for _ in range(self.rng.randrange(4))]
            text = prefix + "[" + ", ".join(items) + "]"
        else:
            pairs = [f"{self.key()}: {self.flow(depth + 1)}" for _ in range(self.rng.randrange(4))]
            merge = self.merge()
            if merge:
                pairs.append(f"<<: {merge}")
            text = prefix + "{" + ", ".join(pairs) + "}"
            if name:
                self.mappings.append(name)
        if name:
            self.anchors.append(name)
        return text

    def block(self, depth, indent):
        """Starts behind what opened it; ends with a line end."""
        pad = " " * indent
        r = self.rng.random()
        if depth > 4 or r < 0.3:
            return self.leaf(indent)
        prefix, name = self.anchor() if depth > 0 else ("", None)
        lines = ["" if depth == 0 else f"{prefix}\n"]
        for _ in range(self.rng.randrange(1, 5)):
            child = self.block(depth + 1, indent + self.rng.choice([1, 2, 4]))
            if r < 0.6:
                lines.append(f"{pad}- {child}")
            elif self.rng.random() < 0.05:
                lines.append(f"{pad}? {self.key()}\n{pad}: {child}")
            else:
                lines.append(f"{pad}{self.key()}: {child}")
            if self.rng.random() < 0.05:
                lines.append(self.rng.choice(["\n", f"{pad}# note: x\n", "   \n"]))
        if r >= 0.6:
            merge = self.merge()
            if merge:
                lines.append(f"{pad}<<: {merge}\n")
            if name:
                self.mappings.append(name)
        if name:
            self.anchors.append(name)
        return "".join(lines)

    def leaf(self, indent):
        r = self.rng.random()
        pad = " " * (indent + 1)
        if r < 0.15:
            words = [self.rng.choice(PLAIN) for _ in range(3)]
            return self.rng.choice("|>") + self.rng.choice(["", "-", "+"]) + "\n" + "".join(
                f"{pad}{w}\n" for w in words)
        if r < 0.2:
            return "\n"
        if r < 0.25:
            return f"{self.rng.choice('ab')}\n{pad}{self.rng.choice(PLAIN)}\n"
        return self.flow(2) + self.rng.choice(["", "", " # c"]) + "\n"


def mutate(rng, text):
    text = list(text)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        r = rng.random()
        if r < 0.4 and text:
            del text[min(at, len(text) - 1)]
        elif r < 0.8:
            text.insert(at, rng.choice(list(" \n\t-:,?&*!|>'\"%@`#{}[]axö0~<\r\u2028\x85")))
        elif text:
            other = rng.randrange(len(text))
            text[at:at] = text[other:other + rng.randrange(1, 12)]
    return "".join(text)


def cases(seed, files):
    rng = random.Random(seed)
    for text in FIXED:
        yield text.encode()
    for path in files:
        with open(path, "rb") as file:
            yield file.read()
    for plain in PLAIN:
        for text in embed(rng, plain):
            yield text.encode()
    generator = Generator(rng)
    made = [generator.document() for _ in range(N_GENERATED)]
    for text in made:
        yield text.encode()
    for _ in range(N_MUTATED):
        yield mutate(rng, rng.choice(made + FIXED)).encode()


def run(program, texts):
    feed = b"".join(b"%d\n" % len(t) + t for t in texts)
    done = subprocess.run([program], input=feed, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"yaml_print ended with {done.returncode}: {done.stderr.decode()}")
    lines = done.stdout.decode().split("\n")[:-1]
    if len(lines) != len(texts):
        sys.exit(f"{len(lines)} answers to {len(texts)} cases")
    return [json.loads(line) for line in lines]


def main():
    program, differs, *files = sys.argv[1:]
    seed = int(os.environ.get("WEIR_SEED", "20261130"))
    texts = list(cases(seed, files))
    n_wrong = 0
    n_taken = 0
    for text, ours in zip(texts, run(program, texts)):
        wrong = judge(text, ours)
        n_taken += "documents" in ours
        if wrong is None:
            continue
        n_wrong += 1
        if n_wrong <= 20 or verbose:
            print(f"--- {wrong}\n{text!r}")
    with open(differs, encoding="utf-8") as file:
        explained = set(re.findall(r"^\| `([a-z0-9-]+)` \|", file.read(), re.M))
    names = {d[0] for d in SCALAR_DIFFERENCES} | REFUSALS | TAKEN | OTHERS | {d[0] for d in SYNTAX_DIFFERENCES}
    for name in sorted(names - seen.keys()):
        n_wrong += 1
        print(f"--- no case shows the difference '{name}'")
    for name in sorted(names ^ explained):
        n_wrong += 1
        print(f"--- '{name}' is not in both the test and {os.path.basename(differs)}")
    print(f"{len(texts)} cases, {n_taken} of them read, {n_wrong} wrong (WEIR_SEED={seed})")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
