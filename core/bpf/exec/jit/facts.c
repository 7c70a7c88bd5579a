// SPDX-License-Identifier: MIT
/*
 * Analyse a program before code is emitted: dead slots, branches that
 * always go one way, constants in straight-line code, look-ups in known
 * maps, helpers with inline code, and the state that the entry must set up.
 */
#include "core/bpf/exec/jit/facts.h"

#include <inttypes.h>
#include <string.h>

#include "core/bpf/map/ops.h"

static const struct nb_insn_spec *facts_row(const struct nb_code *c)
{
	return c->op < NB_NOPS ? nb_spec_insn((enum nb_op)c->op) : NULL;
}

static bool is_jump(const struct nb_insn_spec *row)
{
	return row && row->traits & NB_INSN_JUMP;
}

static bool facts_is_local_call(const struct nb_code *c)
{
	return c->op == NB_OP_CALL_LOCAL;
}

static bool is_helper_call(const struct nb_code *c)
{
	return c->op == NB_OP_CALL_HELPER;
}

/* Does the code call a helper that calls back a function whose slot is in
 * r2? */
static bool calls_back(const struct nb_code *c)
{
	return c->op == NB_CODE_LOOP || c->op == NB_CODE_EACH;
}

static uint16_t known_bit(unsigned reg)
{
	return (uint16_t)(1u << reg);
}

/* Return the registers that a code writes, as bits. */
static uint16_t written(const struct nb_code *c)
{
	const struct nb_insn_spec *row = facts_row(c);

	if (row)
		return nb_regs(row->writes, c->dst, c->src);
	return c->op == NB_CODE_CONST || c->op == NB_CODE_FUNC ? known_bit(c->dst) : known_bit(0);
}

static bool reads_frame(const struct nb_code *c)
{
	const struct nb_insn_spec *row = facts_row(c);

	return row && nb_regs(row->reads, c->dst, c->src) >> NB_R10 & 1;
}

/* Does the code read r10 other than as an address or to copy it? */
static bool computes_with_frame(const struct nb_code *c)
{
	const struct nb_insn_spec *row = facts_row(c);

	if (!reads_frame(c) || row->kind == NB_KIND_LOAD || c->op == NB_OP_MOV64_X)
		return false;
	return (row->kind != NB_KIND_STORE && row->kind != NB_KIND_ATOMIC) ||
	       (row->operand == NB_OPND_REG && c->src == NB_R10);
}

enum { SLOTS = NB_STACK_SIZE / 4 };

struct value {
	/* A value of kind FRAME is r10 + v. */
	enum { ANYTHING, CONSTANT, FRAME } kind;
	uint64_t v;
};

/* Registers and stack words that hold known constants; valid up to the next
 * jump target. */
struct known {
	struct value reg[NB_NREGS];
	/* Which words of the frame are known, four bytes each. */
	bool has[SLOTS];
	uint32_t word[SLOTS];
};

static void known_forget(struct known *k)
{
	memset(k, 0, sizeof(*k));
	k->reg[NB_R10].kind = FRAME;
}

static void forget_frame(struct known *k)
{
	memset(k->has, 0, sizeof(k->has));
}

static void forget_after_call(struct known *k)
{
	for (unsigned r = 0; r < 6; r++)
		k->reg[r].kind = ANYTHING;
}

static struct value source(const struct known *k, const struct nb_code *c, enum nb_opnd operand)
{
	if (operand == NB_OPND_REG)
		return k->reg[c->src];
	return (struct value){ CONSTANT, (uint64_t)c->imm };
}

/* Fold the operations that compute addresses and keys. */
static struct value known_result(const struct known *k, const struct nb_code *c,
				 const struct nb_insn_spec *row)
{
	struct value a = k->reg[c->dst], b = source(k, c, row->operand);
	const struct value unknown = { ANYTHING, 0 };

	if (row->traits == NB_INSN_MOVE && row->width == 64)
		return b;
	if (row->traits == NB_INSN_MOVE && b.kind == CONSTANT)
		return (struct value){ CONSTANT, (uint32_t)b.v };
	if (row->traits & NB_INSN_SUM && row->width == 64 && a.kind != ANYTHING &&
	    b.kind == CONSTANT)
		return (struct value){ a.kind, nb_sum(row->traits, a.v, b.v) };
	return unknown;
}

/* Record a store of @width bits of @v, perhaps unknown, at @base + @off. */
static void known_store(struct known *k, struct value base, int32_t off, unsigned width,
			struct value v)
{
	int64_t at = (int64_t)base.v + off + NB_STACK_SIZE;

	if (base.kind != FRAME || at < 0 || at + 8 > NB_STACK_SIZE + 4) {
		forget_frame(k);
		return;
	}
	for (int64_t i = at / 4; i <= (at + width / 8 - 1) / 4; i++)
		if (i < SLOTS)
			k->has[i] = false;
	if (at % 4 || width < 32 || v.kind != CONSTANT)
		return;
	for (unsigned i = 0; i < width / 32; i++)
		if (at / 4 + i < SLOTS) {
			k->has[at / 4 + i] = true;
			k->word[at / 4 + i] = (uint32_t)(v.v >> 32 * i);
		}
}

