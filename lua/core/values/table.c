// SPDX-License-Identifier: MIT
/*
 * Makes the images and objects of decision tables: all have the program of
 * lua/bpf/table.bpf.c, and each has a search tree of its own.
 */
#include "lua/core/values/values.h"

#include <elf.h>
#include <string.h>

#include "core/bpf/image/param.h"
#include "core/load/object.h"
#include "lua/core/support/support.h"

extern const unsigned char nb_table_bpf[];
extern const unsigned long nb_table_bpf_size;

static struct nb_map_spec data_section(lua_State *L, int arg, const char *name)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, arg, &size);

	return (struct nb_map_spec){
		.name = name,
		.type = NB_MAP_ARRAY,
		.key_size = 4,
		.value_size = (uint32_t)size,
		.max_entries = 1,
		.flags = NB_F_RDONLY_PROG,
		.origin = NB_ORIGIN_RODATA,
		.init = (const unsigned char *)bytes,
	};
}

/* The parts of a table's image that are the table's own. */
struct table {
	struct nb_map_spec sections[4];
	uint32_t nsections;
	struct nb_line line;
	struct nb_name names[2 * NB_IMAGE_MAX_PARAMS + 1];
	uint32_t nnames;
};

/* Write @img with the parts of a table in place of its own. */
static int write_table(struct nb_buf *out, const struct nb_image *img, const struct table *t,
		       struct nb_err *err)
{
	struct nb_prog prog = img->progs[0];
	struct nb_image table = { .name = img->name,
				  .maps = t->sections,
				  .nmaps = t->nsections,
				  .progs = &prog,
				  .nprogs = 1,
				  .ctx_fields = img->ctx_fields,
				  .nctx_fields = img->nctx_fields,
				  .names = t->names,
				  .nnames = t->nnames };

	prog.lines = &t->line;
	prog.nlines = 1;
	return nb_image_write(out, &table, err);
}

/* Add the sections of parameters, with the list of their variables at @arg + 2. */
static void add_params(lua_State *L, int arg, struct table *t)
{
	lua_Integer n = luaL_len(L, arg + 2);
	uint32_t map = t->nsections;

	luaL_argcheck(L, n <= 2 * NB_IMAGE_MAX_PARAMS, arg + 2, "too many");
	t->sections[t->nsections++] = data_section(L, arg, ".rodata.params");
	t->sections[t->nsections++] = data_section(L, arg + 1, NB_IMAGE_TABLE_SOURCE);
	t->names[0] = (struct nb_name){ .map = map,
					.part = NB_NAME_VALUE,
					.name = ".rodata.params",
					.size = t->sections[map].value_size,
					.elem = t->sections[map].value_size };
	for (lua_Integer i = 1, off = 0; i <= n; i++) {
		struct nb_name *to = &t->names[i];

		lua_rawgeti(L, arg + 2, i);
		lua_rawgeti(L, -1, 1);
		lua_rawgeti(L, -2, 2);
		*to = (struct nb_name){ .map = map,
					.part = NB_NAME_VALUE,
					.level = 1,
					.name = luaL_checkstring(L, -2), /* the list keeps it */
					.off = (uint32_t)off,
					.size = (uint32_t)luaL_checkinteger(L, -1) };
		to->elem = to->size;
		off += to->size;
		lua_pop(L, 3);
	}
	t->nnames = (uint32_t)n + 1;
}

/*
 * table_image(name, head and tree, packed rows, file, line, text of the line[, values and ranges
 * of parameters, source, {{variable's name, bytes}}]) -> image | nil, err. Messages of the verifier
 * show the line.
 */
