// SPDX-License-Identifier: MIT
/*
 * Policies without a compiler: makes images from tables of rows; makes rows and
 * object files from images.
 */
#include "lua/core/core.h"

#include "core/image/image.h"
#include "core/load/write.h"
#include "core/csvpolicy/table.h"

#define TABLE "ncclbpf.table"
enum { MAX_FAULTS = 10 };
#define IMAGES (2 * (size_t)NB_IMAGE_MAX_SIZE)

static int table_gc(lua_State *L)
{
	nb_table_fini(luaL_checkudata(L, 1, TABLE));
	return 0;
}

/* Push a table that the collector frees, also after an error is raised. */
static struct nb_table *push_table(lua_State *L)
{
	struct nb_table *t = lua_newuserdatauv(L, sizeof(*t), 0);

	*t = (struct nb_table){ 0 };
	nb_lua_collected(L, TABLE, table_gc);
	return t;
}

/* Push nil and an error with line, col and field. */
static int fail_at(lua_State *L, const struct nb_table_where *where,
		   const struct nb_err *err)
{
	int n = nb_lua_fail(L, err);

	if (where->line) {
		nb_lua_set_int(L, "line", where->line);
		nb_lua_set_int(L, "col", where->col);
		nb_lua_set_str(L, "field", where->field);
	}
	return n;
}

/*
 * Add the further faults of a table to the error at the top, as a list of
 * {line, col, message}.
 */
static void add_faults(lua_State *L, const char *text, size_t size,
		       const struct nb_table_opts *opts)
{
	struct nb_table_fault *f =
		lua_newuserdatauv(L, MAX_FAULTS * sizeof(*f), 0);
	uint32_t n = nb_table_faults(text, size, opts, f, MAX_FAULTS);

	lua_createtable(L, (int)n, 0);
	for (uint32_t i = 1; i < n; i++) {
		lua_createtable(L, 0, 3);
		nb_lua_set_int(L, "line", f[i].where.line);
		nb_lua_set_int(L, "col", f[i].where.col);
		nb_lua_set_str(L, "message", f[i].err.text);
		lua_rawseti(L, -2, (lua_Integer)i);
	}
	lua_remove(L, -2);
	lua_setfield(L, -2, "more");
}

static bool flag(lua_State *L, int table, const char *name)
{
	bool v;

	lua_getfield(L, table, name);
	v = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return v;
}

/* table_image(text, {name=, file=, keep_hidden=, reg_buff=}) -> image | nil,
 * err with the first fault, and in err.more up to nine others */
static int table_image(lua_State *L)
{
	size_t size;
	const char *text = luaL_checklstring(L, 1, &size);
	struct nb_table_opts opts = { .keep_hidden = false };
	struct nb_table_where where;
	struct nb_err err = { .code = 0 };
	struct nb_table *t;
	struct nb_buf *out;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_getfield(L, 2, "name");
	opts.name = luaL_checkstring(L, -1);
	lua_getfield(L, 2, "file");
	opts.file = luaL_optstring(L, -1, "");
	opts.keep_hidden = flag(L, 2, "keep_hidden");
	opts.local = flag(L, 2, "reg_buff");
	t = push_table(L);
	out = nb_lua_buf(L, IMAGES);
	if (nb_table_parse(t, text, size, &where, &err) ||
	    nb_table_image(out, t, &opts, &where, &err)) {
		int n = fail_at(L, &where, &err);

		add_faults(L, text, size, &opts);
		return n;
	}
	lua_pushlstring(L, nb_buf_text(out), out->size);
	return 1;
}

/* Read an image, use it in one call, and free it. */
static int with_image(lua_State *L, struct nb_buf *out,
		      int (*use)(struct nb_buf *out, const struct nb_image *img,
				 struct nb_table *t, struct nb_err *err))
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);
	struct nb_table *t = push_table(L);
	struct nb_err err = { .code = 0 };
	struct nb_image *img;
	int rc = nb_image_read(&img, bytes, size, &err);

	if (!rc) {
		rc = use(out, img, t, &err);
		nb_image_free(img);
	}
	if (rc)
		return nb_lua_fail(L, &err);
	lua_pushlstring(L, nb_buf_text(out), out->size);
	lua_pushinteger(L, t->n);
	return 2;
}

static int to_csv(struct nb_buf *out, const struct nb_image *img,
		  struct nb_table *t, struct nb_err *err)
{
	int rc = nb_table_of_image(t, img, err);

	if (!rc)
		nb_table_csv(t, out);
	if (!rc && !nb_buf_ok(out))
		rc = nb_fail(err, NB_E_NOMEM, 0, "table: out of memory");
	return rc;
}

/* table_csv(image bytes) -> text, number of rows | nil, err */
static int table_csv(lua_State *L)
{
	return with_image(L, nb_lua_buf(L, 0), to_csv);
}

static int to_object(struct nb_buf *out, const struct nb_image *img,
		     struct nb_table *t, struct nb_err *err)
{
	(void)t;
	return nb_object_write(out, img, err);
}

/* image_object(image bytes) -> bytes of an object file | nil, err */
static int image_object(lua_State *L)
{
	return with_image(L, nb_lua_buf(L, 0), to_object) == 2 &&
			       !lua_isnil(L, -2)
		       ? (lua_pop(L, 1), 1)
		       : 2;
}

void nb_lua_open_table(lua_State *L)
{
	static const luaL_Reg fns[] = { { "table_image", table_image },
					{ "table_csv", table_csv },
					{ "image_object", image_object },
					{ NULL, NULL } };

	luaL_setfuncs(L, fns, 0);
}
