// SPDX-License-Identifier: MIT
// Names of the source for what a program touches: context fields from the
// tables, members of map values and variables from the image.
#include "core/verify/report.h"

static const char *ctx_place(struct nb_env *env, const struct nb_range *off)
{
	const struct nb_field_spec *f;

	if (!nb_range_is_const(off) || off->smin < 0 ||
	    off->smin >= env->hook->ctx_size)
		return "";
	f = nb_spec_field(env->hook, (uint32_t)off->smin);
	return f ? nb_say(env, "ctx->%s", f->name) : "";
}

const char *nb_say_place(struct nb_env *env, const struct nb_reg *r,
			 const struct nb_range *off, unsigned size)
{
	(void)size;
	return r->kind == NB_REG_CTX ? ctx_place(env, off) : "";
}

static const char *local_load(struct nb_env *env, const struct nb_reg *r,
			      const struct nb_insn *in)
{
	struct nb_range by = nb_range_const((uint64_t)(int64_t)in->off);
	struct nb_range off = nb_range_alu(NB_FN_ADD, 64, &r->r, &by);
	const char *place = nb_say_place(env, r, &off, in->width / 8u);

	if (r->kind == NB_REG_CTX)
		return nb_say(env, "%s is of this rank alone", place);
	if (r->kind == NB_REG_VALUE)
		return nb_say(env, "%s%smap %s is not __coherent", place,
			      *place ? ": " : "", nb_map_name(env, r->map));
	return "memory of this rank alone";
}

const char *nb_say_local(struct nb_env *env, const struct nb_reg *regs,
			 uint32_t pc)
{
	const struct nb_insn *in = &env->insns[pc];
	const struct nb_helper_spec *h;

	switch ((enum nb_kind)in->kind) {
	case NB_KIND_LDX:
	case NB_KIND_LDXS:
	case NB_KIND_LOAD_ACQ:
		return local_load(env, &regs[in->src], in);
	case NB_KIND_ATOMIC:
		return local_load(env, &regs[in->dst], in);
	case NB_KIND_CALL:
		h = in->fn == NB_FN_HELPER ? nb_spec_helper((int32_t)in->imm)
					   : NULL;
		if (h && h->label == NB_LABEL_MAP && regs[1].kind == NB_REG_MAP)
			return nb_say(env,
				      "map %s is not __coherent: each rank "
				      "has its own elements",
				      nb_map_name(env, regs[1].map));
		return h ? nb_say(env, "bpf_%s answers each rank differently",
				  h->name)
			 : "local data";
	case NB_KIND_JMP:
	case NB_KIND_MAY_GOTO:
		return "decided by local data";
	case NB_KIND_ALU:
		return "an address, which differs between processes";
	case NB_KIND_JA:
	case NB_KIND_EXIT:
	case NB_KIND_ST:
	case NB_KIND_STX:
	case NB_KIND_STORE_REL:
	case NB_KIND_LDDW:
	case NB_KIND_LDDW_HI:
		break;
	}
	return "local data";
}
