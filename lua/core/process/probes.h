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

/* Push a new userdata of @type; libbpf is silent from then on. NULL: no memory.
 */
struct nb_probes *nb_probes_new(lua_State *L, const char *type);
/*
 * Open the ring of the loaded object; @take gets its records. Returns 0 or a
 * negative errno.
 */
int nb_probes_listen(struct nb_probes *p, ring_buffer_sample_fn take);
/*
 * Keep @link until the end. Returns 0 or a negative errno; if @link is NULL, it
 * returns the value of errno.
 */
int nb_probes_keep(struct nb_probes *p, struct bpf_link *link);
/* Detach all programs, and return nil and the kernel's error. */
int nb_probes_refuse(lua_State *L, struct nb_probes *p, const char *what, int rc);
/* Register @type with the methods read, dropped and close. */
void nb_probes_type(lua_State *L, const char *type);

#endif
