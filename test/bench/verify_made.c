// SPDX-License-Identifier: MIT
// Programs by the yard: see verify_made.h. r6 holds the context throughout.
#include "test/bench/verify_made.h"

#include <stdio.h>
#include <stdlib.h>

/* Slots one turn of a shape may take, and what follows the turns. */
enum { TURN = 64, END = 512 };

static const struct nb_map_spec maps[] = {
	{ .name = "counts",
	  .type = NB_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 4 },
};

static void emit(struct made *m, uint8_t op, unsigned dst, unsigned src,
		 int off, int32_t imm)
{
	m->slots[m->n++] = (struct nb_slot){ op, (uint8_t)(dst | src << 4),
					     (int16_t)off, imm };
}

/* Numbers and no jumps. */
static void straight(struct made *m)
{
	emit(m, 0x79, 2, 6, 0, 0);    /* r2 = ctx->bytes */
	emit(m, 0x57, 2, 0, 0, 1023); /* r2 &= 1023 */
	emit(m, 0x27, 2, 0, 0, 13);   /* r2 *= 13 */
	emit(m, 0xbf, 3, 2, 0, 0);    /* r3 = r2 */
	emit(m, 0x77, 3, 0, 0, 3);    /* r3 >>= 3 */
	emit(m, 0x0f, 7, 3, 0, 0);    /* r7 += r3 */
	emit(m, 0x7b, 10, 2, -16, 0); /* *(u64 *)(r10 - 16) = r2 */
	emit(m, 0x79, 4, 10, -16, 0); /* r4 = *(u64 *)(r10 - 16) */
	emit(m, 0xaf, 7, 4, 0, 0);    /* r7 ^= r4 */
	emit(m, 0x47, 7, 0, 0, 1);    /* r7 |= 1 */
}

/* Two ways that meet again and leave a different number behind. */
static void diamond(struct made *m)
{
	emit(m, 0x61, 2, 6, 24, 0);   /* r2 = ctx->word */
	emit(m, 0xb7, 8, 0, 0, 1);    /* r8 = 1 */
	emit(m, 0x25, 2, 0, 1, 16);   /* if r2 > 16 goto +1 */
	emit(m, 0xb7, 8, 0, 0, 2);    /* r8 = 2 */
	emit(m, 0x0f, 7, 8, 0, 0);    /* r7 += r8 */
	emit(m, 0x57, 7, 0, 0, 0xff); /* r7 &= 255 */
}

/* Tests of one number against many constants, as a switch has them. */
static void ladder(struct made *m)
{
	emit(m, 0x61, 2, 6, 28, 0);
	for (int i = 0; i < 8; i++) {
		emit(m, 0x55, 2, 0, 2, i * 3);	     /* if r2 != k goto +2 */
		emit(m, 0xb7, 7, 0, 0, i);	     /* r7 = i */
		emit(m, 0x05, 0, 0, (7 - i) * 3, 0); /* goto the end */
	}
}

/* A counted loop that adds elements of a map's value. */
static void loop(struct made *m)
{
	emit(m, 0xb7, 8, 0, 0, 0);   /* r8 = 0 */
	emit(m, 0xbf, 2, 9, 0, 0);   /* r2 = r9: the value */
	emit(m, 0x0f, 2, 8, 0, 0);   /* r2 += r8 */
	emit(m, 0x79, 3, 2, 0, 0);   /* r3 = *(u64 *)r2 */
	emit(m, 0x0f, 7, 3, 0, 0);   /* r7 += r3 */
	emit(m, 0x07, 8, 0, 0, 8);   /* r8 += 8 */
	emit(m, 0xa5, 8, 0, -6, 64); /* if r8 < 64 goto -6 */
}

/* A look-up with a key on the stack, tested, counted up. */
static void lookup(struct made *m)
{
	emit(m, 0x61, 2, 6, 24, 0);
	emit(m, 0x57, 2, 0, 0, 3);
	emit(m, 0x63, 10, 2, -4, 0); /* *(u32 *)(r10 - 4) = r2 */
	emit(m, 0xbf, 2, 10, 0, 0);
	emit(m, 0x07, 2, 0, 0, -4);
	emit(m, 0x18, 1, 1, 0, 0); /* r1 = map 0 */
	emit(m, 0, 0, 0, 0, 0);
	emit(m, 0x85, 0, 0, 0, 1); /* bpf_map_lookup_elem */
	emit(m, 0x15, 0, 0, 2, 0); /* if r0 == 0 goto +2 */
	emit(m, 0x79, 3, 0, 8, 0);
	emit(m, 0x0f, 7, 3, 0, 0);
}

