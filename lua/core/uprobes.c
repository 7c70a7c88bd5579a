// SPDX-License-Identifier: MIT
/*
 * core.calls: uprobes on NCCL's interface in other processes, by libbpf, with
 * the programs of bpf/calls.bpf.c. Only the kernel can say whether it is
 * permitted, so its answer is what the caller is told.
 */
#include "lua/core/core.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lua/bpf/calls.h"

#define CALLS "ncclbpf.calls"

extern const unsigned char nb_calls_bpf[];
extern const unsigned long nb_calls_bpf_size;

static const char *const funcs[] = { "ncclAllReduce",	  "ncclBroadcast",
				     "ncclReduce",	  "ncclAllGather",
				     "ncclReduceScatter", "ncclSend",
				     "ncclRecv",	  "ncclGroupStart",
				     "ncclGroupEnd" };
enum { NFUNCS = sizeof(funcs) / sizeof(funcs[0]), MAX_LINKS = 4096 };

struct calls {
	struct bpf_object *obj;
	struct ring_buffer *ring;
	struct bpf_link **link;
	unsigned nlinks;
	lua_State *L; /* while the ring is read */
	lua_Integer n;
};

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static void release(struct calls *c)
{
	for (unsigned i = 0; i < c->nlinks; i++)
		bpf_link__destroy(c->link[i]);
	c->nlinks = 0;
	free(c->link);
	c->link = NULL;
	ring_buffer__free(c->ring);
	c->ring = NULL;
	bpf_object__close(c->obj);
	c->obj = NULL;
}

static int close_calls(lua_State *L)
{
	release(luaL_checkudata(L, 1, CALLS));
	return 0;
}

static void set(lua_State *L, const char *key, unsigned long long v)
{
	lua_pushinteger(L, (lua_Integer)v);
	lua_setfield(L, -2, key);
}

static int take(void *arg, void *data, size_t size)
{
	struct calls *c = arg;
	const struct nb_call_seen *s = data;

	if (size < sizeof(*s) || s->func >= NFUNCS)
		return 0;
	lua_createtable(c->L, 0, 8);
	lua_pushstring(c->L, funcs[s->func]);
	lua_setfield(c->L, -2, "func");
	set(c->L, "start_ns", s->start);
	set(c->L, "end_ns", s->end);
	set(c->L, "off_ns", s->off);
	set(c->L, "longest_off_ns", s->longest);
	set(c->L, "switches", s->switches);
	set(c->L, "pid", s->pid);
	set(c->L, "tid", s->tid);
	lua_rawseti(c->L, -2, ++c->n);
	return 0;
}

/* calls:read() -> list of calls that are over since */
static int read_calls(lua_State *L)
{
	struct calls *c = luaL_checkudata(L, 1, CALLS);

	lua_newtable(L);
	c->L = L;
	c->n = 0;
	if (c->ring)
		ring_buffer__consume(c->ring);
	return 1;
}

static int dropped(lua_State *L)
{
	struct calls *c = luaL_checkudata(L, 1, CALLS);
	unsigned zero = 0;
	unsigned long long n = 0;

	if (c->obj)
		bpf_map_lookup_elem(
			bpf_object__find_map_fd_by_name(c->obj, "dropped"),
			&zero, &n);
	lua_pushinteger(L, (lua_Integer)n);
	return 1;
}

static int keep(struct calls *c, struct bpf_link *link)
{
	if (!link)
		return -errno;
	c->link[c->nlinks++] = link;
	return 0;
}

static int attach_one(struct calls *c, int pid, const char *path, unsigned f)
{
	int rc = 0;

	/* the return probe first, so that each call seen also ends */
	for (int ret = 1; ret >= 0 && !rc; ret--) {
		struct bpf_uprobe_opts o = { .sz = sizeof(o),
					     .func_name = funcs[f],
					     .retprobe = ret,
					     .bpf_cookie = f };
		struct bpf_program *p = bpf_object__find_program_by_name(
			c->obj, ret ? "leave" : "enter");

		if (c->nlinks >= MAX_LINKS)
			return -E2BIG;
		rc = keep(c,
			  bpf_program__attach_uprobe_opts(p, pid, path, 0, &o));
	}
	return rc;
}

/* Return the kernel's error, after detaching what was attached. */
static int refuse(lua_State *L, struct calls *c, const char *what, int rc)
{
	bool perm = rc == -EPERM || rc == -EACCES;

	release(c);
	return nb_lua_failf(L, perm ? NB_E_PERM : NB_E_NOTSUP, "%s: %s", what,
			    strerror(-rc));
}

static int load(struct calls *c)
{
	struct bpf_object_open_opts o = { .sz = sizeof(o),
					  .object_name = "ncclbpf_calls" };

	c->obj = bpf_object__open_mem(nb_calls_bpf, nb_calls_bpf_size, &o);
	if (!c->obj)
		return -errno;
	return bpf_object__load(c->obj);
}

/* calls({ {pid, path}, ... }) -> calls | nil, err */
static int open_uprobes(lua_State *L)
{
	struct calls *c;
	int rc;

	luaL_checktype(L, 1, LUA_TTABLE);
	libbpf_set_print(quiet);
	c = lua_newuserdatauv(L, sizeof(*c), 0);
	memset(c, 0, sizeof(*c));
	luaL_setmetatable(L, CALLS);
	c->link = calloc(MAX_LINKS, sizeof(struct bpf_link *));
	if (!c->link)
		return nb_lua_failf(L, NB_E_NOMEM, "no memory");
	rc = load(c);
	if (rc)
		return refuse(L, c, "the kernel takes no BPF program of ours",
			      rc);
	c->ring = ring_buffer__new(
		bpf_object__find_map_fd_by_name(c->obj, "ring"), take, c, NULL);
	if (!c->ring)
		return refuse(L, c, "no ring buffer", -errno);
	rc = keep(c, bpf_program__attach(bpf_object__find_program_by_name(
			     c->obj, "sched")));
	if (rc)
		return refuse(L, c, "the scheduler's switches", rc);
	for (lua_Integer i = 1; lua_rawgeti(L, 1, i) == LUA_TTABLE; i++) {
		int pid;
		const char *path;

		lua_rawgeti(L, -1, 1);
		lua_rawgeti(L, -2, 2);
		pid = (int)luaL_checkinteger(L, -2);
		path = luaL_checkstring(L, -1);
		for (unsigned f = 0; f < NFUNCS && !rc; f++)
			rc = attach_one(c, pid, path, f);
		if (rc)
			return refuse(L, c, path, rc);
		lua_pop(L, 3);
	}
	lua_pop(L, 1);
	lua_settop(L, 2);
	return 1;
}

void nb_lua_open_uprobes(lua_State *L)
{
	static const luaL_Reg methods[] = { { "read", read_calls },
					    { "dropped", dropped },
					    { "close", close_calls },
					    { "__gc", close_calls },
					    { NULL, NULL } };

	luaL_newmetatable(L, CALLS);
	luaL_setfuncs(L, methods, 0);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
	lua_pushcfunction(L, open_uprobes);
	lua_setfield(L, -2, "calls");
}
