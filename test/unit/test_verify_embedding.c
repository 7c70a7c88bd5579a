// SPDX-License-Identifier: MIT
// Is the verifier right? Random programs that it accepts are run here by an
// interpreter that trusts nothing: every address names its region, every
// access is checked, every byte knows whether it was written. At each
// instruction the registers and the stack must lie inside one of the abstract
// states that the verifier walked there, if it walked with opts.exact. And of
// programs accepted as coherent, two runs that differ in local data alone
// (time, random numbers, local maps, addresses) must give the same answer.
// EMBED_RUNS=N sets the number of programs, EMBED_SEED=N the first seed.
#include "test/unit/unit.h"

#include "core/verify/env.h"
#include "test/unit/verify_image.h"

enum {
	CTX_SIZE = 80,
	REGION_BITS = 40,
	R_CTX = 1,
	R_STACK = 8,  /* frame f: R_STACK + f */
	R_VALUE = 32, /* element e of map m: R_VALUE + m * ELEMS + e */
	R_HANDLE = 2000,
	ELEMS = 16,
	MAX_STATES = 4000,
	MAX_STEPS = 200000,
	BUDGET = 64
};

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 2685821657736338717ull;
}

static unsigned below(unsigned n)
{
	return (unsigned)(rnd() >> 33) % n;
}

/* ---- programs ---- */

static struct case_image prog;
static unsigned nslots;

static void slot(uint8_t opcode, unsigned dst, unsigned src, int off,
		 int64_t imm)
{
	if (nslots + 4 < CASE_SLOTS)
		prog.slots[nslots++] =
			(struct nb_slot){ opcode, (uint8_t)(dst | src << 4),
					  (int16_t)off, (int32_t)imm };
}

static void lddw(unsigned dst, unsigned src, uint32_t lo, uint32_t hi)
{
	slot(0x18, dst, src, 0, (int32_t)lo);
	slot(0, 0, 0, 0, (int32_t)hi);
}

static int32_t constant(void)
{
	static const int32_t edges[] = { 0,   1,	 -1,	    2,	   3,
					 7,   8,	 15,	    16,	   31,
					 32,  63,	 64,	    65,	   127,
					 128, 255,	 256,	    511,   -8,
					 -64, INT32_MIN, INT32_MAX, 0xffff };

	return below(4) ? edges[below(sizeof(edges) / sizeof(edges[0]))]
			: (int32_t)rnd();
}

/* Registers used as numbers, and those that hold what generators know. */
static unsigned number(void)
{
	static const uint8_t regs[] = { 0, 1, 2, 3, 4, 5, 7, 8 };

	return regs[below(sizeof(regs))];
}

enum { CTX = 6, PTR = 9, DEPTH = 64 };

static void gen_number(unsigned r)
{
	static const uint8_t offs[] = { 0, 8, 16 };
	static const uint8_t words[] = { 24, 28, 32, 52, 56, 60, 64, 68, 76 };

	switch (below(5)) {
	case 0:
		slot(0x79, r, CTX, offs[below(3)], 0);
		break;
	case 1:
		slot(0x61, r, CTX, words[below(9)], 0);
		break;
	case 2:
		lddw(r, 0, (uint32_t)rnd(), below(2) ? (uint32_t)rnd() : 0);
		break;
	default:
		slot(0xb7, r, 0, 0, constant());
		break;
	}
}

static void gen_alu(void)
{
	static const uint8_t ops[] = {
		0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60,
		0x70, 0x80, 0x90, 0xa0, 0xb0, 0xc0, 0xd0
	};
	uint8_t op = ops[below(sizeof(ops))], cls = below(2) ? 0x07 : 0x04;
	unsigned d = number(), s = number();
	int bits = cls == 0x07 ? 64 : 32, off = 0;
	bool reg = below(2);
	int32_t k = constant();

	if (op == 0x80) {
		slot((uint8_t)(op | cls), d, 0, 0, 0);
		return;
	}
	if (op == 0xd0) {
		slot((uint8_t[]){ 0xd4, 0xdc, 0xd7 }[below(3)], d, 0, 0,
		     16 << below(3));
		return;
	}
	if ((op == 0x30 || op == 0x90) && below(2))
		off = 1;
	if (op == 0xb0 && reg && below(3) == 0)
		off = bits == 64 ? 8 << below(3) : 8 << below(2);
	if (!reg && (op == 0x60 || op == 0x70 || op == 0xc0))
		k = (int32_t)below((unsigned)bits);
	if (!reg && (op == 0x30 || op == 0x90) && !k)
		k = 3;
	slot((uint8_t)(op | cls | (reg ? 8 : 0)), d, reg ? s : 0, off,
	     reg ? 0 : k);
}

/* Bound a number by one of the ways people do. */
static void gen_bound(unsigned r, unsigned limit)
{
	switch (below(4)) {
	case 0:
		slot(0x57, r, 0, 0, (int32_t)limit - 1);
		break;
	case 1:
		slot(0x97, r, 0, 0, (int32_t)limit);
		break;
	case 2: /* if r >= limit r = 0, unsigned or in the low half */
		slot(0xa5, r, 0, 1, (int32_t)limit);
		slot(0xb7, r, 0, 0, (int32_t)below(limit));
		break;
	default: /* a signed pair of tests */
		slot(0x65, r, 0, 1, (int32_t)limit - 1);
		slot(0x75, r, 0, 1, 0);
		slot(0xb7, r, 0, 0, (int32_t)below(limit));
		break;
	}
}

