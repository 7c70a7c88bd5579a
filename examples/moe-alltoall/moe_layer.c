// SPDX-License-Identifier: MIT
/*
 * A mixture-of-experts layer. Each rank dispatches its tokens to the ranks of
 * their top-k experts. Each expert multiplies a token by its number plus one.
 * Combine brings the results back, and each rank checks all sums. Values are
 * whole numbers, so sums are exact.
 *
 * In the mode "direct", a rank puts each token and then adds their number by a
 * signal. In the mode "chunks", tokens go in chunks through a ring at the
 * receiver, which returns credits by signal. The sender fills a slot again
 * when its counter shows that the slot was sent.
 */
#include "moe.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	CHUNK = 16,  /* tokens of one chunk */
	CREDITS = 4, /* chunks of a sender at a receiver */
};

/* A token in a message. Its values follow the struct. */
struct token {
	uint32_t number, choice, expert, zero;
	uint32_t value[];
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- memory: for each phase and peer an outgoing and an incoming area ---- */

static size_t token_size(void)
{
	return sizeof(struct token) + 4 * (size_t)moe_options.hidden;
}

static size_t chunk_size(void)
{
	return sizeof(struct token) + CHUNK * token_size();
}

static size_t list_size(void)
{
	return (size_t)moe_options.ntokens * moe_options.topk * token_size();
}

static size_t area_size(void)
{
	return moe_options.chunks ? CREDITS * chunk_size() : list_size();
}

static size_t area_number(int phase, bool incoming, uint32_t peer)
{
	return (size_t)(2 * phase + incoming) * MOE_RANKS + peer;
}

static size_t area(int phase, bool incoming, uint32_t peer)
{
	return area_number(phase, incoming, peer) * area_size();
}

/* The tokens to or from a peer, in the window or (mode "chunks") beside it. */
static char *list_of(struct moe_rank *k, int phase, bool incoming, uint32_t peer)
{
	size_t n = area_number(phase, incoming, peer);

	return moe_options.chunks ? k->lists + n * list_size() : k->data + n * area_size();
}

/* ---- puts and signals ---- */

static void post(struct moe_rank *k, const struct moe_put *p)
{
	struct moe_posted *n = &k->posted[p->to];

	n->puts += p->size != 0;
	n->signals += p->add != 0;
	n->bytes += p->size;
	moe_carrier->put(k, p);
}

static uint32_t data_signal(int phase, uint32_t from)
{
	return (uint32_t)phase * 2 * MOE_RANKS + from;
}

static uint32_t credit_signal(int phase, uint32_t from)
{
	return data_signal(phase, MOE_RANKS + from);
}

/* Mode "direct": one put for each token. The signal has their number. */

/* Puts tokens in the order of their list, as a kernel would walk over them. */
static void send_direct(struct moe_rank *k, int phase)
{
	const size_t n = token_size();
	uint32_t sent[MOE_RANKS] = { 0 };

	for (size_t i = 0; i < k->nlisted; i++) {
		uint32_t p = k->listed[i];
		struct moe_put put = { .to = p,
				       .from = area(phase, false, p) + sent[p] * n,
				       .at = area(phase, true, k->r) + sent[p] * n,
				       .size = n };

		sent[p]++;
		post(k, &put);
	}
	for (uint32_t p = 0; p < MOE_RANKS; p++) {
		/* the upper half counts signals, the lower half counts tokens
		 */
		struct moe_put signal = { .to = p,
					  .signal = data_signal(phase, k->r),
					  .add = UINT64_C(1) << 32 | sent[p] };

		post(k, &signal);
	}
}

static void exchange_direct(struct moe_rank *k, int phase)
{
	send_direct(k, phase);
	for (uint32_t p = 0; p < MOE_RANKS; p++) {
		uint64_t v;

		while ((v = moe_carrier->signal(k, data_signal(phase, p))) >> 32 ==
		       k->seen[phase][p])
			moe_carrier->progress(k);
		k->seen[phase][p] = v >> 32;
		k->in[p].n = (uint32_t)v - (uint32_t)k->counted[phase][p];
		k->in[p].at = list_of(k, phase, true, p);
		k->counted[phase][p] = (uint32_t)v;
	}
}

/* Mode "chunks": a ring at both ends, with credits by signal. */

struct stream {
	uint64_t sent;	  /* number of chunks of this exchange */
	uint64_t credits; /* value of the signal when the exchange began */
	uint32_t at;	  /* tokens sent */
	bool out_done, in_done;
};

static void stream_send(struct moe_rank *k, int phase, uint32_t p, struct stream *s)
{
	uint64_t number = k->counted[phase][p];
	size_t slot = number % CREDITS * chunk_size();
	uint32_t counter = (uint32_t)phase * MOE_RANKS + p;
	uint32_t left = k->out[p].n - s->at;
	struct token *head = (struct token *)(void *)(k->data + area(phase, false, p) + slot);
	struct moe_put put = { .to = p,
			       .from = area(phase, false, p) + slot,
			       .at = area(phase, true, k->r) + slot,
			       .signal = data_signal(phase, k->r),
			       .add = 1,
			       .counter = counter,
			       .count = true };

	if (s->out_done ||
	    s->sent - (moe_carrier->signal(k, credit_signal(phase, p)) - s->credits) >= CREDITS ||
	    moe_carrier->counter(k, counter) + CREDITS <= number)
		return;
	*head = (struct token){ .number = left < CHUNK ? left : CHUNK,
				.choice = left <= CHUNK }; /* the last */
	put.size = sizeof(*head) + head->number * token_size();
	memcpy(head + 1, k->out[p].at + s->at * token_size(), head->number * token_size());
	post(k, &put);
	s->at += head->number;
	s->out_done = head->choice;
	s->sent++;
	k->counted[phase][p]++;
}

static void stream_take(struct moe_rank *k, int phase, uint32_t p, struct stream *s)
{
	size_t slot = k->seen[phase][p] % CREDITS;
	const char *at = k->data + area(phase, true, p) + slot * chunk_size();
	const struct token *head = (const struct token *)(const void *)at;
	struct moe_put credit = { .to = p, .signal = credit_signal(phase, k->r), .add = 1 };
	struct moe_list *in = &k->in[p];

	if (s->in_done || moe_carrier->signal(k, data_signal(phase, p)) == k->seen[phase][p])
		return;
	moe_need(head->number <= CHUNK &&
			 in->n + head->number <= moe_options.ntokens * moe_options.topk,
		 "a chunk has too many tokens");
	memcpy(in->at + in->n * token_size(), head + 1, head->number * token_size());
	in->n += head->number;
	s->in_done = head->choice;
	k->seen[phase][p]++;
	post(k, &credit);
}

static void exchange_chunks(struct moe_rank *k, int phase)
{
	struct stream s[MOE_RANKS];
	bool busy = true;

	memset(s, 0, sizeof(s));
	for (uint32_t p = 0; p < MOE_RANKS; p++) {
		/* all credits of the previous exchange have come back */
		while (moe_carrier->signal(k, credit_signal(phase, p)) < k->counted[phase][p])
			moe_carrier->progress(k);
		s[p].credits = k->counted[phase][p];
		k->in[p] = (struct moe_list){ 0, list_of(k, phase, true, p) };
	}
	while (busy) {
		busy = false;
		for (uint32_t p = 0; p < MOE_RANKS; p++) {
			stream_send(k, phase, p, &s[p]);
			stream_take(k, phase, p, &s[p]);
			busy |= !s[p].out_done || !s[p].in_done;
		}
		moe_carrier->progress(k);
	}
}

static void exchange(struct moe_rank *k, int phase)
{
	if (moe_options.chunks)
		exchange_chunks(k, phase);
	else
		exchange_direct(k, phase);
}

/* Returns the next token for a peer, which the caller fills. */
static struct token *out_token(struct moe_rank *k, uint32_t peer)
{
	struct moe_list *l = &k->out[peer];

