// SPDX-License-Identifier: MIT
// What the files of libvgpu.so offer each other.
//
// libvgpu.so is preloaded into a program that uses NCCL. It plays the CUDA
// runtime, the few driver functions and the NVML that NCCL asks for, so that
// the unmodified libnccl.so.2 runs its whole host side without a GPU. Kernels
// do not run: their arguments are decoded and their time is modelled.
#ifndef VGPU_H
#define VGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VG_API __attribute__((visibility("default")))

enum {
	VG_MAX_DEV = 28,	 // bus numbers are one byte
	VG_PCI_DOMAIN = 0x7e57,	 // a PCI domain that no real machine has
	VG_CUDA_VERSION = 13000, // what runtime and driver claim to be
	VG_NOT_SUPPORTED = 801,	 // cudaErrorNotSupported, CUDA_ERROR_...
	VG_NOT_READY = 600,	 // cudaErrorNotReady
	VG_LAUNCH_TIMEOUT = 702, // cudaErrorLaunchTimeout
};

// ---- conf.c: what the environment says, time, log

// The kind of GPU that is pretended (VGPU_GPU).
struct vg_kind {
	const char *name, *title;
	int major, minor; // compute capability
	int sms;
	size_t memory;
};

const struct vg_kind *vg_kind(void);
int vg_count(void);			// GPUs this process sees (VGPU_COUNT)
int vg_nvlinks(void);			// NVLinks of each GPU (VGPU_NVLINKS)
int vg_bus(int dev);			// PCI bus number of a device
uint64_t vg_now(void);			// CLOCK_MONOTONIC, ns
void *vg_calloc(size_t n, size_t size); // ends the process when memory is out

/*
 * vg_env, vg_envf - a number from the environment
 *
 * @dflt where the variable is unset, empty or not a number; the latter is
 * logged with the name and the value.
 */
long vg_env(const char *name, long dflt);
double vg_envf(const char *name, double dflt);

// One line to stderr, in one write: lines of several processes do not mix.
void vg_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// One line, "vgpu: SKIP: @what@why"; then the process ends with status 77.
__attribute__((noreturn)) void vg_skip(const char *what, const char *why);

// ---- stub.c: functions that are asked for and that we lack

/*
 * vg_stub - a function that logs @name once and returns VG_NOT_SUPPORTED
 *
 * NULL when more than 1200 names were asked for. Any thread. The name is
 * copied. So a missing function shows itself by name, not as a riddle.
 */
void *vg_stub(const char *name);

// ---- spin.c: NCCL's threads sleep where they would spin

void vg_spin_in(uintptr_t begin, uintptr_t end); // NCCL's code

// ---- patch.c: makes the loaded libnccl.so call us

extern int vg_nccl_version;	// ncclGetVersion(), 0: unknown
extern bool vg_rccl;		// it is RCCL's
extern const int *vg_row_to_id; // NCCL's function table, or NULL
extern size_t vg_nrows;

// ---- kernel.c: the names of kernels

// Name of a kernel by the address of its host stub; never NULL.
const char *vg_kernel_name(const void *host);
void vg_kernel_add(const void *host, const char *symbol);

// ---- mem.c: device memory is host memory

enum vg_mem { VG_MEM_HOST = 1, VG_MEM_DEVICE };

struct vg_handle; // allocation of the driver's virtual memory management

struct vg_region {
	uintptr_t base;
	size_t size;
	enum vg_mem kind;
	int dev;
	int fd; // the memfd behind it, -1: none of its own
	uint64_t id;
	struct vg_handle *handle; // NULL: not mapped by cuMemMap
};

extern _Thread_local int vg_dev; // current device of the thread

// Whether [p, p + n) lies in one known region. Any thread.
bool vg_mem_mapped(const void *p, size_t n);
bool vg_mem_find(uintptr_t p, struct vg_region *out);
bool vg_mem_take(uintptr_t base, struct vg_region *out); // find and forget
void vg_mem_add(struct vg_region r);

// Between hold and release no region's memory disappears.
void vg_mem_hold(void);
void vg_mem_release(void);

