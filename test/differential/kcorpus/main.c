// SPDX-License-Identifier: MIT
// The agreement table: kernel's verdicts against ours, program by program.
// What the kernel refuses and we accept must have a reason in explained.txt;
// what it is the other way round is counted by our finding.
//
//   kcorpus EXPLAINED (OBJECT | LINES)...
//   kcorpus permitted      does the kernel judge programs of ours?
//   MUTANTS=n      each program n times with places changed at random
//                  (ORACLE_SEED=), for people to look at
//   SHOW=word      our refusals of that class in full; "all"; "foreign";
//                  "privileged"; "old" and "mended", verdicts that the
//                  running kernel is too old for; "bound"; "laxer";
//                  "unloaded"; "expected"; "mutants"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/differential/kcorpus/kcorpus.h"

enum { MAX_EXPLAINED = 512, MAX_CLASSES = 128, LINE = 512 };

/*
 * What must hold: of the programs that the kernel accepts, per cent; and per
 * mille what of the C files was reached, less two or three programs; and what
 * of all that is not about objects of a kernel, by our own rules.
 */
enum { LEAST_ACCEPTED = 95, FLOOR_STRICT = 952, FLOOR_ROOT = 980, FLOOR_OURS = 970 };

/* side | program pattern | text of the refusal | reason */
struct explained {
	char line[LINE];
	const char *side, *pattern, *text, *why;
	unsigned used;
};

static struct explained explained[MAX_EXPLAINED];
static unsigned nexplained;

struct class
{
	const char *word;
	unsigned n, named;
};

static struct class refused[MAX_CLASSES], needs[MAX_CLASSES];

struct counts {
	unsigned tried, kind[KC_OURS + 1], foreign_ok;
	unsigned both_accept, privileged, both_refuse, stricter, stricter_named, laxer, laxer_named,
		unexpected, objects, old, mended;
	/* Of the C files progs/verifier_*.c alone: the verdict is the same for
	 * any type, the kernel accepts, so do we, also as root or by our own
	 * rules. */
	unsigned free, free_foreign, free_accepts, free_ours, free_strict;
	unsigned long steps;
};

static struct counts n;
static const char *show = "";

static char *trim(char *s)
{
	char *end;

	while (*s == ' ' || *s == '\t')
		s++;
	end = s + strlen(s);
	while (end > s && strchr(" \t\n", end[-1]))
		*--end = '\0';
	return s;
}

static int read_explained(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		return -1;
	}
	while (nexplained < MAX_EXPLAINED) {
		struct explained *e = &explained[nexplained];
		char *part[4], *p = e->line;
		unsigned k = 0;

		if (!fgets(e->line, sizeof(e->line), f))
			break;
		for (; p && k < 4; k++) {
			char *bar = k < 3 ? strchr(p, '|') : NULL;

			part[k] = p;
			p = bar ? bar + 1 : NULL;
			if (bar)
				*bar = '\0';
			part[k] = trim(part[k]);
		}
		if (e->line[0] == '#' || k < 4)
			continue;
		e->side = part[0];
		e->pattern = part[1];
		e->text = part[2];
		e->why = part[3];
		nexplained++;
	}
	fclose(f);
	return 0;
}

/* The first row for this program whose text is in @said. */
static const struct explained *explain(const struct kc_prog *p, const char *side, const char *said)
{
	char name[256];

	snprintf(name, sizeof(name), "%s:%s", p->file, p->name);
	for (unsigned i = 0; i < nexplained; i++) {
		struct explained *e = &explained[i];

		if (strcmp(e->side, side) != 0 || !strstr(said, e->text) ||
		    fnmatch(e->pattern, name, 0))
			continue;
		e->used++;
		return e;
	}
	return NULL;
}

static struct class *class_of(struct class *all, const char *word)
{
	unsigned i = 0;

	while (i + 1 < MAX_CLASSES && all[i].word && strcmp(all[i].word, word) != 0)
		i++;
	all[i].word = word;
	return &all[i];
}

static bool shown(const char *what)
{
	return !strcmp(show, what) || !strcmp(show, "all");
}

/* Does the running kernel accept what the source wants refused, as we do? */
static bool mended(const struct kc_prog *p)
{
	return p->kernel == 1 && p->expected == 0 && !p->ours;
}

