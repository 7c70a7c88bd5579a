// SPDX-License-Identifier: MIT
/*
 * Names for machine code in perf's map file of the process and in gdb's JIT
 * interface: a list of object files in memory, and a function that a
 * debugger stops in when the list changes. Both are used only on request;
 * if naming fails, the program runs anyway.
 */
#include "core/exec/jit/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/exec/jit/jit.h"
#include "core/exec/jit/symbols_elf.h"

/* Open only a regular file of our own: a link, or another user's file in a
 * shared folder, is refused. */
static int open_map(struct nb_err *err)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	fd = open(path,
		  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
			  O_NONBLOCK,
		  0600);
	if (fd < 0)
		return nb_fail(err, NB_E_IO, 0, "%s: %s", path,
			       strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_nlink == 1)
		return fd;
	close(fd);
	return nb_fail(err, NB_E_IO, 0, "%s is not a file of this user's own",
		       path);
}

static int publish_perf(const struct nb_jit *j, const struct nb_image *img,
			uint32_t prog, struct nb_err *err)
{
	const struct nb_prog *p = &img->progs[prog];
	int fd = open_map(err), rc = 0;
	struct nb_buf b;

	if (fd < 0)
		return fd;
	nb_buf_init(&b, 1 << 20);
	for (uint32_t f = 0; f < p->nfuncs; f++) {
		struct nb_extent e = nb_extent_of(j, p, f);

		nb_buf_printf(&b, "%" PRIxPTR " %x ",
			      (uintptr_t)j->code + e.start, e.end - e.start);
		nb_extent_name(&b, img, prog, f);
		nb_buf_char(&b, '\n');
	}
	/* One write for all lines, so that lines of other threads do not
	 * come between. */
	if (!nb_buf_ok(&b) || write(fd, b.data, b.size) != (ssize_t)b.size)
		rc = nb_fail(err, NB_E_IO, 0,
			     "cannot write the map of machine code for perf");
	nb_buf_fini(&b);
	close(fd);
	return rc;
}

/* The names and layouts are those of gdb's manual, "JIT Compilation
 * Interface". */
struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};

enum { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

/*
 * A debugger finds these symbols by name. They are protected: other
 * libraries of the process may define them too, and ours must not resolve
 * to theirs.
 */
#define FOR_DEBUGGERS __attribute__((visibility("protected")))
FOR_DEBUGGERS void __jit_debug_register_code(void);
FOR_DEBUGGERS extern struct jit_descriptor __jit_debug_descriptor;

struct jit_descriptor __jit_debug_descriptor = { .version = 1 };

__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

struct nb_symbols {
	struct jit_code_entry entry;
	char *elf;
};

static void notify_debugger(struct jit_code_entry *e, uint32_t action)
{
	struct jit_descriptor *d = &__jit_debug_descriptor;

	d->relevant = e;
	d->action = action;
	__jit_debug_register_code();
	d->action = JIT_NOACTION;
}

static int publish_gdb(struct nb_symbols **out, const struct nb_jit *j,
		       const struct nb_image *img, uint32_t prog,
		       struct nb_err *err)
{
	struct nb_symbols *s = calloc(1, sizeof(*s));
	struct jit_descriptor *d = &__jit_debug_descriptor;
	struct nb_buf b;
	size_t size;

	*out = NULL;
	nb_buf_init(&b, 16 << 20);
	nb_symbols_elf(&b, j, img, prog);
	if (!s || !nb_buf_ok(&b)) {
		nb_buf_fini(&b);
		free(s);
		return nb_fail(err, NB_E_NOMEM, 0,
			       "no memory to describe program %s to debuggers",
			       img->progs[prog].name);
	}
	s->elf = nb_buf_take(&b, &size);
	s->entry.symfile_addr = s->elf;
	s->entry.symfile_size = size;
	pthread_mutex_lock(&list_lock);
	s->entry.next = d->first;
	if (d->first)
		d->first->prev = &s->entry;
	d->first = &s->entry;
	notify_debugger(&s->entry, JIT_REGISTER);
	pthread_mutex_unlock(&list_lock);
	*out = s;
	return 0;
}

int nb_symbols_publish(struct nb_symbols **s, const struct nb_jit *j,
		       const struct nb_image *img, uint32_t prog, unsigned how,
		       struct nb_err *err)
{
	int rc = 0;

	if (how & NB_PUBLISH_PERF)
		rc = publish_perf(j, img, prog, err);
	if (!rc && how & NB_PUBLISH_GDB && !*s)
		rc = publish_gdb(s, j, img, prog, err);
	return rc;
}

void nb_symbols_free(struct nb_symbols *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&list_lock);
	if (s->entry.prev)
		s->entry.prev->next = s->entry.next;
	else
		__jit_debug_descriptor.first = s->entry.next;
	if (s->entry.next)
		s->entry.next->prev = s->entry.prev;
	notify_debugger(&s->entry, JIT_UNREGISTER);
	pthread_mutex_unlock(&list_lock);
	free(s->elf);
	free(s);
}
