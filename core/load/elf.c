// SPDX-License-Identifier: MIT
/*
 * The part of the structural check for ELF. An object is opened only if
 * every offset, size, index and name in it is valid, so that later readers
 * (ours, and libelf inside libbpf) need no checks. It is stricter than
 * elf(5) where no BPF compiler needs the freedom: one symbol table, no
 * compression, REL only.
 */
#include "core/load/elf.h"

#include <elf.h>
#include <string.h>

static int check_ident(struct nb_view v, struct nb_err *err)
{
	const unsigned char *id = v.p;

	if (v.size < sizeof(Elf64_Ehdr) || memcmp(id, ELFMAG, SELFMAG) != 0)
		return nb_fail(err, NB_E_ELF, 0,
			       "not an ELF file: "
			       "%zu bytes that do not begin with its signature and header",
			       v.size);
	if (v.size > NB_ELF_MAX_SIZE)
		return nb_fail(err, NB_E_LIMIT, 0, "object of %zu bytes; at most %d", v.size,
			       NB_ELF_MAX_SIZE);
	if (id[EI_CLASS] != ELFCLASS64)
		return nb_fail(err, NB_E_ELF, EI_CLASS,
			       "ELF class %u; a BPF object is of class 2 (64 bits)", id[EI_CLASS]);
	if (id[EI_DATA] != ELFDATA2LSB)
		return nb_fail(err, NB_E_ELF, EI_DATA,
			       "the object is %s, but only little-endian objects are read "
			       "(clang -target bpf or bpfel)",
			       id[EI_DATA] == ELFDATA2MSB ? "big-endian" : "of unknown byte order");
	return 0;
}

static int elf_check_header(struct nb_view v, Elf64_Ehdr *h, struct nb_err *err)
{
	int rc = check_ident(v, err);

	if (rc)
		return rc;
	nb_view_get(v, 0, h, sizeof(*h));
	if (h->e_machine != EM_BPF)
		return nb_fail(err, NB_E_ELF, offsetof(Elf64_Ehdr, e_machine),
			       "ELF machine %u; "
			       "a BPF object is of machine %d (compile with clang -target bpf)",
			       h->e_machine, EM_BPF);
	if (h->e_type != ET_REL)
		return nb_fail(err, NB_E_ELF, offsetof(Elf64_Ehdr, e_type),
			       "ELF type %u; an object file is of type %d (relocatable)", h->e_type,
			       ET_REL);
	if (h->e_ident[EI_VERSION] != EV_CURRENT || h->e_version != EV_CURRENT ||
	    h->e_ehsize != sizeof(*h) || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_phnum ||
	    h->e_phoff)
		return nb_fail(
			err, NB_E_ELF, 0,
			"ELF header: "
			"version, header sizes or program headers differ from an object file's");
	return 0;
}

/* Check that offset and size are inside the file, and that BPF objects have
 * sections of this type. */
static int elf_check_section(const struct nb_elf *e, uint32_t i, const Elf64_Shdr *h,
			     struct nb_err *err)
{
	unsigned long long off = h->sh_offset, size = h->sh_size;
	uint64_t align = h->sh_addralign;
	uint32_t at = e->shoff + i * NB_ELF_SHDR;

	if (h->sh_type != SHT_NOBITS && !nb_view_has(e->all, off, size))
		return nb_fail(
			err, NB_E_ELF, at,
			"section %u: %llu bytes at %llu are not inside the %zu bytes of the file",
			i, size, off, e->all.size);
	if (off > NB_ELF_MAX_SIZE || size > NB_ELF_MAX_SIZE)
		return nb_fail(err, NB_E_LIMIT, at, "section %u: %llu bytes at %llu; at most %d", i,
			       size, off, NB_ELF_MAX_SIZE);
	if (align > 4096 || (align & (align - 1)) ||
	    (align && h->sh_type != SHT_NOBITS && off % align))
		return nb_fail(err, NB_E_ELF, at,
			       "section %u: offset %llu, alignment %llu; the alignment "
			       "must be a power of two up to 4096 that divides the offset",
			       i, off, (unsigned long long)align);
	if (h->sh_flags & SHF_COMPRESSED || h->sh_type == SHT_RELA ||
	    h->sh_type == SHT_SYMTAB_SHNDX || h->sh_type == SHT_DYNSYM || h->sh_type == SHT_DYNAMIC)
		return nb_fail(
			err, NB_E_ELF, at,
			"section %u: type %u with flags 0x%llx does not occur in BPF objects", i,
			h->sh_type, (unsigned long long)h->sh_flags);
	return 0;
}

static int elf_read_sections(struct nb_elf *e, const Elf64_Ehdr *eh, struct nb_arena *a,
			     struct nb_err *err)
{
	uint32_t n = eh->e_shnum;

