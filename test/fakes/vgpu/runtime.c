// SPDX-License-Identifier: MIT
// The CUDA runtime API as far as NCCL 2.28.9 and small programs use it.
//
// What is missing here is answered by a stub that says "not supported" and
// logs its name (stub.c). Copies and fills happen at the call; kernels,
// events and host functions go through the stream's queue (gpu.c).

// Without this the header renames some functions to their versioned names.
#define __CUDA_API_VERSION_INTERNAL

#include "test/fakes/vgpu/vgpu.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/fakes/vgpu/runtime.h"

// The signatures are CUDA's; much of what they pass means nothing here.
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { PAGE = 4096, PUNCH_FROM = 65536 };

static _Thread_local cudaError_t last_error;

cudaError_t vg_result(int rc)
{
	if (rc && rc != cudaErrorNotReady)
		last_error = (cudaError_t)rc;
	return (cudaError_t)rc;
}

static bool good_device(int dev)
{
	return dev >= 0 && dev < vg_count();
}

// ---- devices

VG_API cudaError_t cudaGetDeviceCount(int *n)
{
	*n = vg_count();
	return cudaSuccess;
}

VG_API cudaError_t cudaSetDevice(int dev)
{
	if (!good_device(dev))
		return vg_result(cudaErrorInvalidDevice);
	vg_dev = dev;
	return cudaSuccess;
}

VG_API cudaError_t cudaGetDevice(int *dev)
{
	*dev = vg_dev;
	return cudaSuccess;
}

VG_API cudaError_t cudaDriverGetVersion(int *v)
{
	*v = VG_CUDA_VERSION;
	return cudaSuccess;
}

VG_API cudaError_t cudaRuntimeGetVersion(int *v)
{
	*v = VG_CUDA_VERSION;
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int dev)
{
	if (!good_device(dev) || size < 13)
		return vg_result(cudaErrorInvalidValue);
	snprintf(id, (size_t)size, "%04X:%02X:00.0", (unsigned)VG_PCI_DOMAIN,
		 (unsigned)vg_bus(dev));
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceGetByPCIBusId(int *dev, const char *id)
{
	unsigned domain, bus;

	if (sscanf(id, "%x:%x", &domain, &bus) != 2)
		return vg_result(cudaErrorInvalidValue);
	for (int i = 0; i < vg_count(); i++) {
		if ((unsigned)vg_bus(i) == bus) {
			*dev = i;
			return cudaSuccess;
		}
	}
	return vg_result(cudaErrorInvalidDevice);
}

// Attributes that are the same for every kind; the runtime numbers them as
// the driver does.
static const struct {
	int attr, value;
} attributes[] = {
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64 },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535 },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535 },
	{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152 },
	{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448 },
	{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472 },
	{ CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536 },
	{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32 },
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048 },
	{ CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536 },
	{ CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
	{ CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000 },
	{ CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000 },
	{ CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120 },
	{ CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20 },
	{ CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3 },
	{ CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1 },
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1 },
	{ CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1 },
	{ CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1 },
	// NCCL 2.29 has GIN only where this is so.
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, VG_PCI_DOMAIN },
};

VG_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int dev)
{
	if (!good_device(dev))
		return vg_result(cudaErrorInvalidDevice);
	*value = 0;
	switch ((int)attr) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = vg_kind()->major;
		return cudaSuccess;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = vg_kind()->minor;
		return cudaSuccess;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = vg_kind()->sms;
		return cudaSuccess;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = vg_bus(dev);
		return cudaSuccess;
	case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
		*value = vg_env("VGPU_MULTICAST", 0) != 0;
		return cudaSuccess;
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
		*value = vg_env("VGPU_NO_VMM", 0) == 0;
		return cudaSuccess;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
		if (attributes[i].attr == (int)attr)
			*value = attributes[i].value;
	}
	return cudaSuccess;
}

