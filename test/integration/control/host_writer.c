// SPDX-License-Identifier: MIT
// The host's side of a host map of 4 elements {time, number}, for host_map.t.
//
//	host_writer memory	a sealed memory file
//	host_writer open	the same without seals
//	host_writer kernel N	a frozen BPF array; element 0 has number N
//	host_writer thawed N	the same, not frozen
//	host_writer short N	the same, frozen, with 3 elements
//	host_writer table [UID]	what can be done with each kind of descriptor
//
// Prints the source for `map attach`. "memory" reads numbers from stdin, each
// becomes element 0's, and writes the time anew every 20 ms; "stop" ends that.
// "die N" kills it while it changes the number to N.
// All end with their stdin. Exit status 77: the kernel or a sandbox refuses
// bpf().
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { N = 4, SKIP = 77, FUTURE_WRITE = 0x10, REFRESH_MS = 20 };

struct element {
	uint64_t written_ns, number;
};

enum { BYTES = N * (int)sizeof(struct element) };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int fail(const char *what)
{
	fprintf(stderr, "host_writer: %s: %s\n", what, strerror(errno));
	return 1;
}

/* ---- a memory file ---- */

/* The next line of stdin in @line within REFRESH_MS: 1; none yet: 0; end: -1 */
static int next_line(char *line, size_t size)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	if (poll(&p, 1, REFRESH_MS) <= 0)
		return 0;
	return fgets(line, (int)size, stdin) ? 1 : -1;
}

/* As policies/ncclbpf_policy.h says: NCCLBPF_HOST_WRITING. */
static void die_in_mid_update(struct element *e, uint64_t number)
{
	__atomic_store_n(&e->written_ns, now_ns() | UINT64_C(1) << 63, __ATOMIC_SEQ_CST);
	__atomic_store_n(&e->number, number, __ATOMIC_SEQ_CST);
	raise(SIGKILL);
}

static int write_memory(bool sealed)
{
	int fd = memfd_create("host", MFD_CLOEXEC | MFD_ALLOW_SEALING), got;
	struct element *e;
	bool writes = false;
	char line[64];

	if (fd < 0 || ftruncate(fd, BYTES))
		return fail("memfd_create");
	e = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (e == MAP_FAILED)
		return fail("mmap");
	if (sealed && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | FUTURE_WRITE))
		return fail("F_ADD_SEALS");
	printf("/proc/%d/fd/%d\n", (int)getpid(), fd);
	fflush(stdout);
	setvbuf(stdin, NULL, _IONBF, 0); /* what is read is what poll saw */
	while ((got = next_line(line, sizeof(line))) >= 0) {
		if (got > 0) {
			if (!strncmp(line, "die ", 4))
				die_in_mid_update(e, strtoull(line + 4, NULL, 10));
			writes = strncmp(line, "stop", 4) != 0;
			if (writes)
				__atomic_store_n(&e->number, strtoull(line, NULL, 10),
						 __ATOMIC_RELAXED);
		}
		if (writes)
			__atomic_store_n(&e->written_ns, now_ns(), __ATOMIC_RELAXED);
	}
	return 0;
}

/* ---- a map of the kernel ---- */

static int bpf_call(int what, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, what, attr, sizeof(*attr));
}

static int update(int fd, uint64_t number)
{
	struct element e = { now_ns(), number };
	uint32_t key = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)fd,
				.key = (uintptr_t)&key,
				.value = (uintptr_t)&e };

	return bpf_call(BPF_MAP_UPDATE_ELEM, &attr);
}

static int kernel_map(uint32_t entries, uint64_t number)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = 4,
				.value_size = sizeof(struct element),
				.max_entries = entries,
				.map_flags = BPF_F_MMAPABLE,
				.map_name = "host" };
	int fd = bpf_call(BPF_MAP_CREATE, &attr);

	if (fd < 0) {
		fail("bpf()");
		exit(SKIP);
	}
	update(fd, number);
	return fd;
}

static int freeze(int fd)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd };

	return bpf_call(BPF_MAP_FREEZE, &attr);
}

static uint32_t number_of(int fd)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd,
					  .info_len = sizeof(info),
					  .info = (uintptr_t)&info } };

	return bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr) ? 0 : info.id;
}

static int hold_map(uint32_t entries, uint64_t number, bool frozen)
{
	int fd = kernel_map(entries, number);
	char byte;

	if (frozen && freeze(fd))
		return fail("BPF_MAP_FREEZE");
	printf("id:%u\n", number_of(fd));
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}

/* ---- the table ---- */

static const char *result(bool good)
{
	return good		 ? "ok"
	       : errno == EPERM	 ? "EPERM"
	       : errno == EACCES ? "EACCES"
	       : errno == EINVAL ? "EINVAL"
				 : strerror(errno);
}

static const char *map_with(int fd, int prot)
{
	void *p = mmap(NULL, BYTES, prot, MAP_SHARED, fd, 0);
	const char *text = result(p != MAP_FAILED);

	if (p != MAP_FAILED)
		munmap(p, BYTES);
	return text;
}

static const char *protect(int fd)
{
	void *p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	const char *text;

	if (p == MAP_FAILED)
		return "-";
	text = result(!mprotect(p, BYTES, PROT_READ | PROT_WRITE));
	munmap(p, BYTES);
	return text;
}

static void row(const char *kind, int fd)
{
	const char *read_text = map_with(fd, PROT_READ);
	const char *write_text = map_with(fd, PROT_READ | PROT_WRITE);
	const char *protect_text = protect(fd);

	printf("%s %s %s %s %s\n", kind, read_text, write_text, protect_text,
	       result(!update(fd, 1)));
}

/* Rows: kind, mmap for reading, mmap for writing, mprotect for writing of a
 * mapping for reading, BPF_MAP_UPDATE_ELEM. */
static int print_table(const char *uid)
{
	int open_fd = kernel_map(N, 0), frozen = kernel_map(N, 0);
	union bpf_attr attr = { .map_id = number_of(open_fd), .open_flags = BPF_F_RDONLY };
	int read_only = bpf_call(BPF_MAP_GET_FD_BY_ID, &attr);
	uid_t to = uid ? (uid_t)strtoul(uid, NULL, 10) : 0;

	if (read_only < 0 || freeze(frozen))
		return fail("table");
	if (uid && (setresgid(to, to, to) || setresuid(to, to, to)))
		return fail("setresuid");
	row("open", open_fd);
	row("read-only", read_only);
	row("frozen", frozen);
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	uint64_t number = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	if (!strcmp(kind, "memory") || !strcmp(kind, "open"))
		return write_memory(kind[0] == 'm');
	if (!strcmp(kind, "kernel") || !strcmp(kind, "thawed"))
		return hold_map(N, number, kind[0] == 'k');
	if (!strcmp(kind, "short"))
		return hold_map(N - 1, number, true);
	if (!strcmp(kind, "table"))
		return print_table(argv[2]);
	fprintf(stderr, "usage: host_writer memory|open|kernel|thawed|short|"
			"table\n");
	return 2;
}
