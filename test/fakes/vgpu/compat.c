// SPDX-License-Identifier: MIT
// Functions of the CUDA 12 runtime that CUDA 13 has under another name or with
// other arguments. Debian's NCCL has such a runtime inside.
#define __CUDA_API_VERSION_INTERNAL

#include "test/fakes/vgpu/vgpu.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "test/fakes/vgpu/runtime.h"

// struct cudaDeviceProp of CUDA 12.
enum {
	PROP_MEMORY = 288, // size_t; all that follow are int
	PROP_WARP = 308,
	PROP_THREADS = 320,
	PROP_MAJOR = 360,
	PROP_MINOR = 364,
	PROP_SMS = 388,
	PROP_MAP_HOST = 400,
	PROP_SIZE = 1032,
};

VG_API cudaError_t cudaGetDeviceProperties_v2(char *p, int dev);
VG_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t s, enum cudaStreamCaptureStatus *st,
					       unsigned long long *id, cudaGraph_t *graph,
					       const cudaGraphNode_t **deps, size_t *ndeps);

static void put(char *p, size_t off, int v)
{
	memcpy(p + off, &v, sizeof v);
}

VG_API cudaError_t cudaGetDeviceProperties_v2(char *p, int dev)
{
	const struct vg_kind *k = vg_kind();

	if (dev < 0 || dev >= vg_count())
		return vg_result(cudaErrorInvalidDevice);
	memset(p, 0, PROP_SIZE);
	snprintf(p, 256, "%s", k->title);
	memcpy(p + PROP_MEMORY, &k->memory, sizeof k->memory);
	put(p, PROP_WARP, 32);
	put(p, PROP_THREADS, 1024);
	put(p, PROP_MAJOR, k->major);
	put(p, PROP_MINOR, k->minor);
	put(p, PROP_SMS, k->sms);
	put(p, PROP_MAP_HOST, 1);
	return cudaSuccess;
}

VG_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t s, enum cudaStreamCaptureStatus *st,
					       unsigned long long *id, cudaGraph_t *graph,
					       const cudaGraphNode_t **deps, size_t *ndeps)
{
	return cudaStreamGetCaptureInfo(s, st, id, graph, deps, NULL, ndeps);
}
