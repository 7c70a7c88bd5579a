// SPDX-License-Identifier: MIT
// A library that is no plugin of NCCL's.
int no_plugin_at_all(void);

__attribute__((visibility("default"))) int no_plugin_at_all(void)
{
	return 1;
}
