// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Host maps: both engines read what another mapping writes, and a descriptor
// that is not allowed, or a system call that fails, leaves the map as it was.
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/bpf/map/host.h"
#include "test/unit/jit_both.h"

enum {
	FUTURE_WRITE = 0x10, /* F_SEAL_FUTURE_WRITE */
	N = 600,	     /* elements: more than a page */
	VALUE = 12,
	ELEMENT = 16
};

/* System calls of core/bpf/map/host.c that fail on demand. */
static int mremap_error, write_error;
static int mremap_good;	   /* calls that succeed before */
static bool mremap_unmaps; /* its target, before it fails */

void *__wrap_mremap(void *old, size_t size, size_t to, int flags, void *at);
void *__real_mremap(void *old, size_t size, size_t to, int flags, void *at);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __real_write(int fd, const void *bytes, size_t size);

void *__wrap_mremap(void *old, size_t size, size_t to, int flags, void *at)
{
	if (mremap_error && mremap_good-- > 0)
		return __real_mremap(old, size, to, flags, at);
	if (mremap_error && mremap_unmaps)
		ck_assert_int_eq(munmap(at, to), 0);
	errno = mremap_error;
	return mremap_error ? MAP_FAILED : __real_mremap(old, size, to, flags, at);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	errno = write_error;
	return write_error ? -1 : __real_write(fd, bytes, size);
}

static struct nb_map *host_new(void)
{
	const struct nb_map_def def = {
		.name = "host",
		.type = NB_MAP_ARRAY,
		.key_size = 4,
		.value_size = VALUE,
		.max_entries = N,
		.flags = NB_F_MMAPABLE | NB_F_RDONLY_PROG,
	};
	struct nb_err err = { .text = "" };
	struct nb_map *m;

	ck_assert_msg(!nb_map_host_new(&m, &def, &err), "%s", err.text);
	return m;
}

