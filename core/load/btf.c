// SPDX-License-Identifier: MIT
/*
 * The part of the structural check for BTF. libbpf follows type ids and
 * name offsets of map definitions without a check that they exist, and
 * recurses through types. So libbpf only gets bytes that have passed this
 * check: each type has the form of its kind, refers to types of a fitting
 * kind, and does not contain itself.
 */
#include "core/load/btf.h"

#include <linux/btf.h>
#include <stdbool.h>

enum { HEADER = 24, TYPE = 12, EXT_HEADER = 24, EXT_HEADER_CORE = 32 };

/* Kinds that an older linux/btf.h lacks. */
enum { DECL_TAG = 17, TYPE_TAG = 18, ENUM64 = 19, NKINDS = 20 };

/* Bytes that follow a type (once), and bytes for each of its members. */
static const struct {
	uint8_t once, each;
} trailers[NKINDS] = {
	[BTF_KIND_INT] = { 4, 0 },	[BTF_KIND_VAR] = { 4, 0 },
	[DECL_TAG] = { 4, 0 },		[BTF_KIND_ARRAY] = { 12, 0 },
	[BTF_KIND_STRUCT] = { 0, 12 },	[BTF_KIND_UNION] = { 0, 12 },
	[BTF_KIND_DATASEC] = { 0, 12 }, [ENUM64] = { 0, 12 },
	[BTF_KIND_ENUM] = { 0, 8 },	[BTF_KIND_FUNC_PROTO] = { 0, 8 },
};

struct type {
	uint32_t at; /* Offset in the section. */
	/* @word: the type's size, or a type id. */
	uint32_t name, kind, vlen, word;
	bool kflag;
	uint8_t depth; /* Levels of containment; 0: unknown; or OPEN. */
	/* Number of visits of a walk through the type's members, and
	 * through theirs. */
	uint32_t walk;
	uint64_t size;
};

struct btf {
	struct nb_view v, strings, types;
	uint32_t off;
	struct type *t; /* The types with ids 1 to n - 1. */
	uint32_t n;
	uint32_t nvars; /* Number of entries in all DATASECs read so far. */
	struct nb_err *err;
};

static int bad_type(const struct btf *b, uint32_t at, const char *what, uint32_t id)
{
	return nb_fail(b->err, NB_E_BTF, b->off + at, ".BTF: type %u: %s", id, what);
}

static int btf_check_header(struct btf *b)
{
	uint16_t magic = 0;
	uint8_t version = 0;
	uint32_t type_off = nb_view_word(b->v, 8), type_len = nb_view_word(b->v, 12);
	uint32_t str_off = nb_view_word(b->v, 16), str_len = nb_view_word(b->v, 20);
	struct nb_view body;

	nb_view_u16(b->v, 0, &magic);
	nb_view_get(b->v, 2, &version, 1);
	if (b->v.size < HEADER || magic != BTF_MAGIC || version != 1 ||
	    nb_view_word(b->v, 4) != HEADER)
		return nb_fail(b->err, NB_E_BTF, b->off,
			       ".BTF: magic 0x%04x, version %u, header of %u bytes; "
			       "0x%04x, 1 and %d are read",
			       magic, version, nb_view_word(b->v, 4), BTF_MAGIC, HEADER);
	body = nb_view_sub(b->v, HEADER, b->v.size - HEADER);
	if (!nb_view_has(body, type_off, type_len) || !nb_view_has(body, str_off, str_len) ||
	    type_off % 4 || (uint64_t)type_off + type_len > str_off)
		return nb_fail(b->err, NB_E_BTF, b->off + 8,
			       ".BTF: types (%u bytes at %u) must come before strings "
			       "(%u bytes at %u), both within %zu bytes",
			       type_len, type_off, str_len, str_off, body.size);
	b->types = nb_view_sub(body, type_off, type_len);
	b->strings = nb_view_sub(body, str_off, str_len);
	if (!str_len || b->strings.p[0] || b->strings.p[str_len - 1])
		return nb_fail(b->err, NB_E_BTF, b->off + HEADER + str_off,
			       ".BTF: the %u bytes of strings must begin and end with a zero byte",
			       str_len);
	return 0;
}

static bool has_name(const struct btf *b, uint32_t name)
{
	return nb_view_str(b->strings, name, NB_BTF_MAX_NAME) != NULL;
}