static void gen_stack(void)
{
	static const uint8_t st[] = { 0x72, 0x6a, 0x62, 0x7a };
	static const uint8_t stx[] = { 0x73, 0x6b, 0x63, 0x7b };
	static const uint8_t ldx[] = { 0x71, 0x69, 0x61, 0x79 };
	static const uint8_t ldxs[] = { 0x91, 0x89, 0x81 };
	unsigned k = below(4), size = 1u << k;
	int off = -(int)(size * (1 + below(DEPTH / size)));
	unsigned r = number();

	switch (below(7)) {
	case 0:
		slot(st[k], 10, 0, off, constant());
		break;
	case 1:
	case 2:
		slot(stx[k], 10, r, off, 0);
		break;
	case 3:
		slot(ldxs[k % 3], r, 10, off & ~((1 << k % 3) - 1), 0);
		break;
	case 4: { /* at a variable offset */
		unsigned p = number(), v = number();

		if (p == v)
			break;
		gen_bound(v, 8);
		slot(0xbf, p, 10, 0, 0);
		slot(0x0f, p, v, 0, 0);
		if (below(2))
			slot(0x71, p, p, -(int)(8 * (1 + below(7))), 0);
		else
			slot(0x73, p, v, -(int)(8 * (1 + below(7))), 0);
		slot(0xb7, p, 0, 0, constant());
		break;
	}
	default:
		slot(ldx[k], r, 10, off, 0);
		break;
	}
}

static void gen_spill_pointer(void)
{
	int off = -8 * (int)(1 + below(DEPTH / 8));

	slot(0x7b, 10, PTR, off, 0);
	if (below(3) == 0)
		gen_alu();
	slot(0x79, PTR, 10, off, 0);
	slot(0x7a, 10, 0, off, constant());
}

static void gen_lookup(void)
{
	static const uint8_t maps[] = { 0, 0, 1, 1, 2, 3, 6, 8 };
	unsigned m = maps[below(sizeof(maps))], size = case_maps[m].key_size;
	unsigned r = number();

	if (size == 8)
		slot(0x7b, 10, r, -72, 0);
	else
		slot(0x63, 10, r, -72, 0);
	if (below(2)) {
		slot(size == 8 ? 0x7a : 0x62, 10, 0, -72, (int32_t)below(6));
	}
	slot(0xbf, 2, 10, 0, 0);
	slot(0x07, 2, 0, 0, -72);
	lddw(1, 1, m, 0);
	slot(0x85, 0, 0, 0, 1);
	if (below(8)) {
		/* not found: a value of .bss or of .rodata in its place */
		slot(0x55, 0, 0, 2, 0);
		lddw(0, 2, below(2) ? 5 : 4, 0);
	} else {
		slot(0x55, 0, 0, 2, 0);
		slot(0xb7, 0, 0, 0, 0);
		slot(0x95, 0, 0, 0, 0);
	}
	slot(0xbf, PTR, 0, 0, 0);
	for (unsigned i = 0; i <= 5; i++)
		gen_number(i);
}

static void gen_value(void)
{
	static const uint8_t stx[] = { 0x73, 0x6b, 0x63, 0x7b };
	static const uint8_t ldx[] = { 0x71, 0x69, 0x61, 0x79 };
	static const int32_t atomics[] = { 0,	 0x40, 0x50, 0xa0, 1,
					   0x41, 0x51, 0xa1, 0xe1, 0xf1 };
	unsigned k = below(4), r = number(), p = number(), v = number();

	switch (below(6)) {
	case 0:
		slot(stx[k], PTR, r, (int)below(16), 0);
		break;
	case 1:
		slot(below(2) ? 0xdb : 0xc3, PTR, r, (int)(8 * below(2)),
		     atomics[below(10)]);
		break;
	case 2:
		if (p == v)
			break;
		gen_bound(v, 1u << below(7));
		slot(0xbf, p, PTR, 0, 0);
		slot(below(4) ? 0x0f : 0x1f, p, v, 0, 0);
		slot(ldx[k], p, p, (int)below(12), 0);
		break;
	default:
		slot(ldx[k], r, PTR, (int)below(17), 0);
		break;
	}
}

static void gen_output(void)
{
	unsigned r = number();

	if (below(2))
		slot(0x63, CTX, r, 68 + 4 * (int)below(3), 0);
	else
		slot(0x62, CTX, 0, 68 + 4 * (int)below(3), (int32_t)below(8));
}

static void gen_helper(void)
{
	slot(0x85, 0, 0, 0, (int32_t[]){ 5, 7, 8 }[below(3)]);
	if (below(2))
		slot(0xbf, 7, 0, 0, 0);
	for (unsigned i = 1; i <= 5; i++)
		gen_number(i);
}

/*
 * Something is written or not by a condition that may be local, and an output
 * follows from it: the shapes by which coherence is lost.
 */