static void compare(const struct kc_prog *p)
{
	const struct explained *e;
	struct class *c;

	n.steps += p->steps;
	if (mended(p)) {
		n.mended++;
		if (shown("mended"))
			printf("--- %s:%s\n%s", p->file, p->name, p->text);
	} else if (p->kernel && p->privileged) {
		n.both_accept += p->ours;
		n.privileged += !p->ours;
		if (!p->ours && shown("privileged"))
			printf("--- %s:%s\n%s", p->file, p->name, p->text);
	} else if (!p->kernel && !p->ours) {
		n.both_refuse++;
	} else if (p->kernel) {
		c = class_of(refused, p->cls);
		c->n++;
		n.stricter++;
		e = explain(p, "object", p->text);
		n.objects += e != NULL;
		if (!e)
			e = explain(p, "ours", p->text);
		n.stricter_named += e != NULL;
		c->named += e != NULL;
		if (shown(p->cls) || (!e && !strcmp(show, "unnamed")))
			printf("--- %s:%s\n%s", p->file, p->name, p->text);
	} else if (p->expected == 1) {
		/* The source wants what the running kernel cannot do yet. */
		n.old++;
		if (shown("old"))
			printf("--- %s:%s: the kernel says: %s\n", p->file, p->name, p->reason);
	} else {
		n.laxer++;
		e = explain(p, "kernel", p->reason);
		n.laxer_named += e != NULL;
		if (!e || shown("laxer"))
			printf("%s: %s:%s: the kernel says: %s%s%s\n",
			       e ? "explained" : "not explained", p->file, p->name, p->reason,
			       e ? " | " : "", e ? e->why : "");
	}
}

/* The programs that are counted elsewhere, too: 824 of Linux 6.12. */
static void count_free(const struct kc_prog *p)
{
	if (strncmp(p->file, "verifier_", 9) != 0 || (p->kind != KC_OURS && p->kind != KC_FOREIGN))
		return;
	n.free++;
	n.free_foreign += p->kind == KC_FOREIGN;
	if (p->kind == KC_OURS && p->kernel == 1 && !mended(p)) {
		n.free_accepts++;
		n.free_ours += p->ours || p->privileged;
		n.free_strict += p->ours != 0;
	}
}

static void count(const struct kc_prog *p)
{
	n.tried++;
	count_free(p);
	n.kind[p->kind]++;
	if (p->kernel >= 0 && p->expected >= 0 && p->kernel != p->expected) {
		n.unexpected++;
		if (shown("expected"))
			printf("expected %d, kernel %d: %s:%s: %s\n", p->expected, p->kernel,
			       p->file, p->name, p->reason);
	}
	switch (p->kind) {
	case KC_UNLOADED:
		if (shown("unloaded"))
			printf("not loaded: %s:%s\n", p->file, p->name);
		break;
	case KC_BOUND:
		if (shown("bound"))
			printf("bound: %s:%s: %s\n", p->file, p->name, p->reason);
		break;
	case KC_FOREIGN:
		class_of(needs, p->need)->n++;
		n.foreign_ok += p->kernel == 1;
		if (shown("foreign"))
			printf("foreign: %s:%s: %s\n", p->file, p->name, p->need);
		break;
	case KC_OURS:
		compare(p);
		break;
	}
}

static int by_count(const void *a, const void *b)
{
	const struct class *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->word && y->word ? strcmp(x->word, y->word) : 0;
}

static double percent(unsigned part, unsigned whole)
{
	return whole ? 100.0 * part / whole : 0.0;
}

static void print_table(void)
{
	unsigned ours = n.kind[KC_OURS], both = n.both_accept + n.privileged,
		 accepts = both + n.stricter;

	printf("\n| programs | number |\n|---|---|\n");
	printf("| in the corpus | %u |\n", n.tried);
	printf("| not loaded alone (they attach to kernel functions, or libbpf "
	       "does not take the object) | %u |\n",
	       n.kind[KC_UNLOADED]);
	printf("| verdict or message depends on the program type | %u |\n", n.kind[KC_BOUND]);
	printf("| need what exists in a kernel only | %u (the kernel accepts "
	       "%u) |\n",
	       n.kind[KC_FOREIGN], n.foreign_ok);
	printf("| **compared** | **%u** (the kernel accepts %u) |\n", ours, accepts);
	printf("| both accept | %u (%.1f %%) |\n", n.both_accept, percent(n.both_accept, accepts));
	printf("| both accept, of programs that are not about objects of a "
	       "kernel | %u of %u (%.1f %%) |\n",
	       n.both_accept, accepts - n.objects, percent(n.both_accept, accepts - n.objects));
	printf("| we too, had we the kernel's rule for root: unwritten stack "
	       "may be read | %u (together %.1f %%) |\n",
	       n.privileged, percent(both, accepts));
	printf("| these two, of the C files `progs/verifier_*.c` alone (%u "
	       "programs whatever the type, %u of them in need of a kernel) | "
	       "%u of %u (%.1f %%) |\n",
	       n.free, n.free_foreign, n.free_ours, n.free_accepts,
	       percent(n.free_ours, n.free_accepts));
	printf("| of these files, by our own rules alone | %u of %u (%.1f %%) "
	       "|\n",
	       n.free_strict, n.free_accepts, percent(n.free_strict, n.free_accepts));
	printf("| both refuse | %u |\n", n.both_refuse);
	printf("| only we refuse | %u, of which by design %u |\n", n.stricter, n.stricter_named);
	printf("| only the kernel refuses | %u, explained %u |\n", n.laxer, n.laxer_named);
	printf("| only the running kernel refuses, which is older than the "
	       "source: that expects success | %u |\n",
	       n.old);
	printf("| only the running kernel accepts, which is older or newer "
	       "than the source: that expects a refusal | %u |\n",
	       n.mended);
	qsort(refused, MAX_CLASSES, sizeof(refused[0]), by_count);
	printf("\n| our finding, where only we refuse | programs | by design "
	       "|\n|---|---|---|\n");
	for (unsigned i = 0; refused[i].n; i++)
		printf("| %s | %u | %u |\n", refused[i].word, refused[i].n, refused[i].named);
}