/* Read one type at @at of the type section and check its form. Returns its
 * length, or a negative error. */
static int64_t read_type(struct btf *b, struct type *t, uint32_t at, uint32_t id)
{
	uint32_t info = nb_view_word(b->types, at + 4);
	uint32_t more;

	if (!nb_view_has(b->types, at, TYPE))
		return bad_type(b, HEADER, "cut off", id);
	*t = (struct type){
		.at = at,
		.name = nb_view_word(b->types, at),
		.vlen = info & 0xffff,
		.kind = info >> 24 & 0x1f,
		.kflag = info >> 31,
		.word = nb_view_word(b->types, at + 8),
	};
	if (!t->kind || t->kind >= NKINDS || info & 0x60ff0000)
		return nb_fail(
			b->err, NB_E_BTF, b->off + HEADER + at,
			".BTF: type %u: kind %u with info 0x%08x is not known; kinds 1 to %d are",
			id, t->kind, info, NKINDS - 1);
	more = (uint32_t)trailers[t->kind].once + (uint32_t)trailers[t->kind].each * t->vlen;
	if (!nb_view_has(b->types, at, TYPE + (uint64_t)more))
		return bad_type(b, HEADER + at, "its members are cut off", id);
	if (!has_name(b, t->name))
		return bad_type(b, HEADER + at,
				"the type's name is outside the strings or too long", id);
	return TYPE + (int64_t)more;
}

static int read_types(struct btf *b, struct nb_arena *a)
{
	uint32_t most = (uint32_t)(b->types.size / TYPE) + 1, at = 0;

	if (most > NB_BTF_MAX_TYPES)
		most = NB_BTF_MAX_TYPES;
	b->t = nb_arena_array(a, most, sizeof(*b->t));
	if (!b->t)
		return nb_fail(b->err, NB_E_NOMEM, 0, ".BTF: out of memory");
	b->n = 1;
	b->t[0].depth = 1;
	while (at < b->types.size) {
		int64_t len;

		if (b->n == NB_BTF_MAX_TYPES)
			return nb_fail(b->err, NB_E_LIMIT, b->off + HEADER + at,
				       ".BTF: over %d types", NB_BTF_MAX_TYPES);
		if (b->n == most)
			return bad_type(b, HEADER + at, "cut off", b->n);
		len = read_type(b, &b->t[b->n], at, b->n);
		if (len < 0)
			return (int)len;
		at += (uint32_t)len;
		b->n++;
	}
	return 0;
}

/* Can a value have type @id? Type 0 is void, which is allowed here. */
static bool is_value(const struct btf *b, uint32_t id)
{
	if (id >= b->n)
		return false;
	switch (b->t[id].kind) {
	case BTF_KIND_FUNC:
	case BTF_KIND_VAR:
	case BTF_KIND_DATASEC:
	case DECL_TAG:
		return false;
	}
	return true;
}

static bool is_kind(const struct btf *b, uint32_t id, uint32_t kind)
{
	return id && id < b->n && b->t[id].kind == kind;
}

/* Return number @word (0, 1, 2) of member @i; @i is 0 for kinds without
 * members. */
static uint32_t member_word(const struct btf *b, const struct type *t, uint32_t i, uint32_t word)
{
	return nb_view_word(b->types,
			    t->at + TYPE + (uint64_t)i * trailers[t->kind].each + 4 * word);
}

/*
 * The functions below check one kind of type each. They return an error text,
 * or NULL.
 */

static const char *member_fault(const struct btf *b, const struct type *t, uint32_t i)
{
	uint32_t first = member_word(b, t, i, 0), type = member_word(b, t, i, 1);

	if (t->kind == BTF_KIND_DATASEC)
		return is_kind(b, first, BTF_KIND_VAR) || is_kind(b, first, BTF_KIND_FUNC)
			       ? NULL
			       : "an entry is no variable and no function";
	if (!has_name(b, first))
		return "the name of a member does not exist";
	if (t->kind == BTF_KIND_ENUM || t->kind == ENUM64)
		return NULL;
	return is_value(b, type) && (type || t->kind == BTF_KIND_FUNC_PROTO)
		       ? NULL
		       : "the type of a member does not exist";
}

