// SPDX-License-Identifier: MIT
/*
 * Link programs: each gets its entry function, then once each function that
 * it reaches by a call or as a callback, in the order of their first
 * references. Then calls become relative, and references to maps, data and
 * functions become indices and distances, as core/bpf/image/image.h describes
 * them. All other relocations are rejected with section, offset and symbol.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/front.h"

enum {
	OP_LDDW = 0x18,
	OP_CALL = 0x85,
	SRC_MAP = 1,
	SRC_MAP_VALUE = 2,
	SRC_FUNC = 4,
	SRC_LOCAL = 1
};

struct prog {
	struct nb_front *f;
	struct nb_err *err;
	enum nb_hook hook;
	uint32_t *list; /* Numbers of the functions added so far, in order. */
	uint32_t nlist;
	/* First slot of each function, plus 1; 0 if not added. */
	uint32_t *start;
	struct nb_slot *slots;
	uint32_t nslots;
};

/* The place of an instruction in the object. */
struct site {
	const struct nb_obj_code *code;
	uint32_t slot; /* Number of the slot in its section. */
};

static const char *site_section(const struct prog *p, struct site at)
{
	return p->f->elf.sec[at.code->sec].name;
}

static uint32_t site_file_off(const struct prog *p, struct site at)
{
	return p->f->elf.sec[at.code->sec].off + at.slot * NB_SLOT_SIZE;
}

static uint8_t slot_src(const struct nb_slot *s)
{
	return s->regs >> 4;
}

static void set_slot_src(struct nb_slot *s, unsigned v)
{
	s->regs = (uint8_t)((s->regs & 0xf) | v << 4);
}

static struct nb_slot site_slot(const struct nb_front *f, struct site at)
{
	struct nb_slot s = { 0 };

	nb_view_get(f->elf.sec[at.code->sec].data, (uint64_t)at.slot * NB_SLOT_SIZE, &s, sizeof(s));
	return s;
}

static struct nb_elf_rel rel_at(const struct nb_front *f, struct site at)
{
	return nb_elf_rel(&f->elf.sec[at.code->relsec], at.code->slots[at.slot].rel - 1);
}

static int refuse_reloc(const struct prog *p, struct site at, const char *what)
{
	const struct nb_front *f = p->f;
	const char *of = "";
	struct nb_elf_sym s;
	struct nb_elf_rel r;

	if (!at.code->slots[at.slot].rel)
		return nb_fail(p->err, NB_E_RELOC, site_file_off(p, at),
			       "section %s, offset %u: %s", site_section(p, at),
			       at.slot * NB_SLOT_SIZE, what);
	r = rel_at(f, at);
	s = nb_elf_sym(&f->elf, r.sym);
	if (s.sec < f->elf.nsec)
		of = f->elf.sec[s.sec].name;
	if (s.type == STT_SECTION && *of)
		s.name = of;
	return nb_fail(p->err, NB_E_RELOC, site_file_off(p, at),
		       "section %s, offset %u: relocation of type %u against %s \"%.64s\"%s%s: %s",
		       site_section(p, at), at.slot * NB_SLOT_SIZE, r.type,
		       s.type == STT_SECTION ? "section" : "symbol", s.name,
		       s.type != STT_SECTION && *of ? " of " : "", s.type != STT_SECTION ? of : "",
		       what);
}

/* What an instruction refers to outside its function: a helper, a function or a
 * map. */
struct ref {
	enum { REF_NONE, REF_HELPER, REF_CALL, REF_CALLBACK, REF_DATA } kind;
	int32_t to;  /* Number of the helper, function or map. */
	int64_t off; /* Offset in the map's data; 0 for a map itself. */
};

/* Make @ref refer to the function that begins at byte @off of section @sec. */
static int ref_func(const struct prog *p, struct site at, uint32_t sec, int64_t off,
		    struct ref *out)
{
	int64_t func = nb_front_func_at(p->f, sec, off);

