// SPDX-License-Identifier: MIT
// Which collective, operator, type, algorithm and protocol a function's id means.
//
// A batch names its function by an id. NCCL holds a table row -> id whose rows
// are ordered as below; several rows may share an id (sums of i32 and u32), so
// the first one names it. Turning the table around here also serves builds
// with fewer functions.
#include "test/fakes/vgpu/vgpu.h"

#include <string.h>

#include "test/fakes/vgpu/layout.h"

enum { MAX_FUNC = 2048, NOP = 5 };

static struct vg_func funcs[MAX_FUNC];

struct row_range { // one collective's rows: operators x types x algorithms
	signed char coll;
	bool reduces; // has rows of each operator and type
	int nalgo;
	signed char algos[6];
};

static const struct row_range row_ranges[] = {
	{ VG_ALLGATHER, false, 4, { VG_RING, VG_COLLNET_DIRECT, VG_NVLS, VG_PAT } },
	{ VG_BROADCAST, false, 1, { VG_RING } },
	{ VG_ALLGATHERV, false, 1, { VG_RING } },
	{ VG_ALLREDUCE,
	  true,
	  6,
	  { VG_TREE, VG_RING, VG_COLLNET_DIRECT, VG_COLLNET_CHAIN, VG_NVLS, VG_NVLS_TREE } },
	{ VG_REDUCE, true, 1, { VG_RING } },
	{ VG_REDUCESCATTER, true, 4, { VG_RING, VG_COLLNET_DIRECT, VG_NVLS, VG_PAT } },
};
enum { NRANGE = sizeof row_ranges / sizeof *row_ranges };

// In this version of NCCL. PAT comes last.
static int algo_count(const struct row_range *r)
{
	if (r->coll == VG_ALLGATHERV && !vg_layout->allgatherv)
		return 0;
	return r->nalgo - (r->algos[r->nalgo - 1] == VG_PAT && !vg_layout->pat);
}

static size_t row_count(const struct row_range *r)
{
	size_t n = (size_t)algo_count(r) * VG_NPROTO;

	return r->reduces ? n * NOP * (size_t)vg_layout->ntype : n;
}

// The function of the i-th row of a range; the protocol changes fastest.
static struct vg_func row_func(const struct row_range *r, size_t i)
{
	struct vg_func f = { .coll = r->coll, .op = -1, .type = -1 };
	int n = (int)i, nalgo = algo_count(r);

	f.proto = (signed char)(n % VG_NPROTO);
	n /= VG_NPROTO;
	f.algo = r->algos[n % nalgo];
	n /= nalgo;
	if (r->reduces) {
		f.type = (signed char)(n % vg_layout->ntype);
		f.op = (signed char)(n / vg_layout->ntype);
	}
	return f;
}

void vg_funcs_init(void)
{
	size_t row = 1; // row 0 is send/recv, whose works have a type of own

	memset(funcs, -1, sizeof funcs);
	for (size_t k = 0; k < NRANGE; k++)
		row += row_count(&row_ranges[k]);
	if (!vg_row_to_id || vg_nrows < row) {
		vg_log("NCCL's function table has %zu rows, not %zu: functions "
		       "are shown by number",
		       vg_nrows, row);
		return;
	}
	row = 1;
	for (size_t k = 0; k < NRANGE; k++) {
		for (size_t i = 0; i < row_count(&row_ranges[k]); i++) {
			int id = vg_row_to_id[row++];

			if (id >= 0 && id < MAX_FUNC && funcs[id].coll < 0)
				funcs[id] = row_func(&row_ranges[k], i);
		}
	}
}

struct vg_func vg_func_of(unsigned id)
{
	return id < MAX_FUNC ? funcs[id] : (struct vg_func){ -1, -1, -1, -1, -1 };
}
