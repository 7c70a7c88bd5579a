// SPDX-License-Identifier: MIT
// How conditional jumps compare (RFC 9669, section 4.3).
#include "core/isa/insn.h"

bool nb_jump_holds(unsigned fn, unsigned width, uint64_t a, uint64_t b)
{
	const int64_t sa = width == 64 ? (int64_t)a : (int32_t)a;
	const int64_t sb = width == 64 ? (int64_t)b : (int32_t)b;

	if (width == 32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	switch (fn) {
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
		return a & b;
	case NB_FN_JSGT:
		return sa > sb;
	case NB_FN_JSGE:
		return sa >= sb;
	case NB_FN_JSLT:
		return sa < sb;
	case NB_FN_JSLE:
		return sa <= sb;
	}
	return false;
}
