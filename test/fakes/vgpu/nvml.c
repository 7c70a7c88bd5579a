// SPDX-License-Identifier: MIT
// The NVML functions that NCCL looks up: a node whose GPUs all hang on
// NVSwitches. dlopen("libnvidia-ml.so.1") returns this library (patch.c).
//
// Declarations are our own: nvml.h is not part of the CUDA runtime packages.
#include "test/fakes/vgpu/vgpu.h"

#include <stdio.h>
#include <string.h>

// The signatures are NVML's; much of what they pass means nothing here.
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum {
	NVML_OK = 0,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	FIELD_LINK_COUNT = 91,
	FIELD_LINK_STATE = 165,
	FIELD_C2C_COUNT = 170,
	VALUE_UINT = 1,
	SWITCH_BUS = 0xf8,
};

// nvmlPciInfo_t as NCCL declares it (the first, 52-byte form) and
// nvmlFieldValue_t.
struct nvml_pci {
	char id[16];
	unsigned domain, bus, device, pci_id, subsystem, reserved[4];
};

struct nvml_field {
	unsigned id, scope;
	long long when, latency;
	int type, ret;
	union {
		unsigned u;
		unsigned long long ull;
	} value;
};

static int handle(int dev, void **out)
{
	if (dev < 0 || dev >= vg_count())
		return NVML_INVALID_ARGUMENT;
	*out = (void *)(uintptr_t)(dev + 1);
	return NVML_OK;
}

VG_API int nvmlInit_v2(void)
{
	return NVML_OK;
}

VG_API int nvmlInit(void)
{
	return NVML_OK;
}

VG_API int nvmlShutdown(void)
{
	return NVML_OK;
}

VG_API const char *nvmlErrorString(int r)
{
	return r ? "vgpu: not known to the virtual NVML" : "success";
}

VG_API int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = (unsigned)vg_count();
	return NVML_OK;
}

VG_API int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **dev)
{
	return i < VG_MAX_DEV ? handle((int)i, dev) : NVML_INVALID_ARGUMENT;
}

VG_API int nvmlDeviceGetHandleByIndex(unsigned i, void **dev)
{
	return nvmlDeviceGetHandleByIndex_v2(i, dev);
}

VG_API int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **dev)
{
	unsigned domain, bus;

	if (sscanf(id, "%x:%x", &domain, &bus) != 2)
		return NVML_INVALID_ARGUMENT;
	for (int i = 0; i < vg_count(); i++) {
		if ((unsigned)vg_bus(i) == bus)
			return handle(i, dev);
	}
	return NVML_NOT_FOUND;
}

VG_API int nvmlDeviceGetHandleByPciBusId(const char *id, void **dev)
{
	return nvmlDeviceGetHandleByPciBusId_v2(id, dev);
}

VG_API int nvmlDeviceGetIndex(void *dev, unsigned *i)
{
	*i = (unsigned)(uintptr_t)dev - 1;
	return NVML_OK;
}

VG_API int nvmlDeviceGetCudaComputeCapability(void *dev, int *major, int *minor)
{
	*major = vg_kind()->major;
	*minor = vg_kind()->minor;
	return NVML_OK;
}

VG_API int nvmlDeviceGetP2PStatus(void *a, void *b, int what, int *status)
{
	*status = 0; // peers can reach each other
	return NVML_OK;
}

static bool link_up(unsigned link)
{
	return link < (unsigned)vg_nvlinks();
}

VG_API int nvmlDeviceGetNvLinkState(void *dev, unsigned link, int *on)
{
	*on = link_up(link);
	return NVML_OK;
}

VG_API int nvmlDeviceGetNvLinkCapability(void *dev, unsigned link, int cap, unsigned *result)
{
	*result = link_up(link);
	return NVML_OK;
}

VG_API int nvmlDeviceGetNvLinkRemotePciInfo(void *dev, unsigned link, void *out)
{
	// NCCL takes a PCI id that is not in /sys for a switch.
	struct nvml_pci p = { .domain = VG_PCI_DOMAIN, .bus = SWITCH_BUS };

	snprintf(p.id, sizeof p.id, "%04x:%02x:00.0", (unsigned)VG_PCI_DOMAIN,
		 (unsigned)SWITCH_BUS);
	memcpy(out, &p, sizeof p);
	return NVML_OK;
}

VG_API int nvmlDeviceGetFieldValues(void *dev, int n, struct nvml_field *f)
{
	for (int i = 0; i < n; i++) {
		f[i].ret = NVML_OK;
		f[i].type = VALUE_UINT;
		f[i].value.ull = 0;
		switch (f[i].id) {
		case FIELD_LINK_COUNT:
			f[i].value.u = (unsigned)vg_nvlinks();
			break;
		case FIELD_LINK_STATE:
			f[i].value.u = link_up(f[i].scope);
			break;
		case FIELD_C2C_COUNT:
			break;
		default:
			f[i].ret = NVML_NOT_SUPPORTED;
		}
	}
	return NVML_OK;
}

VG_API int nvmlDeviceGetGpuFabricInfoV(void *dev, void *info)
{
	return NVML_NOT_SUPPORTED;
}

VG_API int nvmlDeviceGetPlatformInfo(void *dev, void *info)
{
	return NVML_NOT_SUPPORTED;
}

VG_API int nvmlSystemGetConfComputeState(unsigned *state)
{
	memset(state, 0, 3 * sizeof *state);
	return NVML_OK;
}

VG_API int nvmlSystemGetConfComputeSettings(unsigned *settings)
{
	memset(settings + 1, 0, 4 * sizeof *settings); // [0] is the version
	return NVML_OK;
}
