// SPDX-License-Identifier: MIT
/* Evaluate the conditions of conditional jumps (RFC 9669, section 4.3). */
#include "core/bpf/isa/insn.h"

bool nb_jump_holds(unsigned fn, unsigned width, uint64_t a, uint64_t b)
{
	const unsigned holds = nb_spec_fn(fn)->holds;
	const uint64_t sign = (uint64_t)1 << (width - 1);

	if (width == 32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	if (fn == NB_FN_JSET)
		return a & b;
	/* Convert signed order to the order of unsigned numbers. */
	if (holds & NB_ORDER_SIGNED) {
		a ^= sign;
		b ^= sign;
	}
	return holds & (a < b ? NB_ORDER_LT : a == b ? NB_ORDER_EQ : NB_ORDER_GT);
}
