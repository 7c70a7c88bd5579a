// SPDX-License-Identifier: MIT
#ifndef NB_MAP_RINGBUF_H
#define NB_MAP_RINGBUF_H

#include <stddef.h>
#include <stdint.h>

#include "core/map/map.h"

/*
 * BPF_MAP_TYPE_RINGBUF: records of any size, in the order in which they were
 * reserved. Programs write, the management side reads. @m is always a map of
 * that type. Positions count bytes from the map's beginning and never wrap.
 * Source: kernel/bpf/ringbuf.c, bpf-helpers(7).
 */

/* Flags of submit, discard and output; nobody sleeps here, so they are only
 * checked. */
enum { NB_RB_NO_WAKEUP = 1, NB_RB_FORCE_WAKEUP = 2 };
/* Flags of query. */
enum { NB_RB_AVAIL, NB_RB_SIZE, NB_RB_CONS_POS, NB_RB_PROD_POS };

/*
 * A record's header, right before its bytes: the size in the lower bits of its
 * first word, and whether it is complete. Machine code submits and discards by
 * these: it takes the busy bit away, with release.
 */
enum { NB_RINGBUF_HEADER = 8 };
#define NB_RINGBUF_BUSY (UINT32_C(1) << 31)
#define NB_RINGBUF_DISCARD (UINT32_C(1) << 30)

/*
 * nb_ringbuf_reserve - room for one record of @size bytes, or NULL
 *
 * NULL: the ring has no room for it, or it never will, or so many others
 * reserved at once that giving up was better. The bytes are what earlier
 * records left there; 8-byte aligned. The caller alone uses them until submit
 * or discard, one of which must come: until then readers stop before this
 * record, and a ring that fills up behind it takes no more, as in the kernel.
 * Any thread, no lock.
 */
void *nb_ringbuf_reserve(struct nb_map *m, uint64_t size);
/* The record is complete, or shall never be seen; @sample is not used again. */
void nb_ringbuf_submit(void *sample, uint64_t flags);
void nb_ringbuf_discard(void *sample, uint64_t flags);

/* All three at once. 0, -EINVAL (flags), -EAGAIN (no room). */
int64_t nb_ringbuf_output(struct nb_map *m, const void *data, uint64_t size,
			  uint64_t flags);

/* Bytes not yet read with their headers, the size, a position; 0 for other
 * @flags. */
uint64_t nb_ringbuf_query(const struct nb_map *m, uint64_t flags);

/* Records that were not to be had for want of room, since the map was made. */
uint64_t nb_ringbuf_dropped(const struct nb_map *m);

/*
 * nb_ringbuf_read - take the oldest record out
 * @to:   @room bytes, gets the record
 * @size: its size; set for -ENOSPC as well
 *
 * 0, -EAGAIN (nothing complete yet, or another thread is reading), -ENOSPC
 * (the record is larger than @room, and stays). Discarded ones are skipped.
 * Any thread; never on a decision path.
 */
int nb_ringbuf_read(struct nb_map *m, void *to, size_t room, size_t *size);

/*
 * nb_ringbuf_peek - the first complete record from position *@at on
 * @at:   0 for the oldest; then the position behind the record
 * @pos:  where the record begins; may be NULL
 *
 * The record stays. Results as nb_ringbuf_read; a position that readers have
 * passed means the oldest record, one inside a record is an error (-EAGAIN).
 */
int nb_ringbuf_peek(struct nb_map *m, uint64_t *at, uint64_t *pos, void *to,
		    size_t room, size_t *size);

#endif
