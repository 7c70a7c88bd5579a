// SPDX-License-Identifier: MIT
/*
 * Policies that run in this process, outside of a job: decisions, events and
 * controllers one after the other, on contexts that a script makes, by a clock
 * that it steps. Maps keep their contents from one step to the next. This
 * process stands for all processes of a job, so a controller sees its merged
 * maps alone, and its changes hold from the next step on.
 */
#include "lua/core/values/values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/bpf/exec/run/helpers.h"
#include "core/bpf/generation/controller.h"
#include "core/bpf/map/host.h"
#include "core/ncclbpf.h"
#include "lua/core/support/support.h"

#define RUN "ncclbpf.run"

enum { COSTS = NCCL_NUM_ALGOS * NCCL_NUM_PROTOS, MS = 1000000 };

struct run {
	struct nb_policy *policy[NB_GEN_MAX_POLICIES];
	uint32_t npolicies;
	struct nb_gen *gen;
	struct nb_gen_count count;
	uint64_t clock_ns;
	uint64_t last_ns, runs, changes, interval_ns; /* of the controllers */
};

/* A context of any hook whose fields are numbers. */
union run_context {
	struct ncclbpf_tuner tuner;
	struct ncclbpf_controller controller;
	unsigned char bytes[256];
};

static int run_gc(lua_State *L)
{
	struct run *r = luaL_checkudata(L, 1, RUN);

	nb_gen_put(r->gen);
	for (uint32_t i = 0; i < r->npolicies; i++)
		nb_policy_put(r->policy[i]);
	r->gen = NULL;
	r->npolicies = 0;
	return 0;
}

/* Make the policies of the list of images at @i, and their generation. */
static int run_new(lua_State *L, int i, struct run *r, struct nb_policy_opts *opts,
		   struct nb_err *err)
{
	lua_Integer n = luaL_len(L, i);
	int rc = 0;

	if (n > NB_GEN_MAX_POLICIES)
		return nb_fail(err, NB_E_LIMIT, 0, "%lld policies; at most %d run together",
			       (long long)n, NB_GEN_MAX_POLICIES);
	while (!rc && r->npolicies < n) {
		size_t size;
		const char *bytes;

		lua_rawgeti(L, i, (lua_Integer)r->npolicies + 1);
		bytes = luaL_checklstring(L, -1, &size);
		rc = nb_policy_new(&r->policy[r->npolicies], bytes, size, opts, err);
		r->npolicies += !rc;
		lua_pop(L, 1);
	}
	return rc ? rc : nb_gen_new(&r->gen, r->policy, r->npolicies, NULL, err);
}

/* ---- contents of maps ---- */

/*
 * Read a key or value at @i: an integer, stored in @room, or @size bytes.
 * Raises an error if it does not fit.
 */
static const void *element(lua_State *L, int i, uint32_t size, const char *map, lua_Integer *room)
{
	size_t found;

	if (lua_type(L, i) != LUA_TSTRING) {
		if (size > sizeof(*room))
			luaL_error(L, "map %s: the element is a number, but must be %d bytes", map,
				   (int)size);
		*room = luaL_checkinteger(L, i);
		return room;
	}
	const char *bytes = lua_tolstring(L, i, &found);

	if (found != size)
		luaL_error(L, "map %s: the element has %d bytes, but must have %d", map, (int)found,
			   (int)size);
	return bytes;
}

/*
 * Write an element. A per-CPU map gets the value of its first CPU, and zeroes
 * for the others.
 */
static void write_element(lua_State *L, struct nb_map *m, const void *key, const void *value)
{
	size_t size = nb_map_user_value_size(m);
	unsigned char *values = lua_newuserdatauv(L, size + 1, 0);
	struct nb_err err = { .code = 0 };

	memset(values, 0, size);
	memcpy(values, value, nb_map_definition(m)->value_size);
	if (nb_map_write(m, key, values, NB_ANY, &err))
		luaL_error(L, "%s", err.text);
	lua_pop(L, 1);
}

