// SPDX-License-Identifier: MIT
/*
 * Read the maps of an object. libbpf reads the definitions in .maps from
 * BTF. It gets a copy of the object without the sections it does not need
 * (code, relocations, lines), so that nothing in them can make it fail.
 * Data sections become arrays of one element; this file reads them itself.
 */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/front.h"

/* Words of declaration tags on maps, behind the prefix, and their NB_MAPF_* bits. */
#define TAG_PREFIX "ncclbpf:"
static const struct {
	const char *word;
	uint32_t tag;
} map_tags[] = {
	{ "coherent", NB_MAPF_COHERENT },
	{ "shared", NB_MAPF_SHARED },
	{ "sum", NB_MAPF_SUM },
	{ "max", NB_MAPF_MAX },
	{ "histogram", NB_MAPF_SUM },
	{ "host", NB_MAPF_HOST },
	{ "replicated", NB_MAPF_REPLICATED },
};

/* The first warning of libbpf. Thread-local, because libbpf's callback
 * takes no argument of ours. */
static _Thread_local char said[160];

static int keep_warning(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && !said[0]) {
		vsnprintf(said, sizeof(said), fmt, ap);
		said[strcspn(said, "\n")] = '\0';
	}
	return 0;
}

/* Does libbpf need this section? */
static bool libbpf_needs(const struct nb_elf_section *s)
{
	if (s->type == SHT_SYMTAB || s->type == SHT_STRTAB)
		return true;
	if (nb_elf_is_code(s) || !strcmp(s->name, ".BTF.ext"))
		return false;
	return (s->type == SHT_PROGBITS || s->type == SHT_NOBITS) &&
	       (s->flags & SHF_ALLOC || !strcmp(s->name, ".BTF"));
}

static void blank_sections(unsigned char *copy, const struct nb_elf *e)
{
	for (uint32_t i = 1; i < e->nsec; i++) {
		Elf64_Shdr h = { .sh_type = SHT_PROGBITS };

		if (!libbpf_needs(&e->sec[i]))
			memcpy(copy + e->shoff + i * NB_ELF_SHDR, &h, sizeof(h));
	}
}

/*
 * Return the first section of merged constants, or 0 if there is none or a
 * section .rodata exists. LLVM puts static constants of 4, 8, 16 or 32
 * bytes into sections such as .rodata.cst32, and describes them in the
 * DATASEC of .rodata. The section .rodata itself is missing if the object
 * has no other constants.
 */
static uint32_t merged_constants(const struct nb_elf *e)
{
	for (uint32_t i = 1; i < e->nsec; i++)
		if (!nb_elf_find(e, ".rodata") && e->sec[i].type == SHT_PROGBITS &&
		    !strncmp(e->sec[i].name, ".rodata.cst", 11))
			return i;
	return 0;
}

/* Return the section of merged constants if it is the object's only section of
 * constants, else 0. */
static uint32_t sole_constants(const struct nb_elf *e)
{
	uint32_t first = merged_constants(e);

	for (uint32_t i = first + 1; first && i < e->nsec; i++)
		if (!strncmp(e->sec[i].name, ".rodata", 7))
			return 0;
	return first;
}

/* Rename merged constants to .rodata in the copy, because libbpf looks for
 * the section of each DATASEC. */
static void rename_constants(unsigned char *copy, const struct nb_elf *e)
{
	uint32_t i = merged_constants(e);

	if (i)
		copy[(const unsigned char *)e->sec[i].name - e->all.p +
		     (ptrdiff_t)strlen(".rodata")] = '\0';
}

/* libbpf has one print function for the process. Without the lock, the second of two threads
 * would take ours for the function of before, and leave it set. */
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_object(struct nb_front *f, struct nb_err *err)
{
	struct bpf_object_open_opts opts = { .sz = sizeof(opts), .object_name = "policy" };
	unsigned char *copy = malloc(f->elf.all.size);
	libbpf_print_fn_t before;
	long rc;

	if (!copy)
		return nb_front_nomem(err);
	memcpy(copy, f->elf.all.p, f->elf.all.size);
	blank_sections(copy, &f->elf);
	rename_constants(copy, &f->elf);
	said[0] = '\0';
	pthread_mutex_lock(&print_lock);
	before = libbpf_set_print(keep_warning);
	f->obj = bpf_object__open_mem(copy, f->elf.all.size, &opts);
	rc = libbpf_get_error(f->obj);
	libbpf_set_print(before);
	pthread_mutex_unlock(&print_lock);
	free(copy);
	if (!rc)
		return 0;
	f->obj = NULL;
	return nb_fail(err, rc == -ENOMEM ? NB_E_NOMEM : NB_E_MAPDEF, 0,
		       "libbpf cannot read the object's maps: %s",
		       said[0] ? said : strerror((int)-rc));
}

