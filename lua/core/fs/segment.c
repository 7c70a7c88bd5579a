// SPDX-License-Identifier: MIT
/*
 * Reads a job's segment from its file. The decisions of the ranks are in it
 * even if no process of the job lives.
 */
#include "lua/core/fs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/job/segment/alive.h"
#include "core/job/segment/leftover.h"
#include "core/job/segment/report.h"
#include "core/job/segment/tracks.h"
#include "core/spec/spec.h"
#include "lua/core/support/support.h"

enum { MOST = 16 << 20 };

/* Get a communicator's identity; false: an error is pushed. */
static bool segment_read_comm(lua_State *L, const char *comm, uint64_t *id)
{
	char *end;

	*id = 0;
	if (!comm)
		return true;
	errno = 0;
	*id = strtoull(comm, &end, 16);
	if (!errno && !*end && end != comm)
		return true;
	nb_lua_failf(L, NB_E_ARG, "comm=%.40s must be 1 to 16 hexadecimal digits", comm);
	return false;
}

/* job_agreement(path [, comm]) -> table as of `check agreement`, tracks (for
 * agreement_of) | nil, err */
static int agreement(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	const char *comm = luaL_optstring(L, 2, NULL);
	struct nb_buf *text = nb_lua_buf(L, MOST);
	struct nb_buf *tracks = nb_lua_buf(L, 0);
	struct nb_err err = { 0 };
	struct nb_job job;
	struct nb_json j;
	uint64_t id;

	if (!segment_read_comm(L, comm, &id))
		return 2;
	if (nb_job_read(&job, path, &err))
		return nb_lua_fail(L, &err);
	nb_json_init(&j, text);
	nb_json_obj(&j);
	nb_job_json(&job, path, comm != NULL, id, MOST / 2, &j);
	nb_json_end_obj(&j);
	if (!nb_tracks_write(&job, comm != NULL, id, SIZE_MAX, tracks))
		nb_fail(&err, NB_E_NOMEM, 0, "no memory for %.200s", path);
	nb_job_free(&job);
	if (err.code || !nb_buf_ok(text))
		return nb_lua_failf(L, NB_E_NOMEM, "no memory for the report");
	if (nb_lua_json_push(L, nb_buf_text(text), text->size) != 1)
		return 2;
	lua_pushlstring(L, tracks->data, tracks->size);
	return 2;
}

/* agreement_of({{site=, tracks=}…} [, comm]) -> table as of `check agreement`,
 * of the communicators that the sites share | nil, err */
static int agreement_of(lua_State *L)
{
	const char *comm = luaL_optstring(L, 2, NULL);
	struct nb_buf *text = nb_lua_buf(L, MOST);
	struct nb_err err = { 0 };
	struct nb_tracks *all;
	struct nb_json j;
	uint64_t id;
	size_t n;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = lua_rawlen(L, 1);
	all = lua_newuserdatauv(L, (n + 1) * sizeof(*all), 0);
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 1, (lua_Integer)i + 1);
		luaL_checktype(L, -1, LUA_TTABLE);
		lua_getfield(L, -1, "site");
		lua_getfield(L, -2, "tracks");
		all[i].site = luaL_checkstring(L, -2);
		all[i].bytes = luaL_checklstring(L, -1, &all[i].size);
		lua_pop(L, 3); /* the table holds the strings */
	}
	if (!segment_read_comm(L, comm, &id))
		return 2;
	nb_json_init(&j, text);
	nb_json_obj(&j);
	if (nb_tracks_json(all, n, comm != NULL, id, MOST / 2, &j, &err))
		return nb_lua_fail(L, &err);
	nb_json_end_obj(&j);
	if (!nb_buf_ok(text))
		return nb_lua_failf(L, NB_E_NOMEM, "no memory for the report");
	return nb_lua_json_push(L, nb_buf_text(text), text->size);
}

/* is_segment(path) -> is the file a segment of a job? */
static int is_segment(lua_State *L)
{
	lua_pushboolean(L, nb_is_segment(AT_FDCWD, luaL_checkstring(L, 1), false));
	return 1;
}

/*
 * segment_used(path [, dir]) -> does a process use the segment file, and have
 * its processes come from directory dir?
 */
static int segment_used(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	const char *dir = luaL_optstring(L, 2, "");
	uint64_t place;

	lua_pushboolean(L, nb_seg_file_used(AT_FDCWD, path, &place));
	lua_pushboolean(L, place == nb_seg_place(dir));
	return 2;
}

/*
 * leftovers(dir, keep, age_s [, job]) -> {n=, bytes=, removed=,
 * removed_bytes=}: remove segments of ended jobs from a directory; keep or
 * age_s below 0: no limit
 */