static void gen_flow(void)
{
	int k = (int)below(4), off = -8 * (int)(1 + below(8)), at = 64;
	unsigned how = below(5);

	slot(0x61, 2, CTX, below(3) ? at : 28, 0);
	if (how == 0)
		slot(0xb7, 3, 0, 0, k);
	else
		slot(0x7a, 10, 0, off, k);
	slot(0xbf, 4, 10, 0, 0);
	slot(0x07, 4, 0, 0, off);
	slot(below(2) ? 0x15 : 0x55, 2, 0, 1, (int32_t)below(3));
	switch (how) {
	case 0:
		slot(0xb7, 3, 0, 0, (int32_t)below(4));
		break;
	case 1:
	case 2:
		slot(0x7a, 10, 0, off, (int32_t)below(4));
		break;
	default: /* which slot is written depends */
		slot(0x07, 4, 0, 0, off > -64 ? -8 : 8);
		slot(0x7a, 4, 0, 0, (int32_t)below(4));
		break;
	}
	slot(0xb7, 4, 0, 0, 0);
	if (how)
		slot(0x79, 3, 10, off, 0);
	if (below(4) == 0)
		slot(0xb7, 3, 0, 0, k);
	slot(0x55, 3, 0, 1, k);
	slot(0x62, CTX, 0, 68 + 4 * (int)below(3), (int32_t)below(8));
}

static void gen_block(unsigned n, unsigned depth);

/* A jump over a block that is generated now. */
static void gen_if(unsigned depth)
{
	static const uint8_t ops[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60,
				       0x70, 0xa0, 0xb0, 0xc0, 0xd0 };
	bool reg = below(3) == 0;
	unsigned at = nslots, other;

	slot((uint8_t)(ops[below(sizeof(ops))] | (below(2) ? 5 : 6) |
		       (reg ? 8 : 0)),
	     number(), reg ? number() : 0, 0, reg ? 0 : constant());
	gen_block(1 + below(4), depth + 1);
	if (below(2)) {
		other = nslots;
		slot(0x05, 0, 0, 0, 0);
		prog.slots[at].off = (int16_t)(nslots - at - 1);
		gen_block(1 + below(4), depth + 1);
		prog.slots[other].off = (int16_t)(nslots - other - 1);
		return;
	}
	prog.slots[at].off = (int16_t)(nslots - at - 1);
}

static void gen_loop(unsigned depth)
{
	int off = -80 - 8 * (int)depth;
	unsigned head, exit_at = 0;
	bool budget = below(4) == 0;

	slot(0x7a, 10, 0, off, 0);
	head = nslots;
	if (budget) {
		exit_at = nslots;
		slot(0xe5, 0, 0, 0, 0);
	}
	gen_block(1 + below(3), depth + 1);
	slot(0x79, 1, 10, off, 0);
	slot(0x07, 1, 0, 0, 1 + (int32_t)below(2));
	slot(0x7b, 10, 1, off, 0);
	slot(0xa5, 1, 0, (int)head - (int)nslots - 1, (int32_t)(1 + below(6)));
	if (budget)
		prog.slots[exit_at].off = (int16_t)(nslots - exit_at - 1);
	/* a may_goto may have left before r1 was a number again */
	gen_number(1);
}

static void gen_block(unsigned n, unsigned depth)
{
	while (n-- && nslots < 600) {
		switch (below(17)) {
		case 16:
			if (below(3) == 0)
				gen_flow();
			break;
		case 0:
			gen_number(number());
			break;
		case 1:
		case 2:
		case 3:
			gen_stack();
			break;
		case 4:
			gen_lookup();
			break;
		case 5:
		case 6:
			gen_value();
			break;
		case 7:
			gen_output();
			break;
		case 8:
			if (below(3) == 0)
				gen_helper();
			break;
		case 9:
		case 10:
			if (depth < 4)
				gen_if(depth);
			break;
		case 11:
			if (depth < 3 && below(2))
				gen_loop(depth);
			break;
		case 12:
			if (below(3) == 0)
				gen_spill_pointer();
			break;
		default:
			gen_alu();
			break;
		}
	}
}

/* A call of a function that gets numbers and a pointer to the stack. */
static void gen_call(unsigned *at)
{
	slot(0xbf, 1, 10, 0, 0);
	slot(0x07, 1, 0, 0, -8 * (int32_t)(1 + below(8)));
	*at = nslots;
	slot(0x85, 0, 1, 0, 0);
	for (unsigned i = 1; i <= 5; i++)
		gen_number(i);
}

static void gen_callee(void)
{
	slot(0x79, 3, 1, 0, 0);
	slot(0xb7, 0, 0, 0, constant());
	slot((uint8_t)(0x15 | below(2) << 5), 3, 0, (int)(1 + below(2)),
	     constant());
	slot(0x7b, 1, below(2) ? 2 : 0, 0, 0);
	slot(0x1f, 0, 3, 0, 0);
	if (below(2))
		slot(0x57, 0, 0, 0, 7);
	slot(0x95, 0, 0, 0, 0);
}

