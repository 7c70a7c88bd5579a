// SPDX-License-Identifier: MIT
// Replays published or measured bandwidths as time: a CSV table, looked up
// by what was decided. The stand-in host uses it in place of GPUs.
#include "test/fakes/host/replay.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/spec/spec.h"

enum { MAX_ROWS = 4096 };

struct row {
	char coll[24];
	int algo, proto, channels; /* -1: any */
	double bytes, us_per;	   /* value as the file has it */
};

struct replay {
	bool bandwidth; /* the last column is busbw_gbs, else time_us */
	size_t nrows;
	struct row rows[MAX_ROWS];
};

double replay_busbw(const char *coll, size_t bytes, int ranks, double us)
{
	double n = ranks, factor = 1;

	if (!strcasecmp(coll, "allreduce"))
		factor = 2 * (n - 1) / n;
	else if (!strcasecmp(coll, "allgather") || !strcasecmp(coll, "reducescatter"))
		factor = (n - 1) / n;
	return us > 0 ? (double)bytes * factor / us / 1000 : 0;
}

static int word(const char *s, int (*number)(const char *))
{
	return strcmp(s, "*") ? number(s) : -1;
}

static bool parse(struct row *r, const char *line)
{
	char algo[24], proto[24], channels[24];

	if (sscanf(line, "%23[^,],%23[^,],%23[^,],%23[^,],%lf,%lf", r->coll, algo, proto, channels,
		   &r->bytes, &r->us_per) != 6)
		return false;
	r->algo = word(algo, nb_nccl_algo_named);
	r->proto = word(proto, nb_nccl_proto_named);
	r->channels = strcmp(channels, "*") ? atoi(channels) : -1;
	return true;
}

static bool read_rows(struct replay *r, FILE *f, const char *path)
{
	char line[256];
	bool header = false;

	for (int n = 1; fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] == '#' || !line[0])
			continue;
		if (!header) {
			r->bandwidth = strstr(line, "busbw_gbs") != NULL;
			header = true;
			continue;
		}
		if (r->nrows == MAX_ROWS || !parse(&r->rows[r->nrows], line)) {
			fprintf(stderr, "%s:%d: not a row: %s\n", path, n, line);
			return false;
		}
		r->nrows++;
	}
	return true;
}

struct replay *replay_open(const char *path)
{
	FILE *f = fopen(path, "r");
	struct replay *r = calloc(1, sizeof(*r));

	if (!f || !r || !read_rows(r, f, path)) {
		if (!f)
			perror(path);
		free(r);
		r = NULL;
	}
	if (f)
		fclose(f);
	return r;
}

void replay_close(struct replay *r)
{
	free(r);
}

static double row_us(const struct replay *r, const struct row *row, int ranks)
{
	if (!r->bandwidth)
		return row->us_per;
	return row->bytes / (row->us_per * 1000 / replay_busbw(row->coll, 1000, ranks, 1));
}

static bool fits(const struct row *row, const char *coll, int algo, int proto, int channels)
{
	return !strcasecmp(row->coll, coll) && (row->algo < 0 || row->algo == algo) &&
	       (row->proto < 0 || row->proto == proto) &&
	       (row->channels < 0 || row->channels == channels);
}

double replay_us(const struct replay *r, const char *coll, int algo, int proto, int channels,
		 size_t bytes, int ranks)
{
	const struct row *below = NULL, *above = NULL;
	double b = (double)bytes, x;

	for (size_t i = 0; i < r->nrows; i++) {
		const struct row *row = &r->rows[i];

		if (!fits(row, coll, algo, proto, channels))
			continue;
		if (row->bytes <= b && (!below || row->bytes > below->bytes))
			below = row;
		if (row->bytes >= b && (!above || row->bytes < above->bytes))
			above = row;
	}
	if (!below)
		return above ? row_us(r, above, ranks) : -1;
	if (!above)
		return row_us(r, below, ranks) * b / below->bytes;
	if (above == below || above->bytes <= below->bytes)
		return row_us(r, below, ranks);
	x = log(b / below->bytes) / log(above->bytes / below->bytes);
	return exp((1 - x) * log(row_us(r, below, ranks)) + x * log(row_us(r, above, ranks)));
}
