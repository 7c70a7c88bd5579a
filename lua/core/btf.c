// SPDX-License-Identifier: MIT
/*
 * Map keys and values to Lua values and back by an image's type information
 * (BTF; format: Documentation/bpf/btf.rst of Linux). A reader of our own,
 * because the blob may come from a damaged file or a hostile target and
 * libbpf 1.1.2 trusts it: every offset is checked when it is used, nesting
 * and the number of elements are bounded.
 *
 *   integer, pointer -> integer      bool -> boolean    float -> number
 *   enum -> word, or the number      char[] -> string   array -> list
 *   struct, union, data section -> table by field; unnamed members inline
 *
 * NCCL's enums of ncclbpf_policy.h, and plain integers in fields named coll,
 * algo and proto, use the words of NVIDIA's tuner files.
 */
#include "lua/core/core.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/view.h"
#include "core/spec/spec.h"

enum {
	KIND_INT = 1,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64
};

enum { MAGIC = 0xeb9f, MAX_TYPES = 1 << 20, MAX_NEST = 32 };
enum { INT_SIGNED = 1, INT_CHAR = 2, INT_BOOL = 4 };
enum { MAX_ELEMENTS = 1 << 20 };

#define BTF "ncclbpf.btf"

struct btf {
	struct nb_view types, strings;
	uint32_t ntypes;   /* ids 1..ntypes */
	uint32_t *offsets; /* of type id - 1 in types */
	unsigned char *bytes;
};

struct type {
	uint32_t name, info, size; /* size or type id */
	uint32_t kind, vlen;
	bool flag;
	uint32_t off; /* of what follows the common part */
};

/* A conversion under way: what fails and where in the value. */
struct walk {
	const struct btf *b;
	lua_State *L;
	bool exact;
	uint32_t budget;
	struct nb_err err;
	char path[160];
	size_t path_size;
};

static bool get_type(const struct btf *b, uint32_t id, struct type *t)
{
	uint32_t off;

	memset(t, 0, sizeof(*t));
	if (!id || id > b->ntypes)
		return false;
	off = b->offsets[id - 1];
	if (!nb_view_u32(b->types, off, &t->name) ||
	    !nb_view_u32(b->types, off + 4, &t->info) ||
	    !nb_view_u32(b->types, off + 8, &t->size))
		return false;
	t->kind = t->info >> 24 & 0x1f;
	t->vlen = t->info & 0xffff;
	t->flag = t->info >> 31;
	t->off = off + 12;
	return true;
}

static const char *str(const struct btf *b, uint32_t off)
{
	const char *s = nb_view_str(b->strings, off);

	return s ? s : "";
}

/* Bytes that follow the common part of a type; -1 for an unknown kind. */
static int64_t extra(uint32_t kind, uint32_t vlen)
{
	switch (kind) {
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return 12 * (int64_t)vlen;
	case KIND_ENUM:
	case KIND_PROTO:
		return 8 * (int64_t)vlen;
	default:
		return kind >= KIND_PTR && kind <= KIND_ENUM64 ? 0 : -1;
	}
}

/* Skip names that mean the same bytes: typedef, const, var and so on. */
static bool resolve(const struct btf *b, uint32_t *id, struct type *t)
{
	for (int i = 0; i < MAX_NEST; i++) {
		if (!get_type(b, *id, t))
			return false;
		switch (t->kind) {
		case KIND_TYPEDEF:
		case KIND_VOLATILE:
		case KIND_CONST:
		case KIND_RESTRICT:
		case KIND_VAR:
		case KIND_TYPE_TAG:
			*id = t->size;
			break;
		default:
			return true;
		}
	}
	return false;
}

/* Bytes that a value of the type takes; -1 if that cannot be said. */
static int64_t size_of(const struct btf *b, uint32_t id, int nest)
{
	uint32_t elem, n;
	struct type t;

	if (nest > MAX_NEST || !resolve(b, &id, &t))
		return -1;
	switch (t.kind) {
	case KIND_PTR:
		return 8;
	case KIND_ARRAY:
		if (!nb_view_u32(b->types, t.off, &elem) ||
		    !nb_view_u32(b->types, t.off + 8, &n))
			return -1;
		int64_t one = size_of(b, elem, nest + 1);

		return one < 0 || one > 1 << 30 ? -1 : one * n;
	case KIND_INT:
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_ENUM:
	case KIND_ENUM64:
	case KIND_FLOAT:
	case KIND_DATASEC:
		return t.size;
	default:
		return -1;
	}
}

/* ---- errors with a place ---- */

