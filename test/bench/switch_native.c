// SPDX-License-Identifier: MIT
// What the machine itself takes for a switch: a function pointer, swapped
// atomically by another thread to code that this one has just written into
// fresh pages. The first call of each, over the others: cache lines and page
// tables on their way between CPUs, and nothing of ours.
#include "test/bench/switch_native.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test/bench/bench.h"

typedef int fn(void *ctx);

enum { PAGE = 4096, CALLS = 400, MAX = 1000 };

/* return 0; */
#if defined(__x86_64__)
static const unsigned char code[] = { 0x31, 0xc0, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char code[] = { 0x00, 0x00, 0x80, 0x52,
				      0xc0, 0x03, 0x5f, 0xd6 };
#else
static const unsigned char code[1];
#endif

static struct {
	fn *now;	/* atomic */
	unsigned calls; /* atomic: since the swap was seen */
	int failed, n;
} swap;

static fn *fresh(void)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fn *f;

	if (p == MAP_FAILED)
		return NULL;
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	if (mprotect(p, PAGE, PROT_READ | PROT_EXEC))
		return NULL;
	memcpy(&f, &p, sizeof(f));
	return f;
}

static void await(unsigned calls)
{
	while (__atomic_load_n(&swap.calls, __ATOMIC_ACQUIRE) < calls)
		sched_yield();
}

/* New pages disturb the caller: long before the swap, and long after. */
static void *swap_all(void *unused)
{
	for (int i = 0; i < swap.n; i++) {
		fn *f;

		await(CALLS);
		f = fresh();
		if (!f) {
			__atomic_store_n(&swap.failed, 1, __ATOMIC_RELEASE);
			break;
		}
		await(2 * CALLS);
		__atomic_store_n(&swap.calls, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&swap.now, f, __ATOMIC_RELEASE);
	}
	return unused;
}

double bench_switch_native(int n)
{
	static double moved[MAX], plain[MAX];
	int nmoved = 0, nplain = 0;
	pthread_t other;
	fn *f = fresh();

	if (sizeof(code) == 1 || !f || n > MAX)
		return -1;
	swap.n = n;
	swap.now = f;
	if (pthread_create(&other, NULL, swap_all, NULL))
		return -1;
	while (nmoved < n && !__atomic_load_n(&swap.failed, __ATOMIC_ACQUIRE)) {
		double start = bench_now(), ns;
		fn *next = __atomic_load_n(&swap.now, __ATOMIC_ACQUIRE);
		unsigned calls;

		next(&swap);
		ns = bench_now() - start;
		calls = __atomic_load_n(&swap.calls, __ATOMIC_RELAXED);
		if (next != f)
			moved[nmoved++] = ns;
		else if (calls % 100 == 99)
			plain[nplain++ % MAX] = ns;
		f = next;
		__atomic_store_n(&swap.calls, calls + 1, __ATOMIC_RELEASE);
	}
	pthread_join(other, NULL);
	if (nmoved < n || !nplain)
		return -1;
	return bench_median(moved, nmoved) -
	       bench_median(plain, nplain < MAX ? nplain : MAX);
}