	if (n < 2 || n > NB_ELF_MAX_SECTIONS)
		return nb_fail(err, NB_E_ELF, offsetof(Elf64_Ehdr, e_shnum),
			       "%u sections; 2 to %d are read", n, NB_ELF_MAX_SECTIONS);
	if (eh->e_shoff % 8 || !nb_view_has(e->all, eh->e_shoff, (uint64_t)n * NB_ELF_SHDR))
		return nb_fail(
			err, NB_E_ELF, offsetof(Elf64_Ehdr, e_shoff),
			"%u section headers at %llu are not inside the %zu bytes of the file, "
			"or not at a multiple of 8",
			n, (unsigned long long)eh->e_shoff, e->all.size);
	e->sec = nb_arena_array(a, n, sizeof(*e->sec));
	if (!e->sec)
		return nb_fail(err, NB_E_NOMEM, 0, "object: out of memory");
	e->shoff = (uint32_t)eh->e_shoff;
	e->nsec = n;
	for (uint32_t i = 1; i < n; i++) {
		struct nb_elf_section *s = &e->sec[i];
		Elf64_Shdr h = { 0 };
		int rc;

		nb_view_get(e->all, e->shoff + i * NB_ELF_SHDR, &h, sizeof(h));
		rc = elf_check_section(e, i, &h, err);
		if (rc)
			return rc;
		*s = (struct nb_elf_section){
			.name_off = h.sh_name,
			.type = h.sh_type,
			.link = h.sh_link,
			.info = h.sh_info,
			.flags = h.sh_flags,
			.size = h.sh_size,
			.entsize = h.sh_entsize,
			.off = (uint32_t)h.sh_offset,
		};
		if (s->type != SHT_NOBITS)
			s->data = nb_view_sub(e->all, s->off, s->size);
	}
	return 0;
}

static int check_strings(const struct nb_elf *e, uint32_t i, const char *whose, struct nb_err *err)
{
	const struct nb_elf_section *s = i < e->nsec ? &e->sec[i] : NULL;

	if (s && s->type == SHT_STRTAB && s->data.size && !s->data.p[0] &&
	    !s->data.p[s->data.size - 1])
		return 0;
	return nb_fail(err, NB_E_ELF, s ? s->off : 0,
		       "section %u is no valid string table for %s: "
		       "the section must be of type %d, begin and end with a zero byte",
		       i, whose, SHT_STRTAB);
}

static int read_names(struct nb_elf *e, uint32_t i, struct nb_err *err)
{
	int rc = check_strings(e, i, "section names", err);
	struct nb_view names;

	if (rc)
		return rc;
	names = e->sec[i].data;
	e->sec[0].name = "";
	for (i = 1; i < e->nsec; i++) {
		e->sec[i].name = nb_view_str(names, e->sec[i].name_off, NB_ELF_MAX_NAME);
		if (!e->sec[i].name)
			return nb_fail(
				err, NB_E_ELF, e->shoff + i * NB_ELF_SHDR,
				"section %u: the name at %u is not inside the %zu bytes of names, "
				"or has over %d",
				i, e->sec[i].name_off, names.size, NB_ELF_MAX_NAME);
	}
	return 0;
}

static Elf64_Sym raw_symbol(const struct nb_elf *e, uint32_t i)
{
	Elf64_Sym sym = { 0 };

	nb_view_get(e->sec[e->symtab].data, (uint64_t)i * NB_ELF_SYM, &sym, sizeof(sym));
	return sym;
}

static int check_symbol(const struct nb_elf *e, uint32_t i, struct nb_err *err)
{
	const struct nb_elf_section *t = &e->sec[e->symtab], *s;
	uint32_t at = t->off + i * NB_ELF_SYM;
	Elf64_Sym sym = raw_symbol(e, i);

	if (!nb_view_str(e->sec[t->link].data, sym.st_name, NB_ELF_MAX_NAME))
		return nb_fail(err, NB_E_ELF, at,
			       "symbol %u: the name at %u is not inside the %llu bytes of names, "
			       "or has over %d",
			       i, sym.st_name, (unsigned long long)e->sec[t->link].size,
			       NB_ELF_MAX_NAME);
	if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS)
		return 0;
	if (sym.st_shndx >= e->nsec)
		return nb_fail(err, NB_E_ELF, at,
			       "symbol %u is in section %u; the object has %u sections", i,
			       sym.st_shndx, e->nsec);
	s = &e->sec[sym.st_shndx];
	if (sym.st_value > s->size || sym.st_size > s->size - sym.st_value)
		return nb_fail(err, NB_E_ELF, at,
			       "symbol %u: %llu bytes at %llu of section %s, which has %llu", i,
			       (unsigned long long)sym.st_size, (unsigned long long)sym.st_value,
			       s->name, (unsigned long long)s->size);
	return 0;
}

