// SPDX-License-Identifier: MIT
#ifndef NB_CORE_BASE_FILE_LIMIT_H
#define NB_CORE_BASE_FILE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * nb_past_file_limit - would a write end the process by SIGXFSZ?
 * @at: offset in the file, in bytes
 * @size: number of bytes
 *
 * Returns true if the process may not write there (RLIMIT_FSIZE). A job does
 * not replace the application's action for SIGXFSZ. Any thread may call it.
 */
bool nb_past_file_limit(off_t at, size_t size);

#endif
