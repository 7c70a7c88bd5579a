// SPDX-License-Identifier: MIT
/*
 * Read the initial elements of maps, which are relocations in .maps. A map
 * whose values are programs or maps may end with a member "values", an
 * array of pointers. A relocation in that array names the function or map
 * that is the element with its index. The symbol table says which map
 * contains the relocation, and BTF says where the array begins.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/front.h"

enum { POINTER = 8 };

struct place {
	struct nb_front *f;
	struct nb_err *err;
	uint32_t sec; /* Number of section .maps. */
	uint32_t at;  /* Offset of the section's relocations in the file. */
};

static int64_t bad_reloc(const struct place *p, const struct nb_elf_rel *r,
			 const char *what)
{
	return nb_fail(
		p->err, NB_E_RELOC, p->at,
		"section .maps, offset %llu: relocation of type %u against \"%.64s\": %s",
		(unsigned long long)r->off, r->type,
		nb_elf_sym(&p->f->elf, r->sym).name, what);
}

/* Find the symbol of the map that holds byte @off of .maps; returns false
 * if there is none. */
static bool map_symbol_at(const struct place *p, uint64_t off,
			  struct nb_elf_sym *sym)
{
	for (uint32_t i = 1; i < p->f->elf.nsym; i++) {
		*sym = nb_elf_sym(&p->f->elf, i);
		if (sym->sec == p->sec && sym->type == STT_OBJECT &&
		    off >= sym->value && off - sym->value < sym->size)
			return true;
	}
	return false;
}

/* Return the offset of "values" in the struct of the variable @name; -1 if
 * there is no such member. */
static int64_t values_at(const struct btf *btf, const char *name)
{
	int32_t id = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);
	const struct btf_type *t =
		id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *m;

	if (t)
		t = nb_front_bare(btf, t->type);
	if (!t || !btf_is_struct(t) || !btf_vlen(t))
		return -1;
	m = btf_members(t) + btf_vlen(t) - 1;
	if (strcmp(btf__name_by_offset(btf, m->name_off), "values") != 0)
		return -1;
	return btf_member_bit_offset(t, btf_vlen(t) - 1u) / 8;
}

/* Return the program that a relocation names, at byte @off of a section. */
static int64_t program_at(const struct place *p, const struct nb_elf_rel *r,
			  uint32_t sec, uint64_t off)
{
	const struct nb_front *f = p->f;
	int64_t func =
		sec < f->elf.nsec ? nb_front_func_at(f, sec, (int64_t)off) : -1;

	if (func < 0)
		return bad_reloc(p, r,
				 "the symbol is no function of the object");
	for (uint32_t i = 0; i < f->nprogs; i++)
		if (!strcmp(f->progs[i].name, f->funcs[func].name))
			return i;
	return bad_reloc(
		p, r,
		"the function is no program; give it the section of a hook");
}

static int read_elem(const struct place *p, const struct nb_elf_rel *r)
{
	struct nb_front *f = p->f;
	struct nb_elf_sym var, sym = nb_elf_sym(&f->elf, r->sym);
	int64_t map, values, value;
	uint64_t off, to = 0;
	uint32_t traits;

	if (r->type != NB_REL_64_64 && r->type != NB_REL_64_ABS64)
		return (int)bad_reloc(p, r, "this type does not fit a pointer");
	if (!map_symbol_at(p, r->off, &var) ||
	    (map = nb_front_map_at(f, p->sec, var.value)) < 0)
		return (int)bad_reloc(p, r, "it lies in no map");
	values = values_at(f->btf, var.name);
	traits = nb_spec_map_type(f->maps[map].type)->traits;
	if (values < 0 || !(traits & NB_TRAIT_PROGS))
		return (int)bad_reloc(
			p, r, "maps of this type cannot have initial elements");
	off = r->off - var.value - (uint64_t)values;
	if (off % POINTER || off / POINTER >= f->maps[map].max_entries)
		return (int)bad_reloc(p, r,
				      "the map has no element at this index");
	nb_view_u64(f->elf.sec[p->sec].data, r->off, &to);
	value = program_at(p, r, sym.sec, sym.value + to);
	if (value < 0)
		return (int)value;
	f->elems[f->nelems++] =
		(struct nb_map_elem){ (uint32_t)map, (uint32_t)(off / POINTER),
				      (uint32_t)value };
	return 0;
}

static int by_map_and_key(const void *a, const void *b)
{
	const struct nb_map_elem *x = a, *y = b;

	if (x->map != y->map)
		return x->map < y->map ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int read_section(struct place *p, const struct nb_elf_section *s)
{
	uint32_t n = nb_elf_nrel(s);
	int rc = 0;

	if (n > NB_IMAGE_MAX_ELEMS)
		return nb_fail(p->err, NB_E_LIMIT, s->off,
			       "section .maps: %u initial elements; at most %d",
			       n, NB_IMAGE_MAX_ELEMS);
	p->at = s->off;
	p->f->elems = nb_arena_array(&p->f->arena, n, sizeof(*p->f->elems));
	if (!p->f->elems)
		return nb_front_nomem(p->err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		struct nb_elf_rel r = nb_elf_rel(s, i);

		rc = read_elem(p, &r);
	}
	qsort(p->f->elems, p->f->nelems, sizeof(*p->f->elems), by_map_and_key);
	return rc;
}

int nb_front_elems(struct nb_front *f, struct nb_err *err)
{
	struct place p = { f, err, nb_elf_find(&f->elf, ".maps"), 0 };

	for (uint32_t i = 1; p.sec && i < f->elf.nsec; i++) {
		const struct nb_elf_section *s = &f->elf.sec[i];

		if (s->type != SHT_REL || s->info != p.sec)
			continue;
		if (f->nelems)
			return nb_fail(
				err, NB_E_ELF, s->off,
				"section .maps has two sections of relocations");
		int rc = read_section(&p, s);

		if (rc)
			return rc;
	}
	return 0;
}
