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
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: PyYAML is not installed (Debian: python3-yaml)")
    sys.exit(77)

from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from yaml_cases import cases

TAG = "tag:yaml.org,2002:"


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
        value = int(digits[1:] if digits[0] in "xbo" else digits, base)
        value = -value if based[1] == "-" else value
        if -(2**63) <= value < 2**64:
            return ("a number", value)
    if GO_FLOAT.fullmatch(plain):
        whole = re.fullmatch(r"[-+]?[0-9]+", plain)
        return ("a number", int(plain) if whole else float(plain))
    return ("a string", text)


def json_text(text):
    """A number with a point or an exponent, as JSON writes it."""
    plain = text if text[0] == "." else text.replace("_", "")
    sign, whole, _, fraction, exponent = re.fullmatch(
        r"([-+]?)([0-9]*)(\.([0-9]*))?([eE].*)?", plain).groups()
    return ("-" if sign == "-" else "") + (whole.lstrip("0") or "0") + (
        "." + fraction if fraction else "") + (exponent or "")


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
    ("question-mark", "weir", rb"[^\s,\[{][ \t]*\?", r"."),
    ("comment-behind-block", "weir", rb"[|>][-+0-9]*#", r"indicators, but found '#'"),
    ("tag-and-bracket", "weir", rb"![a-z!]*[,\[\]{}]", r"<tag>|scanning a tag|other-tag"),
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
        return json_text(node.value) if isinstance(value, float) else str(value), at

    def check_keys(self, node):
        """Before `<<` is resolved, in the order of the text."""
        keys = {}
        merges = None
        for key_node, value_node in node.value:
            key, at = self.key(key_node)
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
            members[key] = [key, at, self.build(value_node, self.at(mark))]
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
        wanted = {key: (at, node) for key, at, node in theirs["members"].values()}
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