/* Find the offset in .maps of the variable @name. */
static int find_place(const struct nb_front *f, const char *name, struct nb_obj_place *place,
		      struct nb_err *err)
{
	uint32_t sec = nb_elf_find(&f->elf, ".maps");

	for (uint32_t i = 1; i < f->elf.nsym; i++) {
		struct nb_elf_sym s = nb_elf_sym(&f->elf, i);

		if (s.sec != sec || s.type != STT_OBJECT || strcmp(s.name, name) != 0)
			continue;
		*place = (struct nb_obj_place){ sec, s.value };
		return 0;
	}
	return nb_fail(err, NB_E_MAPDEF, 0, "map %s: section .maps has no variable of this name",
		       name);
}

/* Read a declaration tag of the map; tags without our prefix are ignored. */
static int read_tag(struct nb_map_spec *m, const char *tag, struct nb_err *err)
{
	size_t n = strlen(TAG_PREFIX);

	if (strncmp(tag, TAG_PREFIX, n) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(map_tags) / sizeof(map_tags[0]); i++)
		if (!strcmp(tag + n, map_tags[i].word)) {
			m->tags |= map_tags[i].tag;
			return 0;
		}
	return nb_fail(err, NB_E_MAPDEF, 0,
		       "map %s: tag \"%.40s\"; known: coherent, shared, sum, max, histogram, "
		       "host, replicated",
		       m->name, tag);
}

static int read_tags(const struct nb_front *f, struct nb_map_spec *m, struct nb_err *err)
{
	uint32_t n = btf__type_cnt(f->btf);

	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(f->btf, id), *var;
		int rc;

		if (!btf_is_decl_tag(t))
			continue;
		var = btf__type_by_id(f->btf, t->type);
		if (!btf_is_var(var) ||
		    strcmp(btf__name_by_offset(f->btf, var->name_off), m->name) != 0)
			continue;
		rc = read_tag(m, btf__name_by_offset(f->btf, t->name_off), err);
		if (rc)
			return rc;
	}
	return 0;
}

static bool defines_map(const struct nb_front *f, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(f->btf, t->name_off);

	for (uint32_t i = 0; btf_is_var(t) && i < f->nmaps; i++)
		if (f->maps[i].origin == NB_ORIGIN_DEFINED && !strcmp(f->maps[i].name, name))
			return true;
	return false;
}

/* Reject a tag with our prefix on anything but a map: it would be ignored. */
static int refuse_stray_tags(const struct nb_front *f, struct nb_err *err)
{
	uint32_t n = f->btf ? btf__type_cnt(f->btf) : 0;

	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(f->btf, id), *of;
		const char *tag = btf__name_by_offset(f->btf, t->name_off);

		if (!btf_is_decl_tag(t) || strncmp(tag, TAG_PREFIX, strlen(TAG_PREFIX)) != 0)
			continue;
		of = btf__type_by_id(f->btf, t->type);
		if (defines_map(f, of))
			continue;
		return nb_fail(
			err, NB_E_MAPDEF, 0,
			"%s %.64s: tag \"%.40s\" is for definitions of maps in SEC(\".maps\"); "
			"for a variable, write __coherent_data in front of its type",
			btf_is_var(of)	  ? "variable"
			: btf_is_func(of) ? "function"
					  : "type",
			btf__name_by_offset(f->btf, of->name_off), tag);
	}
	return 0;
}

static bool is_lock(const struct btf *btf, const struct btf_type *t)
{
	return btf_is_struct(t) && t->size == 4 &&
	       !strcmp(btf__name_by_offset(btf, t->name_off), "bpf_spin_lock");
}

