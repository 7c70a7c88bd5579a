// SPDX-License-Identifier: MIT
/*
 * Write an object file for debuggers that describes a program's machine
 * code: its address, its functions, its source lines (DWARF 4) and how to
 * unwind its frames. The file does not contain the code: .text only says
 * where it is. Formats: the ELF specification, DWARF 4, and the Linux
 * Standard Base for .eh_frame.
 */
#include "core/exec/jit/symbols_elf.h"

#include <elf.h>
#include <string.h>

#include "core/exec/jit/jit.h"

enum {
	S_NULL,
	S_TEXT,
	S_SYMTAB,
	S_STRTAB,
	S_SHSTRTAB,
	S_FRAME,
	S_INFO,
	S_ABBREV,
	S_LINE,
	NSECTIONS
};

static const char *const section_name[NSECTIONS] = {
	"",	     ".text",	    ".symtab",	     ".strtab",	   ".shstrtab",
	".eh_frame", ".debug_info", ".debug_abbrev", ".debug_line"
};

enum { MAX_FILES = 64 };

/* The program to describe, and the sections written so far. */
struct subject {
	const struct nb_jit *j;
	const struct nb_image *img;
	const struct nb_prog *p;
	uint32_t prog;
	struct nb_buf sec[NSECTIONS];
	const char *file[MAX_FILES];
	uint32_t nfiles;
};

static void u8(struct nb_buf *b, unsigned v)
{
	nb_buf_char(b, (char)v);
}

static void u16(struct nb_buf *b, uint16_t v)
{
	nb_buf_bytes(b, &v, sizeof(v));
}

static void u32(struct nb_buf *b, uint32_t v)
{
	nb_buf_bytes(b, &v, sizeof(v));
}

static void u64(struct nb_buf *b, uint64_t v)
{
	nb_buf_bytes(b, &v, sizeof(v));
}

static void uleb(struct nb_buf *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		u8(b, (v & 0x7f) | 0x80);
	u8(b, (unsigned)v);
}

static void sleb(struct nb_buf *b, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		u8(b, ((unsigned)v & 0x7f) | 0x80);
	u8(b, (unsigned)v & 0x7f);
}

static void string(struct nb_buf *b, const char *s)
{
	nb_buf_bytes(b, s, strlen(s) + 1);
}

/* Reserve a 32-bit length, which is known only at the end of the data that
 * it counts. */
static size_t length_begin(struct nb_buf *b)
{
	u32(b, 0);
	return b->size;
}

static void length_end(struct nb_buf *b, size_t from)
{
	uint32_t n = (uint32_t)(b->size - from);

	if (nb_buf_ok(b))
		memcpy(b->data + from - 4, &n, sizeof(n));
}

struct nb_extent nb_extent_of(const struct nb_jit *j, const struct nb_prog *p,
			      uint32_t f)
{
	return (struct nb_extent){ f ? j->off[p->funcs[f].start] : 0,
				   f + 1 < p->nfuncs ? j->off[p->funcs[f].end]
						     : (uint32_t)j->size };
}

void nb_extent_name(struct nb_buf *b, const struct nb_image *img, uint32_t prog,
		    uint32_t f)
{
	const struct nb_prog *p = &img->progs[prog];

	nb_buf_printf(b, "%s/%s", img->name, p->name);
	if (f)
		nb_buf_printf(b, "/%s", p->funcs[f].name);
}

static void symbols(struct subject *s)
{
	struct nb_buf *tab = &s->sec[S_SYMTAB], *str = &s->sec[S_STRTAB];

	nb_buf_zeros(tab, sizeof(Elf64_Sym));
	u8(str, 0);
	for (uint32_t f = 0; f < s->p->nfuncs; f++) {
		struct nb_extent e = nb_extent_of(s->j, s->p, f);
		Elf64_Sym sym = { .st_name = (uint32_t)str->size,
				  .st_info =
					  ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				  .st_shndx = S_TEXT,
				  .st_value = e.start,
				  .st_size = e.end - e.start };

		nb_buf_bytes(tab, &sym, sizeof(sym));
		nb_extent_name(str, s->img, s->prog, f);
		u8(str, 0);
	}
}

enum {
	DW_TAG_compile_unit = 0x11,
	DW_AT_name = 0x03,
	DW_AT_stmt_list = 0x10,
	DW_AT_low_pc = 0x11,
	DW_AT_high_pc = 0x12,
	DW_AT_language = 0x13,
	DW_FORM_addr = 0x01,
	DW_FORM_data2 = 0x05,
	DW_FORM_data8 = 0x07,
	DW_FORM_string = 0x08,
	DW_FORM_sec_offset = 0x17,
	DW_LANG_C99 = 0x0c,
	DW_LNS_copy = 1,
	DW_LNS_advance_pc = 2,
	DW_LNS_advance_line = 3,
	DW_LNS_set_file = 4,
	DW_LNE_end_sequence = 1,
	DW_LNE_set_address = 2
};