VG_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int dev)
{
	const struct vg_kind *k = vg_kind();

	if (!good_device(dev))
		return vg_result(cudaErrorInvalidDevice);
	memset(p, 0, sizeof *p);
	snprintf(p->name, sizeof p->name, "%s", k->title);
	p->major = k->major;
	p->minor = k->minor;
	p->multiProcessorCount = k->sms;
	p->totalGlobalMem = k->memory;
	p->warpSize = 32;
	p->maxThreadsPerBlock = 1024;
	p->sharedMemPerBlockOptin = 232448;
	p->pciDomainID = VG_PCI_DOMAIN;
	p->pciBusID = vg_bus(dev);
	p->canMapHostMemory = 1;
	p->unifiedAddressing = 1;
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceCanAccessPeer(int *can, int a, int b)
{
	*can = a != b;
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceEnablePeerAccess(int dev, unsigned flags)
{
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	*value = 1024;
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return cudaSuccess;
}

VG_API cudaError_t cudaDeviceSynchronize(void)
{
	return vg_result(vg_device_sync(vg_dev));
}

// ---- errors

VG_API cudaError_t cudaGetLastError(void)
{
	cudaError_t e = last_error;

	last_error = cudaSuccess;
	return e;
}

VG_API cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

static const struct {
	cudaError_t error;
	const char *name, *text;
} errors[] = {
	{ cudaSuccess, "cudaSuccess", "no error" },
	{ cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument" },
	{ cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory" },
	{ cudaErrorInvalidDevice, "cudaErrorInvalidDevice",
	  "invalid device ordinal (vgpu: VGPU_COUNT says how many there are)" },
	{ cudaErrorNotReady, "cudaErrorNotReady", "device not ready" },
	{ cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout",
	  "the launch timed out (vgpu: the virtual kernel hangs)" },
	{ cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported by vgpu" },
};

static size_t error_find(cudaError_t e)
{
	size_t i = 0, n = sizeof errors / sizeof *errors;

	while (i < n && errors[i].error != e)
		i++;
	return i;
}

VG_API const char *cudaGetErrorName(cudaError_t e)
{
	size_t i = error_find(e);

	return i < sizeof errors / sizeof *errors ? errors[i].name : "cudaError (vgpu)";
}

VG_API const char *cudaGetErrorString(cudaError_t e)
{
	size_t i = error_find(e);

	return i < sizeof errors / sizeof *errors ? errors[i].text
						  : "an error that vgpu has no text for";
}

// ---- memory

// Large zero fills punch a hole: no memory is touched, the file is zero there.
static void fill(void *dst, int byte, size_t n)
{
	uintptr_t at = (uintptr_t)dst, end = at + n;
	uintptr_t lo = (at + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t hi = end & ~(uintptr_t)(PAGE - 1);

	if (byte || hi <= lo || hi - lo < PUNCH_FROM || madvise((void *)lo, hi - lo, MADV_REMOVE)) {
		memset(dst, byte, n);
		return;
	}
	memset(dst, 0, lo - at);
	memset((void *)hi, 0, end - hi);
}

VG_API cudaError_t cudaMalloc(void **p, size_t n)
{
	return vg_result(vg_mem_alloc(p, n, VG_MEM_DEVICE));
}

VG_API cudaError_t cudaFree(void *p)
{
	return vg_result(vg_mem_free(p));
}

VG_API cudaError_t cudaHostAlloc(void **p, size_t n, unsigned flags)
{
	return vg_result(vg_mem_alloc(p, n, VG_MEM_HOST));
}

VG_API cudaError_t cudaMallocHost(void **p, size_t n)
{
	return vg_result(vg_mem_alloc(p, n, VG_MEM_HOST));
}

VG_API cudaError_t cudaFreeHost(void *p)
{
	return vg_result(vg_mem_free(p));
}

VG_API cudaError_t cudaHostRegister(void *p, size_t n, unsigned flags)
{
	vg_mem_add((struct vg_region){
		.base = (uintptr_t)p, .size = n, .kind = VG_MEM_HOST, .dev = vg_dev, .fd = -1 });
	return cudaSuccess;
}

VG_API cudaError_t cudaHostUnregister(void *p)
{
	struct vg_region r;

	vg_mem_hold();
	bool found = vg_mem_take((uintptr_t)p, &r);
	vg_mem_release();
	return vg_result(found ? 0 : cudaErrorInvalidValue);
}

VG_API cudaError_t cudaHostGetDevicePointer(void **dev, void *host, unsigned flags)
{
	*dev = host;
	return cudaSuccess;
}

VG_API cudaError_t cudaMemGetInfo(size_t *avail, size_t *total)
{
	*total = vg_kind()->memory;
	*avail = *total - ((size_t)1 << 30);
	return cudaSuccess;
}

VG_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
	memmove(dst, src, n);
	return cudaSuccess;
}

VG_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind,
				   cudaStream_t s)
{
	memmove(dst, src, n);
	return cudaSuccess;
}

// NOLINTNEXTLINE(readability-function-size): the signature is CUDA's
VG_API cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs,
					const size_t *sizes, size_t count,
					struct cudaMemcpyAttributes *attrs, size_t *attr_at,
					size_t nattr, cudaStream_t s)
{
	for (size_t i = 0; i < count; i++)
		memmove(dsts[i], srcs[i], sizes[i]);
	return cudaSuccess;
}

VG_API cudaError_t cudaMemset(void *p, int byte, size_t n)
{
	fill(p, byte, n);
	return cudaSuccess;
}

VG_API cudaError_t cudaMemsetAsync(void *p, int byte, size_t n, cudaStream_t s)
{
	fill(p, byte, n);
	return cudaSuccess;
}

VG_API cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
	*pool = vg_calloc(1, 64); // only its address means something
	return cudaSuccess;
}

VG_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
	free(pool);
	return cudaSuccess;
}

VG_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr,
					   void *value)
{
	return cudaSuccess;
}

