# SPDX-License-Identifier: MIT
"""What products and quotients are, for proofs that do not look inside.

Bits of products and quotients of unknown numbers are what z3 does not get
through. No bound needs them: it follows from order. So in the C that is
followed * and / of unknown numbers, as wide as 128 bits, are functions of
which nothing is known but a few facts, and each fact is proven here of the
integers: numbers of 64 bits neither wrap nor overflow there.
"""
import z3

from csym import Num


def extend(v, signed, bits=128):
    more = bits - v.size()
    if not more:
        return v
    return z3.SignExt(more, v) if signed else z3.ZeroExt(more, v)


class Facts:
    def __init__(self):
        self.made = {}

    def of(self, op, signed, p, q):
        """p op q of integers, rounded to zero, or what remains."""
        key = (op, signed, p.get_id(), q.get_id())
        if key not in self.made: # the operands are kept, so ids stay theirs
            self.made[key] = (z3.BitVec("%s%d" % (
                {"*": "product", "/": "quotient", "%": "rest"}[op],
                len(self.made)), 128), p, q)
        return self.made[key][0]

    def opaque(self, seen, op, a, b):
        """Stands for the operator in C; what it was asked goes to @seen."""
        p, q = extend(a.expr(), a.signed), extend(b.expr(), b.signed)
        r = self.of(op, a.signed, p, q)
        seen.append((op, a.signed, p, q, r))
        return Num(z3.Extract(a.bits - 1, 0, r) if a.bits < 128 else r,
                   a.bits, a.signed)

    @staticmethod
    def operand(v, bits, signed):
        return extend(z3.Extract(bits - 1, 0, v), signed)

    def member(self, op, x, y, bits, signed):
        return self.of(op, signed, self.operand(x, bits, signed),
                       self.operand(y, bits, signed))

    def answer(self, name, x, y, bits):
        """x div y as the machine has it (RFC 9669), in 64 bits."""
        signed = name[0] == "s"
        rest = name.endswith("mod")
        low_x, low_y = z3.Extract(bits - 1, 0, x), z3.Extract(bits - 1, 0, y)
        r = z3.Extract(bits - 1, 0, self.member("%" if rest else "/", x, y,
                                                bits, signed))
        zero = z3.BitVecVal(0, bits)
        if signed:
            r = z3.If(low_y == -1, zero if rest else -low_x, r)
        r = z3.If(low_y == 0, low_x if rest else zero, r)
        return extend(r, False, 64)

    # ---- facts, in terms of any order: z3's of vectors or of integers

    @staticmethod
    def unsigned_product(p, q, pq, x, y, xy, le):
        """Products grow with their factors (none is negative)."""
        return [z3.Implies(z3.And(le(p, x), le(q, y)), le(pq, xy)),
                z3.Implies(z3.And(le(x, p), le(y, q)), le(xy, pq))]

    @staticmethod
    def signed_product(corners, xy, le):
        """One of a box is between those of its corners."""
        return [z3.Or(*(le(c, xy) for c in corners)),
                z3.Or(*(le(xy, c) for c in corners))]

    @staticmethod
    def unsigned_quotient(p, q, pq, x, y, xy, le, one):
        """Quotients grow with the dividend, shrink with the divisor."""
        return [z3.Implies(z3.And(le(p, x), le(y, q), le(one, y)), le(pq, xy)),
                z3.Implies(z3.And(le(x, p), le(q, y), le(one, q)), le(xy, pq)),
                z3.Implies(le(one, q), le(pq, p)),
                z3.Implies(le(one, y), le(xy, x))]

    @staticmethod
    def signed_quotient(p, q, pq, x, y, xy, le, k):
        """With the same divisor; of no negative numbers; no larger than x."""
        zero, one = k(0), k(1)
        up = lambda a, b, c, d: z3.Implies(z3.And(le(a, b), le(one, y)),
                                           le(c, d))
        return [z3.Implies(q == y, z3.And(
                    up(p, x, pq, xy), up(x, p, xy, pq),
                    z3.Implies(z3.And(le(p, x), le(y, -one)), le(xy, pq)),
                    z3.Implies(z3.And(le(x, p), le(y, -one)), le(pq, xy)))),
                z3.Implies(z3.And(le(zero, p), le(p, x), le(one, y),
                                  le(y, q)), le(pq, xy)),
                z3.Implies(z3.And(le(zero, x), le(x, p), le(one, q),
                                  le(q, y)), le(xy, pq))]

    @staticmethod
    def magnitude(x, y, xy, le, k):
        """A quotient is no larger than the dividend, and signs decide its."""
        zero, one, two = k(0), k(1), k(2)

        def signs(a, b, low, high):
            return z3.Implies(z3.And(a, b), z3.And(le(low, xy), le(xy, high)))

        return [signs(le(zero, x), le(one, y), zero, x),
                signs(le(zero, x), le(y, -one), -x, zero),
                signs(le(x, zero), le(one, y), x, zero),
                signs(le(x, zero), le(y, -one), zero, -x),
                z3.Implies(z3.Or(le(two, y), le(y, -two)),
                           z3.And(*(z3.Or(le(a, x), le(a, -x))
                                    for a in (xy + xy, -xy - xy)))),
                z3.Implies(y == -one, xy == -x)]

    @staticmethod
    def unsigned_rest(x, y, r, le, one):
        return [z3.Implies(le(one, y), z3.And(le(r, x), le(r, y - one))),
                z3.Implies(le(x, y - one), z3.Implies(le(one, y), r == x))]

    @staticmethod
    def signed_rest(x, y, r, le, k):
        return [z3.Implies(y != k(0), z3.And(
            z3.Implies(le(k(0), x), z3.And(le(k(0), r), le(r, x))),
            z3.Implies(le(x, k(0)), z3.And(le(x, r), le(r, k(0)))),
            z3.Implies(le(k(1), y), z3.And(le(k(1) - y, r), le(r, y - k(1)))),
            z3.Implies(le(y, k(-1)), z3.And(le(y + k(1), r),
                                            le(r, -y - k(1))))))]

    # ---- the facts that a proof may use

    def of_products(self, seen, x, y, bits, signed):
        xy = self.member("*", x, y, bits, signed)
        mx, my = (self.operand(v, bits, signed) for v in (x, y))
        mine = [s for s in seen if s[1] == signed]
        le = (lambda a, b: a <= b) if signed else z3.ULE
        # At most 2^126 of numbers of 64 bits with a sign.
        most = z3.BitVecVal(1 << 126, 128)
        out = []
        for _, with_sign, _, _, pq in seen + [(0, signed, 0, 0, xy)]:
            if with_sign:
                out += [pq <= most, -most <= pq]
        for _, _, p, q, pq in [] if signed else mine:
            out += self.unsigned_product(p, q, pq, mx, my, xy, le)
        if signed:
            (a, c), (a2, d), (b, c2), (b2, d2) = (w[2:4] for w in mine)
            assert a.eq(a2) and b.eq(b2) and c.eq(c2) and d.eq(d2)
            out.append(z3.Implies(
                z3.And(le(a, mx), le(mx, b), le(c, my), le(my, d)),
                z3.And(*self.signed_product([w[4] for w in mine], xy, le))))
        return out

    def of_quotients(self, seen, x, y, bits, signed):
        mx, my = (self.operand(v, bits, signed) for v in (x, y))
        xy = self.member("/", x, y, bits, signed)
        rest = self.member("%", x, y, bits, signed)
        k = lambda n: z3.BitVecVal(n, 128)
        le = (lambda a, b: a <= b) if signed else z3.ULE
        out = []
        for op, _, p, q, pq in seen:
            assert op == "/"
            if signed:
                out += self.signed_quotient(p, q, pq, mx, my, xy, le, k)
                out += self.magnitude(p, q, pq, le, k)
            else:
                out += self.unsigned_quotient(p, q, pq, mx, my, xy, le, k(1))
        if signed:
            return out + self.magnitude(mx, my, xy, le, k) + \
                self.signed_rest(mx, my, rest, le, k)
        return out + self.unsigned_rest(mx, my, rest, le, k(1)) + \
            [z3.Implies(z3.ULE(k(1), my), z3.ULE(xy, mx))]

    def same(self, seen, x, y, bits, signed):
        """Of the same operands the same answer."""
        mx, my = (self.operand(v, bits, signed) for v in (x, y))
        return [z3.Implies(z3.And(p == mx, q == my),
                           r == self.member(op, x, y, bits, signed))
                for op, _, p, q, r in seen]

    # ---- and that they are facts

    @staticmethod
    def integers():
        return z3.Ints("p q pq rest_pq x y xy rest_xy")

    @staticmethod
    def division(x, y, xy, rest, signed):
        """xy is x / y rounded to zero, where y is not 0."""
        if not signed:
            return z3.Implies(y > 0, z3.And(x == y * xy + rest, rest >= 0,
                                            rest < y))
        size = z3.If(y < 0, -y, y)
        return z3.Implies(y != 0, z3.And(
            x == y * xy + rest,
            z3.Implies(x >= 0, z3.And(rest >= 0, rest < size)),
            z3.Implies(x <= 0, z3.And(rest <= 0, -rest < size))))

    def prove(self, prover):
        p, q, pq, rest_pq, x, y, xy, rest = self.integers()
        le, k = (lambda a, b: a <= b), z3.IntVal
        none_negative = z3.And(p >= 0, q >= 0, x >= 0, y >= 0)
        times = z3.And(pq == p * q, xy == x * y)

        def say(name, given, claims):
            prover.check(name, given,
                         {str(i): c for i, c in enumerate(claims)},
                         solver=z3.Solver)

        say("products grow with their factors", z3.And(none_negative, times),
            self.unsigned_product(p, q, pq, x, y, xy, le))
        a, b, c, d = z3.Ints("a b c d")
        box = z3.And(a <= x, x <= b, c <= y, y <= d, xy == x * y)
        say("a product is between those of the corners", box,
            self.signed_product([a * c, a * d, b * c, b * d], xy, le))
        n = z3.Int("n")
        say("products of halves", z3.And(n > 0, xy == x * y, -n <= x, x <= n,
                                         -n <= y, y <= n),
            [xy <= n * n, -(n * n) <= xy])
        both = z3.And(*(self.division(*v, False) for v in
                        ((p, q, pq, rest_pq), (x, y, xy, rest))))
        say("quotients grow with the dividend", z3.And(none_negative, both),
            self.unsigned_quotient(p, q, pq, x, y, xy, le, k(1)))
        say("what remains", z3.And(none_negative, both),
            self.unsigned_rest(x, y, rest, le, k(1)))
        both = z3.And(*(self.division(*v, True) for v in
                        ((p, q, pq, rest_pq), (x, y, xy, rest))))
        say("quotients with a sign", both,
            self.signed_quotient(p, q, pq, x, y, xy, le, k))
        say("their magnitude", both, self.magnitude(x, y, xy, le, k))
        say("what remains, with a sign", both,
            self.signed_rest(x, y, rest, le, k))
