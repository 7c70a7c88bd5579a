# SPDX-License-Identifier: MIT
"""Numbers and abstract values as symbols, and what the machine does to them:
from RFC 9669, apart from the code under proof."""
import z3

from csym import Num, Ref

FIELDS = [("umin", 64, False), ("umax", 64, False), ("smin", 64, True),
          ("smax", 64, True), ("umin32", 32, False), ("umax32", 32, False),
          ("smin32", 32, True), ("smax32", 32, True)]
SOURCES = ["core/bpf/verify/domain/%s.c" % s
           for s in ("tnum", "range", "range_alu", "range_branch")]


def tnum(name):
    return {f: Num(z3.BitVec(name + "." + f, 64), 64, False)
            for f in ("value", "mask")}


def range_(name):
    r = {f: Num(z3.BitVec(name + "." + f, bits), bits, s)
         for f, bits, s in FIELDS}
    r["t"] = tnum(name)
    return r


def member(name):
    return Num(z3.BitVec(name, 64), 64, False)


def at(v):
    """A pointer to a value."""
    return Ref({"": v}, "")


def bv(v, bits=64):
    return z3.BitVecVal(v, bits)


def half(x):
    return z3.Extract(31, 0, x)


def wide(x):
    return z3.ZeroExt(32, x)


def divide(x, y):
    return z3.If(y == 0, bv(0, y.size()), z3.UDiv(x, y))


def modulo(x, y):
    return z3.If(y == 0, x, z3.URem(x, y))


def sdivide(x, y):
    return z3.If(y == 0, bv(0, y.size()), z3.If(y == -1, -x, x / y))


def smodulo(x, y):
    return z3.If(y == 0, x, z3.If(y == -1, bv(0, y.size()), z3.SRem(x, y)))


def count(y):
    return y & (y.size() - 1)


ALU = {
    "ADD": lambda x, y: x + y, "SUB": lambda x, y: x - y,
    "MUL": lambda x, y: x * y, "AND": lambda x, y: x & y,
    "OR": lambda x, y: x | y, "XOR": lambda x, y: x ^ y,
    "MOV": lambda x, y: y, "NEG": lambda x, y: -x,
    "LSH": lambda x, y: x << count(y),
    "RSH": lambda x, y: z3.LShR(x, count(y)),
    "ARSH": lambda x, y: x >> count(y),
    "DIV": divide, "MOD": modulo, "SDIV": sdivide, "SMOD": smodulo,
}
JUMP = {
    "JEQ": lambda x, y: x == y, "JNE": lambda x, y: x != y,
    "JGT": z3.UGT, "JGE": z3.UGE, "JLT": z3.ULT, "JLE": z3.ULE,
    "JSGT": lambda x, y: x > y, "JSGE": lambda x, y: x >= y,
    "JSLT": lambda x, y: x < y, "JSLE": lambda x, y: x <= y,
    "JSET": lambda x, y: (x & y) != 0,
}

# Proven from the proofs of their parts.
QUOTIENTS = ("DIV", "MOD", "SDIV", "SMOD")
COMPOSED = ("MUL",) + QUOTIENTS
