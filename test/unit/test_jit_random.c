// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// Machine code against the interpreter: random programs with everything in
// them (JIT_PROGRAMS=N; JIT_SEED=N, alone: the one program of that seed).
#include "test/unit/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <sched.h>

#include "core/bpf/map/ringbuf.h"
#include "test/unit/jit_both.h"

/* ---- random programs ---- */

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d;
}

static unsigned pick(unsigned n)
{
	return (unsigned)(rnd() >> 33) % n;
}

static uint64_t interesting(void)
{
	uint64_t v = edge[pick(NEDGE)];

	switch (pick(4)) {
	case 0:
		return rnd();
	case 1:
		return v + pick(3) - 1;
	case 2:
		return (uint64_t)(int64_t)(int8_t)rnd();
	}
	return v;
}

/* Of the frame, programs use r10-8 (the context), -12 (turns left), and the
 * words from -80 to -16. */
enum { WORDS_END = -16, WORDS = 8, TURNS = 3 };

/* Functions: the entry, two that are called, a callback of bpf_loop and one
 * of bpf_for_each_map_elem. Each calls only later ones. */
enum { OF_LOOP = 3, OF_EACH = 4, NFUNCS = 5 };

/* Places whose target becomes known when all functions are there. */
struct calls {
	size_t at[4];
	unsigned to[4], n;
};

static enum nb_op alu_ops[100], load_ops[20], store_ops[20], atomic_ops[30], jump_ops[60];
static unsigned nalu, nload, nstore, natomic, njump;

static void sort_ops(void)
{
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		enum nb_kind kind = nb_spec_insn((enum nb_op)op)->kind;

		if (kind == NB_KIND_ALU)
			alu_ops[nalu++] = (enum nb_op)op;
		else if (kind == NB_KIND_LOAD)
			load_ops[nload++] = (enum nb_op)op;
		else if (kind == NB_KIND_STORE)
			store_ops[nstore++] = (enum nb_op)op;
		else if (kind == NB_KIND_ATOMIC)
			atomic_ops[natomic++] = (enum nb_op)op;
		else if (kind == NB_KIND_JMP)
			jump_ops[njump++] = (enum nb_op)op;
	}
}

static int32_t some_word(unsigned width)
{
	unsigned bytes = width / 8;

	return WORDS_END - 8 * WORDS + (int32_t)(pick(8 * WORDS / bytes) * bytes);
}

/* A register that holds an address for one slot, then a number again. */
static void access_memory(enum nb_op op)
{
	const struct nb_insn_spec *row = nb_spec_insn(op);
	bool load = row->kind == NB_KIND_LOAD;
	int32_t at = some_word(row->width), imm = (int32_t)interesting();
	unsigned base = pick(3) ? 10 : pick(NREGS), other = pick(NREGS);

	/* cmpxchg uses r0; an address must not be stored */
	if (base == 0 || (base == other && !load))
		base = 10;
	if (base != 10) {
		put(NB_OP_MOV64_X, base, 10, 0, 0);
		if (pick(2)) {
			put(NB_OP_ADD64_K, base, 0, 0, at);
			at = 0;
		}
	}
	put(op, load ? other : base, load ? base : other, at, imm);
	if (base != 10 && !(load && base == other))
		put(NB_OP_MOV64_K, base, 0, 0, imm);
}

/* Context: words 20 on are for programs. */
static void access_context(void)
{
	unsigned base = 1 + pick(9), other = pick(NREGS);
	int32_t off = 160 + (int32_t)(8 * pick(4));

	if (base == other)
		other = 0;
	put(NB_OP_LDX64, base, 10, -8, 0);
	put(pick(2) ? NB_OP_LDX64 : NB_OP_STX64, pick(1) ? other : base, base, off, 0);
	p.s[p.n - 1].regs = p.s[p.n - 1].opcode == 0x79 ? (uint8_t)(base << 4 | other)
							: (uint8_t)(other << 4 | base);
	put(NB_OP_MOV32_K, base, 0, 0, (int32_t)rnd());
}

