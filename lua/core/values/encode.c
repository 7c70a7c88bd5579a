// SPDX-License-Identifier: MIT
/*
 * Lua values to bytes of map keys and values, by their type: the reverse of
 * decode.c. A value that its type cannot hold is refused with the path to the
 * invalid part.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/spec/spec.h"
#include "lua/core/values/value.h"

/* The place of a value: @size zeroed bytes at @p. */
struct place {
	unsigned char *p;
	size_t size;
	uint32_t bit, bits; /* position of a bit field */
	const char *field;  /* name of the field, "" if it has none */
};

/* A number: its sign and its magnitude. */
struct number {
	uint64_t x;
	bool negative;
};

static bool put_value(struct nb_walk *w, uint32_t id, struct place to);

static void put_bits(struct place to, uint64_t x)
{
	for (uint32_t i = 0; i < to.bits; i++) {
		uint32_t at = to.bit + i;

		if (x >> i & 1)
			to.p[at / 8] |= (unsigned char)(1u << (at % 8));
	}
}

/* Parse a whole number in base 10 or with 0x, also above 2^63-1. */
static bool parse_number(const char *s, struct number *n)
{
	char *end;

	n->negative = *s == '-';
	errno = 0;
	n->x = strtoull(s + n->negative, &end, 0);
	return nb_is_digit(s[n->negative]) && !*end && !errno;
}

/*
 * Fail with a message: @word was found, a number or one of NCCL's @words was
 * expected.
 */
static bool no_number(struct nb_walk *w, const struct nb_words *words, const char *word)
{
	const char *names[16], *near[2];
	char all[128] = "";
	size_t n = 0, used = 0;

	if (!words)
		return nb_walk_fail(w, "the value is \"%.40s\", but must be a whole number", word);
	for (; n < 16 && (names[n] = words->word((int)n)); n++)
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
						 n ? ", " : "", names[n]);
	nb_spec_nearest(word, names, n, near);
	if (near[0])
		return nb_walk_fail(w, "unknown \"%.40s\", nearest: %s", word, near[0]);
	return nb_walk_fail(w, "the value is \"%.40s\", but must be a number or one of %s", word,
			    all);
}

/* Parse a word of NCCL or a number. */
static bool number_of_text(struct nb_walk *w, const char *field, struct number *n)
{
	const struct nb_words *words = nb_words_of_field(field);
	const char *s = lua_tostring(w->L, -1);
	int word = words ? words->number(s) : -1;

	if (word >= 0)
		*n = (struct number){ (uint64_t)word, false };
	return word >= 0 || parse_number(s, n) || no_number(w, words, s);
}

/* Read the Lua value at the top as a number. */
static bool get_number(struct nb_walk *w, const char *field, struct number *n)
{
	unsigned long long *box = luaL_testudata(w->L, -1, NB_LUA_U64);
	int isint;
	lua_Integer i;

	*n = (struct number){ 0, false };
	if (box || lua_isboolean(w->L, -1)) {
		n->x = box ? *box : (unsigned)lua_toboolean(w->L, -1);
		return true;
	}
	if (lua_type(w->L, -1) == LUA_TSTRING)
		return number_of_text(w, field, n);
	i = lua_tointegerx(w->L, -1, &isint);
	if (!isint && lua_isnumber(w->L, -1)) {
		nb_walk_fail(w, "the value is %s, but must be a whole number",
			     luaL_tolstring(w->L, -1, NULL));
		lua_pop(w->L, 1);
		return false;
	}
	if (!isint)
		return nb_walk_fail(w, "the value is of type %s, but must be a whole number",
				    luaL_typename(w->L, -1));
	n->negative = i < 0;
	n->x = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	return true;
}

static bool store_number(struct nb_walk *w, struct place to, bool is_signed, struct number n)
{
	/* the largest value has all bits set, or all except the sign bit */
	uint32_t bits = to.bits - is_signed;
	uint64_t max = bits == 0 ? 0 : bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
	uint64_t most = n.negative ? is_signed ? max + 1 : 0 : max;

	if (n.x > most)
		return nb_walk_fail(
			w, "%s%" PRIu64 " is out of range, allowed %s%" PRIu64 " to %" PRIu64,
			n.negative ? "-" : "", n.x, is_signed ? "-" : "", is_signed ? max + 1 : 0,
			max);
	put_bits(to, n.negative ? 0 - n.x : n.x);
	return true;
}

/* Store an integer or a pointer. */
static bool put_int(struct nb_walk *w, const struct btf_type *t, struct place to)
{
	uint32_t encoding = btf_is_int(t) ? btf_int_encoding(t) : 0;
	struct number n;

	if (!get_number(w, to.field, &n))
		return false;
	if (encoding & BTF_INT_BOOL && (n.negative || n.x > 1))
		return nb_walk_fail(w, "the value must be true or false");
	return store_number(w, to, encoding & BTF_INT_SIGNED, n);
}