static const char *tag_fault(const struct btf *b, const struct type *t)
{
	uint32_t index = member_word(b, t, 0, 0), to = t->word, parts = 0;

	if (!to || to >= b->n || b->t[to].kind == DECL_TAG)
		return "tags no type";
	if (b->t[to].kind == BTF_KIND_FUNC && is_kind(b, b->t[to].word, BTF_KIND_FUNC_PROTO))
		parts = b->t[b->t[to].word].vlen;
	else if (b->t[to].kind == BTF_KIND_STRUCT || b->t[to].kind == BTF_KIND_UNION)
		parts = b->t[to].vlen;
	return index != UINT32_MAX && index >= parts ? "tags a member that does not exist" : NULL;
}

static bool is_power(uint32_t n, uint32_t most)
{
	return n && n <= most && !(n & (n - 1));
}

static bool int_fits(const struct btf *b, const struct type *t)
{
	uint32_t info = member_word(b, t, 0, 0), bits = info & 0xff;

	return is_power(t->word, 16) && bits && bits + (info >> 16 & 0xff) <= t->word * 8;
}

static const char *type_fault(const struct btf *b, const struct type *t)
{
	bool fits = true;

	switch (t->kind) {
	case BTF_KIND_INT:
		return int_fits(b, t) ? NULL : "no integer has this size";
	case BTF_KIND_ENUM:
	case ENUM64:
		return is_power(t->word, 8) ? NULL : "an enum has 1, 2, 4 or 8 bytes";
	case DECL_TAG:
		return tag_fault(b, t);
	case BTF_KIND_ARRAY:
		fits = is_value(b, member_word(b, t, 0, 0)) && member_word(b, t, 0, 0) &&
		       is_value(b, member_word(b, t, 0, 1));
		break;
	case BTF_KIND_FUNC:
		fits = is_kind(b, t->word, BTF_KIND_FUNC_PROTO) && t->vlen <= 2;
		break;
	case BTF_KIND_VAR:
		fits = is_value(b, t->word) && t->word;
		break;
	case BTF_KIND_FLOAT:
		fits = t->word && t->word <= 16;
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_FWD:
		break;
	/*
	 * Check the type that a pointer or modifier refers to, or that a
	 * prototype returns.
	 */
	default:
		fits = is_value(b, t->word);
		break;
	}
	return fits ? NULL : "refers to a type that does not fit";
}

/* Check the references and values of one type. */
static int check_type(struct btf *b, uint32_t id)
{
	const struct type *t = &b->t[id];
	const char *fault = type_fault(b, t);

	if (t->kind == BTF_KIND_DATASEC)
		b->nvars += t->vlen;
	if (b->nvars > NB_BTF_MAX_VARS)
		return nb_fail(b->err, NB_E_LIMIT, b->off + HEADER + t->at,
			       ".BTF: over %d variables", NB_BTF_MAX_VARS);
	for (uint32_t i = 0; !fault && trailers[t->kind].each && i < t->vlen; i++)
		fault = member_fault(b, t, i);
	return fault ? bad_type(b, HEADER + t->at, fault, id) : 0;
}

enum { OPEN = 255 }; /* Marks a type whose parts are being visited. */

/* Return how many types @t contains directly; type_part() returns number @i
 * of them. */
static uint32_t type_nparts(const struct type *t)
{
	switch (t->kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return t->vlen;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case TYPE_TAG:
	case BTF_KIND_ARRAY:
		return 1;
	}
	return 0;
}

static uint32_t type_part(const struct btf *b, const struct type *t, uint32_t i)
{
	if (t->kind == BTF_KIND_STRUCT || t->kind == BTF_KIND_UNION)
		return member_word(b, t, i, 1);
	return t->kind == BTF_KIND_ARRAY ? member_word(b, t, 0, 0) : t->word;
}

/* Return the type that a modifier, pointer or array refers to; else 0. */
static uint32_t next_type(const struct btf *b, uint32_t id)
{
	const struct type *t = &b->t[id];

	if (t->kind == BTF_KIND_PTR)
		return t->word;
	return type_nparts(t) && !trailers[t->kind].each ? type_part(b, t, 0) : 0;
}