/* A call of one of the functions behind the end. */
static void call(struct made *m)
{
	emit(m, 0x79, 1, 6, 0, 0);
	emit(m, 0xbf, 2, 7, 0, 0);
	emit(m, 0x85, 0, 1, 0, 0); /* its target is filled in later */
	emit(m, 0xbf, 7, 0, 0, 0);
}

static void function(struct made *m)
{
	emit(m, 0x7b, 10, 1, -8, 0);
	emit(m, 0xb7, 0, 0, 0, 0);
	emit(m, 0x2d, 1, 2, 2, 0); /* if r1 > r2 goto +2 */
	emit(m, 0xbf, 0, 2, 0, 0);
	emit(m, 0x1f, 0, 1, 0, 0);
	emit(m, 0x79, 3, 10, -8, 0);
	emit(m, 0xaf, 0, 3, 0, 0);
	emit(m, 0x95, 0, 0, 0, 0);
}

/* The functions, and the calls that lead to them in turns. */
static void add_functions(struct made *m, uint32_t nfuncs)
{
	uint32_t end = m->n, k = 0;

	for (uint32_t i = 0; i < nfuncs; i++) {
		m->funcs[m->prog.nfuncs] =
			(struct nb_func){ .name = "part", .start = m->n };
		function(m);
		m->funcs[m->prog.nfuncs++].end = m->n;
	}
	for (uint32_t pc = 0; pc < end; pc++)
		if (m->slots[pc].opcode == 0x85 && m->slots[pc].regs)
			m->slots[pc].imm =
				(int32_t)(m->funcs[1 + k++ % nfuncs].start -
					  pc - 1);
}

static const struct shape {
	const char *name;
	void (*turn)(struct made *m);
} shapes[MADE_SHAPES] = {
	{ "straight", straight }, { "diamonds", diamond },
	{ "ladders", ladder },	  { "loops", loop },
	{ "look-ups", lookup },	  { "calls", call },
};

static void begin(struct made *m)
{
	emit(m, 0xbf, 6, 1, 0, 0);
	emit(m, 0xb7, 7, 0, 0, 0);
	emit(m, 0x62, 10, 0, -4, 0); /* *(u32 *)(r10 - 4) = 0 */
	emit(m, 0xbf, 2, 10, 0, 0);
	emit(m, 0x07, 2, 0, 0, -4);
	emit(m, 0x18, 1, 1, 0, 0);
	emit(m, 0, 0, 0, 0, 0);
	emit(m, 0x85, 0, 0, 0, 1);
	emit(m, 0xbf, 9, 0, 0, 0);
	emit(m, 0x55, 9, 0, 2, 0); /* if r9 != 0 goto +2 */
	emit(m, 0xb7, 0, 0, 0, 0);
	emit(m, 0x95, 0, 0, 0, 0);
}

bool made_program(struct made *m, unsigned shape, uint32_t size)
{
	const struct shape *s = &shapes[shape];

	m->room = size + TURN + END;
	m->n = 0;
	m->slots = malloc(m->room * sizeof(*m->slots));
	if (!m->slots)
		return false;
	snprintf(m->name, sizeof(m->name), "%s %u k", s->name, size / 1000);
	begin(m);
	while (m->n < size)
		s->turn(m);
	emit(m, 0xb7, 0, 0, 0, 0); /* one verdict for all ranks */
	emit(m, 0x95, 0, 0, 0, 0);
	m->funcs[0] = (struct nb_func){ .name = m->name, .end = m->n };
	m->prog = (struct nb_prog){ .name = m->name,
				    .section = "tuner",
				    .hook = NB_HOOK_TUNER,
				    .slots = m->slots,
				    .funcs = m->funcs,
				    .nfuncs = 1 };
	if (s->turn == call)
		add_functions(m, 16);
	m->prog.nslots = m->n;
	m->img = (struct nb_image){ .name = "made",
				    .maps = maps,
				    .nmaps = 1,
				    .progs = &m->prog,
				    .nprogs = 1 };
	return true;
}

void made_free(struct made *m)
{
	free(m->slots);
}