static bool bad(struct walk *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool bad(struct walk *w, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	if (w->err.code)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	nb_fail(&w->err, NB_E_ARG, 0, "%s%s%s", w->path,
		w->path_size ? ": " : "", text);
	return false;
}

/* Add ".name" or "[i]" to the place; returns the size to restore. */
static size_t enter(struct walk *w, const char *name, int64_t index)
{
	size_t was = w->path_size, left = sizeof(w->path) - was;
	int n;

	if (name)
		n = snprintf(w->path + was, left, "%s%s", was ? "." : "", name);
	else
		n = snprintf(w->path + was, left, "[%" PRId64 "]", index);
	w->path_size = n < 0 || (size_t)n >= left ? was : was + (size_t)n;
	return was;
}

static void leave(struct walk *w, size_t was)
{
	w->path_size = was;
	w->path[was] = '\0';
}

static bool spend(struct walk *w)
{
	if (w->budget--)
		return true;
	w->budget = 0;
	return bad(w, "more than %d elements", MAX_ELEMENTS);
}

/* ---- members ---- */

struct member {
	const char *name;
	uint32_t type;
	uint32_t bit, bits; /* place in bits; bits 0: the type's own size */
};

static bool get_member(const struct btf *b, const struct type *t, uint32_t i,
		       struct member *m)
{
	uint32_t name, off, size;

	if (!nb_view_u32(b->types, t->off + 12 * (uint64_t)i, &name) ||
	    !nb_view_u32(b->types, t->off + 12 * (uint64_t)i + 4, &m->type) ||
	    !nb_view_u32(b->types, t->off + 12 * (uint64_t)i + 8, &off))
		return false;
	if (t->kind == KIND_DATASEC) {
		/* (type, offset, size); the name is the variable's */
		struct type var;

		size = off;
		off = m->type;
		m->type = name;
		(void)size;
		if (!get_type(b, m->type, &var) || off > UINT32_MAX / 8)
			return false;
		m->name = str(b, var.name);
		m->bit = off * 8;
		m->bits = 0;
		return true;
	}
	m->name = str(b, name);
	m->bit = t->flag ? off & 0xffffff : off;
	m->bits = t->flag ? off >> 24 : 0;
	return m->bits <= 64;
}

/* ---- enums ---- */

struct enumerator {
	const char *name;
	int64_t value;
};

static bool get_enumerator(const struct btf *b, const struct type *t,
			   uint32_t i, struct enumerator *e)
{
	uint64_t step = t->kind == KIND_ENUM64 ? 12 : 8;
	uint32_t name, lo, hi = 0;

	if (!nb_view_u32(b->types, t->off + step * i, &name) ||
	    !nb_view_u32(b->types, t->off + step * i + 4, &lo))
		return false;
	if (t->kind == KIND_ENUM64) {
		if (!nb_view_u32(b->types, t->off + step * i + 8, &hi))
			return false;
		e->value = (int64_t)((uint64_t)hi << 32 | lo);
	} else {
		/* the flag says signed */
		e->value = t->flag ? (int64_t)(int32_t)lo : (int64_t)lo;
	}
	e->name = str(b, name);
	return true;
}

/* Older clang sets no flag: values are signed where one is above 2^31. */
static bool enum_is_signed(const struct btf *b, const struct type *t)
{
	return t->flag || (t->kind == KIND_ENUM &&
			   !strncmp(str(b, t->name), "ncclbpf_", 8));
}

static const char *const nccl_enums[][2] = {
	{ "ncclbpf_coll", "NCCL_COLL_" },
	{ "ncclbpf_algo", "NCCL_ALGO_" },
	{ "ncclbpf_proto", "NCCL_PROTO_" },
};

static int nccl_enum(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(name, nccl_enums[i][0]))
			return i;
	return -1;
}

static int nccl_named(int kind, const char *word)
{
	return kind == 0   ? nb_nccl_coll_named(word)
	       : kind == 1 ? nb_nccl_algo_named(word)
			   : nb_nccl_proto_named(word);
}

static const char *nccl_word(int kind, int n)
{
	return kind == 0   ? nb_nccl_coll(n)
	       : kind == 1 ? nb_nccl_algo(n)
			   : nb_nccl_proto(n);
}

/* Plain integers of these names hold NCCL's numbers. */
static const char *const nccl_fields[] = { "coll", "algo", "proto" };

static int nccl_field(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(name, nccl_fields[i]))
			return i;
	return -1;
}

/* ---- bytes to Lua ---- */

static bool push_value(struct walk *w, uint32_t id, struct nb_view v, int nest);

static uint64_t bits_at(struct nb_view v, uint32_t bit, uint32_t bits, bool *ok)
{
	uint64_t x = 0;

	*ok = nb_view_has(v, bit / 8, (bit % 8 + bits + 7) / 8);
	for (uint32_t i = 0; *ok && i < bits; i++) {
		uint32_t at = bit + i;

		x |= (uint64_t)(v.p[at / 8] >> (at % 8) & 1) << i;
	}
	return x;
}

static void push_number(struct walk *w, uint64_t x, uint32_t bits,
			uint32_t encoding)
{
	if (encoding & INT_BOOL) {
		lua_pushboolean(w->L, x != 0);
		return;
	}
	if (encoding & INT_SIGNED && bits < 64 && x >> (bits - 1) & 1)
		x |= ~0ULL << bits;
	if (w->exact && !(encoding & INT_SIGNED) && x > INT64_MAX)
		nb_lua_push_u64(w->L, x);
	else
		lua_pushinteger(w->L, (lua_Integer)x);
}

static void push_enum(struct walk *w, const struct type *t, uint64_t x,
		      uint32_t bits)
{
	int kind = nccl_enum(str(w->b, t->name));
	struct enumerator e;
	int64_t v = (int64_t)x;

	if (enum_is_signed(w->b, t) && bits < 64 && x >> (bits - 1) & 1)
		v = (int64_t)(x | ~0ULL << bits);
	if (kind >= 0 && v >= 0 && v < 64 && nccl_word(kind, (int)v)) {
		lua_pushstring(w->L, nccl_word(kind, (int)v));
		return;
	}
	for (uint32_t i = 0; i < t->vlen; i++)
		if (get_enumerator(w->b, t, i, &e) &&
		    (e.value == v ||
		     (bits == 32 && (uint32_t)e.value == (uint32_t)v)) &&
		    kind < 0) {
			lua_pushstring(w->L, e.name);
			return;
		}
	lua_pushinteger(w->L, v);
}

