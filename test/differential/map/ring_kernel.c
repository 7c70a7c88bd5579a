// SPDX-License-Identifier: MIT
// Our ring buffer against the running kernel's. A random sequence of
// reservations, submissions, discards, outputs and queries is a program; the
// kernel runs it by BPF_PROG_TEST_RUN on its ring, we by the interpreter and
// as machine code on ours. Each step's answer is kept in an array. Between
// programs some of the records are read, from the kernel's by its pages, and
// what they hold is compared, with the positions. TAP; skipped where bpf() is
// not permitted. ring_kernel SEQUENCES; SEED=N.
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/isa/insn.h"
#include "core/bpf/map/ringbuf.h"
#include "test/differential/map/sequence.h"
#include "test/unit/asm.h"
#include "test/unit/compile_one.h"

enum { RING = 4096, STEPS = 24, SLOTS = 2048, ANSWERS = 3 * STEPS };
enum { KERNEL, INTERPRETER, CODE, NSIDES };
static const char *const side_name[] = { "kernel", "interpreter", "machine code" };

static uint64_t seed;

static unsigned pick(unsigned n)
{
	return (unsigned)(sequence_random(&seed) >> 33) % n;
}

static void die(const char *what, const char *why)
{
	printf("not ok 1 - ring buffer as the kernel\n# %s: %s\n1..1\n", what, why);
	exit(1);
}

/* ---- a sequence as a program ---- */

static char text[48 << 10];
static size_t used;
static unsigned answers; /* places in the array that it writes */

__attribute__((format(printf, 1, 2))) static void put(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	used += (size_t)vsnprintf(text + used, sizeof(text) - used, fmt, ap);
	va_end(ap);
	if (used >= sizeof(text))
		die("program", "too long");
}

/* r0 to the next place of the array, which r9 points to. */
static void put_answer(void)
{
	put("stxdw [%%r9+%u], %%r0\n", 8 * answers++);
}

static unsigned some_size(void)
{
	static const unsigned size[] = { 1,   7,   8,	 9,    15,   16,   24,	 40,  100,
					 511, 512, 1000, 2040, 4080, 4088, 4089, 9000 };

	return pick(3) ? 1 + pick(48) : size[pick(17)];
}

static void put_reserve(unsigned size, unsigned to)
{
	put("lddw map %%r1, 0\nmov %%r2, %u\nmov %%r3, %u\ncall 131\n"
	    "mov %%r%u, %%r0\n",
	    size, pick(12) == 0 ? 1 + pick(2) : 0, to);
}

/* All of a small record, the first bytes of others. */
static void put_bytes(unsigned size, unsigned reg)
{
	unsigned at = 0;

	for (; at + 8 <= size && at < 48; at += 8)
		put("stdw [%%r%u+%u], %u\n", reg, at, 1 + pick(1 << 30));
	for (; at < size && at < 48; at++)
		put("stb [%%r%u+%u], %u\n", reg, at, pick(256));
}

static void put_finish(unsigned reg)
{
	put("mov %%r1, %%r%u\nmov %%r2, %u\ncall %u\n", reg, pick(3), pick(3) ? 132 : 133);
}

/* One record; the answer is 1 if there was room. */
static void put_record(unsigned step)
{
	unsigned size = some_size();

	put_reserve(size, 7);
	put("jeq %%r7, 0, none%u\n", step);
	put_bytes(size, 7);
	put_finish(7);
	put("mov %%r7, 1\nnone%u:\nmov %%r0, %%r7\n", step);
	put_answer();
}

static void put_query(unsigned flags)
{
	put("lddw map %%r1, 0\nmov %%r2, %u\ncall 134\n", flags);
	put_answer();
}

/* Two at once, finished in either order; with a question between. */
static void put_two(unsigned step)
{
	unsigned a = some_size(), b = some_size(), first = 7 + pick(2);

	put_reserve(a, 7);
	put("mov %%r6, 0\njeq %%r7, 0, none%u\n", step);
	put_bytes(a, 7);
	put_reserve(b, 8);
	put("jne %%r8, 0, both%u\n", step);
	put_finish(7);
	put("mov %%r6, 1\nja none%u\nboth%u:\n", step, step);
	put_bytes(b, 8);
	put_finish(first);
	put("lddw map %%r1, 0\nmov %%r2, 0\ncall 134\nmov %%r6, %%r0\n");
	put_finish(15 - first);
	put("none%u:\nmov %%r0, %%r6\n", step);
	put_answer();
}

static void put_output(void)
{
	put("lddw map %%r1, 0\nmov %%r2, %%r10\nadd %%r2, -64\nmov %%r3, %u\n"
	    "mov %%r4, %u\ncall 130\n",
	    pick(65), pick(5));
	put_answer();
}

