// SPDX-License-Identifier: MIT
/* Code generation for 64-bit Arm: entry and exit of programs, and
 * facts about the machine. arm64.h describes registers and frames. */
#include "core/bpf/exec/jit/arm64.h"

#if defined(__aarch64__)

#include <sys/auxv.h>

/* List the registers that the entry saves, an even number of them. */
static unsigned saved(const struct nb_jit_ctx *c, unsigned list[8])
{
	unsigned n = nb_lower_saved(c, list);

	if (c->needs.frame || c->needs.calls_local)
		list[n++] = FRAME;
	if (c->needs.calls_local && nb_jit_wants_run(c))
		list[n++] = RUN;
	if (n % 2)
		list[n++] = ZR;
	return n;
}

static bool saves_link(const struct nb_jit_ctx *c)
{
	return c->needs.calls_out || c->needs.calls_local;
}

static void push_saved(struct nb_jit_ctx *c)
{
	unsigned list[8], n = saved(c, list);

	if (saves_link(c)) {
		a_push_pair(c, FP, LR);
		a_add_imm(c, true, A_ADD, FP, SP, 0);
	}
	for (unsigned i = 0; i < n; i += 2)
		a_push_pair(c, list[i], list[i + 1]);
}

static void pop_saved(struct nb_jit_ctx *c)
{
	unsigned list[8], n = saved(c, list);

	for (; n; n -= 2)
		a_pop_pair(c, list[n - 2], list[n - 1]);
	if (saves_link(c))
		a_pop_pair(c, FP, LR);
}

/* Return the bytes below the saved registers; SP is always a multiple of 16. */
static uint32_t arm64_room_below(const struct nb_jit_ctx *c)
{
	if (c->needs.calls_local)
		return NB_STACK_SIZE + RETURN + run_size(c);
	return run_size(c) + (c->needs.frame ? NB_STACK_SIZE : 0);
}

static void leave_entry(struct nb_jit_ctx *c)
{
	a_mov(c, true, 0, R0);
	move_sp(c, A_ADD, arm64_room_below(c));
	pop_saved(c);
	a4(c, A_RET);
}

void nb_emit_leave(struct nb_jit_ctx *c)
{
	if (!c->needs.calls_local) {
		leave_entry(c);
		return;
	}
	a_mem(c, A_LOAD, 3, LR, FRAME, 0);
	a4(c, A_RET);
}

static void arm64_stub(struct nb_jit_ctx *c)
{
	a_add_imm(c, true, A_ADD, FRAME, SP, NB_STACK_SIZE);
	if (nb_jit_wants_run(c)) {
		a_add_imm(c, true, A_ADD, RUN, FRAME, RETURN);
		nb_lower_run_data(c);
	}
	nb_emit_call_slot(c, 0);
	leave_entry(c);
}

void nb_emit_begin(struct nb_jit_ctx *c)
{
	a4(c, A_BTI_C);
	push_saved(c);
	move_sp(c, A_SUB, arm64_room_below(c));
	if (c->needs.calls_local) {
		arm64_stub(c);
		return;
	}
	if (c->needs.frame)
		a_add_imm(c, true, A_ADD, FRAME, SP, run_size(c) + NB_STACK_SIZE);
	/* The arguments r1 and r2 are already in x1 and x2. */
	if (nb_jit_wants_run(c))
		nb_lower_run_data(c);
}

void nb_emit_trap(struct nb_jit_ctx *c)
{
	a4(c, A_UDF);
}

void nb_emit_flush(unsigned char *code, size_t size)
{
	__builtin___clear_cache((char *)code, (char *)code + size);
}

unsigned nb_emit_features(void)
{
	return getauxval(AT_HWCAP) & HWCAP_LSE ? FEATURE_LSE : 0;
}

const struct nb_machine nb_machine = { .reg = { R0, 1, 2, 3, 4, 5, 19, 20, 21, 22, FRAME },
				       .arg = { 0, 1, 2 },
				       .result = 0,
				       .temp = T0,
				       .cpu = T0,
				       .index = T1 };

#endif