/* A memory file of @size bytes with @seals; *@bytes: its writable mapping. */
static int memory_file(size_t size, int seals, unsigned char **bytes)
{
	int fd = memfd_create("host", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert(!ftruncate(fd, (off_t)size));
	if (bytes) {
		*bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(*bytes, MAP_FAILED);
	}
	ck_assert(!fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static void put_element(unsigned char *bytes, uint32_t i, uint64_t time, uint32_t word)
{
	memcpy(bytes + (size_t)i * ELEMENT, &time, 8);
	memcpy(bytes + (size_t)i * ELEMENT + 8, &word, 4);
}

static uint64_t written(const struct nb_map *m)
{
	uint32_t unfinished;

	return nb_map_host_written(m, &unfinished);
}

/* A program that returns the word behind the time of the element whose number
 * is its context. */
static struct both reader_of(struct nb_map **m)
{
	return assembled("ldxw %r3, [%r1]\nstxw [%r10-4], %r3\n"
			 "mov %r2, %r10\nadd %r2, -4\n"
			 "lddw map %r1, 0\ncall 1\n"
			 "jeq %r0, 0, out\nldxw %r0, [%r0+8]\n"
			 "out:\nexit",
			 m, 1);
}

/* Both engines and the management side must find the same word in element @i.
 */
static uint32_t word_of(struct nb_map *m, uint32_t i)
{
	unsigned char value[VALUE];
	uint32_t word;
	struct both b = reader_of(&m);

	ck_assert_int_eq(nb_map_read(m, &i, value, NULL), 0);
	memcpy(&word, value + 8, 4);
	ck_assert_uint_eq(enter(&b, &i, 4), word);
	ck_assert_uint_eq(nb_exec_interpret(b.x, &i, 4), word);
	drop(b);
	return word;
}

TEST(programs_read_what_the_writer_stores)
{
	struct nb_err err = { .text = "" };
	unsigned char *bytes;
	struct nb_map *m = host_new();
	const unsigned char *base = m->base;
	int fd = memory_file((size_t)N * ELEMENT, F_SEAL_SHRINK | FUTURE_WRITE, &bytes);

	ck_assert(nb_map_is_host(m) && !nb_map_host_attached(m));
	ck_assert_uint_eq(word_of(m, N - 1), 0);
	put_element(bytes, N - 1, 70, 7);
	ck_assert_msg(!nb_map_host_attach(m, fd, &err), "%s", err.text);
	close(fd);
	ck_assert(nb_map_host_attached(m));
	ck_assert_uint_eq(word_of(m, N - 1), 7);
	put_element(bytes, N - 1, 90, 9);
	put_element(bytes, 3, 80, 8);
	ck_assert_uint_eq(word_of(m, N - 1), 9);
	ck_assert_uint_eq(word_of(m, 3), 8);
	ck_assert_uint_eq(written(m), 90);
	munmap(bytes, (size_t)N * ELEMENT); /* the writer ends */
	ck_assert_uint_eq(word_of(m, 3), 8);
	ck_assert(!nb_map_host_detach(m, &err));
	ck_assert(!nb_map_host_attached(m));
	ck_assert_uint_eq(word_of(m, N - 1), 0);
	ck_assert_uint_eq(written(m), 0);
	ck_assert_ptr_eq(m->base, base);
	nb_map_put(m);
}

/*
 * The writer is killed when it has written the first of two elements and half
 * of the second: that one is no longer of any time, and is counted.
 */
TEST(a_writer_dies_in_mid_update)
{
	struct nb_err err = { .text = "" };
	uint32_t unfinished;
	unsigned char *bytes;
	struct nb_map *m = host_new();
	int status, fd = memory_file((size_t)N * ELEMENT, F_SEAL_SHRINK | FUTURE_WRITE, &bytes);
	pid_t writer;

	put_element(bytes, 2, 50, 5);
	ck_assert_msg(!nb_map_host_attach(m, fd, &err), "%s", err.text);
	writer = fork();
	ck_assert_int_ge(writer, 0);
	if (!writer) {
		put_element(bytes, 1, 70, 7);
		put_element(bytes, 2, 80 | NB_HOST_WRITING, 8);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(writer, &status, 0), writer);
	ck_assert(WIFSIGNALED(status));
	ck_assert_uint_eq(nb_map_host_written(m, &unfinished), 70);
	ck_assert_uint_eq(unfinished, 1);
	ck_assert_uint_eq(word_of(m, 1), 7);
	ck_assert_uint_eq(word_of(m, 2), 8);
	put_element(bytes, 2, 90, 9); /* the next writer finishes it */
	ck_assert_uint_eq(nb_map_host_written(m, &unfinished), 90);
	ck_assert_uint_eq(unfinished, 0);
	close(fd);
	munmap(bytes, (size_t)N * ELEMENT);
	nb_map_put(m);
}

/* A file whose contents are fixed needs no writer. */
TEST(fixed_files_and_whole_pages_are_taken)
{
	long page = sysconf(_SC_PAGESIZE);
	size_t size = ((size_t)N * ELEMENT / (size_t)page + 1) * (size_t)page;
	struct nb_err err = { .text = "" };
	struct nb_map *m = host_new();
	unsigned char element[ELEMENT];
	int fd = memory_file(size, 0, NULL);

	put_element(element, 0, 50, 5);
	ck_assert_int_eq(pwrite(fd, element, ELEMENT, 2 * ELEMENT), ELEMENT);
	ck_assert(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE));
	ck_assert_msg(!nb_map_host_attach(m, fd, &err), "%s", err.text);
	close(fd);
	ck_assert_uint_eq(word_of(m, 2), 5);
	nb_map_put(m);
}

/* ---- refusals ---- */

/* Attaching @fd fails with @rc and @text, and @m shows element 3 as before. */
static void refused(struct nb_map *m, int fd, int rc, const char *text)
{
	struct nb_err err = { .text = "" };

	ck_assert_msg(fd >= 0, "no descriptor for \"%s\"", text);
	ck_assert_int_eq(nb_map_host_attach(m, fd, &err), rc);
	ck_assert_int_eq(nb_map_host_attach(m, fd, NULL), rc);
	ck_assert_msg(strstr(err.text, text) && strstr(err.text, "map host: "),
		      "\"%s\" has no \"%s\"", err.text, text);
	ck_assert(nb_map_host_attached(m));
	ck_assert_uint_eq(word_of(m, 3), 33);
	close(fd);
}

static struct nb_map *attached_map(unsigned char **bytes)
{
	struct nb_map *m = host_new();
	int fd = memory_file((size_t)N * ELEMENT, F_SEAL_SHRINK | FUTURE_WRITE, bytes);

	put_element(*bytes, 3, 1, 33);
	ck_assert(!nb_map_host_attach(m, fd, NULL));
	close(fd);
	return m;
}

TEST(wrong_descriptors_are_refused)
{
	const size_t size = (size_t)N * ELEMENT;
	const int seals = F_SEAL_SHRINK | FUTURE_WRITE;
	char path[] = "/tmp/ncclbpf-host-XXXXXX";
	unsigned char *bytes;
	struct nb_map *m = attached_map(&bytes);
	int pipes[2];

	ck_assert(!pipe(pipes));
	/* sys/socket.h has another bind than jit_both.h: AF_UNIX is 1 */
	refused(m, (int)syscall(SYS_socket, 1, 1, 0), NB_E_ARG, "neither");
	refused(m, open("/", O_RDONLY | O_DIRECTORY), NB_E_ARG, "neither");
	refused(m, open("/dev/zero", O_RDONLY), NB_E_ARG, "neither");
	refused(m, open("/proc/self/exe", O_PATH), NB_E_ARG, "neither");
	refused(m, pipes[0], NB_E_ARG, "neither");
	close(pipes[1]);
	refused(m, mkstemp(path), NB_E_ARG, "map host: the ");
	unlink(path);
	refused(m, memory_file(size, 0, NULL), NB_E_ARG, "seals 0x0");
	refused(m, memory_file(size, FUTURE_WRITE, NULL), NB_E_ARG, "F_SEAL_SHRINK");
	refused(m, memory_file(size, F_SEAL_SHRINK | F_SEAL_GROW, NULL), NB_E_ARG, "seals 0x6");
	refused(m, memory_file(size - 1, seals, NULL), NB_E_ARG, "9599 bytes");
	refused(m, memory_file(size + 65536, seals, NULL), NB_E_ARG, "600 elements of 16 bytes");
	ck_assert_int_eq(nb_map_host_attach(m, -1, NULL), NB_E_IO);
	nb_map_put(m);
}

TEST(failed_calls_leave_the_map_as_it_was)
{
	const int seals = F_SEAL_SHRINK | FUTURE_WRITE;
	const size_t size = (size_t)N * ELEMENT;
	struct nb_err err = { .text = "" };
	unsigned char *bytes;
	struct nb_map *m = attached_map(&bytes);

	mremap_error = ENOMEM;
	refused(m, memory_file(size, seals, NULL), NB_E_IO, "Cannot allocate");
	ck_assert_int_eq(nb_map_host_detach(m, &err), NB_E_NOMEM);
	ck_assert_ptr_nonnull(strstr(err.text, "stays attached"));
	ck_assert_uint_eq(word_of(m, 3), 33);
	mremap_error = 0;
	/* where a load of the page would raise SIGBUS */
	write_error = EFAULT;
	refused(m, memory_file(size, seals, NULL), NB_E_IO, "Bad address");
	write_error = 0;
	ck_assert_int_eq(nb_map_host_detach(m, &err), 0);
	nb_map_put(m);
}

/* A limit is found where no program reads. */
TEST(an_exchange_that_cannot_be_made_is_not_begun)
{
	const size_t size = (size_t)N * ELEMENT;
	struct nb_err err = { .text = "" };
	unsigned char *bytes;
	struct nb_map *m = attached_map(&bytes);

	mremap_error = ENOMEM;
	mremap_unmaps = true;
	refused(m, memory_file(size, F_SEAL_SHRINK | FUTURE_WRITE, NULL), NB_E_IO,
		"cannot be moved");
	ck_assert_int_eq(nb_map_host_detach(m, &err), NB_E_NOMEM);
	mremap_error = 0;
	mremap_unmaps = false;
	ck_assert_uint_eq(word_of(m, 3), 33);
	ck_assert(nb_map_host_attached(m));
	nb_map_put(m);
}

TEST(an_exchange_that_fails_in_the_middle_leaves_zeroes)
{
	struct nb_err err = { .text = "" };
	unsigned char *bytes;
	struct nb_map *m = attached_map(&bytes);

	mremap_error = ENOMEM;
	mremap_good = 1;
	mremap_unmaps = true;
	ck_assert_int_eq(nb_map_host_detach(m, &err), 0);
	mremap_error = 0;
	mremap_unmaps = false;
	ck_assert_uint_eq(word_of(m, 3), 0);
	ck_assert(!nb_map_host_attached(m));
	nb_map_put(m);
}

/* ---- programs that run meanwhile ---- */

/* accessed atomically */
static bool running;
static uint32_t reads[2]; /* of each thread */

static struct both reader_program;

/* A thread that reads element 3 until the test ends. Returns how many of the
 * values were neither 0 (detached) nor 33 (attached). */
static void *read_on(void *count)
{
	uintptr_t wrong = 0;
	uint32_t i = 3;

	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		uint64_t word = nb_exec_interpret(reader_program.x, &i, 4);

		wrong += word != 0 && word != 33;
		word = enter(&reader_program, &i, 4);
		wrong += word != 0 && word != 33;
		__atomic_fetch_add((uint32_t *)count, 1, __ATOMIC_RELAXED);
	}
	return (void *)wrong;
}

/* A limit of memory that prevents a change. The sanitizers need memory of their
 * own. */
static void fail_to_change(struct nb_map *m, int fd)
{
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	struct rlimit before, none;

	ck_assert(!getrlimit(RLIMIT_AS, &before));
	none = (struct rlimit){ 0, before.rlim_max };
	setrlimit(RLIMIT_AS, &none);
	NEED(nb_map_host_detach(m, NULL) == NB_E_NOMEM, "detached");
	NEED(nb_map_host_attach(m, fd, NULL) == NB_E_IO, "attached");
	setrlimit(RLIMIT_AS, &before);
#else
	(void)m, (void)fd;
#endif
}

static void change_pages(struct nb_map *m, int fd)
{
	NEED(!nb_map_host_attach(m, fd, NULL), "not attached");
	fail_to_change(m, fd);
	NEED(!nb_map_host_detach(m, NULL), "not detached");
}

/* A page that a program does not find would end this process. */
TEST(programs_that_run_meanwhile_find_the_old_or_the_new_pages)
{
	enum { CHANGES = 500, READS = 20000 };
	const size_t size = (size_t)N * ELEMENT;
	unsigned char *bytes;
	struct nb_map *m = host_new();
	int fd = memory_file(size, F_SEAL_SHRINK | FUTURE_WRITE, &bytes);
	pthread_t thread[2];

	put_element(bytes, 3, 1, 33);
	reader_program = reader_of(&m);
	running = true;
	for (int t = 0; t < 2; t++)
		ck_assert(!pthread_create(&thread[t], NULL, read_on, &reads[t]));
	for (int i = 0; i < CHANGES || __atomic_load_n(&reads[0], __ATOMIC_RELAXED) < READS ||
			__atomic_load_n(&reads[1], __ATOMIC_RELAXED) < READS;
	     i++)
		change_pages(m, fd);
	__atomic_store_n(&running, false, __ATOMIC_RELAXED);
	for (int t = 0; t < 2; t++) {
		void *wrong;

		ck_assert(!pthread_join(thread[t], &wrong));
		ck_assert_ptr_null(wrong);
	}
	drop(reader_program);
	close(fd);
	nb_map_put(m);
}

TEST(other_maps_cannot_be_attached)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 4, VALUE, N);
	struct nb_err err = { .text = "" };

	ck_assert_int_eq(nb_map_host_attach(m, 0, &err), NB_E_NOTSUP);
	ck_assert_int_eq(nb_map_host_detach(m, &err), NB_E_NOTSUP);
	ck_assert_uint_eq(written(m), 0);
	nb_map_put(m);
}

