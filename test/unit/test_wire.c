// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Request lines taken apart and replies put together: quoting, ids, options
// by the rows' syntax, every refusal with its code and place.
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/job/wire/object.h"
#include "core/job/wire/wire.h"

static struct nb_request req;
static struct nb_err err;
static char line[NB_WIRE_LINE + 1];

static int parse_n(const char *text, size_t n)
{
	memcpy(line, text, n);
	memset(&err, 0, sizeof(err));
	return nb_request_parse(&req, line, n, &err);
}

static int parse(const char *text)
{
	return parse_n(text, strlen(text));
}

TEST(words_and_arguments)
{
	ck_assert_int_eq(parse("hello 1"), 0);
	ck_assert_int_eq(req.cmd, NB_CMD_HELLO);
	ck_assert(!req.has_id);
	ck_assert_uint_eq(req.narg, 1);
	ck_assert_str_eq(req.arg[0], "1");

	ck_assert_int_eq(parse(" \tpolicy   use\ta b  c "), 0);
	ck_assert_int_eq(req.cmd, NB_CMD_POLICY_USE);
	ck_assert_uint_eq(req.narg, 3);
	ck_assert_str_eq(req.arg[0], "a");
	ck_assert_str_eq(req.arg[2], "c");

	ck_assert_int_eq(parse("status\r"), 0);
	ck_assert_int_eq(req.cmd, NB_CMD_STATUS);
}

TEST(every_row_parses)
{
	for (unsigned c = 0; c < NB_NCMDS; c++) {
		const struct nb_cmd_spec *s = nb_spec_cmd((enum nb_cmd)c);
		char text[1024];
		size_t n;

		ck_assert_uint_le(s->most, NB_WIRE_ARGS);
		for (unsigned given = 0; given <= s->most + 1; given++) {
			n = (size_t)snprintf(text, sizeof(text), "@%u %s", c, s->words);
			for (unsigned i = 0; i < given; i++)
				n += (size_t)snprintf(text + n, sizeof(text) - n, " a%u", i);
			if (given >= s->least && given <= s->most) {
				ck_assert_int_eq(parse(text), 0);
				ck_assert_uint_eq(req.cmd, c);
				ck_assert_uint_eq(req.id, c);
				ck_assert_uint_eq(req.narg, given);
				if (given)
					ck_assert_str_eq(req.arg[0], "a0");
			} else {
				ck_assert_int_eq(parse(text), NB_E_USAGE);
				ck_assert(strstr(err.text, s->words));
				ck_assert(strstr(err.hint, s->words));
			}
		}
	}
}

TEST(ids)
{
	ck_assert_int_eq(parse("@7 status"), 0);
	ck_assert(req.has_id);
	ck_assert_uint_eq(req.id, 7);
	ck_assert_int_eq(parse("@9007199254740992 status"), 0);
	ck_assert_uint_eq(req.id, NB_WIRE_MAX_ID);
	ck_assert_int_eq(parse("@9007199254740993 status"), NB_E_PROTOCOL);
	ck_assert_int_eq(parse("@99999999999999999999999 status"), NB_E_PROTOCOL);
	ck_assert_int_eq(parse("@ status"), NB_E_PROTOCOL);
	ck_assert_int_eq(parse("@-1 status"), NB_E_PROTOCOL);
	ck_assert_int_eq(parse("@7status"), NB_E_PROTOCOL);
	ck_assert(!req.has_id);
	/* a good id is kept for the answer to a bad line */
	ck_assert_int_eq(parse("@8 statistic"), NB_E_USAGE);
	ck_assert(req.has_id);
	ck_assert_uint_eq(req.id, 8);
	ck_assert_int_eq(parse("@8 \xff"), NB_E_PROTOCOL);
	ck_assert(req.has_id);
	ck_assert_int_eq(parse("@5"), NB_E_USAGE);
}