	if (func < 0)
		return refuse_reloc(p, at, "no function begins at the target");
	out->to = (int32_t)func;
	return 0;
}

static int resolve_call(const struct prog *p, struct site at, const struct nb_slot *s,
			struct ref *out)
{
	const struct nb_helper_spec *h = NULL;
	struct nb_elf_sym sym;
	struct nb_elf_rel r;

	out->kind = slot_src(s) == SRC_LOCAL ? REF_CALL : REF_NONE;
	/* The assembler has resolved the reference already. */
	if (!at.code->slots[at.slot].rel)
		return out->kind == REF_NONE
			       ? 0
			       : ref_func(p, at, at.code->sec,
					  ((int64_t)at.slot + 1 + s->imm) * NB_SLOT_SIZE, out);
	r = rel_at(p->f, at);
	sym = nb_elf_sym(&p->f->elf, r.sym);
	if (r.type == NB_REL_64_32 && sym.sec == SHN_UNDEF)
		h = nb_front_extern(sym.name);
	if (h) {
		*out = (struct ref){ REF_HELPER, h->id, 0 };
		return 0;
	}
	if (out->kind == REF_NONE || r.type != NB_REL_64_32 || sym.sec >= p->f->elf.nsec)
		return refuse_reloc(p, at, "not a call of a function of the object");
	return ref_func(p, at, sym.sec, (int64_t)sym.value + ((int64_t)s->imm + 1) * NB_SLOT_SIZE,
			out);
}

static int resolve_lddw(const struct prog *p, struct site at, const struct nb_slot *s,
			struct ref *out)
{
	const struct nb_map_spec *m;
	struct nb_elf_sym sym;
	int64_t off;

	if (slot_src(s))
		return refuse_reloc(
			p, at, "lddw: a relocation must name the map or function, not a number");
	if (!at.code->slots[at.slot].rel)
		return 0;
	if (rel_at(p->f, at).type != NB_REL_64_64)
		return refuse_reloc(p, at, "this type does not fit an lddw");
	sym = nb_elf_sym(&p->f->elf, rel_at(p->f, at).sym);
	off = (int64_t)sym.value + s->imm;
	if (sym.sec < p->f->elf.nsec && p->f->code[sym.sec].slots) {
		out->kind = REF_CALLBACK;
		return ref_func(p, at, sym.sec, off, out);
	}
	*out = (struct ref){ REF_DATA, -1, off };
	if (sym.sec < p->f->elf.nsec)
		out->to = nb_front_map_at(p->f, sym.sec, (uint64_t)off);
	if (out->to < 0)
		return refuse_reloc(p, at, "the target is no map, no data and no function");
	m = &p->f->maps[out->to];
	if (m->origin == NB_ORIGIN_DEFINED)
		out->off = 0;
	else if (off < 0 || off >= m->value_size)
		return refuse_reloc(p, at, "the target is outside the section's data");
	return 0;
}

/* Resolve the reference of an instruction. @end: the first slot of the
 * section after the function. */
static int resolve(const struct prog *p, struct site at, uint32_t end, const struct nb_slot *s,
		   struct ref *out)
{
	*out = (struct ref){ REF_NONE, 0, 0 };
	if (s->opcode == OP_CALL)
		return resolve_call(p, at, s, out);
	if (s->opcode == OP_LDDW && at.slot + 1 < end)
		return resolve_lddw(p, at, s, out);
	if (at.code->slots[at.slot].rel)
		return refuse_reloc(p, at,
				    "only an lddw or a call of a function may have a relocation");
	return 0;
}