TEST(only_the_writer_changes_it_and_clones_are_snapshots)
{
	struct nb_err err = { .text = "" };
	unsigned char *bytes, value[VALUE] = { 0 };
	struct nb_map *m = attached_map(&bytes), *copy;
	uint32_t key = 3;

	ck_assert_int_eq(nb_map_write(m, &key, value, NB_ANY, &err), NB_E_READONLY);
	ck_assert_ptr_nonnull(strstr(err.text, "is a host map"));
	ck_assert_int_eq(nb_map_write_part(m, &key, 0, 4, value, &err), NB_E_READONLY);
	ck_assert_int_eq(nb_map_erase(m, &key, &err), NB_E_READONLY);
	ck_assert(!nb_map_clone(&copy, m, &err));
	put_element(bytes, 3, 2, 44);
	ck_assert_uint_eq(word_of(m, 3), 44);
	ck_assert_uint_eq(word_of(copy, 3), 33);
	ck_assert(!nb_map_is_host(copy));
	ck_assert_int_eq(nb_map_write(copy, &key, value, NB_ANY, &err), NB_E_READONLY);
	nb_map_put(m);
	ck_assert_uint_eq(word_of(copy, 3), 33);
	nb_map_put(copy);
}

/* ---- maps of the kernel ---- */

