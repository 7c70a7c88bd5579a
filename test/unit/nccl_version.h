// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_NCCL_VERSION_H
#define NB_TEST_UNIT_NCCL_VERSION_H

/*
 * The version that NCCL tells the plugin in this program: 2.28.9, which asks
 * all ranks alike. The linker exports the function (test/unit/rules.mk).
 */
static int nccl_version = 22809;

__attribute__((visibility("default"))) int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	*version = nccl_version;
	return 0;
}

#endif