static void generate(void)
{
	unsigned call = 0;

	nslots = 0;
	slot(0xbf, CTX, 1, 0, 0);
	for (unsigned i = 0; i <= 8; i++)
		if (i != CTX)
			gen_number(i);
	lddw(PTR, 2, below(2) ? 5 : 4, 0);
	for (int off = -8; off >= -DEPTH; off -= 8)
		slot(0x7a, 10, 0, off, below(2) ? 0 : constant());
	gen_block(4 + below(12), 0);
	if (below(3) == 0)
		gen_call(&call);
	gen_block(below(8), 0);
	if (below(2))
		slot(0xb7, 0, 0, 0, 0);
	slot(0x95, 0, 0, 0, 0);
	if (call) {
		prog.slots[call].imm = (int32_t)(nslots - call - 1);
		gen_callee();
	}
	/* Now and then something near the edge. */
	for (unsigned n = below(3) ? 0 : 1 + below(2); n; n--) {
		struct nb_slot *s = &prog.slots[below(nslots)];

		if (s->opcode == 0x18 || s->opcode == 0)
			continue;
		switch (below(4)) {
		case 0:
			if (s->imm)
				s->imm = (int32_t)((uint32_t)s->imm + below(3) -
						   1);
			break;
		case 1:
			if (s->off)
				s->off = (int16_t)(s->off + (int)below(17) - 8);
			break;
		case 2:
			s->opcode ^= (uint8_t)(0x10 << below(4));
			break;
		default:
			s->regs = (uint8_t)((s->regs & 0xf0) | below(10));
			break;
		}
	}
	case_init(&prog, nslots);
}

/* ---- the machine ---- */

struct frame {
	uint64_t reg[NB_NREGS];
	uint32_t written; /* registers */
	uint8_t stack[NB_STACK_SIZE];
	uint8_t init[NB_STACK_SIZE];
	uint32_t ret;
};

struct value {
	bool used;
	uint64_t key;
	uint8_t bytes[64];
};

static struct machine {
	uint8_t ctx[CTX_SIZE];
	struct value maps[CASE_MAPS][ELEMS];
	struct frame frames[NB_MAX_FRAMES];
	uint32_t nframes, pc, steps, budget;
	uint64_t salt;	/* where memory lies: local data */
	uint64_t local; /* state of local randomness */
	const char *fault;
} m;

static uint64_t local_rnd(void)
{
	m.local ^= m.local << 13;
	m.local ^= m.local >> 7;
	m.local ^= m.local << 17;
	return m.local * 2685821657736338717ull;
}

static uint64_t address(unsigned region, uint64_t off)
{
	return ((uint64_t)region << REGION_BITS) + m.salt + off;
}

static bool fault(const char *what)
{
	m.fault = what;
	return false;
}

static bool is_local_map(unsigned map)
{
	return !(case_maps[map].tags & NB_MAPF_COHERENT) &&
	       case_maps[map].origin != NB_ORIGIN_RODATA;
}

/* Memory of an access, checked; NULL and a fault if it is not allowed. */
static uint8_t *memory(uint64_t a, unsigned size, bool write, uint8_t **init)
{
	uint64_t at = a - m.salt;
	unsigned region = (unsigned)(at >> REGION_BITS);
	uint64_t off = at & (((uint64_t)1 << REGION_BITS) - 1);
	unsigned map = (region - R_VALUE) / ELEMS;

	*init = NULL;
	if (region == R_CTX && off + size <= CTX_SIZE) {
		if (!write || off >= 68)
			return m.ctx + off;
		fault("store into an input");
		return NULL;
	}
	if (region >= R_STACK && region < R_STACK + m.nframes &&
	    off + size <= NB_STACK_SIZE) {
		*init = m.frames[region - R_STACK].init + off;
		return m.frames[region - R_STACK].stack + off;
	}
	if (region >= R_VALUE && map < CASE_MAPS &&
	    off + size <= case_maps[map].value_size) {
		uint8_t *p = m.maps[map][(region - R_VALUE) % ELEMS].bytes;

		if (write && (!is_local_map(map) ||
			      case_maps[map].flags & NB_F_RDONLY_PROG)) {
			fault("store into a read-only map");
			return NULL;
		}
		/* Others write local maps at any time. */
		if (is_local_map(map) && local_rnd() % 4 == 0)
			p[off] = (uint8_t)local_rnd();
		return p + off;
	}
	fault("access outside memory");
	return NULL;
}

static bool load(uint64_t a, unsigned size, uint64_t *out)
{
	uint8_t *init, *p = memory(a, size, false, &init);

	*out = 0;
	if (!p)
		return false;
	for (unsigned i = 0; init && i < size; i++)
		if (!init[i])
			return fault("read of unwritten stack");
	memcpy(out, p, size);
	return true;
}

static bool store(uint64_t a, unsigned size, uint64_t v)
{
	uint8_t *init, *p = memory(a, size, true, &init);

	if (!p)
		return false;
	if (init)
		memset(init, 1, size);
	memcpy(p, &v, size);
	return true;
}

static uint64_t lookup(unsigned map, uint64_t key)
{
	const struct nb_map_spec *s = &case_maps[map];

	for (unsigned e = 0; e < ELEMS; e++) {
		if (s->type != NB_MAP_HASH && (e != key || e >= s->max_entries))
			continue;
		if (s->type == NB_MAP_HASH &&
		    (!m.maps[map][e].used || m.maps[map][e].key != key))
			continue;
		return address(R_VALUE + map * ELEMS + e, 0);
	}
	return 0;
}

