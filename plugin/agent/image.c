// SPDX-License-Identifier: MIT
/*
 * Images in the store. The key image/DIGEST holds the first piece of an image,
 * and image/DIGEST/N holds piece N, from 2 on. The image is complete when its
 * bytes have that digest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "plugin/agent/agent.h"

enum { MOST = 64 << 20, PIECES = 4096 };

struct image {
	struct nb_agent *a;
	char digest[65];
	unsigned pieces; /* number of the image's pieces read so far */
	char *bytes;
	size_t size;
	struct nb_sha256 hash; /* hash of the bytes read so far */
	nb_image_done_fn *done;
	void *arg;
};

static void image_end(struct image *i, const struct nb_err *err)
{
	if (err) {
		free(i->bytes);
		i->bytes = NULL;
		i->size = 0;
	}
	i->done(i->arg, i->bytes, i->size, err);
	free(i);
}

static bool image_append(struct image *i, const struct nb_store_kv *kv,
			 struct nb_err *err)
{
	char *p;

	if (i->size + kv->size > MOST || i->pieces == PIECES) {
		nb_fail(err, NB_E_LIMIT, 0,
			"image %.8s in the store has more than %d MiB or %d pieces",
			i->digest, MOST >> 20, PIECES);
		return false;
	}
	p = realloc(i->bytes, i->size + kv->size);
	if (!p) {
		nb_fail(err, NB_E_NOMEM, 0, "no memory for image %.8s",
			i->digest);
		return false;
	}
	memcpy(p + i->size, kv->value, kv->size);
	nb_sha256_add(&i->hash, kv->value, kv->size);
	i->bytes = p;
	i->size += kv->size;
	i->pieces++;
	return true;
}

/*
 * Returns true if the bytes so far have the image's digest. Each byte is hashed
 * only once, even if a damaged image has many pieces.
 */
static bool is_whole(const struct image *i)
{
	struct nb_sha256 hash = i->hash;
	uint8_t digest[NB_SHA256_SIZE];
	char text[65];

	nb_sha256_end(&hash, digest);
	nb_sha256_text(digest, text);
	return !strcmp(text, i->digest);
}

static int next_piece(struct image *i, struct nb_err *err);

static void piece_came(void *arg, const struct nb_store_reply *r)
{
	struct image *i = arg;
	struct nb_err err = { .code = 0 };

	if (r->err) {
		image_end(i, r->err);
		return;
	}
	if (!r->nkv || !r->kv[0].size) {
		nb_fail(&err, NB_E_NOENT, 0,
			!i->pieces ? "the store has no image %.8s"
				   : "image %.8s in the store is damaged: "
				     "the %u pieces have another digest",
			i->digest, i->pieces);
		image_end(i, &err);
		return;
	}
	if (image_append(i, &r->kv[0], &err) && is_whole(i))
		image_end(i, NULL);
	else if (err.code || next_piece(i, &err))
		image_end(i, &err);
}

static int next_piece(struct image *i, struct nb_err *err)
{
	char key[96];

	snprintf(key, sizeof(key), "image/%s", i->digest);
	if (i->pieces)
		snprintf(key, sizeof(key), "image/%s/%u", i->digest,
			 i->pieces + 1);
	return nb_store_get(i->a->store, nb_agent_key(i->a, key), piece_came, i,
			    err);
}

int nb_image_fetch(struct nb_agent *a, const char *digest,
		   nb_image_done_fn *done, void *arg, struct nb_err *err)
{
	struct image *i = calloc(1, sizeof(*i));
	int rc;

	if (!i)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory");
	i->a = a;
	i->done = done;
	i->arg = arg;
	nb_sha256_init(&i->hash);
	snprintf(i->digest, sizeof(i->digest), "%s", digest);
	rc = next_piece(i, err);
	if (rc)
		free(i);
	return rc;
}
