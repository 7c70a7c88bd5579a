// SPDX-License-Identifier: MIT
/*
 * deny CALL=ERRNO... -- COMMAND: run a command to which the kernel refuses the
 * named system calls, as the seccomp profile of a container does. A wrong
 * argument is status 64; a kernel without filters is status 77 and a line
 * "SKIP: ...". The filter does not check the architecture, because the command
 * is of this one.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* If @mask is not 0: refused only where these bits of argument @arg are @bits.
 */
struct deny_call {
	const char *name;
	unsigned nr, arg, mask, bits;
};

static const struct deny_call deny_calls[] = {
	{ "bind", SYS_bind, 0, 0, 0 },
	{ "eventfd2", SYS_eventfd2, 0, 0, 0 },
	{ "fallocate", SYS_fallocate, 0, 0, 0 },
	{ "fchmod", SYS_fchmod, 0, 0, 0 },
	{ "flock", SYS_flock, 0, 0, 0 },
	{ "fstatfs", SYS_fstatfs, 0, 0, 0 },
	{ "getdents64", SYS_getdents64, 0, 0, 0 },
	{ "kill", SYS_kill, 0, 0, 0 },
	{ "membarrier", SYS_membarrier, 0, 0, 0 },
	{ "memfd_create", SYS_memfd_create, 0, 0, 0 },
	{ "mprotect-exec", SYS_mprotect, 2, PROT_EXEC, PROT_EXEC },
	{ "prlimit64", SYS_prlimit64, 0, 0, 0 },
	{ "renameat", SYS_renameat, 0, 0, 0 },
	{ "sched_yield", SYS_sched_yield, 0, 0, 0 },
	{ "socket-unix", SYS_socket, 0, ~0u, AF_UNIX },
	{ "unlinkat", SYS_unlinkat, 0, 0, 0 },
};

#define DENY_MOST 32
static struct sock_filter deny_code[4 * DENY_MOST + 2];
static unsigned short deny_ninsns;

static void emit(unsigned short code, unsigned char jt, unsigned char jf, unsigned k)
{
	deny_code[deny_ninsns++] = (struct sock_filter){ code, jt, jf, k };
}

static void emit_refusal(const struct deny_call *c, unsigned error)
{
	/* the low half of an argument; both architectures are little-endian */
	size_t arg = offsetof(struct seccomp_data, args) + 8 * c->arg;
	unsigned ret = SECCOMP_RET_ERRNO | error;

	emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	if (!c->mask) {
		emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, c->nr);
		emit(BPF_RET | BPF_K, 0, 0, ret);
		return;
	}
	emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, c->nr);
	emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)arg);
	emit(BPF_ALU | BPF_AND | BPF_K, 0, 0, c->mask);
	emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, c->bits);
	emit(BPF_RET | BPF_K, 0, 0, ret);
}

static int error_of(const char *name)
{
	return !strcmp(name, "EPERM")	 ? EPERM
	       : !strcmp(name, "ENOSYS") ? ENOSYS
	       : !strcmp(name, "EACCES") ? EACCES
					 : 0;
}

static int parse(const char *arg)
{
	const char *eq = strchr(arg, '=');
	int error = eq ? error_of(eq + 1) : 0;

	for (size_t i = 0; error && i < sizeof(deny_calls) / sizeof(*deny_calls); i++) {
		if (strlen(deny_calls[i].name) != (size_t)(eq - arg) ||
		    strncmp(deny_calls[i].name, arg, (size_t)(eq - arg)))
			continue;
		emit_refusal(&deny_calls[i], (unsigned)error);
		return 0;
	}
	fprintf(stderr, "deny: %s is not CALL=EPERM, =ENOSYS or =EACCES with one of:", arg);
	for (size_t i = 0; i < sizeof(deny_calls) / sizeof(*deny_calls); i++)
		fprintf(stderr, " %s", deny_calls[i].name);
	fprintf(stderr, "\n");
	return -1;
}

int main(int argc, char **argv)
{
	struct sock_fprog prog = { 0, deny_code };
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--"); i++)
		if (i > DENY_MOST / 2 || parse(argv[i]))
			return 64;
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: deny CALL=ERRNO... -- COMMAND...\n");
		return 64;
	}
	emit(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	prog.len = deny_ninsns;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		fprintf(stderr, "SKIP: the kernel takes no filter: %s\n", strerror(errno));
		return 77;
	}
	execvp(argv[i + 1], argv + i + 1);
	fprintf(stderr, "deny: %s: %s\n", argv[i + 1], strerror(errno));
	return 127;
}
