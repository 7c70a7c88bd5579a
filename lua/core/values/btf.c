// SPDX-License-Identifier: MIT
/*
 * Type information (BTF) of an image as an object of Lua: names and sizes of
 * types, and the conversion of keys and values (decode.c, encode.c). The bytes
 * may come from a damaged file or a hostile target and libbpf 1.1.2 trusts
 * them, so nb_btf_check reads them before libbpf does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "core/load/btf.h"
#include "core/spec/spec.h"
#include "lua/core/values/value.h"

enum { MAX_ELEMENTS = 1 << 20 };

#define BTF "ncclbpf.btf"

/* ---- a walk over a value ---- */

bool nb_walk_fail(struct nb_walk *w, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	if (w->err.code)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	nb_fail(&w->err, NB_E_ARG, 0, "%s%s%s", w->path, w->path_size ? ": " : "", text);
	return false;
}

size_t nb_walk_enter(struct nb_walk *w, const char *name, int64_t index)
{
	size_t size = w->path_size, left = sizeof(w->path) - size;
	int n;

	if (name)
		n = snprintf(w->path + size, left, "%s%s", size ? "." : "", name);
	else
		n = snprintf(w->path + size, left, "[%" PRId64 "]", index);
	w->path_size = n < 0 || (size_t)n >= left ? size : size + (size_t)n;
	return size;
}

void nb_walk_leave(struct nb_walk *w, size_t size)
{
	w->path_size = size;
	w->path[size] = '\0';
}

bool nb_walk_count(struct nb_walk *w)
{
	if (w->budget) {
		w->budget--;
		return true;
	}
	return nb_walk_fail(w, "more than %d elements", MAX_ELEMENTS);
}

bool nb_walk_no_field(struct nb_walk *w, const struct btf_type *t, const char *name)
{
	const char *of = nb_btf_str(w->btf, t->name_off), *near[2] = { NULL };
	/*
	 * the collector frees the memory, since the walk ends with this error
	 */
	const char **names = lua_newuserdatauv(w->L, (btf_vlen(t) + 1u) * sizeof(*names), 0);
	char all[160] = "";
	size_t n = 0, used = 0;

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		names[n] = nb_btf_member(w->btf, t, i).name;
		n += *names[n] != '\0';
	}
	for (size_t i = 0; i < n && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "",
					 names[i]);
	nb_spec_nearest(name, names, n, near);
	if (near[0])
		return nb_walk_fail(w, "no field \"%.40s\" in %s, nearest: %s", name, of, near[0]);
	return nb_walk_fail(w, "no field \"%.40s\" in %s, which has %s", name, of, all);
}

/* ---- types ---- */

const struct btf_type *nb_btf_bare(const struct btf *btf, uint32_t *id)
{
	const struct btf_type *t = btf__type_by_id(btf, *id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_var(t) || btf_is_type_tag(t))) {
		*id = t->type;
		t = btf__type_by_id(btf, *id);
	}
	return t && !btf_is_void(t) ? t : NULL;
}

const char *nb_btf_str(const struct btf *btf, uint32_t off)
{
	const char *s = btf__str_by_offset(btf, off);

	return s ? s : "";
}

bool nb_btf_has_fields(const struct btf_type *t)
{
	return t && (btf_is_composite(t) || btf_is_datasec(t));
}

bool nb_btf_is_char(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = nb_btf_bare(btf, &id);

	return t && btf_is_int(t) && t->size == 1 &&
	       (btf_int_encoding(t) & BTF_INT_CHAR ||
		!strcmp(nb_btf_str(btf, t->name_off), "char"));
}

struct nb_member nb_btf_member(const struct btf *btf, const struct btf_type *t, uint32_t i)
{
	const struct btf_member *m = btf_members(t) + i;

	if (btf_is_datasec(t)) {
		const struct btf_var_secinfo *v = btf_var_secinfos(t) + i;
		const struct btf_type *var = btf__type_by_id(btf, v->type);

		return (struct nb_member){ nb_btf_str(btf, var->name_off), v->type, v->offset * 8,
					   0 };
	}
	return (struct nb_member){ nb_btf_str(btf, m->name_off), m->type,
				   btf_member_bit_offset(t, i), btf_member_bitfield_size(t, i) };
}

