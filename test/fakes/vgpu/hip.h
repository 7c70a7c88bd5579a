// SPDX-License-Identifier: MIT
// HIP's structs and numbers as far as RCCL uses them, without AMD's headers: offsets and values
// were printed with the headers of HIP 6.4, and version 6.0 of the ABI (R0600) fixes them.
#ifndef NB_TEST_HIP_H
#define NB_TEST_HIP_H

#include <stddef.h>

enum { // hipDeviceAttribute_t
	HIP_ATTR_CLOCK_RATE = 5,
	HIP_ATTR_CAPABILITY_MAJOR = 23,
	HIP_ATTR_THREADS_PER_BLOCK = 56,
	HIP_ATTR_CAPABILITY_MINOR = 61,
	HIP_ATTR_SM_COUNT = 63,
	HIP_ATTR_SHARED_PER_BLOCK = 74,
	HIP_ATTR_SHARED_OPTIN = 75,
	HIP_ATTR_WARP_SIZE = 87,
	HIP_ATTR_SHARED_PER_SM = 10002,
	HIP_ATTR_WALL_CLOCK_KHZ = 10017,
};

enum { // offsets in hipDeviceProp_tR0600
	PROP_NAME = 0,
	PROP_MEMORY = 288,
	PROP_SHARED = 296,
	PROP_WARP = 308,
	PROP_THREADS = 320,
	PROP_CLOCK = 348,
	PROP_MAJOR = 360,
	PROP_MINOR = 364,
	PROP_SMS = 388,
	PROP_MAP_HOST = 400,
	PROP_PCI_BUS = 584,
	PROP_PCI_DOMAIN = 592,
	PROP_UNIFIED = 604,
	PROP_ARCH = 1160,
	PROP_LARGE_BAR = 1464,
	PROP_REVISION = 1468,
	PROP_SIZE = 1472,
};

enum { HIP_MEMORY_HOST = 1, HIP_MEMORY_DEVICE = 2 }; // hipMemoryType; 0: unregistered

struct hip_pointer { // hipPointerAttribute_t
	int type, device;
	void *device_pointer, *host_pointer;
	int managed;
	unsigned flags;
};

struct hip_func { // hipFuncAttributes
	int binary_version, cache_mode;
	size_t constant_size, local_size;
	int max_dynamic_shared, max_threads, regs, carveout, ptx_version;
	size_t shared_size;
};

// Find RCCL among the loaded libraries, once; before the first launch is decoded.
void hip_library(void);

#endif
