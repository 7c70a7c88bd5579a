// SPDX-License-Identifier: MIT
/*
 * Check the content of an image, for writer and reader: limits, names, map
 * definitions, functions that cover their program without gaps, targets of
 * calls, map references, and parameters. The verifier relies on these checks and
 * decides whether programs are safe.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/check.h"
#include "core/bpf/image/format.h"
#include "core/bpf/image/param.h"

enum { TEXT_MAX = 255, CTX_FIELDS_MAX = 1024, CTX_BYTES_MAX = 65536 };

struct check {
	const struct nb_image *img;
	const uint32_t *at;
	struct nb_err *err;
};

static int bad_image(const struct check *c, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int bad_image(const struct check *c, uint32_t at, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return nb_fail(c->err, NB_E_IMAGE, at, "policy image: %s", text);
}

/* Return the offset of record @i of section @sec in the image, for err->at. */
static uint32_t record_at(const struct check *c, enum nb_section sec, uint32_t i)
{
	return c->at ? c->at[sec] + i * nb_records[sec].size : i;
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_.-$/", c));
}

/* Check a name: it must be one word in the shell. */
static int check_name(const struct check *c, const char *name, const char *what, uint32_t at)
{
	size_t n = strnlen(name, NB_IMAGE_NAME);

	if (n == 0 || n == NB_IMAGE_NAME)
		return nb_fail(c->err, n ? NB_E_LIMIT : NB_E_IMAGE, at,
			       "policy image: %s: the name of a %s has 1 to %d bytes",
			       n ? "a longer one found" : "an empty one found", what,
			       NB_IMAGE_NAME - 1);
	for (size_t i = 0; i < n; i++)
		if (!name_char(name[i]))
			return bad_image(c, at,
					 "byte 0x%02x in the name of a %s; letters, digits and _ . "
					 "- $ / are allowed",
					 (unsigned char)name[i], what);
	return 0;
}

/* Return the length of the printable UTF-8 sequence at @s; 0 if it is not
 * printable. */
