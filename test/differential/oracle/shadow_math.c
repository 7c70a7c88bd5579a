// SPDX-License-Identifier: MIT
// Arithmetic and comparisons of the shadow interpreter, from RFC 9669.
#include "test/differential/oracle/shadow_parts.h"

/* ---- arithmetic -------------------------------------------------------- */

uint64_t sh_sext(uint64_t v, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	if (bits < 64)
		v &= (1ull << bits) - 1;
	return (v ^ sign) - sign;
}

uint64_t sh_trunc_to(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

uint64_t sh_swap_bytes(uint64_t v, unsigned bits)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < bits; i += 8)
		r = r << 8 | (v >> i & 0xff);
	return r;
}

static uint64_t divide(uint64_t a, uint64_t b, unsigned bits, bool sign, bool rest)
{
	bool na = sign && sh_sext(a, bits) >> 63, nb = sign && sh_sext(b, bits) >> 63;
	uint64_t q, m;

	a = sh_trunc_to(na ? 0 - a : a, bits);
	b = sh_trunc_to(nb ? 0 - b : b, bits);
	if (!b) {
		q = 0;
		m = a;
	} else {
		q = a / b;
		m = a % b;
	}
	q = na != nb ? 0 - q : q;
	m = na ? 0 - m : m;
	return rest ? m : q;
}

uint64_t sh_compute(const struct nb_insn *in, uint64_t a, uint64_t b)
{
	unsigned bits = in->width == 64 ? 64 : 32;
	unsigned n = (unsigned)(b & (bits - 1));

	a = sh_trunc_to(a, bits);
	b = sh_trunc_to(b, bits);
	switch ((int)in->fn) {
	case NB_FN_ADD:
		return a + b;
	case NB_FN_SUB:
		return a - b;
	case NB_FN_MUL:
		return a * b;
	case NB_FN_DIV:
		return divide(a, b, bits, false, false);
	case NB_FN_MOD:
		return divide(a, b, bits, false, true);
	case NB_FN_SDIV:
		return divide(a, b, bits, true, false);
	case NB_FN_SMOD:
		return divide(a, b, bits, true, true);
	case NB_FN_OR:
		return a | b;
	case NB_FN_AND:
		return a & b;
	case NB_FN_XOR:
		return a ^ b;
	case NB_FN_LSH:
		return a << n;
	case NB_FN_RSH:
		return a >> n;
	case NB_FN_ARSH:
		return (uint64_t)((int64_t)sh_sext(a, bits) >> n);
	case NB_FN_NEG:
		return 0 - a;
	case NB_FN_MOV:
		return b;
	case NB_FN_MOVSX8:
		return sh_sext(b, 8);
	case NB_FN_MOVSX16:
		return sh_sext(b, 16);
	default:
		return sh_sext(b, 32);
	}
}

bool sh_holds(const struct nb_insn *in, uint64_t a, uint64_t b)
{
	unsigned bits = in->width == 64 ? 64 : 32;
	int64_t x = (int64_t)sh_sext(a, bits), y = (int64_t)sh_sext(b, bits);

	a = sh_trunc_to(a, bits);
	b = sh_trunc_to(b, bits);
	switch ((int)in->fn) {
	case NB_FN_JEQ:
		return a == b;
	case NB_FN_JNE:
		return a != b;
	case NB_FN_JGT:
		return a > b;
	case NB_FN_JGE:
		return a >= b;
	case NB_FN_JLT:
		return a < b;
	case NB_FN_JLE:
		return a <= b;
	case NB_FN_JSET:
		return (a & b) != 0;
	case NB_FN_JSGT:
		return x > y;
	case NB_FN_JSGE:
		return x >= y;
	case NB_FN_JSLT:
		return x < y;
	default:
		return x <= y;
	}
}
