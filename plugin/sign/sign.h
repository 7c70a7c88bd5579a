// SPDX-License-Identifier: MIT
#ifndef NB_SIGN_SIGN_H
#define NB_SIGN_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * Signatures of policy images: Ed25519 over the image's digest, made with
 * libsodium. Keys and signatures are lines of text, and # begins a comment.
 *
 * - "ncclbpf-secret-key NAME BASE64": the seed, alone in a file of mode 600
 * - "ncclbpf-public-key NAME BASE64": one line for each key of a list
 * - "ncclbpf-signature DIGEST ID BASE64": ID of the key, see nb_sign_key
 */
enum {
	NB_SIGN_NAME = 64, /* length limit of a key's name */
	NB_SIGN_KEYS = 64, /* largest number of keys in a list */
	NB_SIGN_MOST = 16, /* largest number of signatures of one image */
	NB_SIGN_FILE = 64 << 10
};

/* A public key. @id: the first 16 hexadecimal digits of the key's SHA-256 */
struct nb_sign_key {
	char name[NB_SIGN_NAME + 1];
	char id[17];
	uint8_t key[32];
};

struct nb_sign_keys {
	size_t n;
	struct nb_sign_key at[NB_SIGN_KEYS];
};

enum nb_sign_state {
	NB_SIGN_GOOD,
	NB_SIGN_UNKNOWN, /* the list does not have the signature's key */
	NB_SIGN_BAD,	 /* the image or the signature was changed */
	NB_SIGN_OTHER,	 /* the signature belongs to another image */
	NB_SIGN_DAMAGED	 /* the line does not have the form of a signature */
};

/*
 * One signature. @name: name of its key, "" if the list does not have the key
 */
struct nb_sign_found {
	enum nb_sign_state state;
	char id[17], name[NB_SIGN_NAME + 1];
};

const char *nb_sign_state_word(enum nb_sign_state s);

/*
 * nb_sign_keygen - create a key pair
 * @path: file for the secret key, which must not exist
 * @public: the line of the public key is appended
 *
 * Returns 0, NB_E_ARG (the name), NB_E_EXISTS or NB_E_IO.
 */
int nb_sign_keygen(const char *name, const char *path, struct nb_buf *public,
		   struct nb_err *err);
/*
 * nb_sign_image - sign an image and append the signature as a line to @line
 * @path: file of the secret key, which only its owner may read
 * @digest: digest of the image, 64 hexadecimal digits
 * @who: set to name and ID of the key that signed
 *
 * Returns 0, NB_E_ARG, NB_E_NOINPUT, NB_E_PERM (others may read the file) or
 * NB_E_FORMAT.
 */
int nb_sign_image(const char *path, const char *digest, struct nb_buf *line,
		  struct nb_sign_found *who, struct nb_err *err);

/* Parse a list of public keys. Returns 0, NB_E_FORMAT or NB_E_LIMIT. */
int nb_sign_keys_parse(struct nb_sign_keys *out, const char *text, size_t size,
		       struct nb_err *err);
/* Read a list of public keys from a file. Returns also NB_E_NOINPUT. */
int nb_sign_keys_read(struct nb_sign_keys *out, const char *path,
		      struct nb_err *err);

/*
 * Check each signature in @text for the image @digest. Returns their number,
 * NB_SIGN_MOST at most.
 */
size_t nb_sign_find(const struct nb_sign_keys *keys, const char *text,
		    size_t size, const char *digest,
		    struct nb_sign_found out[NB_SIGN_MOST]);
/*
 * Returns 0 if one of the signatures in @text is valid for the image, or
 * NB_E_PERM; @err then says what is wrong with each signature.
 */
int nb_sign_check(const struct nb_sign_keys *keys, const char *text,
		  size_t size, const char *digest, struct nb_err *err);

#endif
