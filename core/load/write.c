// SPDX-License-Identifier: MIT
/*
 * Write an image as an ELF object: one section for each program, .rodata
 * unchanged, .maps with the BTF in which libbpf finds definitions, and
 * relocations for references to maps and data. Sections are written in one
 * pass, then their headers.
 */
#include "core/load/write.h"

#include <bpf/btf.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/front.h"

enum {
	MAX_SECTIONS = 2 * NB_IMAGE_MAX_PROGS + NB_IMAGE_MAX_MAPS + 8,
	MAX_SYMBOLS = NB_IMAGE_MAX_PROGS + 2 * NB_IMAGE_MAX_MAPS + 4,
	POINTER = 8,
	MEMBERS = 5 /* Number of pointers of a definition. */
};

static const char license[] = "Dual MIT/GPL";

struct writer {
	const struct nb_image *img;
	struct nb_err *err;
	struct nb_buf file, names, rel;
	Elf64_Shdr sec[MAX_SECTIONS];
	uint32_t nsec;
	Elf64_Sym sym[MAX_SYMBOLS];
	uint32_t nsym, nlocal;
	uint32_t map_sym[NB_IMAGE_MAX_MAPS];
	uint32_t map_sec; /* Number of section .maps, or 0. */
	struct btf *btf;
};

static int notsup(struct writer *w, const char *what, const char *name)
{
	return nb_fail(w->err, NB_E_NOTSUP, 0,
		       "policy %s: %s %.60s: only programs of one function, "
		       "read-only data and maps of integers become an object file again",
		       w->img->name, what, name);
}

static uint32_t add_string(struct writer *w, const char *s)
{
	uint32_t at = (uint32_t)w->names.size;

	nb_buf_bytes(&w->names, s, strlen(s) + 1);
	return at;
}

/* Append a section with @size bytes; returns its number. */
static uint32_t add_section(struct writer *w, const char *s, uint32_t type, uint64_t flags,
			    const void *bytes, size_t size)
{
	Elf64_Shdr *h = &w->sec[w->nsec];

	nb_buf_zeros(&w->file, -w->file.size & 7);
	*h = (Elf64_Shdr){
		.sh_name = add_string(w, s),
		.sh_type = type,
		.sh_flags = flags,
		.sh_offset = w->file.size,
		.sh_size = size,
		.sh_addralign = 8,
	};
	nb_buf_bytes(&w->file, bytes, size);
	return w->nsec++;
}

static uint32_t add_symbol(struct writer *w, const char *s, unsigned info, uint32_t sec,
			   uint64_t value, uint64_t size)
{
	w->sym[w->nsym] = (Elf64_Sym){
		.st_name = *s ? add_string(w, s) : 0,
		.st_info = (unsigned char)info,
		.st_shndx = (uint16_t)sec,
		.st_value = value,
		.st_size = size,
	};
	return w->nsym++;
}

/* Add the type of an integer of @size bytes; returns 0 if C has no such
 * type. */
static int add_integer(struct btf *b, uint32_t size)
{
	static const char *const names[] = { NULL, "__u8", "__u16", NULL,   "__u32",
					     NULL, NULL,   NULL,    "__u64" };

	return size > 8 || !names[size] ? 0 : btf__add_int(b, names[size], size, 0);
}

/* Add the type int (*)[n], as the macro __uint(name, n) declares it. */
static int add_pointer_to_array(struct btf *b, int element, int index, uint32_t n)
{
	int array = btf__add_array(b, index, element, n);

	return array < 0 ? array : btf__add_ptr(b, array);
}

static bool add_tags(struct btf *b, int var, uint32_t tags)
{
	char text[32];

	for (const struct nb_map_tag *t = nb_map_tags; t->word; t++) {
		snprintf(text, sizeof(text), NB_TAG_PREFIX "%s", t->word);
		if (tags & t->tag && btf__add_decl_tag(b, text, var, -1) < 0)
			return false;
		tags &= ~t->tag;
	}
	return true;
}

/* Add the variable of a map definition; returns its BTF id, or a negative
 * number on failure. */