VG_API cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t s)
{
	return cudaMalloc(p, n);
}

VG_API cudaError_t cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t pool, cudaStream_t s)
{
	return cudaMalloc(p, n);
}

VG_API cudaError_t cudaFreeAsync(void *p, cudaStream_t s)
{
	return cudaFree(p);
}

VG_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
	struct vg_region r;
	void *at;

	memset(a, 0, sizeof *a);
	memcpy(&at, &p, sizeof at);
	if (!vg_mem_find((uintptr_t)p, &r)) {
		a->type = cudaMemoryTypeUnregistered;
		a->device = -2;
		a->hostPointer = at;
		return cudaSuccess;
	}
	a->type = r.kind == VG_MEM_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
	a->device = r.dev;
	a->devicePointer = at;
	a->hostPointer = r.kind == VG_MEM_HOST ? at : NULL;
	return cudaSuccess;
}

// ---- memory of another process: it opens our memfd through /proc

struct ipc {
	int pid, fd, dev;
	uint64_t size, off;
};

VG_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *h, void *p)
{
	struct vg_region r;

	if (!vg_mem_find((uintptr_t)p, &r) || r.fd < 0)
		return vg_result(cudaErrorInvalidValue);
	struct ipc i = { .pid = (int)getpid(),
			 .fd = r.fd,
			 .dev = r.dev,
			 .size = r.size,
			 .off = (uintptr_t)p - r.base };
	memset(h, 0, sizeof *h);
	memcpy(h, &i, sizeof i);
	return cudaSuccess;
}

VG_API cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t h, unsigned flags)
{
	struct ipc i;
	char path[64];

	memcpy(&i, &h, sizeof i);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", i.pid, i.fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return vg_result(cudaErrorInvalidValue);
	char *at = mmap(NULL, i.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		close(fd);
		return vg_result(cudaErrorMemoryAllocation);
	}
	vg_mem_add((struct vg_region){ .base = (uintptr_t)at,
				       .size = i.size,
				       .kind = VG_MEM_DEVICE,
				       .dev = i.dev,
				       .fd = fd });
	*p = at + i.off;
	return cudaSuccess;
}