static bool unknown_enumerator(struct nb_walk *w, const struct btf_type *t, const char *word)
{
	/*
	 * the collector frees this memory, because the walk ends with an error
	 */
	const char **names = lua_newuserdatauv(w->L, (btf_vlen(t) + 1u) * sizeof(*names), 0);
	const char *near[2];
	int64_t value;

	for (uint32_t i = 0; i < btf_vlen(t); i++)
		names[i] = nb_btf_enumerator(w->btf, t, i, &value);
	nb_spec_nearest(word, names, btf_vlen(t), near);
	return nb_walk_fail(w, "no enumerator \"%.40s\" in enum %s%s%s", word,
			    nb_btf_str(w->btf, t->name_off), near[0] ? ", nearest: " : "",
			    near[0] ? near[0] : "");
}

static bool put_enum(struct nb_walk *w, const struct btf_type *t, struct place to)
{
	const struct nb_words *words = nb_words_of_enum(nb_btf_str(w->btf, t->name_off));
	const char *s = lua_tostring(w->L, -1);
	struct number n;
	int64_t value;

	if (lua_type(w->L, -1) == LUA_TSTRING && !parse_number(s, &n)) {
		if (words && words->number(s) >= 0) {
			put_bits(to, (uint64_t)words->number(s));
			return true;
		}
		for (uint32_t i = 0; i < btf_vlen(t); i++)
			if (nb_same_word(nb_btf_enumerator(w->btf, t, i, &value), s)) {
				put_bits(to, (uint64_t)value);
				return true;
			}
		return unknown_enumerator(w, t, s);
	}
	/*
	 * accept any number with this many bits: older clang does not record
	 * whether a type is signed
	 */
	return get_number(w, "", &n) && store_number(w, to, n.negative, n);
}

static bool put_float(struct nb_walk *w, struct place to)
{
	int isnum;
	double d = lua_tonumberx(w->L, -1, &isnum);
	float f = (float)d;

	if (!isnum)
		return nb_walk_fail(w, "the value is of type %s, but must be a number",
				    luaL_typename(w->L, -1));
	if (to.size == sizeof(f))
		memcpy(to.p, &f, sizeof(f));
	else if (to.size == sizeof(d))
		memcpy(to.p, &d, sizeof(d));
	else
		return nb_walk_fail(w, "type information: float of %zu bytes", to.size);
	return true;
}