static int add_definition(struct btf *b, const struct nb_map_spec *m)
{
	int num = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	int key = add_integer(b, m->key_size), value = add_integer(b, m->value_size);
	int type, most, flags, pkey, pvalue, var;

	if (num <= 0 || key <= 0 || value <= 0)
		return -1;
	type = add_pointer_to_array(b, num, num, m->type);
	most = add_pointer_to_array(b, num, num, m->max_entries);
	flags = add_pointer_to_array(b, num, num, m->flags);
	pkey = btf__add_ptr(b, key);
	pvalue = btf__add_ptr(b, value);
	var = btf__add_struct(b, "", MEMBERS * POINTER);
	if (var < 0)
		return -1;
	btf__add_field(b, "type", type, 0, 0);
	btf__add_field(b, "max_entries", most, 64, 0);
	btf__add_field(b, "map_flags", flags, 128, 0);
	btf__add_field(b, "key", pkey, 192, 0);
	btf__add_field(b, "value", pvalue, 256, 0);
	var = btf__add_var(b, m->name, BTF_VAR_GLOBAL_ALLOCATED, var);
	return var > 0 && !add_tags(b, var, m->tags) ? -1 : var;
}

static int add_map(struct writer *w, uint32_t map, uint32_t at, int *var)
{
	const struct nb_map_spec *m = &w->img->maps[map];

	*var = add_definition(w->btf, m);
	if (*var < 0)
		return notsup(w, "map", m->name);
	w->map_sym[map] = add_symbol(w, m->name, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), w->map_sec,
				     at, MEMBERS * POINTER);
	return 0;
}

static int add_maps(struct writer *w)
{
	const struct nb_image *img = w->img;
	int vars[NB_IMAGE_MAX_MAPS];
	uint32_t size = 0;

	for (uint32_t i = 0; i < img->nmaps; i++)
		if (img->maps[i].origin == NB_ORIGIN_DEFINED)
			size += MEMBERS * POINTER;
	if (!size)
		return 0;
	w->btf = btf__new_empty();
	if (!w->btf)
		return nb_front_nomem(w->err);
	w->map_sec = add_section(w, ".maps", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, "", 0);
	w->sec[w->map_sec].sh_size = size;
	nb_buf_zeros(&w->file, size);
	size = 0;
	for (uint32_t i = 0; i < img->nmaps; i++) {
		if (img->maps[i].origin != NB_ORIGIN_DEFINED)
			continue;
		if (add_map(w, i, size, &vars[i]))
			return NB_E_NOTSUP;
		size += MEMBERS * POINTER;
	}
	btf__add_datasec(w->btf, ".maps", size);
	size = 0;
	for (uint32_t i = 0; i < img->nmaps; i++) {
		if (img->maps[i].origin != NB_ORIGIN_DEFINED)
			continue;
		btf__add_datasec_var_info(w->btf, vars[i], size, MEMBERS * POINTER);
		size += MEMBERS * POINTER;
	}
	return 0;
}

/* Write the sections of data, each with a section symbol for relocations. */
static int add_data(struct writer *w)
{
	for (uint32_t i = 0; i < w->img->nmaps; i++) {
		const struct nb_map_spec *m = &w->img->maps[i];
		uint32_t sec;

		if (m->origin == NB_ORIGIN_DEFINED)
			continue;
		if (m->origin != NB_ORIGIN_RODATA || !m->init)
			return notsup(w, "section", m->name);
		sec = add_section(w, m->name, SHT_PROGBITS, SHF_ALLOC, m->init, m->value_size);
		w->map_sym[i] = add_symbol(w, "", ELF64_ST_INFO(STB_LOCAL, STT_SECTION), sec, 0, 0);
	}
	return 0;
}

/* Write the relocations in w->rel, for section @sec called @s. */
static void add_relocations(struct writer *w, const char *s, uint32_t sec)
{
	char text[80];
	uint32_t rel;

	if (!w->rel.size)
		return;
	snprintf(text, sizeof(text), ".rel%s", s);
	rel = add_section(w, text, SHT_REL, 0, w->rel.data, w->rel.size);
	w->sec[rel].sh_info = sec;
	w->sec[rel].sh_link = 1; /* The number of the symbol table. */
	w->sec[rel].sh_entsize = sizeof(Elf64_Rel);
}

/* Write a program; references to maps become relocations as in a compiled
 * object. */
static int add_code(struct writer *w, const struct nb_prog *p, struct nb_slot *slots)
{
	uint32_t sec;

	if (p->nfuncs != 1)
		return notsup(w, "program", p->name);
	nb_buf_clear(&w->rel);
	memcpy(slots, p->slots, (size_t)p->nslots * sizeof(*slots));
	for (uint32_t i = 0; i < p->nslots; i++) {
		struct nb_slot *s = &slots[i];
		Elf64_Rel rel = { .r_offset = (uint64_t)i * NB_SLOT_SIZE };
		unsigned src = s->regs >> 4;

		if (s->opcode != 0x18)
			continue;
		if (src > 2)
			return notsup(w, "program", p->name);
		if (src) {
			rel.r_info = ELF64_R_INFO((uint64_t)w->map_sym[s->imm], NB_REL_64_64);
			nb_buf_bytes(&w->rel, &rel, sizeof(rel));
			s->imm = s[1].imm;
			s[1].imm = 0;
			s->regs &= 15;
		}
		i++;
	}
	sec = add_section(w, p->section, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, slots,
			  (size_t)p->nslots * sizeof(*slots));
	add_symbol(w, p->name, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), sec, 0,
		   (uint64_t)p->nslots * sizeof(*slots));
	add_relocations(w, p->section, sec);
	return 0;
}

