// SPDX-License-Identifier: MIT
// A device's properties in each version's shape. The fields have the same
// names in all of them, so that what a version has is copied and what it lacks
// gets what NCCL would assume.
#include <string.h>

#include "plugin/abi/net_abi.h"

/* What versions without the field may be given: NCCL's own cap. */
static const size_t DEFAULT_BYTES = (size_t)1 << 30;
enum { DEVS_V9 = 4 };

/* Statements, in a function of their own. */
#define COPY_V6(to, from)                        \
	(to)->name = (from)->name;               \
	(to)->pci_path = (from)->pci_path;       \
	(to)->guid = (from)->guid;               \
	(to)->ptr_support = (from)->ptr_support; \
	(to)->speed = (from)->speed;             \
	(to)->port = (from)->port;               \
	(to)->latency = (from)->latency;         \
	(to)->max_comms = (from)->max_comms;     \
	(to)->max_recvs = (from)->max_recvs

#define COPY_V7(to, from)                        \
	COPY_V6(to, from);                       \
	(to)->device_type = (from)->device_type; \
	(to)->device_version = (from)->device_version

#define COPY_V8(to, from)  \
	COPY_V7(to, from); \
	(to)->reg_is_global = (from)->reg_is_global

#define COPY_V9(to, from)                            \
	COPY_V8(to, from);                           \
	(to)->force_flush = (from)->force_flush;     \
	(to)->max_p2p_bytes = (from)->max_p2p_bytes; \
	(to)->max_coll_bytes = (from)->max_coll_bytes

#define COPY_V12(to, from)                                   \
	COPY_V9(to, from);                                   \
	(to)->v = (from)->v;                                 \
	(to)->max_multi_request = (from)->max_multi_request; \
	(to)->rail_id = (from)->rail_id;                     \
	(to)->plane_id = (from)->plane_id

static void to_v6(struct nb_net_props_v6 *to, const struct nb_net_props *from)
{
	COPY_V6(to, from);
}

static void to_v7(struct nb_net_props_v7 *to, const struct nb_net_props *from)
{
	COPY_V7(to, from);
}

static void to_v8(struct nb_net_props_v8 *to, const struct nb_net_props *from)
{
	COPY_V8(to, from);
}

static void to_v9(struct nb_net_props_v9 *to, const struct nb_net_props *from)
{
	memset(to, 0, sizeof(*to));
	COPY_V9(to, from);
	to->v.ndevs = from->v.ndevs < DEVS_V9 ? from->v.ndevs : DEVS_V9;
	for (int i = 0; i < DEVS_V9; i++)
		to->v.devs[i] = from->v.devs[i];
}

static void to_v11(struct nb_net_props_v11 *to, const struct nb_net_props *from)
{
	to_v9(&to->v9, from);
	to->max_multi_request = from->max_multi_request;
}

static void to_v12(struct nb_net_props_v12 *to, const struct nb_net_props *from)
{
	memset(to, 0, sizeof(*to));
	COPY_V12(to, from);
}

void nb_net_props_to(void *to, const struct nb_net_props *from, int version)
{
	if (version <= 6)
		to_v6(to, from);
	else if (version == 7)
		to_v7(to, from);
	else if (version == 8)
		to_v8(to, from);
	else if (version <= 10)
		to_v9(to, from);
	else if (version == 11)
		to_v11(to, from);
	else
		to_v12(to, from);
}

static void from_v6(struct nb_net_props *to, const struct nb_net_props_v6 *from)
{
	COPY_V6(to, from);
}

static void from_v7(struct nb_net_props *to, const struct nb_net_props_v7 *from)
{
	COPY_V7(to, from);
}

static void from_v8(struct nb_net_props *to, const struct nb_net_props_v8 *from)
{
	COPY_V8(to, from);
}

static void from_v9(struct nb_net_props *to, const struct nb_net_props_v9 *from)
{
	COPY_V9(to, from);
	to->v.ndevs = from->v.ndevs < DEVS_V9 ? from->v.ndevs : DEVS_V9;
	for (int i = 0; i < DEVS_V9; i++)
		to->v.devs[i] = from->v.devs[i];
}

static void from_v11(struct nb_net_props *to,
		     const struct nb_net_props_v11 *from)
{
	from_v9(to, &from->v9);
	to->max_multi_request = from->max_multi_request;
}

static void from_v12(struct nb_net_props *to,
		     const struct nb_net_props_v12 *from)
{
	COPY_V12(to, from);
}

void nb_net_props_from(struct nb_net_props *to, const void *from, int version)
{
	to->max_p2p_bytes = to->max_coll_bytes = DEFAULT_BYTES;
	to->max_multi_request = 1;
	to->rail_id = to->plane_id = -1;
	if (version <= 6)
		from_v6(to, from);
	else if (version == 7)
		from_v7(to, from);
	else if (version == 8)
		from_v8(to, from);
	else if (version <= 10)
		from_v9(to, from);
	else if (version == 11)
		from_v11(to, from);
	else
		from_v12(to, from);
}
