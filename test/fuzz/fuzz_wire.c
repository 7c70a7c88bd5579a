// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Any bytes as a request line: a request within its row's bounds, or an error
// with a known code and a text, whose reply is one line. The line is put at
// the end of an allocation of its own, so that a sanitizer sees an overrun.
#undef NDEBUG /* the release build has these checks too */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_good(const struct nb_request *req, const char *line, size_t size)
{
	assert(req->spec == nb_spec_cmd(req->cmd));
	assert(req->narg >= req->spec->least && req->narg <= req->spec->most);
	for (unsigned i = 0; i < req->narg; i++) {
		size_t n = strlen(req->arg[i]);

		assert(req->arg[i] >= line && req->arg[i] + n <= line + size);
	}
	for (unsigned i = 0; i < req->nopt; i++)
		assert(nb_request_opt(req, req->opt[i].name) == req->opt[i].value);
}

static void values(const char *text)
{
	unsigned char bytes[16];
	uint64_t v;

	nb_wire_hex(bytes, sizeof(bytes), text, "key", NULL);
	nb_wire_number(&v, text, 1, 100, "COUNT", NULL);
	nb_wire_size(&v, text, "SIZE", NULL);
	nb_wire_id(&v, text, "COMM", NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_err err = { .code = 0 };
	struct nb_request req;
	struct nb_buf out;
	char *line;
	int rc;

	if (size >= NB_WIRE_LINE)
		size = NB_WIRE_LINE - 1;
	line = malloc(size + 1);
	if (!line)
		abort();
	memcpy(line, data, size);
	rc = nb_request_parse(&req, line, size, &err);
	nb_buf_init(&out, 0);
	if (rc) {
		assert(rc == err.code && strcmp(nb_err_word(rc), "unknown"));
		assert(err.text[0]);
		nb_reply_error(&out, &req, &err, NULL, NULL);
		assert(strchr(out.data, '\n') == out.data + out.size - 1);
	} else {
		check_good(&req, line, size);
		for (unsigned i = 0; i < req.narg; i++)
			values(req.arg[i]);
	}
	nb_buf_fini(&out);
	free(line);
	return 0;
}