/* Return the distance of two elements of a host map, in bytes. */
static size_t host_step(const struct nb_map *m)
{
	return ((size_t)nb_map_definition(m)->value_size + 7) & ~(size_t)7;
}

/* Make a memory file with the contents of host map @m, pushed as a descriptor. */
static int host_file(lua_State *L, struct nb_map *m)
{
	size_t size = host_step(m) * nb_map_definition(m)->max_entries;
	int *fd = nb_lua_fd(L);

	*fd = memfd_create("host", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || write(*fd, nb_map_array_base(m), size) != (ssize_t)size)
		luaL_error(L, "map %s: no memory file: %s", nb_map_definition(m)->name,
			   strerror(errno));
	return *fd;
}

static void write_host_element(lua_State *L, const struct nb_map *m, int fd, uint32_t key,
			       const void *value)
{
	const struct nb_map_def *def = nb_map_definition(m);

	if (key >= def->max_entries)
		luaL_error(L, "map %s: no element %d; it has %d", def->name, (int)key,
			   (int)def->max_entries);
	if (pwrite(fd, value, def->value_size, (off_t)(host_step(m) * key)) !=
	    (ssize_t)def->value_size)
		luaL_error(L, "map %s: %s", def->name, strerror(errno));
}

/* Show the memory file in host map @m. */
static void host_show(lua_State *L, struct nb_map *m, int fd)
{
	struct nb_err err = { .code = 0 };

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE))
		luaL_error(L, "map %s: %s", nb_map_definition(m)->name, strerror(errno));
	if (nb_map_host_attach(m, fd, &err))
		luaL_error(L, "%s", err.text);
}

/*
 * Store the elements {[key] = value} at the top of the stack. Raises an error
 * if they do not fit.
 */
static void fill_map(lua_State *L, struct nb_map *m)
{
	const struct nb_map_def *s = nb_map_definition(m);
	bool host = nb_map_is_host(m);
	int elements = lua_gettop(L), fd = host ? host_file(L, m) : -1;

	for (lua_pushnil(L); lua_next(L, elements); lua_pop(L, 1)) {
		lua_Integer rooms[2];
		const void *key = element(L, -2, s->key_size, s->name, &rooms[0]);
		const void *value = element(L, -1, s->value_size, s->name, &rooms[1]);
		uint32_t at;

		if (!host) {
			write_element(L, m, key, value);
			continue;
		}
		memcpy(&at, key, sizeof(at));
		write_host_element(L, m, fd, at, value);
	}
	if (host)
		host_show(L, m, fd);
	lua_settop(L, elements);
}