/* Add a function to the program if it is not there yet. */
static int add_func(struct prog *p, uint32_t func)
{
	const struct nb_obj_func *fn = &p->f->funcs[func];

	if (p->start[func])
		return 0;
	if (p->nlist == NB_IMAGE_MAX_FUNCS ||
	    p->nslots + fn->size / NB_SLOT_SIZE > NB_IMAGE_MAX_SLOTS)
		return nb_fail(p->err, NB_E_LIMIT, 0,
			       "program %s: "
			       "with function %s the program has over %d functions "
			       "or %d instruction slots",
			       p->f->funcs[p->list[0]].name, fn->name, NB_IMAGE_MAX_FUNCS,
			       NB_IMAGE_MAX_SLOTS);
	p->list[p->nlist++] = func;
	p->start[func] = p->nslots + 1;
	p->nslots += fn->size / NB_SLOT_SIZE;
	return 0;
}

/* Return how many slots an instruction takes. */
static uint32_t insn_slots(const struct nb_slot *s)
{
	return s->opcode == OP_LDDW ? 2 : 1;
}

/* Add the functions that function @func refers to. */
static int add_reached(struct prog *p, uint32_t func)
{
	const struct nb_obj_func *fn = &p->f->funcs[func];
	struct site at = { &p->f->code[fn->sec], fn->off / NB_SLOT_SIZE };
	uint32_t end = at.slot + fn->size / NB_SLOT_SIZE;
	int rc = 0;

	while (!rc && at.slot < end) {
		struct nb_slot s = site_slot(p->f, at);
		struct ref ref;

		rc = resolve(p, at, end, &s, &ref);
		if (!rc && (ref.kind == REF_CALL || ref.kind == REF_CALLBACK))
			rc = add_func(p, (uint32_t)ref.to);
		at.slot += insn_slots(&s);
	}
	return rc;
}

/* Rewrite slot @pc of the program, and for an lddw the next slot too. */
static void link_slot(const struct prog *p, uint32_t pc, const struct ref *ref)
{
	struct nb_slot *s = &p->slots[pc];
	bool callback = ref->kind == REF_CALLBACK;

	switch (ref->kind) {
	case REF_NONE:
		break;
	case REF_HELPER:
		set_slot_src(s, 0);
		s->imm = ref->to;
		break;
	case REF_CALL:
	case REF_CALLBACK:
		s[0].imm = (int32_t)(p->start[ref->to] - 1) - (int32_t)pc - 1;
		if (callback) {
			set_slot_src(&s[0], SRC_FUNC);
			s[1].imm = 0;
		}
		break;
	case REF_DATA:
		set_slot_src(&s[0], p->f->maps[ref->to].origin == NB_ORIGIN_DEFINED
					    ? SRC_MAP
					    : SRC_MAP_VALUE);
		s[0].imm = ref->to;
		s[1].imm = (int32_t)ref->off;
		break;
	}
}

/* Copy function @func of the object into the program and link it. */
static int link_func(const struct prog *p, uint32_t func)
{
	const struct nb_obj_func *fn = &p->f->funcs[func];
	struct site at = { &p->f->code[fn->sec], fn->off / NB_SLOT_SIZE };
	uint32_t end = at.slot + fn->size / NB_SLOT_SIZE;
	uint32_t pc = p->start[func] - 1;

	memcpy(&p->slots[pc], p->f->elf.sec[fn->sec].data.p + fn->off, fn->size);
	while (at.slot < end) {
		struct nb_slot s = p->slots[pc];
		struct ref ref;
		int rc = resolve(p, at, end, &s, &ref);

		if (rc)
			return rc;
		link_slot(p, pc, &ref);
		pc += insn_slots(&s);
		at.slot += insn_slots(&s);
	}
	return 0;
}

static void fill_func(const struct prog *p, struct nb_func *to, uint32_t func)
{
	const struct nb_obj_func *fn = &p->f->funcs[func];

	*to = (struct nb_func){
		.name = fn->name,
		.start = p->start[func] - 1,
		.end = p->start[func] - 1 + fn->size / NB_SLOT_SIZE,
	};
}

