// SPDX-License-Identifier: MIT
// How long a collective takes: a table of measured numbers where there is one
// (VGPU_TABLE), else a latency-bandwidth model. The model has the shape of a
// GPU with NVLink, it does not claim to be one.
//
// Table: lines  collective,algorithm,protocol,channels,bytes,VALUE  after a
// header whose last column is time_us or busbw_gbs; # begins a comment.
// channels, algorithm and protocol may be *. Rows with the very number of
// channels go before *. Between two sizes: a straight line in log-log of time;
// below the smallest its time, above the largest its bandwidth.
#include "test/fakes/vgpu/vgpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const vg_coll_name[VG_NCOLL] = {
	"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "AllGatherV",
};
const char *const vg_algo_name[VG_NALGO] = {
	"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT",
};
const char *const vg_proto_name[VG_NPROTO] = { "LL", "LL128", "SIMPLE" };

enum { ANY = -1, UNKNOWN = -2 };

struct row {
	int coll, algo, proto, channels; // ANY: *
	double bytes, value;
};

static struct row *rows;
static size_t nrow;
static bool is_busbw;

static struct {
	double base_us, channel_gbs, max_gbs, net_gbs, other_us, noise;
} cfg;

// ---- reading the table

static int name_of(const char *s, const char *const *names, int n)
{
	if (!strcmp(s, "*"))
		return ANY;
	for (int i = 0; i < n; i++) {
		if (!strcasecmp(s, names[i]))
			return i;
	}
	return UNKNOWN;
}

static int channels_of(const char *s)
{
	char *end;
	long v = strtol(s, &end, 10);

	if (!strcmp(s, "*"))
		return ANY;
	return *end || v < 1 || v > 64 ? UNKNOWN : (int)v;
}

static bool row_parse(struct row *r, const char *line)
{
	char coll[40], algo[40], proto[40], channels[16], rest;

	if (sscanf(line, " %39[^, ] , %39[^, ] , %39[^, ] , %15[^, ] , %lf , %lf %c", coll, algo,
		   proto, channels, &r->bytes, &r->value, &rest) != 6)
		return false;
	r->coll = name_of(coll, vg_coll_name, VG_NCOLL);
	r->algo = name_of(algo, vg_algo_name, VG_NALGO);
	r->proto = name_of(proto, vg_proto_name, VG_NPROTO);
	r->channels = channels_of(channels);
	return r->coll >= 0 && r->algo >= ANY && r->proto >= ANY && r->channels >= ANY &&
	       r->bytes > 0 && r->value > 0 && r->bytes < 1e18 && r->value < 1e18;
}

static void row_add(struct row r)
{
	struct row *more = vg_calloc(nrow + 1, sizeof *more);

	if (nrow)
		memcpy(more, rows, nrow * sizeof *more);
	free(rows);
	rows = more;
	rows[nrow++] = r;
}

static bool header_parse(const char *line)
{
	is_busbw = strstr(line, "busbw_gbs") != NULL;
	return is_busbw || strstr(line, "time_us");
}

static void table_read(FILE *f, const char *path)
{
	char line[512];
	bool header = false;
	struct row r;

	for (int n = 1; fgets(line, sizeof line, f); n++) {
		line[strcspn(line, "#\r\n")] = 0;
		if (!line[strspn(line, " \t")])
			continue;
		if (!header && header_parse(line))
			header = true;
		else if (!header)
			vg_log("%s:%d: \"%s\" ignored: no header line that "
			       "ends in time_us or busbw_gbs before it",
			       path, n, line);
		else if (row_parse(&r, line))
			row_add(r);
		else
			vg_log("%s:%d: \"%s\" ignored: not "
			       "collective,algorithm,protocol,channels,bytes,"
			       "value with known names and positive numbers",
			       path, n, line);
	}
}

static void table_init(void)
{
	const char *path = getenv("VGPU_TABLE");

	if (!path || !*path)
		return;
	FILE *f = fopen(path, "re");
	if (!f) {
		vg_log("VGPU_TABLE: %s: %s; using the built-in model", path, strerror(errno));
		return;
	}
	table_read(f, path);
	fclose(f);
	if (vg_env("VGPU_LOG", 0))
		vg_log("%s: %zu rows of %s", path, nrow, is_busbw ? "bus bandwidth" : "time");
}

// What times there are is known wherever they are shown (NCCLBPF_TIMES).
void vg_model_label(void)
{
	const char *path = getenv("VGPU_TABLE"), *slash;
	char text[160];

	if (!path || !*path) {
		setenv("NCCLBPF_TIMES", "modelled (virtual GPUs)", 0);
		return;
	}
	slash = strrchr(path, '/');
	snprintf(text, sizeof text, "replayed from %.120s (virtual GPUs)",
		 slash ? slash + 1 : path);
	setenv("NCCLBPF_TIMES", text, 0);
}

