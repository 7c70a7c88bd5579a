// SPDX-License-Identifier: MIT
/* small_first keeps room for small messages. A small message waits while a large one occupies the
 * links and SMs, although it needs little of them. So large messages get few channels while small
 * ones are frequent, and small messages always take the protocol of least latency. The controller
 * counts the small ones of each interval, and frees the large ones after QUIET intervals without
 * many. */
#include "ncclbpf_policy.h"

enum { SMALL = KIB(64), LARGE = MIB(8), OFTEN = 20, QUIET = 3, ROOM = 4 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} most SEC(".maps") __coherent; /* channels of large messages; 0: no limit */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} small SEC(".maps") __merged(sum);

static __u64 before, quiet; /* the count of the controller's last run; intervals without many */

SEC("tuner")
int small_first(struct ncclbpf_tuner *ctx)
{
	__u32 zero = 0, *limit = bpf_map_lookup_elem(&most, &zero);

	if (ctx->bytes <= SMALL && !ncclbpf_choose(ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL);
	if (ctx->bytes >= LARGE)
		ctx->channels = *limit;
	return 0;
}

SEC("profiler/coll_done")
int count_small(struct ncclbpf_coll_done *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&small, &zero);

	*n += ctx->bytes <= SMALL;
	return 0;
}

SEC("controller")
int make_room(struct ncclbpf_controller *ctx)
{
	__u32 zero = 0, limit;
	__u64 *n = bpf_map_lookup_elem(&small, &zero), was = before;

	before = *n;
	quiet = *n >= was + OFTEN ? 0 : quiet + 1;
	limit = quiet < QUIET ? ROOM : 0;
	bpf_map_update_elem(&most, &zero, &limit, BPF_ANY);
	return 0;
}
