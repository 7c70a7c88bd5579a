// SPDX-License-Identifier: MIT
/*
 * adaptive_channels adapts the number of channels of each size class (base-2
 * logarithm of the bytes) in a closed loop. The coherent map `channels` holds
 * the numbers, where 0 means no opinion. The tuner program only reads this
 * map, so all ranks choose the same number at the same decision.
 *
 * The profiler program adds up the times of each class, and the controller
 * sees the sums of all ranks. It starts a class at START channels and adds
 * STEP in each run up to MOST, while the mean time stays within CALM of the
 * last mean. A mean beyond FACTOR shows other traffic, so the class returns to
 * START until its time is as at first.
 *
 * The sums are of logarithms, because a busy host makes single times many
 * times too long, up to 64 collectives long if NCCL's thread reads the GPU's
 * time stamps late. The sums are kept apart by the channels that NCCL used,
 * because collectives with more channels than wanted were decided before the
 * last change.
 *
 * `decided` counts decisions for each class and CPU. An answer must not depend
 * on such a local map, so the tuner program first answers, then counts.
 */
#include "ncclbpf_policy.h"

enum { CLASSES = 40 };
enum { START = 2, STEP = 2, MOST = 12 };
/* numbers of channels by STEP: none, 1 to STEP, ..., more than MOST */
enum { GROUPS = MOST / STEP + 2 };
/* differences of logarithms in units of 1/256: twice and four times the time */
enum { CALM = 256, FACTOR = 512 };
enum { SAMPLES = 16 };

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
	__u64 n, log; /* sum of ncclbpf_log2_fine of n times */
};

struct sums {
	struct sum by[GROUPS]; /* by the channels that NCCL used */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, struct sums);
} took SEC(".maps") __merged(sum);

/* The controller's memory of a class, in the elected process. */
struct learned {
	struct sum before; /* last sum */
	__u64 start;	   /* first mean, with START channels; 0: not known */
	__u64 calm;	   /* mean of the last calm run */
	__u32 channels;	   /* number to which `before` belongs */
	__u32 contended;
	__u64 processes; /* number of the job's processes in the last run */
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

static __always_inline __u32 group_of(__u32 used)
{
	_Static_assert(!(GROUPS & (GROUPS - 1)), "a power of two: & tells the verifier the bound");
	return (used <= MOST ? (used + STEP - 1) / STEP : GROUPS - 1) & (GROUPS - 1);
}

SEC("profiler/coll_done")
int time_class(struct ncclbpf_coll_done *ctx)
{
	__u32 class = ncclbpf_log2(ctx->bytes);
	struct sums *t;
	struct sum *s;

	if (class >= CLASSES)
		class = CLASSES - 1;
	t = bpf_map_lookup_elem(&took, &class);
	if (!t || !ctx->exec_ns)
		return 0;
	s = &t->by[group_of(ctx->channels)];
	s->n++;
	s->log += ncclbpf_log2_fine(ctx->exec_ns);
	return 0;
}

/*
 * Compute the next number of channels from the last interval's mean. A mean
 * between CALM and FACTOR may come from an interval in which contention began,
 * so the function ignores it. A controller in a process that was elected later
 * goes back to START first, because it does not know the times there.
 */
static __always_inline __u32 next(struct learned *l, __u32 now, __u64 mean)
{
	if (now > START && !l->start)
		return START;
	if (l->contended) {
		if (mean > l->start + CALM)
			return START;
		l->contended = 0;
	} else if (now > START && mean > l->calm + FACTOR) {
		l->contended = 1;
		return START;
	} else if (now > START && mean > l->calm + CALM) {
		return now;
	}
	l->calm = mean;
	if (!l->start)
		l->start = mean;
	return now + STEP < MOST ? now + STEP : MOST;
}

/*
 * Add up the collectives that used at most @most channels; 0: all. NCCL may use
 * fewer than a policy wants. Masks instead of branches give the verifier one
 * path.
 */
static __always_inline struct sum add_up(const struct sums *t, __u32 most)
{
	__s64 last = most ? group_of(most) : GROUPS - 1;
	struct sum all = { 0, 0 };

	for (__s64 group = 0; group < GROUPS; group++) {
		__u64 mask = 0 - ((__u64)(group - 1 - last) >> 63);

		all.n += t->by[group].n & mask;
		all.log += t->by[group].log & mask;
	}
	return all;
}

static __always_inline void adapt(__u32 class, __u32 processes)
{
	struct learned *l = bpf_map_lookup_elem(&learned, &class);
	struct wanted *w = bpf_map_lookup_elem(&channels, &class);
	struct sums *t = bpf_map_lookup_elem(&took, &class);
	struct wanted want;
	struct sum s;
	__u64 n, log;

	if (!l || !w || !t)
		return;
	s = add_up(t, w->channels);
	/*
	 * The sum includes times before a change, or it fell because a process
	 * ended and no longer counts.
	 */
	if (l->channels != w->channels || processes < l->processes || s.n < l->before.n)
		l->before = s;
	l->channels = w->channels;
	l->processes = processes;
	n = s.n - l->before.n;
	log = s.log - l->before.log;
	if (n < SAMPLES)
		return;
	l->before = s;
	want = *w;
	want.channels = w->channels ? next(l, w->channels, log / n) : START;
	if (want.channels != w->channels)
		bpf_map_update_elem(&channels, &class, &want, BPF_ANY);
}

SEC("controller")
int adapt_channels(struct ncclbpf_controller *ctx)
{
	int class;

	ncclbpf_for(class, 0, CLASSES) adapt((__u32) class, ctx->processes);
	return 0;
}
