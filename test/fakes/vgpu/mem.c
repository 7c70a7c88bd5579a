// SPDX-License-Identifier: MIT
// Device memory is host memory: one memfd per block, so that other processes
// can map it, lazily backed, so that untouched gigabytes cost nothing.
//
// A sorted table of regions tells what a pointer is. hold/release keep the
// virtual GPU's threads from writing into memory that is being unmapped.
#include "test/fakes/vgpu/vgpu.h"

#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, GRAIN = 2 << 20, LARGE = 1 << 20 };

_Thread_local int vg_dev;

static struct vg_region *regions;
static size_t nregion, cregion;
static uint64_t next_id = 1;
static pthread_mutex_t table_mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hold_mu = PTHREAD_MUTEX_INITIALIZER;

void vg_mem_hold(void)
{
	pthread_mutex_lock(&hold_mu);
}

void vg_mem_release(void)
{
	pthread_mutex_unlock(&hold_mu);
}

// Index of the first region that begins above p. table_mu is held.
static size_t upper(uintptr_t p)
{
	size_t lo = 0, hi = nregion;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (regions[mid].base <= p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool vg_mem_find(uintptr_t p, struct vg_region *out)
{
	pthread_mutex_lock(&table_mu);
	size_t i = upper(p);
	bool found = i > 0 && p - regions[i - 1].base < regions[i - 1].size;
	if (found)
		*out = regions[i - 1];
	pthread_mutex_unlock(&table_mu);
	return found;
}

bool vg_mem_mapped(const void *p, size_t n)
{
	struct vg_region r;
	uintptr_t at = (uintptr_t)p;

	return p && vg_mem_find(at, &r) && n <= r.size - (at - r.base);
}

void vg_mem_add(struct vg_region r)
{
	pthread_mutex_lock(&table_mu);
	if (nregion == cregion) {
		cregion = cregion ? 2 * cregion : 256;
		struct vg_region *more = vg_calloc(cregion, sizeof *more);
		if (nregion)
			memcpy(more, regions, nregion * sizeof *more);
		free(regions);
		regions = more;
	}
	size_t i = upper(r.base);
	memmove(regions + i + 1, regions + i, (nregion - i) * sizeof *regions);
	nregion++;
	r.id = next_id++;
	regions[i] = r;
	pthread_mutex_unlock(&table_mu);
}

bool vg_mem_take(uintptr_t base, struct vg_region *out)
{
	pthread_mutex_lock(&table_mu);
	size_t i = upper(base);
	bool found = i > 0 && regions[i - 1].base == base;
	if (found) {
		*out = regions[--i];
		nregion--;
		memmove(regions + i, regions + i + 1, (nregion - i) * sizeof *regions);
	}
	pthread_mutex_unlock(&table_mu);
	return found;
}

void *vg_mem_reserve(size_t n, size_t align)
{
	char *va = mmap(NULL, n + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			0);

	if (va == MAP_FAILED)
		return NULL;
	size_t skip = (align - (uintptr_t)va % align) % align;
	if (skip)
		munmap(va, skip);
	munmap(va + skip + n, align - skip);
	return va + skip;
}

int vg_mem_map_fd(void *at, size_t n, int fd, size_t off)
{
	void *p = mmap(at, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
		       (off_t)off);

	return p == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : 0;
}

int vg_mem_new_fd(size_t n)
{
	int fd = memfd_create("vgpu", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)n)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int vg_mem_alloc(void **out, size_t n, enum vg_mem kind)
{
	size_t size = ((n ? n : 1) + PAGE - 1) / PAGE * PAGE;
	void *p = vg_mem_reserve(size, size >= LARGE ? GRAIN : PAGE);
	int fd = vg_mem_new_fd(size);

	if (!p || fd < 0 || vg_mem_map_fd(p, size, fd, 0)) {
		if (p)
			munmap(p, size);
		if (fd >= 0)
			close(fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	vg_mem_add((struct vg_region){
		.base = (uintptr_t)p, .size = size, .kind = kind, .dev = vg_dev, .fd = fd });
	*out = p;
	return 0;
}

int vg_mem_free(void *p)
{
	struct vg_region r;

	if (!p)
		return 0;
	if (!vg_mem_take((uintptr_t)p, &r))
		return CUDA_ERROR_INVALID_VALUE;
	vg_mem_hold();
	munmap((void *)r.base, r.size);
	vg_mem_release();
	if (r.fd >= 0)
		close(r.fd);
	return 0;
}