TEST(quoting)
{
	ck_assert_int_eq(parse("policy frob x"), NB_E_USAGE);
	ck_assert_int_eq(parse("policy dump \"a b\""), 0);
	ck_assert_str_eq(req.arg[0], "a b");
	ck_assert_int_eq(parse("policy dump a\\ b\\\"\\\\"), 0);
	ck_assert_str_eq(req.arg[0], "a b\"\\");
	ck_assert_int_eq(parse("policy dump \"\""), 0);
	ck_assert_str_eq(req.arg[0], "");
	ck_assert_int_eq(parse("policy dump a\"b c\"d"), 0);
	ck_assert_str_eq(req.arg[0], "ab cd");
	ck_assert_int_eq(parse("policy dump gr\xc3\xbc\xc3\x9f"), 0);
	ck_assert_str_eq(req.arg[0], "gr\xc3\xbc\xc3\x9f");
	ck_assert_int_eq(parse("policy dump \"a"), NB_E_USAGE);
	ck_assert_uint_eq(err.at, 13);
	ck_assert_int_eq(parse("policy dump a\\"), NB_E_USAGE);
	ck_assert_uint_eq(err.at, 14);
}

TEST(options)
{
	ck_assert_int_eq(parse("map dump m limit=10 after=00ff"), 0);
	ck_assert_uint_eq(req.narg, 1);
	ck_assert_str_eq(nb_request_opt(&req, "limit"), "10");
	ck_assert_str_eq(nb_request_opt(&req, "after"), "00ff");
	ck_assert_ptr_null(nb_request_opt(&req, "lim"));
	/* anywhere on the line */
	ck_assert_int_eq(parse("commit=no policy use x"), 0);
	ck_assert(!nb_request_yes(&req, "commit", true));
	ck_assert_int_eq(parse("policy use x commit=yes"), 0);
	ck_assert(nb_request_yes(&req, "commit", false));
	ck_assert_int_eq(parse("policy use x"), 0);
	ck_assert(nb_request_yes(&req, "commit", true));
	ck_assert(!nb_request_yes(&req, "commit", false));
	/* values of choice */
	ck_assert_int_eq(parse("map set m 00 00 flags=new"), 0);
	ck_assert_int_eq(parse("map set m 00 00 flags=ne"), NB_E_ARG);
	ck_assert(strstr(err.text, "any|new|old"));
	ck_assert_int_eq(parse("map set m 00 00 flags="), NB_E_ARG);
	ck_assert_int_eq(parse("policy use x commit=maybe"), NB_E_ARG);
	/* unknown, double, too many */
	ck_assert_int_eq(parse("status follow=yes"), NB_E_USAGE);
	ck_assert(strstr(err.text, "follow="));
	ck_assert_int_eq(parse("map dump m imit=1"), NB_E_USAGE);
	ck_assert_int_eq(parse("map dump m limit=1 limit=2"), NB_E_USAGE);
	ck_assert_int_eq(parse("status a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1"), NB_E_LIMIT);
	/* only an unquoted name= is one, and none after -- */
	ck_assert_int_eq(parse("policy dump \"a\"=b"), 0);
	ck_assert_str_eq(req.arg[0], "a=b");
	ck_assert_int_eq(parse("policy dump =b"), 0);
	ck_assert_int_eq(parse("policy dump a1=b"), 0);
	ck_assert_int_eq(parse("policy dump -- a=b"), 0);
	ck_assert_str_eq(req.arg[0], "a=b");
	ck_assert_int_eq(parse("policy dump -- --"), 0);
	ck_assert_str_eq(req.arg[0], "--");
	/* an option's value may be quoted and hold anything */
	ck_assert_int_eq(parse("map dump m after=\"a b=c\""), 0);
	ck_assert_str_eq(nb_request_opt(&req, "after"), "a b=c");
}

TEST(unknown_commands_name_the_nearest)
{
	ck_assert_int_eq(parse("policy lod x"), NB_E_USAGE);
	ck_assert(strstr(err.text, "policy load"));
	ck_assert_int_eq(parse("staus"), NB_E_USAGE);
	ck_assert(strstr(err.text, "status"));
	ck_assert_int_eq(parse("quux"), NB_E_USAGE);
	ck_assert(strstr(err.text, "\"quux\""));
	ck_assert_str_eq(err.hint, "help lists the commands");
	ck_assert_int_eq(parse("policy"), NB_E_USAGE);
	ck_assert_int_eq(parse(""), NB_E_USAGE);
	ck_assert_int_eq(parse("   "), NB_E_USAGE);
	ck_assert_int_eq(parse("\"policy load\" x"), NB_E_USAGE);
}