// Drivers' building blocks. CUDA error numbers; fd: -1 on failure.
int vg_mem_alloc(void **out, size_t n, enum vg_mem kind);
int vg_mem_free(void *p);
void *vg_mem_reserve(size_t n, size_t align); // address space, or NULL
int vg_mem_map_fd(void *at, size_t n, int fd, size_t off);
int vg_mem_new_fd(size_t n);

// ---- gpu.c: streams, events and the thread that works them off

struct vg_stream;
struct vg_event;
struct vg_launch;

struct vg_stream *vg_stream_new(int dev);
struct vg_stream *vg_stream(void *handle); // also the default stream's handles
void vg_stream_free(struct vg_stream *s);  // lets the queue drain first
int vg_stream_dev(const struct vg_stream *s);
int vg_stream_sync(struct vg_stream *s);
int vg_stream_query(struct vg_stream *s);
int vg_device_sync(int dev);
void vg_stream_launch(struct vg_stream *s, struct vg_launch *l); // takes l
void vg_stream_host(struct vg_stream *s, void (*fn)(void *), void *arg);
void vg_stream_record(struct vg_stream *s, struct vg_event *e);
void vg_stream_wait(struct vg_stream *s, struct vg_event *e);
struct vg_event *vg_event_new(void);
void vg_event_free(struct vg_event *e); // legal while a record is pending
int vg_event_query(struct vg_event *e);
int vg_event_sync(struct vg_event *e);
int vg_event_elapsed(float *ms, struct vg_event *a, struct vg_event *b);

// ---- launch.c: what a launch of one of NCCL's kernels would do

struct vg_prof { // one work whose time stamps the profiler wants
	char *started, *completed;
	uint64_t counter;
};

enum { VG_WHAT = 176 };

struct vg_launch {
	char what[VG_WHAT]; // for people
	uint64_t sig;	    // equal on all ranks, or they hang
	uint64_t dur_ns;    // modelled
	struct vg_rdv *rdv; // where the ranks meet; NULL: nobody to meet
	int rank;
	uint64_t seq;	      // number of the collective in its communicator
	uint32_t *abort_flag; // NCCL sets it to end a hang; may be NULL
	struct vg_data *data; // what it moves; NULL: nothing
	struct vg_prof *prof;
	unsigned nprof, cprof;
};

/*
 * vg_launch_new - decode one kernel launch
 * @kernel: its name
 * @grid:   number of blocks
 * @args:   packed kernel arguments, or NULL
 * @size:   where NCCL keeps their size, or NULL: not one of NCCL's launches
 *
 * A kernel that is not understood takes VGPU_OTHER_US and meets nobody. Free
 * with vg_launch_free. Called by the launching thread.
 */
struct vg_launch *vg_launch_new(const char *kernel, unsigned grid, const void *args,
				const size_t *size);
void vg_launch_free(struct vg_launch *l);

// Write the profiler's counters for the start or the end at CLOCK_MONOTONIC
// ns; they get CLOCK_REALTIME, as the kernels' own would (globaltimer), or ticks (RCCL).
void vg_launch_prof(const struct vg_launch *l, bool completed, uint64_t ns);

// ---- func.c and model.c: what a kernel does, how long a collective takes

enum vg_coll {
	VG_BROADCAST,
	VG_REDUCE,
	VG_ALLGATHER,
	VG_REDUCESCATTER,
	VG_ALLREDUCE,
	VG_ALLGATHERV, // broadcasts of several roots in a group, since 2.29
	VG_NCOLL
};
enum vg_algo {
	VG_TREE,
	VG_RING,
	VG_COLLNET_DIRECT,
	VG_COLLNET_CHAIN,
	VG_NVLS,
	VG_NVLS_TREE,
	VG_PAT,
	VG_NALGO
};
enum vg_proto { VG_LL, VG_LL128, VG_SIMPLE, VG_NPROTO };

extern const char *const vg_coll_name[VG_NCOLL];
extern const char *const vg_algo_name[VG_NALGO];
extern const char *const vg_proto_name[VG_NPROTO];

struct vg_func { // -1: none or unknown
	signed char coll, op, type, algo, proto;
};

// Reads NCCL's table of functions; once, before the next one.
void vg_funcs_init(void);
struct vg_func vg_func_of(unsigned id);

struct vg_shape {
	double bytes; // as nccl-tests counts them
	int ranks, nodes, channels;
};