/* A number of @bits bits at @bit, of a type that has no parts. */
static bool push_scalar(struct walk *w, const struct type *t, struct nb_view v,
			uint32_t bit, uint32_t bits)
{
	uint32_t enc = 0;
	uint64_t x;
	bool ok;

	if (!bits || bits > 64)
		return bad(w, "type information: a number of %u bits", bits);
	x = bits_at(v, bit, bits, &ok);
	if (!ok)
		return bad(w, "type information: larger than the value");
	if (t->kind == KIND_INT) {
		nb_view_u32(w->b->types, t->off, &enc);
		push_number(w, x, bits, enc >> 24);
	} else if (t->kind == KIND_ENUM || t->kind == KIND_ENUM64) {
		push_enum(w, t, x, bits);
	} else if (t->kind == KIND_FLOAT && bits == 32) {
		uint32_t half = (uint32_t)x;
		float f;

		memcpy(&f, &half, sizeof(f));
		lua_pushnumber(w->L, (double)f);
	} else if (t->kind == KIND_FLOAT) {
		double d;

		memcpy(&d, &x, sizeof(d));
		lua_pushnumber(w->L, d);
	} else {
		push_number(w, x, bits, 0);
	}
	return true;
}

static bool is_char(const struct btf *b, uint32_t id)
{
	uint32_t enc = 0;
	struct type t;

	if (!resolve(b, &id, &t) || t.kind != KIND_INT || t.size != 1)
		return false;
	nb_view_u32(b->types, t.off, &enc);
	return enc >> 24 & INT_CHAR || !strcmp(str(b, t.name), "char");
}

static bool push_array(struct walk *w, const struct type *t, struct nb_view v,
		       int nest)
{
	uint32_t elem, n;

	if (!nb_view_u32(w->b->types, t->off, &elem) ||
	    !nb_view_u32(w->b->types, t->off + 8, &n))
		return bad(w, "type information: damaged array");
	int64_t size = size_of(w->b, elem, 0);

	if (size < 0 || !nb_view_has(v, 0, (uint64_t)size * n))
		return bad(w, "type information: larger than the value");
	if (is_char(w->b, elem)) {
		size_t len = v.p ? n : 0;

		while (len && !v.p[len - 1])
			len--;
		lua_pushlstring(w->L, (const char *)v.p, len);
		return true;
	}
	lua_newtable(w->L);
	luaL_setmetatable(w->L, "ncclbpf.array");
	for (uint32_t i = 0; i < n; i++) {
		size_t was = enter(w, NULL, i);

		if (!spend(w) || !push_value(w, elem,
					     nb_view_sub(v, (uint64_t)size * i,
							 (uint64_t)size),
					     nest + 1))
			return false;
		lua_rawseti(w->L, -2, (lua_Integer)i + 1);
		leave(w, was);
	}
	return true;
}

static bool push_bitfield(struct walk *w, const struct member *m,
			  struct nb_view v)
{
	uint32_t id = m->type;
	struct type t;

	if (!resolve(w->b, &id, &t))
		return bad(w, "type information: damaged");
	return push_scalar(w, &t, v, m->bit, m->bits);
}

/* The number at the top, of a field of @name, as the word that encoding
 * takes there. */
static void name_number(struct walk *w, const char *name)
{
	int kind = nccl_field(name), isint;
	lua_Integer n;
	const char *word;

	if (kind < 0 || lua_type(w->L, -1) != LUA_TNUMBER)
		return;
	n = lua_tointegerx(w->L, -1, &isint);
	word = isint && n >= 0 && n < 64 ? nccl_word(kind, (int)n) : NULL;
	if (!word)
		return;
	lua_pop(w->L, 1);
	lua_pushstring(w->L, word);
}

/* Fields of @t into the table at the top of the stack. */
static bool push_fields(struct walk *w, const struct type *t, struct nb_view v,
			int nest)
{
	if (nest > MAX_NEST)
		return bad(w, "type information: nested too deep");
	for (uint32_t i = 0; i < t->vlen; i++) {
		struct member m;
		struct type in;
		uint32_t id;

		if (!get_member(w->b, t, i, &m))
			return bad(w, "type information: damaged member");
		id = m.type;
		if (!resolve(w->b, &id, &in) || !spend(w))
			return bad(w, "type information: damaged");
		int64_t size = size_of(w->b, id, 0);
		struct nb_view part = nb_view_sub(
			v, m.bit / 8, size < 0 ? UINT64_MAX : (uint64_t)size);

		if (!m.name[0] && !m.bits) {
			if ((in.kind == KIND_STRUCT || in.kind == KIND_UNION) &&
			    !push_fields(w, &in, part, nest + 1))
				return false;
			continue;
		}
		if (!m.name[0])
			continue; /* padding */
		size_t was = enter(w, m.name, 0);

		if (m.bits ? !push_bitfield(w, &m, v)
			   : !push_value(w, id, part, nest + 1))
			return false;
		name_number(w, m.name);
		lua_setfield(w->L, -2, m.name);
		leave(w, was);
	}
	return true;
}

/* The names in their order, unnamed members inline, for the JSON encoder
 * and for printing. */
static void push_order(struct walk *w, const struct type *t, lua_Integer *n,
		       int nest)
{
	for (uint32_t i = 0; nest < MAX_NEST && i < t->vlen; i++) {
		struct member m;
		struct type in;

		if (!get_member(w->b, t, i, &m))
			return;
		if (m.name[0]) {
			lua_pushstring(w->L, m.name);
			lua_rawseti(w->L, -2, ++*n);
		} else if (!m.bits && resolve(w->b, &m.type, &in) &&
			   (in.kind == KIND_STRUCT || in.kind == KIND_UNION)) {
			push_order(w, &in, n, nest + 1);
		}
	}
}