static bool value_put_text(struct nb_walk *w, struct place to, uint32_t n)
{
	size_t size;
	const char *s = lua_tolstring(w->L, -1, &size);

	if (size > n || n > to.size)
		return nb_walk_fail(w, "text of %zu bytes, at most %u allowed", size, n);
	memcpy(to.p, s, size);
	return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool put_array(struct nb_walk *w, const struct btf_type *t, struct place to)
{
	uint32_t elem = btf_array(t)->type, n = btf_array(t)->nelems;
	int64_t size = btf__resolve_size(w->btf, elem);
	size_t have;

	if (nb_btf_is_char(w->btf, elem) && lua_type(w->L, -1) == LUA_TSTRING)
		return value_put_text(w, to, n);
	if (!lua_istable(w->L, -1))
		return nb_walk_fail(w, "the value is of type %s, but must be a list of %u elements",
				    luaL_typename(w->L, -1), n);
	have = lua_rawlen(w->L, -1);
	if (size < 0 || (uint64_t)size * n > to.size)
		return nb_walk_fail(w, "type information: the type is larger than the value");
	if (have > n)
		return nb_walk_fail(w, "%zu elements, at most %u allowed", have, n);
	for (size_t i = 0; i < have; i++) {
		size_t path = nb_walk_enter(w, NULL, (int64_t)i + 1);
		struct place part = { .p = to.p + (size_t)size * i,
				      .size = (size_t)size,
				      .field = "" };

		lua_rawgeti(w->L, -1, (lua_Integer)i + 1);
		if (!nb_walk_count(w) || !put_value(w, elem, part))
			return false;
		lua_pop(w->L, 1);
		nb_walk_leave(w, path);
	}
	return true;
}

/* Store the field whose name and value are at the top. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool value_put_field(struct nb_walk *w, const struct btf_type *t, struct place to,
			    struct nb_member *m)
{
	struct place part = { .p = to.p, .size = to.size };
	const char *name;
	int64_t size;
	size_t path;

	if (lua_type(w->L, -2) != LUA_TSTRING)
		return nb_walk_fail(w, "fields have names, found a key of type %s",
				    luaL_typename(w->L, -2));
	part.field = name = lua_tostring(w->L, -2);
	if (!*name || !nb_btf_find(w->btf, t, name, m))
		return nb_walk_no_field(w, t, name);
	size = btf__resolve_size(w->btf, m->type);
	if (m->bits ? m->bits > 64 || (uint64_t)m->bit + m->bits > to.size * 8
		    : size < 0 || m->bit / 8 + (uint64_t)size > to.size)
		return nb_walk_fail(w, "type information: a field lies outside the value");
	if (m->bits) {
		part.bit = m->bit;
		part.bits = m->bits;
	} else {
		part.p += m->bit / 8;
		part.size = (size_t)size;
	}
	path = nb_walk_enter(w, name, 0);
	if (!put_value(w, m->type, part))
		return false;
	nb_walk_leave(w, path);
	return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool put_struct(struct nb_walk *w, const struct btf_type *t, struct place to)
{
	struct nb_member m;

	lua_pushnil(w->L);
	while (lua_next(w->L, -2)) {
		if (!nb_walk_count(w) || !value_put_field(w, t, to, &m))
			return false;
		lua_pop(w->L, 1);
	}
	return true;
}

/* Copy bits @from to @end of @tmp to @out. @have: bits that @out has already;
 * false if one of them differs. */
static bool merge_bits(unsigned char *out, unsigned char *have, const unsigned char *tmp,
		       uint64_t from, uint64_t end)
{
	for (uint64_t bit = from; bit < end; bit++) {
		unsigned char mask = (unsigned char)(1u << bit % 8);
		uint64_t at = bit / 8;

		if ((have[at] & mask) && ((out[at] ^ tmp[at]) & mask))
			return false;
		out[at] = (unsigned char)((out[at] & ~mask) | (tmp[at] & mask));
		have[at] |= mask;
	}
	return true;
}

/*
 * A decoded union has a value for every field. Store each field separately;
 * they must agree on the bits that they share.
 */
// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool put_union(struct nb_walk *w, const struct btf_type *t, struct place to)
{
	unsigned char *tmp = lua_newuserdatauv(w->L, 2 * to.size + 1, 0);
	struct place alone = { .p = tmp, .size = to.size };
	unsigned char *have = tmp + to.size;

	memset(have, 0, to.size);
	lua_insert(w->L, -2);
	lua_pushnil(w->L);
	while (lua_next(w->L, -2)) {
		uint64_t end = to.size * 8;
		struct nb_member m = { 0 };
		int64_t own;

		memset(tmp, 0, to.size);
		if (!nb_walk_count(w) || !value_put_field(w, t, alone, &m))
			return false;
		/*
		 * Store an unnamed struct's field, which may begin after bit
		 * 0.
		 */
		own = m.bits ? m.bits : 8 * btf__resolve_size(w->btf, m.type);
		if (own >= 0 && m.bit + (uint64_t)own < end)
			end = m.bit + (uint64_t)own;
		if (!merge_bits(to.p, have, tmp, m.bit, end))
			return nb_walk_fail(
				w, "fields of a union set the same bits to different values");
		lua_pop(w->L, 1);
	}
	lua_remove(w->L, -2);
	return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool put_value(struct nb_walk *w, uint32_t id, struct place to)
{
	const struct btf_type *t = nb_btf_bare(w->btf, &id);

	if (!lua_checkstack(w->L, 16))
		return nb_walk_fail(w, "nested too deep");
	if (!t)
		return nb_walk_fail(w, "type information: no type %u", id);
	if (!to.bits)
		to.bits = to.size > 8 ? 0 : (uint32_t)to.size * 8;
	if (btf_is_float(t))
		return put_float(w, to);
	if (btf_is_array(t))
		return put_array(w, t, to);
	if (nb_btf_has_fields(t)) {
		if (!lua_istable(w->L, -1))
			return nb_walk_fail(
				w, "the value is of type %s, but must be a table of fields",
				luaL_typename(w->L, -1));
		return btf_is_union(t) ? put_union(w, t, to) : put_struct(w, t, to);
	}
	if (!btf_is_int(t) && !btf_is_ptr(t) && !btf_is_any_enum(t))
		return nb_walk_fail(w, "type information: kind %u has no values", btf_kind(t));
	if (!to.bits)
		return nb_walk_fail(w, "integers of %zu bytes have no Lua form", to.size);
	return btf_is_any_enum(t) ? put_enum(w, t, to) : put_int(w, t, to);
}

bool nb_value_put(struct nb_walk *w, uint32_t id, unsigned char *to, size_t size, const char *name)
{
	return put_value(w, id, (struct place){ .p = to, .size = size, .field = name });
}
