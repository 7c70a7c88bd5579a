// SPDX-License-Identifier: MIT
// bpf(2) without a library: maps and program loads.
#include "test/differential/oracle/kernel.h"

#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { F_RDONLY_PROG = 1 << 7, F_WRONLY_PROG = 1 << 8 };

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

/* Constant data: written once, then frozen, so that its content counts. */
static void freeze(int fd, const unsigned char *value)
{
	union bpf_attr a;
	uint32_t key = 0;

	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)fd;
	a.key = (uintptr_t)&key;
	a.value = (uintptr_t)value;
	bpf(BPF_MAP_UPDATE_ELEM, &a);
	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)fd;
	bpf(BPF_MAP_FREEZE, &a);
}

int kernel_open(struct kernel *k, const struct nb_map_spec *maps, uint32_t n)
{
	k->nmaps = 0;
	for (uint32_t i = 0; i < n; i++) {
		union bpf_attr a;
		int fd;

		memset(&a, 0, sizeof(a));
		a.map_type = maps[i].type;
		a.key_size = maps[i].key_size;
		a.value_size = maps[i].value_size;
		a.max_entries = maps[i].max_entries;
		a.map_flags = maps[i].flags & (F_RDONLY_PROG | F_WRONLY_PROG);
		fd = bpf(BPF_MAP_CREATE, &a);
		if (fd < 0) {
			kernel_close(k);
			return fd;
		}
		k->fds[k->nmaps++] = fd;
		if (maps[i].origin == NB_ORIGIN_RODATA && maps[i].init)
			freeze(fd, maps[i].init);
	}
	return 0;
}

void kernel_close(struct kernel *k)
{
	while (k->nmaps)
		close(k->fds[--k->nmaps]);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * Some loops keep the kernel walking for many seconds; a signal makes it give
 * up with EAGAIN.
 */
static void patience(long microseconds)
{
	struct itimerval t = { { 0, 0 }, { 0, microseconds } };
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static int load(struct kernel *k, const struct nb_slot *slots, uint32_t n, bool log)
{
	static const char license[] = "GPL";
	union bpf_attr a;
	int rc;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	a.insns = (uintptr_t)slots;
	a.insn_cnt = n;
	a.license = (uintptr_t)license;
	if (log) {
		k->log[0] = '\0';
		a.log_level = 1;
		a.log_buf = (uintptr_t)k->log;
		a.log_size = sizeof(k->log);
	}
	patience(200000);
	rc = bpf(BPF_PROG_LOAD, &a);
	patience(0);
	return rc;
}

int kernel_judge(struct kernel *k, const struct nb_slot *slots, uint32_t n)
{
	struct nb_slot *copy = malloc(n * sizeof(*copy));
	int rc;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, slots, n * sizeof(*copy));
	for (uint32_t pc = 0; pc < n; pc++) {
		if (copy[pc].opcode != 0x18)
			continue;
		if ((copy[pc].regs >> 4 == 1 || copy[pc].regs >> 4 == 2) &&
		    (uint32_t)copy[pc].imm < k->nmaps)
			copy[pc].imm = k->fds[copy[pc].imm];
		pc++;
	}
	rc = load(k, copy, n, false);
	if (rc >= 0) {
		close(rc);
		free(copy);
		return 1;
	}
	if (rc == -ENOMEM || rc == -EAGAIN || rc == -EPERM) {
		free(copy);
		return rc;
	}
	k->error = rc;
	rc = load(k, copy, n, true);
	free(copy);
	return rc == -EAGAIN ? rc : 0;
}

const char *kernel_reason(const struct kernel *k, char *line, uint32_t size)
{
	return kernel_log_reason(k->log, line, size);
}

const char *kernel_log_reason(const char *log, char *line, uint32_t size)
{
	static const char *const after[] = { "processed ",  "verification time",
					     "stack depth", "mark_precise",
					     "func#",	    "max_states",
					     "old state",   "cur state" };
	size_t end = strlen(log), start;

	line[0] = '\0';
	/* The reason is the last line before the figures. */
	while (end > 0) {
		bool figure = false;

		while (end > 0 && log[end - 1] == '\n')
			end--;
		start = end;
		while (start > 0 && log[start - 1] != '\n')
			start--;
		for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++)
			figure |= !strncmp(log + start, after[i], strlen(after[i]));
		if (!figure && end > start) {
			snprintf(line, size, "%.*s", (int)(end - start), log + start);
			break;
		}
		end = start;
	}
	return line;
}

int64_t kernel_slot(const struct kernel *k)
{
	return kernel_log_slot(k->log);
}

int64_t kernel_log_slot(const char *log)
{
	const char *line = log, *next;
	int64_t slot = -1;
	unsigned n;
	int len;

	for (; *line; line = next) {
		len = 0;
		if (sscanf(line, "%u: (%n", &n, &len) == 1 && len)
			slot = n;
		next = strchr(line, '\n');
		if (!next)
			break;
		next++;
	}
	return slot;
}