static void print_explained(const char *side, const char *head)
{
	printf("\n| %s | programs |\n|---|---|\n", head);
	for (unsigned i = 0; i < nexplained; i++)
		if (explained[i].used && !strcmp(explained[i].side, side)) {
			unsigned sum = 0;

			for (unsigned k = 0; k < nexplained; k++)
				if (!strcmp(explained[k].side, side) &&
				    !strcmp(explained[k].why, explained[i].why)) {
					sum += explained[k].used;
					explained[k].used = 0;
				}
			printf("| %s | %u |\n", explained[i].why, sum);
		}
}

/* Of the mutants: what has no row, with an example each. */
static void print_mutants(void)
{
	const struct kc_mutated *m = kc_mutated();
	const struct kc_prog any = { .file = "mutant", .name = "" };

	if (!m->tried)
		return;
	printf("\n%u mutants; we accept %u, of these the kernel %u; we know "
	       "dead what it refuses in %u\n",
	       m->tried, m->ours, m->both, m->dead);
	for (unsigned i = 0; i < m->nwords; i++) {
		const struct kc_words *w = &m->words[i];
		const struct explained *e = explain(&any, "kernel", w->text);

		if (!e)
			e = explain(&any, "mutant", w->text);
		if (e && !shown("mutants"))
			continue;
		printf("%s: %u mutants: %s%s%s\n%s", e ? "explained" : "not explained", w->n,
		       w->text, e ? " | " : "", e ? e->why : "", w->program);
	}
}

static unsigned test(unsigned number, bool ok, const char *claim)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", number, claim);
	return !ok;
}

/* Is @part at least @least per mille of what the kernel accepts there? */
static unsigned reach(unsigned number, unsigned part, unsigned least, const char *rules)
{
	char text[100];

	snprintf(text, sizeof(text), "of the C files at least %u.%u %% are accepted by %s",
		 least / 10, least % 10, rules);
	return test(number, part * 1000 >= n.free_accepts * least, text);
}

/* Returns how many of the claims do not hold. */
static unsigned claims(void)
{
	unsigned ours = n.both_accept + n.privileged, accepts = ours + n.stricter, bad;

	printf("\n");
	bad = test(1, n.laxer == n.laxer_named, "what only the kernel refuses is explained");
	bad += test(2,
		    ours * 100 >= accepts * LEAST_ACCEPTED &&
			    n.free_ours * 100 >= n.free_accepts * LEAST_ACCEPTED,
		    "of what the kernel accepts 95 in 100 are accepted");
	bad += test(3, n.free_accepts + n.both_refuse > 500, "there are hundreds of programs");
	bad += reach(4, n.free_strict, FLOOR_STRICT, "our own rules");
	bad += reach(5, n.free_ours, FLOOR_ROOT, "the kernel's for root");
	bad += test(6, n.both_accept * 1000 >= (accepts - n.objects) * FLOOR_OURS,
		    "of those without objects of a kernel at least 97.0 % "
		    "are accepted by our own rules");
	return bad;
}

int main(int argc, char **argv)
{
	struct kc_prog *all = NULL;
	struct nb_arena arena;

	if (getenv("SHOW"))
		show = getenv("SHOW");
	if (argc == 2 && !strcmp(argv[1], "permitted"))
		return !kc_permitted();
	if (argc < 3 || read_explained(argv[1]))
		return 64;
	nb_arena_init(&arena, 0);
	for (int i = 2; i < argc; i++)
		if ((strstr(argv[i], ".lines") ? kc_lines : kc_file)(&all, argv[i], &arena))
			printf("libbpf does not open %s\n", argv[i]);
	for (const struct kc_prog *p = all; p; p = p->next)
		count(p);
	print_table();
	print_explained("object", "why only we refuse: objects of a kernel");
	print_explained("ours", "why only we refuse, by design");
	print_explained("kernel", "why only the kernel refuses");
	qsort(needs, MAX_CLASSES, sizeof(needs[0]), by_count);
	if (shown("foreign"))
		for (unsigned i = 0; needs[i].n; i++)
			printf("%4u %s\n", needs[i].n, needs[i].word);
	if (n.unexpected)
		printf("\n%u verdicts of the running kernel are not what the "
		       "source expects\n",
		       n.unexpected);
	nb_arena_fini(&arena);
	print_mutants();
	return claims() != 0;
}
