// SPDX-License-Identifier: MIT
/*
 * Bytes of map keys and values to Lua values, by their type:
 *
 *   integer, pointer -> integer      bool -> boolean    float -> number
 *   enum -> word, or the number      char[] -> string   array -> list
 *   struct, union, data section -> table by field; unnamed members inline
 *
 * NCCL's enums of ncclbpf_policy.h, and plain integers in fields named coll,
 * algo and proto, become the words of NVIDIA's tuner files.
 */
#include <string.h>

#include "core/base/view.h"
#include "lua/core/values/value.h"

static bool push_value(struct nb_walk *w, uint32_t id, struct nb_view v);

static bool too_large(struct nb_walk *w)
{
	return nb_walk_fail(w, "type information: the type is larger than the value");
}

static bool read_bits(struct nb_view v, uint32_t bit, uint32_t bits, uint64_t *x)
{
	*x = 0;
	if (!nb_view_has(v, bit / 8, (bit % 8 + bits + 7) / 8))
		return false;
	for (uint32_t i = 0; i < bits; i++) {
		uint32_t at = bit + i;

		*x |= (uint64_t)(v.p[at / 8] >> (at % 8) & 1) << i;
	}
	return true;
}

static uint64_t sign_extend(uint64_t x, uint32_t bits)
{
	return bits < 64 && x >> (bits - 1) & 1 ? x | ~0ULL << bits : x;
}

/* @encoding: BTF_INT_* */
static void push_number(struct nb_walk *w, uint64_t x, uint32_t bits, uint32_t encoding)
{
	if (encoding & BTF_INT_BOOL)
		lua_pushboolean(w->L, x != 0);
	else if (encoding & BTF_INT_SIGNED)
		lua_pushinteger(w->L, (lua_Integer)sign_extend(x, bits));
	else if (w->exact && x > INT64_MAX)
		nb_lua_push_u64(w->L, x);
	else
		lua_pushinteger(w->L, (lua_Integer)x);
}

/* Push NCCL's word for the number @n. False: there is no such word. */
static bool push_word(struct nb_walk *w, const struct nb_words *words, int64_t n)
{
	const char *word = words && n >= 0 && n < 64 ? words->word((int)n) : NULL;

	if (word)
		lua_pushstring(w->L, word);
	return word != NULL;
}

static void push_enum(struct nb_walk *w, const struct btf_type *t, uint64_t x, uint32_t bits)
{
	const struct nb_words *words = nb_words_of_enum(nb_btf_str(w->btf, t->name_off));
	/* clang before version 15 does not mark our signed enums as signed */
	bool is_signed = btf_kflag(t) || (btf_is_enum(t) &&
					  !strncmp(nb_btf_str(w->btf, t->name_off), "ncclbpf_", 8));
	int64_t v = (int64_t)(is_signed ? sign_extend(x, bits) : x), value;

	if (push_word(w, words, v))
		return;
	for (uint32_t i = 0; !words && i < btf_vlen(t); i++) {
		const char *name = nb_btf_enumerator(w->btf, t, i, &value);

		if (value == v || (bits == 32 && (uint32_t)value == (uint32_t)v)) {
			lua_pushstring(w->L, name);
			return;
		}
	}
	lua_pushinteger(w->L, v);
}

static void push_float(struct nb_walk *w, uint64_t x, uint32_t bits)
{
	uint32_t half = (uint32_t)x;
	double d;
	float f;

	memcpy(&f, &half, sizeof(f));
	memcpy(&d, &x, sizeof(d));
	lua_pushnumber(w->L, bits == 32 ? (double)f : d);
}

