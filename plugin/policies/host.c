// SPDX-License-Identifier: MIT
/*
 * Records the descriptor to which each host map of this process is attached.
 * A descriptor stays open, so that host maps of policies loaded later are
 * attached to it as well. A change maps its pages before it takes the lock,
 * and exchanges them under the lock.
 */
#include "plugin/policies/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bpf/map/host.h"
#include "plugin/policies/held_list.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"

struct attachment {
	/* name of the host maps; "" if the entry is unused */
	char name[NB_MAP_NAME];
	int fd; /* -1: detached */
	/* number of the commit that attached or detached the maps */
	uint64_t commit;
};

static struct attachment attachments[NB_MAX_HOST_MAPS];
static uint64_t commits;

static struct attachment *entry_of(const char *name)
{
	for (int i = 0; i < NB_MAX_HOST_MAPS; i++)
		if (!strcmp(attachments[i].name, name))
			return &attachments[i];
	return NULL;
}

/* Returns the attached entry of @name, or NULL. */
static struct attachment *attachment_of(const char *name)
{
	struct attachment *a = entry_of(name);

	return a && a->fd >= 0 ? a : NULL;
}

/* Returns the host map @name of policy @p, or NULL. */
static struct nb_map *host_map_of(const struct nb_policy *p, const char *name)
{
	int m = nb_image_map(p->img, name);

	return m >= 0 && p->img->maps[m].tags & NB_MAPF_HOST ? p->maps[m] : NULL;
}

static int count_host_maps(const char *name)
{
	int n = 0;

	for (uint32_t i = 0; i < nb_held.n; i++)
		n += host_map_of(nb_held.at[i].policy, name) != NULL;
	return n;
}

static int refuse_name(const char *name, struct nb_err *err)
{
	nb_fail(err, NB_E_NOENT, 0, "no held policy has a host map %.64s", name);
	if (strchr(name, '/'))
		nb_hint(err, "give the map's name alone: "
			     "all policies with a host map of that name show the same memory");
	else
		nb_hint(err, "a host map is tagged __host in its policy; map list shows all maps");
	return NB_E_NOENT;
}

/*
 * Returns an entry for @name: the entry of that name, an unused one, a detached
 * one, or one whose name no held policy has any more.
 */
static struct attachment *place_for(const char *name)
{
	struct attachment *a = entry_of(name);

	if (!a)
		a = entry_of("");
	for (int i = 0; !a && i < NB_MAX_HOST_MAPS; i++)
		if (attachments[i].fd < 0)
			a = &attachments[i];
	for (int i = 0; !a && i < NB_MAX_HOST_MAPS; i++)
		if (!count_host_maps(attachments[i].name))
			a = &attachments[i];
	return a;
}

/* Show the pages of @fd in the map. If @fd is -1, show zeroes. */
static int show(struct nb_map *m, int fd, struct nb_err *err)
{
	return fd < 0 ? nb_map_host_detach(m, err) : nb_map_host_attach(m, fd, err);
}

/* Let the maps called @name of the first @n policies show @fd again. */
static void show_again(const char *name, int fd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nb_map *m = host_map_of(nb_held.at[i].policy, name);

		if (m && show(m, fd, NULL) && fd >= 0)
			show(m, -1, NULL);
	}
}

/*
 * Show @fd in all maps called @name. Versions of a policy that are held for
 * undo may have maps of another shape, which then show zeroes; the map that was
 * loaded last must fit. Returns how many maps show @fd. On failure, all show
 * @before again.
 */
static int show_all(const char *name, int fd, int before, struct nb_err *err)
{
	struct nb_err why = { 0 }, unfit = { 0 };
	int shown = 0, rc = 0;
	uint32_t i;

	for (i = 0; i < nb_held.n && (!rc || rc == NB_E_ARG); i++) {
		struct nb_map *m = host_map_of(nb_held.at[i].policy, name);

		if (!m)
			continue;
		rc = show(m, fd, &why);
		shown += !rc;
		if (rc == NB_E_ARG) {
			unfit = why;
			show(m, -1, NULL);
		}
	}
	if (!rc && unfit.code)
		nb_log_err("an older policy's host map stays zero", &unfit);
	if (!rc)
		return shown;
	show_again(name, before, i);
	if (err)
		*err = why;
	return rc;
}

