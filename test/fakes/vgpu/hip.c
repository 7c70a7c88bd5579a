// SPDX-License-Identifier: MIT
// libamdhip64.so.7: the 79 functions of HIP that RCCL of ROCm 7.2 imports, on the virtual GPUs.
// HIP is the CUDA runtime by other names, with the same numbers of errors and kinds, so most
// functions call the virtual runtime's (runtime.c), whose handles they pass on.
//
// The GPUs are MI300X, all connected by XGMI (hip_rsmi.c). Virtual memory management and graphs
// are missing: this RCCL uses neither unless it is told to.
#include "test/fakes/vgpu/vgpu.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "test/fakes/vgpu/hip.h"

// A function and its declaration, which is in none of our headers but in AMD's.
#define HIP(type, name, ...)           \
	VG_API type name(__VA_ARGS__); \
	VG_API type name(__VA_ARGS__)

// hipX and cudaX are called alike.
#define SAME(name, parameters, ...)             \
	VG_API int hip##name parameters;        \
	VG_API int hip##name parameters         \
	{                                       \
		return cuda##name(__VA_ARGS__); \
	}

// ---- the same by another name

SAME(GetDeviceCount, (int *n), n)
SAME(GetDevice, (int *dev), dev)
SAME(SetDevice, (int dev), dev)
SAME(DeviceCanAccessPeer, (int *can, int a, int b), can, a, b)
SAME(DeviceEnablePeerAccess, (int dev, unsigned flags), dev, flags)
SAME(DeviceGetPCIBusId, (char *id, int size, int dev), id, size, dev)
SAME(DeviceGetByPCIBusId, (int *dev, const char *id), dev, id)

SAME(Malloc, (void **p, size_t n), p, n)
SAME(Free, (void *p), p)
SAME(HostRegister, (void *p, size_t n, unsigned flags), p, n, flags)
SAME(HostUnregister, (void *p), p)
SAME(HostGetDevicePointer, (void **dev, void *host, unsigned flags), dev, host, flags)
SAME(Memcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind), to, from, n, kind)
SAME(MemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s),
     to, from, n, kind, s)
SAME(MemsetAsync, (void *p, int byte, size_t n, cudaStream_t s), p, byte, n, s)
SAME(MallocFromPoolAsync, (void **p, size_t n, cudaMemPool_t pool, cudaStream_t s), p, n, pool, s)
SAME(MemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *props), pool, props)
SAME(MemPoolDestroy, (cudaMemPool_t pool), pool)
SAME(IpcGetMemHandle, (cudaIpcMemHandle_t * h, void *p), h, p)
SAME(IpcOpenMemHandle, (void **p, cudaIpcMemHandle_t h, unsigned flags), p, h, flags)
SAME(IpcCloseMemHandle, (void *p), p)

SAME(StreamCreateWithFlags, (cudaStream_t * s, unsigned flags), s, flags)
SAME(StreamDestroy, (cudaStream_t s), s)
SAME(StreamSynchronize, (cudaStream_t s), s)
SAME(StreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned flags), s, e, flags)
SAME(StreamIsCapturing, (cudaStream_t s, enum cudaStreamCaptureStatus *st), s, st)
SAME(ThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode), mode)
SAME(LaunchHostFunc, (cudaStream_t s, cudaHostFn_t fn, void *arg), s, fn, arg)
SAME(EventCreate, (cudaEvent_t * e), e)
SAME(EventCreateWithFlags, (cudaEvent_t * e, unsigned flags), e, flags)
SAME(EventDestroy, (cudaEvent_t e), e)
SAME(EventQuery, (cudaEvent_t e), e)
SAME(EventRecord, (cudaEvent_t e, cudaStream_t s), e, s)
SAME(EventSynchronize, (cudaEvent_t e), e)
SAME(EventElapsedTime, (float *ms, cudaEvent_t a, cudaEvent_t b), ms, a, b)

HIP(int, hipDeviceSynchronize, void)
{
	return cudaDeviceSynchronize();
}

HIP(int, hipGetLastError, void)
{
	return cudaGetLastError();
}

HIP(int, hipExtMallocWithFlags, void **p, size_t n, unsigned flags)
{
	(void)flags;
	return cudaMalloc(p, n);
}

HIP(int, hipHostMalloc, void **p, size_t n, unsigned flags)
{
	return cudaHostAlloc(p, n, flags);
}

HIP(int, hipHostFree, void *p)
{
	return cudaFreeHost(p);
}

