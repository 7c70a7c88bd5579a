// SPDX-License-Identifier: MIT
// The CUDA runtime API: kernels, how programs register and launch them.

// Without this the header renames some functions to their versioned names.
#define __CUDA_API_VERSION_INTERNAL

#include "test/fakes/vgpu/vgpu.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "test/fakes/vgpu/runtime.h"

// The signatures are CUDA's; much of what they pass means nothing here.
#pragma GCC diagnostic ignored "-Wunused-parameter"

// ---- kernels: a function's handle is the address of its host stub

int vg_launch_on(const void *func, unsigned grid, void *stream, void **params, void **extra)
{
	const void *args = params ? params[0] : NULL;
	const size_t *size = NULL;

	for (void **e = extra; e && *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			args = e[1];
		else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = e[1];
	}
	vg_stream_launch(vg_stream(stream), vg_launch_new(vg_kernel_name(func), grid, args, size));
	return 0;
}

// Not in the public headers; nvcc's code calls them.
VG_API cudaError_t __cudaGetKernel(cudaKernel_t *k, const void *symbol);
VG_API cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 g, dim3 b, void **args, size_t shared,
				      cudaStream_t s);
VG_API unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t shared, struct CUstream_st *s);
VG_API cudaError_t __cudaPopCallConfiguration(dim3 *g, dim3 *b, size_t *shared, void *s);
VG_API void **__cudaRegisterFatBinary(void *image);
VG_API void __cudaRegisterFatBinaryEnd(void **h);
VG_API void __cudaUnregisterFatBinary(void **h);
VG_API char __cudaInitModule(void **h);
VG_API void __cudaUnregisterBinaryUtil(void *h);
VG_API void __cudaRegisterVar(void **h, char *host, char *dev, const char *name, int ext,
			      size_t size, int constant, int global);
VG_API void __cudaRegisterFunction(void **h, const char *host, char *dev, const char *name,
				   int limit, void *tid, void *bid, void *bdim, void *gdim,
				   int *wsize);

VG_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *f, const void *symbol)
{
	memcpy(f, &symbol, sizeof *f);
	return cudaSuccess;
}

VG_API cudaError_t __cudaGetKernel(cudaKernel_t *k, const void *symbol)
{
	memcpy(k, &symbol, sizeof *k);
	return cudaSuccess;
}

static unsigned blocks(dim3 g)
{
	return g.x * g.y * g.z;
}

VG_API cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **args, size_t shared,
				    cudaStream_t s)
{
	return vg_result(vg_launch_on(f, blocks(g), s, args, NULL));
}

VG_API cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 g, dim3 b, void **args, size_t shared,
				      cudaStream_t s)
{
	return cudaLaunchKernel(f, g, b, args, shared, s);
}

VG_API cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 g, dim3 b, void **args,
					       size_t shared, cudaStream_t s)
{
	return cudaLaunchKernel(f, g, b, args, shared, s);
}

VG_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **args)
{
	return vg_result(vg_launch_on(f, blocks(c->gridDim), c->stream, args, NULL));
}

static _Thread_local struct {
	dim3 g, b;
	size_t shared;
	void *stream;
} call;

VG_API unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t shared, struct CUstream_st *s)
{
	call.g = g;
	call.b = b;
	call.shared = shared;
	call.stream = s;
	return 0;
}

VG_API cudaError_t __cudaPopCallConfiguration(dim3 *g, dim3 *b, size_t *shared, void *s)
{
	*g = call.g;
	*b = call.b;
	*shared = call.shared;
	memcpy(s, &call.stream, sizeof call.stream);
	return cudaSuccess;
}

VG_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f)
{
	memset(a, 0, sizeof *a);
	a->maxThreadsPerBlock = 640;
	a->numRegs = 96;
	a->binaryVersion = a->ptxVersion = 10 * vg_kind()->major + vg_kind()->minor;
	a->maxDynamicSharedSizeBytes = 232448;
	return cudaSuccess;
}

VG_API cudaError_t cudaFuncSetAttribute(const void *f, enum cudaFuncAttribute attr, int value)
{
	return cudaSuccess;
}

// ---- nvcc's registration calls: only the kernels' names matter

VG_API void **__cudaRegisterFatBinary(void *image)
{
	static void *handle[1];

	return handle;
}

VG_API void __cudaRegisterFatBinaryEnd(void **h)
{
}

VG_API void __cudaUnregisterFatBinary(void **h)
{
}

VG_API char __cudaInitModule(void **h)
{
	return 1;
}

VG_API void __cudaUnregisterBinaryUtil(void *h)
{
}

// NOLINTNEXTLINE(readability-function-size): the signature is nvcc's
VG_API void __cudaRegisterVar(void **h, char *host, char *dev, const char *name, int ext,
			      size_t size, int constant, int global)
{
}

// NOLINTNEXTLINE(readability-function-size): the signature is nvcc's
VG_API void __cudaRegisterFunction(void **h, const char *host, char *dev, const char *name,
				   int limit, void *tid, void *bid, void *bdim, void *gdim,
				   int *wsize)
{
	vg_kernel_add(host, name);
}
