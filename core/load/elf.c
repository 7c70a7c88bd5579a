// SPDX-License-Identifier: MIT
// The ELF side of the structural check. An object is opened only if every
// offset, size, index and name in it holds, so that later readers (ours, and
// libelf inside libbpf) meet no surprise. Stricter than elf(5) where no BPF
// compiler needs the freedom: one symbol table, no compression, REL only.
#include "core/load/elf.h"

#include <elf.h>
#include <string.h>

static uint16_t get16(struct nb_view v, uint64_t off)
{
	uint16_t x = 0;

	nb_view_u16(v, off, &x);
	return x;
}

static uint32_t get32(struct nb_view v, uint64_t off)
{
	uint32_t x = 0;

	nb_view_u32(v, off, &x);
	return x;
}

static uint64_t get64(struct nb_view v, uint64_t off)
{
	uint64_t x = 0;

	nb_view_u64(v, off, &x);
	return x;
}

static int check_ident(struct nb_view v, struct nb_err *err)
{
	const unsigned char *id = v.p;

	if (v.size < sizeof(Elf64_Ehdr) || memcmp(id, ELFMAG, SELFMAG) != 0)
		return nb_fail(err, NB_E_ELF, 0,
			       "not an ELF file: %zu bytes that do not begin "
			       "with its signature and header",
			       v.size);
	if (v.size > NB_ELF_MAX_SIZE)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "object of %zu bytes; at most %d", v.size,
			       NB_ELF_MAX_SIZE);
	if (id[EI_CLASS] != ELFCLASS64)
		return nb_fail(err, NB_E_ELF, EI_CLASS,
			       "ELF class %u; a BPF object is of class 2 (64 "
			       "bits)",
			       id[EI_CLASS]);
	if (id[EI_DATA] != ELFDATA2LSB)
		return nb_fail(err, NB_E_ELF, EI_DATA,
			       "%s object; little-endian ones are read "
			       "(clang -target bpf or bpfel)",
			       id[EI_DATA] == ELFDATA2MSB ? "big-endian"
							  : "an endless");
	return 0;
}

static int check_header(struct nb_view v, struct nb_err *err)
{
	int rc = check_ident(v, err);
	uint16_t machine = get16(v, offsetof(Elf64_Ehdr, e_machine));
	uint16_t type = get16(v, offsetof(Elf64_Ehdr, e_type));

	if (rc)
		return rc;
	if (machine != EM_BPF)
		return nb_fail(err, NB_E_ELF, offsetof(Elf64_Ehdr, e_machine),
			       "ELF machine %u; a BPF object is of machine %d "
			       "(compile with clang -target bpf)",
			       machine, EM_BPF);
	if (type != ET_REL)
		return nb_fail(err, NB_E_ELF, offsetof(Elf64_Ehdr, e_type),
			       "ELF type %u; an object file is of type %d "
			       "(relocatable)",
			       type, ET_REL);
	if (v.p[EI_VERSION] != EV_CURRENT ||
	    get32(v, offsetof(Elf64_Ehdr, e_version)) != EV_CURRENT ||
	    get16(v, offsetof(Elf64_Ehdr, e_ehsize)) != sizeof(Elf64_Ehdr) ||
	    get16(v, offsetof(Elf64_Ehdr, e_shentsize)) != NB_ELF_SHDR ||
	    get16(v, offsetof(Elf64_Ehdr, e_phnum)) ||
	    get64(v, offsetof(Elf64_Ehdr, e_phoff)))
		return nb_fail(err, NB_E_ELF, 0,
			       "ELF header: version, header sizes or program "
			       "headers are not those of an object file");
	return 0;
}

/* Offset and size inside the file, and the form of the rest. */
static int check_section(const struct nb_elf *e, uint32_t i, uint32_t at,
			 struct nb_err *err)
{
	uint32_t type = get32(e->all, at + offsetof(Elf64_Shdr, sh_type));
	uint64_t flags = get64(e->all, at + offsetof(Elf64_Shdr, sh_flags));
	uint64_t off = get64(e->all, at + offsetof(Elf64_Shdr, sh_offset));
	uint64_t size = get64(e->all, at + offsetof(Elf64_Shdr, sh_size));
	uint64_t align = get64(e->all, at + offsetof(Elf64_Shdr, sh_addralign));