static int leftovers(lua_State *L)
{
	int fd = open(luaL_checkstring(L, 1), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	lua_Integer keep = luaL_checkinteger(L, 2);
	lua_Integer age = luaL_checkinteger(L, 3);
	struct nb_leftovers l = { 0 };

	if (fd >= 0) {
		l = nb_leftovers(fd, keep < 0 ? UINT32_MAX : (uint32_t)keep,
				 age < 0 ? UINT64_MAX : (uint64_t)age, luaL_optstring(L, 4, NULL));
		close(fd);
	}
	lua_createtable(L, 0, 4);
	nb_lua_set_int(L, "n", l.n);
	nb_lua_set_int(L, "bytes", (lua_Integer)l.bytes);
	nb_lua_set_int(L, "removed", l.removed);
	nb_lua_set_int(L, "removed_bytes", (lua_Integer)l.removed_bytes);
	return 1;
}

/* @d: the decision whose channels and chunk size belong to the choice, or NULL */
static void choice(lua_State *L, const char *key, int algo, int proto, const struct nb_decision *d)
{
	lua_createtable(L, 0, 4);
	nb_lua_set_str(L, "algo", algo < 0 ? NULL : nb_nccl_algo(algo));
	nb_lua_set_str(L, "proto", proto < 0 ? NULL : nb_nccl_proto(proto));
	nb_lua_set_int(L, "channels", d ? (lua_Integer)d->channels : 0);
	if (d && d->chunk_size)
		nb_lua_set_int(L, "chunk_size", (lua_Integer)d->chunk_size);
	lua_setfield(L, -2, key);
}

static void push_decision(lua_State *L, const struct nb_seg_comm *c, uint32_t slot,
			  const struct nb_decision *d)
{
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)c->comm_id);
	lua_createtable(L, 0, 13);
	nb_lua_set_str(L, "comm", id);
	nb_lua_set_int(L, "slot", (lua_Integer)slot);
	nb_lua_set_int(L, "seq", (lua_Integer)d->seq);
	nb_lua_set_str(L, "coll", d->coll < 0 ? NULL : nb_nccl_coll(d->coll));
	nb_lua_set_int(L, "bytes", (lua_Integer)d->bytes);
	nb_lua_set_int(L, "generation", (lua_Integer)d->generation);
	choice(L, "nccl", d->nccl_algo, d->nccl_proto, NULL);
	choice(L, "answer", d->algo, d->proto, d);
	nb_lua_set_bool(L, "own", d->by < 0);
	nb_lua_set_num(L, "cost_us", d->cost_us);
	nb_lua_set_num(L, "nccl_cost_us", d->nccl_cost_us);
	lua_createtable(L, 0, 7);
	nb_lua_set_int(L, "ranks", (lua_Integer)c->nranks);
	nb_lua_set_int(L, "nodes", (lua_Integer)c->nnodes);
	nb_lua_set_int(L, "pipe_ops", (lua_Integer)d->pipe_ops);
	nb_lua_set_int(L, "reg_buff", (lua_Integer)d->reg_buff);
	nb_lua_set_int(L, "usable", (lua_Integer)d->usable);
	nb_lua_set_bool(L, "rccl", d->rccl);
	nb_lua_set_int(L, "tuner_abi", (lua_Integer)c->record.abi);
#define FACT(name) nb_lua_set_int(L, #name, nb_seg_fact(c, NB_FACT_##name));
#include "core/defs/platform.h"
	lua_setfield(L, -2, "context");
}

/* Append the kept decisions of rank @slot to the list at the top. */
static void push_rank(lua_State *L, const struct nb_job *job, const struct nb_seg_comm *c,
		      uint32_t slot)
{
	const struct nb_packed *ring = nb_job_ring(job, &c->slot[slot]);
	uint64_t end = nb_job_decisions(&c->slot[slot]);
	struct nb_decision d;

	for (uint64_t k = end > NB_RING ? end - NB_RING : 0; ring && k < end; k++) {
		if (!nb_unpack(&ring[k % NB_RING], &nb_seg_chunks(ring)[k % NB_RING], k, &d))
			continue;
		push_decision(L, c, slot, &d);
		lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
	}
}

static int job_gc(lua_State *L)
{
	nb_job_free(lua_touserdata(L, 1));
	return 0;
}

/* job_decisions(path) -> list of decisions as of `decision tail` | nil, err */
static int decisions(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct nb_job *job = lua_newuserdatauv(L, sizeof(*job), 0);
	struct nb_err err = { 0 };

	if (nb_job_read(job, path, &err))
		return nb_lua_fail(L, &err);
	nb_lua_collected(L, "ncclbpf.job", job_gc);
	lua_newtable(L);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = nb_job_comm(job, i);

		for (uint32_t s = 0; c && s < NB_SEG_SLOTS; s++)
			push_rank(L, job, c, s);
	}
	return 1;
}

const luaL_Reg nb_lua_segment[] = { { "job_agreement", agreement },
				    { "agreement_of", agreement_of },
				    { "is_segment", is_segment },
				    { "segment_used", segment_used },
				    { "leftovers", leftovers },
				    { "job_decisions", decisions },
				    { NULL, NULL } };
