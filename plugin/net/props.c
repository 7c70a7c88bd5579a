// SPDX-License-Identifier: MIT
/*
 * Converts a device's properties between versions. Each version has a table
 * with the offsets of the fields. A version without a field gets the value that
 * NCCL assumes.
 */
#include <string.h>

#include "plugin/net/abi.h"

/* NCCL's own limit, for versions that do not have the field. */
static const size_t DEFAULT_BYTES = (size_t)1 << 30;
enum { DEVS_V9 = 4 };

/* Describes a field that has the same name in both structures. */
struct field {
	uint16_t at, ours, size;
};
#define FIELD(type, name)                                                         \
	{                                                                         \
		offsetof(struct type, name), offsetof(struct nb_net_props, name), \
			sizeof(((struct nb_net_props *)0)->name)                  \
	}
#define FIELDS_V6(t)                                                                     \
	FIELD(t, name), FIELD(t, pci_path), FIELD(t, guid), FIELD(t, ptr_support),       \
		FIELD(t, speed), FIELD(t, port), FIELD(t, latency), FIELD(t, max_comms), \
		FIELD(t, max_recvs)
#define FIELDS_V7(t) FIELDS_V6(t), FIELD(t, device_type), FIELD(t, device_version)
#define FIELDS_V8(t) FIELDS_V7(t), FIELD(t, reg_is_global)
#define FIELDS_V9(t) \
	FIELDS_V8(t), FIELD(t, force_flush), FIELD(t, max_p2p_bytes), FIELD(t, max_coll_bytes)

static const struct field v6[] = { FIELDS_V6(nb_net_props_v6), { 0, 0, 0 } };
static const struct field v7[] = { FIELDS_V7(nb_net_props_v7), { 0, 0, 0 } };
static const struct field v8[] = { FIELDS_V8(nb_net_props_v8), { 0, 0, 0 } };
static const struct field v9[] = { FIELDS_V9(nb_net_props_v9), { 0, 0, 0 } };
static const struct field v11[] = { FIELDS_V9(nb_net_props_v9),
				    FIELD(nb_net_props_v11, max_multi_request),
				    { 0, 0, 0 } };
static const struct field v12[] = { FIELDS_V9(nb_net_props_v12),
				    FIELD(nb_net_props_v12, v),
				    FIELD(nb_net_props_v12, max_multi_request),
				    FIELD(nb_net_props_v12, rail_id),
				    FIELD(nb_net_props_v12, plane_id),
				    { 0, 0, 0 } };
static_assert(offsetof(struct nb_net_props_v11, v9) == 0, "v9 leads v11");

static const struct {
	const struct field *field;
	size_t size;
} shapes[] = {
	[6] = { v6, sizeof(struct nb_net_props_v6) },
	[7] = { v7, sizeof(struct nb_net_props_v7) },
	[8] = { v8, sizeof(struct nb_net_props_v8) },
	[9] = { v9, sizeof(struct nb_net_props_v9) },
	[10] = { v9, sizeof(struct nb_net_props_v9) },
	[11] = { v11, sizeof(struct nb_net_props_v11) },
	[12] = { v12, sizeof(struct nb_net_props_v12) },
};

/* Versions 9 to 11 have room for four devices. */
static bool has_four_devices(int version)
{
	return version >= 9 && version <= 11;
}

static int at_most_four(int ndevs)
{
	return ndevs < DEVS_V9 ? ndevs : DEVS_V9;
}

void nb_net_props_to(void *to, const struct nb_net_props *from, int version)
{
	struct nb_net_vprops_v9 v = { .ndevs = at_most_four(from->v.ndevs) };

	memset(to, 0, shapes[version].size);
	for (const struct field *f = shapes[version].field; f->size; f++)
		memcpy((char *)to + f->at, (const char *)from + f->ours, f->size);
	if (!has_four_devices(version))
		return;
	memcpy(v.devs, from->v.devs, sizeof(v.devs));
	memcpy((char *)to + offsetof(struct nb_net_props_v9, v), &v, sizeof(v));
}

static void props_from(struct nb_net_props *to, const void *from, int version)
{
	struct nb_net_vprops_v9 v;

	to->max_p2p_bytes = to->max_coll_bytes = DEFAULT_BYTES;
	to->max_multi_request = 1;
	to->rail_id = to->plane_id = -1;
	for (const struct field *f = shapes[version].field; f->size; f++)
		memcpy((char *)to + f->ours, (const char *)from + f->at, f->size);
	if (!has_four_devices(version))
		return;
	memcpy(&v, (const char *)from + offsetof(struct nb_net_props_v9, v), sizeof(v));
	to->v.ndevs = at_most_four(v.ndevs);
	memcpy(to->v.devs, v.devs, sizeof(v.devs));
}

int nb_net_props_read(struct nb_net_props *to, int (*get)(int dev, void *props), int dev,
		      int version, bool dmabuf)
{
	union {
		struct nb_net_props_v6 v6;
		struct nb_net_props_v11 v11;
		struct nb_net_props_v12 v12;
	} p;
	int rc;

	memset(&p, 0, sizeof(p));
	rc = get(dev, &p);
	if (rc)
		return rc;
	props_from(to, &p, version);
	if (!dmabuf)
		to->ptr_support &= ~NB_NET_DMABUF;
	return NB_NET_OK;
}
