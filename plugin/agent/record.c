// SPDX-License-Identifier: MIT
/*
 * Records of communicators as links of a chain.
 */
#include "plugin/agent/record.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "plugin/agent/view.h"
#include "plugin/runtime/clock.h"

/* Most roll-backs in a row, without a commit, that a site may miss. */
enum { UNDONE = 16 };

int64_t nb_record_draw(void)
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		n = nb_clock_system() ^ (uint64_t)getpid() << 40;
	return (int64_t)(n >> 1 | 1);
}

int64_t nb_record_id(const json_t *record)
{
	int64_t id = nb_view_int(record, "id");

	return id > 0 ? id : 0;
}

json_t *nb_record_chain(json_t *record, int64_t id, int64_t was, int64_t base)
{
	json_object_set_new(record, "id", json_integer(id));
	json_object_set_new(record, "was", json_integer(was));
	json_object_set_new(record, "base", json_integer(base));
	return record;
}

json_t *nb_record_bare(const json_t *record)
{
	static const char *const links[] = { "id",   "was",  "base",
					     "from", "back", "undone" };
	/* json_copy takes no const value but changes nothing */
	json_t *bare = json_copy((json_t *)(uintptr_t)record);

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		json_object_del(bare, links[i]);
	return bare;
}

json_t *nb_record_undo(const json_t *armed)
{
	const json_t *back = json_object_get(armed, "back");
	json_t *undo, *undone = nb_record_undone(armed);

	nb_record_undone_add(undone, nb_record_id(armed),
			     nb_view_int(armed, "was"));
	if (!json_is_object(back)) {
		json_decref(undone);
		return NULL;
	}
	undo = nb_record_chain(nb_record_bare(back), nb_record_draw(),
			       nb_record_id(armed), nb_view_int(armed, "was"));
	json_object_set_new(undo, "undone", undone);
	return undo;
}

bool nb_record_undid(const json_t *record, int64_t id)
{
	const json_t *list = json_object_get(record, "undone"), *one;
	size_t i;

	for (i = 0; id > 0 && i < json_array_size(list); i++) {
		one = json_array_get(list, i);
		if (json_is_integer(one) && json_integer_value(one) == id)
			return true;
	}
	return false;
}

json_t *nb_record_undone(const json_t *record)
{
	json_t *list = json_object_get(record, "undone");

	return json_is_array(list) ? json_copy(list) : json_array();
}

void nb_record_undone_add(json_t *undone, int64_t armed, int64_t before)
{
	json_array_append_new(undone, json_integer(before));
	json_array_append_new(undone, json_integer(armed));
	while (json_array_size(undone) > 2 * UNDONE)
		json_array_remove(undone, 0);
}
