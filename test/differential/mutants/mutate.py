#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Copies of the verifier's sources in which each check can be switched off.

mutate.py OUT FILE...: writes OUT/<name>.c for each FILE, with a switch
NB_MUTANT(n) at every place that a test should notice, and OUT/mutants.txt,
one mutant a line: number, kind, file, function, text.

  refuse     a refusal that is not made
  label      a label, a link, a note or a use of a budget that is not made
  weigh      a part of a helper's cost that is not added
  lax        part of a condition that lets more pass; not those that only
             choose words, nor whether there was memory
  strict     part of a condition that lets less pass (not gating: precision)
  drop       a statement that is left out (not gating)
"""
import os
import re
import sys

LABEL = re.compile(
    r"\b(nb_stack_smear\w*|taint\w*|follow\w*|source|smear_\w+|note_\w+|label_\w+|nb_reg_unlink|"
    r"link_scalar|forget|split|to_bytes|nb_region_(?:open|close)|"
    r"nb_state_forget|nb_\w*(?:taint|label|release|clear)\w*|"
    r"nb_budget_(?:spend|lose|pass|loop|begin)\w*|forget_iter\w+)\(")
REFUSE = re.compile(r"\b(nb_refuse(?:_\w+)?|refuse(?:_\w+)?|(?:nb_)?over_\w+)\(")
WORDS = {"refuse.c"}
NO_MEMORY = re.compile(r"\{?\s*(return NB_E_NOMEM|return nb_over_memory|"
                       r"env->walk.nomem = true)")
SKIP = {"say.c", "accepted.c", "answers.c",
        "local.c", "source.c", "text.c", "names.c", "notes.c", "witness.c", "range.c",
        "range_alu.c", "range_branch.c", "tnum.c"}


def mask(text):
    """The text with comments, strings and preprocessor lines blanked."""
    out = list(text)
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|'
        r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
        re.S | re.M)
    for m in pattern.finditer(text):
        for i in range(m.start(), m.end()):
            if out[i] != "\n":
                out[i] = "_" if text[m.start()] in "\"'" else " "
    return "".join(out)


def close(text, at):
    """Offset behind the bracket that closes the one at @at."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if not depth:
                return i + 1
    raise ValueError("no closing bracket")


def functions(text):
    """Bodies, which begin in column 0: name, first, end, is it a bool?"""
    for m in re.finditer(r"^\{\n", text, re.M):
        head = text[:m.start()].rstrip()
        if not head.endswith(")"):
            continue
        depth = 0
        for i in range(len(head) - 1, -1, -1):
            depth += (head[i] == ")") - (head[i] == "(")
            if not depth:
                break
        name = re.search(r"(\w+)\s*$", head[:i]).group(1)
        line = head[head.rfind("\n", 0, i) + 1:i]
        end = text.index("\n}", m.end()) + 1
        yield name, m.start(), end, bool(re.search(r"\bbool\b", line))


def atoms(text, first, end):
    """Spans of a condition's parts, split at && and || to the bottom."""
    while first < end and text[first].isspace():
        first += 1
    while end > first and text[end - 1].isspace():
        end -= 1
    parts, depth, start, i = [], 0, first, first
    while i < end:
        if text[i] in "([{":
            i = close(text, i)
            continue
        if text[i:i + 2] in ("&&", "||"):
            parts.append((start, i))
            start = i + 2
            i += 1
        elif text[i] == "?":
            return [(first, end)]
        i += 1
    parts.append((start, end))
    if len(parts) > 1:
        return [a for p in parts for a in atoms(text, *p)]
    if text[first] == "(" and close(text, first) == end:
        return atoms(text, first + 1, end - 1)
    if text[first] == "!" and text[first + 1] == "(" and \
            close(text, first + 1) == end:
        return [(first, end)] + [
            a for a in atoms(text, first + 2, end - 1)
            if a != (first + 2, end - 1)]
    return [(first, end)]


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