/* Fill maps from the step at the top of the stack: maps = {[policy] = {name = elements}}. */
static void fill_maps(lua_State *L, const struct run *r)
{
	if (lua_getfield(L, -1, "maps") != LUA_TTABLE) {
		lua_pop(L, 1);
		return;
	}
	for (uint32_t p = 0; p < r->npolicies; p++) {
		const struct nb_image *img = r->policy[p]->img;
		bool some = lua_rawgeti(L, -1, (lua_Integer)p + 1) == LUA_TTABLE;

		for (uint32_t i = 0; some && i < img->nmaps; i++) {
			if (lua_getfield(L, -1, img->maps[i].name) == LUA_TTABLE)
				fill_map(L, r->gen->policy[p].maps[i]);
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/* ---- contexts ---- */

/* Set the fields of the context that the table at the top of the stack names. */
static void set_fields(lua_State *L, const struct nb_hook_spec *h, union run_context *ctx)
{
	for (size_t i = 0; i < h->nfields; i++) {
		const struct nb_field_spec *f = &h->fields[i];
		lua_Integer v;

		if (lua_getfield(L, -1, f->name) != LUA_TNIL) {
			v = luaL_checkinteger(L, -1);
			if (f->size > sizeof(v))
				luaL_error(L, "field %s is a text", f->name);
			memcpy(ctx->bytes + f->off, &v, f->size);
		}
		lua_pop(L, 1);
	}
}

static lua_Integer field_value(const struct nb_field_spec *f, const union run_context *ctx)
{
	int32_t narrow;
	int64_t wide;

	if (f->size == sizeof(wide)) {
		memcpy(&wide, ctx->bytes + f->off, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, ctx->bytes + f->off, sizeof(narrow));
	return *f->type == 'u' ? (lua_Integer)(uint32_t)narrow : narrow;
}

/* Push the outputs of a context: {name = number}. */
static void push_outputs(lua_State *L, const struct nb_hook_spec *h, const union run_context *ctx)
{
	lua_createtable(L, 0, 4);
	for (size_t i = 0; i < h->nfields; i++)
		if (h->fields[i].access == NB_OUT)
			nb_lua_set_int(L, h->fields[i].name, field_value(&h->fields[i], ctx));
}

/* Read NCCL's cost table in microseconds, if the step at the top of the stack has one. */
static const float *read_costs(lua_State *L, float *costs)
{
	bool given = lua_getfield(L, -1, "costs") == LUA_TTABLE;

	for (int i = 0; given && i < COSTS; i++) {
		lua_rawgeti(L, -1, i + 1);
		costs[i] = (float)luaL_checknumber(L, -1);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return given ? costs : NULL;
}

static const struct nb_hook_spec *read_hook(lua_State *L)
{
	const struct nb_hook_spec *h;

	lua_getfield(L, -1, "hook");
	h = nb_spec_hook_section(luaL_optstring(L, -1, "tuner"));
	if (!h || h->ctx_size > sizeof(union run_context))
		luaL_error(L, "hook %s: it does not run here", lua_tostring(L, -1));
	lua_pop(L, 1);
	return h;
}

/* ---- steps ---- */

static uint64_t first_interval(void)
{
	int64_t ms = 0;

	nb_spec_param_int(NB_P_CONTROLLER_MS, nb_spec_param(NB_P_CONTROLLER_MS)->def, &ms);
	return (uint64_t)ms * MS;
}

static uint64_t bounded_interval(uint64_t ns)
{
	const struct nb_param_spec *p = nb_spec_param(NB_P_CONTROLLER_MS);
	uint64_t least = (uint64_t)p->min * MS, most = (uint64_t)p->max * MS;

	return ns < least ? least : ns > most ? most : ns;
}

/* Run the controllers of @from on the merged maps of this process. *@out: the next generation. */
static int next_generation(struct nb_gen **out, struct nb_gen *ran, const struct nb_gen *from,
			   struct ncclbpf_controller *ctx, struct nb_err *err)
{
	struct nb_buf maps, change;
	uint64_t lost = 0;
	uint32_t n = 0;
	int rc;

	*out = NULL;
	nb_buf_init(&change, 0);
	rc = nb_controllers_pack(&maps, from, err);
	if (!rc) {
		nb_controllers_merge(ran, maps.data, maps.size, &lost);
		nb_controllers_run(ran, ctx);
		rc = nb_controllers_diff(&change, &n, ran, from, err);
	}
	if (!rc && n)
		rc = nb_controllers_apply(out, from, change.data, change.size, err);
	nb_buf_fini(&maps);
	nb_buf_fini(&change);
	return rc;
}

static int step_controllers(struct run *r, struct ncclbpf_controller *ctx, struct nb_err *err)
{
	struct nb_gen *ran = NULL, *next;
	int rc = nb_gen_for_controllers(&ran, r->gen, err);

	if (rc)
		return rc;
	rc = next_generation(&next, ran, r->gen, ctx, err);
	nb_gen_put(ran);
	if (rc)
		return rc;
	r->runs++;
	r->last_ns = r->clock_ns;
	r->interval_ns = bounded_interval(ctx->interval_ns);
	if (!next)
		return 0;
	r->changes++;
	nb_gen_put(r->gen);
	r->gen = next;
	return 0;
}

/* Step the clock by after_ns, or else for a controller by its interval. */
static void step_clock(lua_State *L, struct run *r, enum nb_hook hook)
{
	uint64_t interval = hook == NB_HOOK_CONTROLLER ? r->interval_ns : 0;

	lua_getfield(L, -1, "after_ns");
	r->clock_ns += (uint64_t)luaL_optinteger(L, -1, (lua_Integer)interval);
	lua_pop(L, 1);
	nb_helper_stop_clock(r->clock_ns);
}

/* Make the context of the step at the top of the stack: what it does not name is "no opinion" for
 * decisions, the run's own state for controllers, and otherwise 0. */
static void make_context(lua_State *L, const struct run *r, const struct nb_hook_spec *h,
			 union run_context *ctx)
{
	memset(ctx, 0, sizeof(*ctx));
	if (h->id == NB_HOOK_TUNER)
		ctx->tuner.algo = ctx->tuner.proto = -1;
	if (h->id == NB_HOOK_CONTROLLER)
		ctx->controller =
			(struct ncclbpf_controller){ .now_ns = r->clock_ns,
						     .since_ns =
							     r->runs ? r->clock_ns - r->last_ns : 0,
						     .run = r->runs,
						     .generation = r->changes + 1,
						     .changes = r->changes,
						     .processes = 1,
						     .ranks = 8,
						     .comms = 1,
						     .interval_ns = r->interval_ns,
						     .wall_ns = r->clock_ns };
	set_fields(L, h, ctx);
}

/* Run the step at the top of the stack, and push its outputs. */
static int step_once(lua_State *L, struct run *r, struct nb_err *err)
{
	const struct nb_hook_spec *h = read_hook(L);
	union run_context ctx;
	float costs[COSTS];
	int rc = 0;

	step_clock(L, r, h->id);
	fill_maps(L, r);
	make_context(L, r, h, &ctx);
	if (h->id == NB_HOOK_CONTROLLER) {
		rc = step_controllers(r, &ctx.controller, err);
	} else if (h->id != NB_HOOK_TUNER) {
		nb_gen_run_event(r->gen, h->id, &ctx, h->ctx_size, 0);
	} else {
		ctx.tuner.costs = read_costs(L, costs);
		if (r->gen->nprogs)
			nb_gen_run_tuner(r->gen, &ctx.tuner, &r->count);
	}
	if (!rc)
		push_outputs(L, h, &ctx);
	return rc;
}

/*
 * policy_run({images}, {steps}[, coherence_off]) -> {outputs} | nil, err
 *
 * A step has the fields of a context of its hook, and may have
 * hook:     its word; "tuner" if omitted. Not "env", whose fields are texts;
 * after_ns: time since the step before; a controller's default is its interval;
 * maps:     {[policy] = {name = {[key] = value}}}, stored before the step;
 * costs:    NCCL's cost table in us, 21 numbers; -1: not offered.
 */
static int policy_run(lua_State *L)
{
	struct nb_policy_opts opts = { .verify.coherence_off = lua_toboolean(L, 3) };
	struct nb_err err = { .code = 0 };
	struct run *r;
	lua_Integer n;
	int rc;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checktype(L, 2, LUA_TTABLE);
	n = luaL_len(L, 2);
	r = lua_newuserdatauv(L, sizeof(*r), 0);
	memset(r, 0, sizeof(*r));
	r->clock_ns = UINT64_C(1000) * MS;
	r->interval_ns = first_interval();
	nb_lua_collected(L, RUN, run_gc);
	nb_lua_policy_limits(&opts);
	rc = run_new(L, 1, r, &opts, &err);
	lua_createtable(L, rc ? 0 : (int)n, 0);
	for (lua_Integer i = 1; !rc && i <= n; i++) {
		lua_rawgeti(L, 2, i);
		luaL_checktype(L, -1, LUA_TTABLE);
		rc = step_once(L, r, &err);
		if (rc)
			break;
		lua_rawseti(L, -3, i);
		lua_pop(L, 1);
	}
	nb_helper_stop_clock(0);
	return rc ? nb_lua_fail(L, &err) : 1;
}

const luaL_Reg nb_lua_run[] = { { "policy_run", policy_run }, { NULL, NULL } };