/* Metatable with the order, one for each type: the uservalue keeps them. */
static void set_order(struct walk *w, uint32_t id, const struct type *t)
{
	lua_Integer n = 0;

	lua_getiuservalue(w->L, 1, 1);
	if (lua_rawgeti(w->L, -1, id) == LUA_TNIL) {
		lua_pop(w->L, 1);
		lua_createtable(w->L, 0, 1);
		lua_newtable(w->L);
		push_order(w, t, &n, 0);
		lua_setfield(w->L, -2, "order");
		lua_pushvalue(w->L, -1);
		lua_rawseti(w->L, -3, id);
	}
	lua_setmetatable(w->L, -3);
	lua_pop(w->L, 1);
}

static bool push_value(struct walk *w, uint32_t id, struct nb_view v, int nest)
{
	struct type t;

	if (nest > MAX_NEST || !lua_checkstack(w->L, 16))
		return bad(w, "type information: nested too deep");
	if (!resolve(w->b, &id, &t))
		return bad(w, "type information: no such type");
	switch (t.kind) {
	case KIND_INT:
	case KIND_ENUM:
	case KIND_ENUM64:
	case KIND_FLOAT:
		return push_scalar(w, &t, v, 0, t.size > 8 ? 0 : t.size * 8);
	case KIND_PTR:
		return push_scalar(w, &t, v, 0, 64);
	case KIND_ARRAY:
		return push_array(w, &t, v, nest);
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
		lua_newtable(w->L);
		set_order(w, id, &t);
		return push_fields(w, &t, v, nest);
	default:
		return bad(w, "type information: kind %u holds no value",
			   t.kind);
	}
}

/* ---- Lua to bytes ---- */

/* Where a value goes: @size bytes at @p, zeroed before. */
struct place {
	unsigned char *p;
	size_t size;
	uint32_t bit, bits; /* of a number */
	const char *field;  /* its name, "" if none */
};

static bool put_value(struct walk *w, uint32_t id, struct place to, int nest);

static void put_bits(struct place to, uint64_t x)
{
	for (uint32_t i = 0; i < to.bits; i++) {
		uint32_t at = to.bit + i;

		if (x >> i & 1)
			to.p[at / 8] |= (unsigned char)(1u << (at % 8));
	}
}

/* Text of a whole number, in base 10 or with 0x; also above 2^63-1. */
static bool number_of_text(const char *s, uint64_t *x, bool *negative)
{
	char *end;

	*negative = *s == '-';
	errno = 0;
	*x = strtoull(s + *negative, &end, 0);
	return isdigit((unsigned char)s[*negative]) && !*end && !errno;
}

/* A word where a number belongs; fields of NCCL's know the words they take. */
static bool no_number(struct walk *w, const char *field, const char *word)
{
	const char *names[16], *near[2] = { NULL, NULL };
	char all[128] = "";
	size_t n = 0, used = 0;
	int kind = nccl_field(field);

	if (kind < 0)
		return bad(w, "a whole number wanted, found \"%.40s\"", word);
	for (const char *s; n < 16 && (s = nccl_word(kind, (int)n)); n++) {
		names[n] = s;
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
					 n ? ", " : "", s);
		if (used >= sizeof(all))
			used = sizeof(all) - 1;
	}
	if (strlen(word) < 64)
		nb_spec_nearest(word, names, n, near);
	return near[0] ? bad(w, "unknown \"%.40s\", nearest: %s", word, near[0])
		       : bad(w, "a number or one of %s wanted, found \"%.40s\"",
			     all, word);
}

/* The Lua value at the top as sign and magnitude. */
static bool get_number(struct walk *w, const char *field, uint64_t *x,
		       bool *negative)
{
	unsigned long long *box = luaL_testudata(w->L, -1, NB_LUA_U64);
	int isint;
	lua_Integer i;

	*negative = false;
	if (box) {
		*x = *box;
		return true;
	}
	if (lua_isboolean(w->L, -1)) {
		*x = (uint64_t)lua_toboolean(w->L, -1);
		return true;
	}
	if (lua_type(w->L, -1) == LUA_TSTRING) {
		const char *s = lua_tostring(w->L, -1);

		int kind = nccl_field(field);

		if (kind >= 0 && nccl_named(kind, s) >= 0) {
			*x = (uint64_t)nccl_named(kind, s);
			return true;
		}
		if (number_of_text(s, x, negative))
			return true;
		return no_number(w, field, s);
	}
	i = lua_tointegerx(w->L, -1, &isint);
	if (!isint && lua_isnumber(w->L, -1))
		return bad(w, "a whole number wanted, found %g",
			   lua_tonumber(w->L, -1));
	if (!isint)
		return bad(w, "a whole number wanted, found %s",
			   luaL_typename(w->L, -1));
	*negative = i < 0;
	*x = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	return true;
}

static bool store_number(struct walk *w, struct place to, bool is_signed,
			 uint64_t x, bool negative)
{
	/* the largest value: all bits, or all but the sign */
	uint32_t bits = to.bits - is_signed;
	uint64_t max = bits == 0    ? 0
		       : bits >= 64 ? UINT64_MAX
				    : (1ULL << bits) - 1;

	if (negative && (!is_signed || x > max + 1) && x)
		return bad(w,
			   "-%" PRIu64 " is out of range, allowed %s%" PRIu64
			   " to %" PRIu64,
			   x, is_signed ? "-" : "", is_signed ? max + 1 : 0,
			   max);
	if (!negative && x > max)
		return bad(w,
			   "%" PRIu64 " is out of range, allowed %s%" PRIu64
			   " to %" PRIu64,
			   x, is_signed ? "-" : "", is_signed ? max + 1 : 0,
			   max);
	put_bits(to, negative ? 0 - x : x);
	return true;
}

