// SPDX-License-Identifier: MIT
#ifndef NB_MAP_RINGBUF_H
#define NB_MAP_RINGBUF_H

#include <stddef.h>
#include <stdint.h>

#include "core/bpf/map/map.h"

/*
 * BPF_MAP_TYPE_RINGBUF: records of any size, in the order in which they were
 * reserved. Programs write, the management side reads. @m is always a map of
 * that type. Positions count bytes from the map's beginning and never wrap.
 * Source: kernel/bpf/ringbuf.c, bpf-helpers(7).
 */

/* Flags of submit, discard and output. They are checked and have no effect:
 * no reader sleeps here. */
enum { NB_RB_NO_WAKEUP = 1, NB_RB_FORCE_WAKEUP = 2 };
/* The values that nb_ringbuf_query returns, by flag */
enum { NB_RB_AVAIL, NB_RB_SIZE, NB_RB_CONS_POS, NB_RB_PROD_POS };

/*
 * A record's header lies right before its bytes. The first word has the size in
 * its lower bits and the two flags below. Machine code submits or discards a
 * record by clearing the busy bit with release order.
 */
enum { NB_RINGBUF_HEADER = 8 };
#define NB_RINGBUF_BUSY (UINT32_C(1) << 31)
#define NB_RINGBUF_DISCARD (UINT32_C(1) << 30)

/*
 * nb_ringbuf_reserve - reserve room for one record of @size bytes
 *
 * Returns NULL if the ring has no room now, if the record is larger than the
 * ring, or if too many threads reserve at once. The bytes are 8-byte aligned
 * and not initialised. They belong to the caller until submit or discard. The
 * caller must call one of them: until then readers stop before this record, as
 * in the kernel. Any thread, no lock.
 */
void *nb_ringbuf_reserve(struct nb_map *m, uint64_t size);
/* Publish the record, or drop it. The caller must not use @sample again. */
void nb_ringbuf_submit(void *sample, uint64_t flags);
void nb_ringbuf_discard(void *sample, uint64_t flags);

/* Reserve a record, copy @data into it, and submit it. Returns 0, -EINVAL
 * (flags) or -EAGAIN (no room). */
int64_t nb_ringbuf_output(struct nb_map *m, const void *data, uint64_t size, uint64_t flags);

/* Return the unread bytes with their headers, the ring's size or a
 * position, depending on @flags; 0 for unknown flags. */
uint64_t nb_ringbuf_query(const struct nb_map *m, uint64_t flags);

/* Return the number of reservations that failed for lack of room since the
 * map was created. */
uint64_t nb_ringbuf_dropped(const struct nb_map *m);

/*
 * nb_ringbuf_read - take the oldest record out
 * @to:   @room bytes, gets the record
 * @size: gets the record's size, also for -ENOSPC
 *
 * Returns 0, -EAGAIN (no complete record yet, or another thread is reading) or
 * -ENOSPC (the record is larger than @room, and stays). Discarded records are
 * skipped. Any thread; never on a decision path.
 */
int nb_ringbuf_read(struct nb_map *m, void *to, size_t room, size_t *size);

/*
 * nb_ringbuf_peek - copy the first complete record from position *@at on
 * @at:   0 for the oldest; set to the position after the record
 * @pos:  set to the record's position; may be NULL
 *
 * The record stays in the ring. Results are those of nb_ringbuf_read. A
 * position before the oldest record means the oldest; a position inside a
 * record is -EAGAIN.
 */
int nb_ringbuf_peek(struct nb_map *m, uint64_t *at, uint64_t *pos, void *to, size_t room,
		    size_t *size);

#endif