	k->listed[k->nlisted++] = (uint8_t)peer;
	return (struct token *)(void *)(l->at + l->n++ * token_size());
}

static const struct token *in_token(const struct moe_list *l, uint32_t i)
{
	return (const struct token *)(const void *)(l->at + i * token_size());
}

/* ---- the layer ---- */

static uint32_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(x >> 32);
}

/* Choose the experts of a token, all different. */
static void route(uint32_t r, int round, uint32_t number, uint32_t *expert)
{
	uint64_t seed = ((uint64_t)r << 48) + ((uint64_t)round << 24) + number;
	uint32_t first = mix(seed) % 100 < moe_options.skew ? 0 : mix(seed * 3) % MOE_EXPERTS;

	for (uint32_t c = 0; c < moe_options.topk; c++)
		expert[c] = (first + c * (1 + 2 * (mix(seed * 5) % 4))) % MOE_EXPERTS;
}

static uint32_t rank_of(uint32_t expert)
{
	return expert / (MOE_EXPERTS / MOE_RANKS);
}

static uint32_t value_of(uint32_t r, int round, uint32_t number, uint32_t i)
{
	return r * 1000003 + (uint32_t)round * 7919 + number * 31 + i;
}

static void lists_begin(struct moe_rank *k, int phase)
{
	k->nlisted = 0;
	for (uint32_t p = 0; p < MOE_RANKS; p++)
		k->out[p] = (struct moe_list){ 0, list_of(k, phase, false, p) };
}

