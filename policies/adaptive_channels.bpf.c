// SPDX-License-Identifier: MIT
/*
 * adaptive_channels adapts the number of channels of each size class (base-2
 * logarithm of the bytes) in a closed loop. The coherent map `channels` holds
 * the numbers, where 0 means no opinion. The tuner program only reads this
 * map, so all ranks choose the same number at the same decision.
 *
 * The profiler program adds up the times of each class, and the controller
 * sees the sums of all ranks. It starts a class at START channels and adds
 * STEP in each run up to MOST, while the mean time stays within CALM times the
 * last mean. A mean beyond FACTOR times shows other traffic, so the class
 * returns to START until its time is as at first.
 *
 * `decided` counts decisions for each class and CPU. An answer must not depend
 * on such a local map, so the tuner program first answers, then counts.
 */
#include "ncclbpf_policy.h"

enum { CLASSES = 40 };
enum { START = 2, STEP = 2, MOST = 12 };
enum { CALM = 2, FACTOR = 4, SAMPLES = 16 };

struct wanted {
	__u32 channels;	 /* channels to use; 0: no opinion */
	__u32 min_ranks; /* smallest communicator, in ranks */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, struct wanted);
} channels SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, __u64);
} decided SEC(".maps");

struct sum {
	__u64 n, ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, struct sum);
} took SEC(".maps") __merged(sum);

/* The controller's memory of a class, in the elected process. */
struct learned {
	struct sum before; /* last value of `took` */
	__u64 start_ns;	   /* first mean, with START channels */
	__u64 calm_ns;	   /* mean of the last calm run */
	__u32 contended;
	__u32 settle; /* sums include times before a change */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, struct learned);
} learned SEC(".maps");

SEC("tuner")
int adaptive_channels(struct ncclbpf_tuner *ctx)
{
	__u32 class = ncclbpf_log2(ctx->bytes);
	struct wanted *w;
	__u64 *n;

	if (class >= CLASSES)
		class = CLASSES - 1;
	w = bpf_map_lookup_elem(&channels, &class);
	if (w && w->channels && ctx->ranks >= w->min_ranks)
		ctx->channels = w->channels;
	n = bpf_map_lookup_elem(&decided, &class);
	if (n)
		++*n;
	return 0;
}

SEC("profiler/coll_done")
int time_class(struct ncclbpf_coll_done *ctx)
{
	__u32 class = ncclbpf_log2(ctx->bytes);
	struct sum *s;

	if (class >= CLASSES)
		class = CLASSES - 1;
	s = bpf_map_lookup_elem(&took, &class);
	if (!s || !ctx->exec_ns)
		return 0;
	s->n++;
	s->ns += ctx->exec_ns;
	return 0;
}

/*
 * Compute the next number of channels from the last interval's mean time. A
 * mean between CALM and FACTOR times the calm mean may come from an interval
 * in which contention began, so the function ignores it.
 */
static __always_inline __u32 next(struct learned *l, __u32 now, __u64 mean)
{
	if (l->contended) {
		if (mean > CALM * l->start_ns)
			return START;
		l->contended = 0;
	} else if (now > START && mean > FACTOR * l->calm_ns) {
		l->contended = 1;
		return START;
	} else if (now > START && mean > CALM * l->calm_ns) {
		return now;
	}
	l->calm_ns = mean;
	if (!l->start_ns)
		l->start_ns = mean;
	return now + STEP < MOST ? now + STEP : MOST;
}

static __always_inline void adapt(__u32 class)
{
	struct learned *l = bpf_map_lookup_elem(&learned, &class);
	struct sum *s = bpf_map_lookup_elem(&took, &class);
	struct wanted *w = bpf_map_lookup_elem(&channels, &class);
	struct wanted want;
	__u64 n, ns;

	if (!l || !s || !w)
		return;
	if (s->n < l->before.n) /* the sum fell, because a process ended and no
				   longer counts */
		l->before = *s;
	n = s->n - l->before.n;
	ns = s->ns - l->before.ns;
	if (n < SAMPLES)
		return;
	l->before = *s;
	if (l->settle) {
		l->settle = 0;
		return;
	}
	want = *w;
	want.channels = w->channels ? next(l, w->channels, ns / n) : START;
	if (want.channels == w->channels)
		return;
	l->settle = 1;
	bpf_map_update_elem(&channels, &class, &want, BPF_ANY);
}

SEC("controller")
int adapt_channels(struct ncclbpf_controller *ctx)
{
	int class;

	(void)ctx;
	ncclbpf_for(class, 0, CLASSES) adapt((__u32) class);
	return 0;
}