/* ---- changes ---- */

struct staged {
	struct nb_map *map; /* one reference */
	void *pages;	    /* prepared pages; NULL once they are shown */
	/* the pages come from the descriptor; false: the map shows zeroes */
	bool fits;
};

struct nb_host_change {
	char name[NB_MAP_NAME];
	/* descriptor to show, or -1; after the commit the attachment owns it */
	int fd;
	/* descriptor shown before the commit, or -1 */
	int before;
	/*
	 * number of this commit, and number of the commit that attached @before
	 */
	uint64_t commit, commit_before;
	bool detach, committed;
	struct nb_err unfit; /* why an older policy's map does not fit */
	struct staged at[NB_MAX_HELD];
	uint32_t n;
};

static int refuse_detach(const char *name, struct nb_err *err)
{
	return nb_fail(err, NB_E_NOENT, 0, "no host map %.64s is attached", name);
}

static int refuse_limit(struct nb_err *err)
{
	return nb_fail(err, NB_E_LIMIT, 0,
		       "%d host maps are attached (allowed: %d): map detach one", NB_MAX_HOST_MAPS,
		       NB_MAX_HOST_MAPS);
}

/* Check that the change is possible now. The caller holds the lock. */
static int check_change(const struct nb_host_change *c, struct nb_err *err)
{
	if (c->detach)
		return *c->name && attachment_of(c->name) ? 0 : refuse_detach(c->name, err);
	if (!count_host_maps(c->name))
		return refuse_name(c->name, err);
	return place_for(c->name) ? 0 : refuse_limit(err);
}

static void collect_maps(struct nb_host_change *c)
{
	for (uint32_t i = 0; i < nb_held.n; i++) {
		struct nb_map *m = host_map_of(nb_held.at[i].policy, c->name);

		if (m)
			c->at[c->n++] = (struct staged){ nb_map_get(m), NULL, false };
	}
}

/*
 * Show what was prepared for the map. Nothing is prepared for a policy that was
 * loaded since. Returns 1 if the map shows the change, 0 if it does not fit.
 */
static int prepare_pages(struct nb_host_change *c, struct nb_err *err)
{
	struct nb_err why = { 0 };
	int rc = 0;

	for (uint32_t i = 0; i < c->n && !rc; i++) {
		struct staged *s = &c->at[i];

		rc = nb_map_host_prepare(s->map, c->fd, &s->pages, &why);
		s->fits = !rc;
		if (rc == NB_E_ARG && i + 1 < c->n) {
			c->unfit = why;
			rc = nb_map_host_prepare(s->map, -1, &s->pages, &why);
		}
	}
	if (rc && err)
		*err = why;
	return rc;
}

int nb_host_stage(struct nb_host_change **out, const char *name, int fd, struct nb_err *err)
{
	struct nb_host_change *c = calloc(1, sizeof(*c));
	int rc;

	*out = NULL;
	if (!c) {
		if (fd >= 0)
			close(fd);
		return nb_fail(err, NB_E_NOMEM, 0, "map %.64s: no memory", name);
	}
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->fd = fd;
	c->before = -1;
	c->detach = fd < 0;
	nb_lock(NB_LOCK_STATE);
	rc = strlen(name) >= NB_MAP_NAME ? refuse_name(name, err) : check_change(c, err);
	if (!rc)
		collect_maps(c);
	nb_unlock(NB_LOCK_STATE);
	if (!rc)
		rc = prepare_pages(c, err);
	if (rc)
		nb_host_change_free(c);
	else
		*out = c;
	return rc;
}

static struct staged *staged_of(struct nb_host_change *c, const struct nb_map *m)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].map == m && c->at[i].pages)
			return &c->at[i];
	return NULL;
}

/*
 * Show what was prepared for the map. The map of a policy that was loaded since
 * has nothing prepared. Returns 1 if the map shows the change, 0 if it does not
 * fit.
 */