static void abbreviations(struct nb_buf *b)
{
	static const unsigned char unit[] = {
		1, DW_TAG_compile_unit,
		/* This entry has no children. */
		0, DW_AT_name, DW_FORM_string, DW_AT_language, DW_FORM_data2,
		DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8,
		DW_AT_stmt_list, DW_FORM_sec_offset, 0, 0, 0
	};

	nb_buf_bytes(b, unit, sizeof(unit));
}

static void info(struct subject *s)
{
	struct nb_buf *b = &s->sec[S_INFO];
	size_t from = length_begin(b);

	u16(b, 4); /* The version of DWARF */
	u32(b, 0); /* Offset of this unit's abbreviations. */
	u8(b, 8);  /* Size of an address in bytes */
	uleb(b, 1);
	string(b, s->p->nlines ? s->p->lines[0].file : s->img->name);
	u16(b, DW_LANG_C99);
	u64(b, (uintptr_t)s->j->code);
	u64(b, s->j->size);
	u32(b, 0); /* Offset of this unit's line table. */
	length_end(b, from);
}

/* Return the number of a line's file, from 1, and add a new file to the
 * list. If the list is full, all other files get the last number. */
static uint32_t file_number(struct subject *s, const struct nb_line *l)
{
	for (uint32_t i = 0; i < s->nfiles; i++)
		if (!strcmp(s->file[i], l->file))
			return i + 1;
	if (s->nfiles < MAX_FILES)
		s->file[s->nfiles++] = l->file;
	return s->nfiles;
}

static void line_header(struct subject *s)
{
	/* Number of operands of the standard opcodes 1 to 9. */
	static const unsigned char operands[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1 };
	struct nb_buf *b = &s->sec[S_LINE];
	size_t from;

	u16(b, 4); /* The version of DWARF */
	from = length_begin(b);
	u8(b, 1); /* Bytes of the shortest instruction. */
	u8(b, 1); /* Operations in one instruction. */
	u8(b, 1); /* Each row begins a statement. */
	/* No special opcodes are used, so line base, range and the first
	 * opcode are fillers. */
	u8(b, 0xff);
	u8(b, 1);
	u8(b, sizeof(operands) + 1);
	nb_buf_bytes(b, operands, sizeof(operands));
	u8(b, 0); /* The list of folders is empty. */
	for (uint32_t i = 0; i < s->p->nlines; i++)
		file_number(s, &s->p->lines[i]);
	for (uint32_t i = 0; i < s->nfiles; i++) {
		string(b, s->file[i]);
		/* Index of the folder, then time and size of the file. */
		uleb(b, 0);
		uleb(b, 0);
		uleb(b, 0);
	}
	u8(b, 0);
	length_end(b, from);
}

static void extended(struct nb_buf *b, unsigned op, unsigned size)
{
	u8(b, 0);
	uleb(b, size + 1);
	u8(b, op);
}

static void lines(struct subject *s)
{
	struct nb_buf *b = &s->sec[S_LINE];
	size_t from = length_begin(b);
	uint32_t pc = 0, line = 1;

	line_header(s);
	extended(b, DW_LNE_set_address, 8);
	u64(b, (uintptr_t)s->j->code);
	for (uint32_t i = 0; i < s->p->nlines; i++) {
		const struct nb_line *l = &s->p->lines[i];
		/* The entry's set-up code belongs to its first line. */
		uint32_t to = i ? s->j->off[l->pc] : 0;

		u8(b, DW_LNS_advance_pc);
		uleb(b, to - pc);
		u8(b, DW_LNS_advance_line);
		sleb(b, (int64_t)l->line - line);
		u8(b, DW_LNS_set_file);
		uleb(b, file_number(s, l));
		u8(b, DW_LNS_copy);
		pc = to;
		line = l->line;
	}
	u8(b, DW_LNS_advance_pc);
	uleb(b, (uint32_t)s->j->size - pc);
	extended(b, DW_LNE_end_sequence, 0);
	length_end(b, from);
}

enum {
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_offset = 0x80
};

/* Pad to a multiple of eight bytes; a zero byte is the operation "nop". */
static void pad(struct nb_buf *b)
{
	nb_buf_zeros(b, -b->size & 7);
}

/*
 * State at the first instruction of any function, after the machine's call
 * instruction: the return address is on the stack, where the call pushed
 * it, or in a register.
 */
static void common_information(struct nb_buf *b, const struct nb_jit_frames *f)
{
	size_t from = length_begin(b);

	u32(b, 0); /* Marks the entry as a CIE (common information entry). */
	u8(b, 1);  /* The version of the format. */
	u8(b, 0);  /* The augmentation string is empty. */
	uleb(b, 1);
	sleb(b, -8);
	u8(b, f->return_reg);
	u8(b, DW_CFA_def_cfa);
	uleb(b, f->sp_reg);
	uleb(b, f->entry_size);
	if (f->entry_size) {
		u8(b, DW_CFA_offset | f->return_reg);
		uleb(b, 1);
	}
	pad(b);
	length_end(b, from);
}