	if (type != SHT_NOBITS && !nb_view_has(e->all, off, size))
		return nb_fail(err, NB_E_ELF, at,
			       "section %u: %llu bytes at %llu are not inside "
			       "the %zu bytes of the file",
			       i, (unsigned long long)size,
			       (unsigned long long)off, e->all.size);
	if (off > NB_ELF_MAX_SIZE || size > NB_ELF_MAX_SIZE)
		return nb_fail(err, NB_E_LIMIT, at,
			       "section %u: %llu bytes at %llu; at most %d", i,
			       (unsigned long long)size,
			       (unsigned long long)off, NB_ELF_MAX_SIZE);
	if (align > 4096 || (align & (align - 1)) ||
	    (align && type != SHT_NOBITS && off % align))
		return nb_fail(err, NB_E_ELF, at,
			       "section %u: offset %llu with alignment %llu; a "
			       "power of two up to 4096 that divides it is "
			       "allowed",
			       i, (unsigned long long)off,
			       (unsigned long long)align);
	if (flags & SHF_COMPRESSED || type == SHT_RELA ||
	    type == SHT_SYMTAB_SHNDX || type == SHT_DYNSYM ||
	    type == SHT_DYNAMIC)
		return nb_fail(err, NB_E_ELF, at,
			       "section %u: type %u with flags 0x%llx does not "
			       "occur in BPF objects",
			       i, type, (unsigned long long)flags);
	return 0;
}

static int read_sections(struct nb_elf *e, struct nb_arena *a,
			 struct nb_err *err)
{
	uint64_t shoff = get64(e->all, offsetof(Elf64_Ehdr, e_shoff));
	uint32_t n = get16(e->all, offsetof(Elf64_Ehdr, e_shnum));

	if (n < 2 || n > NB_ELF_MAX_SECTIONS)
		return nb_fail(err, NB_E_ELF, offsetof(Elf64_Ehdr, e_shnum),
			       "%u sections; 2 to %d are read", n,
			       NB_ELF_MAX_SECTIONS);
	if (shoff % 8 || !nb_view_has(e->all, shoff, (uint64_t)n * NB_ELF_SHDR))
		return nb_fail(err, NB_E_ELF, offsetof(Elf64_Ehdr, e_shoff),
			       "%u section headers at %llu are not inside the "
			       "%zu bytes of the file, or not at a multiple of "
			       "8",
			       n, (unsigned long long)shoff, e->all.size);
	e->sec = nb_arena_array(a, n, sizeof(*e->sec));
	if (!e->sec)
		return nb_fail(err, NB_E_NOMEM, 0, "object: out of memory");
	e->shoff = (uint32_t)shoff;
	e->nsec = n;
	for (uint32_t i = 1; i < n; i++) {
		struct nb_elf_section *s = &e->sec[i];
		uint32_t at = e->shoff + i * NB_ELF_SHDR;
		int rc = check_section(e, i, at, err);

		if (rc)
			return rc;
		s->type = get32(e->all, at + offsetof(Elf64_Shdr, sh_type));
		s->flags = get64(e->all, at + offsetof(Elf64_Shdr, sh_flags));
		s->off = (uint32_t)get64(e->all,
					 at + offsetof(Elf64_Shdr, sh_offset));
		s->size = get64(e->all, at + offsetof(Elf64_Shdr, sh_size));
		s->link = get32(e->all, at + offsetof(Elf64_Shdr, sh_link));
		s->info = get32(e->all, at + offsetof(Elf64_Shdr, sh_info));
		if (s->type != SHT_NOBITS)
			s->data = nb_view_sub(e->all, s->off, s->size);
	}
	return 0;
}

static int check_strings(const struct nb_elf *e, uint32_t i, const char *whose,
			 struct nb_err *err)
{
	const struct nb_elf_section *s = i < e->nsec ? &e->sec[i] : NULL;

