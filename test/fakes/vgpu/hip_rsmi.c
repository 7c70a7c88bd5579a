// SPDX-License-Identifier: MIT
// librocm_smi64.so.7: the 8 functions that RCCL imports. Every GPU has an XGMI link to every
// other one. RCCL uses this library with RCCL_USE_ROCM_SMI_LIB=1; without, it reads
// /sys/class/kfd, which a machine without GPUs does not have.
#include "test/fakes/vgpu/vgpu.h"

enum { SUCCESS = 0, INVALID_ARGS = 1, LINK_XGMI = 2, FIRMWARE = 999 };

struct version {
	uint32_t major, minor, patch;
	const char *build;
};

#define RSMI(name, ...)               \
	VG_API int name(__VA_ARGS__); \
	VG_API int name(__VA_ARGS__)

RSMI(rsmi_init, uint64_t flags)
{
	(void)flags;
	return SUCCESS;
}

RSMI(rsmi_num_monitor_devices, uint32_t *n)
{
	*n = (uint32_t)vg_count();
	return SUCCESS;
}

RSMI(rsmi_dev_pci_id_get, uint32_t dev, uint64_t *id)
{
	if (dev >= (uint32_t)vg_count())
		return INVALID_ARGS;
	*id = (uint64_t)VG_PCI_DOMAIN << 32 | (uint64_t)vg_bus((int)dev) << 8;
	return SUCCESS;
}

RSMI(rsmi_topo_get_link_type, uint32_t a, uint32_t b, uint64_t *hops, int *type)
{
	(void)a, (void)b;
	*hops = 1;
	*type = LINK_XGMI;
	return SUCCESS;
}

RSMI(rsmi_topo_get_link_weight, uint32_t a, uint32_t b, uint64_t *weight)
{
	(void)a, (void)b;
	*weight = 15; // of one hop
	return SUCCESS;
}

RSMI(rsmi_dev_firmware_version_get, uint32_t dev, int block, uint64_t *v)
{
	(void)dev, (void)block;
	*v = FIRMWARE; // newer than any that RCCL warns of
	return SUCCESS;
}

RSMI(rsmi_version_get, struct version *v)
{
	*v = (struct version){ 7, 8, 0, "virtual" };
	return SUCCESS;
}

RSMI(rsmi_status_string, int status, const char **text)
{
	*text = status ? "error of the virtual ROCm SMI" : "success";
	return SUCCESS;
}
