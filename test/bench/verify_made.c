// SPDX-License-Identifier: MIT
// Programs by the yard: see verify_made.h. r6 holds the context throughout.
#include "test/bench/verify_made.h"
#include "test/unit/map_spec.h"

#include <stdio.h>
#include <stdlib.h>

/* Slots before the turns of a shape, in one of them at most, and after them. */
enum { START = 12, TURN = 64, END = 512 };

static const struct nb_map_spec maps[] = {
	MAP_SPEC("counts", ARRAY, 4, 64, 4, 0),
};

static void emit(struct made *m, uint8_t op, unsigned dst, unsigned src, int off, int32_t imm)
{
	m->slots[m->n++] = (struct nb_slot){ op, (uint8_t)(dst | src << 4), (int16_t)off, imm };
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
static void branch(struct made *m)
{
	emit(m, 0x61, 2, 6, 24, 0);   /* r2 = ctx->word */
	emit(m, 0xb7, 8, 0, 0, 1);    /* r8 = 1 */
	emit(m, 0x25, 2, 0, 1, 16);   /* if r2 > 16 goto +1 */
	emit(m, 0xb7, 8, 0, 0, 2);    /* r8 = 2 */
	emit(m, 0x0f, 7, 8, 0, 0);    /* r7 += r8 */
	emit(m, 0x57, 7, 0, 0, 0xff); /* r7 &= 255 */
	emit(m, 0x79, 3, 6, 8, 0);    /* r3 = ctx->bytes */
	emit(m, 0x57, 3, 0, 0, 1023);
	emit(m, 0x67, 3, 0, 0, 2);
	emit(m, 0xbf, 4, 3, 0, 0);
	emit(m, 0x0f, 4, 7, 0, 0);
	emit(m, 0xaf, 7, 4, 0, 0); /* r7 ^= r4 */
	emit(m, 0x57, 7, 0, 0, 0xff);
}

/* The number that is left behind says where memory is read. */
static void offset(struct made *m)
{
	emit(m, 0x61, 2, 6, 28, 0);
	emit(m, 0x57, 2, 0, 0, 15);
	emit(m, 0xb7, 8, 0, 0, 8);
	emit(m, 0x25, 2, 0, 2, 7); /* if r2 > 7 goto +2 */
	emit(m, 0xbf, 8, 2, 0, 0); /* r8 = r2 */
	emit(m, 0x67, 8, 0, 0, 2);
	emit(m, 0xbf, 3, 9, 0, 0); /* r3 = r9: the value */
	emit(m, 0x0f, 3, 8, 0, 0);
	emit(m, 0x71, 4, 3, 0, 0); /* r4 = *(u8 *)r3 */
	emit(m, 0x0f, 3, 2, 0, 0);
	emit(m, 0x71, 5, 3, 0, 0);
	emit(m, 0x0f, 7, 4, 0, 0);
	emit(m, 0x0f, 7, 5, 0, 0);
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

/* A loop in a loop. */
static void nest(struct made *m)
{
	emit(m, 0xb7, 8, 0, 0, 0);
	emit(m, 0xb7, 1, 0, 0, 0);
	emit(m, 0x0f, 7, 1, 0, 0);
	emit(m, 0x07, 1, 0, 0, 1);
	emit(m, 0xa5, 1, 0, -3, 3); /* if r1 < 3 goto -3 */
	emit(m, 0x07, 8, 0, 0, 1);
	emit(m, 0xa5, 8, 0, -6, 2); /* if r8 < 2 goto -6 */
}

/* Numbers that go to the stack and come back, some of them compared. */
static void spill(struct made *m)
{
	for (int i = 1; i <= 8; i++) {
		emit(m, 0x79, 2, 6, i % 3 * 8, 0);
		emit(m, 0x57, 2, 0, 0, 0xff << i);
		emit(m, 0x7b, 10, 2, -8 - 8 * i, 0);
	}
	emit(m, 0x79, 3, 10, -16, 0);
	emit(m, 0x79, 4, 10, -24, 0);
	emit(m, 0x2d, 3, 4, 1, 0); /* if r3 > r4 goto +1 */
	emit(m, 0x7b, 10, 4, -32, 0);
	for (int i = 1; i <= 8; i++) {
		emit(m, 0x79, 5, 10, -8 - 8 * i, 0);
		emit(m, 0x0f, 7, 5, 0, 0);
	}
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
	straight(m);
}

/* A call of one of the functions behind the end. */
static void call(struct made *m)
{
	emit(m, 0x79, 1, 6, 0, 0);
	emit(m, 0xbf, 2, 7, 0, 0);
	emit(m, 0x85, 0, 1, 0, 0); /* its target is filled in later */
	emit(m, 0xbf, 7, 0, 0, 0);
	straight(m);
}

static void short_function(struct made *m, uint32_t size)
{
	(void)size;
	emit(m, 0x7b, 10, 1, -8, 0);
	emit(m, 0xb7, 0, 0, 0, 0);
	emit(m, 0x2d, 1, 2, 2, 0); /* if r1 > r2 goto +2 */
	emit(m, 0xbf, 0, 2, 0, 0);
	emit(m, 0x1f, 0, 1, 0, 0);
	emit(m, 0x79, 3, 10, -8, 0);
	emit(m, 0xaf, 0, 3, 0, 0);
	emit(m, 0x95, 0, 0, 0, 0);
}

/* Turns of a callback. */
static void callback(struct made *m)
{
	emit(m, 0xb7, 1, 0, 0, 4);
	emit(m, 0x18, 2, 4, 0, 0); /* filled in later as well */
	emit(m, 0, 0, 0, 0, 0);
	emit(m, 0xb7, 3, 0, 0, 0);
	emit(m, 0xb7, 4, 0, 0, 0);
	emit(m, 0x85, 0, 0, 0, 181); /* bpf_loop */
	emit(m, 0x0f, 7, 0, 0, 0);
	straight(m);
}

static void callback_function(struct made *m, uint32_t size)
{
	(void)size;
	emit(m, 0xb7, 0, 0, 0, 0);
	emit(m, 0x25, 1, 0, 1, 2); /* if r1 > 2 goto +1 */
	emit(m, 0x07, 1, 0, 0, 1);
	emit(m, 0x7b, 10, 1, -8, 0);
	emit(m, 0x95, 0, 0, 0, 0);
}

static void plain_call(struct made *m)
{
	emit(m, 0x79, 1, 6, 0, 0);
	emit(m, 0xbf, 2, 7, 0, 0);
	emit(m, 0x85, 0, 1, 0, 0);
	emit(m, 0xbf, 7, 0, 0, 0);
}

/* About @size slots with branches. */
static void long_function(struct made *m, uint32_t size)
{
	uint32_t end = m->n + size;

	emit(m, 0xb7, 0, 0, 0, 0);
	do {
		emit(m, 0xbf, 3, 1, 0, 0);
		emit(m, 0x57, 3, 0, 0, 0xff);
		emit(m, 0x27, 3, 0, 0, 7);
		emit(m, 0xbf, 4, 2, 0, 0);
		emit(m, 0x77, 4, 0, 0, 3);
		emit(m, 0x2d, 3, 4, 1, 0); /* if r3 > r4 goto +1 */
		emit(m, 0x0f, 0, 4, 0, 0);
		emit(m, 0x0f, 0, 3, 0, 0);
		emit(m, 0x77, 1, 0, 0, 1);
		emit(m, 0x7b, 10, 0, -8, 0);
		emit(m, 0x79, 5, 10, -8, 0);
		emit(m, 0xaf, 0, 5, 0, 0);
		emit(m, 0x47, 0, 0, 0, 1);
	} while (m->n + 14 < end);
	emit(m, 0x95, 0, 0, 0, 0);
}

static const struct shape {
	const char *name, *word;
	void (*turn)(struct made *m);
	/* functions behind the end, and how many at most */
	void (*function)(struct made *m, uint32_t size);
	uint32_t nfuncs;
} shapes[MADE_SHAPES] = {
	[MADE_BRANCHES] = { "branches", "branches", branch, NULL, 0 },
	[MADE_LOOPS] = { "loops", "loops", loop, NULL, 0 },
	[MADE_SUBPROGRAMS] = { "subprograms", "subprograms", plain_call, long_function, 255 },
	[MADE_STRAIGHT] = { "straight", "straight", straight, NULL, 0 },
	[MADE_OFFSETS] = { "offsets", "offsets", offset, NULL, 0 },
	[MADE_LADDERS] = { "ladders", "ladders", ladder, NULL, 0 },
	[MADE_NESTS] = { "nested loops", "nests", nest, NULL, 0 },
	[MADE_SPILLS] = { "spills", "spills", spill, NULL, 0 },
	[MADE_LOOKUPS] = { "look-ups", "lookups", lookup, NULL, 0 },
	[MADE_CALLS] = { "calls", "calls", call, short_function, 16 },
	[MADE_CALLBACKS] = { "callbacks", "callbacks", callback, callback_function, 16 },
};

static bool refers(const struct nb_slot *s)
{
	return (s->opcode == 0x85 && s->regs == 0x10) || (s->opcode == 0x18 && s->regs >> 4 == 4);
}

/* The functions, of @size slots each, and the calls that lead to them in
 * turns. */
static void add_functions(struct made *m, const struct shape *s, uint32_t nfuncs, uint32_t size)
{
	uint32_t end = m->n, k = 0;

	for (uint32_t i = 0; i < nfuncs; i++) {
		m->funcs[m->prog.nfuncs] = (struct nb_func){ .name = "part", .start = m->n };
		s->function(m, size);
		m->funcs[m->prog.nfuncs++].end = m->n;
	}
	for (uint32_t pc = 0; pc < end; pc++)
		if (refers(&m->slots[pc]))
			m->slots[pc].imm = (int32_t)(m->funcs[1 + k++ % nfuncs].start - pc - 1);
}

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

/* Functions that one call each leads to: as many as have 40 slots. */
static uint32_t functions(const struct shape *s, uint32_t size)
{
	uint32_t n = s->nfuncs;

	if (s->function == long_function && n > size / 44)
		n = size / 44;
	return n;
}

bool made_program(struct made *m, unsigned shape, uint32_t size)
{
	const struct shape *s = &shapes[shape];
	uint32_t nfuncs = functions(s, size), main_size = size;

	if (s->function == long_function)
		main_size = START + 4 * nfuncs;
	m->room = size + TURN + END;
	m->n = 0;
	m->slots = malloc(m->room * sizeof(*m->slots));
	if (!m->slots)
		return false;
	snprintf(m->name, sizeof(m->name), "%s %u k", s->name, size / 1000);
	snprintf(m->key, sizeof(m->key), "%s_%uk", s->word, size / 1000);
	begin(m);
	while (m->n < main_size)
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
	if (nfuncs)
		add_functions(m, s, nfuncs, (size - main_size) / nfuncs);
	m->prog.nslots = m->n;
	m->img = (struct nb_image){
		.name = "made", .maps = maps, .nmaps = 1, .progs = &m->prog, .nprogs = 1
	};
	return true;
}

void made_free(struct made *m)
{
	free(m->slots);
}