static bool put_int(struct walk *w, const struct type *t, struct place to)
{
	uint32_t enc = 0;
	bool negative = false;
	uint64_t x = 0;

	nb_view_u32(w->b->types, t->off, &enc);
	if (!get_number(w, to.field, &x, &negative))
		return false;
	if (enc >> 24 & INT_BOOL && (negative || x > 1))
		return bad(w, "true or false wanted");
	return store_number(w, to,
			    t->kind == KIND_INT && enc >> 24 & INT_SIGNED, x,
			    negative);
}

static bool same_word(const char *a, const char *b)
{
	while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b))
		a++, b++;
	return !*a && !*b;
}

static bool unknown_enumerator(struct walk *w, const struct type *t,
			       const char *word)
{
	const char *near[2] = { NULL, NULL };
	const char **names = calloc(t->vlen + 1, sizeof(*names));
	struct enumerator e;
	size_t n = 0;

	for (uint32_t i = 0; names && i < t->vlen; i++)
		if (get_enumerator(w->b, t, i, &e))
			names[n++] = e.name;
	if (names && strlen(word) < 64)
		nb_spec_nearest(word, names, n, near);
	bad(w, "no enumerator \"%.40s\" in enum %s%s%s", word,
	    str(w->b, t->name), near[0] ? ", nearest: " : "",
	    near[0] ? near[0] : "");
	free(names);
	return false;
}

static bool put_enum(struct walk *w, const struct type *t, struct place to)
{
	const char *s = lua_tostring(w->L, -1);
	int kind = nccl_enum(str(w->b, t->name));
	struct enumerator e;
	bool negative = false;
	uint64_t x = 0;

	if (lua_type(w->L, -1) == LUA_TSTRING &&
	    !number_of_text(s, &x, &negative)) {
		if (kind >= 0 && nccl_named(kind, s) >= 0) {
			put_bits(to, (uint64_t)nccl_named(kind, s));
			return true;
		}
		for (uint32_t i = 0; i < t->vlen; i++)
			if (get_enumerator(w->b, t, i, &e) &&
			    same_word(e.name, s)) {
				put_bits(to, (uint64_t)e.value);
				return true;
			}
		return unknown_enumerator(w, t, s);
	}
	if (!get_number(w, "", &x, &negative))
		return false;
	/* any number of that many bits: older clang does not say the sign */
	return store_number(w, to, negative, x, negative);
}

static bool put_float(struct walk *w, struct place to)
{
	int isnum;
	double d = lua_tonumberx(w->L, -1, &isnum);
	float f = (float)d;

	if (!isnum)
		return bad(w, "a number wanted, found %s",
			   luaL_typename(w->L, -1));
	if (to.size == sizeof(f))
		memcpy(to.p, &f, sizeof(f));
	else if (to.size == sizeof(d))
		memcpy(to.p, &d, sizeof(d));
	else
		return bad(w, "type information: float of %zu bytes", to.size);
	return true;
}

static bool put_text(struct walk *w, struct place to, uint32_t n)
{
	size_t size;
	const char *s = lua_tolstring(w->L, -1, &size);

	if (size > n || n > to.size)
		return bad(w, "text of %zu bytes, at most %u allowed", size, n);
	memcpy(to.p, s, size);
	return true;
}

static bool put_array(struct walk *w, const struct type *t, struct place to,
		      int nest)
{
	uint32_t elem, n;

	if (!nb_view_u32(w->b->types, t->off, &elem) ||
	    !nb_view_u32(w->b->types, t->off + 8, &n))
		return bad(w, "type information: damaged array");
	if (is_char(w->b, elem) && lua_type(w->L, -1) == LUA_TSTRING)
		return put_text(w, to, n);
	if (!lua_istable(w->L, -1))
		return bad(w, "a list of %u wanted, found %s", n,
			   luaL_typename(w->L, -1));
	int64_t size = size_of(w->b, elem, 0);
	size_t have = lua_rawlen(w->L, -1);

	if (size < 0 || (uint64_t)size * n > to.size)
		return bad(w, "type information: larger than the value");
	if (have > n)
		return bad(w, "%zu elements, at most %u allowed", have, n);
	for (size_t i = 0; i < have; i++) {
		size_t was = enter(w, NULL, (int64_t)i + 1);
		struct place part = { .p = to.p + (size_t)size * i,
				      .size = (size_t)size,
				      .field = "" };

		lua_rawgeti(w->L, -1, (lua_Integer)i + 1);
		if (!spend(w) || !put_value(w, elem, part, nest + 1))
			return false;
		lua_pop(w->L, 1);
		leave(w, was);
	}
	return true;
}

/* Find the member called @name, also in unnamed ones; adds up @bit. */
static bool find_member(const struct btf *b, const struct type *t,
			const char *name, struct member *m, int nest)
{
	for (uint32_t i = 0; nest < MAX_NEST && i < t->vlen; i++) {
		struct member got;
		struct type in;
		uint32_t id;

		if (!get_member(b, t, i, &got))
			return false;
		if (!strcmp(got.name, name)) {
			got.bit += m->bit;
			*m = got;
			return true;
		}
		id = got.type;
		if (got.name[0] || got.bits || !resolve(b, &id, &in))
			continue;
		if (in.kind != KIND_STRUCT && in.kind != KIND_UNION)
			continue;
		struct member deeper = { .bit = m->bit + got.bit };

		if (find_member(b, &in, name, &deeper, nest + 1)) {
			*m = deeper;
			return true;
		}
	}
	return false;
}

