// SPDX-License-Identifier: MIT
// The driver functions that NCCL 2.28.9 asks for, by name, through
// cudaGetDriverEntryPoint; no libcuda.so.1 is needed.
//
// Virtual memory management maps memfds: exporting an allocation duplicates
// its descriptor, which NCCL passes over its own socket.

// Without this the header renames some functions to their versioned names.
#define __CUDA_API_VERSION_INTERNAL

#include "test/fakes/vgpu/vgpu.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The signatures are CUDA's; much of what they pass means nothing here.
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { GRAIN = 2 << 20, SKIP_STATUS = 77 };

// ---- devices and contexts

static char contexts[VG_MAX_DEV]; // a context is the address of its byte

static bool good_device(int dev)
{
	return dev >= 0 && dev < vg_count();
}

static CUresult init(unsigned flags)
{
	return CUDA_SUCCESS;
}

static CUresult ok(void)
{
	return CUDA_SUCCESS;
}

static CUresult driver_version(int *v)
{
	*v = VG_CUDA_VERSION;
	return CUDA_SUCCESS;
}

static CUresult device_get(int *dev, int i)
{
	if (!good_device(i))
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = i;
	return CUDA_SUCCESS;
}

static CUresult device_name(char *name, int size, int dev)
{
	snprintf(name, (size_t)size, "%s", vg_kind()->title);
	return CUDA_SUCCESS;
}

static CUresult device_memory(size_t *n, int dev)
{
	*n = vg_kind()->memory;
	return CUDA_SUCCESS;
}

static CUresult ctx_retain(void **ctx, int dev)
{
	if (!good_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*ctx = &contexts[dev];
	return CUDA_SUCCESS;
}

// The signature of CUDA 11.4, which is the one that NCCL asks for.
static CUresult ctx_create(void **ctx, void *params, int n, unsigned flags, int dev)
{
	CUresult rc = ctx_retain(ctx, dev);

	if (!rc)
		vg_dev = dev;
	return rc;
}

static CUresult ctx_set(void *ctx)
{
	if (ctx)
		vg_dev = (int)((char *)ctx - contexts);
	return CUDA_SUCCESS;
}

static CUresult ctx_get(void **ctx)
{
	*ctx = &contexts[vg_dev];
	return CUDA_SUCCESS;
}

static CUresult error_string(CUresult r, const char **s)
{
	*s = cudaGetErrorString((cudaError_t)(int)r);
	return CUDA_SUCCESS;
}

static CUresult error_name(CUresult r, const char **s)
{
	*s = cudaGetErrorName((cudaError_t)(int)r);
	return CUDA_SUCCESS;
}

// ---- pointers

static CUresult address_range(uintptr_t *base, size_t *n, uintptr_t p)
{
	struct vg_region r;

	if (!vg_mem_find(p, &r))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = r.base;
	if (n)
		*n = r.size;
	return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *out, int attr, uintptr_t p)
{
	struct vg_region r;
	uint64_t v = 0;
	size_t size = sizeof v;

	if (!vg_mem_find(p, &r))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		v = (uintptr_t)&contexts[r.dev];
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		v = r.kind == VG_MEM_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		size = sizeof(unsigned);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		v = p;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		v = (uint64_t)r.dev;
		size = sizeof(int);
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		v = r.id;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		v = r.base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		v = r.size;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		v = r.kind == VG_MEM_DEVICE && r.fd >= 0;
		size = sizeof(unsigned);
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		v = r.handle ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
		break;
	default: // all others that NCCL asks for are ints: no
		size = sizeof(int);
	}
	memcpy(out, &v, size); // little-endian: the low bytes come first
	return CUDA_SUCCESS;
}

// ---- virtual memory management

struct vg_handle {
	int fd, refs;
	size_t size;
	CUmemAllocationProp prop;
};

static CUresult granularity(size_t *g, const void *prop, int option)
{
	*g = GRAIN;
	return CUDA_SUCCESS;
}

static struct vg_handle *handle_new(int fd, size_t n, const CUmemAllocationProp *prop)
{
	struct vg_handle *h = vg_calloc(1, sizeof *h);

	h->fd = fd;
	h->refs = 1;
	h->size = n;
	h->prop = *prop;
	return h;
}

static void handle_get(struct vg_handle *h)
{
	__atomic_add_fetch(&h->refs, 1, __ATOMIC_ACQ_REL);
}

