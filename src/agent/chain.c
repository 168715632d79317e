/* SPDX-License-Identifier: MIT */
/* Address chains, see chain.h.
 *
 * A READ phase is a ring of pointers: each address holds the address of the next. Where two phases of a script visit
 * the same place in different orders, the second ring goes through another word of the same 16 bytes (the smallest line
 * known); where that is taken too, and where one walk visits a word twice, the walk takes its addresses from a table
 * instead, each made dependent on the value just read, for 2 cycles more per access.
 * WRITE and TOUCH phases always take addresses from a table: 4 bytes per address, read in sequence.
 */
#include "buffer.h"
#include "chain.h"
#include "follow.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum access { READ, WRITE, TOUCH };
static const char *const access_names[] = {"read", "write", "touch", NULL};
static const char *const backing_names[] = {"small", "huge", "shuffled", "any", NULL};

enum {
	UNIT = XR_UNIT_BYTES,
	LINE_MIN = 16, /* no line is smaller: words of the same 16 bytes are equivalent */
	PHASES_MAX = 6,
	CURSORS_MAX = XR_CURSORS_MAX,
	PICKS = 32,         /* of each place, before walks over few */
	PICKS_UP_TO = 512,  /* places */
	PICKS_EXACT = 1024, /* all in all, where every instruction is simulated */
	SPARSE = 1024,      /* bytes of buffer per place */
	WARM_LEAST = 4096,  /* steps before the first sample */
	STRETCH = 16384,    /* steps between looks at the clock */
};

struct phase {
	enum access access;
	unsigned passes;
	int timed, from_table;
	int apart; /* places are of one sequence and so no word is visited twice */
	size_t n;
	uint32_t *unit;   /* addresses in units from the start of the buffer, in order of the walk; slot applied */
	unsigned same_as; /* earlier phase with the same ring, or itself */
};

struct xr_agent_chain {
	struct xr_agent_buffer *buffer;
	unsigned n_phases, cursors;
	int unsettled;
	struct phase phase[PHASES_MAX];
	void *at[CURSORS_MAX];      /* endless READ: where each cursor stands */
	struct xr_rolling *rolling; /* NULL: at is its own */
	size_t index;               /* endless walks from a table: the next one */
};

static struct {
	double (*now_ns)(void);
	double look_ns;
	const struct xr_agent_chain *warm; /* the last one to run: the caches are as it left them */
	int exact;
	double overhead_ns; /* of the loop, per access; exact only */
} watch;

/* What the compiler and the core cannot know to be zero: ties an address to a value read before. */
static volatile uintptr_t zero;
static volatile uintptr_t sink;

void xr_chain_setup(double (*now_ns)(void), double look_ns, unsigned long long limit_bytes)
{
	watch.now_ns = now_ns;
	watch.look_ns = look_ns;
	xr_buffer_limit(limit_bytes);
}

/* ---- from words to phases -------------------------------------------------------------------------------------- */

struct words {
	char **word;
	int n, at;
	const char *wrong; /* what was expected where something else, or nothing, was found */
};

static unsigned long long take_number(struct words *w, const char *what)
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

static int take_name(struct words *w, const char *const *names, const char *what)
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

static struct span take_span(struct words *w, unsigned long long bytes)
{
	struct span span;
	unsigned long long last;