const char *nb_btf_enumerator(const struct btf *btf, const struct btf_type *t, uint32_t i,
			      int64_t *value)
{
	if (btf_is_enum64(t)) {
		const struct btf_enum64 *e = btf_enum64(t) + i;

		*value = (int64_t)btf_enum64_value(e);
		return nb_btf_str(btf, e->name_off);
	}
	const struct btf_enum *e = btf_enum(t) + i;

	*value = btf_kflag(t) ? e->val : (int64_t)(uint32_t)e->val;
	return nb_btf_str(btf, e->name_off);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
bool nb_btf_find(const struct btf *btf, const struct btf_type *t, const char *name,
		 struct nb_member *m)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		struct nb_member got = nb_btf_member(btf, t, i);
		uint32_t id = got.type, bit = got.bit;
		const struct btf_type *in = nb_btf_bare(btf, &id);

		if (!strcmp(got.name, name)) {
			*m = got;
			return true;
		}
		if (*got.name || !in || !btf_is_composite(in) || !nb_btf_find(btf, in, name, m))
			continue;
		m->bit += bit;
		return true;
	}
	return false;
}

static const struct nb_words nccl_words[] = {
	{ "ncclbpf_coll", "coll", nb_nccl_coll, nb_nccl_coll_named },
	{ "ncclbpf_algo", "algo", nb_nccl_algo, nb_nccl_algo_named },
	{ "ncclbpf_proto", "proto", nb_nccl_proto, nb_nccl_proto_named },
};

const struct nb_words *nb_words_of_enum(const char *enum_name)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(enum_name, nccl_words[i].enum_name))
			return &nccl_words[i];
	return NULL;
}

const struct nb_words *nb_words_of_field(const char *field)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(field, nccl_words[i].field))
			return &nccl_words[i];
	return NULL;
}

/* Append the field names of @t to the list at the top, which has @n names. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static lua_Integer push_names(lua_State *L, const struct btf *btf, const struct btf_type *t,
			      lua_Integer n)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		struct nb_member m = nb_btf_member(btf, t, i);
		const struct btf_type *in = nb_btf_bare(btf, &m.type);

		if (*m.name) {
			lua_pushstring(L, m.name);
			lua_rawseti(L, -2, ++n);
		} else if (in && btf_is_composite(in)) {
			n = push_names(L, btf, in, n);
		}
	}
	return n;
}

void nb_btf_push_order(lua_State *L, const struct btf *btf, const struct btf_type *t)
{
	lua_newtable(L);
	push_names(L, btf, t, 0);
}

/* Write the name of a type: "struct row", "int[4]", "char *". */
// NOLINTNEXTLINE(misc-no-recursion): as deep as nb_btf_check allows
static void btf_name_of(const struct btf *btf, uint32_t id, char *out, size_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const char *name = t ? nb_btf_str(btf, t->name_off) : "";
	char in[120];

	if (!t) {
		snprintf(out, size, "?");
	} else if (btf_is_composite(t) || btf_is_any_enum(t)) {
		snprintf(out, size, "%s %s",
			 btf_is_struct(t)  ? "struct"
			 : btf_is_union(t) ? "union"
					   : "enum",
			 *name ? name : "{...}");
	} else if (btf_is_ptr(t)) {
		btf_name_of(btf, t->type, in, sizeof(in));
		snprintf(out, size, "%.100s *", in);
	} else if (btf_is_array(t)) {
		btf_name_of(btf, btf_array(t)->type, in, sizeof(in));
		snprintf(out, size, "%.100s[%u]", in, btf_array(t)->nelems);
	} else if (btf_is_mod(t) || btf_is_type_tag(t)) {
		btf_name_of(btf, t->type, out, size);
	} else {
		snprintf(out, size, "%s", *name ? name : "?");
	}
}

/* ---- the object ---- */

