// SPDX-License-Identifier: MIT
#ifndef NB_LOAD_OBJECT_H
#define NB_LOAD_OBJECT_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * nb_object_image - turn a BPF object file into a policy image
 * @bytes: @size untrusted bytes of an ELF object compiled for BPF
 * @name:  the policy's name (letters, digits, _ - .; at most 63 bytes)
 * @out:   gets the image's bytes; unchanged on failure
 *
 * Returns 0, NB_E_ARG (the name), NB_E_ELF, NB_E_BTF, NB_E_RELOC, NB_E_SYMBOL,
 * NB_E_MAPDEF, NB_E_HOOK, NB_E_INSN, NB_E_IMAGE (a name in the object that an
 * image cannot have), NB_E_LIMIT, NB_E_NOTSUP or NB_E_NOMEM; err->at is the
 * file offset, or the slot for NB_E_INSN. Reads only through libelf and
 * libbpf's open-time functions, and asks no kernel. Not for the plugin itself.
 * Threads: one call at a time (libbpf's log callback is process-wide).
 */
int nb_object_image(struct nb_buf *out, const void *bytes, size_t size, const char *name,
		    struct nb_err *err);

/* The entry point of libncclbpf-load.so, which the plugin opens by its
 * path. The image is returned in malloc'ed memory that the caller frees. */
#define NB_LOAD_ENTRY "ncclbpf_load_object"
typedef int nb_load_entry_fn(const void *bytes, size_t size, const char *name, void **image,
			     size_t *image_size, struct nb_err *err);

#endif