static int bpf_call(int what, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, what, attr, sizeof(*attr));
}

/* -1: the kernel or a sandbox refuses bpf(). */
static int kernel_map(uint32_t type, uint32_t value, uint32_t entries, uint32_t flags)
{
	union bpf_attr attr = { .map_type = type,
				.key_size = 4,
				.value_size = value,
				.max_entries = entries,
				.map_flags = flags };

	return bpf_call(BPF_MAP_CREATE, &attr);
}

static int frozen(int fd)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd };

	ck_assert(!bpf_call(BPF_MAP_FREEZE, &attr));
	return fd;
}

/* Another descriptor of the map of @fd, which is closed. */
static int read_only(int fd)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd,
					  .info_len = sizeof(info),
					  .info = (uintptr_t)&info } };
	union bpf_attr open_attr = { .open_flags = BPF_F_RDONLY };

	ck_assert(!bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr));
	open_attr.map_id = info.id;
	close(fd);
	return bpf_call(BPF_MAP_GET_FD_BY_ID, &open_attr);
}

TEST(frozen_arrays_of_the_kernel_are_read)
{
	const uint32_t flags = BPF_F_MMAPABLE;
	int fd = kernel_map(BPF_MAP_TYPE_ARRAY, VALUE, N, flags);
	struct nb_err err = { .text = "" };
	unsigned char *bytes, value[ELEMENT];
	struct nb_map *m = attached_map(&bytes);
	uint32_t key = 3;
	union bpf_attr attr = { .map_fd = (uint32_t)fd,
				.key = (uintptr_t)&key,
				.value = (uintptr_t)value };

	if (fd < 0) {
		fprintf(stderr, "# not tested: bpf(): %s\n", strerror(errno));
		nb_map_put(m);
		return;
	}
	refused(m, dup(fd), NB_E_ARG, "not frozen");
	put_element(value, 0, 60, 6);
	ck_assert(!bpf_call(BPF_MAP_UPDATE_ELEM, &attr));
	refused(m, frozen(kernel_map(BPF_MAP_TYPE_ARRAY, VALUE, N - 1, flags)), NB_E_ARG,
		"max_entries is 599; the host map's is 600");
	refused(m, frozen(kernel_map(BPF_MAP_TYPE_ARRAY, 16, N, flags)), NB_E_ARG,
		"value_size is 16");
	refused(m, frozen(kernel_map(BPF_MAP_TYPE_HASH, VALUE, N, 0)), NB_E_ARG, "map_type is 1");
	refused(m, frozen(kernel_map(BPF_MAP_TYPE_ARRAY, VALUE, N, 0)), NB_E_ARG, "BPF_F_MMAPABLE");
	refused(m, read_only(frozen(dup(fd))), NB_E_IO, "cannot be mapped: Invalid argument");
	ck_assert_msg(!nb_map_host_attach(m, fd, &err), "%s", err.text);
	close(fd);
	ck_assert_uint_eq(word_of(m, 3), 6);
	ck_assert_uint_eq(written(m), 60);
	nb_map_put(m);
}

UNIT_MAIN("host_map")
