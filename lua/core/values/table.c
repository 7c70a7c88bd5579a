// SPDX-License-Identifier: MIT
/*
 * Makes the images of decision tables: all have the program of
 * lua/bpf/table.bpf.c, and each has a search tree of its own.
 */
#include "lua/core/values/values.h"

#include "core/bpf/image/image.h"
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

/* Write @img with other data sections and one line record. */
static int write_table(struct nb_buf *out, const struct nb_image *img,
		       const struct nb_map_spec *sections, const struct nb_line *line,
		       struct nb_err *err)
{
	struct nb_prog prog = img->progs[0];
	struct nb_image table = { .name = img->name,
				  .maps = sections,
				  .nmaps = 2,
				  .progs = &prog,
				  .nprogs = 1,
				  .ctx_fields = img->ctx_fields,
				  .nctx_fields = img->nctx_fields };

	prog.lines = line;
	prog.nlines = 1;
	return nb_image_write(out, &table, err);
}

/*
 * table_image(name, head and tree, packed rows, file, line, text of the line)
 * -> image | nil, err. Messages of the verifier show the line.
 */
static int table_image(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	struct nb_map_spec sections[] = {
		data_section(L, 2, ".rodata"),
		data_section(L, 3, ".rodata.rows"),
	};
	struct nb_line line = { .file = luaL_checkstring(L, 4),
				.line = (uint32_t)luaL_checkinteger(L, 5),
				.text = luaL_checkstring(L, 6) };
	struct nb_buf *made = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	struct nb_buf *out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	struct nb_image *img = NULL;
	struct nb_err err = { .code = 0 };
	int rc = nb_object_image(made, nb_table_bpf, nb_table_bpf_size, name, &err);

	if (!rc)
		rc = nb_image_read(&img, made->data, made->size, &err);
	if (!rc)
		rc = write_table(out, img, sections, &line, &err);
	nb_image_free(img);
	return nb_lua_bytes_of(L, rc, out, &err);
}

const luaL_Reg nb_lua_table[] = { { "table_image", table_image }, { NULL, NULL } };
