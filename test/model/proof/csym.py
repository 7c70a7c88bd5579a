# SPDX-License-Identifier: MIT
"""C run on symbols: the shipped source is what a proof is about.

An interpreter for the small part of C that core/bpf/verify/domain/ is written in:
integers of 8 to 128 bits, structs by value, pointers to variables, if, switch
on known values, loops with known bounds. Numbers are Python's while they are
known and z3's bit vectors otherwise; both ways of an unknown condition are
taken and merged, so a call gives one formula.
"""
import os
import re
import subprocess
import tempfile

import z3
from pycparser import c_ast, c_parser

HEADERS = {
    "stdint.h": "".join(
        "typedef %s %sint%d_t;\n" % (t, u, b)
        for u in ("", "u") for b, t in
        ((8, "char"), (16, "short"), (32, "int"), (64, "long"))),
    "stdbool.h": "typedef _Bool bool;\n#define true 1\n#define false 0\n",
    "stddef.h": "typedef unsigned long size_t;\n#define NULL ((void *)0)\n",
}
CONSTANTS = """
#define UINT64_MAX 0xffffffffffffffffUL
#define UINT32_MAX 0xffffffffU
#define INT64_MAX 0x7fffffffffffffffL
#define INT64_MIN (-0x7fffffffffffffffL - 1)
#define INT32_MAX 0x7fffffff
#define INT32_MIN (-0x7fffffff - 1)
"""
NAMED = {"uint8_t": (8, False), "uint16_t": (16, False),
         "uint32_t": (32, False), "uint64_t": (64, False),
         "int8_t": (8, True), "int16_t": (16, True), "int32_t": (32, True),
         "int64_t": (64, True), "size_t": (64, False), "wide": (128, True),
         "uwide": (128, False), "bool": (1, False)}


class Num:
    """An integer of C: an int from 0 to 2^bits - 1, or a bit vector."""
    __slots__ = ("v", "bits", "signed")

    def __init__(self, v, bits, signed):
        if isinstance(v, int):
            v &= (1 << bits) - 1
        self.v, self.bits, self.signed = v, bits, signed

    def known(self):
        return isinstance(self.v, int)

    def value(self):
        """The number itself, of a known one."""
        if self.signed and self.v >> (self.bits - 1):
            return self.v - (1 << self.bits)
        return self.v

    def expr(self):
        return z3.BitVecVal(self.v, self.bits) if self.known() else self.v


class Ref:
    """A place: a variable of a frame, a field of a struct."""
    __slots__ = ("box", "key")

    def __init__(self, box, key):
        self.box, self.key = box, key


def both(a, b):
    if a is True:
        return b
    if b is True:
        return a
    if a is False or b is False:
        return False
    return z3.And(a, b)


def no(a):
    return not a if isinstance(a, bool) else z3.Not(a)


def copy(v):
    return {k: copy(x) for k, x in v.items()} if isinstance(v, dict) else v


def cast(n, bits, signed):
    if bits == 1:
        return truth(n)
    if isinstance(n, (bool, z3.BoolRef)):
        if isinstance(n, bool):
            return Num(int(n), bits, signed)
        return Num(z3.If(n, z3.BitVecVal(1, bits), z3.BitVecVal(0, bits)),
                   bits, signed)
    if n.known():
        return Num(n.value(), bits, signed)
    v = n.v
    if bits < n.bits:
        v = z3.Extract(bits - 1, 0, v)
    elif bits > n.bits:
        v = (z3.SignExt if n.signed else z3.ZeroExt)(bits - n.bits, v)
    return Num(v, bits, signed)


def truth(n):
    if isinstance(n, (bool, z3.BoolRef)):
        return n
    if isinstance(n, Ref) or n is None:
        return n is not None
    return n.v != 0


def merge(cond, a, b):
    """@a where @cond holds, else @b; None: never assigned."""
    if cond is True or b is None:
        return a
    if cond is False or a is None:
        return b
    if isinstance(a, dict):
        return {k: merge(cond, a[k], b.get(k)) for k in a}
    if isinstance(a, Ref):
        return a
    if isinstance(a, (bool, z3.BoolRef)) or isinstance(b, (bool, z3.BoolRef)):
        a, b = truth(a), truth(b)
        if isinstance(a, bool) and isinstance(b, bool) and a == b:
            return a
        return z3.If(cond, a, b)
    if a.known() and b.known() and a.v == b.v:
        return a
    return Num(z3.If(cond, a.expr(), cast(b, a.bits, a.signed).expr()),
               a.bits, a.signed)


