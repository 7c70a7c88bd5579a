// SPDX-License-Identifier: MIT
/*
 * Watch the interpreter: record which registers hold fields of the context,
 * which jumps compare these registers, and which instructions write the
 * answers. The program runs as it would without this.
 */
#include "core/bpf/exec/explain/path.h"

#include "core/bpf/exec/run/interp.h"

static const struct nb_origin NOWHERE = { .exact = -1 };

static bool holds_code(const struct nb_exec *x, const struct nb_code *ip)
{
	return x && ip >= x->code && ip < x->code + x->ncodes;
}

static struct nb_path_site site(const struct nb_path *w, const struct nb_code *ip)
{
	return (struct nb_path_site){ w->x->number, (uint32_t)(ip - w->x->code) };
}

static struct nb_origin *remembered(struct nb_path *w, uint64_t addr, uint32_t width)
{
	for (uint32_t i = 0; i < w->nstack; i++)
		if (w->stack[i].addr == addr && w->stack[i].width == width)
			return &w->stack[i].from;
	return NULL;
}

/* Forget the origin of all bytes that a store overwrites. */
static void path_forget(struct nb_path *w, uint64_t addr, uint32_t width)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->nstack; i++)
		if (w->stack[i].addr + w->stack[i].width / 8 <= addr ||
		    addr + width / 8 <= w->stack[i].addr)
			w->stack[kept++] = w->stack[i];
	w->nstack = kept;
}

static void remember(struct nb_path *w, uint64_t addr, uint32_t width, struct nb_origin from)
{
	path_forget(w, addr, width);
	if (w->nstack == NB_PATH_STACK || (!from.fields && !from.map))
		return;
	w->stack[w->nstack].addr = addr;
	w->stack[w->nstack].width = width;
	w->stack[w->nstack++].from = from;
}

/* Compute the offset of @addr in the context; returns false if it is
 * outside. */
static bool in_context(const struct nb_path *w, uint64_t addr, uint64_t *off)
{
	*off = addr - (uintptr_t)w->ctx;
	return *off < w->ctx_size;
}

static struct nb_origin path_loaded(struct nb_path *w, uint64_t addr, uint32_t width)
{
	struct nb_origin out = NOWHERE, *known;
	uint64_t off;

	if (!in_context(w, addr, &off)) {
		known = remembered(w, addr, width);
		if (known)
			return *known;
		out.map = true;
		return out;
	}
	for (size_t i = 0; i < w->hook->nfields && i < NB_PATH_FIELDS; i++) {
		const struct nb_field_spec *f = &w->hook->fields[i];

		if (off + width / 8 <= f->off || f->off + f->size <= off)
			continue;
		out.fields |= UINT32_C(1) << i;
		if (f->off == off && f->size * 8 == width)
			out.exact = (int8_t)i;
	}
	return out;
}

static void path_stored(struct nb_path *w, const struct nb_code *ip, uint64_t addr, uint32_t width,
			uint64_t value, struct nb_origin from)
{
	uint64_t off;

	/* The low part of a wider field differs from the field. */
	if (width < 64 && value >> width)
		from.exact = -1;
	if (!in_context(w, addr, &off)) {
		remember(w, addr, width, from);
		return;
	}
	for (size_t i = 0; i < w->hook->nfields && i < NB_PATH_FIELDS; i++) {
		const struct nb_field_spec *f = &w->hook->fields[i];

		if (off + width / 8 > f->off && f->off + f->size > off)
			w->store[i] = (struct nb_path_store){ true, site(w, ip), from };
	}
}

static void path_alu(struct nb_path *w, const struct nb_code *ip, const struct nb_insn_spec *s,
		     const uint64_t *r)
{
	struct nb_origin *d = &w->reg[ip->dst];
	struct nb_origin other = s->operand == NB_OPND_REG ? w->reg[ip->src] : NOWHERE;
	bool wide = s->width == 64;

	if (s->traits == NB_INSN_MOVE) {
		*d = other;
		/* A 32-bit comparison ignores the upper half, so r[ip->src] is
		 * not the compared number. */
		if (!wide && s->operand == NB_OPND_REG && r[ip->src] >> 32)
			d->exact = -1;
		return;
	}
	d->fields |= other.fields;
	d->map |= other.map;
	if (!wide || s->operand != NB_OPND_IMM || !(s->traits & NB_INSN_SUM))
		d->exact = -1;
	else
		d->add = nb_sum(s->traits, d->add, (uint64_t)ip->imm);
}