/* Append the line records of function @func to @to; NULL: only count them. */
static uint32_t copy_lines(const struct prog *p, uint32_t func, struct nb_line *to)
{
	const struct nb_obj_func *fn = &p->f->funcs[func];
	const struct nb_obj_slot *slot = &p->f->code[fn->sec].slots[fn->off / NB_SLOT_SIZE];
	uint32_t n = 0;

	for (uint32_t i = 0; i < fn->size / NB_SLOT_SIZE; i++) {
		if (!slot[i].line.file)
			continue;
		if (to) {
			to[n] = slot[i].line;
			to[n].pc = p->start[func] - 1 + i;
		}
		n++;
	}
	return n;
}

static int make_tables(const struct prog *p, struct nb_prog *out)
{
	struct nb_arena *a = &p->f->arena;
	struct nb_func *funcs;
	struct nb_line *lines;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nlist; i++)
		n += copy_lines(p, p->list[i], NULL);
	funcs = nb_arena_array(a, p->nlist, sizeof(*funcs));
	lines = nb_arena_array(a, n, sizeof(*lines));
	if (!funcs || !lines)
		return nb_front_nomem(p->err);
	n = 0;
	for (uint32_t i = 0; i < p->nlist; i++) {
		fill_func(p, &funcs[i], p->list[i]);
		n += copy_lines(p, p->list[i], lines + n);
	}
	out->funcs = funcs;
	out->nfuncs = p->nlist;
	out->lines = lines;
	out->nlines = n;
	return 0;
}

static int make_prog(struct prog *p, struct nb_prog *out, uint32_t entry)
{
	const char *sec = p->f->elf.sec[p->f->funcs[entry].sec].name;
	int rc = add_func(p, entry);

	for (uint32_t i = 0; !rc && i < p->nlist; i++)
		rc = add_reached(p, p->list[i]);
	if (rc)
		return rc;
	p->slots = nb_arena_array(&p->f->arena, p->nslots, sizeof(*p->slots));
	if (!p->slots)
		return nb_front_nomem(p->err);
	for (uint32_t i = 0; !rc && i < p->nlist; i++)
		rc = link_func(p, p->list[i]);
	*out = (struct nb_prog){
		.name = p->f->funcs[entry].name,
		.section = sec,
		.hook = p->hook,
		.slots = p->slots,
		.nslots = p->nslots,
	};
	return rc ? rc : make_tables(p, out);
}

static int add_prog(struct nb_front *f, uint32_t entry, const struct nb_hook_spec *hook,
		    struct nb_err *err)
{
	struct prog p = { .f = f, .err = err, .hook = hook->id };
	int rc;

	if (f->nprogs == NB_IMAGE_MAX_PROGS)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "the object has more than the allowed %d programs",
			       NB_IMAGE_MAX_PROGS);
	p.list = calloc(NB_IMAGE_MAX_FUNCS, sizeof(*p.list));
	p.start = calloc(f->nfuncs, sizeof(*p.start));
	if (p.list && p.start)
		rc = make_prog(&p, &f->progs[f->nprogs], entry);
	else
		rc = nb_front_nomem(err);
	free(p.start);
	free(p.list);
	f->nprogs += !rc;
	return rc;
}

/* Add the programs of one section, in the order of their code. */
static int link_section(struct nb_front *f, const struct nb_obj_code *c, struct nb_err *err)
{
	const struct nb_hook_spec *hook = nb_spec_hook_section(f->elf.sec[c->sec].name);

	for (uint32_t i = 0; hook && i < c->nslots; i++) {
		uint32_t func = c->slots[i].func;
		int rc = func && f->funcs[func - 1].global ? add_prog(f, func - 1, hook, err) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

int nb_front_link(struct nb_front *f, struct nb_err *err)
{
	for (uint32_t i = 1; i < f->elf.nsec; i++) {
		int rc = f->code[i].slots ? link_section(f, &f->code[i], err) : 0;

		if (rc)
			return rc;
	}
	if (f->nprogs)
		return 0;
	return nb_fail(
		err, NB_E_HOOK, 0,
		"the object has no program: "
		"no global function stands in a section that names a hook, as SEC(\"%s\") does",
		nb_spec_hook((enum nb_hook)0)->word);
}