struct holder {
	struct btf *btf;
};

static struct btf *to_btf(lua_State *L)
{
	struct holder *h = luaL_checkudata(L, 1, BTF);

	if (!h->btf)
		luaL_error(L, "type information is closed");
	return h->btf;
}

static uint32_t to_id(lua_State *L, int arg)
{
	lua_Integer id = luaL_checkinteger(L, arg);

	luaL_argcheck(L, id >= 0 && id <= UINT32_MAX, arg, "must be the number of a type");
	return (uint32_t)id;
}

static struct nb_walk new_walk(lua_State *L, const struct btf *btf)
{
	return (struct nb_walk){ .L = L, .btf = btf, .budget = MAX_ELEMENTS };
}

/* btf:decode(id, bytes[, exact[, name]]) -> value | nil, err; @name: of the
 * variable or field that holds the value, "" if none */
static int btf_decode(lua_State *L)
{
	struct nb_walk w = new_walk(L, to_btf(L));
	uint32_t id = to_id(L, 2);
	size_t size;
	const char *p = luaL_checklstring(L, 3, &size);

	w.exact = lua_toboolean(L, 4);
	if (nb_value_push(&w, id, p, size, luaL_optstring(L, 5, "")))
		return 1;
	w.err.code = NB_E_BTF;
	return nb_lua_fail(L, &w.err);
}

/* btf:encode(id, value, size[, name]) -> bytes | nil, err */
static int btf_encode(lua_State *L)
{
	struct nb_walk w = new_walk(L, to_btf(L));
	uint32_t id = to_id(L, 2);
	lua_Integer size = luaL_checkinteger(L, 4);
	const char *name = luaL_optstring(L, 5, "");
	int64_t real = btf__resolve_size(w.btf, id);

	luaL_argcheck(L, size >= 0 && size <= 1 << 20, 4, "must be a number of bytes");
	unsigned char *p = lua_newuserdatauv(L, (size_t)size + 1, 0);

	memset(p, 0, (size_t)size + 1);
	lua_pushvalue(L, 3);
	if (real != size)
		nb_walk_fail(&w, "type %u has %lld bytes, the map has %lld", id, (long long)real,
			     (long long)size);
	else if (nb_value_put(&w, id, p, (size_t)size, name)) {
		lua_pushlstring(L, (char *)p, (size_t)size);
		return 1;
	}
	return nb_lua_fail(L, &w.err);
}

static int btf_name(lua_State *L)
{
	char text[256];

	btf_name_of(to_btf(L), to_id(L, 2), text, sizeof(text));
	lua_pushstring(L, text);
	return 1;
}

/* btf:order(id) -> names of the fields in their order, or nil */
static int btf_order(lua_State *L)
{
	struct btf *btf = to_btf(L);
	uint32_t id = to_id(L, 2);
	const struct btf_type *t = nb_btf_bare(btf, &id);

	if (!nb_btf_has_fields(t))
		return 0;
	nb_btf_push_order(L, btf, t);
	return 1;
}

/* btf:find(name) -> id and size of the struct, union, enum or typedef */
static int btf_find(lua_State *L)
{
	struct btf *btf = to_btf(L);
	const char *name = luaL_checkstring(L, 2);

	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (strcmp(nb_btf_str(btf, t->name_off), name) != 0 ||
		    !(btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t)))
			continue;
		lua_pushinteger(L, id);
		lua_pushinteger(L, btf__resolve_size(btf, id));
		return 2;
	}
	return 0;
}

/* Replace *@id with the type of its element @index and add the element's
 * offset to *@off. */
static bool step_index(struct nb_walk *w, uint32_t *id, lua_Integer index, uint64_t *off)
{
	const struct btf_type *t = nb_btf_bare(w->btf, id);
	int64_t size;

	if (!t || !btf_is_array(t))
		return nb_walk_fail(w, "not an array");
	size = btf__resolve_size(w->btf, btf_array(t)->type);
	if (index < 0 || index >= btf_array(t)->nelems || size < 0)
		return nb_walk_fail(w, "no element %lld; the elements are 0 to %lld",
				    (long long)index, (long long)btf_array(t)->nelems - 1);
	*id = btf_array(t)->type;
	*off += (uint64_t)size * (uint64_t)index;
	return true;
}