static bool call_helper(int64_t id)
{
	struct frame *f = &m.frames[m.nframes - 1];
	uint64_t key = 0, r0 = 0;
	unsigned map;

	switch (id) {
	case 1:
		map = (unsigned)((f->reg[1] - m.salt) >> REGION_BITS) -
		      R_HANDLE;
		if (map >= CASE_MAPS)
			return fault("not a map");
		if (!load(f->reg[2], case_maps[map].key_size, &key))
			return false;
		r0 = lookup(map, key);
		break;
	case 5:
	case 7:
		r0 = id == 7 ? (uint32_t)local_rnd() : local_rnd() >> 8;
		break;
	case 8:
		r0 = local_rnd() % 64;
		break;
	default:
		return fault("a helper the generator does not know");
	}
	f->reg[0] = r0;
	f->written &= ~0x3eu;
	f->written |= 1;
	return true;
}

static uint64_t alu(const struct nb_insn *in, uint64_t a, uint64_t b)
{
	bool w = in->width == 64;
	uint32_t a32 = (uint32_t)a, b32 = (uint32_t)b;
	int64_t sa = w ? (int64_t)a : (int32_t)a,
		sb = w ? (int64_t)b : (int32_t)b;
	uint64_t r = 0;

	switch ((int)in->fn) {
	case NB_FN_ADD:
		r = a + b;
		break;
	case NB_FN_SUB:
		r = a - b;
		break;
	case NB_FN_MUL:
		r = a * b;
		break;
	case NB_FN_DIV:
		r = w ? (b ? a / b : 0) : (b32 ? a32 / b32 : 0);
		break;
	case NB_FN_MOD:
		r = w ? (b ? a % b : a) : (b32 ? a32 % b32 : a32);
		break;
	case NB_FN_SDIV:
		r = !sb ? 0 : sb == -1 ? 0 - (uint64_t)sa : (uint64_t)(sa / sb);
		break;
	case NB_FN_SMOD:
		r = !sb ? (uint64_t)sa : sb == -1 ? 0 : (uint64_t)(sa % sb);
		break;
	case NB_FN_OR:
		r = a | b;
		break;
	case NB_FN_AND:
		r = a & b;
		break;
	case NB_FN_XOR:
		r = a ^ b;
		break;
	case NB_FN_LSH:
		r = w ? a << (b & 63) : (uint64_t)a32 << (b & 31);
		break;
	case NB_FN_RSH:
		r = w ? a >> (b & 63) : a32 >> (b & 31);
		break;
	case NB_FN_ARSH:
		r = w ? (uint64_t)(sa >> (b & 63))
		      : (uint64_t)((int32_t)a32 >> (b & 31));
		break;
	case NB_FN_NEG:
		r = 0 - a;
		break;
	case NB_FN_MOV:
		r = b;
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
		return in->width == 16	 ? (uint16_t)a
		       : in->width == 32 ? a32
					 : a;
	case NB_FN_BE:
	case NB_FN_BSWAP:
		return in->width == 16	 ? __builtin_bswap16((uint16_t)a)
		       : in->width == 32 ? __builtin_bswap32(a32)
					 : __builtin_bswap64(a);
	default:
		ck_abort();
	}
	return w ? r : (uint32_t)r;
}

static bool jumps(const struct nb_insn *in, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	if (in->width == 32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
		sa = (int32_t)a;
		sb = (int32_t)b;
	}
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
	case NB_FN_JSGT:
		return sa > sb;
	case NB_FN_JSGE:
		return sa >= sb;
	case NB_FN_JSLT:
		return sa < sb;
	case NB_FN_JSLE:
		return sa <= sb;
	default:
		return (a & b) != 0;
	}
}

static bool atomic(const struct nb_insn *in, struct frame *f)
{
	unsigned size = in->width / 8u;
	uint64_t a = f->reg[in->dst] + (uint64_t)(int64_t)in->off, old, v;
	uint64_t s = f->reg[in->src];

	if (a % size || !load(a, size, &old))
		return m.fault ? false : fault("misaligned atomic");
	if (size == 4)
		s = (uint32_t)s;
	switch ((int)in->fn) {
	case NB_FN_ADD:
	case NB_FN_FETCH_ADD:
		v = old + s;
		break;
	case NB_FN_OR:
	case NB_FN_FETCH_OR:
		v = old | s;
		break;
	case NB_FN_AND:
	case NB_FN_FETCH_AND:
		v = old & s;
		break;
	case NB_FN_XOR:
	case NB_FN_FETCH_XOR:
		v = old ^ s;
		break;
	case NB_FN_XCHG:
		v = s;
		break;
	default:
		v = (size == 4 ? (uint32_t)f->reg[0] : f->reg[0]) == old ? s
									 : old;
		if (!(f->written & 1))
			return fault("read of r0");
		break;
	}
	if (!store(a, size, v))
		return false;
	if (in->fn == NB_FN_CMPXCHG)
		f->reg[0] = old;
	else if (in->fn >= NB_FN_FETCH_ADD)
		f->reg[in->src] = old;
	return true;
}

