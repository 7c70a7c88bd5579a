// SPDX-License-Identifier: MIT
// Where the ranks of a communicator meet: one small shared file each.
//
// Every rank writes its own records alone, so there are no locks. A rank can
// be at most one collective ahead of the slowest, hence few slots suffice. The
// file's name goes as soon as the last rank has attached.
#include "test/fakes/vgpu/vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 4, MAX_RANKS = 4096 };

struct record {
	uint64_t turn; // number of the collective + 1; written last
	uint64_t start, dur, sig;
	char what[VG_WHAT];
};

struct file {
	uint32_t attached, pad[15];
	struct record records[][SLOTS];
};

struct vg_rdv {
	uint64_t comm, next;
	int rank, n;
	bool said;
	struct file *file;
	struct vg_rdv *link;
};

static struct vg_rdv *all;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static struct file *attach(uint64_t comm, int n)
{
	const char *dir = getenv("VGPU_DIR");
	char path[512];
	size_t size = sizeof(struct file) + (size_t)n * sizeof(struct record[SLOTS]);
	struct file *f = MAP_FAILED;

	snprintf(path, sizeof path, "%s/vgpu-%d-%016llx-%d", dir && *dir ? dir : "/dev/shm",
		 (int)getuid(), (unsigned long long)comm, n);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && !ftruncate(fd, (off_t)size))
		f = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (f == MAP_FAILED)
		vg_log("%s: %s; ranks do not wait for each other", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (f == MAP_FAILED)
		return NULL;
	if (__atomic_add_fetch(&f->attached, 1, __ATOMIC_ACQ_REL) == (uint32_t)n)
		unlink(path);
	return f;
}

struct vg_rdv *vg_rdv_get(uint64_t comm, int rank, int nranks)
{
	struct vg_rdv *r;

	pthread_mutex_lock(&mu);
	for (r = all; r; r = r->link) {
		if (r->comm == comm && r->rank == rank && r->n == nranks)
			break;
	}
	if (!r) {
		struct file *f = nranks <= MAX_RANKS ? attach(comm, nranks) : NULL;

		if (f) {
			r = vg_calloc(1, sizeof *r);
			r->comm = comm;
			r->rank = rank;
			r->n = nranks;
			r->file = f;
			r->link = all;
			all = r;
		}
	}
	pthread_mutex_unlock(&mu);
	return r;
}

uint64_t vg_rdv_next(struct vg_rdv *r)
{
	return __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED);
}

static struct record *record_of(const struct vg_launch *l, int rank)
{
	return &l->rdv->file->records[rank][l->seq % SLOTS];
}

static bool arrived(const struct vg_launch *l, int rank)
{
	uint64_t turn = __atomic_load_n(&record_of(l, rank)->turn, __ATOMIC_ACQUIRE);
	return turn == l->seq + 1;
}

void vg_rdv_publish(const struct vg_launch *l, uint64_t start)
{
	struct record *q = record_of(l, l->rdv->rank);

	q->start = start;
	q->dur = l->dur_ns;
	q->sig = l->sig;
	memcpy(q->what, l->what, sizeof q->what);
	__atomic_store_n(&q->turn, l->seq + 1, __ATOMIC_RELEASE);
}

bool vg_rdv_poll(const struct vg_launch *l, uint64_t *end)
{
	uint64_t start = 0, dur = 0;

	for (int i = 0; i < l->rdv->n; i++) {
		const struct record *q = record_of(l, i);

		if (!arrived(l, i) || q->sig != l->sig)
			return false;
		if (q->start > start)
			start = q->start;
		if (q->dur > dur)
			dur = q->dur;
	}
	*end = start + dur;
	return true;
}

static bool same_launch(const struct vg_launch *l, int a, int b)
{
	if (arrived(l, a) != arrived(l, b))
		return false;
	return !arrived(l, a) || record_of(l, a)->sig == record_of(l, b)->sig;
}

static bool already_told(const struct vg_launch *l, int rank)
{
	for (int i = 0; i < rank; i++) {
		if (same_launch(l, i, rank))
			return true;
	}
	return false;
}

// Appends to a text of fixed size; what does not fit is left out.
static __attribute__((format(printf, 3, 4))) void append(char *out, size_t size, const char *fmt,
							 ...)
{
	size_t at = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + at, size - at, fmt, ap);
	va_end(ap);
}

// Once per communicator and process: several ranks may live in this one.
static bool first_to_say(struct vg_rdv *r)
{
	bool first = true;

	pthread_mutex_lock(&mu);
	for (const struct vg_rdv *q = all; q; q = q->link) {
		if (q->comm == r->comm && q->said)
			first = false;
	}
	r->said = true;
	pthread_mutex_unlock(&mu);
	return first;
}

bool vg_rdv_explain(const struct vg_launch *l, char *out, size_t size)
{
	struct vg_rdv *r = l->rdv;

	if (!first_to_say(r))
		return false;
	snprintf(out, size,
		 "communicator %016llx collective #%llu, seen by rank %d of "
		 "%d:",
		 (unsigned long long)r->comm, (unsigned long long)l->seq, r->rank, r->n);
	for (int i = 0; i < r->n; i++) { // a line for each different launch
		if (already_told(l, i))
			continue;
		append(out, size, "\n  rank");
		for (int k = i; k < r->n; k++) {
			if (same_launch(l, i, k))
				append(out, size, " %d", k);
		}
		append(out, size, ": %s",
		       arrived(l, i) ? record_of(l, i)->what : "has not launched it");
	}
	return true;
}