/* Return the 32-bit key that @p points to, if it is known. */
static bool known_key(const struct known *k, struct value p, uint32_t *key)
{
	int64_t at = (int64_t)p.v + NB_STACK_SIZE;

	if (p.kind != FRAME || at < 0 || at % 4 || at / 4 >= SLOTS || !k->has[at / 4])
		return false;
	*key = k->word[at / 4];
	return true;
}

static struct nb_map *known_map(const struct nb_exec *x, struct value v)
{
	if (v.kind != CONSTANT)
		return NULL;
	for (uint32_t i = 0; i < x->nmaps; i++)
		if ((uintptr_t)x->maps[i] == v.v)
			return x->maps[i];
	return NULL;
}

/* Choose the code for a look-up in the known map @m. */
static void map_fact(struct nb_jit_fact *f, struct nb_map *m, bool has_key)
{
	bool array = nb_map_array_base(m);
	bool percpu = m->ops == &nb_map_percpu_array_ops;

	if (m->replicated)
		return; /* The run's communicator decides: NB_JIT_LOOKUP_HELPER. */
	if (has_key && (array || percpu) && f->key >= m->max_entries) {
		f->lookup = NB_JIT_LOOKUP_CONST;
		f->value = 0;
	} else if (has_key && array) {
		f->lookup = NB_JIT_LOOKUP_CONST;
		f->value = (uintptr_t)(m->base + m->elem_size * f->key);
	} else {
		f->lookup = array		? NB_JIT_LOOKUP_ARRAY
			    : percpu && has_key ? NB_JIT_LOOKUP_PERCPU_AT
			    : percpu		? NB_JIT_LOOKUP_PERCPU
						: NB_JIT_LOOKUP_DIRECT;
		f->map = m;
	}
}

static void lookup_fact(const struct nb_exec *x, struct known *k, struct nb_jit_fact *f)
{
	struct nb_map *m = known_map(x, k->reg[1]);

	if (m)
		map_fact(f, m, known_key(k, k->reg[2], &f->key));
	forget_after_call(k);
	if (f->lookup == NB_JIT_LOOKUP_CONST)
		k->reg[0] = (struct value){ CONSTANT, f->value };
}

static void jump_fact(const struct known *k, const struct nb_code *c,
		      const struct nb_insn_spec *row, struct nb_jit_fact *f)
{
	struct value a = k->reg[c->dst], b = source(k, c, row->operand);

	if (a.kind == CONSTANT && b.kind == CONSTANT)
		f->flags |=
			nb_jump_holds(row->fn, row->width, a.v, b.v) ? NB_JIT_TAKEN : NB_JIT_FALLS;
}

/*
 * Record facts about the slot of @c in @f, and update @k: which registers and
 * stack words hold known values after @c.
 */
static void learn(const struct nb_exec *x, struct known *k, const struct nb_code *c,
		  struct nb_jit_fact *f)
{
	const struct nb_insn_spec *row = facts_row(c);
	struct value v = { ANYTHING, 0 };

	if (c->op == NB_CODE_LOOKUP) {
		lookup_fact(x, k, f);
		return;
	}
	if (calls_back(c) && k->reg[2].kind == CONSTANT) {
		f->flags |= NB_JIT_CALLBACK;
		f->value = k->reg[2].v;
	}
	if (!row && (c->op == NB_CODE_CONST || c->op == NB_CODE_FUNC)) {
		k->reg[c->dst] = (struct value){ CONSTANT, (uint64_t)c->imm };
		return;
	}
	if (!row || row->kind == NB_KIND_CALL) {
		forget_after_call(k);
		forget_frame(k);
		return;
	}
	if (row->kind == NB_KIND_JMP)
		jump_fact(k, c, row, f);
	if (row->kind == NB_KIND_ALU)
		v = known_result(k, c, row);
	if (row->kind == NB_KIND_ATOMIC || row->traits & NB_INSN_ORDERED)
		forget_frame(k);
	else if (row->kind == NB_KIND_STORE)
		known_store(k, k->reg[c->dst], c->off, row->width, source(k, c, row->operand));
	for (unsigned i = 0; i < NB_NREGS; i++)
		if (written(c) & known_bit(i))
			k->reg[i] = v;
}

static bool add_callback(struct nb_jit_ctx *c, uint32_t slot)
{
	if (c->fact[slot].flags & NB_JIT_ADDRESS)
		return true;
	if (c->ncallbacks == NB_IMAGE_MAX_FUNCS)
		return false;
	c->fact[slot].flags |= NB_JIT_ADDRESS;
	c->callback[c->ncallbacks++] = slot;
	return true;
}