class File:
    def __init__(self, path, mutants):
        self.name = os.path.basename(path)
        with open(path) as f:
            self.text = f.read()
        self.code = mask(self.text)
        self.edits = []  # (offset, text) to insert
        self.mutants = mutants

    def new(self, kind, func, text):
        self.mutants.append((kind, self.name, func, squeeze(text)))
        return len(self.mutants)

    def insert(self, at, text, order=0):
        self.edits.append((at, order, len(self.edits), text))

    def force(self, kind, func, span, value, context):
        first, end = span
        n = self.new(kind, func, "%s: %s" % (
            context, squeeze(self.text[first:end])))
        # Both directions of one part nest: the later one goes outside.
        self.insert(first, "(NB_MUTANT(%d) ? %d : (bool)(" % (n, value), -n)
        self.insert(end, "))", n)

    def refusals(self, func, first, end):
        for m in REFUSE.finditer(self.code, first, end):
            before = self.code[first:m.start()].rstrip()
            if not before.endswith(("return", "?", ":", "=", ";", "{", "}",
                                    ")")):
                continue
            inside = self.text[m.start():close(self.code, m.end() - 1)]
            word = re.search(r"NB_RULE_\w+", inside)
            n = self.new("refuse", func,
                         word.group(0) if word else m.group(1))
            self.insert(m.start(), "NB_MUTANT(%d) ? 0 : " % n, -n)

    def labels(self, func, first, end):
        for m in LABEL.finditer(self.code, first, end):
            before = self.code[first:m.start()].rstrip()
            stop = close(self.code, m.end() - 1)
            text = self.text[m.start():stop]
            if before.endswith((";", "{", "}", ")", "else")):
                if not self.code[stop:].lstrip().startswith(";"):
                    continue
                n = self.new("label", func, text)
                self.insert(m.start(), "NB_MUTANT(%d) ? (void)0 : (void)" % n,
                            -n)
            elif m.group(1) == "source" and not before.endswith("static"):
                n = self.new("label", func, text)
                self.insert(m.start(),
                            "(NB_MUTANT(%d) ? NB_LABEL_COHERENT : " % n, -n)
                self.insert(stop, ")", n)

    def conditions(self, func, first, end, returns):
        for m in re.finditer(r"\bif \(", self.code[first:end]):
            at = first + m.end() - 1
            stop = close(self.code, at)
            body = self.code[stop:].lstrip()
            if NO_MEMORY.match(body):
                continue
            grants = re.match(
                r"return (0|true|\w+ == \w+);", body)
            context = "if"
            lax = 1 if grants else 0
            spans = atoms(self.code, at + 1, stop - 1)
            for s in spans:
                if re.match(r"\(?\w+ = ", self.code[s[0]:s[1]]) and not grants:
                    continue  # if ((rc = f())) return rc;
                self.force("lax", func, s, lax, context)
                self.force("strict", func, s, 1 - lax, context)
        for m in re.finditer(r"\breturn ", self.code[first:end]):
            if not returns:
                break
            at = first + m.end()
            stop = self.code.index(";", at)
            text = self.code[at:stop]
            if not re.search(r"&&|\|\||[=!<>]=|^!|^nb_\w+\(", text) or \
                    "?" in text or "{" in text or REFUSE.search(text):
                continue
            for s in atoms(self.code, at, stop):
                self.force("lax", func, s, 1, "return")
                self.force("strict", func, s, 0, "return")

    def drops(self, func, first, end):
        for m in re.finditer(
                r"(?<=[;{})])(\s+)((?:\*?\(?\w+(?:->|\.|\[)[^;={}]*|\w+) "
                r"[-+|&]?= [^;{}]*);", self.code[first:end]):
            at = first + m.start(2)
            if m.group(2).count("(") != m.group(2).count(")"):
                continue
            if re.match(r"(return|struct|const|bool|u?int\w*|else|case)\b",
                        self.code[at:]):
                continue
            adds = self.name == "helper_cost.c" and "+=" in m.group(2)
            n = self.new("weigh" if adds else "drop", func,
                         self.text[at:first + m.end(2)])
            self.insert(at, "NB_MUTANT(%d) ? (void)0 : (void)(" % n, -n)
            self.insert(first + m.end(2), ")", n)

    def mutate(self):
        for func, first, end, returns in functions(self.code):
            self.refusals(func, first, end)
            self.labels(func, first, end)
            if self.name in WORDS:
                continue
            self.conditions(func, first, end, returns)
            self.drops(func, first, end)

    def result(self):
        out, at = ['#include "test/differential/mutants/mutant.h"\n'], 0
        for offset, _, _, text in sorted(self.edits):
            out += [self.text[at:offset], text]
            at = offset
        return "".join(out) + self.text[at:]


def main():
    out, mutants = sys.argv[1], []
    os.makedirs(out, exist_ok=True)
    for path in sys.argv[2:]:
        f = File(path, mutants)
        if f.name not in SKIP:
            f.mutate()
        with open(os.path.join(out, f.name), "w") as to:
            to.write(f.result())
    with open(os.path.join(out, "mutants.txt"), "w") as to:
        for n, m in enumerate(mutants, 1):
            to.write("\t".join((str(n),) + m) + "\n")


main()