static void set_low_registers(void)
{
	for (unsigned r = 1; r < 6; r++)
		put(NB_OP_MOV64_K, r, 0, 0, (int32_t)interesting());
}

/* The key at r10 - 24, constant or not. */
static void put_key(void)
{
	unsigned r = pick(NREGS);

	if (pick(2)) {
		put(NB_OP_ST32, 10, 0, -24, (int32_t)pick(6));
	} else {
		put(NB_OP_AND32_K, r, 0, 0, 7);
		put(NB_OP_STX32, 10, r, -24, 0);
	}
	put(NB_OP_ST32, 10, 0, -20, 0);
}

/* r0: what is in the map, or a number. */
static void call_map(void)
{
	int32_t map = (int32_t)pick(RING);

	put_key();
	put(NB_OP_MOV64_X, 2, 10, 0, 0);
	put(NB_OP_ADD64_K, 2, 0, 0, -24);
	if (pick(4) == 0) {
		put(NB_OP_MOV64_X, 3, 10, 0, 0);
		put(NB_OP_ADD64_K, 3, 0, 0, -80);
		put(NB_OP_MOV64_K, 4, 0, 0, (int32_t)pick(4));
		put_map(1, map);
		put(NB_OP_CALL_HELPER, 0, 0, 0, 2);
	} else {
		put_map(1, map);
		put(NB_OP_CALL_HELPER, 0, 0, 0, 1);
		if (pick(2)) {
			put(NB_OP_JEQ64_K, 0, 0, 3, 0);
			put(NB_OP_ATOMIC_FETCH_ADD64, 0, 6 + pick(4), 0, 0);
			put(NB_OP_LDX64, 0, 0, 0, 0);
			put(NB_OP_JA, 0, 0, 1, 0);
		} else {
			put(NB_OP_JNE64_K, 0, 0, 2, 0);
			put(NB_OP_MOV64_K, 0, 0, 0, 5);
			put(NB_OP_JA, 0, 0, 1, 0);
			put(NB_OP_LDX64, 0, 0, 0, 0);
		}
		put(NB_OP_ADD64_K, 0, 0, 0, 1);
	}
	set_low_registers();
}

/*
 * The other helpers, each with arguments that mostly make sense. "$" and a
 * letter is a number of its kind (number() below). They use the frame from
 * r10-256 to r10-104; the eight words from r10-168 on hold bytes.
 */
static const char *const helper_calls[] = {
	"lddw map %r1, $H\nmov %r2, %r10\nadd %r2, -24\ncall 3",
	"call 5\nmov %r0, $K",
	"mov %r1, %r10\nadd %r1, -168\nmov %r2, 8\nmov %r3, $K\n"
	"mov %r4, 1\nmov %r5, 2\ncall 6",
	"call 7\nmov %r0, $K",
	"call 8",
	"mov %r1, %r10\nadd %r1, -168\nmov %r2, $L\nmov %r3, $B\n"
	"mov %r4, %r10\nadd %r4, -112\ncall 105",
	"mov %r1, %r10\nadd %r1, -144\nmov %r2, $L\nmov %r3, $B\n"
	"mov %r4, %r10\nadd %r4, -112\ncall 106",
	"lddw map %r1, 5\nmov %r2, %r10\nadd %r2, -168\nmov %r3, $L\n"
	"mov %r4, $S\ncall 130",
	"lddw map %r1, 5\nmov %r2, 16\nmov %r3, $Z\ncall 131\n"
	"jeq %r0, 0, +5\nstxdw [%r0], %r$R\nstdw [%r0+8], $K\n"
	"mov %r1, %r0\nmov %r2, $S\ncall $F\n",
	"lddw map %r1, 5\nmov %r2, $Q\ncall 134",
	"mov %r1, %r10\nadd %r1, -136\nmov %r2, $L\nmov %r3, %r10\n"
	"add %r3, -168\nmov %r4, %r10\nadd %r4, -152\nmov %r5, $E\n"
	"call 165",
	"lddw map %r1, 4\nmov %r2, %r10\nadd %r2, -24\nmov %r3, $P\n"
	"call 195\njeq %r0, 0, +1\nldxdw %r0, [%r0]",
	"mov %r1, %r10\nadd %r1, -200\nmov %r2, $S\nmov %r3, $L\n"
	"call 0x10001\nmov %r6, %r0\nmov %r1, %r10\nadd %r1, -200\n"
	"call 0x10002\njeq %r0, 0, +5\nldxw %r0, [%r0]\nadd %r6, %r0\n"
	"mov %r1, %r10\nadd %r1, -200\nja -7\n"
	"mov %r1, %r10\nadd %r1, -200\ncall 0x10003\n",
	"mov %r1, %r10\nadd %r1, -104\nadd %r1, -88\nmov %r2, $S\n"
	"mov %r3, $S\ncall 0x2000$C",
	"mov %r1, $K\nmov %r2, $K\nmov %r3, $K\ncall 0x20004",
};
enum { NHELPER_CALLS = sizeof(helper_calls) / sizeof(helper_calls[0]) };