static int exchange_one(struct nb_host_change *c, struct nb_map *m, struct nb_err *err)
{
	struct staged *s = staged_of(c, m);
	void *pages;
	int rc;

	if (!s) {
		rc = show(m, c->fd, err);
		if (rc == NB_E_ARG)
			c->unfit = *err;
		return rc == NB_E_ARG ? 0 : rc ? rc : 1;
	}
	pages = s->pages;
	s->pages = NULL;
	rc = nb_map_host_show(m, pages, s->fits && !c->detach, err);
	return rc ? rc : s->fits;
}

/* Returns how many maps show the change. On failure all show @before again. */
static int exchange(struct nb_host_change *c, int before, struct nb_err *err)
{
	struct nb_err why = { 0 };
	int shown = 0;

	for (uint32_t i = 0; i < nb_held.n; i++) {
		struct nb_map *m = host_map_of(nb_held.at[i].policy, c->name);
		int rc = m ? exchange_one(c, m, &why) : 0;

		if (rc < 0) {
			show_again(c->name, before, i + 1);
			if (err)
				*err = why;
			return rc;
		}
		shown += rc;
	}
	return shown;
}

/* Record that the maps called @name show @fd, or zeroes if it is negative. */
static void record(struct attachment *a, const char *name, int fd, uint64_t commit)
{
	snprintf(a->name, sizeof(a->name), "%s", name);
	a->fd = fd;
	a->commit = commit;
}

int nb_host_commit(struct nb_host_change *c, struct nb_err *err)
{
	struct attachment *a;
	bool same;
	int rc, before;

	if (c->committed)
		return nb_fail(err, NB_E_ARG, 0, "map %s: committed already", c->name);
	rc = check_change(c, err);
	if (rc)
		return rc;
	a = place_for(c->name);
	same = !strcmp(a->name, c->name);
	before = same ? a->fd : -1;
	rc = exchange(c, before, err);
	if (rc < 0)
		return rc;
	if (c->unfit.code)
		nb_log_err("an older policy's host map stays zero", &c->unfit);
	if (a->name[0] && !same && a->fd >= 0)
		close(a->fd); /* an entry whose name no policy has any more */
	c->commit_before = same ? a->commit : 0;
	c->commit = ++commits;
	record(a, c->name, c->fd, c->commit);
	c->fd = -1;
	c->before = before;
	c->committed = true;
	return rc;
}

int nb_host_undo(struct nb_host_change *c, struct nb_err *err)
{
	struct attachment *a = entry_of(c->name);
	int rc;

	if (!c->committed)
		return 0;
	if (!a || a->commit != c->commit)
		return nb_fail(err, NB_E_STALE, 0,
			       "map %s: another client has changed it since, "
			       "so this change is not undone",
			       c->name);
	rc = show_all(c->name, c->before, a->fd, err);
	if (rc < 0)
		return rc;
	if (a->fd >= 0)
		close(a->fd);
	record(a, c->name, c->before, c->commit_before);
	c->before = -1;
	c->committed = false;
	return 0;
}

const char *nb_host_change_name(const struct nb_host_change *c)
{
	return c->name;
}

void nb_host_change_free(struct nb_host_change *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n; i++) {
		nb_map_host_drop(c->at[i].map, c->at[i].pages);
		nb_map_put(c->at[i].map);
	}
	if (c->fd >= 0)
		close(c->fd);
	if (c->before >= 0)
		close(c->before);
	free(c);
}

void nb_host_join(const struct nb_policy *p)
{
	for (uint32_t i = 0; i < p->img->nmaps; i++) {
		const struct nb_map_spec *s = &p->img->maps[i];
		const struct attachment *a = attachment_of(s->name);
		struct nb_err err = { 0 };

		if (s->tags & NB_MAPF_HOST && a && nb_map_host_attach(p->maps[i], a->fd, &err))
			nb_log_err("a new policy's host map stays zero", &err);
	}
}

void nb_host_free(void)
{
	for (int i = 0; i < NB_MAX_HOST_MAPS; i++) {
		if (attachments[i].name[0] && attachments[i].fd >= 0)
			close(attachments[i].fd);
		attachments[i].name[0] = '\0';
	}
}
