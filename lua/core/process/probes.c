// SPDX-License-Identifier: MIT
/*
 * Loads programs into the kernel and reads their ring. Only the kernel knows
 * whether it permits them, so the caller gets the kernel's error.
 */
#include "lua/core/process/probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static void detach_all(struct nb_probes *p)
{
	for (unsigned i = 0; i < p->nlinks; i++)
		bpf_link__destroy(p->link[i]);
	p->nlinks = 0;
	free(p->link);
	p->link = NULL;
	ring_buffer__free(p->ring);
	p->ring = NULL;
	bpf_object__close(p->obj);
	p->obj = NULL;
}

static int load(struct nb_probes *p, const struct nb_probes_object *o)
{
	struct bpf_object_open_opts opts = { .sz = sizeof(opts), .object_name = o->name };
	int rc;

	p->link = calloc(NB_PROBES_MAX_LINKS, sizeof(struct bpf_link *));
	if (!p->link)
		return -ENOMEM;
	p->obj = bpf_object__open_mem(o->bytes, o->size, &opts);
	if (!p->obj)
		return -errno;
	if (o->choose)
		o->choose(p->obj);
	rc = bpf_object__load(p->obj);
	if (rc)
		return rc;
	p->ring =
		ring_buffer__new(bpf_object__find_map_fd_by_name(p->obj, "ring"), o->take, p, NULL);
	return p->ring ? 0 : -errno;
}

struct nb_probes *nb_probes_open(lua_State *L, const char *type, const struct nb_probes_object *o)
{
	struct nb_probes *p;
	int rc;

	libbpf_set_print(quiet);
	p = lua_newuserdatauv(L, sizeof(*p), 0);
	memset(p, 0, sizeof(*p));
	luaL_setmetatable(L, type);
	rc = load(p, o);
	if (!rc)
		return p;
	nb_probes_refuse(L, p, "the kernel refuses our BPF programs", rc);
	return NULL;
}

int nb_probes_keep(struct nb_probes *p, struct bpf_link *link)
{
	if (!link)
		return -errno;
	if (p->nlinks >= NB_PROBES_MAX_LINKS) {
		bpf_link__destroy(link);
		return -E2BIG;
	}
	p->link[p->nlinks++] = link;
	return 0;
}

int nb_probes_refuse(lua_State *L, struct nb_probes *p, const char *what, int rc)
{
	bool perm = rc == -EPERM || rc == -EACCES;

	detach_all(p);
	return nb_lua_failf(L, perm ? NB_E_PERM : NB_E_NOTSUP, "%s: %s", what, strerror(-rc));
}

/* probes:read() -> list of records since the last call */
static int read_ring(lua_State *L)
{
	struct nb_probes *p = luaL_checkudata(L, 1, lua_tostring(L, lua_upvalueindex(1)));

	lua_newtable(L);
	p->L = L;
	p->n = 0;
	if (p->ring)
		ring_buffer__consume(p->ring);
	return 1;
}

/* probes:dropped() -> number of records for which the ring had no room */
static int probes_dropped(lua_State *L)
{
	struct nb_probes *p = luaL_checkudata(L, 1, lua_tostring(L, lua_upvalueindex(1)));
	unsigned zero = 0;
	unsigned long long n = 0;

	if (p->obj)
		bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(p->obj, "dropped"), &zero, &n);
	lua_pushinteger(L, (lua_Integer)n);
	return 1;
}

static int close_probes(lua_State *L)
{
	detach_all(luaL_checkudata(L, 1, lua_tostring(L, lua_upvalueindex(1))));
	return 0;
}

void nb_probes_type(lua_State *L, const char *type)
{
	static const luaL_Reg methods[] = { { "read", read_ring },
					    { "dropped", probes_dropped },
					    { "close", close_probes },
					    { "__gc", close_probes },
					    { NULL, NULL } };

	luaL_newmetatable(L, type);
	lua_pushstring(L, type);
	luaL_setfuncs(L, methods, 1);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
}
