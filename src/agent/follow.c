/* SPDX-License-Identifier: MIT */
/* Following links, see follow.h. */
#include "follow.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define FALL_THROUGH __attribute__((fallthrough));
#else
#define FALL_THROUGH
#endif

void *xr_follow(void *at, size_t n)
{
	void *p = at;

	for (; n >= 16; n -= 16) {
		/* clang-format off */
		p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p;
		p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p;
		p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p;
		p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p;
		/* clang-format on */
	}
	for (; n > 0; n--)
		p = *(void *volatile *)p;
	return p;
}

void *xr_follow_storing(void *at, size_t n, size_t line)
{
	void *p = at;

	for (; n > 0; n--) {
		uintptr_t end = ((uintptr_t)p | (line - 1)) + 1;

		p = *(void *volatile *)p;
		*(volatile uintptr_t *)(end - sizeof(uintptr_t)) = (uintptr_t)n | 1;
	}
	return p;
}

void *xr_follow_evenly(void *at, size_t n)
{
	void *p = at;
	size_t turns = (n + 15) / 16;

	if (!n)
		return p;
	switch (n % 16) {
		do {
			/* clang-format off */
#define LOAD(i) p = *(void *volatile *)p; FALL_THROUGH case i:
		case 0: LOAD(15) LOAD(14) LOAD(13) LOAD(12) LOAD(11) LOAD(10) LOAD(9) LOAD(8)
			LOAD(7) LOAD(6) LOAD(5) LOAD(4) LOAD(3) LOAD(2) LOAD(1) p = *(void *volatile *)p;
			/* clang-format on */
		} while (--turns > 0);
	}
	return p;
}

/* The same with four times as many loads between two jumps, and as much around them; n: a multiple of 64. */
static void *follow_far(void *at, size_t n)
{
	void *p = at;
	size_t turns = n / 64;

	do {
		/* clang-format off */
#define LOADS4 p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p; p = *(void *volatile *)p;
		LOADS4 LOADS4 LOADS4 LOADS4 LOADS4 LOADS4 LOADS4 LOADS4
		LOADS4 LOADS4 LOADS4 LOADS4 LOADS4 LOADS4 LOADS4 LOADS4
		/* clang-format on */
	} while (--turns > 0);
	return p;
}

/* Time of one load of a word that holds its own address. */
static double lone_load_ns(void *(*walk_)(void *at, size_t n), double (*now_ns)(void))
{
	void *(*volatile walk)(void *at, size_t n) =
		walk_; /* the very code that walks will run, not a copy made to measure */
	enum { SHORT = 1024, LONG = 4096 };
	static void *self = &self;
	double t[2];

	walk(&self, SHORT);
	for (int i = 0; i < 2; i++) {
		double start = (now_ns(), now_ns()); /* the first look brings what looking needs */
		walk(&self, i ? LONG : SHORT);
		t[i] = now_ns() - start;
	}
	return (t[1] - t[0]) / (LONG - SHORT);
}

/* A load costs the more the shorter the loop: c / 16 in one, c / 64 in the other. */
double xr_follow_overhead_ns(double (*now_ns)(void))
{
	double near = lone_load_ns(xr_follow_evenly, now_ns), far = lone_load_ns(follow_far, now_ns);

	return near > far ? (near - far) * 4 / 3 : 0;
}

/* Several cursors: in registers as long as there are enough of them, which is the compiler's business. */
#define FOLLOW_MANY(k)                                                                                                 \
	static void follow_##k(void **at, size_t n)                                                                    \
	{                                                                                                              \
		void *p[k];                                                                                            \
		memcpy(p, at, sizeof p);                                                                               \
		for (; n > 0; n--)                                                                                     \
			for (int j = 0; j < (k); j++)                                                                  \
				p[j] = *(void *volatile *)p[j];                                                        \
		memcpy(at, p, sizeof p);                                                                               \
	}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("unroll-loops,peel-loops")
#endif
FOLLOW_MANY(2)
FOLLOW_MANY(3)
FOLLOW_MANY(4)
FOLLOW_MANY(5)
FOLLOW_MANY(6)
FOLLOW_MANY(7)
FOLLOW_MANY(8)
FOLLOW_MANY(9)
FOLLOW_MANY(10)
FOLLOW_MANY(11)
FOLLOW_MANY(12)
FOLLOW_MANY(13)
FOLLOW_MANY(14)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* More cursors than registers live in memory. Each has a load and a store of its own in the code, so that a core
 * that foresees which load needs which store is never wrong. */
