// SPDX-License-Identifier: MIT
/* Find the objects that the operands of an instruction refer to: the offset
 * of an access, the bytes of a frame, and the map and memory among a
 * helper's arguments. */
#include "core/bpf/verify/state/operands.h"

/* Find the memory behind pointer @r. */
static void resolve_region(const struct nb_program *program, const struct nb_reg *r,
			   struct nb_mem_access *x)
{
	x->kind = r->kind;
	x->frame = r->frame;
	if (r->kind == NB_REG_VALUE) {
		x->map = &program->img->maps[r->map];
		x->limit = x->map->value_size;
		x->local = nb_map_is_local(x->map);
	} else if (r->kind == NB_REG_MEM || r->kind == NB_REG_RDONLY) {
		x->limit = r->size;
		x->local = r->kind == NB_REG_MEM;
	} else if (r->kind == NB_REG_CTX && nb_range_is_const(&x->off) && x->off.smin >= 0 &&
		   x->off.smin < program->hook->ctx_size) {
		x->field = nb_spec_field(program->hook, (uint32_t)x->off.smin);
		x->local = x->field && x->field->label != NB_LABEL_COHERENT;
	}
}

void nb_access_resolve(const struct nb_program *program, const struct nb_state *st,
		       const struct nb_insn *insn, struct nb_mem_access *x)
{
	const bool loads = insn->kind == NB_KIND_LOAD, atomic = insn->kind == NB_KIND_ATOMIC;
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[loads ? insn->src : insn->dst];

	if (!loads && !atomic && insn->kind != NB_KIND_STORE)
		return;
	*x = (struct nb_mem_access){
		.reg = (int8_t)(loads ? insn->src : insn->dst),
		/* What an atomic stores counts as a number. */
		.value = !loads && !atomic && insn->operand == NB_OPND_REG ? (int8_t)insn->src : -1,
		.loads = loads || atomic,
		.stores = !loads,
		.size = insn->width / 8,
		.off = nb_range_plus(&r->r, insn->off),
	};
	resolve_region(program, r, x);
}

uint32_t nb_frame_func(const struct nb_program *program, const struct nb_state *st, uint32_t frame,
		       uint32_t pc)
{
	if (frame + 1 < st->nframes)
		pc = st->frames[frame + 1].ret - 1;
	return program->cfg.func_of[pc];
}

bool nb_stack_written(const struct nb_frame *f, int64_t lo, int64_t hi, int64_t *bad)
{
	for (int64_t off = lo; off < hi; off++) {
		uint32_t c = nb_cell_at(off);

		if (c < f->ncells && f->cells[c].init & 1u << (off & 3))
			continue;
		*bad = off;
		return false;
	}
	return true;
}

enum nb_effect nb_insn_effect(const struct nb_insn *insn)
{
	const struct nb_helper_spec *h =
		nb_insn_calls_helper(insn) ? nb_spec_helper((int32_t)insn->imm) : NULL;

	return h ? h->effect : NB_EFFECT_NONE;
}

bool nb_map_elements_are_local(const struct nb_map_spec *m)
{
	return nb_map_is_local(m) && !nb_map_is_array(m);
}

int nb_arg_of(const struct nb_helper_spec *h, enum nb_arg kind)
{
	for (int i = 0; i < 5; i++)
		if (h->arg[i] == kind)
			return i;
	return -1;
}

const struct nb_map_spec *nb_helper_map(const struct nb_program *program, const struct nb_state *st,
					const struct nb_helper_spec *h)
{
	const struct nb_reg *r = st->frames[st->nframes - 1].regs;
	int i = nb_arg_of(h, NB_ARG_MAP) + 1;

	return i && r[i].kind == NB_REG_MAP ? &program->img->maps[r[i].map] : NULL;
}

bool nb_arg_reads(enum nb_arg kind)
{
	return kind == NB_ARG_KEY || kind == NB_ARG_VALUE || kind == NB_ARG_MEM ||
	       kind == NB_ARG_MEM0;
}

bool nb_arg_writes(enum nb_arg kind)
{
	return kind == NB_ARG_OUT || kind == NB_ARG_OUT8;
}

struct nb_extent nb_helper_extent(const struct nb_program *program, const struct nb_state *st,
				  const struct nb_helper_spec *h, unsigned arg)
{
	const struct nb_frame *f = &st->frames[st->nframes - 1];
	const struct nb_map_spec *m = nb_helper_map(program, st, h);
	uint64_t size = 0;

	if (h->arg[arg] == NB_ARG_MEM || h->arg[arg] == NB_ARG_MEM0 || h->arg[arg] == NB_ARG_OUT) {
		const struct nb_reg *r = &f->regs[arg + 2 <= 5 ? arg + 2 : 5];

		return (struct nb_extent){ r->r.umin, r->r.umax };
	}
	if (h->arg[arg] == NB_ARG_OUT8)
		size = 8;
	else if (m)
		size = h->arg[arg] == NB_ARG_KEY ? m->key_size : m->value_size;
	return (struct nb_extent){ size, size };
}

struct nb_mem_access nb_access_of_arg(const struct nb_program *program, const struct nb_state *st,
				      const struct nb_helper_spec *h, unsigned arg)
{
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[arg + 1];
	struct nb_mem_access x = {
		.reg = (int8_t)(arg + 1),
		.value = -1,
		.loads = nb_arg_reads(h->arg[arg]),
		.stores = nb_arg_writes(h->arg[arg]),
		.size = nb_helper_extent(program, st, h, arg).max,
		.off = r->r,
	};

	resolve_region(program, r, &x);
	return x;
}