static bool unknown_field(struct walk *w, const struct type *t,
			  const char *name)
{
	const char *near[2] = { NULL, NULL };
	const char **names = calloc(t->vlen + 1, sizeof(*names));
	char all[160] = "";
	struct member m;
	size_t n = 0, used = 0;

	for (uint32_t i = 0; names && i < t->vlen; i++)
		if (get_member(w->b, t, i, &m) && m.name[0]) {
			names[n++] = m.name;
			used += (size_t)snprintf(all + used, sizeof(all) - used,
						 "%s%s", n > 1 ? ", " : "",
						 m.name);
			if (used >= sizeof(all))
				used = sizeof(all) - 1;
		}
	if (names && strlen(name) < 64)
		nb_spec_nearest(name, names, n, near);
	if (near[0])
		bad(w, "no field \"%.40s\" in %s, nearest: %s", name,
		    str(w->b, t->name), near[0]);
	else
		bad(w, "no field \"%.40s\" in %s, it has %s", name,
		    str(w->b, t->name), all);
	free(names);
	return false;
}

/* Key and value at the top: store the field. */
static bool put_field(struct walk *w, const struct type *t, struct place to,
		      int nest)
{
	struct member m = { .bit = 0 };
	const char *name;

	if (lua_type(w->L, -2) != LUA_TSTRING)
		return bad(w, "fields have names, found a key of type %s",
			   luaL_typename(w->L, -2));
	name = lua_tostring(w->L, -2);
	if (!name[0] || !find_member(w->b, t, name, &m, 0))
		return unknown_field(w, t, name);
	int64_t size = size_of(w->b, m.type, 0);
	struct place part = { .p = to.p, .size = to.size, .field = name };

	if (m.bits) {
		part.bit = m.bit;
		part.bits = m.bits;
		if ((uint64_t)m.bit + m.bits > (uint64_t)to.size * 8)
			return bad(w, "type information: outside the value");
	} else {
		if (size < 0 || m.bit / 8 + (uint64_t)size > to.size)
			return bad(w, "type information: outside the value");
		part.p = to.p + m.bit / 8;
		part.size = (size_t)size;
	}
	size_t was = enter(w, name, 0);

	if (!put_value(w, m.type, part, nest + 1))
		return false;
	leave(w, was);
	return true;
}

static bool put_struct(struct walk *w, const struct type *t, struct place to,
		       int nest)
{
	lua_pushnil(w->L);
	while (lua_next(w->L, -2)) {
		if (!spend(w) || !put_field(w, t, to, nest))
			return false;
		lua_pop(w->L, 1);
	}
	return true;
}

/*
 * A union that was read has all its fields: each is stored alone, and all
 * must say the same of the bytes they have in common.
 */
static bool put_union(struct walk *w, const struct type *t, struct place to,
		      int nest)
{
	unsigned char *tmp = lua_newuserdatauv(w->L, to.size + 1, 0);
	size_t have = 0;

	lua_insert(w->L, -2);
	lua_pushnil(w->L);
	while (lua_next(w->L, -2)) {
		struct place alone = { .p = tmp, .size = to.size };
		struct member m = { .bit = 0 };
		size_t size = to.size, both;

		memset(tmp, 0, to.size + 1);
		if (!spend(w) || !put_field(w, t, alone, nest))
			return false;
		if (find_member(w->b, t, lua_tostring(w->L, -2), &m, 0) &&
		    !m.bits && size_of(w->b, m.type, 0) >= 0 &&
		    (size_t)size_of(w->b, m.type, 0) < size)
			size = (size_t)size_of(w->b, m.type, 0);
		both = have < size ? have : size;
		if (memcmp(tmp, to.p, both))
			return bad(w, "fields of a union that disagree");
		if (size > have)
			memcpy(to.p, tmp, have = size);
		lua_pop(w->L, 1);
	}
	lua_remove(w->L, -2);
	return true;
}

static bool put_fields(struct walk *w, const struct type *t, struct place to,
		       int nest)
{
	if (!lua_istable(w->L, -1))
		return bad(w, "a table of fields wanted, found %s",
			   luaL_typename(w->L, -1));
	return t->kind == KIND_UNION ? put_union(w, t, to, nest)
				     : put_struct(w, t, to, nest);
}

static bool put_value(struct walk *w, uint32_t id, struct place to, int nest)
{
	struct type t;

	if (nest > MAX_NEST || !lua_checkstack(w->L, 16))
		return bad(w, "nested too deep");
	if (!resolve(w->b, &id, &t))
		return bad(w, "type information: no such type");
	if (!to.bits)
		to.bits = to.size > 8 ? 0 : (uint32_t)to.size * 8;
	switch (t.kind) {
	case KIND_INT:
	case KIND_PTR:
		if (!to.bits)
			return bad(w, "integers of %zu bytes have no Lua form",
				   to.size);
		return put_int(w, &t, to);
	case KIND_ENUM:
	case KIND_ENUM64:
		if (!to.bits)
			return bad(w, "type information: enum of no size");
		return put_enum(w, &t, to);
	case KIND_FLOAT:
		return put_float(w, to);
	case KIND_ARRAY:
		return put_array(w, &t, to, nest);
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
		return put_fields(w, &t, to, nest);
	default:
		return bad(w, "type information: kind %u holds no value",
			   t.kind);
	}
}

/* ---- names of types ---- */

