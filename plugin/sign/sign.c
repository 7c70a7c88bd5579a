// SPDX-License-Identifier: MIT
/*
 * Ed25519 signatures of policy images. The signed message begins with its
 * purpose, so that a signature of something else is not valid for an image.
 */
#include "plugin/sign/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "core/base/sha256.h"

#define SECRET "ncclbpf-secret-key"
#define PUBLIC "ncclbpf-public-key"
#define SIGNATURE "ncclbpf-signature"
#define PURPOSE "ncclbpf policy image "

enum {
	DIGEST = 64,
	MESSAGE = sizeof(PURPOSE) - 1 + DIGEST,
	SEED = crypto_sign_SEEDBYTES,
	KEY = crypto_sign_PUBLICKEYBYTES,
	SIGNED = crypto_sign_BYTES,
	TEXT = 96 /* base64 of 64 bytes, including its NUL */
};

static const char *const words[] = { [NB_SIGN_GOOD] = "good",
				     [NB_SIGN_UNKNOWN] = "unknown_key",
				     [NB_SIGN_BAD] = "bad",
				     [NB_SIGN_OTHER] = "other_image",
				     [NB_SIGN_DAMAGED] = "damaged" };

const char *nb_sign_state_word(enum nb_sign_state s)
{
	return words[s];
}

static int sodium_start(struct nb_err *err)
{
	return sodium_init() < 0
		       ? nb_fail(err, NB_E_IO, 0, "libsodium does not start")
		       : 0;
}

/*
 * Copy the next line that is neither empty nor a comment to @line. Returns
 * false if there is none. A line that is too long is made invalid, so that its
 * parser refuses it.
 */
static bool next_line(const char **text, size_t *size, char line[256])
{
	while (*size) {
		const char *lf = memchr(*text, '\n', *size);
		size_t n = lf ? (size_t)(lf - *text) : *size;
		size_t room = n < 255 ? n : 255;

		memcpy(line, *text, room);
		line[room] = '\0';
		*text += lf ? n + 1 : n;
		*size -= lf ? n + 1 : n;
		if (strlen(line) != room || n > 255)
			/*
			 * the line has a zero byte or is too long, so make it
			 * invalid
			 */
			line[0] = '?';
		if (*line && *line != '#')
			return true;
	}
	return false;
}

static bool from_base64(const char *text, uint8_t *to, size_t size)
{
	size_t n = 0;
	const char *end = NULL;

	return !sodium_base642bin(to, size, text, strlen(text), NULL, &n, &end,
				  sodium_base64_VARIANT_ORIGINAL) &&
	       n == size && !*end;
}

static void to_base64(char text[TEXT], const uint8_t *from, size_t size)
{
	sodium_bin2base64(text, TEXT, from, size,
			  sodium_base64_VARIANT_ORIGINAL);
}

static bool is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-");

	return n && n <= NB_SIGN_NAME && !name[n];
}

static bool is_digest(const char *text)
{
	return strspn(text, "0123456789abcdef") == DIGEST && !text[DIGEST];
}

static void key_id(const uint8_t key[KEY], char id[17])
{
	uint8_t digest[NB_SHA256_SIZE];
	char text[65];

	nb_sha256(key, KEY, digest);
	nb_sha256_text(digest, text);
	snprintf(id, 17, "%.16s", text);
}

static void message_of(const char *digest, char message[MESSAGE + 1])
{
	snprintf(message, MESSAGE + 1, PURPOSE "%s", digest);
}

/*
 * Read a key file. The caller frees @out. @secret: refuse a file that others
 * may read
 */
