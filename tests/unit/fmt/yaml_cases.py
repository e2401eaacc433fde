"""The texts that yaml_oracle.py compares on: fixed, generated, and mutated ones of both."""

import random
import re

N_GENERATED = 1000
N_MUTATED = 2000

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