static double dispatch(struct moe_rank *k, int round)
{
	double begun;

	lists_begin(k, 0);
	for (uint32_t t = 0; t < moe_options.ntokens; t++) {
		uint32_t expert[MOE_EXPERTS];

		route(k->r, round, t, expert);
		for (uint32_t c = 0; c < moe_options.topk; c++) {
			struct token *o = out_token(k, rank_of(expert[c]));

			*o = (struct token){ t, c, expert[c], 0 };
			for (uint32_t i = 0; i < moe_options.hidden; i++)
				o->value[i] = value_of(k->r, round, t, i);
		}
	}
	moe_meet();
	begun = now_ms();
	exchange(k, 0);
	begun = now_ms() - begun;
	moe_carrier->flush(k);
	return begun;
}

static uint64_t combine(struct moe_rank *k)
{
	uint64_t tokens = 0;

	lists_begin(k, 1);
	for (uint32_t p = 0; p < MOE_RANKS; p++) {
		tokens += k->in[p].n;
		for (uint32_t i = 0; i < k->in[p].n; i++) {
			const struct token *t = in_token(&k->in[p], i);
			struct token *o = out_token(k, p);

			moe_need(rank_of(t->expert) == k->r, "a token came to a wrong rank");
			*o = *t;
			for (uint32_t v = 0; v < moe_options.hidden; v++)
				o->value[v] = t->value[v] * (t->expert + 1);
		}
	}
	exchange(k, 1);
	return tokens;
}

static void check(const struct moe_rank *k, int round)
{
	const size_t hidden = moe_options.hidden;
	uint32_t *sum = calloc((size_t)moe_options.ntokens * hidden, sizeof(*sum));
	uint64_t n = 0;

	moe_need(sum != NULL, "memory");
	for (uint32_t p = 0; p < MOE_RANKS; p++)
		for (uint32_t i = 0; i < k->in[p].n; i++, n++) {
			const struct token *t = in_token(&k->in[p], i);

			moe_need(t->number < moe_options.ntokens, "a token has a wrong number");
			for (size_t v = 0; v < hidden; v++)
				sum[t->number * hidden + v] += t->value[v];
		}
	moe_need(n == (uint64_t)moe_options.ntokens * moe_options.topk, "results are missing");
	for (uint32_t t = 0; t < moe_options.ntokens; t++) {
		uint32_t expert[MOE_EXPERTS], factor = 0;

		route(k->r, round, t, expert);
		for (uint32_t c = 0; c < moe_options.topk; c++)
			factor += expert[c] + 1;
		for (uint32_t v = 0; v < hidden; v++)
			moe_need(sum[t * hidden + v] == factor * value_of(k->r, round, t, v),
				 "a sum is wrong");
	}
	free(sum);
}

double moe_layer_round(struct moe_rank *k, int round, uint64_t *tokens)
{
	double ms;

	if (moe_carrier->collective_start)
		moe_carrier->collective_start(k);
	ms = dispatch(k, round);
	*tokens += combine(k);
	check(k, round);
	moe_carrier->flush(k);
	if (moe_carrier->collective_wait)
		moe_carrier->collective_wait(k);
	return ms;
}

void moe_layer_open(struct moe_rank *k)
{
	size_t tokens = (size_t)moe_options.ntokens * moe_options.topk;

	/* dispatch: the actual number of tokens; combine: the largest number */
	k->listed = malloc(MOE_RANKS * tokens);
	if (moe_options.chunks)
		k->lists = malloc(4 * MOE_RANKS * list_size());
	moe_need(k->listed && (k->lists || !moe_options.chunks), "memory");
	moe_carrier->open(k, 4 * MOE_RANKS * area_size());
	moe_meet();
}

void moe_layer_close(struct moe_rank *k)
{
	moe_meet();
	moe_carrier->close(k);
	free(k->listed);
	free(k->lists);
}
