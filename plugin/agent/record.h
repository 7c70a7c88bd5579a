// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_RECORD_H
#define NB_PLUGIN_AGENT_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The chain of a communicator's records (key order/record/COMM). Each write has
 * a random number (id) and names the record that it replaces (was). An outcome
 * also names the record before the arming (base). A record that comes after
 * roll-backs names the records of these (undone), which a site may have copied
 * last. Revisions cannot order records: a store that is restored from a backup
 * uses the same revisions again for other records.
 */
int64_t nb_record_draw(void);
/* Returns the record's id; 0 if it has none. */
int64_t nb_record_id(const json_t *record);
/*
 * Give @record its place in the chain. Takes ownership of @record, and returns
 * it.
 */
json_t *nb_record_chain(json_t *record, int64_t id, int64_t was, int64_t base);
/* Returns true if the record names @id among those that were rolled back. */
bool nb_record_undid(const json_t *record, int64_t id);
/* Returns a new list of the ids that @record (may be NULL) names so. */
json_t *nb_record_undone(const json_t *record);
/* Add an arming that is rolled back, and the record before it, to the list. */
void nb_record_undone_add(json_t *undone, int64_t armed, int64_t before);
/* Returns @record without its place in the chain and without its fallback. */
json_t *nb_record_bare(const json_t *record);
/*
 * Returns the record that rolls the armed record @armed back, or NULL if
 * @armed has no fallback.
 */
json_t *nb_record_undo(const json_t *armed);

/*
 * The state of a record whose store has lost the sites' last one. It makes all
 * sites publish their copies and accept no other record (coord_mend.c).
 */
#define NB_RECORD_LOST "lost"

#endif