def promote(n):
    if isinstance(n, (bool, z3.BoolRef)) or n.bits < 32:
        return cast(n, 32, True)
    return n


def common(a, b):
    a, b = promote(a), promote(b)
    bits = max(a.bits, b.bits)
    signed = (a.signed if a.bits > b.bits else b.signed if b.bits > a.bits
              else a.signed and b.signed)
    return cast(a, bits, signed), cast(b, bits, signed)


class Frame:
    def __init__(self):
        self.vars, self.types = {}, {}
        self.ret, self.gone = None, False
        self.breaks = []  # of the loops and switches around
        self.unsure = 0  # unknown conditions around


class Program:
    """Functions of C sources, to be called on symbols."""

    def __init__(self, top, sources, defines=()):
        self.funcs, self.structs, self.consts, self.types = {}, {}, {}, {}
        self.contracts = {}  # name -> function used in the place of the body
        self.opaque = None  # stands for * / % of unknown numbers
        self.guard, self.frame = True, None
        self.undefined = []  # conditions under which C says nothing
        self.inverse = dict(self.inverses(top))
        ast = c_parser.CParser().parse(self.read(top, sources, defines))
        for node in ast.ext:
            self.declare(node)

    @staticmethod
    def read(top, sources, defines):
        with tempfile.TemporaryDirectory() as d:
            for name, text in HEADERS.items():
                with open(os.path.join(d, name), "w") as f:
                    f.write("#pragma once\n" + text +
                            (CONSTANTS if name == "stdint.h" else ""))
            with open(os.path.join(d, "all.c"), "w") as f:
                f.write("".join('#include "%s"\n' % s for s in sources))
            return subprocess.run(
                ["cpp", "-P", "-nostdinc", "-I", d, "-I", top,
                 "-D__attribute__(x)=", "-D__extension__=", "-D__int128=int",
                 "-D_Static_assert(...)=", "-Dstatic_assert(...)="] +
                ["-D" + x for x in defines] + [os.path.join(d, "all.c")],
                check=True, stdout=subprocess.PIPE,
                universal_newlines=True).stdout

    @staticmethod
    def inverses(top):
        """Of a row of the instructions' families: its name, its inverse."""
        with open(os.path.join(top, "core/defs/fns.h")) as f:
            for line in f:
                row = re.match(r'FN\((\w+), *".*", *(\w+),', line)
                if row:
                    yield row.groups()

    # ---- declarations

    def declare(self, node):
        if isinstance(node, c_ast.FuncDef):
            self.funcs[node.decl.name] = node
        elif isinstance(node, c_ast.Typedef):
            self.find_type(node.type)
            self.types[node.name] = node.type
        elif isinstance(node, c_ast.Decl):
            self.find_type(node.type)

    def find_type(self, t):
        while not isinstance(t, (c_ast.Struct, c_ast.Enum)):
            if not hasattr(t, "type"):
                return
            t = t.type
        if isinstance(t, c_ast.Struct) and t.decls:
            self.structs[t.name] = [(d.name, d.type) for d in t.decls]
            for d in t.decls:
                self.find_type(d.type)
        elif isinstance(t, c_ast.Enum) and t.values:
            at = 0
            for e in t.values.enumerators:
                if e.value is not None:
                    at = self.value(e.value).value()
                self.consts[e.name] = Num(at, 32, True)
                at += 1

    def type_of(self, t):
        """(bits, signed), a struct's name, or None for the rest."""
        if isinstance(t, c_ast.TypeDecl):
            return self.type_of(t.type)
        if isinstance(t, c_ast.Typename):
            return self.type_of(t.type)
        if isinstance(t, c_ast.Struct):
            return t.name
        if isinstance(t, c_ast.Enum):
            return (32, True)
        if isinstance(t, c_ast.IdentifierType):
            name = t.names[-1]
            if name in NAMED:
                return NAMED[name]
            if name in self.types:
                return self.type_of(self.types[name])
            if name == "_Bool":
                return (1, False)
            bits = {"char": 8, "short": 16, "long": 64}.get(name, 32)
            return (bits, "unsigned" not in t.names)
        return None

    def convert(self, v, t):
        return cast(v, *t) if isinstance(t, tuple) and not isinstance(
            v, Ref) else copy(v)

    # ---- places

    def load(self, ref):
        return ref.box[ref.key]

    def store(self, ref, v, guard=None):
        guard = self.guard if guard is None else guard
        ref.box[ref.key] = merge(guard, copy(v), ref.box.get(ref.key))

    def place(self, e):
        if isinstance(e, c_ast.ID):
            return Ref(self.frame.vars, e.name)
        if isinstance(e, c_ast.StructRef):
            if e.type == "->":
                box = self.load(self.value(e.name))
            else:
                box = self.load(self.place(e.name)) if isinstance(
                    e.name, (c_ast.ID, c_ast.StructRef, c_ast.ArrayRef)) \
                    else self.value(e.name)
            return Ref(box, e.field.name)
        if isinstance(e, c_ast.ArrayRef):
            return Ref(self.load(self.place(e.name)),
                       self.value(e.subscript).value())
        if isinstance(e, c_ast.UnaryOp) and e.op == "*":
            return self.value(e.expr)
        raise NotImplementedError(type(e))

    # ---- expressions

    def value(self, e):
        return getattr(self, "on_" + type(e).__name__)(e)

    def on_Constant(self, e):
        text = e.value.lower()
        digits = text.rstrip("ul")
        v, u = int(digits, 0), "u" in text
        big = "l" in text[len(digits):] or v >> 32 or (
            v >> 31 and not u and not digits.startswith("0x"))
        if v >> 31 and not big and digits.startswith("0x"):
            u = True
        return Num(v, 64 if big else 32, not u)

    def on_ID(self, e):
        if e.name in self.frame.vars if self.frame else False:
            return copy(self.frame.vars[e.name])
        return self.consts[e.name]

    def on_StructRef(self, e):
        return copy(self.load(self.place(e)))

    on_ArrayRef = on_StructRef

    def on_Cast(self, e):
        t = self.type_of(e.to_type)
        v = self.value(e.expr)
        return self.convert(v, t) if t else v

    def on_CompoundLiteral(self, e):
        return self.initial(self.type_of(e.type), e.init)

    def on_TernaryOp(self, e):
        c = truth(self.value(e.cond))
        if isinstance(c, bool):
            return self.value(e.iftrue if c else e.iffalse)
        a = self.under(c, lambda: self.value(e.iftrue))
        b = self.under(no(c), lambda: self.value(e.iffalse))
        if isinstance(a, Num) and isinstance(b, Num):
            a, b = common(a, b)
        return merge(c, a, b)

    def under(self, cond, what):
        """Do it where @cond holds."""
        was, frame = self.guard, self.frame
        self.guard = both(was, cond)
        frame.unsure += not isinstance(cond, bool)
        try:
            return what() if self.guard is not False else None
        finally:
            self.guard = was
            frame.unsure -= not isinstance(cond, bool)

    def on_UnaryOp(self, e):
        if e.op == "&":
            return self.place(e.expr)
        if e.op == "*":
            return copy(self.load(self.value(e.expr)))
        if e.op in ("p++", "p--", "++", "--"):
            ref = self.place(e.expr)
            was = self.load(ref)
            step = Num(1 if "+" in e.op else -1, was.bits, was.signed)
            self.store(ref, self.add(was, step))
            return was if e.op[0] == "p" else self.load(ref)
        v = self.value(e.expr)
        if e.op == "!":
            return no(truth(v))
        v = promote(v)
        if e.op == "-":
            return Num(-v.v, v.bits, v.signed)
        if e.op == "~":
            return Num(~v.v, v.bits, v.signed)
        raise NotImplementedError(e.op)

    @staticmethod
    def add(a, b):
        return Num(a.v + b.v, a.bits, a.signed)

    def on_BinaryOp(self, e):
        if e.op in ("&&", "||"):
            a = truth(self.value(e.left))
            go = a if e.op == "&&" else no(a)
            if go is False:
                return a
            b = self.under(go, lambda: truth(self.value(e.right)))
            if isinstance(a, bool):
                return b
            return both(a, b) if e.op == "&&" else no(both(no(a), no(b)))
        return self.binary(e.op, self.value(e.left), self.value(e.right))

    def binary(self, op, a, b):
        if op in ("<<", ">>"):
            return self.shift(op, promote(a), promote(b))
        a, b = common(a, b)
        if a.known() and b.known():
            return self.known(op, a, b)
        x, y = a.expr(), b.expr()
        if op in ("/", "%"):
            self.never(y == 0)
            if a.signed:
                least = z3.BitVecVal(1 << (a.bits - 1), a.bits)
                self.never(z3.And(x == least, y == -1))
        if self.opaque and op in "*/%":
            return self.opaque(op, a, b)
        if op in ("/", "%"):
            f = ((lambda: x / y) if a.signed else (lambda: z3.UDiv(x, y))) \
                if op == "/" else \
                ((lambda: z3.SRem(x, y)) if a.signed else
                 (lambda: z3.URem(x, y)))
            return Num(f(), a.bits, a.signed)
        if op in "+-*&|^":
            if a.signed and op in "+-" and a.bits > 32:
                self.overflow(op, x, y)
            v = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y,
                 "&": lambda: x & y, "|": lambda: x | y,
                 "^": lambda: x ^ y}[op]()
            return Num(v, a.bits, a.signed)
        return {"==": lambda: x == y, "!=": lambda: x != y,
                "<": lambda: x < y if a.signed else z3.ULT(x, y),
                ">": lambda: x > y if a.signed else z3.UGT(x, y),
                "<=": lambda: x <= y if a.signed else z3.ULE(x, y),
                ">=": lambda: x >= y if a.signed else z3.UGE(x, y)}[op]()

    def never(self, cond):
        self.undefined.append(both(self.guard, cond))

    def overflow(self, op, x, y):
        f = {"+": (z3.BVAddNoOverflow, z3.BVAddNoUnderflow),
             "-": (z3.BVSubNoOverflow, z3.BVSubNoUnderflow)}[op]
        ok = z3.And(f[0](x, y, True), f[1](x, y)) if op == "+" else \
            z3.And(f[0](x, y), f[1](x, y, True))
        self.never(z3.Not(ok))

    @staticmethod
    def known(op, a, b):
        x, y = a.value(), b.value()
        if op in ("/", "%"):
            q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            return Num(q if op == "/" else x - q * y, a.bits, a.signed)
        r = {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y,
             "^": x ^ y, "==": x == y, "!=": x != y, "<": x < y, ">": x > y,
             "<=": x <= y, ">=": x >= y}[op]
        return r if isinstance(r, bool) else Num(r, a.bits, a.signed)

    def shift(self, op, a, n):
        if n.known() and n.value() >= a.bits:
            self.never(True)
            return a
        if not n.known():
            self.never(z3.UGE(n.v, n.bits and z3.BitVecVal(a.bits, n.bits)))
        if a.known() and n.known():
            v = a.value() << n.value() if op == "<<" else \
                a.value() >> n.value()
            return Num(v, a.bits, a.signed)
        x, y = a.expr(), cast(n, a.bits, False).expr()
        if op == "<<":
            v = x << y
        else:
            v = x >> y if a.signed else z3.LShR(x, y)
        return Num(v, a.bits, a.signed)

    def on_Assignment(self, e):
        ref = self.place(e.lvalue)
        was = ref.box.get(ref.key)
        v = self.value(e.rvalue)
        if e.op != "=":
            v = self.binary(e.op[:-1], was, v)
        t = self.declared(e.lvalue, was)
        self.store(ref, self.convert(v, t) if t else v)
        return self.load(ref)

    def declared(self, place, was):
        """The type of a place: the variable's, or that of what is there."""
        if isinstance(place, c_ast.ID):
            return self.frame.types.get(place.name)
        if isinstance(was, Num):
            return (was.bits, was.signed)
        if isinstance(was, (bool, z3.BoolRef)):
            return (1, False)
        return None

    def on_FuncCall(self, e):
        args = [self.value(a) for a in (e.args.exprs if e.args else [])]
        return self.call(e.name.name, args)

    # ---- calls

    def call(self, name, args):
        if name in self.contracts:
            return self.contracts[name](self, *args)
        if name.startswith("__builtin_"):
            return getattr(self, name[2:])(*args)
        if name == "nb_spec_fn":
            return self.spec_fn(*args)
        node, frame = self.funcs[name], Frame()
        params = node.decl.type.args.params if node.decl.type.args else []
        for p, a in zip(params, args):
            if p.name is None:
                continue
            t = self.type_of(p.type)
            frame.types[p.name] = t
            frame.vars[p.name] = self.convert(a, t) if t else copy(a)
        was, guard = self.frame, self.guard
        self.frame = frame
        self.run(node.body)
        self.frame, self.guard = was, guard
        t = self.type_of(node.decl.type.type)
        return self.convert(frame.ret, t) if t and frame.ret is not None \
            else frame.ret

    def spec_fn(self, n):
        """core/spec/spec.c: a pointer to the row of a known family."""
        name = next(k for k in self.inverse
                    if self.consts["NB_FN_" + k].v == n.value())
        return Ref({"": {"inverse": self.consts[
            "NB_FN_" + self.inverse[name]]}}, "")

    def builtin_clzll(self, n):
        v = Num(64, 32, True)
        for i in range(64):
            bit = self.binary("&", self.binary(">>", n, Num(i, 32, True)),
                              Num(1, 64, False))
            v = merge(truth(bit), Num(63 - i, 32, True), v)
        self.never(no(truth(n)))
        return v

    def builtin_ctzll(self, n):
        v = Num(64, 32, True)
        for i in reversed(range(64)):
            bit = self.binary("&", self.binary(">>", n, Num(i, 32, True)),
                              Num(1, 64, False))
            v = merge(truth(bit), Num(i, 32, True), v)
        return v

    def builtin_bswap64(self, n):
        if n.known():
            return Num(int.from_bytes(n.v.to_bytes(8, "little"), "big"), 64,
                       False)
        return Num(z3.Concat(*[z3.Extract(8 * i + 7, 8 * i, n.v)
                               for i in range(8)]), 64, False)

    # ---- statements

    def alive(self):
        return both(self.guard, no(self.frame.gone))

    def run(self, s):
        if s is None or self.frame.gone is True:
            return
        entry = self.guard
        self.guard = self.alive()
        for b in self.frame.breaks[-1:]:
            self.guard = both(self.guard, no(b[0]))
        if self.guard is not False:
            f = getattr(self, "do_" + type(s).__name__, None)
            if f:
                f(s)
            else:
                self.value(s)
        self.guard = entry

    def do_Compound(self, s):
        for x in s.block_items or []:
            self.run(x)

    def initial(self, t, init):
        if isinstance(t, tuple):
            return self.convert(self.value(init), t)
        if t is None:
            return self.value(init)
        out = {}
        fields = self.structs[t]
        if isinstance(init, c_ast.InitList):
            for i, (name, ft) in enumerate(fields):
                sub = self.type_of(ft)
                if i < len(init.exprs):
                    out[name] = self.initial(sub, init.exprs[i])
                else:
                    out[name] = Num(0, *sub) if isinstance(sub, tuple) else {}
            return out
        return self.value(init)

    def do_Decl(self, s):
        t = s.type
        if isinstance(t, c_ast.ArrayDecl):
            sub = self.type_of(t.type)
            self.frame.vars[s.name] = {
                i: self.initial(sub, x) for i, x in enumerate(s.init.exprs)}
            return
        kind = self.type_of(t)
        self.frame.types[s.name] = kind
        if s.init is not None:
            self.frame.vars[s.name] = self.initial(kind, s.init)
        elif isinstance(kind, str):
            self.frame.vars[s.name] = self.blank(kind)
        else:
            self.frame.vars[s.name] = None

    def blank(self, struct):
        return {n: self.blank(self.type_of(t))
                if isinstance(self.type_of(t), str)
                else Num(0, *self.type_of(t))
                for n, t in self.structs[struct]}

    def do_DeclList(self, s):
        for d in s.decls:
            self.do_Decl(d)

    def do_If(self, s):
        c = truth(self.value(s.cond))
        self.under(c, lambda: self.run(s.iftrue))
        self.under(no(c), lambda: self.run(s.iffalse))

    def do_Return(self, s):
        v = self.value(s.expr) if s.expr is not None else None
        here = self.alive()
        self.frame.ret = merge(here, copy(v), self.frame.ret)
        gone = no(both(no(self.frame.gone), no(here)))
        # No unknown condition is around: what is not gone goes now.
        if not self.frame.unsure and not self.frame.breaks:
            gone = True
        self.frame.gone = gone

    def do_Break(self, _):
        b = self.frame.breaks[-1]
        b[0] = no(both(no(b[0]), no(self.alive())))

    def do_For(self, s):
        self.frame.breaks.append([False])
        if s.init is not None:
            self.run(s.init)
        for _ in range(300):
            c = truth(self.value(s.cond))
            if not isinstance(c, bool):
                raise NotImplementedError("a loop of unknown length")
            if not c or self.frame.breaks[-1][0] is True or \
                    self.frame.gone is True:
                break
            self.run(s.stmt)
            step, was = s.next, self.guard
            self.guard = True
            if step is not None:
                self.value(step)
            self.guard = was
        self.frame.breaks.pop()

    def do_Switch(self, s):
        v = self.value(s.cond).value()
        self.frame.breaks.append([False])
        match, default = None, None
        for i, x in enumerate(s.stmt.block_items):
            if isinstance(x, c_ast.Default):
                default = i
            elif isinstance(x, c_ast.Case) and \
                    self.value(x.expr).value() == v:
                match = i
        at = match if match is not None else default
        for x in s.stmt.block_items[at:] if at is not None else []:
            for y in x.stmts if isinstance(x, (c_ast.Case, c_ast.Default)) \
                    else [x]:
                self.run(y)
        self.frame.breaks.pop()

    def do_EmptyStatement(self, _):
        pass