static size_t printable_length(const unsigned char *s)
{
	if (s[0] == '\t' || (s[0] >= 0x20 && s[0] < 0x7f))
		return 1;
	if (s[0] >= 0xc2 && s[0] < 0xe0 && (s[1] & 0xc0) == 0x80)
		/* Reject the C1 control characters. */
		return s[0] == 0xc2 && s[1] < 0xa0 ? 0 : 2;
	if ((s[0] & 0xf0) == 0xe0 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80)
		return (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ? 0 : 3;
	if (s[0] >= 0xf0 && s[0] < 0xf5 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80 &&
	    (s[3] & 0xc0) == 0x80)
		return (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90) ? 0 : 4;
	return 0;
}

bool nb_image_text_ok(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (strnlen(text, TEXT_MAX + 1) > TEXT_MAX)
		return false;
	while (*s) {
		size_t n = printable_length(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

static int check_text(const struct check *c, const char *text, uint32_t at)
{
	if (nb_image_text_ok(text))
		return 0;
	return bad_image(c, at, "a line record's text is not printable UTF-8 of at most %d bytes",
			 TEXT_MAX);
}

bool nb_image_name_ok(const char *name)
{
	size_t n = strnlen(name, NB_IMAGE_NAME);

	if (n == 0 || n == NB_IMAGE_NAME || *name == '-' || *name == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!name_char(name[i]) || strchr("$/", name[i]))
			return false;
	return true;
}

static int check_policy_name(const struct check *c)
{
	if (nb_image_name_ok(c->img->name))
		return 0;
	return bad_image(c, 0,
			 "the policy's name has 1 to %d letters, digits and _ - . "
			 "and does not begin with - or .",
			 NB_IMAGE_NAME - 1);
}

static int check_map(const struct check *c, uint32_t i)
{
	const struct nb_map_spec *m = &c->img->maps[i];
	uint32_t at = record_at(c, NB_SEC_MAPS, i);
	bool init = m->origin == NB_ORIGIN_RODATA || m->origin == NB_ORIGIN_DATA;
	int rc;

	if (m->origin > NB_ORIGIN_BSS)
		return bad_image(c, at, "map %u: origin %u; 0 to %d are known", i,
				 (unsigned)m->origin, NB_ORIGIN_BSS);
	rc = check_name(c, m->name, "map", at);
	if (!rc)
		rc = nb_map_spec_check(m, c->err);
	if (rc) {
		if (c->err)
			c->err->at = at;
		return rc;
	}
	for (uint32_t j = 0; j < i; j++)
		if (!strcmp(c->img->maps[j].name, m->name))
			return bad_image(c, at, "maps %u and %u are both named %s", j, i, m->name);
	if (init != !!m->init)
		return bad_image(c, at, "map %s: %s", m->name,
				 init ? "a data section needs its initial value"
				      : "only .rodata and .data have an initial value");
	if (!c->img->btf_size && (m->btf_key || m->btf_value))
		return bad_image(c, at, "map %s: BTF types %u and %u, but the image has no BTF",
				 m->name, m->btf_key, m->btf_value);
	return 0;
}

/* Check that functions cover the program in order and without gaps. @base:
 * number of the first function. */
static int check_funcs(const struct check *c, const struct nb_prog *p, uint32_t base)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < p->nfuncs; i++) {
		const struct nb_func *f = &p->funcs[i];
		uint32_t at = record_at(c, NB_SEC_FUNCS, base + i);
		int rc = check_name(c, f->name, "function", at);

		if (rc)
			return rc;
		if (f->start != next || f->end <= f->start || f->end > p->nslots)
			return bad_image(c, at,
					 "program %s: function %s holds slots %u to %u; "
					 "the function must begin at %u and end by %u",
					 p->name, f->name, f->start, f->end, next, p->nslots);
		next = f->end;
	}
	if (next != p->nslots)
		return bad_image(c, record_at(c, NB_SEC_FUNCS, base),
				 "program %s: functions end at slot %u of %u", p->name, next,
				 p->nslots);
	return 0;
}

static int check_lines(const struct check *c, const struct nb_prog *p, uint32_t base)
{
	for (uint32_t i = 0; i < p->nlines; i++) {
		const struct nb_line *l = &p->lines[i];
		uint32_t at = record_at(c, NB_SEC_LINES, base + i);
		int rc;

		if (l->pc >= p->nslots || (i && l->pc <= l[-1].pc))
			return bad_image(c, at,
					 "program %s: line record %u is for slot %u; "
					 "records ascend and stay below slot %u",
					 p->name, i, l->pc, p->nslots);
		rc = check_text(c, l->file, at);
		if (!rc)
			rc = check_text(c, l->text, at);
		if (rc)
			return rc;
	}
	return 0;
}

/* Check that a function begins at @to, which slot @pc refers to. */
static int check_target(const struct check *c, const struct nb_prog *p, uint32_t pc, int64_t to,
			uint32_t at)
{
	if (to >= 0 && to < p->nslots && nb_prog_func(p, (uint32_t)to)->start == (uint32_t)to)
		return 0;
	return bad_image(c, at, "program %s: slot %u refers to slot %lld, where no function begins",
			 p->name, pc, (long long)to);
}

static int check_map_ref(const struct check *c, const struct nb_prog *p, uint32_t pc,
			 const struct nb_insn *in, uint32_t at)
{
	uint64_t imm = (uint64_t)in->imm;
	uint64_t map = in->fn == NB_FN_MAP ? imm : (uint32_t)imm;
	const struct nb_map_spec *m;

	if (map >= c->img->nmaps)
		return bad_image(c, at, "program %s: slot %u names map %llu of %u", p->name, pc,
				 (unsigned long long)map, c->img->nmaps);
	m = &c->img->maps[map];
	if (in->fn == NB_FN_MAP)
		return 0;
	if (!nb_map_has_address(m))
		return bad_image(
			c, at,
			"program %s: "
			"slot %u takes an address inside map %s, which is no array of one element",
			p->name, pc, m->name);
	if (imm >> 32 >= m->value_size)
		return bad_image(c, at,
				 "program %s: "
				 "slot %u takes address %llu of map %s, whose value has %u bytes",
				 p->name, pc, (unsigned long long)(imm >> 32), m->name,
				 m->value_size);
	return 0;
}

static int check_insn(const struct check *c, const struct nb_prog *p, uint32_t pc,
		      const struct nb_insn *in, uint32_t at)
{
	int64_t to = (int64_t)pc + 1 + in->off;

	if (nb_insn_calls_func(in))
		return check_target(c, p, pc, to, at);
	if (in->kind != NB_KIND_LDDW)
		return 0;
	if (in->fn == NB_FN_FUNC)
		return check_target(c, p, pc, to, at);
	return in->fn == NB_FN_IMM ? 0 : check_map_ref(c, p, pc, in, at);
}

static int check_slots(const struct check *c, const struct nb_prog *p, uint32_t base)
{
	struct nb_insn *insns = calloc(p->nslots, sizeof(*insns));
	struct nb_err why;
	int rc;

	if (!insns)
		return nb_fail(c->err, NB_E_NOMEM, 0, "policy image: out of memory");
	rc = nb_decode(insns, p->slots, p->nslots, &why);
	if (rc)
		nb_fail(c->err, rc, c->at ? record_at(c, NB_SEC_SLOTS, base + why.at) : why.at,
			"program %s: %s", p->name, why.text);
	for (uint32_t i = 0; !rc && i < p->nfuncs; i++)
		if (insns[p->funcs[i].start].kind == NB_KIND_LDDW_HI)
			rc = bad_image(c, record_at(c, NB_SEC_SLOTS, base),
				       "program %s: function %s begins within an instruction",
				       p->name, p->funcs[i].name);
	for (uint32_t pc = 0; !rc && pc < p->nslots; pc++)
		rc = check_insn(c, p, pc, &insns[pc], record_at(c, NB_SEC_SLOTS, base + pc));
	free(insns);
	return rc;
}

static int check_prog_head(const struct check *c, uint32_t i)
{
	const struct nb_prog *p = &c->img->progs[i];
	const struct nb_hook_spec *hook = nb_spec_hook_section(p->section);
	uint32_t at = record_at(c, NB_SEC_PROGS, i);
	int rc = check_name(c, p->name, "program", at);

	if (!rc)
		rc = check_name(c, p->section, "section", at);
	if (rc)
		return rc;
	if (!hook || hook->id != p->hook)
		return nb_fail(
			c->err, NB_E_HOOK, at,
			"policy image: program %s: section \"%s\" names no hook of this build",
			p->name, p->section);
	for (uint32_t j = 0; j < i; j++)
		if (!strcmp(c->img->progs[j].name, p->name))
			return bad_image(c, at, "programs %u and %u are both named %s", j, i,
					 p->name);
	if (!p->nslots || p->nslots > NB_IMAGE_MAX_SLOTS)
		return nb_fail(c->err, NB_E_LIMIT, at,
			       "policy image: program %s: %u slots; 1 to %d are allowed", p->name,
			       p->nslots, NB_IMAGE_MAX_SLOTS);
	if (!p->nfuncs || p->nfuncs > NB_IMAGE_MAX_FUNCS)
		return nb_fail(c->err, NB_E_LIMIT, at,
			       "policy image: program %s: %u functions; 1 to %d are allowed",
			       p->name, p->nfuncs, NB_IMAGE_MAX_FUNCS);
	return 0;
}

static int check_progs(const struct check *c)
{
	uint32_t slots = 0, funcs = 0, lines = 0;

	for (uint32_t i = 0; i < c->img->nprogs; i++) {
		const struct nb_prog *p = &c->img->progs[i];
		int rc = check_prog_head(c, i);

		if (!rc)
			rc = check_funcs(c, p, funcs);
		if (!rc)
			rc = check_slots(c, p, slots);
		if (!rc)
			rc = check_lines(c, p, lines);
		if (rc)
			return rc;
		slots += p->nslots;
		funcs += p->nfuncs;
		lines += p->nlines;
	}
	return 0;
}

static int check_ctx_fields(const struct check *c)
{
	for (uint32_t i = 0; i < c->img->nctx_fields; i++) {
		const struct nb_ctx_field *f = &c->img->ctx_fields[i];
		uint32_t at = record_at(c, NB_SEC_CTX, i);
		int rc = check_name(c, f->name, "context field", at);

		if (rc)
			return rc;
		if ((unsigned)f->hook >= NB_NHOOKS || !f->size || f->off > CTX_BYTES_MAX ||
		    f->size > CTX_BYTES_MAX)
			return bad_image(c, at,
					 "context field %s: %u bytes at %u of hook %u; "
					 "fields have 1 byte or more and end by %d",
					 f->name, f->size, f->off, (unsigned)f->hook,
					 CTX_BYTES_MAX);
	}
	return 0;
}

static int bad_name(const struct check *c, uint32_t i, const char *what)
{
	const struct nb_name *n = &c->img->names[i];

	return bad_image(c, record_at(c, NB_SEC_NAMES, i), "name %u, %u bytes at %u: %s", i,
			 n->size, n->off, what);
}

/* Check a record of level 0: it describes a key or value as a whole. */
static int check_map_whole(const struct check *c, uint32_t i)
{
	const struct nb_name *n = &c->img->names[i], *last = n - 1;
	const struct nb_map_spec *m;

	if (n->map >= c->img->nmaps || n->part > NB_NAME_VALUE)
		return bad_name(c, i, "no map has such a key or value");
	m = &c->img->maps[n->map];
	if (i && (last->map > n->map || (last->map == n->map && last->part >= n->part)))
		return bad_name(c, i, "names ascend by map, keys first");
	if (n->off || n->size != (n->part == NB_NAME_KEY ? m->key_size : m->value_size))
		return bad_name(c, i, "the first name must cover the whole key or value");
	return 0;
}

/* Check that each record lies inside the record that contains it. */
static int check_names(const struct check *c)
{
	uint32_t open[NB_IMAGE_MAX_LEVEL + 1] = { 0 }, level = 0;

	for (uint32_t i = 0; i < c->img->nnames; i++) {
		const struct nb_name *n = &c->img->names[i], *in;
		int rc = n->level ? 0 : check_map_whole(c, i);

		if (!nb_image_text_ok(n->name))
			return bad_name(c, i,
					"the text is not printable UTF-8 of at most 255 bytes");
		if (rc)
			return rc;
		if (n->level > NB_IMAGE_MAX_LEVEL ||
		    (n->level &&
		     (!i || n->level > level + 1 || n->map != n[-1].map || n->part != n[-1].part)))
			return bad_name(c, i, "nothing contains it");
		in = n->level ? &c->img->names[open[n->level - 1]] : n;
		if (!n->size || !n->elem || n->size % n->elem || n->off > in->elem ||
		    (n->level && n->size > in->elem - n->off))
			return bad_name(c, i,
					"the part does not fit into the one that contains it");
		level = n->level;
		open[level] = i;
	}
	return 0;
}

/* Check the form of the parameters, whose places the names tell. */
static int check_params(const struct check *c)
{
	struct nb_image_param params[NB_IMAGE_MAX_PARAMS];
	uint32_t n;
	int rc = nb_image_params(c->img, params, &n, c->err);

	if (rc && c->err)
		c->err->at = record_at(c, NB_SEC_NAMES, 0);
	return rc;
}

static int check_counts(const struct check *c)
{
	const struct nb_image *img = c->img;
	const struct {
		enum nb_section sec;
		uint32_t n, least, most;
		const char *what;
	} counts[] = {
		{ NB_SEC_MAPS, img->nmaps, 0, NB_IMAGE_MAX_MAPS, "maps" },
		{ NB_SEC_PROGS, img->nprogs, 1, NB_IMAGE_MAX_PROGS, "programs" },
		{ NB_SEC_CTX, img->nctx_fields, 0, CTX_FIELDS_MAX, "context fields" },
		{ NB_SEC_NAMES, img->nnames, 0, NB_IMAGE_MAX_NAMES, "names" },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i].n < counts[i].least || counts[i].n > counts[i].most)
			return nb_fail(c->err, NB_E_LIMIT, record_at(c, counts[i].sec, 0),
				       "policy image: %u %s; %u to %u are allowed", counts[i].n,
				       counts[i].what, counts[i].least, counts[i].most);
	return 0;
}

static int check_size(const struct check *c)
{
	const struct nb_image *img = c->img;
	uint64_t total = img->btf_size;

	for (uint32_t i = 0; i < img->nmaps; i++)
		total += img->maps[i].init ? img->maps[i].value_size : 0;
	for (uint32_t i = 0; i < img->nprogs; i++)
		total += (uint64_t)img->progs[i].nslots * NB_SLOT_SIZE +
			 (uint64_t)img->progs[i].nlines * nb_records[NB_SEC_LINES].size;
	if (total <= NB_IMAGE_MAX_SIZE)
		return 0;
	return nb_fail(c->err, NB_E_LIMIT, 0,
		       "policy image: code, data, lines and BTF take %llu bytes; at most %d",
		       (unsigned long long)total, NB_IMAGE_MAX_SIZE);
}

int nb_image_check(const struct nb_image *img, const uint32_t *at, struct nb_err *err)
{
	const struct check c = { img, at, err };
	int rc = check_counts(&c);

	if (!rc)
		rc = check_size(&c);
	if (!rc)
		rc = check_policy_name(&c);
	for (uint32_t i = 0; !rc && i < img->nmaps; i++)
		rc = check_map(&c, i);
	if (!rc)
		rc = check_progs(&c);
	if (!rc)
		rc = check_names(&c);
	if (!rc)
		rc = check_params(&c);
	return rc ? rc : check_ctx_fields(&c);
}
