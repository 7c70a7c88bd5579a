// SPDX-License-Identifier: MIT
/*
 * Find the sections of code, their functions by the symbol table, and the
 * slots that have a relocation. An extern that is no helper here (another
 * symbol of a kernel, kconfig) is rejected by name.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "core/load/front.h"

/* Write "nearest: " and the names of @names that resemble @word. If none
 * does, write "known: " and the first @nknown names. */
static void suggest(const char *word, const char *const *names, size_t n, size_t nknown, char *text,
		    size_t size)
{
	const char *near[2];
	size_t used;

	nb_spec_nearest(word, names, n, near);
	if (near[0]) {
		snprintf(text, size, "nearest: %s%s%s", near[0], near[1] ? " or " : "",
			 near[1] ? near[1] : "");
		return;
	}
	used = (size_t)snprintf(text, size, "known: ");
	for (size_t i = 0; i < nknown && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
}

static int bad_hook(const struct nb_elf_section *s, struct nb_err *err)
{
	const char *words[NB_NHOOKS];
	char known[208];

	/* libbpf loads a program of SEC("?…") only if its caller asks. */
	if (*s->name == '?' && nb_spec_hook_section(s->name + 1))
		return nb_fail(err, NB_E_HOOK, s->off,
			       "section \"%.64s\": optional programs (\"?\") are not supported; "
			       "write SEC(\"%.64s\") or remove the program",
			       s->name, s->name + 1);
	for (unsigned i = 0; i < NB_NHOOKS; i++)
		words[i] = nb_spec_hook((enum nb_hook)i)->word;
	suggest(s->name, words, NB_NHOOKS, NB_NHOOKS, known, sizeof(known));
	return nb_fail(err, NB_E_HOOK, s->off, "section \"%.64s\" names no hook; %s", s->name,
		       known);
}

static int code_check_section(const struct nb_elf_section *s, struct nb_err *err)
{
	if (strcmp(s->name, ".text") != 0 && !nb_spec_hook_section(s->name))
		return bad_hook(s, err);
	if (s->size % NB_SLOT_SIZE || s->size > (uint64_t)NB_IMAGE_MAX_SLOTS * NB_SLOT_SIZE)
		return nb_fail(
			err, NB_E_LIMIT, s->off,
			"section %s: %llu bytes of code; at most %d instruction slots of %d bytes",
			s->name, (unsigned long long)s->size, NB_IMAGE_MAX_SLOTS, NB_SLOT_SIZE);
	return 0;
}

static int code_read_sections(struct nb_front *f, struct nb_err *err)
{
	f->code = nb_arena_array(&f->arena, f->elf.nsec, sizeof(*f->code));
	if (!f->code)
		return nb_front_nomem(err);
	for (uint32_t i = 1; i < f->elf.nsec; i++) {
		const struct nb_elf_section *s = &f->elf.sec[i];
		struct nb_obj_code *c = &f->code[i];
		int rc;

		if (!nb_elf_is_code(s) || !s->size)
			continue;
		rc = code_check_section(s, err);
		if (rc)
			return rc;
		c->sec = i;
		c->nslots = (uint32_t)(s->size / NB_SLOT_SIZE);
		c->slots = nb_arena_array(&f->arena, c->nslots, sizeof(*c->slots));
		if (!c->slots)
			return nb_front_nomem(err);
	}
	return 0;
}

/* Record the relocation of each slot; a slot may have one at most. */
static int read_relocs(struct nb_front *f, uint32_t sec, struct nb_err *err)
{
	const struct nb_elf_section *s = &f->elf.sec[sec];
	struct nb_obj_code *c = &f->code[s->info];

	if (c->relsec)
		return nb_fail(err, NB_E_ELF, s->off, "section %s has two sections of relocations",
			       f->elf.sec[s->info].name);
	c->relsec = sec;
	for (uint32_t i = 0; i < nb_elf_nrel(s); i++) {
		struct nb_elf_rel r = nb_elf_rel(s, i);
		struct nb_obj_slot *slot = &c->slots[r.off / NB_SLOT_SIZE];

		if (r.off % NB_SLOT_SIZE || slot->rel)
			return nb_fail(err, NB_E_RELOC, s->off + i * NB_ELF_REL,
				       "section %s: "
				       "relocation %u at offset %llu "
				       "is not at an instruction's start, or a second one there",
				       f->elf.sec[s->info].name, i, (unsigned long long)r.off);
		slot->rel = i + 1;
	}
	return 0;
}

static bool is_func(const struct nb_front *f, const struct nb_elf_sym *s)
{
	return s->type == STT_FUNC && s->sec < f->elf.nsec && f->code[s->sec].slots;
}

static int read_func(struct nb_front *f, const struct nb_elf_sym *s, struct nb_err *err)
{
	const struct nb_elf_section *sec = &f->elf.sec[s->sec];
	struct nb_obj_slot *slot;

	if (s->value % NB_SLOT_SIZE || s->size % NB_SLOT_SIZE || !s->size)
		return nb_fail(err, NB_E_ELF, sec->off,
			       "function %.64s has %llu bytes at offset %llu of section %s, but "
			       "both must be multiples of %d",
			       s->name, (unsigned long long)s->size, (unsigned long long)s->value,
			       sec->name, NB_SLOT_SIZE);
	slot = &f->code[s->sec].slots[s->value / NB_SLOT_SIZE];
	if (slot->func)
		return nb_fail(err, NB_E_ELF, sec->off,
			       "functions %.64s and %.64s both begin at offset %llu of section %s",
			       f->funcs[slot->func - 1].name, s->name, (unsigned long long)s->value,
			       sec->name);
	f->funcs[f->nfuncs] = (struct nb_obj_func){ s->name, s->sec, (uint32_t)s->value,
						    (uint32_t)s->size, s->bind != STB_LOCAL };
	slot->func = ++f->nfuncs;
	return 0;
}

static int read_funcs(struct nb_front *f, struct nb_err *err)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < f->elf.nsym; i++) {
		struct nb_elf_sym s = nb_elf_sym(&f->elf, i);

		n += is_func(f, &s);
	}
	f->funcs = nb_arena_array(&f->arena, n, sizeof(*f->funcs));
	if (!f->funcs)
		return nb_front_nomem(err);
	for (uint32_t i = 1; i < f->elf.nsym; i++) {
		struct nb_elf_sym s = nb_elf_sym(&f->elf, i);
		int rc = is_func(f, &s) ? read_func(f, &s, err) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

int64_t nb_front_func_at(const struct nb_front *f, uint32_t sec, int64_t off)
{
	const struct nb_obj_code *c = &f->code[sec];

	if (off < 0 || off % NB_SLOT_SIZE || off / NB_SLOT_SIZE >= c->nslots)
		return -1;
	return (int64_t)c->slots[off / NB_SLOT_SIZE].func - 1;
}

/*
 * Return the helper of an extern. Externs have the names of kernel
 * functions (extern ... __ksym). In an image they are helpers with our own
 * numbers.
 */
const struct nb_helper_spec *nb_front_extern(const char *name)
{
	const struct nb_helper_spec *h = NULL;

	if (!strncmp(name, "bpf_", 4))
		h = nb_spec_helper_named(name + 4);
	return h && h->id >= NB_HELPER_EXTERN ? h : NULL;
}

static int bad_extern(uint32_t at, const char *name, struct nb_err *err)
{
	enum { MAX = 64, LEN = 48 };
	char names[MAX][LEN], known[160];
	const char *list[MAX];
	const struct nb_helper_spec *h;
	size_t n, k = 0, nexterns = 0;

	/* List externs first: other helpers are only suggested. */
	h = nb_spec_helpers(&n);
	for (int externs = 1; externs >= 0; externs--)
		for (size_t i = 0; i < n && k < MAX; i++) {
			if ((h[i].id >= NB_HELPER_EXTERN) != externs)
				continue;
			snprintf(names[k], LEN, "bpf_%s", h[i].name);
			list[k] = names[k];
			nexterns += (size_t)externs;
			k++;
		}
	suggest(name, list, k, nexterns, known, sizeof(known));
	return nb_fail(err, NB_E_SYMBOL, at,
		       "symbol %.64s is used and not defined in the object; "
		       "no extern here has that name; %s",
		       name, known);
}

static int refuse_externs(const struct nb_front *f, struct nb_err *err)
{
	for (uint32_t i = 1; i < f->elf.nsym; i++) {
		struct nb_elf_sym s = nb_elf_sym(&f->elf, i);

		if (s.sec == SHN_UNDEF && *s.name && !nb_front_extern(s.name))
			return bad_extern(f->elf.sec[f->elf.symtab].off + i * NB_ELF_SYM, s.name,
					  err);
	}
	return 0;
}

int nb_front_code(struct nb_front *f, struct nb_err *err)
{
	int rc = refuse_externs(f, err);

	if (!rc)
		rc = code_read_sections(f, err);
	for (uint32_t i = 1; !rc && i < f->elf.nsec; i++)
		if (f->elf.sec[i].type == SHT_REL && f->code[f->elf.sec[i].info].slots)
			rc = read_relocs(f, i, err);
	return rc ? rc : read_funcs(f, err);
}
