// SPDX-License-Identifier: MIT
// load_check LIBRARY: opens it as NCCL 2.30.3 and later open the library that
// NCCL_IBVERBS_LIB names, and looks up what they look up, each at the version
// of its own. Functions that the tap wraps are its own, all others those of the
// libibverbs.so.1 that it needs.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *version;
	bool wrapped;
} rows[] = {
	{ "ibv_get_device_list", "IBVERBS_1.1", false },
	{ "ibv_free_device_list", "IBVERBS_1.1", false },
	{ "ibv_get_device_name", "IBVERBS_1.1", false },
	{ "ibv_open_device", "IBVERBS_1.1", true },
	{ "ibv_close_device", "IBVERBS_1.1", true },
	{ "ibv_get_async_event", "IBVERBS_1.1", true },
	{ "ibv_ack_async_event", "IBVERBS_1.1", false },
	{ "ibv_query_device", "IBVERBS_1.1", false },
	{ "ibv_query_port", "IBVERBS_1.1", false },
	{ "ibv_query_gid", "IBVERBS_1.1", false },
	{ "ibv_query_qp", "IBVERBS_1.1", false },
	{ "ibv_alloc_pd", "IBVERBS_1.1", false },
	{ "ibv_dealloc_pd", "IBVERBS_1.1", false },
	{ "ibv_reg_mr", "IBVERBS_1.1", true },
	{ "ibv_reg_mr_iova2", "IBVERBS_1.8", true },
	{ "ibv_reg_dmabuf_mr", "IBVERBS_1.12", true },
	{ "ibv_dereg_mr", "IBVERBS_1.1", true },
	{ "ibv_create_cq", "IBVERBS_1.1", false },
	{ "ibv_destroy_cq", "IBVERBS_1.1", false },
	{ "ibv_create_qp", "IBVERBS_1.1", true },
	{ "ibv_modify_qp", "IBVERBS_1.1", true },
	{ "ibv_destroy_qp", "IBVERBS_1.1", true },
	{ "ibv_fork_init", "IBVERBS_1.1", false },
	{ "ibv_event_type_str", "IBVERBS_1.1", false },
	{ "ibv_query_ece", "IBVERBS_1.10", false },
	{ "ibv_set_ece", "IBVERBS_1.10", false },
};

static bool check(void *lib, size_t i, const char *tap)
{
	void *f = dlvsym(lib, rows[i].name, rows[i].version);
	Dl_info info;

	if (!f || !dladdr(f, &info)) {
		printf("# %s@%s: not found\n", rows[i].name, rows[i].version);
		return false;
	}
	if (!strcmp(info.dli_fname, tap) == rows[i].wrapped)
		return true;
	printf("# %s@%s: from %s\n", rows[i].name, rows[i].version, info.dli_fname);
	return false;
}

int main(int argc, char **argv)
{
	void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *symbol = lib ? dlsym(lib, "ncclbpf_tap") : NULL;
	bool good = true;
	Dl_info tap;

	if (!symbol || !dladdr(symbol, &tap)) {
		printf("# %s\n", lib ? "it is not the tap" : dlerror());
		return 1;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		good = check(lib, i, tap.dli_fname) && good;
	return !good;
}
