/* SPDX-License-Identifier: MIT */
#include "phases.h"
#include "buffer.h"
#include "follow.h"

#include <stdlib.h>
#include <string.h>

static const char *const access_names[] = {"read", "write", "touch", NULL};

enum {
	LINE_MIN = 16, /* no line is smaller: words of the same 16 bytes are equivalent */
	SPARSE = 1024, /* bytes of buffer per place */
};

/* ---- from words to phases -------------------------------------------------------------------------------------- */

unsigned long long xr_phases_number(struct xr_agent_words *w, const char *what)
{
	const char *at;
	unsigned long long value = 0;

	if (w->wrong)
		return 0;
	if (w->at >= w->n) {
		w->wrong = what;
		return 0;
	}
	/* not strtoull(): lines have thousands of numbers, and simulators are slow */
	for (at = w->word[w->at]; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (unsigned long long)(*at - '0');
	if (*at || at == w->word[w->at] || at - w->word[w->at] > 20)
		w->wrong = what;
	w->at++;
	return value;
}

int xr_phases_name(struct xr_agent_words *w, const char *const *names, const char *what)
{
	if (!w->wrong && w->at < w->n)
		for (int i = 0; names[i]; i++)
			if (strcmp(w->word[w->at], names[i]) == 0) {
				w->at++;
				return i;
			}
	if (!w->wrong)
		w->wrong = what;
	return 0;
}

struct span {
	unsigned long long base, stride, count;
};

static struct span take_span(struct xr_agent_words *w, unsigned long long bytes)
{
	struct span span;
	unsigned long long last;

	span.base = xr_phases_number(w, "base");
	span.stride = xr_phases_number(w, "stride");
	span.count = xr_phases_number(w, "count");
	last = span.count ? (span.count - 1) * span.stride : 0;
	if (w->wrong)
		return span;
	if (span.count == 0 || span.count > UINT32_MAX || span.base > bytes || last > bytes - span.base ||
	    span.base + last + sizeof(void *) > bytes)
		w->wrong = "addresses inside the buffer";
	else if (span.base % sizeof(void *) || (span.count > 1 && span.stride % sizeof(void *)))
		w->wrong = "addresses on whole words";
	return span;
}

static void fill_in(struct xr_agent_phase *p, const struct span *span)
{
	for (unsigned long long j = 0; j < span->count; j++)
		p->unit[p->n++] = (uint32_t)((span->base + j * span->stride) / XR_UNIT_BYTES);
}

int xr_phases_take(struct xr_agent_words *w, struct xr_agent_phase *p, unsigned long long bytes)
{
	unsigned long long seed, n_spans, total = 0;
	struct span *span;

	p->access = (enum xr_agent_access)xr_phases_name(w, access_names, "read, write or touch");
	p->passes = (unsigned)xr_phases_number(w, "passes");
	p->timed = xr_phases_number(w, "timed") != 0;
	seed = xr_phases_number(w, "seed");
	n_spans = xr_phases_number(w, "number of spans");
	if (!w->wrong && n_spans > (unsigned long long)(w->n - w->at))
		w->wrong = "base, stride and count of each span";
	span = w->wrong ? NULL : malloc(((size_t)n_spans + 1) * sizeof *span);
	if (!span)
		return -1;
	for (unsigned long long i = 0; i < n_spans && !w->wrong; i++) {
		span[i] = take_span(w, bytes);
		total += span[i].count;
	}
	if (!w->wrong && (total == 0 || total > UINT32_MAX))
		w->wrong = "at least one address";
	p->unit = w->wrong ? NULL : malloc((size_t)total * sizeof *p->unit);
	for (unsigned long long i = 0; i < n_spans && p->unit; i++)
		fill_in(p, &span[i]);
	p->apart = p->unit && n_spans == 1 && (span[0].count == 1 || span[0].stride >= sizeof(void *));
	free(span);
	if (!p->unit)
		return -1;
	if (seed)
		xr_shuffle32(p->unit, p->n, seed);
	return 0;
}

/* ---- which word of its place each phase may use ---------------------------------------------------------------- */

/* One bit per word of the buffer. */
struct words_taken {
	unsigned char *by_link, *by_store;
	size_t bytes;
};

static uint32_t slot_of(uint32_t unit, unsigned slot)
{
	uint32_t per_line = LINE_MIN / XR_UNIT_BYTES, word = sizeof(void *) / XR_UNIT_BYTES;

	return unit / per_line * per_line + (unit + slot * word) % per_line;
}

static size_t word_of(uint32_t unit, unsigned slot)
{
	return slot_of(unit, slot) / (sizeof(void *) / XR_UNIT_BYTES);
}

static int is_set(const unsigned char *bits, size_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* Links need words of their own; stores may share words among each other. */
static int slot_is_free(const struct words_taken *t, const struct xr_agent_phase *p, unsigned slot)
{
	for (size_t i = 0; i < p->n; i++) {
		size_t word = word_of(p->unit[i], slot);

		if (word / 8 >= t->bytes || is_set(t->by_link, word) ||
		    (p->access == XR_AGENT_READ && is_set(t->by_store, word)))
			return 0;
	}
	return 1;
}

/* Takes the words of this slot; 0 when the walk visits one of them twice, which a ring cannot. */
static int take_slot(struct words_taken *t, const struct xr_agent_phase *p, unsigned slot)
{
	unsigned char *bits = p->access == XR_AGENT_READ ? t->by_link : t->by_store;

	for (size_t i = 0; i < p->n; i++) {
		size_t word = word_of(p->unit[i], slot);

		if (p->access == XR_AGENT_READ && is_set(bits, word)) {
			while (i-- > 0) {
				word = word_of(p->unit[i], slot);
				bits[word / 8] &= (unsigned char)~(1u << word % 8);
			}
			return 0;
		}
		bits[word / 8] |= (unsigned char)(1u << word % 8);
	}
	return 1;
}

static int apply_slot(struct words_taken *t, struct xr_agent_phase *p)
{
	for (unsigned slot = 0; slot < LINE_MIN / sizeof(void *); slot++)
		if (slot_is_free(t, p, slot) && take_slot(t, p, slot)) {
			for (size_t i = 0; i < p->n; i++)
				p->unit[i] = slot_of(p->unit[i], slot);
			return 1;
		}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Does the walk visit a word twice? For a walk over few places of a large buffer, quicker than bits for all of it. */
static int visits_twice(const struct xr_agent_phase *p)
{
	uint32_t *sorted = malloc((p->n + 1) * sizeof *sorted);
	int twice = 0;

	if (!sorted)
		return 1;
	memcpy(sorted, p->unit, p->n * sizeof *sorted);
	qsort(sorted, p->n, sizeof *sorted, by_value);
	for (size_t i = 1; i < p->n && !twice; i++)
		twice = sorted[i] / (sizeof(void *) / XR_UNIT_BYTES) ==
		        sorted[i - 1] / (sizeof(void *) / XR_UNIT_BYTES);
	free(sorted);
	return twice;
}

/* The first ring chooses first, for a single ring must be where the specification says; then the stores, which have
 * no other way; then other rings, which can take to a table. */
static int find_slots(struct xr_agent_phase *phase, unsigned n, unsigned long long bytes)
{
	struct words_taken t;
	unsigned first = 0;
	int result = 0;

	if (n == 1 && phase[0].access == XR_AGENT_READ && (phase[0].apart || phase[0].n < bytes / SPARSE)) {
		phase[0].from_table = !phase[0].apart && visits_twice(&phase[0]);
		return 0;
	}
	t.bytes = (size_t)(bytes / sizeof(void *) / 8 + 1);
	t.by_link = calloc(t.bytes, 1);
	t.by_store = calloc(t.bytes, 1);
	if (!t.by_link || !t.by_store)
		result = -1;
	while (first < n && phase[first].access != XR_AGENT_READ)
		first++;
	if (!result && first < n)
		phase[first].from_table = !apply_slot(&t, &phase[first]);
	for (unsigned i = 0; i < n && !result; i++)
		if (phase[i].access == XR_AGENT_WRITE && !apply_slot(&t, &phase[i]))
			result = -1;
	for (unsigned i = first + 1; i < n && !result; i++)
		if (phase[i].access == XR_AGENT_READ && phase[i].same_as == i)
			phase[i].from_table = !apply_slot(&t, &phase[i]);
	free(t.by_link);
	free(t.by_store);
	return result;
}

static void find_same_rings(struct xr_agent_phase *phase, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct xr_agent_phase *p = &phase[i];

		phase[i].same_as = i;
		for (unsigned j = 0; j < i && p->same_as == i; j++)
			if (p->access == XR_AGENT_READ && phase[j].access == XR_AGENT_READ && phase[j].n == p->n &&
			    memcmp(phase[j].unit, p->unit, p->n * sizeof *p->unit) == 0)
				phase[i].same_as = j;
	}
}

int xr_phases_place(struct xr_agent_phase *phase, unsigned n, unsigned long long bytes)
{
	find_same_rings(phase, n);
	return find_slots(phase, n, bytes);
}
