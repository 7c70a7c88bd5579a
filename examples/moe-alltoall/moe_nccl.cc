// SPDX-License-Identifier: MIT
// moe_nccl [OPTIONS of moe_job.c]: the all-to-all of experts over the real
// libnccl on virtual GPUs. Host threads play the kernels: they put and signal
// by NCCL's own device headers (test/fakes/vgpu/gin_dev.hpp), NCCL's progress
// thread hands the puts to our plugin. An all-reduce runs beside each layer on
// the same communicator; its time is modelled.
#include "test/fakes/vgpu/gin_dev.hpp"

#include <string>

#include "moe.h"

namespace
{
enum { REDUCED = 1 << 20 };

struct carrier {
	ncclComm_t comm;
	ncclWindow_t window;
	ncclDevComm dev;
	cudaStream_t stream;
	float *reduced;
};

void check(int rc, const char *what)
{
	if (rc)
		moe_die((std::string(what) + " gives " + std::to_string(rc))
				.c_str());
}
#define CHECK(x) check((int)(x), #x)

carrier &of(moe_rank *k)
{
	return *static_cast<carrier *>(k->carrier);
}

void nccl_open(moe_rank *k, size_t bytes)
{
	carrier *c = new carrier();
	ncclDevCommRequirements q = {};
	ncclUniqueId id;

	k->carrier = c;
	static_assert(sizeof(id) <= MOE_BLOB, "a blob holds NCCL's id");
	if (k->r == 0) {
		CHECK(ncclGetUniqueId(&id));
		memcpy(moe_blob(0), &id, sizeof(id));
	}
	moe_meet();
	memcpy(&id, moe_blob(0), sizeof(id));
	CHECK(cudaSetDevice((int)k->r));
	CHECK(ncclCommInitRank(&c->comm, MOE_RANKS, id, (int)k->r));
	CHECK(ncclMemAlloc((void **)&k->data, bytes));
	CHECK(ncclCommWindowRegister(c->comm, k->data, bytes, &c->window, 0));
	q.ginSignalCount = MOE_SIGNALS;
	q.ginCounterCount = MOE_COUNTERS;
	CHECK(ncclDevCommCreate(c->comm, &q, &c->dev));
	moe_need(c->dev.ginContextCount > 0,
		 "no GIN context: is NCCLBPF_GIN on?");
	CHECK(cudaStreamCreate(&c->stream));
	CHECK(cudaMalloc((void **)&c->reduced, REDUCED * sizeof(float)));
	ncclGin gin(c->dev, 0);
	for (unsigned i = 0; i < MOE_SIGNALS; i++)
		gin.resetSignal(i);
	for (unsigned i = 0; i < MOE_COUNTERS; i++)
		gin.resetCounter(i);
}

void nccl_close(moe_rank *k)
{
	carrier &c = of(k);

	CHECK(ncclDevCommDestroy(c.comm, &c.dev));
	CHECK(ncclCommWindowDeregister(c.comm, c.window));
	CHECK(ncclCommDestroy(c.comm));
	CHECK(ncclMemFree(k->data));
	CHECK(cudaFree(c.reduced));
	CHECK(cudaStreamDestroy(c.stream));
	delete &c;
}

void nccl_put(moe_rank *k, const moe_put *p)
{
	carrier &c = of(k);
	ncclGin gin(c.dev, 0);
	ncclTeam world = ncclTeamWorld(c.dev);
	ncclGin_SignalAdd add{ p->signal, p->add };
	int to = (int)p->to;

	if (!p->size)
		gin.signal(world, to, add);
	else if (!p->add)
		gin.put(world, to, c.window, p->at, c.window, p->from, p->size);
	else if (!p->count)
		gin.put(world, to, c.window, p->at, c.window, p->from, p->size,
			add);
	else
		gin.put(world, to, c.window, p->at, c.window, p->from, p->size,
			add, ncclGin_CounterInc{ p->counter });
}

uint64_t nccl_signal(moe_rank *k, uint32_t i)
{
	return ncclGin(of(k).dev, 0).readSignal(i);
}

uint64_t nccl_counter(moe_rank *k, uint32_t i)
{
	return ncclGin(of(k).dev, 0).readCounter(i);
}

void nccl_yield(moe_rank *)
{
	sched_yield();
}

void nccl_flush(moe_rank *k)
{
	ncclGin(of(k).dev, 0).flush(ncclCoopThread());
}

void all_reduce_start(moe_rank *k)
{
	carrier &c = of(k);

	CHECK(ncclAllReduce(c.reduced, c.reduced, REDUCED, ncclFloat, ncclSum,
			    c.comm, c.stream));
}

void all_reduce_wait(moe_rank *k)
{
	carrier &c = of(k);
	ncclResult_t state;

	CHECK(cudaStreamSynchronize(c.stream));
	CHECK(ncclCommGetAsyncError(c.comm, &state));
	CHECK(state);
}

const moe_carrier_ops over_nccl = {
	"libnccl",    nccl_open,  nccl_close, nccl_put,		nccl_signal,
	nccl_counter, nccl_yield, nccl_flush, all_reduce_start, all_reduce_wait
};
} // namespace

int main(int argc, char **argv)
{
	return moe_main(argc, argv, 1, &over_nccl);
}
