// SPDX-License-Identifier: MIT
// Which collective, operator, type, algorithm and protocol a function's id means in RCCL.
//
// RCCL numbers the functions of its device table in the order of collective, algorithm, protocol,
// operator and type; where several types are one function (signed integers are computed as
// unsigned ones), the table has it once. The order is that of RCCL's src/device/generate.py.
#include "test/fakes/vgpu/vgpu.h"

#include <string.h>

enum { MAX_FUNC = 1024, NOP = 5, SUM_POST_DIV = 4 };

// Of the device table, as vgpu's type_name numbers them.
enum { U8 = 1, U32 = 3, U64 = 5, F16, F32, F64, BF16, F8E4M3, F8E5M2 };
static const signed char types[] = { U8, U32, U64, F16, F32, F64, BF16, F8E4M3, F8E5M2 };
enum { NTYPE = sizeof types, NINTEGER = 3 };

static struct vg_func funcs[MAX_FUNC];
static size_t nfunc;

static const struct {
	signed char coll;
	bool reduces;
	bool accumulates; // each function once more, with an accumulator
	int nalgo;
	signed char algos[2];
} table[] = {
	{ VG_BROADCAST, false, false, 1, { VG_RING } },
	{ VG_REDUCE, true, false, 1, { VG_RING } },
	{ VG_ALLGATHER, false, false, 2, { VG_RING, VG_PAT } },
	{ VG_REDUCESCATTER, true, false, 2, { VG_RING, VG_PAT } },
	{ VG_ALLREDUCE, true, true, 2, { VG_TREE, VG_RING } },
};

static void add(struct vg_func f, int times)
{
	for (int i = 0; i < times && nfunc < MAX_FUNC; i++)
		funcs[nfunc++] = f;
}

// The functions of one collective, algorithm and protocol. bf16 also has a pipelined one.
static void add_reductions(struct vg_func f, bool accumulates)
{
	for (f.op = 0; f.op < NOP; f.op++) {
		for (int t = 0; t < (f.op == SUM_POST_DIV ? NINTEGER : NTYPE); t++) {
			int times = accumulates ? 2 : 1;

			f.type = types[t];
			if (f.type == BF16 && f.proto == VG_SIMPLE)
				times *= 2;
			add(f, times);
		}
	}
}

void vg_funcs_init(void)
{
	for (size_t c = 0; c < sizeof table / sizeof *table; c++) {
		for (int i = 0; i < table[c].nalgo * VG_NPROTO; i++) {
			struct vg_func f = { .coll = table[c].coll, .op = -1, .type = -1 };

			f.algo = table[c].algos[i / VG_NPROTO];
			f.proto = (signed char)(i % VG_NPROTO);
			if (table[c].reduces)
				add_reductions(f, table[c].accumulates);
			else
				add(f, 1);
		}
	}
}

struct vg_func vg_func_of(unsigned id)
{
	return id < nfunc ? funcs[id] : (struct vg_func){ -1, -1, -1, -1, -1 };
}