static void make_program(unsigned steps)
{
	used = 0;
	answers = 0;
	put("lddw map_value %%r9, 1, 0\n");
	for (unsigned i = 1; i <= 8; i++)
		put("stdw [%%r10-%u], %u\n", 8 * i, pick(1 << 30));
	for (unsigned i = 0; i < steps; i++)
		switch (pick(5)) {
		case 0:
			put_output();
			break;
		case 1:
			put_query(pick(6));
			break;
		case 2:
			put_two(i);
			break;
		default:
			put_record(i);
		}
	put_query(NB_RB_AVAIL);
	put_query(NB_RB_CONS_POS);
	put_query(NB_RB_PROD_POS);
	put("mov %%r0, 0\nexit\n");
}

/* ---- the kernel ---- */

struct kernel {
	int ring, array;
	unsigned long *consumer;
	const unsigned char *pages; /* the producer's, then the data twice */
};

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

static int kernel_map(uint32_t type, uint32_t key, uint32_t value, uint32_t n)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = type;
	a.key_size = key;
	a.value_size = value;
	a.max_entries = n;
	return bpf(BPF_MAP_CREATE, &a);
}

static void kernel_open(struct kernel *k)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	k->ring = kernel_map(BPF_MAP_TYPE_RINGBUF, 0, 0, RING);
	k->array = kernel_map(BPF_MAP_TYPE_ARRAY, 4, 8 * ANSWERS, 1);
	if (k->ring < 0 || k->array < 0)
		die("kernel", "no maps");
	k->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, k->ring, 0);
	k->pages = mmap(NULL, page + 2 * (size_t)RING, PROT_READ, MAP_SHARED, k->ring, (off_t)page);
	if (k->consumer == MAP_FAILED || k->pages == MAP_FAILED)
		die("kernel", "its ring cannot be mapped");
}

static void kernel_close(struct kernel *k)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	munmap(k->consumer, page);
	munmap((void *)(uintptr_t)k->pages, page + 2 * (size_t)RING);
	close(k->ring);
	close(k->array);
}

static void kernel_run(const struct kernel *k, struct nb_slot *s, size_t n, uint64_t *out)
{
	static unsigned char packet[64];
	static char log[64 << 10];
	uint32_t key = 0;
	union bpf_attr a;
	int fd, rc;

	for (size_t i = 0; i < n; i++)
		if (s[i].opcode == 0x18 && s[i].regs >> 4)
			s[i].imm = s[i].regs >> 4 == 1 ? k->ring : k->array;
	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	a.insns = (uintptr_t)s;
	a.insn_cnt = (uint32_t)n;
	a.license = (uintptr_t) "GPL";
	fd = bpf(BPF_PROG_LOAD, &a);
	if (fd < 0) {
		a.log_buf = (uintptr_t)log;
		a.log_size = sizeof(log);
		a.log_level = 1;
		bpf(BPF_PROG_LOAD, &a);
		die("the kernel refuses", *log ? log : strerror(-fd));
	}
	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)fd;
	a.test.data_in = (uintptr_t)packet;
	a.test.data_size_in = sizeof(packet);
	rc = bpf(BPF_PROG_TEST_RUN, &a);
	close(fd);
	if (rc)
		die("BPF_PROG_TEST_RUN", strerror(-rc));
	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)k->array;
	a.key = (uintptr_t)&key;
	a.value = (uintptr_t)out;
	if (bpf(BPF_MAP_LOOKUP_ELEM, &a))
		die("kernel", "the answers cannot be read");
}

/* As libbpf reads; discarded ones are passed. -EAGAIN: none is complete. */
static int kernel_read(const struct kernel *k, void *to, size_t *size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const unsigned char *data = k->pages + page;
	unsigned long pos = *k->consumer, end;
	uint32_t len;

	memcpy(&end, k->pages, sizeof(end));
	while (pos < end) {
		memcpy(&len, data + (pos & (RING - 1)), sizeof(len));
		if (len & (uint32_t)BPF_RINGBUF_BUSY_BIT)
			break;
		*size = len & ~(uint32_t)BPF_RINGBUF_DISCARD_BIT;
		if (!(len & BPF_RINGBUF_DISCARD_BIT))
			memcpy(to, data + (pos & (RING - 1)) + 8, *size);
		pos += (*size + 8 + 7) & ~(size_t)7;
		__atomic_store_n(k->consumer, pos, __ATOMIC_RELEASE);
		if (!(len & BPF_RINGBUF_DISCARD_BIT))
			return 0;
	}
	return -EAGAIN;
}

/* ---- ours ---- */

struct ours {
	struct nb_map *map[2]; /* ring, array */
};

static void ours_open(struct ours *o)
{
	const struct nb_map_def ring = { "r", NB_MAP_RINGBUF, 0, 0, RING, 0 };
	const struct nb_map_def array = { "a", NB_MAP_ARRAY, 4, 8 * ANSWERS, 1, 0 };
	struct nb_err err;

	if (nb_map_new(&o->map[0], &ring, &err) || nb_map_new(&o->map[1], &array, &err))
		die("our maps", err.text);
}

static void ours_close(struct ours *o)
{
	nb_map_put(o->map[0]);
	nb_map_put(o->map[1]);
}

