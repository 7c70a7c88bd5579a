// SPDX-License-Identifier: MIT
/*
 * Read from BTF the facts about code: source lines, and the context structs as
 * the policy was compiled against them. No policy needs these to run, so a
 * record that does not fit the code is omitted and the object accepted.
 * Relocations by type (CO-RE) are rejected: without them the program would read
 * other bytes.
 */
#include <string.h>

#include "core/bpf/image/check.h"
#include "core/load/btf.h"
#include "core/load/front.h"

struct walk {
	struct nb_front *f;
	struct nb_err *err;
	struct nb_view strings;
	const char *section; /* Section of the last record. */
	const struct nb_obj_code *code;
};

/* Return the slot that a record describes; NULL if it is not a slot of code. */
static struct nb_obj_slot *slot_at(struct walk *w, const char *section, uint32_t off)
{
	if (section != w->section)
		w->code = &w->f->code[nb_elf_find(&w->f->elf, section)];
	w->section = section;
	if (off % NB_SLOT_SIZE || off / NB_SLOT_SIZE >= w->code->nslots)
		return NULL;
	return &w->code->slots[off / NB_SLOT_SIZE];
}

/* Copy a string for the image: at most 255 bytes, with unprintable ones
 * replaced. */
static const char *copy_text(struct walk *w, uint32_t off)
{
	uint64_t left = off < w->strings.size ? w->strings.size - off : 0;
	struct nb_view v = nb_view_sub(w->strings, off, left < 256 ? left : 256);
	const char *s = v.size ? (const char *)v.p : "";
	size_t n = v.size ? strnlen(s, v.size) : 0;
	char *copy;

	/* Shorten the text, but not within a character. */
	if (n == 256)
		while (--n && ((unsigned char)s[n] & 0xc0) == 0x80)
			;
	copy = nb_arena_str(&w->f->arena, s, n);
	if (!copy || nb_image_text_ok(copy))
		return copy;
	for (char *p = copy; *p; p++)
		if ((*p < ' ' || *p > '~') && *p != '\t')
			*p = '?';
	return copy;
}

static int line_record(void *arg, const char *section, struct nb_view record)
{
	struct walk *w = arg;
	struct nb_obj_slot *slot = slot_at(w, section, nb_view_word(record, 0));
	uint32_t where = nb_view_word(record, 12);

	if (!slot || slot->line.file || !(where >> 10))
		return 0;
	slot->line.line = where >> 10;
	slot->line.col = where & 0x3ff;
	slot->line.text = copy_text(w, nb_view_word(record, 8));
	slot->line.file = copy_text(w, nb_view_word(record, 4));
	return slot->line.text && slot->line.file ? 0 : nb_front_nomem(w->err);
}

static int core_record(void *arg, const char *section, struct nb_view record)
{
	const struct walk *w = arg;
	const struct btf_type *t = btf__type_by_id(w->f->btf, nb_view_word(record, 4));
	const char *name = t ? btf__name_by_offset(w->f->btf, t->name_off) : "";
	const char *access = nb_view_str(w->strings, nb_view_word(record, 8), NB_BTF_MAX_NAME);

	return nb_fail(w->err, NB_E_NOTSUP, nb_view_word(record, 0),
		       "section %s, offset %u: a relocation by type (CO-RE) of %s, access %s; "
		       "contexts are stable, leave preserve_access_index out",
		       section, nb_view_word(record, 0), *name ? name : "(anonymous)",
		       access ? access : "?");
}

int nb_front_info(struct nb_front *f, struct nb_err *err)
{
	static nb_btf_record_fn *const fns[NB_BTF_NPARTS] = {
		[NB_BTF_LINE_INFO] = line_record,
		[NB_BTF_CORE_RELO] = core_record,
	};
	struct walk w = { f, err, nb_btf_strings(f->btf_bytes), NULL, NULL };
	int rc = 0;

	for (int p = 0; !rc && f->btf && p < NB_BTF_NPARTS; p++)
		if (fns[p])
			rc = nb_btf_ext_each(f->ext, w.strings, (enum nb_btf_part)p, fns[p], &w);
	return rc;
}

const struct btf_type *nb_front_bare(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

/* Does a program of the image run on this hook? */
static bool hook_used(const struct nb_front *f, enum nb_hook hook)
{
	for (uint32_t i = 0; i < f->nprogs; i++)
		if (f->progs[i].hook == hook)
			return true;
	return false;
}

static int add_fields(struct nb_front *f, const struct btf_type *t, enum nb_hook hook,
		      struct nb_err *err)
{
	const struct btf_member *m = btf_members(t);
	uint32_t most = f->nctx_fields + btf_vlen(t);
	struct nb_ctx_field *all;

	all = nb_arena_array(&f->arena, most, sizeof(*all));
	if (!all)
		return nb_front_nomem(err);
	if (f->nctx_fields)
		memcpy(all, f->ctx_fields, f->nctx_fields * sizeof(*all));
	f->ctx_fields = all;
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(f->btf, m[i].name_off);
		int64_t size = btf__resolve_size(f->btf, m[i].type);

		if (!*name || size <= 0 || btf_member_bitfield_size(t, i))
			continue;
		all[f->nctx_fields++] =
			(struct nb_ctx_field){ hook, name, btf_member_bit_offset(t, i) / 8,
					       (uint32_t)size };
	}
	return 0;
}

int nb_front_ctx(struct nb_front *f, struct nb_err *err)
{
	int rc = 0;

	for (unsigned i = 0; f->btf && !rc && i < NB_NHOOKS; i++) {
		const struct nb_hook_spec *hook = nb_spec_hook((enum nb_hook)i);
		int32_t id = btf__find_by_name_kind(f->btf, hook->ctx_struct, BTF_KIND_STRUCT);

		if (hook_used(f, hook->id) && id > 0)
			rc = add_fields(f, btf__type_by_id(f->btf, (uint32_t)id), hook->id, err);
	}
	return rc;
}