	if (s && s->type == SHT_STRTAB && s->data.size && !s->data.p[0] &&
	    !s->data.p[s->data.size - 1])
		return 0;
	return nb_fail(err, NB_E_ELF, s ? s->off : 0,
		       "section %u, the string table of %s, is none: it must "
		       "be of type %d, begin and end with a zero byte",
		       i, whose, SHT_STRTAB);
}

/* The name at @off of a string table; NULL when cut off or too long. */
static const char *name_at(struct nb_view strings, uint64_t off)
{
	uint64_t most = off < strings.size ? strings.size - off : 0;

	if (most > NB_ELF_MAX_NAME + 1)
		most = NB_ELF_MAX_NAME + 1;
	return nb_view_str(nb_view_sub(strings, off, most), 0);
}

static int read_names(struct nb_elf *e, struct nb_err *err)
{
	uint32_t i = get16(e->all, offsetof(Elf64_Ehdr, e_shstrndx));
	int rc = check_strings(e, i, "section names", err);
	struct nb_view names;

	if (rc)
		return rc;
	names = e->sec[i].data;
	e->sec[0].name = "";
	for (i = 1; i < e->nsec; i++) {
		uint32_t at = e->shoff + i * NB_ELF_SHDR;
		uint32_t off = get32(e->all, at);

		e->sec[i].name = name_at(names, off);
		if (!e->sec[i].name)
			return nb_fail(err, NB_E_ELF, at,
				       "section %u: its name at %u is not "
				       "inside the %zu bytes of names, or has "
				       "over %d",
				       i, off, names.size, NB_ELF_MAX_NAME);
	}
	return 0;
}