static void ours_run(const struct ours *o, struct nb_slot *s, size_t n, bool compile, uint64_t *out)
{
	static const struct nb_map_spec specs[2];
	const struct nb_func func = { .name = "f", .end = (uint32_t)n };
	const struct nb_prog prog = { .name = "f",
				      .section = "tuner",
				      .slots = s,
				      .nslots = (uint32_t)n,
				      .funcs = &func,
				      .nfuncs = 1 };
	const struct nb_image img = {
		.name = "p", .maps = specs, .nmaps = 2, .progs = &prog, .nprogs = 1
	};
	struct nb_exec *x;
	struct nb_err err;

	if (nb_exec_new(&x, &img, 0, o->map, NULL, &err))
		die("our program", err.text);
	if (compile) /* where there is no compiler, interpreted again */
		compile_one(x, NULL, &err);
	nb_exec_run(x, out, 0);
	nb_exec_free(x);
	memcpy(out, nb_map_array_base(o->map[1]), 8 * ANSWERS);
}

/* ---- together ---- */

static struct kernel kernel;
static struct ours ours[NSIDES];
static uint64_t nsteps, nrecords, nrefused;

static bool same_answers(char *why, size_t size)
{
	static struct nb_slot slots[SLOTS], copy[SLOTS];
	static uint64_t got[NSIDES][ANSWERS];
	struct nb_err err;
	size_t n;

	if (nb_asm(slots, SLOTS, &n, text, &err))
		die("program", err.text);
	for (int side = 0; side < NSIDES; side++) {
		memcpy(copy, slots, n * sizeof(copy[0]));
		if (side == KERNEL)
			kernel_run(&kernel, copy, n, got[side]);
		else
			ours_run(&ours[side], copy, n, side == CODE, got[side]);
	}
	for (int side = 1; side < NSIDES; side++)
		for (unsigned i = 0; i < answers; i++)
			if (got[side][i] != got[KERNEL][i]) {
				snprintf(why, size, "answer %u: kernel %#" PRIx64 ", %s %#" PRIx64,
					 i, got[KERNEL][i], side_name[side], got[side][i]);
				return false;
			}
	for (unsigned i = 0; i < answers; i++)
		nrefused += !got[KERNEL][i];
	return true;
}

/* What was written of a record: 48 bytes, or all that output had. */
static size_t known(size_t size)
{
	return size < 48 ? size : 48;
}

static bool same_record(bool *more, char *why, size_t why_size)
{
	static unsigned char bytes[NSIDES][RING];
	size_t size[NSIDES] = { 0 };
	int rc[NSIDES];

	rc[KERNEL] = kernel_read(&kernel, bytes[KERNEL], &size[KERNEL]);
	*more = !rc[KERNEL];
	for (int side = 1; side < NSIDES; side++) {
		rc[side] = nb_ringbuf_read(ours[side].map[0], bytes[side], RING, &size[side]);
		if (rc[side] == rc[KERNEL] &&
		    (rc[side] || (size[side] == size[KERNEL] &&
				  !memcmp(bytes[side], bytes[KERNEL], known(size[side])))))
			continue;
		snprintf(why, why_size, "record: kernel %d (%zu bytes), %s %d (%zu bytes)",
			 rc[KERNEL], size[KERNEL], side_name[side], rc[side], size[side]);
		return false;
	}
	nrecords += *more;
	return true;
}

/* Programs on the same rings, until a new one is due. */
static bool one_sequence(char *why, size_t size)
{
	unsigned steps = 1 + pick(STEPS), reads = pick(3) ? pick(8) : 1000;
	bool more = true;

	make_program(steps);
	nsteps += steps;
	if (!same_answers(why, size))
		return false;
	while (more && reads--)
		if (!same_record(&more, why, size))
			return false;
	return true;
}

static void open_all(void)
{
	kernel_open(&kernel);
	ours_open(&ours[INTERPRETER]);
	ours_open(&ours[CODE]);
}

static void close_all(void)
{
	kernel_close(&kernel);
	ours_close(&ours[INTERPRETER]);
	ours_close(&ours[CODE]);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 2000, i;
	int fd = kernel_map(BPF_MAP_TYPE_RINGBUF, 0, 0, RING);
	char why[200] = "";
	bool good = true;

	if (fd < 0) {
		printf("1..0 # SKIP ring buffer as the kernel: bpf() is not "
		       "permitted\n# %s\n",
		       strerror(-fd));
		return 0;
	}
	close(fd);
	seed = sequence_seed();
	printf("# SEED=%" PRIu64 "\n", seed);
	open_all();
	for (i = 0; good && i < n; i++) {
		if (pick(40) == 0) {
			close_all();
			open_all();
		}
		good = one_sequence(why, sizeof(why));
	}
	close_all();
	printf("%sok 1 - ring buffer: %lu sequences as the kernel\n", good ? "" : "not ", i);
	printf("# %" PRIu64 " steps, %" PRIu64 " records read, %" PRIu64 " answers of 0\n", nsteps,
	       nrecords, nrefused);
	if (!good)
		printf("# %s\n%s", why, text);
	puts("1..1");
	return good ? 0 : 1;
}
