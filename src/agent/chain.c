/* SPDX-License-Identifier: MIT */
/* Address chains, see chain.h.
 *
 * A phase that reads is a ring of pointers: each address holds the address of the next; where that cannot be (phases.h), the
 * walk takes its addresses from a table instead, each made dependent on the value just read, for 2 cycles more per
 * access. Phases that write or touch always take addresses from a table: 4 bytes per address, read in sequence.
 */
#include "buffer.h"
#include "chain.h"
#include "follow.h"
#include "phases.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const backing_names[] = {"small", "huge", "shuffled", "any", NULL};

enum {
	UNIT = XR_UNIT_BYTES,
	PHASES_MAX = XR_AGENT_PHASES,
	CURSORS_MAX = XR_CURSORS_MAX,
	PICKS = 32,         /* of each place, before walks over few */
	PICKS_UP_TO = 512,  /* places */
	PICKS_EXACT = 1024, /* all in all, where every instruction is simulated */
	WARM_LEAST = 4096,  /* steps before the first sample */
	STRETCH = 16384,    /* steps between looks at the clock */
};

struct xr_agent_chain {
	struct xr_agent_buffer *buffer;
	unsigned n_phases, cursors;
	int unsettled;
	size_t storing; /* endless reads: bytes of the line that is stored to after each access; 0: none is */
	struct xr_agent_phase phase[PHASES_MAX];
	void *at[CURSORS_MAX];      /* endless reads: where each cursor stands */
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
	c->phase[0].access = XR_AGENT_READ;
	c->phase[0].timed = 1;
	c->phase[0].unit = xr_rolling_places(rolling, &c->phase[0].n);
	c->buffer = xr_buffer_get((unsigned)strtoul(words[0], NULL, 10), strtoull(words[1], NULL, 10),
	                          xr_rolling_buffer(rolling)->backing);
	return c->buffer ? c : fail(c, error, error_size, "%s", "no memory for the buffer");
}

/* The last word of a line? */
static int visits_last(const struct xr_agent_phase *p, size_t line)
{
	for (size_t i = 0; i < p->n; i++)
		if ((size_t)p->unit[i] * UNIT % line >= line - sizeof(void *))
			return 1;
	return 0;
}

struct xr_agent_chain *xr_chain_make(char **words, int n_words, char *error, size_t error_size)
{
	struct xr_agent_words w = {words, n_words, 0, NULL};
	struct xr_agent_chain *c = n_words > 0 ? join(words, n_words, error, error_size) : NULL;
	if (c)
		return c;
	c = calloc(1, sizeof *c);
	unsigned id = (unsigned)xr_phases_number(&w, "buffer id");
	unsigned long long bytes = xr_phases_number(&w, "buffer size");
	int backing = xr_phases_name(&w, backing_names, "small, huge, shuffled or any");
	unsigned long long cursors = xr_phases_number(&w, "cursors"),
			   n_phases = xr_phases_number(&w, "number of phases");
	unsigned long long stores = 0;
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
		if (xr_phases_take(&w, &c->phase[i], bytes) != 0 && !w.wrong)
			return fail(c, error, error_size, "%s", "no memory");
	if (!w.wrong && w.at < n_words && strcmp(words[w.at], "unsettled") == 0) {
		w.at++;
		c->unsettled = 1;
	}
	if (!w.wrong && w.at < n_words && strcmp(words[w.at], "rolling") == 0) {
		w.at++;
		rolls = 1;
	}
	if (!w.wrong && w.at < n_words && strcmp(words[w.at], "storing") == 0) {
		w.at++;
		stores = xr_phases_number(&w, "bytes of a line");
		if (!w.wrong &&
		    (stores < 2 * sizeof(void *) || stores > 4096 || (stores & (stores - 1)) || bytes % stores))
			w.wrong = "a line to store to, a power of two of which the buffer is made";
	}
	if (!w.wrong && w.at < n_words)
		w.wrong = "nothing more";
	if (!w.wrong && rolls && (c->phase[0].passes || c->phase[0].access != XR_AGENT_READ))
		w.wrong = "an endless walk that reads, to roll";
	if (!w.wrong && stores &&
	    (rolls || c->cursors > 1 || c->phase[0].passes || c->phase[0].access != XR_AGENT_READ))
		w.wrong = "an endless walk of one cursor that reads, to store beside";
	for (unsigned i = 0; i < c->n_phases && !w.wrong; i++)
		if (c->phase[i].passes == 0 && (c->n_phases > 1 || !c->phase[i].timed))
			w.wrong = "passes (an endless walk is a phase alone)";
	if (w.wrong)
		return fail(c, error, error_size, "chain: expected %s", w.wrong);
	c->buffer = xr_buffer_get(id, bytes, (enum xr_buffer_backing)backing);
	if (!c->buffer)
		return fail(c, error, error_size, "%s", "no memory for the buffer");
	if (xr_phases_place(c->phase, c->n_phases, c->buffer->bytes) != 0)
		return fail(c, error, error_size, "%s", "chain: too many phases on the same words");
	if (stores && (c->phase[0].from_table || visits_last(&c->phase[0], (size_t)stores)))
		return fail(c, error, error_size, "%s",
		            "chain: a walk that stores visits no word twice, nor a last one");
	c->storing = (size_t)stores;
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
	const struct xr_agent_phase *p = &chain->phase[0];

