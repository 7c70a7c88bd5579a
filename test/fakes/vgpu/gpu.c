// SPDX-License-Identifier: MIT
// The virtual GPU: one thread per process that works off the streams' queues
// on a modelled clock (VGPU_CLOCK):
//
// real:    an operation is done when the wall clock reaches its modelled end
// virtual: it is done as soon as its end is known. Every stream's clock starts
//          at 0 and only kernels advance it, so event times are the model's,
//          exactly, in every run
// off:     kernels take no time and ranks do not wait for each other
//
// One lock guards all streams and events; host functions run without it.
#include "test/fakes/vgpu/vgpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLOCK_OFF, CLOCK_VIRTUAL, CLOCK_REAL };

enum op_kind { OP_KERNEL, OP_RECORD, OP_WAIT, OP_HOST };

enum { PAUSE_LEAST_NS = 20000, PAUSE_MOST_NS = 500000 };

struct vg_event { // its last record: number asked for, number done, its time
	int refs;
	uint64_t asked, done, at;
};

struct op {
	struct op *next;
	enum op_kind kind;
	bool published, met, resolved, failed, reported;
	uint64_t enqueued, start, end, since;
	struct vg_event *event;
	uint64_t turn; // the record of the event that is meant
	void (*fn)(void *);
	void *arg;
	struct vg_launch *launch;
};