static int mark_targets(struct nb_jit_ctx *c, struct nb_err *err)
{
	for (uint32_t pc = 0; pc < c->n; pc++) {
		const struct nb_code *code = &c->code[pc];
		int64_t to = (int64_t)pc + 1 + code->off;

		if (!is_jump(facts_row(code)) && !facts_is_local_call(code) &&
		    code->op != NB_CODE_FUNC)
			continue;
		if (to < 0 || to >= c->n)
			return nb_fail(err, NB_E_NOTSUP, pc,
				       "instruction %" PRIu32 ": target %" PRId64 " of %" PRIu32
				       " instructions",
				       pc, to, c->n);
		c->fact[to].flags |= NB_JIT_TARGET;
		if (code->op == NB_CODE_FUNC && !add_callback(c, (uint32_t)to))
			return nb_fail(err, NB_E_NOTSUP, pc,
				       "instruction %" PRIu32 ": more than %d callbacks", pc,
				       NB_IMAGE_MAX_FUNCS);
	}
	return 0;
}

static void take_aux(struct nb_jit_fact *f, const struct nb_insn_spec *row, uint8_t aux)
{
	if (!(aux & NB_AUX_REACHED))
		f->flags |= NB_JIT_DEAD;
	if (aux & NB_AUX_NONZERO)
		f->flags |= NB_JIT_NONZERO;
	if (!row || row->kind != NB_KIND_JMP)
		return;
	aux &= NB_AUX_BRANCH_TAKEN | NB_AUX_BRANCH_FALLS;
	if (aux == NB_AUX_BRANCH_TAKEN)
		f->flags |= NB_JIT_TAKEN;
	if (aux == NB_AUX_BRANCH_FALLS)
		f->flags |= NB_JIT_FALLS;
}

static bool counts_iterations(const struct nb_code *c)
{
	nb_helper_fn *begin;

	if (!is_helper_call(c))
		return calls_back(c);
	begin = nb_helper_body(NB_HELPER_ITER_NEW);
	return c->imm == (int64_t)(uintptr_t)begin;
}

/* Return the inline code for the helper that @c calls, if there is one. */
static enum nb_jit_inline inline_of(const struct nb_code *c)
{
	static const struct {
		int32_t helper;
		enum nb_jit_inline how;
	} row[] = {
		{ 8, NB_JIT_INLINE_CPU },
		{ 132, NB_JIT_INLINE_RING_SUBMIT },
		{ 133, NB_JIT_INLINE_RING_DISCARD },
	};

	if (!is_helper_call(c))
		return NB_JIT_INLINE_NONE;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (c->imm == (int64_t)(uintptr_t)nb_helper_body(row[i].helper))
			return row[i].how;
	return NB_JIT_INLINE_NONE;
}

/* Can the code @c call the helper's function at run time? */
static bool calls_helper(const struct nb_code *c, const struct nb_jit_fact *f)
{
	if (c->op == NB_CODE_LOOKUP)
		return f->lookup == NB_JIT_LOOKUP_HELPER || f->lookup == NB_JIT_LOOKUP_PERCPU ||
		       f->lookup == NB_JIT_LOOKUP_PERCPU_AT ||
		       (f->lookup == NB_JIT_LOOKUP_DIRECT && f->map->percpu);
	return is_helper_call(c) && f->inlined != NB_JIT_INLINE_RING_SUBMIT &&
	       f->inlined != NB_JIT_INLINE_RING_DISCARD;
}

static void add_needs(struct nb_jit_needs *n, const struct nb_code *c, const struct nb_jit_fact *f)
{
	bool helper = calls_helper(c, f);

	n->written |= written(c);
	n->frame |= reads_frame(c);
	n->frame_value |= computes_with_frame(c);
	n->run |= helper || c->op == NB_CODE_EACH;
	n->calls_out |= helper || (c->op == NB_CODE_LOOKUP && f->lookup == NB_JIT_LOOKUP_DIRECT);
	n->calls_local |= facts_is_local_call(c) || calls_back(c);
	n->may_goto |= c->op == NB_OP_MAY_GOTO;
	n->iterations |= counts_iterations(c);
}

int nb_jit_analyse(struct nb_jit_ctx *c, const uint8_t *aux, struct nb_err *err)
{
	struct known k;
	int rc = mark_targets(c, err);

	if (rc)
		return rc;
	for (uint32_t pc = 0; aux && pc < c->n; pc++)
		take_aux(&c->fact[pc], facts_row(&c->code[pc]), aux[pc]);
	for (uint32_t pc = 0; pc < c->n; pc++) {
		const struct nb_code *code = &c->code[pc];
		struct nb_jit_fact *f = &c->fact[pc];

		if (pc == 0 || f->flags & NB_JIT_TARGET)
			known_forget(&k);
		if (f->flags & NB_JIT_DEAD || code->op == NB_OP_LDDW_HI)
			continue;
		f->inlined = (uint8_t)inline_of(code);
		learn(c->x, &k, code, f);
		add_needs(&c->needs, code, f);
	}
	if (c->needs.written >> NB_R10 & 1)
		return nb_fail(err, NB_E_NOTSUP, 0, "the program writes r10, which is read-only");
	return 0;
}
