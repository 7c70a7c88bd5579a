// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What the coordinator's agent takes of another agent's reply to the command
// controller maps: a line of JSON, and the maps.
#include "test/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/bpf/generation/controller.h"
#include "plugin/agent/site/maps.h"

static struct nb_maps_reply reply;
static struct nb_err err;

/* Bytes of just that size, so that the address checker knows their end. */
static int read_bytes(const char *bytes, size_t size)
{
	char *copy = malloc(size ? size : 1);
	int rc;

	if (size)
		memcpy(copy, bytes, size);
	err.code = 0;
	rc = nb_maps_read(copy, size, &reply, &err);
	if (!rc) {
		ck_assert_ptr_eq(reply.bytes, copy + size - reply.size);
		ck_assert_uint_gt(reply.size, 0);
		ck_assert_uint_le(reply.missing, reply.processes);
		ck_assert_uint_le(reply.age_ms, 3600000);
	}
	free(copy);
	return rc;
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

#define LINE "{\"ok\":true,\"data\":{\"age_us\":1500000,\"processes\":8,\"missing\":1}}\n"

TEST(a_reply_is_read)
{
	ck_assert_int_eq(read_text(LINE "maps"), 0);
	ck_assert_uint_eq(reply.age_ms, 1500);
	ck_assert_uint_eq(reply.processes, 8);
	ck_assert_uint_eq(reply.missing, 1);
	ck_assert_uint_eq(reply.size, 4);
	/* an age beyond an hour is an hour */
	ck_assert_int_eq(read_text("{\"ok\":true,\"data\":{\"age_us\":"
				   "9000000000000000000,\"processes\":1}}\nm"),
			 0);
	ck_assert_uint_eq(reply.age_ms, 3600000);
}

TEST(an_error_keeps_its_words)
{
	ck_assert_int_eq(read_text("{\"ok\":false,\"error\":{\"message\":"
				   "\"no role\"}}\n"),
			 NB_E_REFUSED);
	ck_assert_str_eq(err.text, "no role");
}

TEST(other_replies_are_refused)
{
	static char large[NB_CONTROLLER_MAPS_BYTES + sizeof(LINE)];

	ck_assert_int_eq(read_text(""), NB_E_PROTOCOL);
	ck_assert_int_eq(read_text("\n"), NB_E_PROTOCOL);
	ck_assert_int_eq(read_text("<html>\n"), NB_E_PROTOCOL);
	ck_assert_int_eq(read_text("[]\nmaps"), NB_E_PROTOCOL);
	ck_assert_int_eq(read_text(LINE), NB_E_LIMIT);
	ck_assert_int_eq(read_text("{\"ok\":true}\nmaps"), NB_E_PROTOCOL);
	ck_assert_int_eq(read_text("{\"ok\":true,\"data\":{\"age_us\":-5000,"
				   "\"processes\":1}}\nmaps"),
			 NB_E_PROTOCOL);
	ck_assert_int_eq(read_text("{\"ok\":true,\"data\":{\"processes\":513}}"
				   "\nmaps"),
			 NB_E_PROTOCOL);
	ck_assert_int_eq(read_text("{\"ok\":true,\"data\":{\"processes\":2,"
				   "\"missing\":3}}\nmaps"),
			 NB_E_PROTOCOL);
	memcpy(large, LINE, sizeof(LINE) - 1);
	ck_assert_int_eq(read_bytes(large, sizeof(large) - 1), 0);
	ck_assert_int_eq(read_bytes(large, sizeof(large)), NB_E_LIMIT);
	/* a line without an end */
	memset(large, ' ', sizeof(large));
	ck_assert_int_eq(read_bytes(large, sizeof(large)), NB_E_PROTOCOL);
}

TEST(damaged_replies_are_survived)
{
	static const char whole[] = LINE "maps";
	char bad[sizeof(whole)];
	uint32_t x = 1;

	for (size_t n = 0; n < sizeof(whole) - 1; n++)
		(void)read_bytes(whole, n);
	for (int i = 0; i < 100000; i++) {
		memcpy(bad, whole, sizeof(bad));
		for (int k = 0; k < 3; k++) {
			x = x * 1664525 + 1013904223;
			bad[(x >> 8) % (sizeof(bad) - 1)] = (char)(x >> 24);
		}
		(void)read_bytes(bad, sizeof(bad) - 1);
	}
}

UNIT_MAIN("fleet_maps")
