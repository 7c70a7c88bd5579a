// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: &x.it.opaque[0] => &x.beside
// It would write into what only helpers may touch.
#include "ncclbpf_policy.h"

__noinline int use(uint64_t *p)
{
	return p ? *p & 1 : 0;
}

SEC("tuner")
int global_function_gets_an_iterator(struct ncclbpf_tuner *ctx)
{
	struct {
		uint64_t beside;
		struct bpf_iter_num it;
	} x = { .beside = 1 };

	bpf_iter_num_new(&x.it, 0, 3);
	asm volatile("" ::"r"(use(&x.it.opaque[0])));
	bpf_iter_num_destroy(&x.it);
	return 0;
}