static int number(char kind)
{
	static const int bases[] = { 0, 8, 10, 16, 2, -1 };

	switch (kind) {
	case 'B':
		return bases[pick(6)];
	case 'C':
		return 1 + (int)pick(3);
	case 'E':
		return 8 * (int)pick(3);
	case 'F':
		return 132 + (int)pick(2);
	case 'H':
		return 2 + (int)pick(2);
	case 'L':
		return 1 + (int)pick(16);
	case 'P':
		return (int)pick(2) * 4096;
	case 'Q':
		return (int)pick(2) * (1 + 3 * (int)pick(2));
	case 'R':
		return 6 + (int)pick(4);
	case 'S':
		return (int)pick(4);
	case 'Z':
		return pick(8) == 0;
	}
	return (int)interesting();
}

static void put_text(const char *text)
{
	struct nb_err err = { 0 };
	char made[800];
	size_t used = 0, n;

	for (; *text; text++) {
		NEED(used + 16 < sizeof(made), "%s", text);
		if (*text == '$')
			used += (size_t)snprintf(made + used, 16, "%d", number(*++text));
		else
			made[used++] = *text;
	}
	made[used] = '\0';
	NEED(!nb_asm(&p.s[p.n], MAX - p.n, &n, made, &err), "%s: %s", made, err.text);
	for (size_t i = 0; i < n; i++)
		if (p.s[p.n + i].opcode == 0x85)
			called[(uint32_t)p.s[p.n + i].imm % NHELPERS]++;
	p.n += n;
}

/* Some of what helpers read: digits and formats. */
static void put_bytes(int32_t at)
{
	static const char text[][9] = { "12345678", "-0x7fff ", "  077-19", "0x12345", "99999999",
					"%d,%x",    "%llu",	"%u %i %s", "" };
	uint32_t half[2] = { 0 };

	memcpy(half, text[pick(9)], sizeof(half));
	put(NB_OP_ST32, 10, 0, at, (int32_t)half[0]);
	put(NB_OP_ST32, 10, 0, at + 4, pick(2) ? (int32_t)half[1] : 0);
}

static void call_some_helper(void)
{
	const char *text = helper_calls[pick(NHELPER_CALLS)];

	put_key();
	/* a context without costs, or what text, values and records are */
	if (strstr(text, "0x2000$"))
		for (int32_t i = 0; i < 11; i++)
			put(NB_OP_ST64, 10, 0, -192 + 8 * i, 0);
	else
		for (int32_t i = 0; i < 8; i++)
			put_bytes(-168 + 8 * i);
	put(NB_OP_ST64, 10, 0, -104, 0); /* where text ends at last */
	put_text(text);
	/* what it wrote */
	if (pick(2))
		put(NB_OP_LDX64, 6 + pick(4), 10, -168 + 8 * (int)pick(8), 0);
	set_low_registers();
}