/* Does type @id contain a lock? */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows */
static bool has_lock(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = nb_front_bare(btf, id);
	bool found = t && is_lock(btf, t);

	if (t && btf_is_array(t))
		return has_lock(btf, btf_array(t)->type);
	if (t && btf_is_composite(t))
		for (uint32_t i = 0; !found && i < btf_vlen(t); i++)
			found = has_lock(btf, btf_members(t)[i].type);
	if (t && btf_is_datasec(t))
		for (uint32_t i = 0; !found && i < btf_vlen(t); i++)
			found = has_lock(btf,
					 btf__type_by_id(btf, btf_var_secinfos(t)[i].type)->type);
	return found;
}

/* Reject a map whose value has a lock: no helper takes it. */
static int refuse_lock(const struct nb_front *f, const struct nb_map_spec *m, struct nb_err *err)
{
	if (!f->btf || !m->btf_value || !has_lock(f->btf, m->btf_value))
		return 0;
	return nb_fail(err, NB_E_MAPDEF, 0,
		       "map %s: struct bpf_spin_lock in its value is not supported: "
		       "use atomic operations",
		       m->name);
}

static int maps_read_map(struct nb_map_spec *m, const struct bpf_map *from, struct nb_err *err)
{
	*m = (struct nb_map_spec){
		.name = bpf_map__name(from),
		.type = (uint32_t)bpf_map__type(from),
		.key_size = bpf_map__key_size(from),
		.value_size = bpf_map__value_size(from),
		.max_entries = bpf_map__max_entries(from),
		.flags = bpf_map__map_flags(from),
		.origin = NB_ORIGIN_DEFINED,
		.btf_key = bpf_map__btf_key_type_id(from),
		.btf_value = bpf_map__btf_value_type_id(from),
	};
	if (bpf_map__pin_path(from) || bpf_map__map_extra(from) || bpf_map__numa_node(from) ||
	    bpf_map__ifindex(from))
		return nb_fail(
			err, NB_E_NOTSUP, 0,
			"map %s: pinning, map_extra, numa_node and ifindex have no meaning here; "
			"leave them out",
			m->name);
	return 0;
}

static int next_map(struct nb_front *f, struct nb_err *err)
{
	if (f->nmaps < NB_IMAGE_MAX_MAPS)
		return 0;
	return nb_fail(err, NB_E_LIMIT, 0,
		       "the object has more than the allowed %d maps and data sections",
		       NB_IMAGE_MAX_MAPS);
}

static int defined_maps(struct nb_front *f, struct nb_err *err)
{
	const struct bpf_map *from;

	bpf_object__for_each_map(from, f->obj)
	{
		struct nb_map_spec *m = &f->maps[f->nmaps];
		int rc = bpf_map__is_internal(from) ? 0 : next_map(f, err);

		if (bpf_map__is_internal(from))
			continue;
		if (!rc)
			rc = maps_read_map(m, from, err);
		if (!rc)
			rc = find_place(f, m->name, &f->places[f->nmaps], err);
		if (!rc)
			rc = read_tags(f, m, err);
		if (!rc)
			rc = refuse_lock(f, m, err);
		if (!rc)
			rc = nb_map_spec_check(m, err);
		if (rc)
			return rc;
		f->nmaps++;
	}
	return 0;
}

static bool is_section_of(const char *name, const char *what)
{
	size_t n = strlen(what);

	return !strncmp(name, what, n) && (!name[n] || name[n] == '.');
}

/* Is this a data section, and of which kind? */
static bool data_origin(const struct nb_elf_section *s, enum nb_map_origin *origin)
{
	if (nb_elf_is_code(s) || !s->size)
		return false;
	if (s->type == SHT_NOBITS && is_section_of(s->name, ".bss"))
		*origin = NB_ORIGIN_BSS;
	else if (s->type == SHT_PROGBITS && is_section_of(s->name, ".rodata"))
		*origin = NB_ORIGIN_RODATA;
	else if (s->type == SHT_PROGBITS && is_section_of(s->name, ".data"))
		*origin = NB_ORIGIN_DATA;
	else
		return false;
	return true;
}

/* Variables of this section change at fences, like a coherent map; programs only read them. */
static uint32_t data_tags(const char *name)
{
	return is_section_of(name, ".data.coherent") ? NB_MAPF_COHERENT : 0;
}