VG_API cudaError_t cudaIpcCloseMemHandle(void *p)
{
	struct vg_region r;

	if (!vg_mem_find((uintptr_t)p, &r))
		return vg_result(cudaErrorInvalidValue);
	return vg_result(vg_mem_free((void *)r.base));
}

// ---- streams and events

VG_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
	*s = (cudaStream_t)vg_stream_new(vg_dev);
	return cudaSuccess;
}

VG_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
	return cudaStreamCreateWithPriority(s, flags, 0);
}

VG_API cudaError_t cudaStreamCreate(cudaStream_t *s)
{
	return cudaStreamCreateWithPriority(s, 0, 0);
}

VG_API cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	vg_stream_free(vg_stream(s));
	return cudaSuccess;
}

VG_API cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	return vg_result(vg_stream_sync(vg_stream(s)));
}

VG_API cudaError_t cudaStreamQuery(cudaStream_t s)
{
	return vg_result(vg_stream_query(vg_stream(s)));
}

VG_API cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
	vg_stream_wait(vg_stream(s), (struct vg_event *)e);
	return cudaSuccess;
}

VG_API cudaError_t cudaStreamGetDevice(cudaStream_t s, int *dev)
{
	*dev = vg_stream_dev(vg_stream(s));
	return cudaSuccess;
}

VG_API cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *st)
{
	*st = cudaStreamCaptureStatusNone;
	return cudaSuccess;
}

// NOLINTNEXTLINE(readability-function-size): the signature is CUDA's
VG_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *st,
					    unsigned long long *id, cudaGraph_t *graph,
					    const cudaGraphNode_t **deps,
					    const cudaGraphEdgeData **edges, size_t *ndeps)
{
	*st = cudaStreamCaptureStatusNone;
	if (id)
		*id = 0;
	return cudaSuccess;
}

VG_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	static _Thread_local enum cudaStreamCaptureMode current;
	enum cudaStreamCaptureMode old = current;

	current = *mode;
	*mode = old;
	return cudaSuccess;
}

VG_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
	*e = (cudaEvent_t)vg_event_new();
	return cudaSuccess;
}

VG_API cudaError_t cudaEventCreate(cudaEvent_t *e)
{
	return cudaEventCreateWithFlags(e, 0);
}

VG_API cudaError_t cudaEventDestroy(cudaEvent_t e)
{
	vg_event_free((struct vg_event *)e);
	return cudaSuccess;
}

VG_API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
	vg_stream_record(vg_stream(s), (struct vg_event *)e);
	return cudaSuccess;
}

VG_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags)
{
	return cudaEventRecord(e, s);
}

VG_API cudaError_t cudaEventQuery(cudaEvent_t e)
{
	return vg_result(vg_event_query((struct vg_event *)e));
}

VG_API cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
	return vg_result(vg_event_sync((struct vg_event *)e));
}

VG_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b)
{
	return vg_result(vg_event_elapsed(ms, (struct vg_event *)a, (struct vg_event *)b));
}

VG_API cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *arg)
{
	vg_stream_host(vg_stream(s), fn, arg);
	return cudaSuccess;
}

// ---- the way to the driver

VG_API cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **fn, unsigned version,
						    unsigned long long flags,
						    enum cudaDriverEntryPointQueryResult *st)
{
	void (*f)(void) = vg_driver(name);

	memcpy(fn, &f, sizeof f);
	if (st)
		*st = f ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
	return cudaSuccess;
}

VG_API cudaError_t cudaGetDriverEntryPoint(const char *name, void **fn, unsigned long long flags,
					   enum cudaDriverEntryPointQueryResult *st)
{
	return cudaGetDriverEntryPointByVersion(name, fn, VG_CUDA_VERSION, flags, st);
}