// Reads VGPU_TABLE and the model's numbers; once, before the next two.
void vg_model_init(void);
double vg_model_us(struct vg_func f, struct vg_shape s);
void vg_model_label(void);
double vg_model_noise(uint64_t seq);
double vg_model_other_us(void); // a kernel that is not NCCL's
double vg_model_p2p_us(uint64_t bytes);

// ---- data.c: the bytes that a launch moves (VGPU_DATA=1)

struct vg_data;

bool vg_data_wanted(void);

/*
 * vg_data_new - the data of one launch, a list of tasks that is still empty
 * @comm: ncclKernelComm; stays until the launch has ended
 *
 * Free with vg_data_free, which takes NULL. No function of data.c is safe in
 * several threads at a time.
 */
struct vg_data *vg_data_new(const char *comm);
void vg_data_free(struct vg_data *d);

/*
 * vg_data_p2p, vg_data_coll, vg_data_bcast - add what one work does on one channel
 * @stage: the works of a channel run in ascending order, those with the same
 *         number beside each other
 * @work:  ncclDevWorkP2p, ncclDevWorkColl or ncclDevWorkBcast; copied
 *
 * A work that nobody here can play makes the launch fail as vg_data_refuse.
 */
void vg_data_p2p(struct vg_data *d, int channel, unsigned stage, const char *work);
void vg_data_coll(struct vg_data *d, int channel, unsigned stage, struct vg_func f,
		  const char *work);
void vg_data_bcast(struct vg_data *d, int channel, unsigned stage, struct vg_func f,
		   const char *work);

// The launch fails, because of @what.
void vg_data_refuse(struct vg_data *d, const char *what);

enum vg_data_state {
	VG_DATA_WAITS, // for peers or for NCCL's proxy
	VG_DATA_MOVED,
	VG_DATA_ENDED,
	VG_DATA_FAILED,
};

// Go on as far as possible without waiting.
enum vg_data_state vg_data_run(struct vg_data *d);

// Why it failed, or for what it waits.
void vg_data_explain(const struct vg_data *d, char *out, size_t size);

// ---- slot.c: one end of a connection between a kernel and a peer

struct vg_end {
	char *conn; // ncclConnInfo; NULL: no connection
	char *buf, *fifo;
	uint64_t *head, *tail;
	uint64_t step;	// number of the next slot
	uint64_t steps; // slots that are filled or emptied at once
	size_t step_size;
	bool send;
};

/*
 * vg_end_open - begin where the kernel before left off
 * @chunk_steps: a chunk begins at a multiple of that many slots
 *
 * Sets all but conn, send and steps. The functions return false, or NULL, if
 * memory of the connection is gone; ready means that the next slice may be
 * touched. The caller is between vg_mem_hold and vg_mem_release.
 */
bool vg_end_open(struct vg_end *e, uint64_t chunk_steps);
bool vg_end_mapped(const struct vg_end *e);
bool vg_end_ready(const struct vg_end *e);
char *vg_end_slot(const struct vg_end *e, size_t bytes);
void vg_end_post(struct vg_end *e, size_t bytes);
void vg_end_close(const struct vg_end *e);

// ---- rdv.c: where the ranks of a communicator meet

struct vg_rdv;

// NULL (logged) when the shared file cannot be had. Lives as long as the
// process.
struct vg_rdv *vg_rdv_get(uint64_t comm, int rank, int nranks);
uint64_t vg_rdv_next(struct vg_rdv *r); // number of this rank's next collective
void vg_rdv_publish(const struct vg_launch *l, uint64_t start);

// true: all ranks launched the same, *end is set; false: not, or not yet.
bool vg_rdv_poll(const struct vg_launch *l, uint64_t *end);

// Who launched what, as text; false: this process already said it.
bool vg_rdv_explain(const struct vg_launch *l, char *out, size_t size);

// ---- agent.c: the GPU's end of network connections

// Note the connections of one channel, peers is ncclDevChannelPeer *[npeers].
void vg_agent_scan(char *const *peers, int npeers, const int slot_size[2]);

// ---- driver.c

// The driver function of that name, or a stub as vg_stub makes them.
void (*vg_driver(const char *name))(void);
int vg_launch_on(const void *func, unsigned grid, void *stream, void **params, void **extra);

#endif