static void name_of(const struct btf *b, uint32_t id, char *out, size_t size,
		    int nest)
{
	uint32_t elem, n;
	char in[120];
	struct type t;

	if (nest > 8 || !get_type(b, id, &t)) {
		snprintf(out, size, "?");
		return;
	}
	const char *name = str(b, t.name);

	switch (t.kind) {
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_ENUM:
	case KIND_ENUM64:
		snprintf(out, size, "%s %s",
			 t.kind == KIND_STRUCT	? "struct"
			 : t.kind == KIND_UNION ? "union"
						: "enum",
			 name[0] ? name : "{...}");
		return;
	case KIND_PTR:
		name_of(b, t.size, in, sizeof(in), nest + 1);
		snprintf(out, size, "%.100s *", in);
		return;
	case KIND_ARRAY:
		if (!nb_view_u32(b->types, t.off, &elem) ||
		    !nb_view_u32(b->types, t.off + 8, &n))
			break;
		name_of(b, elem, in, sizeof(in), nest + 1);
		snprintf(out, size, "%.100s[%u]", in, n);
		return;
	case KIND_VOLATILE:
	case KIND_CONST:
	case KIND_RESTRICT:
	case KIND_TYPE_TAG:
		name_of(b, t.size, out, size, nest + 1);
		return;
	default:
		break;
	}
	snprintf(out, size, "%s", name[0] ? name : "?");
}

/* ---- the object ---- */

static struct btf *to_btf(lua_State *L)
{
	return luaL_checkudata(L, 1, BTF);
}

static uint32_t to_id(lua_State *L, int arg)
{
	lua_Integer id = luaL_checkinteger(L, arg);

	luaL_argcheck(L, id >= 0 && id <= UINT32_MAX, arg, "a type id wanted");
	return (uint32_t)id;
}

static void start(struct walk *w, lua_State *L, const struct btf *b)
{
	memset(w, 0, sizeof(*w));
	w->b = b;
	w->L = L;
	w->budget = MAX_ELEMENTS;
}

/* btf:decode(id, bytes[, exact[, name]]) -> value | nil, err; @name: of the
 * variable or field that it is, "" if none */
static int btf_decode(lua_State *L)
{
	struct btf *b = to_btf(L);
	uint32_t id = to_id(L, 2);
	struct walk w;
	size_t size;
	const char *p = luaL_checklstring(L, 3, &size);
	const char *name = luaL_optstring(L, 5, "");

	start(&w, L, b);
	w.exact = lua_toboolean(L, 4);
	if (push_value(&w, id, nb_view(p, size), 0)) {
		name_number(&w, name);
		return 1;
	}
	w.err.code = NB_E_BTF;
	return nb_lua_fail(L, &w.err);
}

/* btf:encode(id, value, size[, name]) -> bytes | nil, err */
static int btf_encode(lua_State *L)
{
	struct btf *b = to_btf(L);
	uint32_t id = to_id(L, 2);
	lua_Integer size = luaL_checkinteger(L, 4);
	const char *name = luaL_optstring(L, 5, "");
	struct walk w;

	luaL_argcheck(L, size >= 0 && size <= 1 << 20, 4, "bytes wanted");
	start(&w, L, b);
	unsigned char *p = lua_newuserdatauv(L, (size_t)size + 1, 0);
	struct place to = { .p = p, .size = (size_t)size, .field = name };
	int64_t real = size_of(b, id, 0);

	memset(p, 0, (size_t)size + 1);
	lua_pushvalue(L, 3);
	if (real != size)
		bad(&w, "type information: %lld bytes, the map has %lld",
		    (long long)real, (long long)size);
	else if (put_value(&w, id, to, 0)) {
		lua_pushlstring(L, (char *)p, (size_t)size);
		return 1;
	}
	return nb_lua_fail(L, &w.err);
}

static int btf_name(lua_State *L)
{
	char text[256];

	name_of(to_btf(L), to_id(L, 2), text, sizeof(text), 0);
	lua_pushstring(L, text);
	return 1;
}

/* btf:order(id) -> names of the fields in their order, or nil */
static int btf_order(lua_State *L)
{
	struct btf *b = to_btf(L);
	uint32_t id = to_id(L, 2);
	lua_Integer n = 0;
	struct type t;
	struct walk w;

	if (!resolve(b, &id, &t) ||
	    (t.kind != KIND_STRUCT && t.kind != KIND_UNION &&
	     t.kind != KIND_DATASEC))
		return 0;
	start(&w, L, b);
	lua_newtable(L);
	push_order(&w, &t, &n, 0);
	return 1;
}

/* btf:find(name) -> id of the struct, union, enum or typedef, or nil */
static int btf_find(lua_State *L)
{
	struct btf *b = to_btf(L);
	const char *name = luaL_checkstring(L, 2);
	struct type t;

	for (uint32_t id = 1; id <= b->ntypes; id++) {
		if (!get_type(b, id, &t) || strcmp(str(b, t.name), name) != 0)
			continue;
		if (t.kind == KIND_STRUCT || t.kind == KIND_UNION ||
		    t.kind == KIND_ENUM || t.kind == KIND_ENUM64 ||
		    t.kind == KIND_TYPEDEF) {
			lua_pushinteger(L, id);
			lua_pushinteger(L, size_of(b, id, 0));
			return 2;
		}
	}
	return 0;
}

/* Step from *@id to its element @index; adds up *@off. */
static bool step_index(struct walk *w, uint32_t *id, lua_Integer index,
		       uint64_t *off)
{
	uint32_t elem, n;
	struct type t;

	if (!resolve(w->b, id, &t) || t.kind != KIND_ARRAY ||
	    !nb_view_u32(w->b->types, t.off, &elem) ||
	    !nb_view_u32(w->b->types, t.off + 8, &n))
		return bad(w, "not an array");
	int64_t size = size_of(w->b, elem, 0);

	if (index < 0 || index >= n || size < 0)
		return bad(w, "index %lld, it has 0 to %lld", (long long)index,
			   (long long)n - 1);
	*id = elem;
	*off += (uint64_t)size * (uint64_t)index;
	return true;
}

