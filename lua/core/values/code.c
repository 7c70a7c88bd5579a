// SPDX-License-Identifier: MIT
/*
 * Policies that Lua code makes: an image without an opinion, and conditions in
 * front of a program.
 */
#include "lua/core/values/values.h"

#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/image.h"
#include "core/ncclbpf.h"
#include "lua/core/support/support.h"

/* Get the text of a field. The Lua table keeps the string alive. */
static const char *text(lua_State *L, int table, const char *name)
{
	const char *s;

	lua_getfield(L, table, name);
	s = lua_tostring(L, -1);
	if (!s)
		luaL_error(L, "field %s must be a text", name);
	lua_pop(L, 1);
	return s;
}

/* Fields of a hook's context. */

/* fields(hook) -> [{name type off size access}] */
static int hook_fields(lua_State *L)
{
	const struct nb_hook_spec *h = nb_spec_hook_section(luaL_checkstring(L, 1));

	luaL_argcheck(L, h != NULL, 1, "no such hook");
	lua_createtable(L, (int)h->nfields, 0);
	for (size_t i = 0; i < h->nfields; i++) {
		const struct nb_field_spec *f = &h->fields[i];

		lua_createtable(L, 0, 6);
		nb_lua_set_str(L, "name", f->name);
		nb_lua_set_str(L, "type", f->type);
		nb_lua_set_int(L, "off", f->off);
		nb_lua_set_int(L, "size", f->size);
		nb_lua_set_str(L, "access", f->access == NB_OUT ? "out" : "in");
		nb_lua_set_bool(L, "coherent", f->label == NB_LABEL_COHERENT);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* ---- an image ---- */

static uint32_t context_fields(struct nb_ctx_field *out, uint32_t max)
{
	const struct nb_hook_spec *h = nb_spec_hook(NB_HOOK_TUNER);
	uint32_t n = 0;

	for (; n < h->nfields && n < max; n++)
		out[n] = (struct nb_ctx_field){ NB_HOOK_TUNER, h->fields[n].name, h->fields[n].off,
						h->fields[n].size };
	return n;
}

/*
 * image_none() -> an image with one tuner program, which leaves the choice to
 * NCCL
 */
static int image_none(lua_State *L)
{
	static const struct nb_slot slots[] = { { .opcode = 0xb7 }, { .opcode = 0x95 } };
	struct nb_func func = { .name = "none", .end = 2 };
	struct nb_prog prog = { .name = func.name,
				.section = "tuner",
				.hook = NB_HOOK_TUNER,
				.slots = slots,
				.nslots = func.end,
				.funcs = &func,
				.nfuncs = 1 };
	struct nb_ctx_field known[64];
	struct nb_image img = { .name = "none",
				.progs = &prog,
				.nprogs = 1,
				.ctx_fields = known,
				.nctx_fields = context_fields(known, 64) };
	struct nb_buf *out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	struct nb_err err = { .code = 0 };

	return nb_lua_bytes_of(L, nb_image_write(out, &img, &err), out, &err);
}

/* May a program refer to map @map? */
static bool may_use(const struct nb_image *img, uint32_t map)
{
	for (uint32_t i = 0; i < img->nprogs; i++)
		for (uint32_t k = 0; k < img->progs[i].nslots; k++) {
			const struct nb_slot *s = &img->progs[i].slots[k];

			if (s->opcode == 0x18 && s->regs >> 4 && (uint32_t)s->imm == map)
				return true;
		}
	return false;
}

/*
 * Remove the map .rodata.rows of a table, and its parameters, which no program
 * reads. They no longer describe a program that has a condition in front.
 */
static void drop_rows(struct nb_image *img)
{
	if (img->nmaps < 2 || strcmp(img->maps[1].name, ".rodata.rows") != 0)
		return;
	for (uint32_t i = 1; i < img->nmaps; i++)
		if (img->maps[i].origin != NB_ORIGIN_RODATA || may_use(img, i))
			return;
	img->nmaps = 1;
	while (img->nnames && img->names[img->nnames - 1].map)
		img->nnames--;
}

/* Instructions to insert before a program's own. */
struct front {
	const char *name, *text; /* The new policy's name, and the instructions' source line. */
	const char *slots;
	uint32_t nslots;
};

/*
 * Insert instructions into @p, in memory of @a. Jumps and calls are relative, so
 * the old code moves as a whole; functions and source lines move with it.
 */
static bool put_front(struct nb_arena *a, struct nb_prog *p, const struct front *f)
{
	size_t n = (size_t)f->nslots + p->nslots;
	struct nb_slot *slots = nb_arena_array(a, n, sizeof(*slots));
	struct nb_func *funcs = nb_arena_dup(a, p->funcs, p->nfuncs * sizeof(*funcs));
	struct nb_line *lines = nb_arena_array(a, (size_t)p->nlines + 1, sizeof(*lines));

	if (!slots || !funcs || !lines)
		return false;
	memcpy(slots, f->slots, f->nslots * sizeof(*slots));
	memcpy(slots + f->nslots, p->slots, p->nslots * sizeof(*slots));
	for (uint32_t i = 0; i < p->nfuncs; i++) {
		funcs[i].start += i ? f->nslots : 0;
		funcs[i].end += f->nslots;
	}
	lines[0] = (struct nb_line){ .file = f->name, .text = f->text };
	for (uint32_t i = 0; i < p->nlines; i++) {
		lines[i + 1] = p->lines[i];
		lines[i + 1].pc += f->nslots;
	}
	p->slots = slots;
	p->nslots = (uint32_t)n;
	p->funcs = funcs;
	p->lines = lines;
	p->nlines++;
	return true;
}

/* Write @in with @f before each of its tuner programs. */
static int write_front(struct nb_buf *out, struct nb_image *in, const struct front *f,
		       struct nb_err *err)
{
	struct nb_prog *progs =
		nb_arena_dup(&in->arena, in->progs, in->nprogs * sizeof(*in->progs));
	struct nb_image img = *in;
	bool fine = progs, any = false;

	for (uint32_t i = 0; fine && i < in->nprogs; i++) {
		if (progs[i].hook != NB_HOOK_TUNER)
			continue;
		fine = put_front(&in->arena, &progs[i], f);
		any = true;
	}
	if (!fine)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a policy");
	if (!any)
		return nb_fail(err, NB_E_ARG, 0, "policy %s has no tuner program", in->name);
	img.name = f->name;
	img.progs = progs;
	return nb_image_write(out, &img, err);
}

/*
 * image_front{image=, name=, text=, slots=} -> image | nil, err: inserts the
 * slots before each tuner program. If the image is a table, the result has no
 * .rodata.rows: they no longer describe the program.
 */
static int image_front(lua_State *L)
{
	struct nb_err err = { .code = 0 };
	struct nb_image *img = NULL;
	size_t size, slots_size;
	struct front front;
	struct nb_buf *out;
	const char *bytes;
	int rc;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	lua_getfield(L, 1, "image");
	bytes = luaL_checklstring(L, 2, &size);
	lua_getfield(L, 1, "slots");
	front = (struct front){ .name = text(L, 1, "name"),
				.text = text(L, 1, "text"),
				.slots = luaL_checklstring(L, 3, &slots_size) };
	front.nslots = (uint32_t)(slots_size / NB_SLOT_SIZE);
	out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	rc = nb_image_read(&img, bytes, size, &err);
	if (!rc) {
		drop_rows(img);
		rc = write_front(out, img, &front, &err);
	}
	nb_image_free(img);
	return nb_lua_bytes_of(L, rc, out, &err);
}

const luaL_Reg nb_lua_code[] = { { "fields", hook_fields },
				 { "image_none", image_none },
				 { "image_front", image_front },
				 { NULL, NULL } };