HIP(const char *, hipGetErrorString, int error)
{
	return cudaGetErrorString((cudaError_t)error);
}

// ---- devices

enum { HIP_VERSION = 70200000, SMS = 304, WARP = 64, SHARED_MEMORY = 65536 };

HIP(int, hipDriverGetVersion, int *v)
{
	*v = HIP_VERSION;
	return 0;
}

HIP(int, hipRuntimeGetVersion, int *v)
{
	*v = HIP_VERSION;
	return 0;
}

HIP(int, hipDeviceGet, int *handle, int dev)
{
	*handle = dev;
	return 0;
}

HIP(int, hipCtxGetCurrent, void **context)
{
	static char contexts[VG_MAX_DEV]; // a context is the address of its byte

	*context = &contexts[vg_dev];
	return 0;
}

HIP(int, hipDeviceSetLimit, int limit, size_t value)
{
	(void)limit, (void)value;
	return 0;
}

// Attributes that RCCL asks for; it accepts 0 for any other.
static const struct {
	int attribute, value;
} attributes[] = {
	{ HIP_ATTR_CLOCK_RATE, 2100000 },	   { HIP_ATTR_CAPABILITY_MAJOR, 9 },
	{ HIP_ATTR_CAPABILITY_MINOR, 4 },	   { HIP_ATTR_SM_COUNT, SMS },
	{ HIP_ATTR_THREADS_PER_BLOCK, 1024 },	   { HIP_ATTR_SHARED_PER_BLOCK, SHARED_MEMORY },
	{ HIP_ATTR_SHARED_OPTIN, SHARED_MEMORY }, // RCCL's kernels need 32,832
	{ HIP_ATTR_SHARED_PER_SM, SHARED_MEMORY }, { HIP_ATTR_WARP_SIZE, WARP },
	{ HIP_ATTR_WALL_CLOCK_KHZ, 100000 }, // ticks of 10 ns, as in layout.c
};

HIP(int, hipDeviceGetAttribute, int *value, int attribute, int dev)
{
	(void)dev;
	*value = 0;
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
		if (attributes[i].attribute == attribute)
			*value = attributes[i].value;
	}
	return 0;
}

static void put_int(char *properties, size_t off, int v)
{
	memcpy(properties + off, &v, sizeof v);
}

HIP(int, hipGetDevicePropertiesR0600, char *p, int dev)
{
	const size_t memory = (size_t)192 << 30, shared = SHARED_MEMORY;

	memset(p, 0, PROP_SIZE);
	strcpy(p + PROP_NAME, "Virtual MI300X");
	strcpy(p + PROP_ARCH, "gfx942:sramecc+:xnack-");
	memcpy(p + PROP_MEMORY, &memory, sizeof memory);
	memcpy(p + PROP_SHARED, &shared, sizeof shared);
	put_int(p, PROP_WARP, WARP);
	put_int(p, PROP_THREADS, 1024);
	put_int(p, PROP_CLOCK, 2100000);
	put_int(p, PROP_MAJOR, 9);
	put_int(p, PROP_MINOR, 4);
	put_int(p, PROP_SMS, SMS);
	put_int(p, PROP_MAP_HOST, 1);
	put_int(p, PROP_PCI_BUS, vg_bus(dev));
	put_int(p, PROP_PCI_DOMAIN, VG_PCI_DOMAIN);
	put_int(p, PROP_UNIFIED, 1);
	put_int(p, PROP_LARGE_BAR, 1);
	put_int(p, PROP_REVISION, 1);
	return 0;
}

// ---- memory

HIP(int, hipMemPoolSetAttribute, void *pool, int attribute, void *value)
{
	(void)pool, (void)attribute, (void)value;
	return 0;
}

HIP(int, hipMemGetAddressRange, void **base, size_t *size, void *p)
{
	struct vg_region r;

	if (!vg_mem_find((uintptr_t)p, &r))
		return cudaErrorInvalidValue;
	if (base)
		*base = (void *)r.base;
	if (size)
		*size = r.size;
	return 0;
}

HIP(int, hipPointerGetAttributes, struct hip_pointer *a, const void *p)
{
	struct vg_region r;

	memset(a, 0, sizeof *a);
	a->device = -1;
	if (!vg_mem_find((uintptr_t)p, &r))
		return 0;
	a->type = r.kind == VG_MEM_HOST ? HIP_MEMORY_HOST : HIP_MEMORY_DEVICE;
	a->device = r.dev;
	memcpy(&a->device_pointer, &p, sizeof p);
	if (r.kind == VG_MEM_HOST)
		a->host_pointer = a->device_pointer;
	return 0;
}

