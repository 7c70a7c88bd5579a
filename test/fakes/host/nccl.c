// SPDX-License-Identifier: MIT
// The stand-in host: does with a tuner plugin what each release of NCCL
// does, from finding the file to reading the answer back. It launches nothing.
#include "test/fakes/host/nccl.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BROADCAST, REDUCE, ALLGATHER, REDUCESCATTER, ALLREDUCE };
enum { TREE, RING, COLLNET_DIRECT, COLLNET_CHAIN, NVLS, NVLS_TREE, PAT };
enum { LL, LL128, SIMPLE };
enum { SUCCESS = 0, INTERNAL = 3, INVALID_USAGE = 5 };

int host_version = 22809;
bool host_rccl;

/* Programs export this function, because they are NCCL to their plugins. */
int __attribute__((visibility("default"))) ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	*version = host_version;
	return SUCCESS;
}

static void *open_file(const char *name)
{
	char file[512];
	void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	size_t n = strlen(name);

	if (h || strchr(name, '/'))
		return h;
	if (!strncmp(name, "lib", 3) && n > 3 && !strcmp(name + n - 3, ".so"))
		return NULL;
	snprintf(file, sizeof(file), "libnccl-tuner-%s.so", name);
	return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

int host_open(struct host_plugin *p, int abi)
{
	const char *name = getenv("NCCL_TUNER_PLUGIN");
	char symbol[40];

	memset(p, 0, sizeof(*p));
	if (!name || !*name)
		name = "libnccl-tuner.so";
	if (!strcasecmp(name, "none"))
		return 0;
	p->handle = open_file(name);
	if (!p->handle) {
		p->abi = 0;
		fprintf(stderr, "stand-in: %s: %s\n", name, dlerror());
		return -1;
	}
	for (int v = abi; v >= 2; v--) {
		snprintf(symbol, sizeof(symbol), "ncclTunerPlugin_v%d", v);
		p->u.sym = dlsym(p->handle, symbol);
		p->abi = v;
		if (p->u.sym)
			return 0;
	}
	fprintf(stderr, "stand-in: %s: no ncclTunerPlugin_v2..v%d\n", name, abi);
	p->abi = 0;
	return -1;
}

/* NCCL's defaults are in the constants before init: any numbers will do. */
static int init_v5(struct host_comm *c, host_logger *log)
{
	double constants[HOST_CONSTANTS_RCCL];
	int n = host_rccl	      ? HOST_CONSTANTS_RCCL - 1
		: c->plugin->abi >= 7 ? HOST_CONSTANTS_V7
				      : HOST_CONSTANTS;
	int rc, per_node = (int)(c->ranks / c->nodes);
	struct host_nvl_domain_info nvl = { (int)c->nodes, per_node, per_node };

	for (int i = 0; i <= n; i++)
		constants[i] = 1.0 + i;
	rc = c->plugin->u.v5->init(&c->ctx, c->id, c->ranks, c->nodes, log, &nvl, constants);
	for (int i = 0; i <= n; i++)
		if (constants[i] != 1.0 + i)
			fprintf(stderr, "stand-in: constant %d edited\n", i);
	return rc;
}

int host_init(struct host_comm *c, host_logger *log)
{
	switch (c->plugin->abi) {
	case 0:
		return SUCCESS;
	case 2:
		return c->plugin->u.v2->init(c->ranks, c->nodes, log, &c->ctx);
	case 3:
		return c->plugin->u.v3->init(c->ranks, c->nodes, log, &c->ctx);
	case 4:
		return c->plugin->u.v4->init(c->ranks, c->nodes, log, &c->ctx);
	}
	return init_v5(c, log);
}

int host_fini(struct host_comm *c)
{
	switch (c->plugin->abi) {
	case 0:
		return SUCCESS;
	case 2:
		return c->plugin->u.v2->destroy(c->ctx);
	case 3:
		return c->plugin->u.v3->destroy(c->ctx);
	case 4:
		return c->plugin->u.v4->destroy(c->ctx);
	}
	return c->plugin->u.v5->finalize(c->ctx);
}

static bool usable(const struct host_comm *c, int coll, int algo, int proto)
{
	if (host_rccl && proto == LL128)
		return false; /* it depends on the links */
	switch (algo) {
	case RING:
		return true;
	case TREE:
		return coll == ALLREDUCE;
	case NVLS:
		return c->nvls && proto == SIMPLE && coll != BROADCAST && coll != REDUCE &&
		       c->nodes == 1;
	case NVLS_TREE:
		return c->nvls && proto == SIMPLE && coll == ALLREDUCE && c->nodes > 1;
	case PAT:
		return proto == SIMPLE && c->nodes > 1 &&
		       (coll == ALLGATHER || coll == REDUCESCATTER);
	}
	return false;
}

float host_cost(const struct host_comm *c, int coll, size_t bytes, int algo, int proto)
{
	/* microseconds a step, bus GB/s; a step is a hop of the pattern */
	static const float step[HOST_PROTOS] = { 0.6f, 1.0f, 3.5f };
	static const float gbs[HOST_PROTOS] = { 90, 260, 330 };
	float n = (float)c->ranks, steps = n - 1, bw = gbs[proto];

	if (!usable(c, coll, algo, proto))
		return -1.0f;
	if (algo == TREE) {
		steps = 2 * log2f(n);
		bw *= 0.6f;
	} else if (algo != RING) {
		steps = 3;
		bw = 520;
	}
	if (coll == ALLREDUCE)
		steps *= 2;
	return 6.0f + step[proto] * steps + (float)bytes / (bw * 1000.0f);
}

static void fill(const struct host_comm *c, int coll, size_t bytes, float table[HOST_TABLE])
{
	for (int a = 0; a < c->algos; a++)
		for (int p = 0; p < HOST_PROTOS; p++)
			table[a * HOST_PROTOS + p] = c->select && !(c->select >> a & 1)
							     ? -1.0f
							     : host_cost(c, coll, bytes, a, p);
}

/*
 * How NCCL reads the table back. Up to 2.30 it skips
 * negative entries and takes the first of equal ones. From 2.31 on it looks at
 * the entries that it had offered (@plain), last first, so negative entries win
 * and the last of equal ones does.
 */
static void cheapest(const struct host_comm *c, const float *plain, const float *table, int *algo,
		     int *proto)
{
	bool tuning = host_version >= 23100;
	float best = host_version >= 22902 ? FLT_MAX : 3.6e9f;
	int n = c->algos * HOST_PROTOS;

	*algo = *proto = -1;
	for (int k = 0; k < n; k++) {
		int i = tuning ? n - 1 - k : k;

		if ((tuning ? plain[i] < 0.0f : !(table[i] >= 0.0f)) || !(table[i] < best))
			continue;
		best = table[i];
		*algo = i / HOST_PROTOS;
		*proto = i % HOST_PROTOS;
	}
}

/* The plugin's v2 has no table: it gets flags and sets both or nothing. */
static int ask_v2(struct host_comm *c, int coll, size_t bytes, float *table, int *channels,
		  struct host_choice *out)
{
	int algo = -1, proto = -1, rc;

	rc = c->plugin->u.v2->get(c->ctx, coll, bytes, 0, c->nvls, 1, &algo, &proto, channels);
	if (rc)
		return rc;
	cheapest(c, table, table, &out->algo, &out->proto);
	if (algo != -1 && proto != -1) {
		/* used without any check by 2.21 */
		out->algo = algo;
		out->proto = proto;
	}
	return SUCCESS;
}

static int ask(struct host_comm *c, int coll, size_t bytes, int reg_buff, float *table,
	       int *channels, struct host_choice *out)
{
	float **t = (float **)(void *)table; /* NCCL's own cast */
	float plain[HOST_TABLE];
	int rc;

	memcpy(plain, table, sizeof(plain));
	switch (c->plugin->abi) {
	case 0:
		rc = SUCCESS;
		break;
	case 2:
		return ask_v2(c, coll, bytes, table, channels, out);
	case 3:
		rc = c->plugin->u.v3->get(c->ctx, coll, bytes, 1, t, c->algos, HOST_PROTOS,
					  channels);
		break;
	case 4:
		rc = c->plugin->u.v4->get(c->ctx, coll, bytes, 1, t, c->algos, HOST_PROTOS,
					  reg_buff, channels);
		break;
	default:
		rc = c->plugin->u.v5->get(c->ctx, coll, bytes, 1, t, c->algos, HOST_PROTOS,
					  reg_buff, channels);
	}
	cheapest(c, plain, table, &out->algo, &out->proto);
	return rc;
}

static bool has_zero(const float table[HOST_TABLE])
{
	for (int i = 0; i < HOST_TABLE; i++)
		if (table[i] >= 0.0f && table[i] <= 0.0f)
			return true;
	return false;
}

/*
 * RCCL's rule depends on the GPU and the collective; here, LL takes the place of
 * Simple up to 1 MiB.
 */
static void change_protocol(const struct host_comm *c, int coll, size_t bytes,
			    const float table[HOST_TABLE], struct host_choice *out)
{
	if (!has_zero(table) && out->proto == SIMPLE && bytes <= 1 << 20 &&
	    host_cost(c, coll, bytes, out->algo, LL) >= 0.0f)
		out->proto = LL;
}

/* What n becomes; 0 keeps NCCL's number. */
static int clamp_channels(const struct host_comm *c, size_t bytes, int n)
{
	size_t by_size = bytes / (16 << 10) + 1;
	int most = n > 0 && n < c->max_channels ? n : c->max_channels;

	return by_size < (size_t)most ? (int)by_size : most;
}

/* Bytes of a slot of the protocol's buffers, and of four where rings use four. */
static size_t buffer_of(int coll, int algo, int proto)
{
	static const size_t slot[HOST_PROTOS] = { 32 << 10, 576000, 512 << 10 };

	return slot[proto] * (algo == RING && proto == SIMPLE && coll > REDUCE ? 4 : 1);
}

/* NCCL's own size: NVLS has small buffers, and PAT wants chunks enough. */
static size_t own_chunk(int coll, size_t bytes, int algo, int proto)
{
	size_t chunk = buffer_of(coll, algo, proto);

	if (algo == NVLS || algo == NVLS_TREE)
		return bytes < 2 << 20 ? 16 << 10 : 128 << 10;
	while (algo == PAT && chunk * 32 > bytes && chunk > 64 << 10)
		chunk /= 2;
	return chunk;
}

static int ask_chunk(struct host_comm *c, int coll, size_t bytes, const struct host_choice *choice,
		     size_t *chunk)
{
	static const size_t line[HOST_PROTOS] = { 16, 1920, 512 };
	int algo = choice->algo, proto = choice->proto, rc;
	size_t own = own_chunk(coll, bytes, algo, proto);

	*chunk = own;
	rc = c->plugin->u.v6->chunk(c->ctx, coll, bytes, algo, proto, 1, chunk);
	if (*chunk > buffer_of(coll, algo, proto))
		*chunk = buffer_of(coll, algo, proto);
	*chunk = *chunk / line[proto] * line[proto];
	if (!rc && (!*chunk || ((algo == NVLS || algo == NVLS_TREE) && *chunk > own))) {
		fprintf(stderr, "stand-in: chunks of %zu bytes\n", *chunk);
		return INTERNAL;
	}
	return rc;
}

int host_chunks(struct host_comm *c, int coll, size_t bytes, struct host_choice *choice)
{
	size_t part = bytes / (size_t)choice->channels, other;
	int rc;

	choice->chunk_size = choice->nccl_chunk_size = 0;
	if (c->plugin->abi < 6 || !c->plugin->u.v6->chunk)
		return SUCCESS;
	choice->nccl_chunk_size = own_chunk(coll, part, choice->algo, choice->proto);
	rc = ask_chunk(c, coll, part, choice, &choice->chunk_size);
	if (!rc && choice->channels > 1)
		rc = ask_chunk(c, coll, bytes - part * (size_t)(choice->channels - 1), choice,
			       &other);
	if (!rc && choice->channels > 2)
		rc = ask_chunk(c, coll, part, choice, &other);
	return rc;
}

int host_probe(struct host_comm *c, int coll, size_t bytes, int reg_buff, struct host_choice *out)
{
	float table[HOST_TABLE], plain[HOST_TABLE];
	int channels = 0, rc;

	fill(c, coll, bytes, table);
	memcpy(plain, table, sizeof(plain));
	cheapest(c, plain, plain, &out->nccl_algo, &out->nccl_proto);
	if (out->nccl_algo < 0 && c->select) {
		struct host_comm all = *c;

		all.select = 0;
		rc = host_ask_nothing(c, coll, bytes);
		return rc ? rc : host_probe(&all, coll, bytes, reg_buff, out);
	}
	rc = ask(c, coll, bytes, reg_buff, table, &channels, out);
	if (rc)
		return rc;
	if (host_rccl)
		change_protocol(c, coll, bytes, table, out);
	if (out->algo < 0)
		return getenv("NCCL_ALGO") ? INVALID_USAGE : INTERNAL;
	if (out->algo >= c->algos || out->proto < 0 || out->proto >= HOST_PROTOS ||
	    plain[out->algo * HOST_PROTOS + out->proto] < 0.0f) {
		fprintf(stderr, "stand-in: the answer %d/%d cannot be run\n", out->algo,
			out->proto);
		return INTERNAL;
	}
	if (channels < 0) {
		fprintf(stderr, "stand-in: %d channels\n", channels);
		return INTERNAL;
	}
	out->channels = clamp_channels(c, bytes, channels);
	out->us = plain[out->algo * HOST_PROTOS + out->proto];
	out->nccl_us = plain[out->nccl_algo * HOST_PROTOS + out->nccl_proto];
	out->chunk_size = out->nccl_chunk_size = 0;
	return SUCCESS;
}

int host_decide(struct host_comm *c, int coll, size_t bytes, int reg_buff, struct host_choice *out)
{
	int rc = host_probe(c, coll, bytes, reg_buff, out);

	return rc ? rc : host_chunks(c, coll, bytes, out);
}

int host_ask_nothing(struct host_comm *c, int coll, size_t bytes)
{
	float table[HOST_TABLE];
	int channels = 0, rc;

	for (int i = 0; i < HOST_TABLE; i++)
		table[i] = -1.0f;
	if (!c->plugin->abi)
		return SUCCESS;
	rc = c->plugin->u.v5->get(c->ctx, coll, bytes, 0, (float **)(void *)table, c->algos,
				  HOST_PROTOS, 0, &channels);
	for (int i = 0; i < HOST_TABLE && !rc; i++)
		if (!(table[i] < 0.0f)) {
			fprintf(stderr, "stand-in: entry %d is offered\n", i);
			rc = INTERNAL;
		}
	return rc;
}
