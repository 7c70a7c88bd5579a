// SPDX-License-Identifier: MIT
/* The maker of a generation, for the commands status and policy history. */
#include "plugin/control/commands/maker.h"

#include <string.h>

void nb_cmd_maker(struct nb_json *j, const struct nb_seg_maker *maker)
{
	static const char *const members[] = { "user", "host", "process", "rollout" };
	const bool unseen = maker->pid == NB_SEG_MAKER_UNSEEN;
	struct nb_seg_maker copy = *maker;
	char *rest = copy.text;

	nb_json_ku64_if(j, "uid", maker->pid, maker->uid);
	nb_json_ku64_if(j, "pid", maker->pid, unseen ? 0 : maker->pid);
	nb_json_ku64_if(j, "start", maker->start != 0, maker->start);
	if (!*copy.text) {
		nb_json_knull(j, "by");
		return;
	}
	nb_json_kobj(j, "by");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *text = strsep(&rest, ",");

		nb_json_kstr(j, members[i], text && *text ? text : NULL);
	}
	nb_json_end_obj(j);
}