void vg_model_init(void)
{
	cfg.base_us = vg_envf("VGPU_BASE_US", 6);
	cfg.channel_gbs = vg_envf("VGPU_CHANNEL_GBS", 20);
	cfg.max_gbs = vg_envf("VGPU_MAX_GBS", 370);
	cfg.net_gbs = vg_envf("VGPU_NET_GBS", 48);
	cfg.other_us = vg_envf("VGPU_OTHER_US", 5);
	cfg.noise = vg_envf("VGPU_NOISE_PCT", 0) / 100;
	table_init();
}

// ---- times

// Bus bandwidth over algorithm bandwidth, as nccl-tests defines it.
static double bus_factor(int coll, int ranks)
{
	if (coll == VG_ALLREDUCE)
		return 2.0 * (ranks - 1) / ranks;
	if (coll == VG_ALLGATHER || coll == VG_REDUCESCATTER || coll == VG_ALLGATHERV)
		return (double)(ranks - 1) / ranks;
	return 1;
}

static double row_us(const struct row *r, int ranks)
{
	if (!is_busbw)
		return r->value;
	return r->bytes * bus_factor(r->coll, ranks) / (r->value * 1e3);
}

static bool row_fits(const struct row *r, struct vg_func f, int channels)
{
	return r->coll == f.coll && (r->algo == f.algo || r->algo == ANY) &&
	       (r->proto == f.proto || r->proto == ANY) && r->channels == channels;
}

// From the rows for this number of channels (ANY: *); < 0: there are none.
static double table_us(struct vg_func f, struct vg_shape s, int channels)
{
	const struct row *lo = NULL, *hi = NULL;

	for (size_t i = 0; i < nrow; i++) {
		const struct row *r = &rows[i];

		if (!row_fits(r, f, channels))
			continue;
		if (r->bytes <= s.bytes && (!lo || r->bytes > lo->bytes))
			lo = r;
		if (r->bytes >= s.bytes && (!hi || r->bytes < hi->bytes))
			hi = r;
	}
	if (!lo && !hi)
		return -1;
	if (!lo) // smaller than the table: latency bound
		return row_us(hi, s.ranks);
	if (!hi) // larger: bandwidth bound
		return row_us(lo, s.ranks) * s.bytes / lo->bytes;
	if (lo->bytes >= hi->bytes)
		return row_us(lo, s.ranks);
	double w = log(s.bytes / lo->bytes) / log(hi->bytes / lo->bytes);
	return exp(log(row_us(lo, s.ranks)) * (1 - w) + log(row_us(hi, s.ranks)) * w);
}

static double steps(struct vg_func f, int ranks)
{
	int rounds = f.coll == VG_ALLREDUCE ? 2 : 1, log2n = 0;

	while (1 << log2n < ranks)
		log2n++;
	if (f.algo == VG_TREE || f.algo == VG_PAT)
		return rounds * log2n;
	if (f.algo == VG_NVLS || f.algo == VG_NVLS_TREE)
		return 2;
	return rounds * (ranks - 1);
}

static double built_in_us(struct vg_func f, struct vg_shape s)
{
	static const double hop_us[] = { 0.6, 1.9, 3.4 };
	static const double share[] = { 0.25, 0.92, 1.0 };
	int p = f.proto >= 0 ? f.proto : VG_SIMPLE;
	double gbs = cfg.channel_gbs * share[p] * s.channels;
	double cap = s.nodes > 1 ? cfg.net_gbs : cfg.max_gbs;
	double hop = hop_us[p] * (s.nodes > 1 ? 3 : 1);

	if (f.algo == VG_NVLS)
		cap *= 1.3; // the switch adds, so less goes over the links
	if (f.algo == VG_TREE)
		gbs *= 0.85;
	if (gbs > cap)
		gbs = cap;
	return cfg.base_us + hop * steps(f, s.ranks) +
	       s.bytes * bus_factor(f.coll, s.ranks) / (gbs * 1e3);
}

// Somebody else on the links: the number in the file VGPU_CONTEND, read anew
// for each kernel; 1 where there is none.
static double contention(void)
{
	const char *path = getenv("VGPU_CONTEND");
	FILE *f = path && *path ? fopen(path, "re") : NULL;
	double x = 1;

	if (!f)
		return 1;
	if (fscanf(f, "%lf", &x) != 1 || !(x > 0 && x < 1e6))
		x = 1;
	fclose(f);
	return x;
}

double vg_model_us(struct vg_func f, struct vg_shape s)
{
	double us = table_us(f, s, s.channels);

	if (us < 0)
		us = table_us(f, s, ANY);
	return (us < 0 ? built_in_us(f, s) : us) * contention();
}

// VGPU_NOISE_PCT: times vary by so much, by the number of the collective, so
// that all ranks vary alike and every run does.
double vg_model_noise(uint64_t seq)
{
	uint64_t x = seq * 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return 1 + cfg.noise * ((double)(x >> 12) / (double)(1ULL << 51) - 1);
}

double vg_model_other_us(void)
{
	return cfg.other_us;
}

double vg_model_p2p_us(uint64_t bytes)
{
	enum { P2P_BYTES_PER_US = 100000 };

	return cfg.base_us + (double)bytes / P2P_BYTES_PER_US;
}
