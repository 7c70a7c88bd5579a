// SPDX-License-Identifier: MIT
/*
 * Decodes replies of etcd. The bytes are not trusted, since a proxy, another
 * server or a newer etcd may have sent them. An absent field counts as zero. A
 * field of another type, or a number out of range, is an error.
 */
#include "plugin/store/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/json.h"
#include "plugin/store/base64.h"

/* State of decoding one reply. It keeps the first error. */
struct reader {
	struct nb_store_decoded *d;
	const char *endpoint;
	struct nb_err *err;
	int rc;
};

void nb_store_decoded_init(struct nb_store_decoded *d)
{
	memset(d, 0, sizeof(*d));
	nb_buf_init(&d->bytes, 0);
}

void nb_store_decoded_fini(struct nb_store_decoded *d)
{
	free(d->kv);
	nb_buf_fini(&d->bytes);
}

void nb_store_encode_user(struct nb_buf *out, const char *user, const char *password)
{
	struct nb_json j;

	nb_json_init(&j, out);
	nb_json_obj(&j);
	nb_json_kstr(&j, "name", user);
	nb_json_kstr(&j, "password", password);
	nb_json_end_obj(&j);
}

static void wrong(struct reader *r, const char *name, const char *allowed)
{
	if (!r->rc)
		r->rc = nb_fail(r->err, NB_E_PROTOCOL, 0,
				"%s: the reply is not etcd's: \"%s\" is not %s", r->endpoint, name,
				allowed);
}

static void decode_no_memory(struct reader *r)
{
	if (!r->rc)
		r->rc = nb_fail(r->err, NB_E_NOMEM, 0, "%s: no memory", r->endpoint);
}

/* Returns an object's member that is an object, or NULL if it is absent. */
static const json_t *object_in(struct reader *r, const json_t *in, const char *name)
{
	const json_t *v = json_object_get(in, name);

	if (v && !json_is_object(v)) {
		wrong(r, name, "an object");
		return NULL;
	}
	return v;
}

static const json_t *array_in(struct reader *r, const json_t *in, const char *name)
{
	const json_t *v = json_object_get(in, name);

	if (v && !json_is_array(v)) {
		wrong(r, name, "an array");
		return NULL;
	}
	return v;
}

static bool flag_in(struct reader *r, const json_t *in, const char *name)
{
	const json_t *v = json_object_get(in, name);

	if (v && !json_is_boolean(v))
		wrong(r, name, "true or false");
	return json_is_true(v);
}

/* Read a number that is written as a string of digits or as a JSON number. */
static int64_t number_in(struct reader *r, const json_t *in, const char *name)
{
	const json_t *v = json_object_get(in, name);
	const char *text = json_string_value(v);
	char *end;
	long long n;

	if (!v)
		return 0;
	if (json_is_integer(v) && json_integer_value(v) >= 0)
		return json_integer_value(v);
	if (!text || text[0] < '0' || text[0] > '9')
		goto fail;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || *end)
		goto fail;
	return n;
fail:
	wrong(r, name, "a 64-bit number");
	return 0;
}

/* Read a string, and cut it to @size - 1 bytes. */
static void text_in(struct reader *r, const json_t *in, const char *name, char *out, size_t size)
{
	const json_t *v = json_object_get(in, name);

	if (!v)
		return;
	if (!json_is_string(v)) {
		wrong(r, name, "a string");
		return;
	}
	strncpy(out, json_string_value(v), size - 1);
	out[size - 1] = '\0';
}

/* Read the token, which would be useless if it were cut. */
static void token_in(struct reader *r, const json_t *in)
{
	struct nb_store_decoded *d = r->d;

	text_in(r, in, "token", d->token, sizeof(d->token));
	if (!d->token[0])
		wrong(r, "token", "there");
	if (json_string_length(json_object_get(in, "token")) >= sizeof(d->token))
		wrong(r, "token", "4095 bytes or less");
}

/*
 * Decode a base64 member into the buffer. Returns its offset, because the
 * buffer may move while it grows.
 */
static size_t bytes_in(struct reader *r, const json_t *in, const char *name, size_t *size)
{
	const json_t *v = json_object_get(in, name);
	size_t at = r->d->bytes.size;

	*size = 0;
	if (v && !json_is_string(v))
		wrong(r, name, "a string");
	else if (v && nb_base64_get(&r->d->bytes, json_string_value(v), json_string_length(v)))
		wrong(r, name, "base64");
	*size = r->d->bytes.size - at;
	nb_buf_char(&r->d->bytes, '\0');
	if (!nb_buf_ok(&r->d->bytes))
		decode_no_memory(r);
	return at;
}