/*
 * Replace *@id with the type of its field @name, and add the field's offset to
 * *@off.
 */
static bool step_field(struct nb_walk *w, uint32_t *id, const char *name, uint64_t *off)
{
	const struct btf_type *t = nb_btf_bare(w->btf, id);
	struct nb_member m;

	if (!nb_btf_has_fields(t))
		return nb_walk_fail(w, "the value has no fields, so it has no \"%.40s\"", name);
	if (!nb_btf_find(w->btf, t, name, &m))
		return nb_walk_no_field(w, t, name);
	if (m.bits || m.bit % 8)
		return nb_walk_fail(w, "\"%.40s\" is a bit field", name);
	*id = m.type;
	*off += m.bit / 8;
	return true;
}

/* btf:at(id, {name or index, ...}) -> id, offset, size | nil, err */
static int btf_at(lua_State *L)
{
	struct nb_walk w = new_walk(L, to_btf(L));
	uint32_t id = to_id(L, 2);
	uint64_t off = 0;
	bool good = true;

	luaL_checktype(L, 3, LUA_TTABLE);
	for (lua_Integer i = 1; good; i++) {
		int kind = lua_rawgeti(L, 3, i);

		if (kind == LUA_TNIL)
			break;
		good = lua_isinteger(L, -1) ? step_index(&w, &id, lua_tointeger(L, -1), &off)
					    : step_field(&w, &id, luaL_checkstring(L, -1), &off);
		lua_pop(L, 1);
	}
	if (!good)
		return nb_lua_fail(L, &w.err);
	lua_pushinteger(L, id);
	lua_pushinteger(L, (lua_Integer)off);
	lua_pushinteger(L, btf__resolve_size(w.btf, id));
	return 3;
}

static int btf_gc(lua_State *L)
{
	struct holder *h = luaL_checkudata(L, 1, BTF);

	btf__free(h->btf);
	h->btf = NULL;
	return 0;
}

/* Check the bytes and let libbpf open them. */
static int open_bytes(struct holder *h, const void *bytes, size_t size, struct nb_err *err)
{
	struct nb_arena scratch;
	int rc;

	nb_arena_init(&scratch, 0);
	rc = nb_btf_check(nb_view(bytes, size), 0, &scratch, err);
	nb_arena_fini(&scratch);
	if (rc)
		return rc;
	h->btf = btf__new(bytes, (uint32_t)size);
	/* Programs have 64-bit pointers, whatever "long" is in the types. */
	if (libbpf_get_error(h->btf) || btf__set_pointer_size(h->btf, 8)) {
		h->btf = NULL;
		return nb_fail(err, NB_E_BTF, 0, ".BTF: libbpf cannot read the types: %s",
			       strerror(errno));
	}
	return 0;
}

/* btf(bytes) -> object | nil, err */
static int btf_new(lua_State *L)
{
	size_t size;
	const char *p = luaL_checklstring(L, 1, &size);
	struct holder *h = lua_newuserdatauv(L, sizeof(*h), 1);
	struct nb_err err;

	h->btf = NULL;
	luaL_setmetatable(L, BTF);
	lua_newtable(L); /* orders of fields by type id */
	lua_setiuservalue(L, -2, 1);
	return open_bytes(h, p, size, &err) ? nb_lua_fail(L, &err) : 1;
}

void nb_lua_open_btf(lua_State *L)
{
	static const luaL_Reg methods[] = { { "decode", btf_decode }, { "encode", btf_encode },
					    { "name", btf_name },     { "order", btf_order },
					    { "find", btf_find },     { "at", btf_at },
					    { "__gc", btf_gc },	      { NULL, NULL } };
	static const luaL_Reg fns[] = { { "btf", btf_new }, { NULL, NULL } };

	nb_lua_class(L, BTF, methods);
	luaL_setfuncs(L, fns, 0);
}
