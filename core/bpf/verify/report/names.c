// SPDX-License-Identifier: MIT
/*
 * Names from the source for the objects that a program accesses: context
 * fields from the tables, members of map values and variables from the
 * image.
 */
#include "core/bpf/verify/report/names.h"

#include "core/bpf/verify/report/say.h"

typedef unsigned long long ull;

static const char *ctx_place(struct nb_env *env, const struct nb_range *off)
{
	const struct nb_field_spec *f;

	if (!nb_range_is_const(off) || off->smin < 0 || off->smin >= env->program.hook->ctx_size)
		return "";
	f = nb_spec_field(env->program.hook, (uint32_t)off->smin);
	return f ? nb_say(env, "ctx->%s", f->name) : "";
}

static const char *ctx_place_of(struct nb_env *env, const struct nb_reg *r,
				const struct nb_insn *in)
{
	struct nb_range off = nb_range_plus(&r->r, in->off);

	return ctx_place(env, &off);
}

static const struct nb_name *whole(const struct nb_image *img, uint32_t map, enum nb_name_part part)
{
	for (uint32_t i = 0; i < img->nnames; i++)
		if (img->names[i].map == map && img->names[i].part == part)
			return &img->names[i];
	return NULL;
}

/* Return the member of @of that holds byte @off of an element of it. */
static const struct nb_name *inside(const struct nb_image *img, const struct nb_name *of,
				    uint64_t off)
{
	const struct nb_name *end = img->names + img->nnames;

	for (const struct nb_name *n = of + 1; n < end && n->level > of->level; n++)
		if (n->level == of->level + 1 && off >= n->off && off - n->off < n->size)
			return n;
	return NULL;
}

static bool has_parts(const struct nb_image *img, const struct nb_name *of)
{
	const struct nb_name *n = of + 1;

	return n < img->names + img->nnames && n->level > of->level;
}

/* Descend from an array into one of its elements. */
static void into_element(struct nb_env *env, struct nb_member *m, const struct nb_name *at,
			 uint64_t *lo, uint64_t *hi)
{
	uint64_t i = *lo / at->elem, j = *hi / at->elem;

	if (i == j)
		m->text = nb_say(env, "%s[%llu]", m->text, (ull)i);
	else
		m->text = nb_say(env, "%s[%llu to %llu]", m->text, (ull)i, (ull)j);
	if (i != j && !m->array)
		m->array = at;
	*lo %= at->elem;
	*hi = i == j ? *hi % at->elem : *lo;
}

struct nb_member nb_member_at(struct nb_env *env, uint32_t map, enum nb_name_part part, uint64_t lo,
			      uint64_t hi)
{
	const struct nb_image *img = env->program.img;
	const struct nb_name *at = whole(img, map, part), *next;
	struct nb_member m = { "", NULL, at, false };

	for (; at; at = next) {
		m.last = at;
		if (at->elem < at->size)
			into_element(env, &m, at, &lo, &hi);
		next = inside(img, at, lo);
		m.padding = !next && has_parts(img, at) && lo < at->elem;
		if (!next)
			break;
		m.text = nb_say(env, "%s%s%s", m.text, *m.text && *next->name ? "." : "",
				next->name);
		lo -= next->off;
		hi -= next->off;
	}
	/* The bytes span several members, so no single name is right. */
	if (lo != hi)
		m.text = "";
	return m;
}

struct nb_member nb_member_beyond(struct nb_env *env, uint32_t map, enum nb_name_part part,
				  uint64_t off)
{
	const struct nb_image *img = env->program.img;
	const struct nb_name *at = whole(img, map, part);
	struct nb_member m = { "", NULL, at, false };
	uint64_t start = 0;

	for (const char *text = ""; at;) {
		if (at->elem < at->size) {
			m.array = m.last = at;
			m.text = nb_say(env, "%s[%llu]", text, (ull)((off - start) / at->elem));
			return m;
		}
		at = inside(img, at, at->size - 1);
		if (at) {
			text = nb_say(env, "%s%s%s", text, *text ? "." : "", at->name);
			start += at->off;
		}
	}
	return m;
}

const char *nb_say_type(struct nb_env *env, uint32_t map, enum nb_name_part part)
{
	const struct nb_name *n = whole(env->program.img, map, part);

	return n ? n->name : "";
}

static const char *value_place(struct nb_env *env, const struct nb_reg *r,
			       const struct nb_range *off)
{
	const char *map = nb_map_name(env, r->map);
	struct nb_member m;

	if (off->smin < 0 || off->smax > NB_IMAGE_MAX_VALUE ||
	    !whole(env->program.img, r->map, NB_NAME_VALUE))
		return "";
	m = nb_member_at(env, r->map, NB_NAME_VALUE, (uint64_t)off->smin, (uint64_t)off->smax);
	if (m.padding)
		return "";
	/* The map is a section of the object file: the variable's name is
	 * enough. */
	if (*map == '.')
		return m.text;
	if (*m.text)
		return nb_say(env, "%s%s%s", map, *m.text == '[' ? "" : ".", m.text);
	return off->smin == 0 && off->smax == 0 ? nb_say(env, "%s's value", map) : "";
}