struct vg_stream {
	int dev, error;
	bool dead;
	struct op *head, *tail;
	uint64_t nqueued, ndone;
	uint64_t at; // end of the last operation
	struct vg_stream *next;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work, progress;
static struct vg_stream *streams, *defaults[VG_MAX_DEV];
static bool moved; // data, since the thread last slept
static int clock_kind = CLOCK_REAL;
static uint64_t hang_ns, report_ns;

// ---- the thread; mu is held everywhere but where said otherwise

static void event_put(struct vg_event *e)
{
	if (--e->refs == 0)
		free(e);
}

// Whether the clock lets something happen at this time; else *when is lowered
// to it.
static bool due(uint64_t at, uint64_t *when)
{
	if (clock_kind != CLOCK_REAL || vg_now() >= at)
		return true;
	if (at < *when)
		*when = at;
	return false;
}

static bool aborted(const struct vg_launch *l)
{
	bool set = false;

	if (!l->abort_flag)
		return false;
	vg_mem_hold();
	if (vg_mem_mapped(l->abort_flag, sizeof *l->abort_flag))
		set = __atomic_load_n(l->abort_flag, __ATOMIC_RELAXED) != 0;
	vg_mem_release();
	return set;
}

static void report_hang(struct op *o)
{
	char text[4096];

	if (!o->reported && vg_rdv_explain(o->launch, text, sizeof text))
		vg_log("HANG: %s", text);
	o->reported = true;
}

static void hang(struct vg_stream *s, struct op *o)
{
	report_hang(o);
	s->error = VG_LAUNCH_TIMEOUT;
	o->failed = true;
}

// Find the end of a kernel that has started; false: its peers are not there.
static bool kernel_meet(struct vg_stream *s, struct op *o)
{
	const struct vg_launch *l = o->launch;

	if (!l->rdv) {
		o->end = o->start + l->dur_ns;
	} else if (!vg_rdv_poll(l, &o->end)) {
		if (aborted(l))
			o->failed = true;
		else if (hang_ns && vg_now() - o->since > hang_ns)
			hang(s, o);
		else if (report_ns && vg_now() - o->since > report_ns)
			report_hang(o);
		if (!o->failed)
			return false;
		o->end = o->start;
	}
	o->since = vg_now();
	return true;
}

static void data_failed(struct vg_stream *s, struct op *o, int error)
{
	char text[256];

	vg_data_explain(o->launch->data, text, sizeof text);
	vg_log("%s: %s: %s", error == VG_LAUNCH_TIMEOUT ? "HANG" : "failed", o->launch->what, text);
	s->error = error;
	o->failed = true;
}

// Whether all data of a kernel has been moved, or never will be.
static bool kernel_move(struct vg_stream *s, struct op *o)
{
	if (aborted(o->launch)) {
		o->failed = true;
		return true;
	}
	switch (vg_data_run(o->launch->data)) {
	case VG_DATA_WAITS:
		if (hang_ns && vg_now() - o->since > hang_ns)
			data_failed(s, o, VG_LAUNCH_TIMEOUT);
		return o->failed;
	case VG_DATA_MOVED:
		o->since = vg_now();
		moved = true;
		return false;
	case VG_DATA_ENDED:
		return true;
	case VG_DATA_FAILED:
		data_failed(s, o, VG_NOT_SUPPORTED);
		return true;
	}
	return true;
}

static bool kernel_resolve(struct vg_stream *s, struct op *o)
{
	if (!o->met && !kernel_meet(s, o))
		return false;
	o->met = true;
	if (!o->failed && o->launch->data && !kernel_move(s, o))
		return false;
	o->resolved = true;
	return true;
}

static bool kernel_step(struct vg_stream *s, struct op *o, uint64_t *end, uint64_t *when)
{
	if (!o->published) {
		if (!due(*end, when))
			return false;
		o->published = true;
		o->start = *end;
		o->since = vg_now();
		vg_launch_prof(o->launch, false, o->start);
		if (o->launch->rdv)
			vg_rdv_publish(o->launch, o->start);
	}
	if (!o->resolved && !kernel_resolve(s, o))
		return false;
	*end = o->end;
	if (!due(*end, when))
		return false;
	if (!o->failed)
		vg_launch_prof(o->launch, true, *end);
	return true;
}

// Try to do the operation; *end, where it may begin, becomes its end.
static bool op_step(struct vg_stream *s, struct op *o, uint64_t *end, uint64_t *when)
{
	switch (o->kind) {
	case OP_KERNEL:
		return kernel_step(s, o, end, when);
	case OP_RECORD:
		return due(*end, when);
	case OP_WAIT:
		if (o->event->done < o->turn)
			return false;
		if (o->event->at > *end)
			*end = o->event->at;
		return true;
	case OP_HOST:
		if (!due(*end, when))
			return false;
		// Only this thread takes host functions off a queue, so the
		// head is still o when the lock is back.
		pthread_mutex_unlock(&mu);
		o->fn(o->arg);
		pthread_mutex_lock(&mu);
		return true;
	}
	return true;
}

static void op_finish(struct vg_stream *s, struct op *o, uint64_t end)
{
	s->at = end;
	if (o->kind == OP_RECORD && o->turn > o->event->done) {
		o->event->done = o->turn;
		o->event->at = end;
	}
	if (o->event)
		event_put(o->event);
	s->head = o->next;
	if (!s->head)
		s->tail = NULL;
	s->ndone++;
	vg_launch_free(o->launch);
	free(o);
}

// Try to finish the head of the queue. A stream with an error swallows all.
static bool stream_step(struct vg_stream *s, uint64_t *when)
{
	struct op *o = s->head;
	uint64_t end = o->enqueued > s->at ? o->enqueued : s->at;

	if (!s->error && !op_step(s, o, &end, when))
		return false;
	op_finish(s, o, end);
	return true;
}

// One pass over all streams; returns whether anything was done.
static bool pass(uint64_t *when)
{
	bool any = false;

	for (struct vg_stream **p = &streams; *p;) {
		struct vg_stream *s = *p;

		while (s->head && stream_step(s, when))
			any = true;
		if (s->dead && !s->head) {
			*p = s->next;
			free(s);
		} else {
			p = &s->next;
		}
	}
	return any;
}

static bool busy(void)
{
	for (const struct vg_stream *s = streams; s; s = s->next) {
		if (s->head)
			return true;
	}
	return false;
}

// Peers in other processes are polled, ever more slowly while all is quiet.
static void doze(uint64_t when, uint64_t *pause)
{
	uint64_t until = vg_now() + *pause;

	if (*pause < PAUSE_MOST_NS)
		*pause += *pause / 2;
	if (when < until)
		until = when;
	struct timespec ts = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
	pthread_cond_timedwait(&work, &mu, &ts);
}

static void *gpu_main(void *unused)
{
	uint64_t pause = PAUSE_LEAST_NS;
	sigset_t every;

	(void)unused;
	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, NULL);
	pthread_mutex_lock(&mu);
	for (;;) {
		uint64_t when = UINT64_MAX;
		bool any = false;

		while (pass(&when)) {
			when = UINT64_MAX;
			any = true;
		}
		if (any)
			pthread_cond_broadcast(&progress);
		if (any || moved)
			pause = PAUSE_LEAST_NS;
		moved = false;
		if (busy()) {
			doze(when, &pause);
		} else {
			pthread_cond_wait(&work, &mu);
			pause = PAUSE_LEAST_NS;
		}
	}
	return NULL;
}

static void clock_init(void)
{
	const char *c = getenv("VGPU_CLOCK");

	if (!c || !*c || !strcmp(c, "real"))
		clock_kind = CLOCK_REAL;
	else if (!strcmp(c, "virtual"))
		clock_kind = CLOCK_VIRTUAL;
	else if (!strcmp(c, "off"))
		clock_kind = CLOCK_OFF;
	else
		vg_log("VGPU_CLOCK: \"%s\" is none of real, virtual, off; "
		       "using real",
		       c);
}

static void gpu_init(void)
{
	pthread_condattr_t mono;
	pthread_t t;
	long hang_s = vg_env("VGPU_HANG_S", 600);
	long report_s = vg_env("VGPU_REPORT_S", 0);

	clock_init();
	hang_ns = hang_s > 0 ? (uint64_t)hang_s * 1000000000u : 0;
	report_ns = report_s > 0 ? (uint64_t)report_s * 1000000000u : 0;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&work, &mono);
	pthread_cond_init(&progress, &mono);
	if (pthread_create(&t, NULL, gpu_main, NULL))
		vg_log("no thread for the virtual GPU: streams will hang");
	else
		pthread_detach(t);
}

// ---- what the CUDA functions call; mu is taken here

