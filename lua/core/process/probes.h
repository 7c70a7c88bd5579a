// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_PROBES_H
#define NB_LUA_CORE_PROBES_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lua/core/process/process.h"
#include "lua/core/support/support.h"

/*
 * Programs in the kernel, by libbpf, and the ring through which they report.
 * `trace calls` and `trace rdma` share this file. Each has a userdata that
 * begins with this struct. Its object has the maps "ring" and "dropped", which
 * counts records for which the ring had no room.
 */
struct nb_probes {
	struct bpf_object *obj;
	struct ring_buffer *ring;
	struct bpf_link **link;
	unsigned nlinks;
	lua_State *L; /* valid while the ring is read */
	lua_Integer n;
};

enum { NB_PROBES_MAX_LINKS = 4096 };

/* An object with programs and the maps "ring" and "dropped". */
struct nb_probes_object {
	const char *name;
	const void *bytes;
	unsigned long size;
	void (*choose)(struct bpf_object *obj); /* leaves programs out; NULL: none */
	ring_buffer_sample_fn take;		/* gets the records of the ring */
};

/*
 * Push a new userdata of @type with the loaded object; libbpf is silent from then on. Returns NULL
 * after it has pushed nil and the kernel's error.
 */
struct nb_probes *nb_probes_open(lua_State *L, const char *type, const struct nb_probes_object *o);
/*
 * Take ownership of @link until the programs are detached. Returns 0, -E2BIG, or,
 * if @link is NULL, -errno of the attachment that failed.
 */
int nb_probes_keep(struct nb_probes *p, struct bpf_link *link);
/* Detach all programs, and return nil and the kernel's error. */
int nb_probes_refuse(lua_State *L, struct nb_probes *p, const char *what, int rc);
/* Register @type with the methods read, dropped and close. */
void nb_probes_type(lua_State *L, const char *type);

#endif
