// SPDX-License-Identifier: MIT
// NCCL's threads wait in spins: for their proxy's answer with recv() that does not block, for
// a network with sched_yield(). On a GPU machine each has a core of its own; here the ranks of
// a job share few, and one that spins takes the time that its peer needs. So these calls sleep a
// little when NCCL makes them and there is nothing to do. Other callers get what they ask for.
#include "test/fakes/vgpu/vgpu.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { YIELD_NS = 20000, RECV_NS = 50000 };

static uintptr_t code_begin, code_end; // NCCL's

void vg_spin_in(uintptr_t begin, uintptr_t end)
{
	__atomic_store_n(&code_begin, begin, __ATOMIC_RELAXED);
	__atomic_store_n(&code_end, end, __ATOMIC_RELAXED);
}

static bool is_nccl(const void *caller)
{
	return (uintptr_t)caller >= __atomic_load_n(&code_begin, __ATOMIC_RELAXED) &&
	       (uintptr_t)caller < __atomic_load_n(&code_end, __ATOMIC_RELAXED);
}

VG_API int sched_yield(void)
{
	const struct timespec t = { 0, YIELD_NS };

	if (is_nccl(__builtin_return_address(0)))
		nanosleep(&t, NULL);
	return (int)syscall(SYS_sched_yield);
}

VG_API ssize_t recv(int fd, void *buf, size_t size, int flags)
{
	const struct timespec t = { 0, RECV_NS };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n = recvfrom(fd, buf, size, flags, NULL, NULL);

	if (n < 0 && errno == EAGAIN && flags & MSG_DONTWAIT &&
	    is_nccl(__builtin_return_address(0))) {
		ppoll(&p, 1, &t, NULL);
		errno = EAGAIN;
	}
	return n;
}
