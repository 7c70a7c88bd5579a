// SPDX-License-Identifier: MIT
#ifndef NB_SIGN_SIGN_H
#define NB_SIGN_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * Signatures of policy images: Ed25519 over the image's digest, by libsodium.
 * Keys and signatures are lines of text; # begins a comment:
 *
 *	ncclbpf-secret-key NAME BASE64      the seed, alone in a file of mode
 *600 ncclbpf-public-key NAME BASE64      a list of keys has one line each
 *	ncclbpf-signature DIGEST ID BASE64  ID: of the key, see nb_sign_key
 */
enum {
	NB_SIGN_NAME = 64, /* longest name of a key */
	NB_SIGN_KEYS = 64, /* most keys of a list */
	NB_SIGN_MOST = 16, /* most signatures of an image */
	NB_SIGN_FILE = 64 << 10
};

/* @id: 16 hexadecimal digits, the beginning of the public key's SHA-256 */
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
	NB_SIGN_UNKNOWN, /* its key is not in the list */
	NB_SIGN_BAD,	 /* the image or the signature was changed */
	NB_SIGN_OTHER,	 /* it is a signature of another image */
	NB_SIGN_DAMAGED	 /* the line is no signature */
};

/* One signature: @name of its key, "" if the list does not have it. */
struct nb_sign_found {
	enum nb_sign_state state;
	char id[17], name[NB_SIGN_NAME + 1];
};

const char *nb_sign_state_word(enum nb_sign_state s);

/*
 * nb_sign_keygen - make a key pair
 * @path:   the file of the secret key, which must not exist
 * @public: the line of the public key is appended
 *
 * 0, NB_E_ARG (the name), NB_E_EXISTS, NB_E_IO.
 */
int nb_sign_keygen(const char *name, const char *path, struct nb_buf *public,
		   struct nb_err *err);
/*
 * nb_sign_image - append the line of a signature
 * @path:   the file of the secret key, which its owner alone may read
 * @digest: of the image, 64 hexadecimal digits
 * @who:    what the signature's readers find
 *
 * 0, NB_E_ARG, NB_E_NOINPUT, NB_E_PERM (others may read it), NB_E_FORMAT.
 */
int nb_sign_image(const char *path, const char *digest, struct nb_buf *line,
		  struct nb_sign_found *who, struct nb_err *err);

/* Read a list of public keys. 0, NB_E_FORMAT, NB_E_LIMIT. */
int nb_sign_keys_parse(struct nb_sign_keys *out, const char *text, size_t size,
		       struct nb_err *err);
/* The same from a file; also NB_E_NOINPUT. */
int nb_sign_keys_read(struct nb_sign_keys *out, const char *path,
		      struct nb_err *err);

/* What the signatures in @text are worth for the image @digest. Returns their
 * number, at most NB_SIGN_MOST. */
size_t nb_sign_find(const struct nb_sign_keys *keys, const char *text,
		    size_t size, const char *digest,
		    struct nb_sign_found out[NB_SIGN_MOST]);
/* Is one of the signatures in @text good? 0, or NB_E_PERM: @err says what is
 * wrong with each of them. */
int nb_sign_check(const struct nb_sign_keys *keys, const char *text,
		  size_t size, const char *digest, struct nb_err *err);

#endif