static int read_file(const char *path, bool secret, struct nb_buf *out,
		     struct nb_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char part[4096];
	ssize_t n = 0;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		rc = nb_fail(err, NB_E_NOINPUT, 0, "%.200s: %s", path,
			     fd < 0 ? strerror(errno) : "not a file");
	else if (secret && st.st_mode & 077)
		rc = nb_fail(
			err, NB_E_PERM, 0,
			"%.200s: a secret key must be readable by its owner alone (mode 600)",
			path);
	while (!rc && (n = read(fd, part, sizeof(part))) > 0)
		nb_buf_bytes(out, part, (size_t)n);
	sodium_memzero(part, sizeof(part));
	if (!rc && n < 0)
		rc = nb_fail(err, NB_E_NOINPUT, 0, "%.200s: %s", path,
			     strerror(errno));
	if (!rc && !nb_buf_ok(out))
		rc = nb_fail(err, NB_E_LIMIT, 0, "%.200s: more than %d bytes",
			     path, NB_SIGN_FILE);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int write_secret(const char *path, const char *line, struct nb_err *err)
{
	size_t size = strlen(line);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool done;

	if (fd < 0)
		return nb_fail(err, errno == EEXIST ? NB_E_EXISTS : NB_E_IO, 0,
			       "%.200s: %s", path, strerror(errno));
	done = write(fd, line, size) == (ssize_t)size && !fsync(fd);
	if (!done)
		nb_fail(err, NB_E_IO, 0, "%.200s: %s", path, strerror(errno));
	close(fd);
	if (!done)
		unlink(path);
	return done ? 0 : NB_E_IO;
}

int nb_sign_keygen(const char *name, const char *path, struct nb_buf *public,
		   struct nb_err *err)
{
	uint8_t key[KEY], secret[crypto_sign_SECRETKEYBYTES], seed[SEED];
	char line[256], text[TEXT];
	int rc = sodium_start(err);

	if (rc)
		return rc;
	if (!is_name(name))
		return nb_fail(
			err, NB_E_ARG, 0,
			"%.80s is not a key name (allowed: 1 to %d letters, digits and _ . @ -)",
			name, NB_SIGN_NAME);
	randombytes_buf(seed, sizeof(seed));
	crypto_sign_seed_keypair(key, secret, seed);
	to_base64(text, seed, SEED);
	snprintf(line, sizeof(line), SECRET " %s %s\n", name, text);
	rc = write_secret(path, line, err);
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(line, sizeof(line));
	to_base64(text, key, KEY);
	if (!rc)
		nb_buf_printf(public, PUBLIC " %s %s\n", name, text);
	sodium_memzero(text, sizeof(text));
	return rc;
}

/* Parse a key line, which has two words and the base64 form of 32 bytes. */
static bool parse_key(const char *line, const char *kind,
		      char name[NB_SIGN_NAME + 1], uint8_t to[KEY])
{
	char first[32], text[TEXT], rest[2];
	int n = sscanf(line, "%31s %64s %95s %1s", first, name, text, rest);

	return n == 3 && !strcmp(first, kind) && is_name(name) &&
	       from_base64(text, to, KEY);
}

int nb_sign_keys_parse(struct nb_sign_keys *out, const char *text, size_t size,
		       struct nb_err *err)
{
	char line[256];

	out->n = 0;
	while (next_line(&text, &size, line)) {
		struct nb_sign_key *k = &out->at[out->n];

		if (out->n == NB_SIGN_KEYS)
			return nb_fail(err, NB_E_LIMIT, 0,
				       "more than %d keys in the list",
				       NB_SIGN_KEYS);
		if (!parse_key(line, PUBLIC, k->name, k->key))
			return nb_fail(
				err, NB_E_FORMAT, 0,
				"key %zu of the list is not a key (allowed: " PUBLIC
				" NAME BASE64)",
				out->n + 1);
		key_id(k->key, k->id);
		out->n++;
	}
	return 0;
}

int nb_sign_keys_read(struct nb_sign_keys *out, const char *path,
		      struct nb_err *err)
{
	struct nb_err inner = { .code = 0 };
	struct nb_buf text;
	int rc;

	out->n = 0;
	nb_buf_init(&text, NB_SIGN_FILE);
	rc = read_file(path, false, &text, err);
	if (!rc) {
		rc = nb_sign_keys_parse(out, nb_buf_text(&text), text.size,
					&inner);
		if (rc)
			nb_fail(err, rc, 0, "%.150s: %s", path, inner.text);
	}
	nb_buf_fini(&text);
	return rc;
}

int nb_sign_image(const char *path, const char *digest, struct nb_buf *line,
		  struct nb_sign_found *who, struct nb_err *err)
{
	uint8_t seed[SEED], key[KEY], secret[crypto_sign_SECRETKEYBYTES],
		sig[SIGNED];
	char message[MESSAGE + 1], text[TEXT], first[256];
	struct nb_buf file;
	const char *p;
	size_t size;
	int rc = sodium_start(err);

	if (rc)
		return rc;
	if (!is_digest(digest))
		return nb_fail(err, NB_E_ARG, 0, "no digest of an image");
	nb_buf_init(&file, NB_SIGN_FILE);
	rc = read_file(path, true, &file, err);
	p = nb_buf_text(&file);
	size = file.size;
	if (!rc && (!next_line(&p, &size, first) ||
		    !parse_key(first, SECRET, who->name, seed)))
		rc = nb_fail(
			err, NB_E_FORMAT, 0,
			"%.200s is not a secret key (policy keygen makes one)",
			path);
	if (!rc) {
		crypto_sign_seed_keypair(key, secret, seed);
		message_of(digest, message);
		crypto_sign_detached(sig, NULL, (const uint8_t *)message,
				     MESSAGE, secret);
		key_id(key, who->id);
		who->state = NB_SIGN_GOOD;
		to_base64(text, sig, SIGNED);
		nb_buf_printf(line, SIGNATURE " %s %s %s\n", digest, who->id,
			      text);
	}
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(first, sizeof(first));
	if (file.data)
		sodium_memzero(file.data, file.size);
	nb_buf_fini(&file);
	return rc;
}

static const struct nb_sign_key *key_of(const struct nb_sign_keys *keys,
					const char *id)
{
	for (size_t i = 0; i < keys->n; i++)
		if (!strcmp(keys->at[i].id, id))
			return &keys->at[i];
	return NULL;
}

static void judge(const struct nb_sign_keys *keys, const char *line,
		  const char *digest, struct nb_sign_found *out)
{
	char first[32], of[DIGEST + 1], text[TEXT], rest[2];
	char message[MESSAGE + 1];
	const struct nb_sign_key *k;
	uint8_t sig[SIGNED];

	*out = (struct nb_sign_found){ .state = NB_SIGN_DAMAGED };
	if (sscanf(line, "%31s %64s %16s %95s %1s", first, of, out->id, text,
		   rest) != 4 ||
	    strcmp(first, SIGNATURE) || !is_digest(of) ||
	    strspn(out->id, "0123456789abcdef") != 16 ||
	    !from_base64(text, sig, SIGNED)) {
		out->id[0] = '\0';
		return;
	}
	k = key_of(keys, out->id);
	if (k)
		snprintf(out->name, sizeof(out->name), "%s", k->name);
	message_of(digest, message);
	if (strcmp(of, digest))
		out->state = NB_SIGN_OTHER;
	else if (!k)
		out->state = NB_SIGN_UNKNOWN;
	else if (crypto_sign_verify_detached(sig, (const uint8_t *)message,
					     MESSAGE, k->key))
		out->state = NB_SIGN_BAD;
	else
		out->state = NB_SIGN_GOOD;
}

size_t nb_sign_find(const struct nb_sign_keys *keys, const char *text,
		    size_t size, const char *digest,
		    struct nb_sign_found out[NB_SIGN_MOST])
{
	char line[256];
	size_t n = 0;

	if (!is_digest(digest) || sodium_start(NULL))
		return 0;
	while (n < NB_SIGN_MOST && next_line(&text, &size, line))
		judge(keys, line, digest, &out[n++]);
	return n;
}

int nb_sign_check(const struct nb_sign_keys *keys, const char *text,
		  size_t size, const char *digest, struct nb_err *err)
{
	struct nb_sign_found found[NB_SIGN_MOST];
	size_t n = nb_sign_find(keys, text, size, digest, found);
	const struct nb_sign_found *f = found;

	for (size_t i = 0; i < n; i++)
		if (found[i].state == NB_SIGN_GOOD)
			return 0;
	if (!n)
		return nb_fail(err, NB_E_PERM, 0, "image %.8s has no signature",
			       digest);
	switch (f->state) {
	case NB_SIGN_UNKNOWN:
		return nb_fail(
			err, NB_E_PERM, 0,
			"image %.8s is signed by key %s, which is not in the list of keys",
			digest, f->id);
	case NB_SIGN_BAD:
		return nb_fail(err, NB_E_PERM, 0,
			       "the signature of %s for image %.8s is wrong: "
			       "image or signature was changed",
			       f->name, digest);
	case NB_SIGN_OTHER:
		return nb_fail(
			err, NB_E_PERM, 0,
			"the signature of key %s belongs to another image than %.8s",
			f->id, digest);
	case NB_SIGN_DAMAGED:
	case NB_SIGN_GOOD:
		break;
	}
	return nb_fail(err, NB_E_PERM, 0,
		       "the signature of image %.8s is damaged", digest);
}
