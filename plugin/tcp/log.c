// SPDX-License-Identifier: MIT
/* What net and GIN share: settings, counters, and lines for NCCL's log. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/runtime/nccl.h"
#include "plugin/tcp/tcp.h"

/* Subsystems of NCCL's logger. */
enum { NCCL_INIT = 0x1, NCCL_NET = 0x10 };

const char nb_net_name[] = "tcp";

struct nb_tcp_conf nb_tcp_conf = {
	.stall_ns = UINT64_C(10000000000),
	.connect_ns = UINT64_C(30000000000),
	.hello_ns = UINT64_C(10000000000),
	.patience_ns = UINT64_C(1000000000),
};
/* counts of the process's events; accessed atomically */
static uint64_t counts[NB_NET_NCOUNTS];
/* NCCL's logger; NULL: no init has passed one; accessed atomically */
static nb_net_logger *tcp_log_target;
/* its levels, set before it */
static struct nb_nccl_levels tcp_levels;

bool nb_net_ready(nb_net_logger *logger)
{
	static bool taken; /* accessed atomically */

	if (!logger || __atomic_exchange_n(&taken, true, __ATOMIC_RELAXED))
		return true;
	tcp_levels = nb_nccl_levels((const void *)(uintptr_t)logger);
	__atomic_store_n(&tcp_log_target, logger, __ATOMIC_RELEASE);
	return true;
}

/* Our tables have no optional functions. */
void nb_net_shape(void)
{
}

void nb_tcp_count(enum nb_net_count what)
{
	__atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED);
}

uint64_t nb_tcp_counted(enum nb_net_count what)
{
	return __atomic_load_n(&counts[what], __ATOMIC_RELAXED);
}

void nb_tcp_log_to(void (*say)(bool warn, const char *line))
{
	__atomic_store_n(&nb_tcp_conf.say, say, __ATOMIC_RELEASE);
}

void nb_tcp_say(bool warn, const char *fmt, ...)
{
	nb_net_logger *logger = __atomic_load_n(&tcp_log_target, __ATOMIC_ACQUIRE);
	void (*say)(bool, const char *) = __atomic_load_n(&nb_tcp_conf.say, __ATOMIC_ACQUIRE);
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (say)
		say(warn, line);
	else if (logger)
		logger(warn ? tcp_levels.warn : tcp_levels.info, NCCL_INIT | NCCL_NET,
		       "libnccl-net-tcp", 0, "tcp: %s", line);
}

int nb_tcp_result(int error)
{
	switch (error) {
	case 0:
		return NB_NET_OK;
	case ECONNRESET:
	case ECONNREFUSED:
	case ECONNABORTED:
	case EPIPE:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETRESET:
		return NB_NET_REMOTE;
	default:
		return NB_NET_SYSTEM;
	}
}

static const struct {
	const char *name;
	int64_t min, max;
} settings[] = {
#define PARAM(name, type, def, min, max, choices, unit, who, doc) { "NCCLBPF_" #name, min, max },
#include "core/defs/params.h"
};

int64_t nb_tcp_setting(const char *name)
{
	const char *text = getenv(name);
	char *end = NULL;
	size_t i = 0;
	int64_t n;

	if (!text || !*text)
		return -1;
	while (strcmp(settings[i].name, name) != 0)
		i++;
	n = strtoll(text, &end, 10);
	if (!*end && n >= settings[i].min && n <= settings[i].max)
		return n;
	nb_tcp_say(true, "%s=%.40s is ignored (allowed: %lld to %lld)", name, text,
		   (long long)settings[i].min, (long long)settings[i].max);
	return -1;
}

/* Say that the CPU cannot @verb memory, which @what therefore refuses. */
static bool refuse_memory(const char *what, const char *verb, const void *data, size_t size)
{
	nb_tcp_say(true,
		   "%s: %zu bytes at %p cannot be registered: the CPU cannot %s them. "
		   "TCP needs memory that the CPU reaches",
		   what, size, data, verb);
	return false;
}

/* write(2) into a pipe returns an error where a load would fault. */
static bool byte_readable(int fd, const char *at)
{
	return write(fd, at, 1) == 1;
}

bool nb_tcp_readable(const char *what, const void *data, size_t size)
{
	const char *at = data;
	bool fine;
	int fd[2];

	/* without a pipe there is no way to check */
	if (!size || pipe2(fd, O_CLOEXEC | O_NONBLOCK))
		return true;
	fine = byte_readable(fd[1], at) && byte_readable(fd[1], at + size - 1);
	close(fd[0]);
	close(fd[1]);
	return fine || refuse_memory(what, "read", data, size);
}

/*
 * The kernel's own "|= 0" of the word around a byte changes nothing, also
 * beside threads that write there, and returns an error where a store would
 * fault.
 */
static bool byte_writable(const char *at)
{
	const uintptr_t word = (uintptr_t)at & ~(uintptr_t)3;
	uint32_t unused = 0;

	return syscall(SYS_futex, &unused, FUTEX_WAKE_OP_PRIVATE, 1, 0, word,
		       FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >= 0 ||
	       errno != EFAULT;
}

bool nb_tcp_writable(const char *what, const void *data, size_t size)
{
	const char *at = data;

	return !size || (byte_writable(at) && byte_writable(at + size - 1)) ||
	       refuse_memory(what, "write", data, size);
}