static void kv_in(struct reader *r, const json_t *v, unsigned op, bool deleted)
{
	struct nb_store_decoded *d = r->d;
	struct nb_store_kv *kv = &d->kv[d->nkv];

	if (!json_is_object(v)) {
		wrong(r, "kv", "an object");
		return;
	}
	memset(kv, 0, sizeof(*kv));
	/*
	 * The buffer d->bytes moves until the whole reply has been read. The
	 * fields hold offsets into it until then, and pointers afterwards.
	 */
	kv->key = (const char *)(uintptr_t)bytes_in(r, v, "key", &kv->key_size);
	kv->value = (const char *)(uintptr_t)bytes_in(r, v, "value", &kv->size);
	kv->create_revision = number_in(r, v, "create_revision");
	kv->mod_revision = number_in(r, v, "mod_revision");
	kv->lease = number_in(r, v, "lease");
	kv->op = op;
	kv->deleted = deleted;
	if (!r->rc && !kv->key_size)
		wrong(r, "key", "a key of one byte or more");
	d->nkv++;
}

static bool kv_room(struct reader *r, size_t more)
{
	struct nb_store_kv *p;

	if (!more)
		return true;
	p = realloc(r->d->kv, (r->d->nkv + more) * sizeof(*p));
	if (!p) {
		decode_no_memory(r);
		return false;
	}
	r->d->kv = p;
	return true;
}

static void range_in(struct reader *r, const json_t *range, unsigned op)
{
	const json_t *kvs = array_in(r, range, "kvs");
	uint64_t count = (uint64_t)number_in(r, range, "count");
	size_t n = json_array_size(kvs);

	if (!kv_room(r, n))
		return;
	for (size_t i = 0; i < n && !r->rc; i++)
		kv_in(r, json_array_get(kvs, i), op, false);
	if (count > n)
		r->d->reply.more += count - n;
}

static void txn_in(struct reader *r, const json_t *v)
{
	const json_t *list = array_in(r, v, "responses"), *range;

	r->d->reply.succeeded = flag_in(r, v, "succeeded");
	for (size_t i = 0; i < json_array_size(list) && !r->rc; i++) {
		const json_t *one = json_array_get(list, i);

		if (!json_is_object(one)) {
			wrong(r, "responses", "an array of objects");
			return;
		}
		range = object_in(r, one, "response_range");
		if (range)
			range_in(r, range, (unsigned)i);
	}
}

static void event_in(struct reader *r, const json_t *event)
{
	char type[16] = "PUT";
	const json_t *kv;

	if (!json_is_object(event)) {
		wrong(r, "events", "an array of objects");
		return;
	}
	text_in(r, event, "type", type, sizeof(type));
	kv = object_in(r, event, "kv");
	if (!kv || (strcmp(type, "PUT") != 0 && strcmp(type, "DELETE") != 0)) {
		wrong(r, "events", "an array of puts and deletes with \"kv\"");
		return;
	}
	kv_in(r, kv, 0, type[0] == 'D');
}

static void watch_in(struct reader *r, const json_t *v)
{
	struct nb_store_decoded *d = r->d;
	const json_t *events = array_in(r, v, "events");
	size_t n = json_array_size(events);

	d->cancelled = flag_in(r, v, "canceled");
	d->compacted = number_in(r, v, "compact_revision");
	text_in(r, v, "cancel_reason", d->reason, sizeof(d->reason));
	if (!kv_room(r, n))
		return;
	for (size_t i = 0; i < n && !r->rc; i++)
		event_in(r, json_array_get(events, i));
}

static void form_in(struct reader *r, enum nb_store_form form, const json_t *v)
{
	struct nb_store_decoded *d = r->d;
	const json_t *header = object_in(r, v, "header");

	d->reply.revision = number_in(r, header, "revision");
	if (!header)
		wrong(r, "header", "there");
	switch (form) {
	case NB_STORE_FORM_TXN:
		txn_in(r, v);
		break;
	case NB_STORE_FORM_LEASE:
	case NB_STORE_FORM_KEEPALIVE:
		d->reply.lease = number_in(r, v, "ID");
		d->reply.ttl_s = number_in(r, v, "TTL");
		break;
	case NB_STORE_FORM_WATCH:
		watch_in(r, v);
		break;
	case NB_STORE_FORM_AUTH:
		token_in(r, v);
		break;
	}
}

