// SPDX-License-Identifier: MIT
#ifndef NB_MAP_HOST_H
#define NB_MAP_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/map/map.h"

/*
 * Host maps: read-only arrays whose memory another process or the kernel
 * writes. A host map has pages of its own at an address that never changes, so
 * compiled programs read it like any array. Detached, the pages are zeroes.
 * Attached, they are those of a descriptor: of a frozen BPF array with
 * BPF_F_MMAPABLE, or of a sealed memory file with the same layout (element i
 * at byte i * the value's size rounded up to 8). Programs may run on other
 * threads while a map is attached or detached; a program then reads old and new
 * elements.
 *
 * Writers keep the time of their last write in the first 8 bytes of a value:
 * nanoseconds of CLOCK_MONOTONIC (bpf_ktime_get_ns), 0: never. While a writer
 * changes several fields of a value, the time has the bit NB_HOST_WRITING. A
 * writer that dies meanwhile leaves it there.
 */
#define NB_HOST_WRITING (UINT64_C(1) << 63)

/*
 * nb_map_host_new - make a detached host map
 * @def: an array's definition
 *
 * *@out has one reference. The management side cannot write the map. A clone
 * (nb_map_clone) is an ordinary frozen array with a snapshot. Returns the
 * errors of nb_map_new.
 */
int nb_map_host_new(struct nb_map **out, const struct nb_map_def *def, struct nb_err *err);
bool nb_map_is_host(const struct nb_map *m);

/*
 * nb_map_host_attach - show the pages of descriptor @fd in host map @m
 *
 * @fd stays the caller's and may be closed afterwards. It takes milliseconds
 * for large maps. Returns 0; NB_E_ARG: the descriptor is not of an allowed
 * kind, not frozen or sealed, or its shape differs from the map's; NB_E_IO: the
 * kernel refuses to map it, to move it or to read one of its pages; NB_E_NOMEM;
 * NB_E_NOTSUP: @m is no host map. On failure the map keeps what it showed
 * before; if the kernel has no memory in the middle of the exchange, it is
 * detached. One attach or detach of a map at a time.
 */
int nb_map_host_attach(struct nb_map *m, int fd, struct nb_err *err);
/* Show zeroes again. Returns 0, NB_E_NOMEM (the map is unchanged) or
 * NB_E_NOTSUP. */
int nb_map_host_detach(struct nb_map *m, struct nb_err *err);

/* Is a descriptor attached? Any thread. */
bool nb_map_host_attached(const struct nb_map *m);
/*
 * Return the latest time of a write that any element has; 0 if none was
 * written. *@unfinished: number of elements with NB_HOST_WRITING, whose times
 * do not count. Any thread.
 */
uint64_t nb_map_host_written(const struct nb_map *m, uint32_t *unfinished);

#endif