// RCCL asks whether memory may be exported as DMA-BUF, and the like: no.
HIP(int, hipPointerGetAttribute, void *value, int attribute, void *p)
{
	const int no = 0;

	(void)attribute, (void)p;
	memcpy(value, &no, sizeof no);
	return 0;
}

// NOLINTNEXTLINE(readability-function-size): the signature is HIP's
HIP(int, hipStreamGetCaptureInfo_v2, cudaStream_t s, int *st, unsigned long long *id, void **graph,
    const void **deps, size_t *ndeps)
{
	(void)s;
	if (st)
		*st = 0;
	if (id)
		*id = 0;
	if (graph)
		*graph = NULL;
	if (deps)
		*deps = NULL;
	if (ndeps)
		*ndeps = 0;
	return 0;
}

// ---- kernels

HIP(void **, __hipRegisterFatBinary, const void *image)
{
	static void *handle[1];

	(void)image;
	return handle;
}

HIP(void, __hipUnregisterFatBinary, void **h)
{
	(void)h;
}

// NOLINTNEXTLINE(readability-function-size): the signature is the compiler's
HIP(void, __hipRegisterFunction, void **h, const void *host, char *dev, const char *name,
    unsigned limit, void *tid, void *bid, void *bdim, void *gdim, int *wsize)
{
	(void)h, (void)dev, (void)limit, (void)tid, (void)bid, (void)bdim, (void)gdim, (void)wsize;
	vg_kernel_add(host, name);
}

// Only RCCL's own wrapper of <<<>>> asks, which it does not use.
HIP(int, __hipPopCallConfiguration, dim3 *g, dim3 *b, size_t *shared, void **s)
{
	*g = *b = (dim3){ 1, 1, 1 };
	*shared = 0;
	*s = NULL;
	return 0;
}

HIP(int, hipFuncGetAttributes, struct hip_func *a, const void *f)
{
	(void)f;
	memset(a, 0, sizeof *a);
	a->max_threads = 1024;
	a->binary_version = a->ptx_version = 94;
	return 0;
}

HIP(int, hipFuncSetAttribute, const void *f, int attribute, int value)
{
	(void)f, (void)attribute, (void)value;
	return 0;
}

// RCCL passes the arguments of its own kernels and the address of their size.
static int launch(const void *f, dim3 g, void **args, cudaStream_t s)
{
	const char *name = vg_kernel_name(f);
	bool planned = !strncmp(name, "ncclDevKernel", 13);

	hip_library();
	vg_stream_launch(vg_stream(s), vg_launch_new(name, g.x * g.y * g.z, args ? args[0] : NULL,
						     planned ? args[1] : NULL));
	return 0;
}

HIP(int, hipLaunchKernel, const void *f, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t s)
{
	(void)b, (void)shared;
	return launch(f, g, args, s);
}

// NOLINTNEXTLINE(readability-function-size): the signature is HIP's
HIP(int, hipExtLaunchKernel, const void *f, dim3 g, dim3 b, void **args, size_t shared,
    cudaStream_t s, cudaEvent_t before, cudaEvent_t after, int flags)
{
	(void)b, (void)shared, (void)flags;
	if (before)
		cudaEventRecord(before, s);
	int rc = launch(f, g, args, s);
	if (after)
		cudaEventRecord(after, s);
	return rc;
}

// ---- what is not there

#define MISSING(name)                            \
	VG_API int name(void);                   \
	VG_API int name(void)                    \
	{                                        \
		vg_log(#name ": not supported"); \
		return VG_NOT_SUPPORTED;         \
	}

MISSING(hipMemAddressFree)
MISSING(hipMemAddressReserve)
MISSING(hipMemCreate)
MISSING(hipMemExportToShareableHandle)
MISSING(hipMemGetAllocationGranularity)
MISSING(hipMemGetAllocationPropertiesFromHandle)
MISSING(hipMemImportFromShareableHandle)
MISSING(hipMemMap)
MISSING(hipMemRelease)
MISSING(hipMemRetainAllocationHandle)
MISSING(hipMemSetAccess)
MISSING(hipMemUnmap)
MISSING(hipGraphAddDependencies)
MISSING(hipGraphAddEventRecordNode)
MISSING(hipGraphAddHostNode)
MISSING(hipGraphRetainUserObject)
MISSING(hipStreamUpdateCaptureDependencies)
MISSING(hipUserObjectCreate)
