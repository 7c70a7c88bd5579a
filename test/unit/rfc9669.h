// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_RFC9669_H
#define NB_TEST_UNIT_RFC9669_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/spec/spec.h"

/*
 * What instructions do with numbers of @bits (1 to 64), from RFC 9669 and
 * written apart from the code under test: interpreter, both compilers, the
 * verifier's numbers and the machine of state embedding are held against it.
 */
static inline uint64_t rfc_alu(enum nb_fn fn, unsigned bits, uint64_t a, uint64_t b)
{
	uint64_t m = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	uint64_t sign = 1ull << (bits - 1);
	uint64_t x = a & m, y = b & m, n = b & (bits - 1), r = 0;
	int64_t sx = (int64_t)((x ^ sign) - sign);
	int64_t sy = (int64_t)((y ^ sign) - sign);

	switch ((int)fn) {
	case NB_FN_ADD:
		r = x + y;
		break;
	case NB_FN_SUB:
		r = x - y;
		break;
	case NB_FN_MUL:
		r = x * y;
		break;
	case NB_FN_DIV:
		r = y ? x / y : 0;
		break;
	case NB_FN_MOD:
		r = y ? x % y : x;
		break;
	case NB_FN_SDIV:
		r = !y ? 0 : sy == -1 ? 0 - x : (uint64_t)(sx / sy);
		break;
	case NB_FN_SMOD:
		r = !y ? x : sy == -1 ? 0 : (uint64_t)(sx % sy);
		break;
	case NB_FN_AND:
		r = x & y;
		break;
	case NB_FN_OR:
		r = x | y;
		break;
	case NB_FN_XOR:
		r = x ^ y;
		break;
	case NB_FN_LSH:
		r = x << n;
		break;
	case NB_FN_RSH:
		r = x >> n;
		break;
	case NB_FN_ARSH:
		r = (uint64_t)(sx >> n);
		break;
	case NB_FN_NEG:
		r = 0 - x;
		break;
	case NB_FN_MOV:
		r = y;
		break;
	case NB_FN_MOVSX8:
		r = (uint64_t)(int8_t)b;
		break;
	case NB_FN_MOVSX16:
		r = (uint64_t)(int16_t)b;
		break;
	case NB_FN_MOVSX32:
		r = (uint64_t)(int32_t)b;
		break;
	case NB_FN_LE:
		r = x;
		break;
	case NB_FN_BE:
	case NB_FN_BSWAP:
		for (unsigned i = 0; i < bits; i += 8)
			r = r << 8 | (x >> i & 0xff);
		break;
	default:
		abort();
	}
	return r & m;
}

static inline bool rfc_jump(enum nb_fn fn, unsigned bits, uint64_t a, uint64_t b)
{
	uint64_t m = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	uint64_t sign = 1ull << (bits - 1);
	uint64_t x = a & m, y = b & m;
	int64_t sx = (int64_t)((x ^ sign) - sign);
	int64_t sy = (int64_t)((y ^ sign) - sign);

	switch ((int)fn) {
	case NB_FN_JEQ:
		return x == y;
	case NB_FN_JNE:
		return x != y;
	case NB_FN_JGT:
		return x > y;
	case NB_FN_JGE:
		return x >= y;
	case NB_FN_JLT:
		return x < y;
	case NB_FN_JLE:
		return x <= y;
	case NB_FN_JSGT:
		return sx > sy;
	case NB_FN_JSGE:
		return sx >= sy;
	case NB_FN_JSLT:
		return sx < sy;
	case NB_FN_JSLE:
		return sx <= sy;
	case NB_FN_JSET:
		return (x & y) != 0;
	default:
		abort();
	}
	return false;
}

#endif
