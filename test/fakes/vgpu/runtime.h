// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VGPU_RUNTIME_H
#define NB_TEST_VGPU_RUNTIME_H

#include <cuda_runtime_api.h>

// Remember an error as cudaGetLastError reports it; "not ready" is none.
cudaError_t vg_result(int rc);

#endif
