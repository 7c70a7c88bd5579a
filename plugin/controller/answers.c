// SPDX-License-Identifier: MIT
/*
 * Read what the processes of a site have posted in the mailbox: their states,
 * and their answers to a request for maps.
 */
#include <string.h>

#include "core/bpf/generation/controller.h"
#include "plugin/controller/controller.h"
#include "plugin/controller/election.h"
#include "plugin/job/segment.h"

bool nb_controllers_read_state(const struct nb_mailbox *b, const struct nb_seg *mem, uint32_t i,
			       struct nb_controllers_state *out)
{
	const struct nb_seg_proc *p = &mem->proc[i];
	struct nb_buf bytes;
	bool fine = nb_mailbox_read(b, i, NB_MAILBOX_STATE, &bytes) && bytes.size == sizeof(*out);

	if (fine) {
		memcpy(out, bytes.data, sizeof(*out));
		out->error[sizeof(out->error) - 1] = '\0';
		fine = out->token == p->token;
	}
	nb_buf_fini(&bytes);
	return fine;
}

int nb_controllers_post_maps(struct nb_mailbox *b, const struct nb_segment *s,
			     const struct nb_gen *g, uint64_t request, struct nb_err *err)
{
	const struct nb_seg_proc *self = &s->mem->proc[s->proc];
	const struct nb_controllers_maps head = { self->token, request };
	struct nb_buf maps, all;
	int rc = nb_controllers_pack(&maps, g, err);

	nb_buf_init(&all, 0);
	nb_buf_bytes(&all, &head, sizeof(head));
	if (!rc) {
		nb_buf_bytes(&all, maps.data ? maps.data : "", maps.size);
		nb_buf_fini(&maps);
	}
	/* post also if packing failed, so that no process waits */
	if (nb_mailbox_post(b, s->proc, NB_MAILBOX_MAPS, all.data, all.size, rc ? NULL : err))
		rc = NB_E_IO;
	nb_buf_fini(&all);
	return rc;
}

static struct nb_controllers_maps head_of(const struct nb_controllers *l,
					  const struct nb_election_other *m)
{
	return (struct nb_controllers_maps){ m->token, l->state.request };
}

static bool same_head(const void *bytes, const struct nb_controllers_maps *head)
{
	return !memcmp(bytes, head, sizeof(*head));
}

/* Read the maps that the process @token of @entry posted for any request. */
static bool read_maps(const struct nb_controllers *l, uint32_t entry, uint64_t token,
		      struct nb_controllers_maps *head, struct nb_buf *out)
{
	if (!nb_mailbox_read(&l->mailbox, entry, NB_MAILBOX_MAPS, out))
		return false;
	if (out->size >= sizeof(*head)) {
		memcpy(head, out->data, sizeof(*head));
		if (head->token == token)
			return true;
	}
	nb_buf_fini(out);
	return false;
}

bool nb_controllers_answered(struct nb_controllers *l, uint32_t entry,
			     const struct nb_controllers_maps *head)
{
	struct nb_controllers_maps is;
	struct nb_buf b;

	if (same_head(&l->have[entry], head))
		return true;
	if (!nb_mailbox_begins(&l->mailbox, entry, NB_MAILBOX_MAPS, head, sizeof(*head)) ||
	    !read_maps(l, entry, head->token, &is, &b))
		return false;
	nb_buf_fini(&b);
	if (!same_head(&is, head))
		return false;
	l->have[entry] = *head;
	return true;
}

bool nb_controllers_merge_answer(struct nb_controllers *l, struct nb_gen *own,
				 const struct nb_election_other *m)
{
	const struct nb_controllers_maps head = head_of(l, m);
	struct nb_controllers_maps is;
	const size_t at = sizeof(is);
	struct nb_err err;
	struct nb_buf b;
	bool fits;

	if (!read_maps(l, m->entry, m->token, &is, &b))
		return false;
	fits = !nb_controllers_check(own, b.data + at, b.size - at, &err);
	if (fits)
		nb_controllers_merge(own, b.data + at, b.size - at, &l->state.lost);
	nb_buf_fini(&b);
	return fits && same_head(&is, &head);
}

int nb_controllers_unanswered(struct nb_controllers *l, const struct nb_election_other *m, int n)
{
	int missing = 0;

	for (int i = 0; i < n; i++) {
		const struct nb_controllers_maps head = head_of(l, &m[i]);

		missing += !nb_controllers_answered(l, m[i].entry, &head);
	}
	return missing;
}
