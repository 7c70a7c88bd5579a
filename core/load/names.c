// SPDX-License-Identifier: MIT
/*
 * Read from BTF the names that the source gives to parts of keys and
 * values, for the verifier's messages; the plugin reads this table and
 * never BTF. No policy needs a name to run, so names that do not fit the
 * image are omitted.
 */
#include <stdio.h>

#include "core/bpf/image/check.h"
#include "core/load/front.h"

struct walk {
	struct nb_front *f;
	uint32_t map, part;
	bool full;
};

static const char *names_name_of(const struct nb_front *f, uint32_t off)
{
	const char *name = btf__name_by_offset(f->btf, off);

	return name && nb_image_text_ok(name) ? name : "";
}

/* Return the type's name in C, for example "struct row" or "__u32"; "" if
 * it has none. */
static const char *type_name(struct nb_front *f, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(f->btf, id);
	char text[160];

	while (btf_is_mod(t) || btf_is_type_tag(t)) {
		id = t->type;
		t = btf__type_by_id(f->btf, id);
	}
	if (btf_is_datasec(t) || btf_is_array(t) || !*names_name_of(f, t->name_off))
		return "";
	snprintf(text, sizeof(text), "%s%.128s",
		 btf_is_struct(t)     ? "struct "
		 : btf_is_union(t)    ? "union "
		 : btf_is_any_enum(t) ? "enum "
				      : "",
		 names_name_of(f, t->name_off));
	return nb_arena_str(&f->arena, text, sizeof(text));
}

static void add_name(struct walk *w, uint32_t level, const char *name, uint32_t off, uint32_t size,
		     uint32_t elem)
{
	struct nb_front *f = w->f;

	if (f->nnames == NB_IMAGE_MAX_NAMES) {
		w->full = true;
		return;
	}
	f->names[f->nnames++] = (struct nb_name){
		w->map, w->part, level, name, off, size, elem,
	};
}

static void add_type(struct walk *w, uint32_t level, const char *name, uint32_t off, uint32_t id);

/* Add the members of a struct at byte @off of its container at @level - 1. */
static void add_members(struct walk *w, uint32_t level, uint32_t off, const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);

	for (uint32_t i = 0; i < btf_vlen(t) && !w->full; i++) {
		uint32_t bit = btf_member_bit_offset(t, i);
		const struct btf_type *of = nb_front_bare(w->f->btf, m[i].type);
		const char *name = names_name_of(w->f, m[i].name_off);

		if (btf_member_bitfield_size(t, i) || bit % 8)
			continue;
		if (*name)
			add_type(w, level, name, off + bit / 8, m[i].type);
		/* Members of an unnamed struct belong to its container. */
		else if (btf_is_composite(of))
			add_members(w, level, off + bit / 8, of);
	}
}

/* Add a part called @name of type @id, then its own parts. */
static void add_type(struct walk *w, uint32_t level, const char *name, uint32_t off, uint32_t id)
{
	const struct btf *btf = w->f->btf;
	const struct btf_type *t = nb_front_bare(btf, id);
	int64_t size = btf__resolve_size(btf, id), elem = size;
	uint32_t of = id;

	if (level > NB_IMAGE_MAX_LEVEL || size <= 0 || size > NB_IMAGE_MAX_VALUE)
		return;
	if (btf_is_array(t)) {
		of = btf_array(t)->type;
		elem = btf__resolve_size(btf, of);
		if (elem <= 0)
			return;
	}
	add_name(w, level, name, off, (uint32_t)size, (uint32_t)elem);
	if (w->full)
		return;
	t = nb_front_bare(btf, of);
	if (btf_is_composite(t))
		add_members(w, level + 1, 0, t);
	else if (btf_is_array(t))
		add_type(w, level + 1, "", 0, of);
}

static void add_variables(struct walk *w, const struct btf_type *sec)
{
	const struct btf_var_secinfo *v = btf_var_secinfos(sec);
	uint32_t end = w->f->maps[w->map].value_size;

	for (uint32_t i = 0; i < btf_vlen(sec) && !w->full; i++) {
		const struct btf_type *var = btf__type_by_id(w->f->btf, v[i].type);
		int64_t size;

		if (!btf_is_var(var))
			continue;
		size = btf__resolve_size(w->f->btf, var->type);
		if (size > 0 && v[i].offset <= end && size <= end - v[i].offset)
			add_type(w, 1, names_name_of(w->f, var->name_off), v[i].offset, var->type);
	}
}

/* Add a key or value as a whole, of type @id and @size bytes, and then its
 * parts. */
static int add_whole(struct walk *w, uint32_t id, uint32_t size, struct nb_err *err)
{
	const struct btf_type *t = id ? btf__type_by_id(w->f->btf, id) : NULL;
	const char *name;

	if (!t || !size)
		return 0;
	name = type_name(w->f, id);
	if (!name)
		return nb_front_nomem(err);
	if (btf_is_datasec(t)) {
		add_name(w, 0, name, 0, size, size);
		add_variables(w, t);
	} else if (btf__resolve_size(w->f->btf, id) == size) {
		add_type(w, 0, name, 0, id);
	}
	return 0;
}

int nb_front_names(struct nb_front *f, struct nb_err *err)
{
	struct walk w = { f, 0, 0, false };
	int rc = 0;

	if (!f->btf || !f->nmaps)
		return 0;
	f->names = nb_arena_array(&f->arena, NB_IMAGE_MAX_NAMES, sizeof(*f->names));
	if (!f->names)
		return nb_front_nomem(err);
	for (; !rc && w.map < f->nmaps; w.map++) {
		const struct nb_map_spec *m = &f->maps[w.map];

		w.part = NB_NAME_KEY;
		rc = add_whole(&w, m->btf_key, m->key_size, err);
		w.part = NB_NAME_VALUE;
		if (!rc)
			rc = add_whole(&w, m->btf_value, m->value_size, err);
	}
	return rc;
}