static bool need(const struct frame *f, unsigned r)
{
	return f->written >> r & 1 ? true : fault("read of an unset register");
}

static void set(struct frame *f, unsigned r, uint64_t v)
{
	f->reg[r] = v;
	f->written |= 1u << r;
}

static bool local_call(uint32_t to)
{
	struct frame *f = &m.frames[m.nframes], *up = f - 1;

	if (m.nframes == NB_MAX_FRAMES)
		return fault("too many frames");
	memset(f, 0, sizeof(*f));
	memcpy(f->reg, up->reg, sizeof(f->reg));
	f->written = up->written & 0x3e;
	set(f, 10, address(R_STACK + m.nframes, NB_STACK_SIZE));
	up->written &= ~0x3fu;
	f->ret = m.pc + 1;
	m.nframes++;
	m.pc = to;
	return true;
}

/* One instruction; false at the end or on a fault. */
static bool step(const struct nb_insn *in)
{
	struct frame *f = &m.frames[m.nframes - 1];
	uint64_t b = (uint64_t)in->imm, v;
	uint32_t to = (uint32_t)((int64_t)m.pc + 1 + in->off);
	unsigned size = in->width / 8u;
	int64_t off = in->off;

	if (in->operand == NB_OPND_REG && in->kind != NB_KIND_CALL) {
		if (!need(f, in->src))
			return false;
		b = f->reg[in->src];
	}
	switch ((enum nb_kind)in->kind) {
	case NB_KIND_ALU:
		if (in->fn != NB_FN_MOV && in->fn != NB_FN_MOVSX8 &&
		    in->fn != NB_FN_MOVSX16 && in->fn != NB_FN_MOVSX32 &&
		    !need(f, in->dst))
			return false;
		set(f, in->dst, alu(in, f->reg[in->dst], b));
		break;
	case NB_KIND_JMP:
		if (!need(f, in->dst))
			return false;
		m.pc = jumps(in, f->reg[in->dst], b) ? to : m.pc + 1;
		return true;
	case NB_KIND_JA:
		m.pc = to;
		return true;
	case NB_KIND_MAY_GOTO:
		m.pc = m.budget && m.budget-- ? m.pc + 1 : to;
		return true;
	case NB_KIND_CALL:
		if (in->fn == NB_FN_LOCAL)
			return local_call(to);
		if (!call_helper(in->imm))
			return false;
		break;
	case NB_KIND_EXIT:
		if (m.nframes == 1) {
			need(f, 0);
			return false;
		}
		m.pc = f->ret;
		m.nframes--;
		f[-1].reg[0] = f->reg[0];
		f[-1].written |= f->written & 1;
		return true;
	case NB_KIND_LDX:
	case NB_KIND_LDXS:
	case NB_KIND_LOAD_ACQ:
		if (!load(b + (uint64_t)off, size, &v))
			return false;
		if (in->kind == NB_KIND_LDXS)
			v = (uint64_t)nb_sext(v, in->width);
		set(f, in->dst, v);
		break;
	case NB_KIND_ST:
	case NB_KIND_STX:
	case NB_KIND_STORE_REL:
		if (!need(f, in->dst) ||
		    !store(f->reg[in->dst] + (uint64_t)off, size, b))
			return false;
		break;
	case NB_KIND_ATOMIC:
		if (!need(f, in->dst) || !atomic(in, f))
			return false;
		break;
	case NB_KIND_LDDW:
		v = (uint64_t)in->imm;
		if (in->fn == NB_FN_MAP)
			v = address(R_HANDLE + (unsigned)in->imm, 0);
		if (in->fn == NB_FN_MAP_VALUE)
			v = address(R_VALUE +
					    (unsigned)(uint32_t)in->imm * ELEMS,
				    (uint64_t)in->imm >> 32);
		set(f, in->dst, v);
		m.pc++;
		break;
	case NB_KIND_LDDW_HI:
		return fault("in the middle of an instruction");
	}
	m.pc++;
	return true;
}

/* ---- states seen by the verifier ---- */

static struct {
	struct nb_saved *saved[MAX_STATES];
	uint32_t pc[MAX_STATES];
	unsigned n;
	bool full;
	uint16_t live[CASE_SLOTS];
} seen;

static struct nb_state scratch;

static void observe(void *arg, const struct nb_env *env,
		    const struct nb_state *st, uint32_t pc)
{
	struct nb_live all;

	(void)arg;
	if (env->labels)
		return;
	if (seen.n == MAX_STATES) {
		seen.full = true;
		return;
	}
	memcpy(seen.live, env->cfg.live, env->n * sizeof(seen.live[0]));
	for (unsigned i = 0; i < NB_MAX_FRAMES; i++)
		all.regs[i] = 0x7ff;
	seen.saved[seen.n] = malloc(nb_state_size(st, &all));
	nb_state_save(seen.saved[seen.n], st, &all);
	seen.pc[seen.n++] = pc;
}

/* Links met so far: the common number of each id. */
struct links {
	unsigned n;
	struct {
		uint32_t id;
		uint64_t base;
	} at[512];
};

