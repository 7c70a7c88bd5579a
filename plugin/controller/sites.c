// SPDX-License-Identifier: MIT
/* The other sites' maps in the mailbox: posted by the agent, and merged. */
#include "plugin/controller/sites.h"

#include <stdio.h>
#include <string.h>

#include "core/bpf/generation/controller.h"
#include "plugin/job/segment.h"

enum { LIST = NB_SEG_PROCS, FIRST };

int nb_sites_post_list(struct nb_mailbox *b, const struct nb_sites_list *list, struct nb_err *err)
{
	return nb_mailbox_post(b, LIST, NB_MAILBOX_STATE, list, sizeof(*list), err);
}

int nb_sites_post_state(struct nb_mailbox *b, uint32_t i, const struct nb_sites_state *state,
			struct nb_err *err)
{
	return nb_mailbox_post(b, FIRST + i, NB_MAILBOX_STATE, state, sizeof(*state), err);
}

int nb_sites_post_maps(struct nb_mailbox *b, uint32_t i, const struct nb_sites_maps *head,
		       const void *bytes, size_t size, struct nb_err *err)
{
	struct nb_buf all;
	int rc;

	nb_buf_init(&all, 0);
	nb_buf_bytes(&all, head, sizeof(*head));
	nb_buf_bytes(&all, bytes, size);
	rc = nb_buf_ok(&all)
		     ? nb_mailbox_post(b, FIRST + i, NB_MAILBOX_MAPS, all.data, all.size, err)
		     : nb_fail(err, NB_E_NOMEM, 0, "no memory for %zu bytes", size);
	nb_buf_fini(&all);
	return rc;
}

/* Read a record of a fixed size. */
static bool read_record(const struct nb_mailbox *b, uint32_t place, void *to, size_t size)
{
	struct nb_buf bytes;
	bool fine = nb_mailbox_read(b, place, NB_MAILBOX_STATE, &bytes) && bytes.size == size;

	if (fine)
		memcpy(to, bytes.data, size);
	nb_buf_fini(&bytes);
	return fine;
}

/* Name a missing site. Returns false if the text has no room for it. */
static bool name_missing(struct nb_sites_result *out, const struct nb_sites_state *s,
			 const char *why)
{
	enum { TAIL = 40 }; /* room for the number of unnamed sites */
	char one[NB_SITES_NAME + NB_SITES_WHY + 16];
	size_t have = strlen(out->text);

	snprintf(one, sizeof(one), "%ssite %s: %s", have ? "; " : "", s->site, why);
	if (have + strlen(one) + TAIL >= sizeof(out->text))
		return false;
	memcpy(out->text + have, one, strlen(one) + 1);
	return true;
}

/*
 * Merge the maps in the record @record. Returns false if they cannot be merged;
 * @why then has the reason.
 */
static bool merge_record(const struct nb_buf *record, const struct nb_sites_state *s,
			 struct nb_gen *own, uint64_t now_ms, uint64_t *lost,
			 struct nb_sites_result *out, char why[NB_SITES_WHY])
{
	struct nb_sites_maps head;
	const char *bytes = record->data + sizeof(head);
	struct nb_err err = { .code = 0 };
	size_t size = record->size - sizeof(head);

	memcpy(&head, record->data, sizeof(head));
	/* the place belonged to another site before */
	if (strncmp(head.site, s->site, sizeof(head.site)) != 0)
		return false;
	if (now_ms >= head.until_ms) {
		snprintf(why, NB_SITES_WHY, "the maps are %llu s old%s%.140s",
			 (unsigned long long)((now_ms - head.taken_ms) / 1000), *s->why ? ": " : "",
			 s->why);
		return false;
	}
	if (nb_controllers_check(own, bytes, size, &err)) {
		snprintf(why, NB_SITES_WHY, "refused: %.180s", err.text);
		return false;
	}
	nb_controllers_merge(own, bytes, size, lost);
	out->processes += head.processes;
	out->missing += head.missing;
	return true;
}

/* Merge the maps of site @i of the list. Returns as merge_record does. */
static bool merge_site(const struct nb_mailbox *b, uint32_t i, const struct nb_sites_state *s,
		       struct nb_gen *own, uint64_t now_ms, uint64_t *lost,
		       struct nb_sites_result *out, char why[NB_SITES_WHY])
{
	struct nb_buf record;
	bool merged;

	snprintf(why, NB_SITES_WHY, "%s", *s->why ? s->why : "has not answered yet");
	if (!nb_mailbox_read(b, FIRST + i, NB_MAILBOX_MAPS, &record))
		return false;
	merged = record.size > sizeof(struct nb_sites_maps) &&
		 merge_record(&record, s, own, now_ms, lost, out, why);
	nb_buf_fini(&record);
	return merged;
}

void nb_sites_merge(const struct nb_mailbox *b, struct nb_gen *own, uint64_t now_ms, uint64_t *lost,
		    struct nb_sites_result *out)
{
	struct nb_sites_list list = { 0 };
	uint32_t named = 0;
	size_t have;

	memset(out, 0, sizeof(*out));
	if (!read_record(b, LIST, &list, sizeof(list)) || now_ms >= list.until_ms)
		return;
	for (uint32_t i = 0; i < list.n && i < NB_SITES_MOST; i++) {
		struct nb_sites_state s;
		char why[NB_SITES_WHY];

		if (!read_record(b, FIRST + i, &s, sizeof(s)) || !*s.site)
			continue;
		s.site[sizeof(s.site) - 1] = s.why[sizeof(s.why) - 1] = '\0';
		out->sites++;
		if (merge_site(b, i, &s, own, now_ms, lost, out, why))
			continue;
		out->missing_sites++;
		out->processes += s.processes;
		out->missing += s.processes;
		named += name_missing(out, &s, why);
	}
	out->sites += list.more;
	out->missing_sites += list.more;
	have = strlen(out->text);
	if (named < out->missing_sites)
		snprintf(out->text + have, sizeof(out->text) - have, "%s%u more sites",
			 have ? "; " : "", out->missing_sites - named);
}