TEST(bytes_that_are_no_text)
{
	ck_assert_int_eq(parse_n("sta\0tus", 7), NB_E_PROTOCOL);
	ck_assert_uint_eq(err.at, 4);
	ck_assert_int_eq(parse("status\x01"), NB_E_PROTOCOL);
	ck_assert_int_eq(parse("status\x7f"), NB_E_PROTOCOL);
	ck_assert_int_eq(parse("status \xc3"), NB_E_PROTOCOL);
	ck_assert_uint_eq(err.at, 8);
	ck_assert_int_eq(parse("status \xed\xa0\x80"), NB_E_PROTOCOL);
	ck_assert_int_eq(parse("status \xc0\x80"), NB_E_PROTOCOL);
}

TEST(longest_lines)
{
	static char text[NB_WIRE_LINE];

	memset(text, 'a', sizeof(text));
	ck_assert_int_eq(parse_n(text, NB_WIRE_LINE - 1), NB_E_USAGE);
	for (size_t i = 1; i < sizeof(text); i += 2)
		text[i] = ' ';
	ck_assert_int_eq(parse_n(text, NB_WIRE_LINE - 1), NB_E_USAGE);
	memcpy(text, "map set ", 8);
	ck_assert_int_eq(parse_n(text, NB_WIRE_LINE - 1), NB_E_USAGE);
	ck_assert(strstr(err.text, "3 to 64"));
	/* the most arguments, all kept */
	ck_assert_int_eq(parse_n(text, 8 + 2 * 64), 0);
	ck_assert_uint_eq(req.narg, 64);
	ck_assert_str_eq(req.arg[63], "a");
	ck_assert_int_eq(parse_n(text, 8 + 2 * 65), NB_E_USAGE);
}