static int table_image(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	struct table t = { .sections = { data_section(L, 2, ".rodata"),
					 data_section(L, 3, ".rodata.rows") },
			   .nsections = 2,
			   .line = { .file = luaL_checkstring(L, 4),
				     .line = (uint32_t)luaL_checkinteger(L, 5),
				     .text = luaL_checkstring(L, 6) } };
	struct nb_image *img = NULL;
	struct nb_err err = { .code = 0 };
	struct nb_buf *made, *out;
	int rc;

	if (!lua_isnoneornil(L, 7))
		add_params(L, 7, &t);
	made = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	rc = nb_object_image(made, nb_table_bpf, nb_table_bpf_size, name, &err);
	if (!rc)
		rc = nb_image_read(&img, made->data, made->size, &err);
	if (!rc)
		rc = write_table(out, img, &t, &err);
	nb_image_free(img);
	return nb_lua_bytes_of(L, rc, out, &err);
}

/* Give section @name of the object @o other bytes, which are put at its end. */
static void replace_section(struct nb_buf *o, const char *name, const void *bytes, size_t size)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	uint64_t names, at;

	memcpy(&h, o->data, sizeof(h));
	memcpy(&s, o->data + h.e_shoff + h.e_shstrndx * sizeof(s), sizeof(s));
	names = s.sh_offset;
	nb_buf_zeros(o, -o->size & 7);
	for (unsigned i = 1; nb_buf_ok(o) && i < h.e_shnum; i++) {
		at = h.e_shoff + i * sizeof(s);
		memcpy(&s, o->data + at, sizeof(s));
		if (strcmp(o->data + names + s.sh_name, name) != 0)
			continue;
		s.sh_offset = o->size;
		s.sh_size = size;
		memcpy(o->data + at, &s, sizeof(s));
	}
	nb_buf_bytes(o, bytes, size);
}

/* Is the object @o that of the image: has it the same instructions? */
static bool object_is(const struct nb_buf *o, const struct nb_image *img, struct nb_err *err)
{
	struct nb_image *again = NULL;
	struct nb_buf bytes;
	bool same = false;

	nb_buf_init(&bytes, NB_IMAGE_MAX_SIZE);
	if (!nb_object_image(&bytes, o->data, o->size, img->name, err) &&
	    !nb_image_read(&again, bytes.data, bytes.size, err))
		same = again->nprogs == img->nprogs && again->nmaps == img->nmaps &&
		       again->progs->nslots == img->progs->nslots &&
		       !memcmp(again->progs->slots, img->progs->slots,
			       img->progs->nslots * sizeof(*img->progs->slots));
	nb_image_free(again);
	nb_buf_fini(&bytes);
	return same;
}

/* table_object(image of a table) -> bytes of an object file | nil, err */
static int table_object(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);
	struct nb_buf *out = nb_lua_buf(L, 2 * (size_t)NB_IMAGE_MAX_SIZE);
	struct nb_image *img = NULL;
	struct nb_err err = { .code = 0 };
	int rc = nb_image_read(&img, bytes, size, &err);

	if (!rc && nb_image_map(img, NB_IMAGE_TABLE_SOURCE) >= 0)
		rc = nb_fail(&err, NB_E_NOTSUP, 0,
			     "policy %s is a table with parameters, which an object file cannot "
			     "have (allowed: an image, such as out=%.40s.policy)",
			     img->name, img->name);
	nb_buf_bytes(out, nb_table_bpf, nb_table_bpf_size);
	for (uint32_t i = 0; !rc && nb_buf_ok(out) && i < img->nmaps; i++)
		if (img->maps[i].origin == NB_ORIGIN_RODATA)
			replace_section(out, img->maps[i].name, img->maps[i].init,
					img->maps[i].value_size);
	if (!rc && (!nb_buf_ok(out) || !object_is(out, img, &err)))
		rc = nb_fail(&err, NB_E_NOTSUP, 0,
			     "policy %s is not a table of this version, "
			     "and only such a table becomes an object file",
			     img->name);
	nb_image_free(img);
	return nb_lua_bytes_of(L, rc, out, &err);
}

const luaL_Reg nb_lua_table[] = { { "table_image", table_image },
				  { "table_object", table_object },
				  { NULL, NULL } };
