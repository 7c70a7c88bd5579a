// SPDX-License-Identifier: MIT
/*
 * Overrides of environment variables. Tables only grow and texts are never
 * freed, so a look-up needs no lock and NCCL may keep the texts. A look-up does
 * not log, because NCCL's logger may make look-ups itself. It leaves a note,
 * which nb_override_tell logs.
 */
#include "plugin/env/override.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/defs/ctx.h"
#include "plugin/hooks/hooks.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/relaxed.h"

/* Whether NCCL has read the override, and whether this was logged. */
enum met { NOT_MET, NOTING, MET, TOLD };

struct note {
	uint32_t met; /* accessed atomically */
	bool had;     /* the environment has a value for the variable */
	char old[64]; /* the environment's value of the variable, truncated */
};

struct entry {
	char name[NB_OVERRIDE_NAME];
	/*
	 * value of the override. NULL: the override was removed; hidden: NCCL
	 * must not find the variable. Accessed atomically.
	 */
	const char *value;
	uint32_t by; /* accessed atomically */
	struct note note;
};

/* A value that programs have set. It is constant once @ready is set. */
struct answer {
	uint32_t ready; /* accessed atomically */
	char name[NB_OVERRIDE_NAME];
	char value[sizeof(uint64_t) * 8];
	bool hides;
	struct note note;
};

static const char hidden[] = "";
static struct entry entries[NB_OVERRIDES];
static uint32_t nentries; /* accessed atomically */
static struct answer answers[NB_OVERRIDE_ANSWERS];
/* number of entries of answers[] in use; accessed atomically */
static uint32_t nanswers;
static char texts[NB_OVERRIDE_TEXTS];
static size_t ntexts;
static uint32_t on;    /* accessed atomically */
static uint64_t asked; /* number of look-ups by NCCL; accessed atomically */
/*
 * number of answers of programs that were invalid or too many; accessed
 * atomically
 */
static uint64_t dropped;

void nb_override_on(void)
{
	__atomic_store_n(&on, 1, __ATOMIC_RELEASE);
}