static int check_chain(const struct btf *b, uint32_t id)
{
	uint32_t at = id;

	for (int i = 0; i < NB_BTF_MAX_DEPTH; i++) {
		at = next_type(b, at);
		if (!at)
			return 0;
	}
	return bad_type(b, HEADER + b->t[id].at,
			"a chain of pointers, arrays and modifiers without end or over 32 links",
			id);
}

/* Check that members lie inside the struct. Their sizes are known at this
 * point. */
static int check_layout(const struct btf *b, const struct type *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->vlen; i++) {
		uint32_t off = member_word(b, t, i, 2);
		uint64_t bits = b->t[type_part(b, t, i)].size * 8;

		if (t->kflag) {
			bits = off >> 24 ? off >> 24 : bits;
			off &= 0xffffff;
		}
		if (off + bits > (uint64_t)t->word * 8)
			return bad_type(b, HEADER + t->at, "a member lies outside the struct", id);
	}
	return 0;
}

/* Set depth, size and walk length of @id, once all of its parts have theirs. */
static int close_type(const struct btf *b, uint32_t id)
{
	struct type *t = &b->t[id];
	uint64_t walk = 1;
	uint8_t deep = 0;

	for (uint32_t i = 0; i < type_nparts(t); i++) {
		const struct type *in = &b->t[type_part(b, t, i)];

		walk += in->walk;
		deep = in->depth > deep ? in->depth : deep;
	}
	if (deep >= NB_BTF_MAX_DEPTH)
		return bad_type(b, HEADER + t->at, "nested over 32 deep", id);
	if (walk > NB_BTF_MAX_WALK)
		return nb_fail(b->err, NB_E_LIMIT, b->off + HEADER + t->at,
			       ".BTF: type %u: over %d members, those of its members counted", id,
			       NB_BTF_MAX_WALK);
	t->depth = (uint8_t)(deep + 1);
	t->walk = (uint32_t)walk;
	switch (t->kind) {
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case ENUM64:
	case BTF_KIND_FLOAT:
		t->size = t->word;
		break;
	case BTF_KIND_PTR:
		t->size = 8;
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		t->size = t->word;
		return check_layout(b, t, id);
	case BTF_KIND_ARRAY:
		t->size = b->t[type_part(b, t, 0)].size * member_word(b, t, 0, 2);
		if (t->size > UINT32_MAX)
			t->size = UINT32_MAX;
		break;
	default:
		t->size = type_nparts(t) ? b->t[type_part(b, t, 0)].size : 0;
		break;
	}
	return 0;
}

/* Close the types that @id contains, then @id itself; @nest is the level. Fails
 * where containment has a cycle or is too deep. */
/* NOLINTNEXTLINE(misc-no-recursion): at most NB_BTF_MAX_DEPTH deep */
static int check_contained(const struct btf *b, uint32_t id, uint32_t nest)
{
	struct type *t = &b->t[id];
	int rc = 0;

	if (t->depth && t->depth != OPEN)
		return 0;
	if (t->depth == OPEN || nest > NB_BTF_MAX_DEPTH)
		return bad_type(b, HEADER + t->at, "contains itself, or is nested over 32 deep",
				id);
	t->depth = OPEN;
	for (uint32_t i = 0; !rc && i < type_nparts(t); i++)
		rc = check_contained(b, type_part(b, t, i), nest + 1);
	return rc ? rc : close_type(b, id);
}

int nb_btf_check(struct nb_view v, uint32_t off, struct nb_arena *a, struct nb_err *err)
{
	struct btf b = { .v = v, .off = off, .err = err };
	int rc = btf_check_header(&b);

	if (!rc)
		rc = read_types(&b, a);
	for (uint32_t id = 1; !rc && id < b.n; id++)
		rc = check_type(&b, id);
	for (uint32_t id = 1; !rc && id < b.n; id++)
		rc = check_chain(&b, id);
	for (uint32_t id = 1; !rc && id < b.n; id++)
		rc = check_contained(&b, id, 0);
	return rc;
}

struct nb_view nb_btf_strings(struct nb_view v)
{
	return nb_view_sub(v, HEADER + (uint64_t)nb_view_word(v, 16), nb_view_word(v, 20));
}

static const struct {
	const char *name;
	/* The place in the header of the part's offset and length. */
	uint32_t at;
	uint32_t min; /* Smallest size of a record in bytes. */
} parts[NB_BTF_NPARTS] = {
	[NB_BTF_FUNC_INFO] = { "func_info", 8, 8 },
	[NB_BTF_LINE_INFO] = { "line_info", 16, 16 },
	[NB_BTF_CORE_RELO] = { "core_relo", 24, 16 },
};