const char *nb_say_place(struct nb_env *env, const struct nb_reg *r, const struct nb_range *off)
{
	if (r->kind == NB_REG_CTX)
		return ctx_place(env, off);
	return r->kind == NB_REG_VALUE ? value_place(env, r, off) : "";
}

/* Return the pointer through which an instruction reads rank-local data, or
 * NULL. */
static const struct nb_reg *read_through(const struct nb_insn *in, const struct nb_reg *regs)
{
	if (in->kind == NB_KIND_LOAD)
		return &regs[in->src];
	return in->kind == NB_KIND_ATOMIC ? &regs[in->dst] : NULL;
}

static const struct nb_helper_spec *called(const struct nb_insn *in)
{
	return nb_insn_calls_helper(in) ? nb_spec_helper((int32_t)in->imm) : NULL;
}

/* Return the map whose content an instruction reads; -1 if it reads none. */
static int64_t local_map(const struct nb_insn *in, const struct nb_reg *regs)
{
	const struct nb_helper_spec *h = called(in);

	if (in->kind == NB_KIND_LOAD || in->kind == NB_KIND_ATOMIC) {
		const struct nb_reg *r = read_through(in, regs);

		return r->kind == NB_REG_VALUE ? (int64_t)r->map : -1;
	}
	return h && h->label == NB_LABEL_MAP && regs[1].kind == NB_REG_MAP ? (int64_t)regs[1].map
									   : -1;
}

const char *nb_say_local_hint(struct nb_env *env, const struct nb_reg *regs, uint32_t pc)
{
	const struct nb_insn *in = &env->program.insns[pc];
	const struct nb_reg *r = read_through(in, regs);
	int64_t map = local_map(in, regs);

	if (called(in) && called(in)->success == NB_SUCCESS_CPUS)
		return "hosts differ in their CPUs: "
		       "a program may record whether the element exists, "
		       "but its answer must not depend on that";
	if (map >= 0 && env->program.img->maps[map].origin != NB_ORIGIN_DEFINED)
		return "each rank has its own variables; "
		       "store the data of a decision in a map tagged __coherent, "
		       "or declare the variable const";
	if (map >= 0 && env->program.img->maps[map].type == NB_MAP_PERCPU_ARRAY)
		return "the values of a per-CPU map depend on the CPU; "
		       "store the data of a decision in an array or hash tagged __coherent";
	if (map >= 0 && env->program.img->maps[map].tags & NB_MAPF_HOST)
		return "let a controller read the host map "
		       "and write its result to a map tagged __coherent";
	if (map >= 0)
		return nb_say(env,
			      "tag map %s __coherent (programs then only read it, "
			      "the shell changes it for all ranks at once), "
			      "or decide by coherent context fields",
			      nb_map_name(env, (uint32_t)map));
	if (called(in))
		return nb_say(env,
			      "a program may record the result of bpf_%s, "
			      "but its answer must not depend on it; "
			      "ctx->seq is equal on all ranks",
			      called(in)->name);
	if (r && r->kind == NB_REG_CTX)
		return nb_say(env,
			      "a program may record %s, but its answer must not depend on it: "
			      "ranks that answer differently hang the job; "
			      "use fields that are equal on all ranks",
			      ctx_place_of(env, r, in));
	return "";
}

static const char *local_load(struct nb_env *env, const struct nb_reg *r, const struct nb_insn *in)
{
	struct nb_range off = nb_range_plus(&r->r, in->off);
	const char *place = nb_say_place(env, r, &off);

	if (r->kind == NB_REG_CTX)
		return nb_say(env, "%s, which is of this rank alone", place);
	if (r->kind == NB_REG_VALUE && *nb_map_name(env, r->map) == '.')
		return nb_say(env, "%s%svariables are of this rank alone", place,
			      *place ? ": " : "");
	if (r->kind == NB_REG_VALUE)
		return nb_say(env, "%s%smap %s is %s", place, *place ? ": " : "",
			      nb_map_name(env, r->map),
			      env->program.img->maps[r->map].tags & NB_MAPF_HOST
				      ? "of this host alone"
				      : "not __coherent");
	return "memory of this rank alone";
}

const char *nb_say_local(struct nb_env *env, const struct nb_reg *regs, uint32_t pc)
{
	const struct nb_insn *in = &env->program.insns[pc];
	const struct nb_helper_spec *h = called(in);

	if (env->walk.found.noted[pc] & NB_NOTED_ADDRESS)
		return "an address, which differs between processes";
	switch (in->kind) {
	case NB_KIND_LOAD:
		return local_load(env, &regs[in->src], in);
	case NB_KIND_ATOMIC:
		return local_load(env, &regs[in->dst], in);
	case NB_KIND_CALL:
		if (h && h->success == NB_SUCCESS_CPUS)
			return nb_say(env, "bpf_%s finds no element where the host has no such CPU",
				      h->name);
		if (h && h->label == NB_LABEL_MAP && regs[1].kind == NB_REG_MAP)
			return nb_say(env,
				      "map %s is not __coherent: each rank has its own elements",
				      nb_map_name(env, regs[1].map));
		return h ? nb_say(env, "bpf_%s answers each rank differently", h->name)
			 : "local data";
	case NB_KIND_JMP:
	case NB_KIND_MAY_GOTO:
		return "decided by local data";
	case NB_KIND_ALU:
		return "an address, which differs between processes";
	}
	return "local data";
}