#define STEP(j)                                                                                                        \
	case (j) + 1:                                                                                                  \
		at[j] = *(void *volatile *)at[j];                                                                      \
		FALL_THROUGH
#define STEPS_4(j) STEP((j) + 3) STEP((j) + 2) STEP((j) + 1) STEP(j)
#define STEPS_16(j) STEPS_4((j) + 12) STEPS_4((j) + 8) STEPS_4((j) + 4) STEPS_4(j)

static void follow_in_memory(void **at, unsigned k, size_t n)
{
	for (; n > 0; n--)
		switch (k) {
			STEPS_16(48)
			STEPS_16(32)
			STEPS_16(16)
			STEPS_16(0)
		default:
			break;
		}
}

void xr_follow_many(void **at, unsigned k, size_t n)
{
	static void (*const known[])(void **at, size_t n) = {
		NULL,     NULL,     follow_2,  follow_3,  follow_4,  follow_5,  follow_6,  follow_7,
		follow_8, follow_9, follow_10, follow_11, follow_12, follow_13, follow_14,
	};
	if (k > 1 && k < sizeof known / sizeof *known)
		known[k](at, n);
	else
		follow_in_memory(at, k, n);
}

/* ---- walks that share their links ------------------------------------------------------------------------------ */

/* The places of walks that share them, in order; and where whoever comes next goes on, from places that are spread
 * evenly over the walk at first. A walk of k cursors uses k of them. */
struct xr_rolling {
	struct xr_rolling *next;
	struct xr_agent_buffer *buffer;
	uint32_t *unit;
	size_t n;
	uint64_t key; /* of the words that say which places, and their order */
	int users;
	void *at[XR_CURSORS_MAX];
};

static struct xr_rolling *all;

/* Of what makes a walk, all but the number of its cursors, which is the fourth word. */
static uint64_t key_of(char **words, int n)
{
	uint64_t key = UINT64_C(0xcbf29ce484222325);

	for (int i = 0; i < n; i++)
		for (const char *c = words[i]; i != 3; c++) {
			key = (key ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
			if (!*c)
				break;
		}
	return key;
}

struct xr_rolling *xr_rolling_find(char **words, int n_words)
{
	uint64_t key = key_of(words, n_words);
	struct xr_rolling *r = all;

	while (r && r->key != key)
		r = r->next;
	if (r)
		r->users++;
	return r;
}

struct xr_rolling *xr_rolling_new(struct xr_agent_buffer *buffer, uint32_t *unit, size_t n, char **words, int n_words)
{
	struct xr_rolling *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->buffer = buffer;
	r->key = key_of(words, n_words);
	r->unit = unit;
	r->n = n;
	r->next = all;
	all = r;
	r->users = 1;
	return r;
}

const struct xr_agent_buffer *xr_rolling_buffer(const struct xr_rolling *rolling)
{
	return rolling->buffer;
}

uint32_t *xr_rolling_places(const struct xr_rolling *rolling, size_t *n)
{
	*n = rolling->n;
	return rolling->unit;
}

void xr_rolling_leave(struct xr_rolling *rolling)
{
	struct xr_rolling **r = &all;

	if (!rolling || --rolling->users > 0)
		return;
	while (*r != rolling)
		r = &(*r)->next;
	*r = rolling->next;
	if (rolling->buffer->owner == rolling)
		rolling->buffer->owner = NULL;
	free(rolling->unit);
	free(rolling);
}

void xr_rolling_ready(struct xr_rolling *r, int warm)
{
	if (r->buffer->owner != r)
		for (unsigned k = 0; k < XR_CURSORS_MAX; k++)
			r->at[k] = r->buffer->base +
			           (size_t)r->unit[(size_t)((double)r->n * k / XR_CURSORS_MAX)] * XR_UNIT_BYTES;
	r->buffer->owner = r;
	if (!warm) /* twice: some levels hold only what others have evicted */
		xr_follow_many(r->at, XR_CURSORS_MAX, 2 * r->n / XR_CURSORS_MAX + 1);
}

/* Cursors stand where others left their places, and leave them where they end. */
void xr_rolling_run(struct xr_rolling *r, unsigned cursors, size_t n)
{
	void *at[XR_CURSORS_MAX];
	unsigned apart = XR_CURSORS_MAX / cursors;

	for (unsigned k = 0; k < cursors; k++)
		at[k] = r->at[k * apart];
	if (cursors == 1)
		at[0] = xr_follow(at[0], n);
	else
		xr_follow_many(at, cursors, n);
	for (unsigned k = 0; k < cursors; k++)
		r->at[k * apart] = at[k];
}