/* Largest number of groups in a part: one for each section of code that it
 * describes. */
enum { GROUPS_MAX = 1024 };

/* Return the bytes of a part; empty if the header is too short to have it. */
static struct nb_view btf_part_of(struct nb_view v, enum nb_btf_part p)
{
	uint32_t header = nb_view_word(v, 4), at = parts[p].at;

	if (header < at + 8)
		return nb_view(NULL, 0);
	return nb_view_sub(v, (uint64_t)header + nb_view_word(v, at), nb_view_word(v, at + 4));
}

static int check_part(struct nb_view v, struct nb_view strings, enum nb_btf_part p, uint32_t off,
		      struct nb_err *err)
{
	struct nb_view part = btf_part_of(v, p);
	uint32_t size = nb_view_word(part, 0), groups = 0;
	uint64_t at = 4;

	if (!part.size)
		return 0;
	if (size < parts[p].min || size % 4 || size > 1024)
		return nb_fail(
			err, NB_E_BTF, off,
			".BTF.ext: %s has records of %u bytes, but they must have %u or more",
			parts[p].name, size, parts[p].min);
	while (at < part.size) {
		uint32_t name = nb_view_word(part, at), n = nb_view_word(part, at + 4);

		if (!nb_view_has(part, at, 8) || ++groups > GROUPS_MAX ||
		    !nb_view_str(strings, name, NB_BTF_MAX_NAME) || !n ||
		    !nb_view_has(part, at + 8, (uint64_t)n * size))
			return nb_fail(err, NB_E_BTF, off,
				       ".BTF.ext: %s: %u records of section name %u are not inside",
				       parts[p].name, n, name);
		at += 8 + (uint64_t)n * size;
	}
	return 0;
}

int nb_btf_ext_check(struct nb_view v, struct nb_view strings, uint32_t off, struct nb_err *err)
{
	uint32_t header = nb_view_word(v, 4);
	uint16_t magic = 0;
	uint8_t version = 0;

	nb_view_u16(v, 0, &magic);
	nb_view_get(v, 2, &version, 1);
	if (v.size < EXT_HEADER || magic != BTF_MAGIC || version != 1 ||
	    (header != EXT_HEADER && header != EXT_HEADER_CORE) || header > v.size)
		return nb_fail(err, NB_E_BTF, off,
			       ".BTF.ext: magic 0x%04x, version %u, header of %u bytes; "
			       "0x%04x, 1 and %d or %d are read",
			       magic, version, header, BTF_MAGIC, EXT_HEADER, EXT_HEADER_CORE);
	for (int p = 0; p < NB_BTF_NPARTS; p++) {
		uint32_t at = parts[p].at;
		int rc;

		if (header < at + 8)
			continue;
		if (nb_view_word(v, at) % 4 || nb_view_word(v, at + 4) % 4 ||
		    !nb_view_has(v, (uint64_t)header + nb_view_word(v, at),
				 nb_view_word(v, at + 4)))
			return nb_fail(err, NB_E_BTF, off + at,
				       ".BTF.ext: %s: %u bytes at %u are not inside the %zu bytes",
				       parts[p].name, nb_view_word(v, at + 4), nb_view_word(v, at),
				       v.size);
		rc = check_part(v, strings, (enum nb_btf_part)p, off, err);
		if (rc)
			return rc;
	}
	return 0;
}

int nb_btf_ext_each(struct nb_view v, struct nb_view strings, enum nb_btf_part p,
		    nb_btf_record_fn *fn, void *arg)
{
	struct nb_view part = btf_part_of(v, p);
	uint32_t size = nb_view_word(part, 0);
	uint64_t at = 4;

	while (at < part.size) {
		const char *name = nb_view_str(strings, nb_view_word(part, at), NB_BTF_MAX_NAME);
		uint32_t n = nb_view_word(part, at + 4);

		at += 8;
		for (uint32_t i = 0; i < n; i++, at += size) {
			int rc = fn(arg, name, nb_view_sub(part, at, size));

			if (rc)
				return rc;
		}
	}
	return 0;
}