static int add_programs(struct writer *w)
{
	uint32_t most = 1;
	struct nb_slot *slots;
	int rc = 0;

	for (uint32_t i = 0; i < w->img->nprogs; i++)
		if (w->img->progs[i].nslots > most)
			most = w->img->progs[i].nslots;
	slots = calloc(most, sizeof(*slots));
	if (!slots)
		return nb_front_nomem(w->err);
	for (uint32_t i = 0; !rc && i < w->img->nprogs; i++)
		rc = add_code(w, &w->img->progs[i], slots);
	free(slots);
	return rc;
}

static int add_btf(struct writer *w)
{
	const void *bytes;
	uint32_t size;

	if (!w->btf)
		return 0;
	bytes = btf__raw_data(w->btf, &size);
	if (!bytes)
		return nb_front_nomem(w->err);
	add_section(w, ".BTF", SHT_PROGBITS, 0, bytes, size);
	return 0;
}

/* Write the tables of symbols, names and sections, then the ELF header. */
static void add_tables(struct writer *w)
{
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = EM_BPF,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	nb_buf_zeros(&w->file, -w->file.size & 7);
	w->sec[1] = (Elf64_Shdr){
		.sh_name = add_string(w, ".symtab"),
		.sh_type = SHT_SYMTAB,
		.sh_offset = w->file.size,
		.sh_size = w->nsym * sizeof(Elf64_Sym),
		.sh_link = 2,
		.sh_info = w->nlocal,
		.sh_addralign = 8,
		.sh_entsize = sizeof(Elf64_Sym),
	};
	nb_buf_bytes(&w->file, w->sym, w->nsym * sizeof(Elf64_Sym));
	w->sec[2] = (Elf64_Shdr){
		.sh_name = add_string(w, ".strtab"),
		.sh_type = SHT_STRTAB,
		.sh_offset = w->file.size,
		.sh_size = w->names.size,
		.sh_addralign = 1,
	};
	nb_buf_bytes(&w->file, w->names.data, w->names.size);
	nb_buf_zeros(&w->file, -w->file.size & 7);
	h.e_shoff = w->file.size;
	h.e_shnum = (uint16_t)w->nsec;
	h.e_shstrndx = 2;
	nb_buf_bytes(&w->file, w->sec, w->nsec * sizeof(Elf64_Shdr));
	if (nb_buf_ok(&w->file))
		memcpy(w->file.data, &h, sizeof(h));
}

static int write_all(struct writer *w)
{
	int rc;

	nb_buf_zeros(&w->file, sizeof(Elf64_Ehdr));
	nb_buf_char(&w->names, 0);
	/* The first sections are number 0, the symbol table, and the names. */
	w->nsec = 3;
	w->nsym = 1;
	rc = add_data(w);
	w->nlocal = w->nsym;
	if (!rc)
		rc = add_maps(w);
	if (!rc)
		rc = add_programs(w);
	if (!rc)
		rc = add_btf(w);
	if (rc)
		return rc;
	add_section(w, "license", SHT_PROGBITS, SHF_ALLOC, license, sizeof(license));
	add_tables(w);
	return nb_buf_ok(&w->file) && nb_buf_ok(&w->names) ? 0 : nb_front_nomem(w->err);
}

int nb_object_write(struct nb_buf *out, const struct nb_image *img, struct nb_err *err)
{
	struct writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return nb_front_nomem(err);
	w->img = img;
	w->err = err;
	nb_buf_init(&w->file, 4 * NB_IMAGE_MAX_SIZE);
	nb_buf_init(&w->names, 0);
	nb_buf_init(&w->rel, 0);
	rc = write_all(w);
	if (!rc)
		nb_buf_bytes(out, w->file.data, w->file.size);
	if (!rc && !nb_buf_ok(out))
		rc = nb_front_nomem(err);
	nb_buf_fini(&w->file);
	nb_buf_fini(&w->names);
	nb_buf_fini(&w->rel);
	btf__free(w->btf);
	free(w);
	return rc;
}