static bool linked(struct links *l, const struct nb_reg *r, uint64_t v)
{
	uint64_t base = v - (uint64_t)(int64_t)r->delta;

	if (!r->id || r->kind != NB_REG_SCALAR)
		return true;
	for (unsigned i = 0; i < l->n; i++)
		if (l->at[i].id == r->id)
			return l->at[i].base == base;
	if (l->n < 512) {
		l->at[l->n].id = r->id;
		l->at[l->n++].base = base;
	}
	return true;
}

static bool reg_holds(struct links *l, const struct nb_reg *r, uint64_t v)
{
	uint64_t at = v - m.salt;
	unsigned region = (unsigned)(at >> REGION_BITS), map;

	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_UNINIT:
	case NB_REG_FUNC:
	case NB_REG_MEM:
	case NB_REG_RDONLY:
	case NB_REG_MEM_OR_NULL:
		return true;
	case NB_REG_SCALAR:
		return nb_range_has(&r->r, v) && linked(l, r, v);
	case NB_REG_CTX:
		return nb_range_has(&r->r, v - address(R_CTX, 0));
	case NB_REG_STACK:
		return nb_range_has(
			&r->r, v - address(R_STACK + r->frame, NB_STACK_SIZE));
	case NB_REG_MAP:
	case NB_REG_MAP_OR_NULL:
		return (!v && r->kind == NB_REG_MAP_OR_NULL) ||
		       v == address(R_HANDLE + r->map, 0);
	case NB_REG_VALUE_OR_NULL:
		if (!v)
			return true;
		break;
	case NB_REG_VALUE:
		break;
	}
	/* Some element of the map; offsets may be negative, so try all. */
	map = r->map;
	(void)region;
	for (unsigned e = 0; e < ELEMS; e++)
		if (nb_range_has(&r->r,
				 v - address(R_VALUE + map * ELEMS + e, 0)))
			return true;
	return false;
}

static bool cells_hold(struct links *l, const struct nb_frame *a,
		       const struct frame *f)
{
	for (uint32_t c = 0; c < a->ncells; c++) {
		const struct nb_cell *x = &a->cells[c];
		const uint8_t *p = f->stack + NB_STACK_SIZE - 4 * (c + 1);
		const uint8_t *init = f->init + NB_STACK_SIZE - 4 * (c + 1);
		uint64_t v = 0;

		for (unsigned i = 0; i < 4; i++) {
			if (x->init >> i & 1 && !init[i])
				return false;
			if (x->kind == NB_CELL_BYTES && x->init >> i & 1 &&
			    x->zero >> i & 1 && p[i])
				return false;
		}
		if (x->kind == NB_CELL_SPILL4 || x->kind == NB_CELL_SPILL8) {
			memcpy(&v, p, x->kind == NB_CELL_SPILL8 ? 8 : 4);
			if (!reg_holds(l, &x->reg, v))
				return false;
		}
	}
	return true;
}

static bool state_holds(const struct nb_state *st)
{
	static struct links l;

	l.n = 0;
	if (st->nframes != m.nframes)
		return false;
	for (uint32_t i = 0; i < m.nframes; i++) {
		const struct nb_frame *a = &st->frames[i];
		const struct frame *f = &m.frames[i];
		bool top = i + 1 == m.nframes;
		unsigned live = top ? seen.live[m.pc]
				    : seen.live[m.frames[i + 1].ret] & 0x3c0;

		if (i && a->ret != f->ret)
			return false;
		for (unsigned r = 0; r < NB_NREGS; r++) {
			if (!(live >> r & 1) ||
			    a->regs[r].kind == NB_REG_UNINIT)
				continue;
			if (!(f->written >> r & 1) ||
			    !reg_holds(&l, &a->regs[r], f->reg[r]))
				return false;
		}
		if (!cells_hold(&l, a, f))
			return false;
	}
	return true;
}

static bool embedded(void)
{
	for (unsigned i = 0; i < seen.n; i++) {
		if (seen.pc[i] != m.pc)
			continue;
		nb_state_restore(&scratch, seen.saved[i]);
		if (state_holds(&scratch))
			return true;
	}
	return false;
}

/* ---- runs ---- */

static void put32(unsigned off, uint32_t v)
{
	memcpy(m.ctx + off, &v, 4);
}

/* Coherent inputs come from @coherent, the others from @local. */
static void prepare(uint64_t coherent, uint64_t local)
{
	uint64_t keep = seed;

	memset(&m, 0, sizeof(m));
	seed = coherent;
	for (unsigned i = 0; i < CTX_SIZE; i++)
		m.ctx[i] = below(2) ? (uint8_t)below(4) : (uint8_t)rnd();
	m.local = local | 1;
	m.salt = local_rnd() % 1024 * 4096;
	put32(64, (uint32_t)local_rnd() % 3);
	for (unsigned map = 0; map < CASE_MAPS; map++) {
		for (unsigned e = 0; e < ELEMS; e++) {
			struct value *v = &m.maps[map][e];
			bool here = is_local_map(map);

			v->used = (here ? local_rnd() : rnd()) & 1;
			v->key = e % 8;
			for (unsigned i = 0; i < 64; i++)
				v->bytes[i] =
					(uint8_t)(here ? local_rnd() : rnd());
			if (map == 4)
				memcpy(v->bytes, case_rodata, 64);
		}
	}
	m.nframes = 1;
	m.budget = BUDGET;
	m.frames[0].written = 1u << 1 | 1u << 10;
	m.frames[0].reg[1] = address(R_CTX, 0);
	m.frames[0].reg[10] = address(R_STACK, NB_STACK_SIZE);
	seed = keep;
}