static int read_symbols(struct nb_elf *e, struct nb_err *err)
{
	const struct nb_elf_section *t;
	int rc;

	for (uint32_t i = 1; i < e->nsec; i++) {
		if (e->sec[i].type != SHT_SYMTAB)
			continue;
		if (e->symtab)
			return nb_fail(err, NB_E_ELF, e->sec[i].off,
				       "sections %u and %u are both symbol tables; one is allowed",
				       e->symtab, i);
		e->symtab = i;
	}
	if (!e->symtab)
		return nb_fail(err, NB_E_ELF, 0, "no symbol table; was the object stripped?");
	t = &e->sec[e->symtab];
	rc = check_strings(e, t->link, "symbol names", err);
	if (rc)
		return rc;
	if (t->size % NB_ELF_SYM || !t->size || t->entsize != NB_ELF_SYM)
		return nb_fail(
			err, NB_E_ELF, t->off,
			"the symbol table has %llu bytes, but must consist of entries of %d bytes",
			(unsigned long long)t->size, NB_ELF_SYM);
	e->nsym = (uint32_t)(t->size / NB_ELF_SYM);
	if (e->nsym > NB_ELF_MAX_SYMBOLS)
		return nb_fail(err, NB_E_LIMIT, t->off, "%u symbols; at most %d", e->nsym,
			       NB_ELF_MAX_SYMBOLS);
	for (uint32_t i = 0; i < e->nsym; i++) {
		rc = check_symbol(e, i, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int check_relocs(const struct nb_elf *e, uint32_t sec, struct nb_err *err)
{
	const struct nb_elf_section *s = &e->sec[sec];

	if (s->link != e->symtab || !s->info || s->info >= e->nsec || s->size % NB_ELF_REL ||
	    s->entsize != NB_ELF_REL)
		return nb_fail(err, NB_E_ELF, s->off,
			       "relocations %s: "
			       "size %llu, target section %u or symbol table "
			       "section %u is wrong for this object",
			       s->name, (unsigned long long)s->size, s->info, s->link);
	for (uint32_t i = 0; i < nb_elf_nrel(s); i++) {
		struct nb_elf_rel r = nb_elf_rel(s, i);

		if (r.sym >= e->nsym || !nb_view_has(e->sec[s->info].data, r.off, 4))
			return nb_fail(err, NB_E_ELF, s->off + i * NB_ELF_REL,
				       "relocation %u of section %s: "
				       "symbol %u (of %u) at offset %llu (of %zu bytes)",
				       i, e->sec[s->info].name, r.sym, e->nsym,
				       (unsigned long long)r.off, e->sec[s->info].data.size);
	}
	return 0;
}

/* Check that no two sections which are looked up by name have the same name. */
static int check_unique(const struct nb_elf *e, struct nb_err *err)
{
	for (uint32_t i = 1; i < e->nsec; i++) {
		uint32_t first = nb_elf_find(e, e->sec[i].name);

		if (first == i || !*e->sec[i].name ||
		    (e->sec[i].type != SHT_PROGBITS && e->sec[i].type != SHT_NOBITS) ||
		    !strncmp(e->sec[i].name, ".debug_", 7))
			continue;
		return nb_fail(err, NB_E_ELF, e->sec[i].off, "sections %u and %u are both named %s",
			       first, i, e->sec[i].name);
	}
	return 0;
}

int nb_elf_open(struct nb_elf *e, struct nb_arena *a, const void *bytes, size_t size,
		struct nb_err *err)
{
	Elf64_Ehdr h = { 0 };
	int rc;

	*e = (struct nb_elf){ .all = nb_view(bytes, size) };
	rc = elf_check_header(e->all, &h, err);
	if (!rc)
		rc = elf_read_sections(e, &h, a, err);
	if (!rc)
		rc = read_names(e, h.e_shstrndx, err);
	if (!rc)
		rc = read_symbols(e, err);
	for (uint32_t i = 1; !rc && i < e->nsec; i++)
		if (e->sec[i].type == SHT_REL)
			rc = check_relocs(e, i, err);
	return rc ? rc : check_unique(e, err);
}

uint32_t nb_elf_find(const struct nb_elf *e, const char *name)
{
	for (uint32_t i = 1; i < e->nsec; i++)
		if (!strcmp(e->sec[i].name, name))
			return i;
	return 0;
}

struct nb_elf_sym nb_elf_sym(const struct nb_elf *e, uint32_t i)
{
	Elf64_Sym sym = raw_symbol(e, i);
	struct nb_view names = e->sec[e->sec[e->symtab].link].data;

	return (struct nb_elf_sym){
		.name = nb_view_str(names, sym.st_name, NB_ELF_MAX_NAME),
		.type = ELF64_ST_TYPE(sym.st_info),
		.bind = ELF64_ST_BIND(sym.st_info),
		.sec = sym.st_shndx,
		.value = sym.st_value,
		.size = sym.st_size,
	};
}

uint32_t nb_elf_nrel(const struct nb_elf_section *s)
{
	return (uint32_t)(s->data.size / NB_ELF_REL);
}

struct nb_elf_rel nb_elf_rel(const struct nb_elf_section *s, uint32_t i)
{
	Elf64_Rel r = { 0 };

	nb_view_get(s->data, (uint64_t)i * NB_ELF_REL, &r, sizeof(r));
	return (struct nb_elf_rel){ r.r_offset, (uint32_t)ELF64_R_TYPE(r.r_info),
				    (uint32_t)ELF64_R_SYM(r.r_info) };
}

bool nb_elf_is_code(const struct nb_elf_section *s)
{
	return s->type == SHT_PROGBITS && s->flags & SHF_EXECINSTR;
}