TEST(hexadecimal)
{
	unsigned char b[4] = { 9, 9, 9, 9 };

	ck_assert_int_eq(nb_wire_hex(b, 4, "00fFa17e", "key", &err), 0);
	ck_assert_mem_eq(b, "\x00\xff\xa1\x7e", 4);
	ck_assert_int_eq(nb_wire_hex(b, 0, "", "key", &err), 0);
	ck_assert_int_eq(nb_wire_hex(b, 4, "00ff", "key", &err), NB_E_ARG);
	ck_assert(strstr(err.text, "8 needed for 4 bytes"));
	ck_assert_int_eq(nb_wire_hex(b, 4, "00ffa17", "key", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_hex(b, 4, "00ffa17eaa", "key", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_hex(b, 4, "00ffa17g", "value", &err), NB_E_ARG);
	ck_assert(strstr(err.text, "character 8"));
	ck_assert_int_eq(nb_wire_hex(b, 4, "0x000000", "key", &err), NB_E_ARG);
	ck_assert_mem_eq(b, "\x00\xff\xa1\x7e", 4);
}

TEST(numbers_sizes_ids)
{
	uint64_t v = 3;

	ck_assert_int_eq(nb_wire_number(&v, "10", 1, 10, "COUNT", &err), 0);
	ck_assert_uint_eq(v, 10);
	ck_assert_int_eq(nb_wire_number(&v, "11", 1, 10, "COUNT", &err), NB_E_ARG);
	ck_assert(strstr(err.text, "COUNT") && strstr(err.text, "1 to 10"));
	ck_assert_int_eq(nb_wire_number(&v, "", 0, 10, "COUNT", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_number(&v, "1x", 0, 10, "COUNT", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_number(&v, "-1", 0, 10, "COUNT", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_number(&v, "18446744073709551616", 0, UINT64_MAX, "COUNT", &err),
			 NB_E_ARG);

	ck_assert_int_eq(nb_wire_size(&v, "4096", "SIZE", &err), 0);
	ck_assert_uint_eq(v, 4096);
	ck_assert_int_eq(nb_wire_size(&v, "8M", "SIZE", &err), 0);
	ck_assert_uint_eq(v, 8 << 20);
	ck_assert_int_eq(nb_wire_size(&v, "64KiB", "SIZE", &err), 0);
	ck_assert_uint_eq(v, 64 << 10);
	ck_assert_int_eq(nb_wire_size(&v, "1gb", "SIZE", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_size(&v, "1GB", "SIZE", &err), 0);
	ck_assert_int_eq(nb_wire_size(&v, "2t", "SIZE", &err), 0);
	ck_assert_uint_eq(v, 2ull << 40);
	ck_assert_int_eq(nb_wire_size(&v, "16777216T", "SIZE", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_size(&v, "M", "SIZE", &err), NB_E_ARG);
	ck_assert_int_eq(nb_wire_size(&v, "1Mi", "SIZE", &err), NB_E_ARG);

	ck_assert_int_eq(nb_wire_id(&v, "00d1000000000007", "COMM", &err), 0);
	ck_assert_uint_eq(v, 0x00d1000000000007);
	ck_assert_int_eq(nb_wire_id(&v, "d1", "COMM", &err), NB_E_ARG);
}

static void extra(struct nb_json *j, void *arg)
{
	nb_json_kstr(j, "text", arg);
}

TEST(replies)
{
	struct nb_buf out;
	struct nb_json j;
	char more[] = "two\nlines";

	nb_buf_init(&out, 0);
	ck_assert_int_eq(parse("@7 status"), 0);
	nb_reply_open(&j, &out, &req);
	nb_json_obj(&j);
	nb_json_ku64(&j, "n", 1);
	nb_json_end_obj(&j);
	nb_reply_close(&j);
	ck_assert_str_eq(nb_buf_text(&out), "{\"id\":7,\"ok\":true,\"data\":{\"n\":1}}\n");
	nb_buf_clear(&out);
	nb_reply_end(&out, &req);
	ck_assert_str_eq(nb_buf_text(&out), "{\"id\":7,\"ok\":true,\"end\":true}\n");
	nb_buf_clear(&out);
	nb_fail(&err, NB_E_VERIFY, 12, "no \"good\"");
	nb_hint(&err, "do");
	nb_reply_error(&out, NULL, &err, extra, more);
	ck_assert_str_eq(nb_buf_text(&out), "{\"id\":null,\"ok\":false,\"error\":{\"code\":"
					    "\"verify_rejected\",\"message\":\"no "
					    "\\\"good\\\"\",\"at\":12,\"hint\":\"do\",\"text\":"
					    "\"two\\nlines\"}}\n");
	nb_buf_fini(&out);
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Send a byte with @n descriptors of /dev/null. */
static void send_fds(int sock, size_t n)
{
	struct iovec iov = { (char[]){ 'x' }, 1 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} ctl;
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.bytes,
			    .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	int fd[2] = { open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY) };

	memset(&ctl, 0, sizeof(ctl));
	ctl.head.cmsg_level = SOL_SOCKET;
	ctl.head.cmsg_type = SCM_RIGHTS;
	ctl.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&ctl.head), fd, n * sizeof(int));
	ck_assert_int_eq(sendmsg(sock, &m, 0), 1);
	close(fd[0]);
	close(fd[1]);
}

/* A process that sends more descriptors than one uses up none of ours. */
TEST(one_descriptor_is_kept)
{
	int sock[2], kept = -1, before;
	char byte;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	before = count_open();
	for (size_t n = 1; n <= 2; n++) {
		send_fds(sock[0], n);
		ck_assert_int_eq(nb_wire_receive(sock[1], &byte, 1, &kept), 1);
		ck_assert_int_ge(fcntl(kept, F_GETFD), 0);
		ck_assert_int_eq(count_open(), before + 1);
	}
	ck_assert_int_eq(nb_wire_receive(sock[1], &byte, 1, &kept), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(count_open(), before + 1);
	close(kept);
	close(sock[0]);
	close(sock[1]);
}

UNIT_MAIN("wire")
