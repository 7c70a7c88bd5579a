// SPDX-License-Identifier: MIT
// NCCL's installed device headers as host C++: a host thread plays one thread
// of a kernel. Nothing of NCCL is copied; the headers get what a GPU compiler
// would define. Without __CUDA_ARCH__ they leave out GDAKI and its machine
// code. Waits in the headers spin on atomic_ref::load, so a load that is repeated
// gives up the CPU here.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>

#include <cuda.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <cuda/atomic>

#define __CUDACC__ 1
#define _COOPERATIVE_GROUPS_H_ 1
#undef __device__
#undef __host__
#undef __forceinline__
#undef __shared__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline

struct one_thread {
	int x, y, z;
};
static const one_thread threadIdx{ 0, 0, 0 }, blockDim{ 1, 1, 1 },
	blockIdx{ 0, 0, 0 };

template <class T> static inline T __ldg(const T *p)
{
	return *(const volatile T *)p;
}
static inline ulonglong2 __ldg(const ulonglong2 *p)
{
	return *p;
}
// What this thread has loaded since it last stored a descriptor: @times in a row
// from @from.
struct spin {
	const void *from;
	unsigned times;
};
static thread_local spin spinning;

static inline void spin_yield(const void *from)
{
	if (spinning.from != from)
		spinning = { from, 0 };
	else if (++spinning.times >= 16)
		sched_yield();
}
// Each word of a descriptor has its own flag, so two stores do for one.
static inline void __stwt(uint4 *p, uint4 v)
{
	uint64_t w[2];

	spinning.from = nullptr;
	memcpy(w, &v, sizeof(w));
	__atomic_store_n((uint64_t *)p, w[0], __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)p + 1, w[1], __ATOMIC_RELEASE);
}
static inline int __popc(unsigned x)
{
	return __builtin_popcount(x);
}
static inline int __ffs(int x)
{
	return __builtin_ffs(x);
}
static inline unsigned __fns(unsigned, unsigned, int)
{
	return 0;
}
static inline void __syncwarp(unsigned = ~0u)
{
}
static inline void __syncthreads()
{
}
static inline void __barrier_sync_count(unsigned, unsigned)
{
}
static inline unsigned __activemask()
{
	return 1;
}
template <class T> static inline T __shfl_sync(unsigned, T v, int, int = 32)
{
	return v;
}

namespace cuda
{
template <class T, thread_scope S = thread_scope_system>
struct yielding : atomic_ref<T, S> {
	const T *from;
	yielding(T &r) : atomic_ref<T, S>(r), from(&r)
	{
	}
	T load(memory_order o = memory_order_seq_cst) const
	{
		spin_yield(from);
		return atomic_ref<T, S>::load(o);
	}
};
} // namespace cuda
#define atomic_ref yielding
#include <nccl_device.h>
#undef atomic_ref