static void call_later(struct calls *c, unsigned to, enum nb_op op)
{
	c->to[c->n] = to;
	c->at[c->n++] = put(op, 2, 0, 0, 0);
	if (op == NB_OP_LDDW_FUNC)
		p.s[p.n++] = (struct nb_slot){ 0 };
}

/* A call of a later function, or many of a callback. */
static void call_function(unsigned func, bool maps, struct calls *c)
{
	unsigned to = func + 1 + pick(NFUNCS - func - 1);

	if (to == OF_EACH && !maps)
		return;
	if (to < OF_LOOP) {
		put(NB_OP_LDX64, 1, 10, -8, 0);
		call_later(c, to, NB_OP_CALL_LOCAL);
		return;
	}
	call_later(c, to, NB_OP_LDDW_FUNC);
	if (pick(2)) /* not known from here on which function it is */
		put(NB_OP_JEQ64_K, 0, 0, 0, 0);
	put(NB_OP_LDX64, 3, 10, -8, 0);
	put(NB_OP_MOV64_K, 4, 0, 0, pick(9) == 0);
	if (to == OF_EACH)
		/* arrays: a hash's order tells what was in it before */
		put_map(1, pick(3) ? (int32_t)pick(2) : PERCPU);
	else
		put(NB_OP_MOV64_K, 1, 0, 0, pick(9) ? (int)pick(4) : -1);
	put(NB_OP_CALL_HELPER, 0, 0, 0, to == OF_EACH ? 164 : 181);
	set_low_registers();
}

static void item(unsigned func, bool maps, struct calls *calls)
{
	switch (pick(maps ? 26 : 22)) {
	case 0:
	case 1:
		access_memory(load_ops[pick(nload)]);
		break;
	case 2:
	case 3:
		access_memory(store_ops[pick(nstore)]);
		break;
	case 4:
		access_memory(atomic_ops[pick(natomic)]);
		break;
	case 5:
		access_context();
		break;
	case 6:
		put_const(pick(NREGS), interesting());
		break;
	case 7:
		if (func + 1 < NFUNCS && calls->n < 4 && pick(4) == 0) {
			call_function(func, maps, calls);
			break;
		}
		put(NB_OP_MAY_GOTO, 0, 0, 0, 0);
		break;
	case 22:
	case 23:
		call_map();
		break;
	case 24:
	case 25:
		call_some_helper();
		break;
	default:
		put(alu_ops[pick(nalu)], pick(NREGS), pick(NREGS), 0, (int32_t)interesting());
	}
}

/* Items, some of them jumps that lead past others, and one loop. */
static void body(unsigned func, bool maps, struct calls *calls)
{
	struct {
		size_t at;
		unsigned left;
	} open[8] = { 0 };
	unsigned nitems = 5 + pick(pick(8) ? 40 : 300), turn, head_item;
	size_t head = 0;

	turn = pick(2) ? nitems : pick(nitems);
	head_item = turn == nitems ? nitems : pick(turn + 1);
	for (unsigned i = 0; i < nitems; i++) {
		for (unsigned k = 0; k < 8; k++)
			if (open[k].at && --open[k].left == 0) {
				p.s[open[k].at].off = (int16_t)(p.n - open[k].at - 1);
				open[k].at = 0;
			}
		if (i == head_item)
			head = p.n;
		if (i == turn) { /* uses r0 */
			put(NB_OP_LDX32, 0, 10, -12, 0);
			put(NB_OP_SUB32_K, 0, 0, 0, 1);
			put(NB_OP_STX32, 10, 0, -12, 0);
			put(NB_OP_JSGT32_K, 0, 0, (int32_t)(head - p.n - 1), 0);
		}
		if (pick(8) == 0 && !open[i % 8].at) {
			open[i % 8].at = put(jump_ops[pick(njump)], pick(NREGS), pick(NREGS), 0,
					     (int32_t)interesting());
			open[i % 8].left = 1 + pick(6);
		} else {
			item(func, maps, calls);
		}
	}
	for (unsigned k = 0; k < 8; k++)
		if (open[k].at)
			p.s[open[k].at].off = (int16_t)(p.n - open[k].at - 1);
}

