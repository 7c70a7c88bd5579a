// SPDX-License-Identifier: MIT
#ifndef NB_LOAD_ELF_H
#define NB_LOAD_ELF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/view.h"

/* A BPF object as checked views into its bytes. Numbers such as section
 * types are those of <elf.h>. */
enum {
	NB_ELF_MAX_SIZE = 16 << 20,
	NB_ELF_MAX_SECTIONS = 1024,
	NB_ELF_MAX_SYMBOLS = 1 << 16,
	/* Largest number of bytes of a name; this bounds the time of
	   comparisons. */
	NB_ELF_MAX_NAME = 255,
	NB_ELF_SHDR = 64,
	NB_ELF_SYM = 24,
	NB_ELF_REL = 16
};

/* Types of relocations in the BPF psABI, which Debian 12's elf.h lacks.
 * Compilers before the psABI also wrote 1 for pointers in data. */
enum { NB_REL_64_64 = 1, NB_REL_64_32 = 10 };

struct nb_elf_section {
	const char *name;
	uint32_t name_off, type, link, info;
	uint64_t entsize, flags, size; /* Bytes in memory: .bss has no data. */
	/* Offset of the section's data in the file. */
	uint32_t off;
	struct nb_view data;
};

struct nb_elf {
	struct nb_view all;
	uint32_t shoff; /* Offset of the section headers in the file. */
	struct nb_elf_section *sec;
	uint32_t nsec;
	uint32_t symtab; /* Section of the symbol table. */
	uint32_t nsym;
};

struct nb_elf_sym {
	const char *name;
	uint8_t type, bind;
	uint16_t sec; /* Section number below nsec, or SHN_UNDEF or SHN_ABS. */
	uint64_t value, size;
};

struct nb_elf_rel {
	uint64_t off;
	uint32_t type, sym; /* Relocation type, and symbol number below nsym. */
};

/*
 * nb_elf_open - check an object's structure and describe it
 * @bytes: borrowed for the life of @e
 * @a:     owns e->sec
 *
 * Everything that the header, section headers, string tables, symbol tables
 * and relocations refer to exists and is inside the file. Names and counts are
 * limited, so that a look-up of each among all of them ends soon. Returns 0,
 * NB_E_ELF, NB_E_LIMIT or NB_E_NOMEM; err->at is the file offset.
 */
int nb_elf_open(struct nb_elf *e, struct nb_arena *a, const void *bytes, size_t size,
		struct nb_err *err);

/* Return the first section named @name; 0 if there is none. */
uint32_t nb_elf_find(const struct nb_elf *e, const char *name);

/* Return symbol @i; @i must be below e->nsym. */
struct nb_elf_sym nb_elf_sym(const struct nb_elf *e, uint32_t i);

/* Entries of a section of type SHT_REL: nb_elf_rel returns entry @i, below
 * nb_elf_nrel. */
uint32_t nb_elf_nrel(const struct nb_elf_section *s);
struct nb_elf_rel nb_elf_rel(const struct nb_elf_section *s, uint32_t i);

/* Does the section hold instructions? */
bool nb_elf_is_code(const struct nb_elf_section *s);

#endif
