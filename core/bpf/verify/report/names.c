// SPDX-License-Identifier: MIT
/*
 * Names from the source for the objects that a program accesses: context
 * fields from the tables, members of map values and variables from the
 * image.
 */
#include "core/bpf/verify/report/names.h"

#include "core/bpf/verify/report/format.h"

typedef unsigned long long ull;

static const char *ctx_place(struct nb_env *env, const struct nb_range *off)
{
	const struct nb_field_spec *f;

	if (!nb_range_is_const(off) || off->smin < 0 || off->smin >= env->program.hook->ctx_size)
		return "";
	f = nb_spec_field(env->program.hook, (uint32_t)off->smin);
	return f ? nb_say(env, "ctx->%s", f->name) : "";
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