static bool step_field(struct walk *w, uint32_t *id, const char *name,
		       uint64_t *off)
{
	struct member m = { .bit = 0 };
	struct type t;

	if (!resolve(w->b, id, &t) ||
	    (t.kind != KIND_STRUCT && t.kind != KIND_UNION &&
	     t.kind != KIND_DATASEC))
		return bad(w, "no fields here, so no \"%.40s\"", name);
	if (!find_member(w->b, &t, name, &m, 0))
		return unknown_field(w, &t, name);
	if (m.bits || m.bit % 8)
		return bad(w, "\"%.40s\" is a bit field", name);
	*id = m.type;
	*off += m.bit / 8;
	return true;
}

/* btf:at(id, {name or index, ...}) -> id, offset, size | nil, err */
static int btf_at(lua_State *L)
{
	struct btf *b = to_btf(L);
	uint32_t id = to_id(L, 2);
	uint64_t off = 0;
	struct walk w;
	bool good = true;

	luaL_checktype(L, 3, LUA_TTABLE);
	start(&w, L, b);
	for (lua_Integer i = 1; good; i++) {
		int kind = lua_rawgeti(L, 3, i);

		if (kind == LUA_TNIL)
			break;
		good = lua_isinteger(L, -1)
			       ? step_index(&w, &id, lua_tointeger(L, -1), &off)
			       : step_field(&w, &id, luaL_checkstring(L, -1),
					    &off);
		lua_pop(L, 1);
	}
	if (!good)
		return nb_lua_fail(L, &w.err);
	lua_pushinteger(L, id);
	lua_pushinteger(L, (lua_Integer)off);
	lua_pushinteger(L, size_of(b, id, 0));
	return 3;
}

static int btf_gc(lua_State *L)
{
	struct btf *b = to_btf(L);

	free(b->offsets);
	free(b->bytes);
	memset(b, 0, sizeof(*b));
	return 0;
}

static int index_types(struct btf *b, struct nb_err *err)
{
	uint32_t cap = 0;

	for (uint32_t off = 0; off < b->types.size;) {
		uint32_t info;
		int64_t more;

		if (!nb_view_u32(b->types, (uint64_t)off + 4, &info))
			return nb_fail(err, NB_E_BTF, off,
				       "type information: cut off");
		more = extra(info >> 24 & 0x1f, info & 0xffff);
		if (more < 0 ||
		    !nb_view_has(b->types, off, 12 + (uint64_t)more))
			return nb_fail(err, NB_E_BTF, off,
				       "type information: damaged type %u",
				       b->ntypes + 1);
		if (b->ntypes == cap) {
			uint32_t *p;

			cap = cap ? cap * 2 : 256;
			p = cap > MAX_TYPES
				    ? NULL
				    : realloc(b->offsets, cap * sizeof(*p));
			if (!p)
				return nb_fail(
					err, NB_E_LIMIT, off,
					"type information: too many types");
			b->offsets = p;
		}
		b->offsets[b->ntypes++] = off;
		off += 12 + (uint32_t)more;
	}
	return 0;
}

static int open_blob(struct btf *b, size_t size, struct nb_err *err)
{
	struct nb_view v = nb_view(b->bytes, size);
	uint32_t hdr, type_off, type_len, str_off, str_len;
	uint16_t magic;

	if (!nb_view_u16(v, 0, &magic) || magic != MAGIC ||
	    !nb_view_u32(v, 4, &hdr) || !nb_view_u32(v, 8, &type_off) ||
	    !nb_view_u32(v, 12, &type_len) || !nb_view_u32(v, 16, &str_off) ||
	    !nb_view_u32(v, 20, &str_len) || hdr < 24)
		return nb_fail(err, NB_E_BTF, 0,
			       "type information: damaged header");
	b->types = nb_view_sub(v, (uint64_t)hdr + type_off, type_len);
	b->strings = nb_view_sub(v, (uint64_t)hdr + str_off, str_len);
	if (!b->types.p || !b->strings.p)
		return nb_fail(err, NB_E_BTF, 0, "type information: cut off");
	return index_types(b, err);
}

/* btf(bytes) -> object | nil, err */
static int btf_new(lua_State *L)
{
	size_t size;
	const char *p = luaL_checklstring(L, 1, &size);
	struct btf *b = lua_newuserdatauv(L, sizeof(*b), 1);
	struct nb_err err;

	memset(b, 0, sizeof(*b));
	luaL_setmetatable(L, BTF);
	lua_newtable(L);
	lua_setiuservalue(L, -2, 1);
	b->bytes = malloc(size + 1);
	if (!b->bytes)
		return luaL_error(L, "not enough memory");
	memcpy(b->bytes, p, size);
	if (open_blob(b, size, &err))
		return nb_lua_fail(L, &err);
	return 1;
}

void nb_lua_open_btf(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "decode", btf_decode }, { "encode", btf_encode },
		{ "name", btf_name },	  { "order", btf_order },
		{ "find", btf_find },	  { "at", btf_at },
		{ "__gc", btf_gc },	  { NULL, NULL }
	};
	static const luaL_Reg fns[] = { { "btf", btf_new }, { NULL, NULL } };

	luaL_newmetatable(L, BTF);
	luaL_setfuncs(L, methods, 0);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
	luaL_setfuncs(L, fns, 0);
}