	span.base = take_number(w, "base");
	span.stride = take_number(w, "stride");
	span.count = take_number(w, "count");
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

static void fill_in(struct phase *p, const struct span *span)
{
	for (unsigned long long j = 0; j < span->count; j++)
		p->unit[p->n++] = (uint32_t)((span->base + j * span->stride) / UNIT);
}

/* Addresses of one phase, in order. */
static int take_phase(struct words *w, struct phase *p, unsigned long long bytes)
{
	unsigned long long seed, n_spans, total = 0;
	struct span *span;

	p->access = (enum access)take_name(w, access_names, "read, write or touch");
	p->passes = (unsigned)take_number(w, "passes");
	p->timed = take_number(w, "timed") != 0;
	seed = take_number(w, "seed");
	n_spans = take_number(w, "number of spans");
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
	uint32_t per_line = LINE_MIN / UNIT, word = sizeof(void *) / UNIT;

	return unit / per_line * per_line + (unit + slot * word) % per_line;
}

static size_t word_of(uint32_t unit, unsigned slot)
{
	return slot_of(unit, slot) / (sizeof(void *) / UNIT);
}

static int is_set(const unsigned char *bits, size_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* Links need words of their own; stores may share words among each other. */
static int slot_is_free(const struct words_taken *t, const struct phase *p, unsigned slot)
{
	for (size_t i = 0; i < p->n; i++) {
		size_t word = word_of(p->unit[i], slot);

		if (word / 8 >= t->bytes || is_set(t->by_link, word) ||
		    (p->access == READ && is_set(t->by_store, word)))
			return 0;
	}
	return 1;
}

/* Takes the words of this slot; 0 when the walk visits one of them twice, which a ring cannot. */
static int take_slot(struct words_taken *t, const struct phase *p, unsigned slot)
{
	unsigned char *bits = p->access == READ ? t->by_link : t->by_store;

	for (size_t i = 0; i < p->n; i++) {
		size_t word = word_of(p->unit[i], slot);

		if (p->access == READ && is_set(bits, word)) {
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

static int apply_slot(struct words_taken *t, struct phase *p)
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
static int visits_twice(const struct phase *p)
{
	uint32_t *sorted = malloc((p->n + 1) * sizeof *sorted);
	int twice = 0;

	if (!sorted)
		return 1;
	memcpy(sorted, p->unit, p->n * sizeof *sorted);
	qsort(sorted, p->n, sizeof *sorted, by_value);
	for (size_t i = 1; i < p->n && !twice; i++)
		twice = sorted[i] / (sizeof(void *) / UNIT) == sorted[i - 1] / (sizeof(void *) / UNIT);
	free(sorted);
	return twice;
}

/* The first ring chooses first, for a single ring must be where the specification says; then the stores, which have
 * no other way; then other rings, which can take to a table. */
static int find_slots(struct xr_agent_chain *c)
{
	struct words_taken t;
	unsigned first = 0;
	int result = 0;

	if (c->n_phases == 1 && c->phase[0].access == READ &&
	    (c->phase[0].apart || c->phase[0].n < c->buffer->bytes / SPARSE)) {
		c->phase[0].from_table = !c->phase[0].apart && visits_twice(&c->phase[0]);
		return 0;
	}
	t.bytes = (size_t)(c->buffer->bytes / sizeof(void *) / 8 + 1);
	t.by_link = calloc(t.bytes, 1);
	t.by_store = calloc(t.bytes, 1);
	if (!t.by_link || !t.by_store)
		result = -1;
	while (first < c->n_phases && c->phase[first].access != READ)
		first++;
	if (!result && first < c->n_phases)
		c->phase[first].from_table = !apply_slot(&t, &c->phase[first]);
	for (unsigned i = 0; i < c->n_phases && !result; i++)
		if (c->phase[i].access == WRITE && !apply_slot(&t, &c->phase[i]))
			result = -1;
	for (unsigned i = first + 1; i < c->n_phases && !result; i++)
		if (c->phase[i].access == READ && c->phase[i].same_as == i)
			c->phase[i].from_table = !apply_slot(&t, &c->phase[i]);
	free(t.by_link);
	free(t.by_store);
	return result;
}

static void find_same_rings(struct xr_agent_chain *c)
{
	for (unsigned i = 0; i < c->n_phases; i++) {
		const struct phase *p = &c->phase[i];

		c->phase[i].same_as = i;
		for (unsigned j = 0; j < i && p->same_as == i; j++)
			if (p->access == READ && c->phase[j].access == READ && c->phase[j].n == p->n &&
			    memcmp(c->phase[j].unit, p->unit, p->n * sizeof *p->unit) == 0)
				c->phase[i].same_as = j;
	}
}

/* ---- making and unmaking --------------------------------------------------------------------------------------- */

static struct xr_agent_chain *fail(struct xr_agent_chain *chain, char *error, size_t error_size, const char *text,
                                   const char *what)
{
	snprintf(error, error_size, text, what);
	xr_chain_free(chain);
	return NULL;
}

/* A walk over the places of another one, with cursors of its own. */
static struct xr_agent_chain *join(char **words, int n_words, char *error, size_t error_size)
{
	struct xr_rolling *rolling =
		strcmp(words[n_words - 1], "rolling") == 0 ? xr_rolling_find(words, n_words) : NULL;
	struct xr_agent_chain *c = rolling ? calloc(1, sizeof *c) : NULL;
	unsigned long cursors = rolling ? strtoul(words[3], NULL, 10) : 0;

	if (!c) {
		xr_rolling_leave(rolling);
		return NULL;
	}
	c->rolling = rolling;
	c->cursors = cursors < 1 ? 1 : cursors > CURSORS_MAX ? CURSORS_MAX : (unsigned)cursors;
	c->n_phases = 1;
	c->phase[0].access = READ;
	c->phase[0].timed = 1;
	c->phase[0].unit = xr_rolling_places(rolling, &c->phase[0].n);
	c->buffer = xr_buffer_get((unsigned)strtoul(words[0], NULL, 10), strtoull(words[1], NULL, 10),
	                          xr_rolling_buffer(rolling)->backing);
	return c->buffer ? c : fail(c, error, error_size, "%s", "no memory for the buffer");
}

struct xr_agent_chain *xr_chain_make(char **words, int n_words, char *error, size_t error_size)
{
	struct words w = {words, n_words, 0, NULL};
	struct xr_agent_chain *c = n_words > 0 ? join(words, n_words, error, error_size) : NULL;
	if (c)
		return c;
	c = calloc(1, sizeof *c);
	unsigned id = (unsigned)take_number(&w, "buffer id");
	unsigned long long bytes = take_number(&w, "buffer size");
	int backing = take_name(&w, backing_names, "small, huge, shuffled or any");
	unsigned long long cursors = take_number(&w, "cursors"), n_phases = take_number(&w, "number of phases");
	int rolls = 0;

	if (!c)
		return fail(c, error, error_size, "%s", "no memory");
	if (!w.wrong && (n_phases < 1 || n_phases > PHASES_MAX))
		w.wrong = "1 to 6 phases";
	if (!w.wrong && cursors > CURSORS_MAX)
		w.wrong = "at most 64 cursors";
	if (!w.wrong && bytes / UNIT > UINT32_MAX)
		w.wrong = "a buffer below 16 GiB";
	c->cursors = cursors ? (unsigned)cursors : 1;
	for (unsigned i = 0; i < n_phases && !w.wrong; i++, c->n_phases++)
		if (take_phase(&w, &c->phase[i], bytes) != 0 && !w.wrong)
			return fail(c, error, error_size, "%s", "no memory");
	if (!w.wrong && w.at < n_words && strcmp(words[w.at], "unsettled") == 0) {
		w.at++;
		c->unsettled = 1;
	}
	if (!w.wrong && w.at < n_words && strcmp(words[w.at], "rolling") == 0) {
		w.at++;
		rolls = 1;
	}
	if (!w.wrong && w.at < n_words)
		w.wrong = "nothing more";
	if (!w.wrong && rolls && (c->phase[0].passes || c->phase[0].access != READ))
		w.wrong = "an endless walk that reads, to roll";
	for (unsigned i = 0; i < c->n_phases && !w.wrong; i++)
		if (c->phase[i].passes == 0 && (c->n_phases > 1 || !c->phase[i].timed))
			w.wrong = "passes (an endless walk is a phase alone)";
	if (w.wrong)
		return fail(c, error, error_size, "chain: expected %s", w.wrong);
	c->buffer = xr_buffer_get(id, bytes, (enum xr_buffer_backing)backing);
	if (!c->buffer)
		return fail(c, error, error_size, "%s", "no memory for the buffer");
	find_same_rings(c);
	if (find_slots(c) != 0)
		return fail(c, error, error_size, "%s", "chain: too many phases on the same words");
	if (rolls && !c->phase[0].from_table) {
		c->rolling = xr_rolling_new(c->buffer, c->phase[0].unit, c->phase[0].n, words, n_words);
		if (!c->rolling)
			return fail(c, error, error_size, "%s", "no memory");
	}
	return c;
}

unsigned long xr_chain_lap(const struct xr_agent_chain *chain)
{
	return (unsigned long)((chain->phase[0].n + chain->cursors - 1) / chain->cursors);
}

int xr_chain_is_script(const struct xr_agent_chain *chain)
{
	return chain->phase[0].passes != 0;
}

void xr_chain_free(struct xr_agent_chain *chain)
{
	if (!chain)
		return;
	if (watch.warm == chain)
		watch.warm = NULL;
	if (chain->buffer) {
		chain->buffer->users--;
		if (chain->buffer->owner == chain)
			chain->buffer->owner = NULL;
	}
	if (chain->rolling)
		chain->phase[0].unit = NULL;
	xr_rolling_leave(chain->rolling);
	for (unsigned i = 0; i < PHASES_MAX; i++)
		free(chain->phase[i].unit);
	free(chain);
}

/* ---- walking --------------------------------------------------------------------------------------------------- */

static void *address(const struct xr_agent_chain *c, uint32_t unit)
{
	return c->buffer->base + (size_t)unit * UNIT;
}

void xr_chain_exact(void)
{
	watch.exact = 1;
	watch.overhead_ns = xr_follow_overhead_ns(watch.now_ns);
}

double xr_chain_overhead_ns(const struct xr_agent_chain *chain)
{
	const struct phase *p = &chain->phase[0];

	return p->access == READ && !p->from_table && chain->cursors == 1 ? watch.overhead_ns : 0;
}

static void *follow(void *at, size_t n)
{
	return watch.exact ? xr_follow_evenly(at, n) : xr_follow(at, n);
}

/* One stretch [from, to) of a phase's table. `after`: a value read before, on which the first address is to depend;
 * returns the last value read. */
static uintptr_t walk_table(const struct xr_agent_chain *c, const struct phase *p, size_t from, size_t to,
                            uintptr_t after)
{
	unsigned char *base = c->buffer->base + (after & zero);
	const uint32_t *unit = p->unit;
	uintptr_t nil = zero, value = after;

	switch (p->access) {
	case READ:
		for (size_t i = from; i < to; i++)
			value = *(volatile uintptr_t *)(base + (size_t)unit[i] * UNIT + (value & nil));
		break;
	case WRITE:
		for (size_t i = from; i < to; i++)
			*(volatile uintptr_t *)(base + (size_t)unit[i] * UNIT) = (value += 2) | 1;
		break;
	case TOUCH:
		for (size_t i = from; i < to; i++)
			value += *(volatile uintptr_t *)(base + (size_t)unit[i] * UNIT);
		break;
	}
	return value;
}

static uintptr_t walk_phase(const struct xr_agent_chain *c, const struct phase *p, uintptr_t after)
{
	const struct phase *ring = &c->phase[p->same_as];
	uintptr_t value = after;

	if (p->access == READ && !ring->from_table)
		return (uintptr_t)follow((unsigned char *)address(c, ring->unit[0]) + (after & zero), p->n * p->passes);
	for (unsigned pass = 0; pass < p->passes; pass++)
		value = walk_table(c, ring, 0, ring->n, value);
	return value;
}

static void link_rings(struct xr_agent_chain *c)
{
	for (unsigned i = 0; i < c->n_phases; i++) {
		const struct phase *p = &c->phase[i];

		if (p->access != READ || p->from_table || p->same_as != i)
			continue;
		for (size_t j = 0; j < p->n; j++)
			*(void **)address(c, p->unit[j]) = address(c, p->unit[j + 1 < p->n ? j + 1 : 0]);
	}
	c->buffer->owner = c;
}

static void run_endless(struct xr_agent_chain *c, size_t n)
{
	struct phase *p = &c->phase[0];

	if (p->access == READ && !p->from_table) {
		if (c->cursors == 1)
			c->at[0] = follow(c->at[0], n);
		else
			xr_follow_many(c->at, c->cursors, n);
		return;
	}
	while (n > 0) {
		size_t stretch = p->n - c->index < n ? p->n - c->index : n;

		sink = walk_table(c, p, c->index, c->index + stretch, sink);
		c->index = (c->index + stretch) % p->n;
		n -= stretch;
	}
}

static double run_script(struct xr_agent_chain *c, unsigned long reps, double *timed_ns)
{
	double ns = 0, accesses = 0;
	uintptr_t value = 0;

	for (unsigned long r = 0; r < reps; r++)
		for (unsigned i = 0; i < c->n_phases; i++) {
			const struct phase *p = &c->phase[i];
			double before = 0;

			if (p->timed && watch.exact)
				watch.now_ns(); /* brings what looking needs */
			if (p->timed)
				before = watch.now_ns();
			value = walk_phase(c, p, value);
			sink = value;
			if (p->timed) {
				ns += watch.now_ns() - before - watch.look_ns;
				accesses += (double)p->n * p->passes;
				if (p->access == READ && !c->phase[p->same_as].from_table)
					ns -= watch.overhead_ns * (double)p->n * p->passes;
			}
		}
	if (timed_ns)
		*timed_ns = ns;
	return accesses;
}

/* Places of a ring at random, for a while. Going round in one order, a tree of bits that stands for the age of
 * lines may leave a stranger in its set for ever while our own lines push each other out, most of all where the
 * number of ways is no power of two; in changing orders he goes sooner or later. */
static void drive_strangers_out(const struct xr_agent_chain *c, const struct phase *p)
{
	uint64_t state = p->n;
	size_t picks = (size_t)PICKS * p->n;

	if (watch.exact && picks > PICKS_EXACT)
		picks = PICKS_EXACT;
	for (size_t i = 0; i < picks && watch.exact; i++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		sink = *(volatile uintptr_t *)address(c, p->unit[(size_t)((state >> 32) * p->n >> 32)]);
	}
	for (size_t i = 0; i < picks && !watch.exact; i++)
		sink = *(volatile uintptr_t *)address(c, p->unit[xr_random_below(&state, p->n)]);
}

/* So many steps, but not for ever: a walk that takes longer is mostly in memory, and laying it out was a lap, too. */
static void run_for_a_while(struct xr_agent_chain *c, size_t n)
{
	const double most_ns = 4e7;
	double start = watch.now_ns();

	for (size_t stretch; n > 0 && watch.now_ns() - start < most_ns; n -= stretch) {
		stretch = n < STRETCH ? n : STRETCH;
		run_endless(c, stretch);
	}
}

/* Warm-up: a lap over what may be a big set, several over a small one, so that caches, TLBs and their replacement state
 * are as they will be for ever after. */
static void warm_up(struct xr_agent_chain *c)
{
	const struct phase *p = &c->phase[0];

	if (xr_chain_is_script(c)) {
		run_script(c, 1, NULL);
		return;
	}
	if (!c->unsettled && p->access == READ && p->n > 1 && p->n <= PICKS_UP_TO)
		drive_strangers_out(c, p);
	if (watch.exact) {
		run_endless(c, p->n <= WARM_LEAST ? 2 * p->n : p->n);
		return;
	}
	/* Several cursors: two laps of all together, for some levels hold only what others have thrown out. */
	run_for_a_while(c, c->cursors > 1      ? 2 * p->n / c->cursors + WARM_LEAST
	                   : p->n < WARM_LEAST ? WARM_LEAST + p->n
	                                       : p->n);
}

void xr_chain_cooled(void)
{
	watch.warm = NULL;
}

void xr_chain_ready(struct xr_agent_chain *chain)
{
	const struct phase *p = &chain->phase[0];

	xr_buffer_use(chain->buffer);
	if (chain->rolling) {
		if (chain->buffer->owner != chain->rolling)
			link_rings(chain);
		xr_rolling_ready(chain->rolling, watch.warm && watch.warm->rolling == chain->rolling);
		watch.warm = chain;
		return;
	}
	if (chain->buffer->owner != chain)
		link_rings(chain);
	else if (watch.warm == chain)
		return;
	for (unsigned k = 0; k < chain->cursors && !chain->at[k]; k++)
		chain->at[k] = address(chain, p->unit[(size_t)((double)p->n * k / chain->cursors)]);
	warm_up(chain);
	watch.warm = chain;
}

double xr_chain_run(struct xr_agent_chain *chain, unsigned long reps, double *timed_ns)
{
	if (xr_chain_is_script(chain))
		return run_script(chain, reps, timed_ns);
	if (chain->rolling)
		xr_rolling_run(chain->rolling, chain->cursors, reps);
	else
		run_endless(chain, reps);
	return (double)reps;
}

void xr_chain_release(void)
{
	xr_buffer_release();
}
