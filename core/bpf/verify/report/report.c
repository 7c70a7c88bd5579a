// SPDX-License-Identifier: MIT
/* Describe the abstract state in text: registers, stack objects and
 * references. */
#include "core/bpf/verify/report/report.h"

#include <inttypes.h>

#include "core/bpf/verify/report/names.h"

static const char *say_number(struct nb_env *env, const struct nb_range *r)
{
	uint64_t any = r->t.value | r->t.mask;
	const char *step = "";

	if (nb_range_is_const(r))
		return nb_say(env, "number %" PRId64, r->smin);
	if (nb_range_is_unknown(r))
		return "number, nothing known";
	if (!r->umin && r->umax == UINT32_MAX && any == UINT32_MAX)
		return "any number of 32 bits";
	if (any && !(any & 1))
		step = nb_say(env, ", a multiple of %" PRIu64, any & -any);
	if (r->smin >= 0)
		return nb_say(env, "number %" PRIu64 " to %" PRIu64 "%s", r->umin, r->umax, step);
	if (r->umin > 0 && r->smin == INT64_MIN)
		return nb_say(env, "number %" PRIu64 " to %" PRIu64 " unsigned%s", r->umin, r->umax,
			      step);
	if (r->smin > INT64_MIN || r->smax < INT64_MAX)
		return nb_say(env, "number %s, signed%s", nb_say_span(env, r->smin, r->smax), step);
	if (r->umin32 || r->umax32 != UINT32_MAX)
		return nb_say(env, "number, low half %u to %u, high half unknown", r->umin32,
			      r->umax32);
	return nb_say(env, "number, unknown%s", step);
}

static const char *say_pointer(struct nb_env *env, const struct nb_reg *r, const char *span)
{
	const char *name = nb_map_name(env, r->map);
	const char *type = nb_say_type(env, r->map, NB_NAME_VALUE);
	const char *place = nb_say_place(env, r, &r->r);

	if (*name == '.')
		return nb_say(env, "pointer into %s, offset %s%s%s", name, span, *place ? ": " : "",
			      place);
	return nb_say(env, "pointer to a value of map %s (%s%s%u bytes), offset %s", name, type,
		      *type ? ", " : "", env->program.img->maps[r->map].value_size, span);
}

static const char *say_value(struct nb_env *env, const struct nb_reg *r)
{
	const char *span = nb_say_span(env, r->r.smin, r->r.smax);

	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_UNINIT:
		return "never written";
	case NB_REG_SCALAR:
		return say_number(env, &r->r);
	case NB_REG_CTX:
		return nb_say(env, "pointer to the context, offset %s", span);
	case NB_REG_STACK:
		return nb_say(env, "pointer to the stack of frame %d, offset %s", r->frame, span);
	case NB_REG_MAP:
		return nb_say(env, "map %s", nb_map_name(env, r->map));
	case NB_REG_VALUE:
		return say_pointer(env, r, span);
	case NB_REG_VALUE_OR_NULL:
		return nb_say(env, "pointer to a value of map %s, or NULL",
			      nb_map_name(env, r->map));
	case NB_REG_MEM:
		return nb_say(env, "pointer to memory (%u bytes), offset %s", r->size, span);
	case NB_REG_RDONLY:
		return nb_say(env, "pointer to memory (%u bytes) that is only read, offset %s",
			      r->size, span);
	case NB_REG_MEM_OR_NULL:
		return nb_say(env, "pointer to memory (%u bytes), or NULL", r->size);
	case NB_REG_FUNC:
		return nb_say(env, "address of the function at slot %u", r->map);
	}
	return "";
}

const char *nb_say_reg(struct nb_env *env, const struct nb_reg *r, int number)
{
	const char *label = r->label == NB_LABEL_LOCAL ? ", local data" : "";

	if (number < 0)
		return nb_say(env, "%s%s", say_value(env, r), label);
	return nb_say(env, "r%d: %s%s", number, say_value(env, r), label);
}

const char *nb_say_ref(struct nb_env *env, const struct nb_ref *ref)
{
	return nb_say(env, "%s at %s", ref->kind == NB_REF_ITER ? "begun" : "reserved",
		      nb_say_where(env, ref->pc));
}

static void trace_cells(struct nb_env *env, const struct nb_frame *f)
{
	for (uint32_t c = 0; c < f->ncells; c++) {
		const struct nb_cell *x = &f->cells[c];
		int off = -(int)(c + 1) * 4;

		if (x->kind == NB_CELL_OBJECT)
			nb_buf_printf(env->program.opts.trace, "    r10%d: an iterator\n", off);
		if (x->kind == NB_CELL_SPILL8_HI || nb_cell_is_object(x) ||
		    (x->kind == NB_CELL_BYTES && !x->init))
			continue;
		if (x->kind == NB_CELL_BYTES)
			nb_buf_printf(env->program.opts.trace,
				      "    r10%d: bytes %x written, %x zero\n", off, x->init,
				      x->zero);
		else
			nb_buf_printf(env->program.opts.trace, "    r10%d: %s\n", off,
				      nb_say_reg(env, &x->reg, -1));
	}
}

void nb_trace_state(struct nb_env *env, const struct nb_state *st, uint32_t pc)
{
	const struct nb_frame *f = &st->frames[st->nframes - 1];

	nb_buf_printf(env->program.opts.trace, "%u: %s\n", pc, nb_say_insn(env, pc));
	for (int i = 0; i < NB_R10; i++)
		if (f->regs[i].kind != NB_REG_UNINIT)
			nb_buf_printf(env->program.opts.trace, "    %s\n",
				      nb_say_reg(env, &f->regs[i], i));
	trace_cells(env, f);
}
