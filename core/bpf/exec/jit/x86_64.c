// SPDX-License-Identifier: MIT
/* Code generation for x86-64: entry and exit of programs, and
 * facts about the machine. x86_64.h describes registers and frames. */
#include "core/bpf/exec/jit/x86_64.h"

#if defined(__x86_64__)

#include <cpuid.h>

void nb_x86_push_saved(struct nb_jit_ctx *c)
{
	unsigned list[4], n = nb_lower_saved(c, list);

	for (unsigned i = 0; i < n; i++)
		x_push(c, list[i]);
}

void nb_x86_pop_saved(struct nb_jit_ctx *c)
{
	unsigned list[4], n = nb_lower_saved(c, list);

	while (n)
		x_pop(c, list[--n]);
}

static unsigned npushed(const struct nb_jit_ctx *c)
{
	unsigned list[4];

	return nb_lower_saved(c, list) + frame_in_rbp(c) +
	       (c->needs.calls_local && nb_jit_wants_run(c));
}

/* Return the bytes below the saved registers. RSP is 8 off a multiple of 16
 * at entry and must be a multiple of 16 at calls of C functions. */
static int32_t x86_room_below(const struct nb_jit_ctx *c)
{
	int32_t size = run_size(c) + (c->needs.frame ? NB_STACK_SIZE : 0);

	if (!size && !c->needs.calls_out)
		return 0;
	return size + (npushed(c) % 2 ? 0 : 8);
}

/*
 * Return the bytes below the saved registers of a stub for local calls. The
 * local call pushes a return address, so RSP is 8 off before it and the
 * callee may call C functions directly.
 */
static int32_t room_of_stub(const struct nb_jit_ctx *c)
{
	int32_t size = 8 + NB_STACK_SIZE + run_size(c);

	return size + (npushed(c) % 2 ? 0 : 8);
}

void nb_emit_leave(struct nb_jit_ctx *c)
{
	if (c->needs.calls_local) {
		e1(c, 0xc3);
		return;
	}
	move_rsp(c, X_ADD, x86_room_below(c));
	if (frame_in_rbp(c))
		x_pop(c, RBP);
	nb_x86_pop_saved(c);
	e1(c, 0xc3);
}

static void x86_stub(struct nb_jit_ctx *c)
{
	const int32_t room = room_of_stub(c), top = 8 + NB_STACK_SIZE;

	x_push(c, RBP);
	if (nb_jit_wants_run(c))
		x_push(c, R13);
	move_rsp(c, X_SUB, room);
	x_lea(c, RBP, (struct mem){ RSP, top });
	if (nb_jit_wants_run(c)) {
		x_mov(c, true, R13, RBP);
		nb_lower_run_data(c);
	}
	/* Offset 0 of the first pass is wrong, but the call's length is
	 * right. */
	nb_emit_call_slot(c, 0);
	move_rsp(c, X_ADD, room);
	if (nb_jit_wants_run(c))
		x_pop(c, R13);
	x_pop(c, RBP);
	nb_x86_pop_saved(c);
	e1(c, 0xc3);
}

void nb_emit_begin(struct nb_jit_ctx *c)
{
	e4(c, 0xfa1e0ff3); /* The instruction ENDBR64 */
	nb_x86_push_saved(c);
	if (c->needs.calls_local) {
		x86_stub(c);
		return;
	}
	if (frame_in_rbp(c))
		x_push(c, RBP);
	move_rsp(c, X_SUB, x86_room_below(c));
	if (frame_in_rbp(c))
		x_lea(c, RBP, (struct mem){ RSP, run_size(c) + NB_STACK_SIZE });
	/* The arguments r1 and r2 are already in RSI and RDX. */
	if (nb_jit_wants_run(c))
		nb_lower_run_data(c);
}

void nb_emit_trap(struct nb_jit_ctx *c)
{
	e1(c, 0x0f); /* The instruction UD2, which traps */
	e1(c, 0x0b);
}

/* Data and instruction caches are coherent on this machine, so nothing is
 * flushed. */
void nb_emit_flush(unsigned char *code, size_t size)
{
	(void)code, (void)size;
}

/* The processor is queried once: in a virtual machine cpuid takes longer
 * than a compilation. */
unsigned nb_emit_features(void)
{
	enum { ASKED = 1 << 30 };
	static unsigned known; /* Atomic; all threads compute the same value. */
	unsigned now = __atomic_load_n(&known, __ATOMIC_RELAXED);
	unsigned a, b = 0, d, e;

	if (!now) {
		now = ASKED;
		if (__get_cpuid_count(7, 0, &a, &b, &d, &e) && b & bit_BMI2)
			now |= FEATURE_BMI2;
		__atomic_store_n(&known, now, __ATOMIC_RELAXED);
	}
	return now & ~(unsigned)ASKED;
}

const struct nb_machine nb_machine = { .reg = { RAX, RSI, RDX, RCX, R8, R9, RBX, R14, R15, R12,
						RBP },
				       .arg = { RDI, RSI, RDX },
				       .result = RAX,
				       .temp = R11,
				       .cpu = RAX,
				       .index = R11 };

#endif