static int check_symbol(const struct nb_elf *e, uint32_t i, struct nb_err *err)
{
	const struct nb_elf_section *t = &e->sec[e->symtab];
	uint32_t at = i * NB_ELF_SYM, name = get32(t->data, at);
	uint16_t sec = get16(t->data, at + offsetof(Elf64_Sym, st_shndx));
	uint64_t value = get64(t->data, at + offsetof(Elf64_Sym, st_value));
	uint64_t size = get64(t->data, at + offsetof(Elf64_Sym, st_size));

	if (!name_at(e->sec[t->link].data, name))
		return nb_fail(err, NB_E_ELF, t->off + at,
			       "symbol %u: its name at %u is not inside the "
			       "%llu bytes of names, or has over %d",
			       i, name,
			       (unsigned long long)e->sec[t->link].size,
			       NB_ELF_MAX_NAME);
	if (sec == SHN_UNDEF || sec == SHN_ABS)
		return 0;
	if (sec >= e->nsec)
		return nb_fail(err, NB_E_ELF, t->off + at,
			       "symbol %u: section %u of %u", i, sec, e->nsec);
	if (value > e->sec[sec].size || size > e->sec[sec].size - value)
		return nb_fail(err, NB_E_ELF, t->off + at,
			       "symbol %u: %llu bytes at %llu of section %s, "
			       "which has %llu",
			       i, (unsigned long long)size,
			       (unsigned long long)value, e->sec[sec].name,
			       (unsigned long long)e->sec[sec].size);
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
				       "sections %u and %u are both symbol "
				       "tables; one is allowed",
				       e->symtab, i);
		e->symtab = i;
	}
	if (!e->symtab)
		return nb_fail(err, NB_E_ELF, 0,
			       "no symbol table; was the object stripped?");
	t = &e->sec[e->symtab];
	rc = check_strings(e, t->link, "symbol names", err);
	if (rc)
		return rc;
	if (t->size % NB_ELF_SYM || !t->size ||
	    get64(e->all, e->shoff + e->symtab * NB_ELF_SHDR +
				  offsetof(Elf64_Shdr, sh_entsize)) !=
		    NB_ELF_SYM)
		return nb_fail(err, NB_E_ELF, t->off,
			       "symbol table of %llu bytes; entries of %d "
			       "bytes are expected",
			       (unsigned long long)t->size, NB_ELF_SYM);
	e->nsym = (uint32_t)(t->size / NB_ELF_SYM);
	if (e->nsym > NB_ELF_MAX_SYMBOLS)
		return nb_fail(err, NB_E_LIMIT, t->off,
			       "%u symbols; at most %d", e->nsym,
			       NB_ELF_MAX_SYMBOLS);
	for (uint32_t i = 0; i < e->nsym; i++) {
		rc = check_symbol(e, i, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int check_relocs(const struct nb_elf *e, uint32_t sec,
			struct nb_err *err)
{
	const struct nb_elf_section *s = &e->sec[sec];

	if (s->link != e->symtab || !s->info || s->info >= e->nsec ||
	    s->size % NB_ELF_REL ||
	    get64(e->all, e->shoff + sec * NB_ELF_SHDR +
				  offsetof(Elf64_Shdr, sh_entsize)) !=
		    NB_ELF_REL)
		return nb_fail(err, NB_E_ELF, s->off,
			       "relocations %s: %llu bytes for section %u with "
			       "the symbols of section %u do not fit this "
			       "object",
			       s->name, (unsigned long long)s->size, s->info,
			       s->link);
	for (uint32_t i = 0; i < nb_elf_nrel(s); i++) {
		struct nb_elf_rel r = nb_elf_rel(s, i);

		if (r.sym >= e->nsym ||
		    !nb_view_has(e->sec[s->info].data, r.off, 4))
			return nb_fail(err, NB_E_ELF, s->off + i * NB_ELF_REL,
				       "relocation %u of section %s: symbol %u "
				       "of %u at %llu of %zu bytes",
				       i, e->sec[s->info].name, r.sym, e->nsym,
				       (unsigned long long)r.off,
				       e->sec[s->info].data.size);
	}
	return 0;
}

/* Sections that are looked up by name must be the only ones of it. */
static int check_unique(const struct nb_elf *e, struct nb_err *err)
{
	for (uint32_t i = 1; i < e->nsec; i++) {
		uint32_t first = nb_elf_find(e, e->sec[i].name);

		if (first == i || !*e->sec[i].name ||
		    (e->sec[i].type != SHT_PROGBITS &&
		     e->sec[i].type != SHT_NOBITS) ||
		    !strncmp(e->sec[i].name, ".debug_", 7))
			continue;
		return nb_fail(err, NB_E_ELF, e->sec[i].off,
			       "sections %u and %u are both named %s", first, i,
			       e->sec[i].name);
	}
	return 0;
}

int nb_elf_open(struct nb_elf *e, struct nb_arena *a, const void *bytes,
		size_t size, struct nb_err *err)
{
	int rc;

	*e = (struct nb_elf){ .all = nb_view(bytes, size) };
	rc = check_header(e->all, err);
	if (!rc)
		rc = read_sections(e, a, err);
	if (!rc)
		rc = read_names(e, err);
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
	const struct nb_elf_section *t = &e->sec[e->symtab];
	uint64_t at = (uint64_t)i * NB_ELF_SYM;
	uint8_t info = 0;

	nb_view_get(t->data, at + offsetof(Elf64_Sym, st_info), &info, 1);
	return (struct nb_elf_sym){
		.name = nb_view_str(e->sec[t->link].data, get32(t->data, at)),
		.type = ELF64_ST_TYPE(info),
		.bind = ELF64_ST_BIND(info),
		.sec = get16(t->data, at + offsetof(Elf64_Sym, st_shndx)),
		.value = get64(t->data, at + offsetof(Elf64_Sym, st_value)),
		.size = get64(t->data, at + offsetof(Elf64_Sym, st_size)),
	};
}

uint32_t nb_elf_nrel(const struct nb_elf_section *s)
{
	return (uint32_t)(s->data.size / NB_ELF_REL);
}

struct nb_elf_rel nb_elf_rel(const struct nb_elf_section *s, uint32_t i)
{
	uint64_t at = (uint64_t)i * NB_ELF_REL;
	uint64_t info = get64(s->data, at + offsetof(Elf64_Rel, r_info));

	return (struct nb_elf_rel){ get64(s->data, at),
				    (uint32_t)ELF64_R_TYPE(info),
				    (uint32_t)ELF64_R_SYM(info) };
}

bool nb_elf_is_code(const struct nb_elf_section *s)
{
	return s->type == SHT_PROGBITS && s->flags & SHF_EXECINSTR;
}