	return p->access == XR_AGENT_READ && !p->from_table && chain->cursors == 1 ? watch.overhead_ns : 0;
}

static void *follow(void *at, size_t n)
{
	return watch.exact ? xr_follow_evenly(at, n) : xr_follow(at, n);
}

/* One stretch [from, to) of a phase's table. `after`: a value read before, on which the first address is to depend;
 * returns the last value read. */
static uintptr_t walk_table(const struct xr_agent_chain *c, const struct xr_agent_phase *p, size_t from, size_t to,
                            uintptr_t after)
{
	unsigned char *base = c->buffer->base + (after & zero);
	const uint32_t *unit = p->unit;
	uintptr_t nil = zero, value = after;

	switch (p->access) {
	case XR_AGENT_READ:
		for (size_t i = from; i < to; i++)
			value = *(volatile uintptr_t *)(base + (size_t)unit[i] * UNIT + (value & nil));
		break;
	case XR_AGENT_WRITE:
		for (size_t i = from; i < to; i++)
			*(volatile uintptr_t *)(base + (size_t)unit[i] * UNIT) = (value += 2) | 1;
		break;
	case XR_AGENT_TOUCH:
		for (size_t i = from; i < to; i++)
			value += *(volatile uintptr_t *)(base + (size_t)unit[i] * UNIT);
		break;
	}
	return value;
}

static uintptr_t walk_phase(const struct xr_agent_chain *c, const struct xr_agent_phase *p, uintptr_t after)
{
	const struct xr_agent_phase *ring = &c->phase[p->same_as];
	uintptr_t value = after;

	if (p->access == XR_AGENT_READ && !ring->from_table)
		return (uintptr_t)follow((unsigned char *)address(c, ring->unit[0]) + (after & zero), p->n * p->passes);
	for (unsigned pass = 0; pass < p->passes; pass++)
		value = walk_table(c, ring, 0, ring->n, value);
	return value;
}

static void link_rings(struct xr_agent_chain *c)
{
	for (unsigned i = 0; i < c->n_phases; i++) {
		const struct xr_agent_phase *p = &c->phase[i];

		if (p->access != XR_AGENT_READ || p->from_table || p->same_as != i)
			continue;
		for (size_t j = 0; j < p->n; j++)
			*(void **)address(c, p->unit[j]) = address(c, p->unit[j + 1 < p->n ? j + 1 : 0]);
	}
	c->buffer->owner = c;
}

static void run_endless(struct xr_agent_chain *c, size_t n)
{
	struct xr_agent_phase *p = &c->phase[0];

	if (p->access == XR_AGENT_READ && !p->from_table) {
		if (c->storing)
			c->at[0] = xr_follow_storing(c->at[0], n, c->storing);
		else if (c->cursors == 1)
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
			const struct xr_agent_phase *p = &c->phase[i];
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
				if (p->access == XR_AGENT_READ && !c->phase[p->same_as].from_table)
					ns -= watch.overhead_ns * (double)p->n * p->passes;
			}
		}
	if (timed_ns)
		*timed_ns = ns;
	return accesses;
}

/* Places of a ring at random, for a while. Visited in one order, tree-PLRU may keep a foreign line in its set
 * for ever while our own lines evict each other, most of all where the number of ways is no power of two; in
 * changing orders it goes sooner or later. */
static void evict_foreign_lines(const struct xr_agent_chain *c, const struct xr_agent_phase *p)
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
	const struct xr_agent_phase *p = &c->phase[0];

	if (xr_chain_is_script(c)) {
		run_script(c, 1, NULL);
		return;
	}
	if (!c->unsettled && p->access == XR_AGENT_READ && p->n > 1 && p->n <= PICKS_UP_TO)
		evict_foreign_lines(c, p);
	if (watch.exact) {
		run_endless(c, p->n <= WARM_LEAST ? 2 * p->n : p->n);
		return;
	}
	/* Several cursors: two laps of all together, for some levels hold only what others have evicted. */
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
	const struct xr_agent_phase *p = &chain->phase[0];

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
