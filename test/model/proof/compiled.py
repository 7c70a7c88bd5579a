# SPDX-License-Identifier: MIT
"""The interpreter of csym.py against the compiled code: the same calls end
the same."""
import ctypes
import os
import random
import subprocess
import tempfile

import csym
from csym import Num
from machine import ALU, FIELDS, JUMP, SOURCES, at


class CTnum(ctypes.Structure):
    _fields_ = [("value", ctypes.c_uint64), ("mask", ctypes.c_uint64)]


class CRange(ctypes.Structure):
    _fields_ = [("t", CTnum), ("umin", ctypes.c_uint64),
                ("umax", ctypes.c_uint64), ("smin", ctypes.c_int64),
                ("smax", ctypes.c_int64), ("umin32", ctypes.c_uint32),
                ("umax32", ctypes.c_uint32), ("smin32", ctypes.c_int32),
                ("smax32", ctypes.c_int32)]


def to_c(r):
    c = CRange(CTnum(r["t"]["value"].v, r["t"]["mask"].v))
    for f, _, _ in FIELDS:
        setattr(c, f, r[f].value())
    return c


def of_c(c):
    r = {f: Num(getattr(c, f), bits, s) for f, bits, s in FIELDS}
    r["t"] = {"value": Num(c.t.value, 64, False),
              "mask": Num(c.t.mask, 64, False)}
    return r


def plain(r):
    return [r["t"]["value"].v, r["t"]["mask"].v] + [r[f].v
                                                    for f, _, _ in FIELDS]


def edge(rnd):
    v = rnd.choice([0, 1, 5, 31, 63, 255, 0x7fffffff, 0x80000000, 0xffffffff,
                    1 << 32, 1 << 63, (1 << 64) - 1, rnd.getrandbits(64),
                    rnd.getrandbits(rnd.randrange(1, 64))])
    return (v + rnd.randrange(-2, 3)) & ((1 << 64) - 1)


def sample(lib, rnd):
    """An abstract value that the code itself makes, by a few branches."""
    a = CRange()
    lib.nb_range_unknown.restype = CRange
    a = lib.nb_range_unknown()
    for _ in range(rnd.randrange(4)):
        lib.nb_range_const.restype = CRange
        b = lib.nb_range_const(ctypes.c_uint64(edge(rnd)))
        c = CRange.from_buffer_copy(a)
        if lib.nb_range_branch(rnd.choice(sample.jumps),
                               rnd.choice((32, 64)), rnd.randrange(2),
                               ctypes.byref(c), ctypes.byref(b)):
            a = c
    return a


def agree(top, p, runs):
    """The same calls, compiled and interpreted, end the same."""
    rnd = random.Random(5)
    p.n += 1
    with tempfile.TemporaryDirectory() as d:
        so = os.path.join(d, "domains.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC",
                        "-w", "-I", top, "-o", so] +
                       [os.path.join(top, s) for s in
                        SOURCES + ["core/spec/spec.c"]], check=True)
        lib = ctypes.CDLL(so)
    lib.nb_range_alu.restype = CRange
    lib.nb_range_branch.restype = ctypes.c_bool
    fns = list(ALU) + ["MOVSX8", "MOVSX16", "MOVSX32", "BSWAP", "LE"]
    sample.jumps = [p.fn(j).v for j in JUMP]
    bad = None
    for _ in range(runs):
        a, b = sample(lib, rnd), sample(lib, rnd)
        bits = rnd.choice((32, 64))
        fn = p.fn(rnd.choice(fns))
        want = lib.nb_range_alu(fn.v, bits, ctypes.byref(a), ctypes.byref(b))
        got = p.run("nb_range_alu", fn, Num(bits, 32, False), at(of_c(a)),
                    at(of_c(b)), contracts={})
        if plain(of_c(want)) != plain(got):
            bad = "alu %d of %d bits" % (fn.v, bits)
            break
        fn, taken = p.fn(rnd.choice(list(JUMP))), rnd.randrange(2)
        x, y = at(of_c(a)), at(of_c(b))
        ok = lib.nb_range_branch(fn.v, bits, taken, ctypes.byref(a),
                                 ctypes.byref(b))
        mine = p.run("nb_range_branch", fn, Num(bits, 32, False), bool(taken),
                     x, y, contracts={})
        if ok != csym.truth(mine) or ok and (
                plain(of_c(a)) != plain(x.box[""]) or
                plain(of_c(b)) != plain(y.box[""])):
            bad = "jump %d of %d bits" % (fn.v, bits)
            break
    print("%sok %d - interpreted and compiled alike, %d calls each" %
          ("not " if bad else "", p.n, runs))
    if bad:
        print("# " + bad)
        p.failed += 1