static CUresult mem_release(struct vg_handle *h)
{
	if (__atomic_sub_fetch(&h->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		close(h->fd);
		free(h);
	}
	return CUDA_SUCCESS;
}

static CUresult mem_create(struct vg_handle **h, size_t n, const CUmemAllocationProp *prop,
			   unsigned long long flags)
{
	int fd = vg_mem_new_fd(n);

	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*h = handle_new(fd, n, prop);
	return CUDA_SUCCESS;
}

static CUresult address_reserve(void **p, size_t n, size_t align, void *at,
				unsigned long long flags)
{
	*p = vg_mem_reserve(n, align < GRAIN ? GRAIN : align);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult address_free(void *p, size_t n)
{
	munmap(p, n);
	return CUDA_SUCCESS;
}

static CUresult mem_map(uintptr_t p, size_t n, size_t off, struct vg_handle *h,
			unsigned long long flags)
{
	bool host = h->prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE;

	if (vg_mem_map_fd((void *)p, n, h->fd, off))
		return CUDA_ERROR_INVALID_VALUE;
	handle_get(h);
	vg_mem_add((struct vg_region){
		.base = p,
		.size = n,
		.kind = host ? VG_MEM_HOST : VG_MEM_DEVICE,
		.dev = host ? vg_dev : h->prop.location.id,
		.fd = -1,
		.handle = h,
	});
	return CUDA_SUCCESS;
}

// The address space stays reserved.
static CUresult mem_unmap(uintptr_t p, size_t n)
{
	struct vg_region r;

	if (!vg_mem_take(p, &r))
		return CUDA_ERROR_INVALID_VALUE;
	vg_mem_hold();
	void *at = mmap((void *)p, n, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	vg_mem_release();
	if (at == MAP_FAILED)
		return CUDA_ERROR_INVALID_VALUE;
	return r.handle ? mem_release(r.handle) : CUDA_SUCCESS;
}

static CUresult mem_export(int *fd, struct vg_handle *h, int type, unsigned long long flags)
{
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	*fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
	return *fd < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUmemAllocationProp device_prop(void)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = vg_dev },
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	};
}

static CUresult mem_import(struct vg_handle **h, void *os_handle, int type)
{
	CUmemAllocationProp prop = device_prop();

	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	int fd = fcntl((int)(intptr_t)os_handle, F_DUPFD_CLOEXEC, 0);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (size < 0) {
		if (fd >= 0)
			close(fd);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*h = handle_new(fd, (size_t)size, &prop);
	return CUDA_SUCCESS;
}

static CUresult mem_retain(struct vg_handle **h, void *p)
{
	struct vg_region r;

	if (!vg_mem_find((uintptr_t)p, &r) || !r.handle)
		return CUDA_ERROR_INVALID_VALUE;
	handle_get(r.handle);
	*h = r.handle;
	return CUDA_SUCCESS;
}

static CUresult mem_properties(CUmemAllocationProp *prop, struct vg_handle *h)
{
	*prop = h->prop;
	return CUDA_SUCCESS;
}

// A plain allocation: kernels do not run, so the switch has nothing to add.
static CUresult multicast_create(struct vg_handle **h, const CUmulticastObjectProp *p)
{
	CUmemAllocationProp prop = device_prop();

	return mem_create(h, p->size, &prop, 0);
}

// ---- streams

static CUresult write32(void *s, uint32_t *at, uint32_t v, unsigned flags)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

static CUresult write64(void *s, uint64_t *at, uint64_t v, unsigned flags)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

// NOLINTNEXTLINE(readability-function-size): the signature is CUDA's
static CUresult launch(const void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		       unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
		       void **extra)
{
	return (CUresult)vg_launch_on(f, gx * gy * gz, stream, params, extra);
}

static CUresult launch_ex(const CUlaunchConfig *c, const void *f, void **params, void **extra)
{
	for (unsigned i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];

		if (a->id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
			continue;
		vg_stream_record(vg_stream(c->hStream),
				 (struct vg_event *)a->value.launchCompletionEvent.event);
	}
	return (CUresult)vg_launch_on(f, c->gridDimX * c->gridDimY * c->gridDimZ, c->hStream,
				      params, extra);
}

// ---- by name

static CUresult proc_address(const char *name, void **fn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *st)
{
	void (*f)(void) = vg_driver(name);

	memcpy(fn, &f, sizeof f);
	if (st)
		*st = f ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

typedef void (*any_fn)(void);
#define F(f) ((any_fn)(f))

static const struct {
	const char *name;
	any_fn fn;
} functions[] = {
	{ "cuInit", F(init) },
	{ "cuDriverGetVersion", F(driver_version) },
	{ "cuGetProcAddress", F(proc_address) },
	{ "cuGetErrorString", F(error_string) },
	{ "cuGetErrorName", F(error_name) },
	{ "cuDeviceGet", F(device_get) },
	{ "cuDeviceGetCount", F(cudaGetDeviceCount) },
	{ "cuDeviceGetName", F(device_name) },
	{ "cuDeviceTotalMem", F(device_memory) },
	{ "cuDeviceGetAttribute", F(cudaDeviceGetAttribute) },
	{ "cuDeviceGetPCIBusId", F(cudaDeviceGetPCIBusId) },
	{ "cuDeviceCanAccessPeer", F(cudaDeviceCanAccessPeer) },
	{ "cuDevicePrimaryCtxRetain", F(ctx_retain) },
	{ "cuDevicePrimaryCtxRelease", F(ok) },
	{ "cuCtxCreate", F(ctx_create) },
	{ "cuCtxDestroy", F(ok) },
	{ "cuCtxSetCurrent", F(ctx_set) },
	{ "cuCtxGetCurrent", F(ctx_get) },
	{ "cuCtxGetDevice", F(cudaGetDevice) },
	{ "cuMemAlloc", F(cudaMalloc) },
	{ "cuMemFree", F(cudaFree) },
	{ "cuMemGetAddressRange", F(address_range) },
	{ "cuPointerGetAttribute", F(pointer_attribute) },
	{ "cuMemGetAllocationGranularity", F(granularity) },
	{ "cuMemCreate", F(mem_create) },
	{ "cuMemRelease", F(mem_release) },
	{ "cuMemAddressReserve", F(address_reserve) },
	{ "cuMemAddressFree", F(address_free) },
	{ "cuMemMap", F(mem_map) },
	{ "cuMemUnmap", F(mem_unmap) },
	{ "cuMemSetAccess", F(ok) },
	{ "cuMemExportToShareableHandle", F(mem_export) },
	{ "cuMemImportFromShareableHandle", F(mem_import) },
	{ "cuMemRetainAllocationHandle", F(mem_retain) },
	{ "cuMemGetAllocationPropertiesFromHandle", F(mem_properties) },
	{ "cuMulticastCreate", F(multicast_create) },
	{ "cuMulticastGetGranularity", F(granularity) },
	{ "cuMulticastAddDevice", F(ok) },
	{ "cuMulticastBindMem", F(ok) },
	{ "cuMulticastBindAddr", F(ok) },
	{ "cuMulticastUnbind", F(ok) },
	{ "cuStreamWriteValue32", F(write32) },
	{ "cuStreamWriteValue64", F(write64) },
	{ "cuLaunchKernel", F(launch) },
	{ "cuLaunchKernelEx", F(launch_ex) },
};

// Only a CUDA runtime asks for it: one that we failed to redirect.
static void runtime_at_large(void)
{
	static const char line[] = "vgpu: SKIP: a statically linked CUDA runtime without symbol "
				   "table looks for a driver; link it with -cudart shared, or do "
				   "not strip it\n";
	ssize_t done = write(STDERR_FILENO, line, sizeof line - 1);

	(void)done;
	_exit(SKIP_STATUS);
}

void (*vg_driver(const char *name))(void)
{
	any_fn f = NULL;
	void *stub;

	if (!strcmp(name, "cuGetExportTable"))
		runtime_at_large();
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		if (!strcmp(functions[i].name, name))
			return functions[i].fn;
	}
	stub = vg_stub(name);
	memcpy(&f, &stub, sizeof f);
	return f;
}

// ---- what a runtime looks up in libcuda.so.1, which we play (patch.c)

VG_API CUresult cuGetProcAddress_v2(const char *name, void **fn, int version, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *st)
{
	return proc_address(name, fn, version, flags, st);
}

VG_API CUresult cuInit(unsigned flags)
{
	return CUDA_SUCCESS;
}

VG_API CUresult cuDriverGetVersion(int *v)
{
	return driver_version(v);
}
