// SPDX-License-Identifier: MIT
#ifndef NB_BASE_UTC_H
#define NB_BASE_UTC_H

#include <stdint.h>

enum { NB_UTC_TEXT = 64 };

/*
 * nb_utc_text - write a time as text, "2026-01-31T12:00:00.123Z"
 * @ns:     nanoseconds since 1970
 * @digits: of the fraction of a second, 0 to 9
 *
 * Unlike gmtime_r and strftime it takes no lock and does not read the
 * environment, which the application may be changing. Returns @text.
 */
const char *nb_utc_text(char text[NB_UTC_TEXT], uint64_t ns, unsigned digits);

#endif