static void note_read(struct note *n, const char *plain)
{
	uint32_t was = NOT_MET;

	if (GET(n->met) != NOT_MET ||
	    !__atomic_compare_exchange_n(&n->met, &was, NOTING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	n->had = plain != NULL;
	snprintf(n->old, sizeof(n->old), "%s", plain ? plain : "");
	__atomic_store_n(&n->met, MET, __ATOMIC_RELEASE);
}

static struct entry *find_override(const char *name)
{
	uint32_t n = __atomic_load_n(&nentries, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

static bool good_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size && text[i]; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			return false;
	return true;
}

static bool same_answer(const struct answer *a, const char *name, const char *value)
{
	return __atomic_load_n(&a->ready, __ATOMIC_ACQUIRE) && !strcmp(a->name, name) &&
	       (value ? !a->hides && !strcmp(a->value, value) : a->hides);
}

/*
 * Keep a program's value until the process ends. Returns NULL if the table is
 * full.
 */
static struct answer *keep_answer(const char *name, const char *value)
{
	uint32_t n = __atomic_load_n(&nanswers, __ATOMIC_ACQUIRE);
	struct answer *a;

	for (uint32_t i = 0; i < n && i < NB_OVERRIDE_ANSWERS; i++)
		if (same_answer(&answers[i], name, value))
			return &answers[i];
	if (n >= NB_OVERRIDE_ANSWERS)
		return NULL;
	n = __atomic_fetch_add(&nanswers, 1, __ATOMIC_RELAXED);
	if (n >= NB_OVERRIDE_ANSWERS)
		return NULL;
	a = &answers[n];
	snprintf(a->name, sizeof(a->name), "%s", name);
	snprintf(a->value, sizeof(a->value), "%s", value ? value : "");
	a->hides = !value;
	__atomic_store_n(&a->ready, 1, __ATOMIC_RELEASE);
	return a;
}

static const char *count_dropped(const char *value)
{
	__atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
	return value;
}

/*
 * Returns the value that programs choose for variable @name. @value is the
 * value without programs; @plain is the environment's.
 */
static const char *ask_programs(const char *name, const char *value, const char *plain)
{
	struct ncclbpf_env c = { .is_set = value != NULL };
	size_t length = value ? strlen(value) : 0;
	char text[sizeof(uint64_t) * 8];
	struct answer *a;

	if (strlen(name) >= sizeof(c.name))
		return value;
	memcpy(&c.name, name, strlen(name));
	c.length = (uint32_t)length;
	if (value)
		memcpy(&c.value, value, length < sizeof(c.value) ? length : sizeof(c.value) - 1);
	nb_hooks_run(NB_HOOK_ENV, &c, sizeof(c));
	if (!c.answer)
		return value;
	memcpy(text, &c.answer0, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (c.answer > 2 || (c.answer == 1 && !good_text(text, sizeof(text))))
		return count_dropped(value);
	a = keep_answer(name, c.answer == 1 ? text : NULL);
	if (!a)
		return count_dropped(value);
	note_read(&a->note, plain);
	return a->hides ? NULL : a->value;
}

const char *nb_override_get(const char *name)
{
	const char *plain, *value, *other;
	struct entry *e;

	if (!name)
		return NULL;
	plain = value = getenv(name);
	if (!__atomic_load_n(&on, __ATOMIC_ACQUIRE))
		return plain;
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	e = find_override(name);
	other = e ? __atomic_load_n(&e->value, __ATOMIC_ACQUIRE) : NULL;
	if (other) {
		note_read(&e->note, plain);
		value = other == hidden ? NULL : other;
	}
	if (nb_hooks_on(NB_HOOK_ENV))
		value = ask_programs(name, value, plain);
	return value;
}

static bool good_name(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz0123456789_");

	return n && !name[n] && (name[0] < '0' || name[0] > '9');
}

static int check_variable(const char *name, const char *value, struct nb_err *err)
{
	if (!good_name(name))
		return nb_fail(err, NB_E_ARG, 1,
			       "\"%.80s\" is not a variable name (allowed: letters, digits and _)",
			       name);
	if (strlen(name) >= NB_OVERRIDE_NAME)
		return nb_fail(err, NB_E_LIMIT, 1, "the name has %zu characters (allowed: %d)",
			       strlen(name), NB_OVERRIDE_NAME - 1);
	if (value && strlen(value) >= NB_OVERRIDE_VALUE)
		return nb_fail(err, NB_E_LIMIT, 2, "%s: the value has %zu characters (allowed: %d)",
			       name, strlen(value), NB_OVERRIDE_VALUE - 1);
	if (value && !good_text(value, NB_OVERRIDE_VALUE))
		return nb_fail(err, NB_E_ARG, 2, "%s: the value has control characters", name);
	return 0;
}

static const char *new_text(const char *value)
{
	size_t size = strlen(value) + 1;
	char *to = texts + ntexts;

	if (size > sizeof(texts) - ntexts)
		return NULL;
	memcpy(to, value, size);
	ntexts += size;
	return to;
}

int nb_override_set(const char *name, const char *value, enum nb_override_by by, struct nb_err *err)
{
	struct entry *e = find_override(name);
	const char *have = e ? GET(e->value) : NULL, *text = hidden;
	int rc = check_variable(name, value, err);

	if (rc)
		return rc;
	if (!e && nentries == NB_OVERRIDES)
		return nb_fail(err, NB_E_FULL, 1, "%d variables are overridden already",
			       NB_OVERRIDES);
	if (value && have && have != hidden && !strcmp(have, value))
		return 0;
	if (value && !(text = new_text(value)))
		return nb_fail(err, NB_E_FULL, 2,
			       "%d bytes of values are in use, and NCCL may still hold any of them",
			       NB_OVERRIDE_TEXTS);
	if (!e) {
		e = &entries[nentries];
		snprintf(e->name, sizeof(e->name), "%s", name);
	}
	__atomic_store_n(&e->by, (uint32_t)by, __ATOMIC_RELAXED);
	__atomic_store_n(&e->value, text, __ATOMIC_RELEASE);
	__atomic_store_n(&e->note.met, NOT_MET, __ATOMIC_RELEASE);
	if (e == &entries[nentries])
		__atomic_store_n(&nentries, nentries + 1, __ATOMIC_RELEASE);
	return 0;
}

int nb_override_forget(const char *name, struct nb_err *err)
{
	struct entry *e = find_override(name);

	if (!e || !GET(e->value))
		return nb_fail(err, NB_E_NOENT, 1, "%.80s is not overridden", name);
	__atomic_store_n(&e->value, NULL, __ATOMIC_RELEASE);
	return 0;
}

/* Add an override from one line of a file. @dry: only check the line */
static int take_line(char *line, bool dry, struct nb_err *err)
{
	static const char word[] = "unset ";
	char *name = line + strspn(line, " \t"), *value;
	size_t n = strlen(name);

	while (n && strchr(" \t\r\n", name[n - 1]))
		name[--n] = '\0';
	if (!n || *name == '#')
		return 0;
	value = strchr(name, '=');
	if (!strncmp(name, word, sizeof(word) - 1)) {
		name += sizeof(word) - 1;
		value = NULL;
	} else if (value) {
		*value++ = '\0';
	} else {
		return nb_fail(err, NB_E_FORMAT, 0,
			       "the line is neither NAME=VALUE nor unset NAME");
	}
	return dry ? check_variable(name, value, err)
		   : nb_override_set(name, value, NB_OVERRIDE_FILE, err);
}

static int read_lines(FILE *f, bool dry, unsigned *number, struct nb_err *err)
{
	char line[NB_OVERRIDE_NAME + NB_OVERRIDE_VALUE + 64];
	int rc = 0;

	rewind(f);
	*number = 0;
	while (!rc && fgets(line, sizeof(line), f)) {
		++*number;
		if (!strchr(line, '\n') && strlen(line) == sizeof(line) - 1)
			return nb_fail(err, NB_E_LIMIT, 0, "the line is too long");
		rc = take_line(line, dry, err);
	}
	return rc;
}

void nb_override_file(const char *path)
{
	FILE *f = fopen(path, "re");
	struct nb_err err;
	unsigned number;

	if (!f) {
		nb_log(NB_LOG_WARN, "NCCLBPF_ENV: %.300s: %s; no variable is overridden", path,
		       strerror(errno));
		return;
	}
	if (read_lines(f, true, &number, &err))
		nb_log(NB_LOG_WARN, "NCCLBPF_ENV: %.300s:%u: %s; no variable is overridden", path,
		       number, err.text);
	else if (read_lines(f, false, &number, &err))
		nb_log(NB_LOG_WARN,
		       "NCCLBPF_ENV: %.300s:%u: %s; this line and all lines after it are ignored",
		       path, number, err.text);
	fclose(f);
}

static const char *by_word(uint32_t by)
{
	static const char *const words[] = {
		[NB_OVERRIDE_FILE] = "file",
		[NB_OVERRIDE_SHELL] = "shell",
		[NB_OVERRIDE_POLICY] = "policy",
	};

	return words[by];
}

static void log_override(struct note *n, const char *name, const char *value, uint32_t by)
{
	if (__atomic_load_n(&n->met, __ATOMIC_ACQUIRE) != MET)
		return;
	nb_log(NB_LOG_INFO, "NCCL finds %s %s%.200s, in place of %s%s (%s)", name,
	       value ? "= " : "not set", value ? value : "", n->had ? "= " : "not set", n->old,
	       by_word(by));
	__atomic_store_n(&n->met, TOLD, __ATOMIC_RELAXED);
}

static uint32_t answers_now(void)
{
	uint32_t n = __atomic_load_n(&nanswers, __ATOMIC_ACQUIRE);

	return n < NB_OVERRIDE_ANSWERS ? n : NB_OVERRIDE_ANSWERS;
}

void nb_override_tell(void)
{
	for (uint32_t i = 0; i < nentries; i++) {
		struct entry *e = &entries[i];
		const char *value = GET(e->value);

		if (value)
			log_override(&e->note, e->name, value == hidden ? NULL : value, GET(e->by));
	}
	for (uint32_t i = 0; i < answers_now(); i++) {
		struct answer *a = &answers[i];

		if (__atomic_load_n(&a->ready, __ATOMIC_ACQUIRE))
			log_override(&a->note, a->name, a->hides ? NULL : a->value,
				     NB_OVERRIDE_POLICY);
	}
}

static void put_override(struct nb_json *j, const char *name, const char *value, uint32_t by,
			 const struct note *n)
{
	bool met = __atomic_load_n(&n->met, __ATOMIC_ACQUIRE) >= MET;

	nb_json_obj(j);
	nb_json_kstr(j, "name", name);
	nb_json_kstr(j, "value", value);
	nb_json_kstr(j, "by", by_word(by));
	nb_json_kbool(j, "met", met);
	nb_json_kstr(j, "old", met && n->had ? n->old : NULL);
	nb_json_end_obj(j);
}

void nb_override_json(struct nb_json *j)
{
	nb_json_kbool(j, "in_use", GET(on));
	nb_json_ku64(j, "asked", GET(asked));
	nb_json_ku64(j, "dropped", GET(dropped));
	nb_json_karr(j, "variables");
	for (uint32_t i = 0; i < nentries; i++) {
		const char *value = GET(entries[i].value);

		if (value)
			put_override(j, entries[i].name, value == hidden ? NULL : value,
				     GET(entries[i].by), &entries[i].note);
	}
	for (uint32_t i = 0; i < answers_now(); i++)
		if (__atomic_load_n(&answers[i].ready, __ATOMIC_ACQUIRE))
			put_override(j, answers[i].name, answers[i].hides ? NULL : answers[i].value,
				     NB_OVERRIDE_POLICY, &answers[i].note);
	nb_json_end_arr(j);
}