static struct nb_insn insns[CASE_SLOTS];

static void dump(uint64_t program, const char *what)
{
	char text[128];

	printf("# program %llu, slot %u: %s\n", (unsigned long long)program,
	       m.pc, what);
	for (unsigned i = 0; i < prog.prog.nslots; i++) {
		if (insns[i].kind == NB_KIND_LDDW_HI)
			continue;
		nb_disasm(text, sizeof(text), &insns[i], NULL, NULL);
		printf("#   %u: %s\n", i, text);
	}
	fflush(stdout);
}

static void run(uint64_t program, bool check)
{
	bool more = true;

	while (more) {
		if (check && !seen.full && !embedded()) {
			for (unsigned r = 0; r < NB_NREGS; r++)
				printf("#   r%u %llx\n", r,
				       (unsigned long long)m
					       .frames[m.nframes - 1]
					       .reg[r]);
			dump(program, "outside every state walked here");
			ck_abort_msg("state not embedded");
		}
		if (m.steps++ == MAX_STEPS) {
			dump(program, "does not end");
			ck_abort_msg("an accepted program does not end");
		}
		more = step(&insns[m.pc]);
		if (m.fault) {
			dump(program, m.fault);
			ck_abort_msg("an accepted program faults: %s", m.fault);
		}
	}
}

static void forget(void)
{
	while (seen.n)
		free(seen.saved[--seen.n]);
	seen.full = false;
}

static bool accepted(bool coherence_off, bool watch)
{
	struct nb_verify_opts o = { .coherence_off = coherence_off,
				    .max_insns = 20000,
				    .exact = watch,
				    .observe = watch ? observe : NULL };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	bool yes;

	ck_assert_msg(!nb_verify(&v, &prog.img, 0, &o, &err), "%s", err.text);
	yes = v->accepted;
	ck_assert(yes || v->finding.cls != NB_FIND_NONE);
	nb_verdict_free(v);
	return yes;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

START_TEST(accepted_programs_are_safe)
{
	uint64_t first = setting("EMBED_SEED", 1);
	uint64_t runs = setting("EMBED_RUNS", 6000), good = 0, more = 0;

	for (uint64_t p = first; p < first + runs; p++) {
		struct nb_err err;
		bool held;

		seed = p * 0x9e3779b97f4a7c15ull | 1;
		generate();
		forget();
		if (nb_decode(insns, prog.slots, nslots, &err))
			continue;
		held = accepted(true, true);
		good += held;
		/* What did not matter may lie outside of every state, if not
		 * told otherwise: then only faults show. */
		if (!accepted(true, false)) {
			ck_assert_msg(!held, "only walked exactly accepted");
			continue;
		}
		more += !held;
		for (unsigned k = 0; k < 6; k++) {
			prepare(p * 131 + k, p * 17 + k);
			run(p, held);
		}
	}
	forget();
	printf("# %llu of %llu programs accepted and run, and %llu that only "
	       "pass where less matters\n",
	       (unsigned long long)good, (unsigned long long)runs,
	       (unsigned long long)more);
	ck_assert_msg(runs < 100 || good * 20 > runs,
		      "the generator makes too few good ones");
}
END_TEST

START_TEST(coherent_programs_agree)
{
	uint64_t first = setting("EMBED_SEED", 1);
	uint64_t runs = setting("EMBED_RUNS", 6000) * 2, good = 0, local = 0;

	for (uint64_t p = first; p < first + runs; p++) {
		struct nb_err err;

		seed = p * 0xd1342543de82ef95ull | 1;
		generate();
		if (nb_decode(insns, prog.slots, nslots, &err) ||
		    !accepted(false, false))
			continue;
		good++;
		for (unsigned k = 0; k < 6; k++) {
			uint8_t out[12];
			uint64_t r0;
			uint32_t pc;

			prepare(p + k, p * 7 + k);
			run(p, false);
			memcpy(out, m.ctx + 68, 12);
			r0 = m.frames[0].reg[0];
			pc = m.steps;
			prepare(p + k, p * 11 + 1000 + k);
			run(p, false);
			local += pc != m.steps;
			if (!memcmp(out, m.ctx + 68, 12) &&
			    r0 == m.frames[0].reg[0])
				continue;
			dump(p, "two ranks disagree");
			ck_abort_msg("a coherent program answers differently");
		}
	}
	printf("# %llu of %llu programs accepted as coherent, %llu runs took "
	       "different ways\n",
	       (unsigned long long)good, (unsigned long long)runs,
	       (unsigned long long)local);
	ck_assert_msg(runs < 100 || good * 50 > runs,
		      "the generator makes too few good ones");
}
END_TEST

UNIT_MAIN("verify embedding", tcase_add_test(tc, accepted_programs_are_safe);
	  tcase_add_test(tc, coherent_programs_agree);)