static void put_frame(void)
{
	put(NB_OP_ST32, 10, 0, -12, TURNS);
	for (int32_t i = 0; i < WORDS; i++)
		put(NB_OP_ST64, 10, 0, WORDS_END - 8 * WORDS + 8 * i, (int32_t)interesting());
}

/* What a callee gives back: numbers, and the words of its frame folded. */
static void put_return(unsigned func)
{
	for (int32_t i = 0; i < WORDS; i++) {
		put(NB_OP_LDX64, 1, 10, WORDS_END - 8 * WORDS + 8 * i, 0);
		put(NB_OP_XOR64_X, 0, 1, 0, 0);
		put(NB_OP_MUL64_K, 0, 0, 0, 0x1e3779b1);
	}
	set_low_registers();
	if (func >= OF_LOOP) {
		put(NB_OP_MOD64_K, 0, 0, 0, 7);
		put(NB_OP_JLE64_K, 0, 0, 1, 1);
		put(NB_OP_MOV64_K, 0, 0, 0, 0);
	}
	put(NB_OP_EXIT, 0, 0, 0, 0);
}

/* Where a function finds the context, and what else it is given. */
static void put_arguments(unsigned func)
{
	static const unsigned ctx[NFUNCS] = { 1, 1, 1, 2, 4 };

	put(NB_OP_STX64, 10, ctx[func], -8, 0);
	if (func == OF_EACH) {
		put(NB_OP_LDX32, 2, 2, 0, 0);
		put(NB_OP_LDX64, 3, 3, 0, 0);
		put(NB_OP_MOV64_K, 4, 0, 0, 9);
	}
	if (func != OF_LOOP)
		put(NB_OP_MOV64_K, 1, 0, 0, 7);
	if (func == OF_LOOP)
		put(NB_OP_MOV64_K, 2, 0, 0, 8);
	/* in callbacks the rest is what the engine left there */
	for (unsigned r = 0; func >= OF_LOOP && r < NREGS; r++)
		if (r == 0 || r > 4 || (func == OF_LOOP && r > 2))
			put(NB_OP_MOV64_K, r, 0, 0, (int32_t)interesting());
}

/* A program of up to NFUNCS functions; only later ones are called. */
static void generate(bool maps)
{
	struct calls calls[NFUNCS] = { 0 };
	unsigned nfuncs = pick(3) ? 1 : NFUNCS;
	size_t start[NFUNCS];

	p.n = 0;
	for (unsigned f = 0; f < nfuncs; f++) {
		start[f] = p.n;
		if (f == 0)
			load_file();
		else
			put_arguments(f);
		put_frame();
		body(nfuncs == 1 ? NFUNCS : f, maps, &calls[f]);
		if (f == 0) {
			/* the frame's words go to the context as well */
			store_file();
			p.n -= 2;
			for (int32_t i = 0; i < WORDS; i++) {
				put(NB_OP_LDX64, 0, 10, WORDS_END - 8 * WORDS + 8 * i, 0);
				put(NB_OP_ATOMIC_XOR64, 1, 0, 160 + 8 * (i % 4), 0);
			}
			put(NB_OP_EXIT, 0, 0, 0, 0);
		} else {
			put_return(f);
		}
	}
	for (unsigned f = 0; f < nfuncs; f++)
		for (unsigned i = 0; i < calls[f].n; i++) {
			size_t at = calls[f].at[i];

			p.s[at].imm = (int32_t)(start[calls[f].to[i]] - at - 1);
		}
}

/* All maps as they were: a few elements of known content. */
static void reset(struct nb_map *const *maps)
{
	unsigned char record[64];
	size_t size;

	while (!nb_ringbuf_read(maps[RING], record, sizeof(record), &size))
		;
	for (unsigned i = 0; i < RING; i++) {
		uint64_t value[8] = { 3, 4, 5 };

		for (uint64_t key = 0; key < 8; key++) {
			value[0] = key * 1000003 + i;
			if (maps[i]->def.type == NB_MAP_HASH && key > 2)
				nb_map_delete(maps[i], &key);
			else
				for (uint32_t c = 0; c < (maps[i]->percpu ? nb_ncpus() : 1); c++)
					nb_map_update(maps[i], &key, value, 0, c);
		}
	}
}