static void path_jump(struct nb_path *w, const struct nb_code *ip, const struct nb_insn_spec *s,
		      const uint64_t *r)
{
	bool reg = s->operand == NB_OPND_REG;
	struct nb_path_branch b = {
		.at = site(w, ip),
		.fn = (uint8_t)s->fn,
		.width = s->width,
		.a = r[ip->dst],
		.b = reg ? r[ip->src] : (uint64_t)ip->imm,
		.from_a = w->reg[ip->dst],
		.from_b = reg ? w->reg[ip->src] : NOWHERE,
	};

	if (!b.from_a.fields && !b.from_b.fields)
		return;
	b.taken = nb_jump_holds(b.fn, b.width, b.a, b.b);
	if (w->nbranches == NB_PATH_BRANCHES) {
		w->left_out++;
		return;
	}
	w->branch[w->nbranches++] = b;
}

static void clear(struct nb_path *w, unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		w->reg[i] = NOWHERE;
}

/* Forget origins after a helper call. @writes: it may have written to
 * memory. */
static void path_called(struct nb_path *w, bool writes)
{
	if (writes)
		w->nstack = 0;
	clear(w, 0, 5);
	w->reg[0].map = true;
}

static void watch_code(struct nb_path *w, const struct nb_code *ip, const struct nb_insn_spec *s,
		       const uint64_t *r)
{
	uint64_t to = r[ip->dst] + (uint64_t)(int64_t)ip->off;
	uint64_t from = r[ip->src] + (uint64_t)(int64_t)ip->off;

	switch (s->kind) {
	case NB_KIND_ALU:
		path_alu(w, ip, s, r);
		break;
	case NB_KIND_JMP:
		path_jump(w, ip, s, r);
		break;
	case NB_KIND_LOAD:
		w->reg[ip->dst] = path_loaded(w, from, s->width);
		/* The sign-extended value may differ from the field. */
		if (s->traits & NB_INSN_SIGNED)
			w->reg[ip->dst].exact = -1;
		break;
	case NB_KIND_STORE:
		if (s->operand == NB_OPND_IMM)
			path_stored(w, ip, to, s->width, 0, NOWHERE);
		else
			path_stored(w, ip, to, s->width, r[ip->src], w->reg[ip->src]);
		break;
	case NB_KIND_ATOMIC:
		path_forget(w, to, s->width);
		w->reg[ip->src] = w->reg[0] = NOWHERE;
		w->reg[ip->src].map = w->reg[0].map = true;
		break;
	case NB_KIND_LDDW:
		w->reg[ip->dst] = NOWHERE;
		break;
	case NB_KIND_CALL:
		if (ip->op == NB_OP_CALL_HELPER)
			path_called(w, true);
		break;
	case NB_KIND_EXIT: /* After an exit r6 to r9 are the caller's again. */
		clear(w, 6, 9);
		break;
	case NB_KIND_JA:
	case NB_KIND_MAY_GOTO:
	case NB_KIND_LDDW_HI:
		break;
	}
}

static void path_step(void *arg, const struct nb_code *ip, const uint64_t *r)
{
	struct nb_path *w = arg;

	/* The run is between two iterations of a callback. */
	if (!holds_code(w->x, ip)) {
		clear(w, 0, 10);
		return;
	}
	if (ip->op < NB_NOPS) {
		watch_code(w, ip, nb_spec_insn((enum nb_op)ip->op), r);
	} else if (ip->op == NB_CODE_LOOKUP) {
		path_called(w, false);
	} else if (ip->op == NB_CODE_CONST || ip->op == NB_CODE_FUNC) {
		w->reg[ip->dst] = NOWHERE;
	} else {
		clear(w, 0, 10);
	}
}

uint64_t nb_exec_path(const struct nb_exec *x, void *ctx, uint64_t ctx_size,
		      const struct nb_hook_spec *hook, struct nb_path *w)
{
	w->x = x;
	w->hook = hook;
	w->ctx = ctx;
	w->ctx_size = ctx_size;
	w->nstack = 0;
	clear(w, 0, 10);
	return nb_exec_watch(x, ctx, ctx_size, path_step, w);
}