static void lock(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, gpu_init);
	pthread_mutex_lock(&mu);
}

static void unlock(void)
{
	pthread_mutex_unlock(&mu);
}

struct vg_stream *vg_stream_new(int dev)
{
	struct vg_stream *s = vg_calloc(1, sizeof *s);

	s->dev = dev;
	lock();
	s->next = streams;
	streams = s;
	unlock();
	return s;
}

struct vg_stream *vg_stream(void *handle)
{
	struct vg_stream *s, *made;

	if ((uintptr_t)handle > 2) // 0, 1, 2: default, legacy, per thread
		return handle;
	lock();
	s = defaults[vg_dev];
	unlock();
	if (s)
		return s;
	made = vg_stream_new(vg_dev);
	lock();
	s = defaults[vg_dev];
	if (!s)
		s = defaults[vg_dev] = made;
	else
		made->dead = true; // another thread was faster
	unlock();
	return s;
}

void vg_stream_free(struct vg_stream *s)
{
	lock();
	s->dead = true;
	pthread_cond_signal(&work);
	unlock();
}

int vg_stream_dev(const struct vg_stream *s)
{
	return s->dev;
}

// Takes o over; mu is held.
static void push(struct vg_stream *s, struct op *o)
{
	uint64_t when = UINT64_MAX;
	bool light = o->kind == OP_RECORD || o->kind == OP_WAIT;

	o->enqueued = clock_kind == CLOCK_VIRTUAL ? 0 : vg_now();
	s->nqueued++;
	if (s->tail) {
		s->tail->next = o;
		s->tail = o;
	} else {
		s->head = s->tail = o;
		// On an idle stream these are done on the spot if they can be.
		if (!s->error && light && stream_step(s, &when)) {
			pthread_cond_broadcast(&progress);
			return;
		}
	}
	pthread_cond_signal(&work);
}

static struct op *op_new(enum op_kind kind)
{
	struct op *o = vg_calloc(1, sizeof *o);

	o->kind = kind;
	return o;
}

void vg_stream_launch(struct vg_stream *s, struct vg_launch *l)
{
	struct op *o = op_new(OP_KERNEL);

	o->launch = l;
	lock();
	if (clock_kind == CLOCK_OFF) {
		l->dur_ns = 0;
		l->rdv = NULL;
	}
	push(s, o);
	unlock();
}

void vg_stream_host(struct vg_stream *s, void (*fn)(void *), void *arg)
{
	struct op *o = op_new(OP_HOST);

	o->fn = fn;
	o->arg = arg;
	lock();
	push(s, o);
	unlock();
}

void vg_stream_record(struct vg_stream *s, struct vg_event *e)
{
	struct op *o = op_new(OP_RECORD);

	lock();
	e->refs++;
	o->event = e;
	o->turn = ++e->asked;
	push(s, o);
	unlock();
}

void vg_stream_wait(struct vg_stream *s, struct vg_event *e)
{
	struct op *o = op_new(OP_WAIT);

	lock();
	e->refs++;
	o->event = e;
	o->turn = e->asked;
	push(s, o);
	unlock();
}

int vg_stream_sync(struct vg_stream *s)
{
	lock();
	uint64_t upto = s->nqueued;
	while (!s->error && s->ndone < upto)
		pthread_cond_wait(&progress, &mu);
	int rc = s->error;
	unlock();
	return rc;
}

int vg_stream_query(struct vg_stream *s)
{
	lock();
	int rc = s->error ? s->error : s->head ? VG_NOT_READY : 0;
	unlock();
	return rc;
}

static bool device_busy(int dev, int *error)
{
	bool is_busy = false;

	for (const struct vg_stream *s = streams; s; s = s->next) {
		if (s->dev != dev)
			continue;
		if (s->error)
			*error = s->error;
		else if (s->head)
			is_busy = true;
	}
	return is_busy;
}

int vg_device_sync(int dev)
{
	int error = 0;

	lock();
	while (device_busy(dev, &error))
		pthread_cond_wait(&progress, &mu);
	unlock();
	return error;
}

struct vg_event *vg_event_new(void)
{
	struct vg_event *e = vg_calloc(1, sizeof *e);

	e->refs = 1;
	return e;
}

void vg_event_free(struct vg_event *e)
{
	lock();
	event_put(e);
	unlock();
}

int vg_event_query(struct vg_event *e)
{
	lock();
	int rc = e->done < e->asked ? VG_NOT_READY : 0;
	unlock();
	return rc;
}

int vg_event_sync(struct vg_event *e)
{
	lock();
	uint64_t upto = e->asked;
	e->refs++;
	while (e->done < upto)
		pthread_cond_wait(&progress, &mu);
	event_put(e);
	unlock();
	return 0;
}

int vg_event_elapsed(float *ms, struct vg_event *a, struct vg_event *b)
{
	lock();
	bool ready = a->done >= a->asked && b->done >= b->asked;
	int64_t ns = (int64_t)(b->at - a->at);
	unlock();
	*ms = (float)((double)ns / 1e6);
	return ready ? 0 : VG_NOT_READY;
}
