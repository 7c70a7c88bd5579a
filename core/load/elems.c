// SPDX-License-Identifier: MIT
// Initial elements: relocations in .maps. A map whose values are programs or
// maps may end with a member "values", an array of pointers; each relocation
// there puts a function or a map at the index of its place. Which map a place
// belongs to tells the symbol table, where its array begins tells BTF.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/front.h"

/* BPF psABI: the address as a 64-bit number; compilers before it: 1. */
enum { REL_64_64 = 1, REL_64_ABS64 = 2, POINTER = 8 };

struct place {
	struct nb_front *f;
	struct nb_err *err;
	uint32_t sec; /* .maps */
	uint32_t at;  /* of its relocations in the file */
};

static int64_t fail(const struct place *p, const struct nb_elf_rel *r,
		    const char *what)
{
	return nb_fail(p->err, NB_E_RELOC, p->at,
		       "section .maps, offset %llu: relocation of type %u "
		       "against \"%.64s\": %s",
		       (unsigned long long)r->off, r->type,
		       nb_elf_sym(&p->f->elf, r->sym).name, what);
}

/* The symbol of the map that holds byte @off of .maps; false: none does. */
static bool variable_at(const struct place *p, uint64_t off,
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

static int64_t map_at(const struct nb_front *f, uint32_t sec, uint64_t off)
{
	for (uint32_t i = 0; i < f->nmaps; i++)
		if (f->maps[i].origin == NB_ORIGIN_DEFINED &&
		    f->places[i].sec == sec && f->places[i].off == off)
			return i;
	return -1;
}

/* Where "values" begins in the struct of the variable @name; -1: nowhere. */
static int64_t values_at(const struct btf *btf, const char *name)
{
	int32_t id = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);
	const struct btf_type *t =
		id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *m;

	if (t)
		t = btf__type_by_id(btf, t->type);
	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	if (!t || !btf_is_struct(t) || !btf_vlen(t))
		return -1;
	m = btf_members(t) + btf_vlen(t) - 1;
	if (strcmp(btf__name_by_offset(btf, m->name_off), "values") != 0)
		return -1;
	return btf_member_bit_offset(t, btf_vlen(t) - 1u) / 8;
}

/* The program that a relocation names. */
static int64_t program(const struct place *p, const struct nb_elf_rel *r)
{
	const struct nb_front *f = p->f;
	struct nb_elf_sym sym = nb_elf_sym(&f->elf, r->sym);
	uint64_t off = 0, slot;
	const struct nb_obj_func *fn;

	nb_view_u64(f->elf.sec[p->sec].data, r->off, &off);
	slot = (sym.value + off) / NB_SLOT_SIZE;
	if (sym.sec >= f->elf.nsec || slot >= f->code[sym.sec].nslots ||
	    !f->code[sym.sec].slots[slot].func)
		return fail(p, r, "it is no function of the object");
	fn = &f->funcs[f->code[sym.sec].slots[slot].func - 1];
	for (uint32_t i = 0; i < f->nprogs; i++)
		if (!strcmp(f->progs[i].name, fn->name))
			return i;
	return fail(p, r,
		    "it is no program; give the function the section of "
		    "a hook");
}

/* The map that a relocation names. */
static int64_t inner(const struct place *p, const struct nb_elf_rel *r)
{
	struct nb_elf_sym sym = nb_elf_sym(&p->f->elf, r->sym);
	uint64_t off = 0;
	int64_t map;

	nb_view_u64(p->f->elf.sec[p->sec].data, r->off, &off);
	map = map_at(p->f, sym.sec, sym.value + off);
	return map < 0 ? fail(p, r, "it is no map") : map;
}

static int read_elem(const struct place *p, const struct nb_elf_rel *r)
{
	struct nb_front *f = p->f;
	struct nb_elf_sym var;
	int64_t map, values, value;
	uint32_t traits;
	uint64_t off;

	if (r->type != REL_64_64 && r->type != REL_64_ABS64)
		return (int)fail(p, r, "this type does not fit a pointer");
	if (!variable_at(p, r->off, &var) ||
	    (map = map_at(f, p->sec, var.value)) < 0)
		return (int)fail(p, r, "it lies in no map");
	values = values_at(f->btf, var.name);
	traits = nb_spec_map_type(f->maps[map].type)->traits;
	if (values < 0 || !(traits & (NB_TRAIT_PROGS | NB_TRAIT_MAPS)))
		return (int)fail(p, r, "its map takes no initial elements");
	off = r->off - var.value - (uint64_t)values;
	if (off % POINTER || off / POINTER >= f->maps[map].max_entries)
		return (int)fail(p, r, "it is no element of its map");
	value = traits & NB_TRAIT_MAPS ? inner(p, r) : program(p, r);
	if (value < 0)
		return (int)value;
	f->elems[f->nelems++] =
		(struct nb_map_elem){ (uint32_t)map, (uint32_t)(off / POINTER),
				      (uint32_t)value };
	return 0;
}

static int by_place(const void *a, const void *b)
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
			       "section .maps: %u initial elements; at most "
			       "%d",
			       n, NB_IMAGE_MAX_ELEMS);
	p->at = s->off;
	p->f->elems = nb_arena_array(&p->f->arena, n, sizeof(*p->f->elems));
	if (!p->f->elems)
		return nb_front_nomem(p->err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		struct nb_elf_rel r = nb_elf_rel(s, i);

		rc = read_elem(p, &r);
	}
	qsort(p->f->elems, p->f->nelems, sizeof(*p->f->elems), by_place);
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
			return nb_fail(err, NB_E_ELF, s->off,
				       "section .maps has two sections of "
				       "relocations");
		int rc = read_section(&p, s);

		if (rc)
			return rc;
	}
	return 0;
}