/*
 * Write the rules that hold from the first note (struct nb_jit_note) on: the
 * size of the frame, and where registers are saved.
 */
static void first_note(struct nb_buf *b, const struct nb_jit_frames *f)
{
	u8(b, DW_CFA_def_cfa);
	uleb(b, f->base_reg ? f->base_reg : f->sp_reg);
	uleb(b, f->note[0].size);
	for (uint32_t i = 0; i < f->nsaved; i++) {
		u8(b, DW_CFA_offset | f->saved[i].reg);
		uleb(b, f->saved[i].words);
	}
}

/*
 * Write how far the caller's frame is from SP (or another register), at each
 * place where this distance changes.
 */
static void frames(struct subject *s)
{
	const struct nb_jit_frames *f = &s->j->frames;
	struct nb_buf *b = &s->sec[S_FRAME];
	uint32_t pc = 0;
	size_t from;

	if (!f->nnotes)
		return;
	common_information(b, f);
	from = length_begin(b);
	/* Distance back to the start of the section. */
	u32(b, (uint32_t)b->size);
	u64(b, (uintptr_t)s->j->code);
	u64(b, s->j->size);
	for (uint32_t i = 0; i < f->nnotes; i++) {
		u8(b, DW_CFA_advance_loc4);
		u32(b, f->note[i].at - pc);
		if (i == 0) {
			first_note(b, f);
		} else {
			u8(b, DW_CFA_def_cfa_offset);
			uleb(b, f->note[i].size);
		}
		pc = f->note[i].at;
	}
	pad(b);
	length_end(b, from);
	u32(b, 0); /* A length of 0 ends the list. */
}

static Elf64_Shdr section_header(const struct subject *s, unsigned i)
{
	Elf64_Shdr h = { .sh_type = SHT_PROGBITS,
			 .sh_size = s->sec[i].size,
			 .sh_addralign = 8 };

	if (i == S_NULL)
		return (Elf64_Shdr){ 0 };
	if (i == S_STRTAB || i == S_SHSTRTAB)
		h.sh_type = SHT_STRTAB;
	if (i == S_FRAME)
		h.sh_flags = SHF_ALLOC;
	if (i == S_SYMTAB) {
		h.sh_type = SHT_SYMTAB;
		h.sh_link = S_STRTAB;
		h.sh_info = 1;
		h.sh_entsize = sizeof(Elf64_Sym);
	}
	if (i == S_TEXT) {
		h.sh_type = SHT_NOBITS;
		h.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
		h.sh_addr = (uintptr_t)s->j->code;
		h.sh_size = s->j->size;
	}
	return h;
}

static void file(struct nb_buf *out, struct subject *s)
{
	Elf64_Ehdr e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				      ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_type = ET_REL,
			 .e_machine = s->j->frames.machine,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(Elf64_Ehdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = NSECTIONS,
			 .e_shstrndx = S_SHSTRTAB };
	uint64_t off = sizeof(e) + NSECTIONS * sizeof(Elf64_Shdr);
	uint32_t name = 0;

	for (unsigned i = 0; i < NSECTIONS; i++)
		string(&s->sec[S_SHSTRTAB], section_name[i]);
	nb_buf_bytes(out, &e, sizeof(e));
	for (unsigned i = 0; i < NSECTIONS; i++) {
		Elf64_Shdr h = section_header(s, i);

		h.sh_name = name;
		h.sh_offset = i ? off : 0;
		nb_buf_bytes(out, &h, sizeof(h));
		name += (uint32_t)strlen(section_name[i]) + 1;
		off += (s->sec[i].size + 7) & ~(uint64_t)7;
	}
	for (unsigned i = 0; i < NSECTIONS; i++) {
		nb_buf_bytes(out, s->sec[i].data, s->sec[i].size);
		pad(out);
	}
}

void nb_symbols_elf(struct nb_buf *out, const struct nb_jit *j,
		    const struct nb_image *img, uint32_t prog)
{
	struct subject s = {
		.j = j, .img = img, .p = &img->progs[prog], .prog = prog
	};
	bool good = true;

	for (unsigned i = 0; i < NSECTIONS; i++)
		nb_buf_init(&s.sec[i], 8 << 20);
	symbols(&s);
	frames(&s);
	abbreviations(&s.sec[S_ABBREV]);
	info(&s);
	lines(&s);
	file(out, &s);
	for (unsigned i = 0; i < NSECTIONS; i++) {
		good &= nb_buf_ok(&s.sec[i]);
		nb_buf_fini(&s.sec[i]);
	}
	if (!good) /* Memory was short: write no file instead of half of it. */
		nb_buf_clear(out);
}