static void show(uint64_t program)
{
	static struct nb_insn in[MAX];
	struct nb_err err;
	char text[100];

	fprintf(stderr, "# JIT_SEED=%#lx:\n", program);
	if (nb_decode(in, p.s, p.n, &err))
		return;
	for (size_t pc = 0; pc < p.n; pc++) {
		nb_disasm(text, sizeof(text), &in[pc], NULL, NULL);
		fprintf(stderr, "# %zu: %s\n", pc, text);
	}
}

static void one_program(struct nb_map *const *maps)
{
	uint64_t program = seed;
	struct both b;

	generate(pick(2));
	b = make(maps, NMAPS, NULL, pick(4) ? (unsigned)ALL : 0);
	for (int i = 0; i < 3; i++) {
		struct file f, mine, theirs;
		uint64_t r0;

		fill(&f, (uint64_t)i);
		for (unsigned r = 0; r < NREGS; r++)
			f.in[r] = interesting();
		mine = theirs = f;
		reset(maps);
		r0 = enter(&b, &mine, sizeof(mine));
		reset(maps);
		if (r0 != nb_exec_interpret(b.x, &theirs, sizeof(theirs)) ||
		    memcmp(&mine, &theirs, sizeof(mine)) != 0) {
			show(program);
			for (unsigned r = 0; r < sizeof(f) / 8; r++)
				fprintf(stderr, "# word %u: %#lx %#lx\n", r, ((uint64_t *)&mine)[r],
					((uint64_t *)&theirs)[r]);
			ck_abort_msg("JIT_SEED=%#lx: machine code and "
				     "interpreter differ",
				     program);
		}
	}
	drop(b);
}

/* One CPU, so that a per-CPU value is the same one in both engines. */
static void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert(!sched_setaffinity(0, sizeof(one), &one));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* So that a helper without a row above is noticed. */
static void every_helper_was_there(unsigned long programs)
{
	static const int32_t all[] = {
#define HELPER(number, name, ret, a1, a2, a3, a4, a5, maps, label, success, effect, cost, work, \
	       doc)                                                                             \
	number,
#include "core/defs/helpers.h"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		NEED(programs < 2000 || called[all[i]], "no program called helper %d", all[i]);
}

TEST(random_programs)
{
	const char *n = getenv("JIT_PROGRAMS"), *s = getenv("JIT_SEED");
	unsigned long programs = n ? strtoul(n, NULL, 0) : 15000, done;
	double start = now();
	struct nb_map *maps[NMAPS] = {
		map_new(NB_MAP_ARRAY, 4, 8, 5),	       map_new(NB_MAP_ARRAY, 4, 24, 3),
		map_new(NB_MAP_HASH, 8, 8, 6),	       map_new(NB_MAP_HASH, 4, 16, 16),
		map_new(NB_MAP_PERCPU_ARRAY, 4, 8, 5), map_new(NB_MAP_RINGBUF, 0, 0, 4096),
	};

	seed = s ? strtoull(s, NULL, 0) : 0x9e3779b97f4a7c15;
	if (s && !n)
		programs = 1;
	printf("# JIT_SEED=%#lx\n", seed);
	fflush(stdout);
	sort_ops();
	stay_here();
	for (done = 0; done < programs; done++) {
		one_program(maps);
		/* a slow machine or a sanitizer: some are better than none */
		if (!n && now() - start > 60)
			break;
	}
	printf("# %lu programs in %.1f s\n", done, now() - start);
	fflush(stdout);
	every_helper_was_there(done);
	for (unsigned i = 0; i < NMAPS; i++)
		nb_map_put(maps[i]);
}

UNIT_MAIN_WITH("jit_random", if (!jit_available()) return no_compiler();)