/* Turn offsets into pointers, now that the buffer no longer moves. */
static void point(struct nb_store_decoded *d)
{
	for (size_t i = 0; i < d->nkv; i++) {
		d->kv[i].key = d->bytes.data + (uintptr_t)d->kv[i].key;
		d->kv[i].value = d->bytes.data + (uintptr_t)d->kv[i].value;
	}
	d->reply.kv = d->kv;
	d->reply.nkv = d->nkv;
}

int nb_store_decode(struct nb_store_decoded *d, enum nb_store_form form, const char *text,
		    size_t size, const char *endpoint, struct nb_err *err)
{
	struct reader r = { .d = d, .endpoint = endpoint, .err = err };
	json_error_t why;
	json_t *v = json_loadb(text, size, JSON_ALLOW_NUL, &why);
	const json_t *in = v;

	if (!json_is_object(v)) {
		r.rc = nb_fail(err, NB_E_PROTOCOL, 0, "%s: the reply is not etcd's: %s", endpoint,
			       v ? "not a JSON object" : why.text);
	} else {
		if (form == NB_STORE_FORM_WATCH || form == NB_STORE_FORM_KEEPALIVE)
			in = object_in(&r, v, "result");
		if (!in)
			wrong(&r, "result", "there");
		else
			form_in(&r, form, in);
	}
	json_decref(v);
	if (!r.rc)
		point(d);
	return r.rc;
}

static int grpc_code(int grpc, const char *text)
{
	switch (grpc) {
	case NB_STORE_GRPC_INVALID:
		return strstr(text, "too large")			   ? NB_E_LIMIT
		       : strstr(text, "auth") || strstr(text, "user name") ? NB_E_PERM
									   : NB_E_ARG;
	case NB_STORE_GRPC_DEADLINE:
		return NB_E_TIMEOUT;
	case NB_STORE_GRPC_NOT_FOUND:
		return NB_E_NOENT;
	case NB_STORE_GRPC_DENIED:
	case NB_STORE_GRPC_UNAUTHENTICATED:
		return NB_E_PERM;
	case NB_STORE_GRPC_EXHAUSTED:
		return strstr(text, "space") ? NB_E_FULL : NB_E_LIMIT;
	case NB_STORE_GRPC_FAILED:
		return strstr(text, "auth") ? NB_E_PERM : NB_E_ARG;
	case NB_STORE_GRPC_RANGE:
		return NB_E_ARG;
	case NB_STORE_GRPC_UNAVAILABLE:
		return strstr(text, "timed out") ? NB_E_TIMEOUT : NB_E_STORE;
	default:
		return NB_E_PROTOCOL;
	}
}

/*
 * Returns how many characters at the start of @text are printable, 120 at most.
 */
static int first_line(const char *text, size_t size)
{
	int n = 0;

	while ((size_t)n < size && n < 120 && text[n] >= ' ' && text[n] <= '~')
		n++;
	return n;
}

int nb_store_decode_error(const char *text, size_t size, long status, const char *endpoint,
			  int *grpc, struct nb_err *err)
{
	json_t *v = json_loadb(text, size, 0, NULL);
	const json_t *in = v;
	const json_t *inner = json_object_get(v, "error");
	const char *said;

	/* a stream wraps its error: {"error":{"grpc_code":…,"message":…}} */
	if (json_is_object(inner))
		in = inner;
	said = json_string_value(json_object_get(in, "message"));
	if (!said)
		said = json_string_value(json_object_get(in, "error"));
	*grpc = (int)json_integer_value(json_object_get(in, "code"));
	if (!*grpc)
		*grpc = (int)json_integer_value(json_object_get(in, "grpc_code"));
	if (said && *grpc)
		nb_fail(err, grpc_code(*grpc, said), 0, "%s: %s", endpoint, said);
	else if (said)
		nb_fail(err, NB_E_PROTOCOL, 0, "%s: HTTP status %ld: %s", endpoint, status, said);
	/* quote the first line of the reply, which may explain the failure */
	else
		nb_fail(err, NB_E_PROTOCOL, 0,
			"%s: HTTP status %ld and a reply that is not etcd's: \"%.*s\"", endpoint,
			status, first_line(text, size), text);
	if (strstr(err->text, "CommonName"))
		nb_hint(err, "give the agent a client certificate without a common name: "
			     "etcd's JSON gateway refuses others");
	if (err->code == NB_E_FULL)
		nb_hint(err, "the store is out of space: "
			     "compact and defragment the store, then disarm its alarm (etcdctl)");
	json_decref(v);
	return err->code;
}