/* Push a number of a scalar type, of @bits bits at @bit. */
static bool push_scalar(struct nb_walk *w, const struct btf_type *t, struct nb_view v, uint32_t bit,
			uint32_t bits)
{
	uint64_t x;

	if (!bits || bits > 64)
		return nb_walk_fail(w, "type information: no integer may have %u bits", bits);
	if (!read_bits(v, bit, bits, &x))
		return too_large(w);
	if (btf_is_any_enum(t))
		push_enum(w, t, x, bits);
	else if (btf_is_float(t))
		push_float(w, x, bits);
	else
		push_number(w, x, bits, btf_is_int(t) ? btf_int_encoding(t) : 0);
	return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool push_array(struct nb_walk *w, const struct btf_type *t, struct nb_view v)
{
	uint32_t elem = btf_array(t)->type, n = btf_array(t)->nelems;
	int64_t size = btf__resolve_size(w->btf, elem);

	if (size < 0 || !nb_view_has(v, 0, (uint64_t)size * n))
		return too_large(w);
	if (nb_btf_is_char(w->btf, elem)) {
		size_t len = n;

		while (len && !v.p[len - 1])
			len--;
		lua_pushlstring(w->L, (const char *)v.p, len);
		return true;
	}
	lua_newtable(w->L);
	luaL_setmetatable(w->L, "ncclbpf.array");
	for (uint32_t i = 0; i < n; i++) {
		size_t path = nb_walk_enter(w, NULL, i);

		if (!nb_walk_count(w) ||
		    !push_value(w, elem, nb_view_sub(v, (uint64_t)size * i, (uint64_t)size)))
			return false;
		lua_rawseti(w->L, -2, (lua_Integer)i + 1);
		nb_walk_leave(w, path);
	}
	return true;
}

/* Replace the number at the top, the value of field @name, with NCCL's word. */
static void name_number(struct nb_walk *w, const char *name)
{
	if (lua_isinteger(w->L, -1) &&
	    push_word(w, nb_words_of_field(name), lua_tointeger(w->L, -1)))
		lua_remove(w->L, -2);
}

static bool push_member(struct nb_walk *w, const struct nb_member *m, const struct btf_type *type,
			struct nb_view whole, struct nb_view part)
{
	return m->bits ? push_scalar(w, type, whole, m->bit, m->bits)
		       : push_value(w, m->type, part);
}

/* Set the fields of @t in the table at the top of the stack. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool push_fields(struct nb_walk *w, const struct btf_type *t, struct nb_view v)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		struct nb_member m = nb_btf_member(w->btf, t, i);
		uint32_t id = m.type;
		const struct btf_type *in = nb_btf_bare(w->btf, &id);
		int64_t size = btf__resolve_size(w->btf, id);
		struct nb_view part =
			nb_view_sub(v, m.bit / 8, size < 0 ? UINT64_MAX : (uint64_t)size);
		size_t path;

		if (!in)
			return nb_walk_fail(w, "type information: \"%.40s\" has no type", m.name);
		if (!nb_walk_count(w))
			return false;
		if (!*m.name) { /* padding or an unnamed struct */
			if (!m.bits && btf_is_composite(in) && !push_fields(w, in, part))
				return false;
			continue;
		}
		path = nb_walk_enter(w, m.name, 0);
		if (!push_member(w, &m, in, v, part))
			return false;
		name_number(w, m.name);
		lua_setfield(w->L, -2, m.name);
		nb_walk_leave(w, path);
	}
	return true;
}

/*
 * Set the metatable that has the order of the type's fields. Each type has
 * one.
 */
static void set_order(struct nb_walk *w, uint32_t id, const struct btf_type *t)
{
	lua_getiuservalue(w->L, 1, 1);
	if (lua_rawgeti(w->L, -1, id) == LUA_TNIL) {
		lua_pop(w->L, 1);
		lua_createtable(w->L, 0, 1);
		nb_btf_push_order(w->L, w->btf, t);
		lua_setfield(w->L, -2, "order");
		lua_pushvalue(w->L, -1);
		lua_rawseti(w->L, -3, id);
	}
	lua_setmetatable(w->L, -3);
	lua_pop(w->L, 1);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static bool push_value(struct nb_walk *w, uint32_t id, struct nb_view v)
{
	const struct btf_type *t = nb_btf_bare(w->btf, &id);

	if (!lua_checkstack(w->L, 16))
		return nb_walk_fail(w, "nested too deep");
	if (!t)
		return nb_walk_fail(w, "type information: no type %u", id);
	if (btf_is_int(t) || btf_is_any_enum(t) || btf_is_float(t))
		return push_scalar(w, t, v, 0, t->size > 8 ? 0 : t->size * 8);
	if (btf_is_ptr(t))
		return push_scalar(w, t, v, 0, 64);
	if (btf_is_array(t))
		return push_array(w, t, v);
	if (!nb_btf_has_fields(t))
		return nb_walk_fail(w, "type information: kind %u has no values", btf_kind(t));
	lua_newtable(w->L);
	set_order(w, id, t);
	return push_fields(w, t, v);
}

bool nb_value_push(struct nb_walk *w, uint32_t id, const void *bytes, size_t size, const char *name)
{
	if (!push_value(w, id, nb_view(bytes, size)))
		return false;
	name_number(w, name);
	return true;
}