/* Return the DATASEC that describes a section; 0 for none. */
static uint32_t datasec_of(const struct nb_front *f, const char *name)
{
	int32_t id = f->btf ? btf__find_by_name_kind(f->btf, name, BTF_KIND_DATASEC) : 0;

	return id > 0 ? (uint32_t)id : 0;
}

static int data_maps(struct nb_front *f, struct nb_err *err)
{
	uint32_t constants = sole_constants(&f->elf);

	for (uint32_t i = 1; i < f->elf.nsec; i++) {
		const struct nb_elf_section *s = &f->elf.sec[i];
		struct nb_map_spec *m = &f->maps[f->nmaps];
		enum nb_map_origin origin;
		int rc;

		if (!data_origin(s, &origin))
			continue;
		rc = next_map(f, err);
		if (rc)
			return rc;
		*m = (struct nb_map_spec){
			.name = s->name,
			.type = NB_MAP_ARRAY,
			.key_size = 4,
			.value_size = (uint32_t)s->size,
			.max_entries = 1,
			.flags = origin == NB_ORIGIN_RODATA ? NB_F_RDONLY_PROG : 0,
			.tags = data_tags(s->name),
			.origin = origin,
			.btf_value = datasec_of(f, i == constants ? ".rodata" : s->name),
			.init = s->data.p,
		};
		f->places[f->nmaps] = (struct nb_obj_place){ i, 0 };
		rc = refuse_lock(f, m, err);
		if (rc)
			return rc;
		rc = nb_map_spec_check(m, err);
		if (rc)
			return rc;
		f->nmaps++;
	}
	return 0;
}

int nb_front_map_at(const struct nb_front *f, uint32_t sec, uint64_t off)
{
	for (uint32_t i = 0; i < f->nmaps; i++)
		if (f->places[i].sec == sec &&
		    (f->maps[i].origin != NB_ORIGIN_DEFINED || f->places[i].off == off))
			return (int)i;
	return -1;
}

/* Reject map definitions that libbpf would misread or cannot read. */
static int refuse_others(const struct nb_front *f, struct nb_err *err)
{
	uint32_t maps = nb_elf_find(&f->elf, ".maps");
	uint32_t old = nb_elf_find(&f->elf, "maps");

	if (old)
		return nb_fail(err, NB_E_NOTSUP, f->elf.sec[old].off,
			       "section maps: definitions of the old form (struct bpf_map_def) "
			       "are not read; define maps in SEC(\".maps\") and compile with -g");
	if (maps && !f->btf_bytes.size)
		return nb_fail(err, NB_E_MAPDEF, f->elf.sec[maps].off,
			       "section .maps needs the object's type information (.BTF); "
			       "compile with -g");
	return 0;
}

/* Reject pointers in data: a policy's data has no address when it is loaded. */
static int refuse_data_relocs(const struct nb_front *f, struct nb_err *err)
{
	for (uint32_t i = 1; i < f->elf.nsec; i++) {
		const struct nb_elf_section *s = &f->elf.sec[i];
		enum nb_map_origin origin;
		struct nb_elf_rel r;

		if (s->type != SHT_REL || !nb_elf_nrel(s) ||
		    !data_origin(&f->elf.sec[s->info], &origin))
			continue;
		r = nb_elf_rel(s, 0);
		return nb_fail(err, NB_E_RELOC, s->off,
			       "section %s holds a pointer to %s at offset %llu; "
			       "data of policies has no pointers",
			       f->elf.sec[s->info].name, nb_elf_sym(&f->elf, r.sym).name,
			       (unsigned long long)r.off);
	}
	return 0;
}

int nb_front_maps(struct nb_front *f, struct nb_err *err)
{
	int rc = refuse_others(f, err);

	if (!rc)
		rc = refuse_data_relocs(f, err);
	if (!rc && f->btf_bytes.size) {
		rc = open_object(f, err);
		if (!rc)
			f->btf = bpf_object__btf(f->obj);
	}
	if (!rc && f->obj)
		rc = defined_maps(f, err);
	if (!rc)
		rc = refuse_stray_tags(f, err);
	return rc ? rc : data_maps(f, err);
}
