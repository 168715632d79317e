/* SPDX-License-Identifier: MIT */
/* Parameter: cache.l2.inclusive: does what leaves the second cache leave the first one, too? cache.l2.inclusion,
 * where it does.
 *
 * Idea: a line that is used all the time stays in the first cache, and the second one, which does not see these uses,
 * takes it for old. When others fill its set there, it is evicted. An inclusive cache then takes it from the first
 * one as well.
 *
 * Algorithm: lines g of one set of the second cache, as many as it has ways, and one more, x. Round and round: each g,
 * and x again after every one or two of them (each time another word of its line). The same with z in place of x, a
 * line of another set of the second cache but of the same set of the first: whatever the first cache does to x, it
 * does to z. Where x and z take as long, nobody took x away. Where x takes longer, by one miss a lap or more, the cache
 * is inclusive: hypotheses compete (infer/belief.h).
 *   The lines: one way of the second cache apart, if pages are in a row in memory, which a lap over all of them,
 *   without anybody being used more often, shows; else a conflict set (probe/conflict.h).
 *
 * When it fails: a first cache with random or FIFO replacement, or with one or two ways, evicts x itself.
 * Whether a cache that is not inclusive is exclusive is not told: both keep x.
 */
#include "infer/belief.h"
#include "infer/noise.h"
#include "micro/micro.h"
#include "probe/conflict.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	BUFFER = 84, /* id; conflict sets have the next one */
	WORD = 8,
	TURNS = 5,
	STRANGERS = 3, /* z: one of them may be of the set by chance */
	ATTEMPTS = 3,
	WAYS_MOST = 32,
	POOL_PAGES = 4096,
	HUGE_PAGE = 2 << 20,
	N_MISSES = 5,
};
static const double visits_most = 8e5; /* of all attempts: as many as a second one of those that cache_outer made */
static const double misses[N_MISSES] = {0, 1, 2, 4, 8}; /* a lap: of x, and of those that it pushes out in turn */
static const double sure = 0.8;

struct set {
	struct xr_run *run;
	struct xr_buffer buffer;
	uint64_t g[WAYS_MOST], x, z[STRANGERS];
	size_t n; /* of g; 0: none was found */
	uint64_t line;
	size_t first_ways;
	double miss; /* cycles more */
};

/* ---- asking ----------------------------------------------------------------------------------------------------- */

/* A lap over the lines; `hot` after every few of them, or, with once, at the end alone. *n: visits. */
static struct xr_spec lap(const struct set *s, uint64_t hot, bool once, size_t *n)
{
	const size_t words = (size_t)(s->line / WORD), apart = once ? s->n : (s->n + words - 1) / words;
	struct xr_span *span = xr_arena_array(xr_run_arena(s->run), struct xr_span, 2 * s->n + 1);
	struct xr_spec spec = {.kind = XR_CHAIN};
	size_t at = 0, word = 0;
	for (size_t i = 0; i < s->n; i++) {
		span[at++] = (struct xr_span){s->g[i], 0, 1};
		if ((i + 1) % apart == 0 || i + 1 == s->n)
			span[at++] = (struct xr_span){hot + word++ % words * WORD, 0, 1};
	}
	*n = at;
	spec.chain.buffer = s->buffer;
	spec.chain.n_phases = 1;
	spec.chain.phase[0] = (struct xr_phase){.span = span, .n_spans = at, .access = XR_READ, .timed = true};
	return spec;
}

/* Cycles of a lap with x, and with each z, TURNS times; the median of the latter. *n: readings, 0: none. */
static int ask(const struct set *s, bool once, double with[TURNS], double without[TURNS], size_t *n)
{
	const struct xr_effort effort = {.samples = 7, .samples_max = 14};
	*n = 0;
	for (int turn = 0; turn < TURNS; turn++) {
		struct xr_spec spec[1 + STRANGERS];
		struct xr_reading reading[1 + STRANGERS];
		double z[STRANGERS];
		size_t visits;
		for (int i = 0; i <= STRANGERS; i++)
			spec[i] = lap(s, i ? s->z[i - 1] : s->x, once, &visits);
		if (xr_run_time_with(s->run, &effort, spec, 1 + STRANGERS, reading) != 0)
			return -1;
		for (int i = 0; i <= STRANGERS; i++)
			if (reading[i].status != XR_READ_OK)
				return 0;
		for (int i = 0; i < STRANGERS; i++)
			z[i] = reading[i + 1].cycles * (double)visits;
		with[turn] = reading[0].cycles * (double)visits;
		without[turn] = xr_median(z, STRANGERS);
		*n = (size_t)turn + 1;
	}
	return 0;
}

/* How many misses a lap x makes, as a probability of any, and "none of these". */
static double any_misses(const struct set *s, const double *with, const double *without, size_t n, double *none)
{
	double all[2 * TURNS];
	size_t group[2 * TURNS];
	for (size_t i = 0; i < 2 * n; i++) {
		all[i] = i < n ? with[i] : without[i - n];
		group[i] = i / n;
	}
	const struct xr_noise noise = xr_noise_fit(all, group, 2 * n);
	const double base = xr_median(without, n);
	struct xr_belief belief = xr_belief_new(xr_run_arena(s->run), N_MISSES, NULL);
	for (size_t turn = 0; turn < n; turn++) {
		double log[N_MISSES];
		for (int h = 0; h < N_MISSES; h++)
			log[h] = xr_noise_log(&noise, base + misses[h] * s->miss, with[turn],
			                      h ? 0.3 * misses[h] * s->miss / base : 0.1 * s->miss / base);
		xr_belief_add(&belief, log, xr_noise_log_none(&noise, base / 4, base + 64 * s->miss, with[turn]), 1);
	}
	*none = xr_belief_p(&belief, N_MISSES);
	return 1 - xr_belief_p(&belief, 0) - *none;
}

/* ---- where ------------------------------------------------------------------------------------------------------ */

/* One way apart, if that is so. */
static int lay_out(struct set *s, double capacity, double ways, uint64_t first_way)
{
	const uint64_t way = (uint64_t)(capacity / ways);
	double with[TURNS], without[TURNS], none = 1;
	size_t n = 0;
	s->n = (size_t)ways;
	s->buffer = (struct xr_buffer){BUFFER, ((s->n + 2) * way + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE, XR_HUGE};
	s->x = s->n * way;
	for (size_t i = 0; i < s->n; i++)
		s->g[i] = i * way;
	for (int i = 0; i < STRANGERS; i++)
		s->z[i] = s->n * way + (uint64_t)(2 * i + 1) * first_way;
	if (way <= (2 * STRANGERS) * first_way || s->buffer.bytes > xr_run_room(s->run)) {
		s->n = 0;
		return 0;
	}
	if (ask(s, true, with, without, &n) != 0)
		return -1;
	/* Half of them, or more: a TLB, whose sets pages so far apart may share, does not cost that much. */
	if (!n || any_misses(s, with, without, n, &none) < sure ||
	    xr_median(with, n) - xr_median(without, n) < s->miss * (double)s->n / 2)
		s->n = 0;
	return 0;
}

/* At the place of x in another item than those of the set. */
static uint64_t stranger(const struct set *s, uint64_t item)
{
	const uint64_t items = s->buffer.bytes / item;
	uint64_t z;
	bool taken;

	do {
		z = xr_rng_below(xr_run_rng(s->run), items);
		taken = z == s->x / item;
		for (size_t i = 0; i < s->n; i++)
			taken |= z == s->g[i] / item;
	} while (taken);
	return z * item + s->x % item;
}

static int search(struct set *s, uint64_t page, uint64_t first_way)
{
	const uint64_t item = page > first_way ? page : first_way;
	uint64_t pool = POOL_PAGES * item;
	pool = pool < xr_run_room(s->run) ? pool : xr_run_room(s->run);
	s->buffer = (struct xr_buffer){BUFFER + 1, pool / item * item, XR_SMALL};
	struct xr_conflict c = {.run = s->run,
	                        .buffer = s->buffer,
	                        .item = item,
	                        .page = page,
	                        .line = s->line,
	                        .first_ways = s->first_ways,
	                        .first_way = first_way,
	                        .miss = s->miss};
	double left = visits_most;
	c.left = &left;
	for (int i = 0; i < ATTEMPTS && !s->n && left > 0; i++) {
		struct xr_conflict_set found;
		if (xr_conflict_find(&c, &found) != 0)
			return -1;
		if (found.outcome == XR_CONFLICT_NEVER)
			return 0;
		if (found.outcome != XR_CONFLICT_FOUND || found.n < 2 || found.n > WAYS_MOST) {
			c.settled = true;
			continue;
		}
		s->n = found.n;
		s->x = found.x;
		for (size_t k = 0; k < found.n; k++)
			s->g[k] = found.member[k];
		for (int k = 0; k < STRANGERS; k++) /* none of the set, most likely */
			s->z[k] = stranger(s, item);
	}
	return 0;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static const char *const finds[] = {"cache.l2.inclusive", "cache.l2.inclusion", NULL};

static void refuse(struct xr_run *run, const char *why)
{
	for (const char *const *id = finds; *id; id++)
		xr_fact_none(xr_run_description(run), *id, XR_UNRELIABLE, "%s", why);
}

enum keeping { KEEPS, LOSES, WHO_KNOWS };

/* Does the first cache keep what is used all the time? Not where the oldest go, used or not, or any. */
static enum keeping keeping(struct xr_run *run)
{
	const struct xr_fact *policy = xr_description_fact(xr_run_description(run), "cache.l1d.policy");
	const char *name = policy && policy->status == XR_OK ? json_string_value(policy->value) : NULL;
	return !name ? WHO_KNOWS : !strcmp(name, "random") || !strcmp(name, "fifo") ? LOSES : KEEPS;
}

static int decide(const struct set *s)
{
	static const char method[] = "a line kept in the first cache";
	struct xr_description *d = xr_run_description(s->run);
	double with[TURNS], without[TURNS], none = 0;
	size_t n;
	if (ask(s, false, with, without, &n) != 0)
		return -1;
	const double p = n ? any_misses(s, with, without, n, &none) : 0.5, told = fmax(p, 1 - p - none);
	if (!n || told < sure) {
		refuse(s->run, n ? "times fit both a cache that is inclusive and one that is not" : "no readings");
		return 0;
	}
	struct xr_fact *fact[2] = {xr_fact_bool(d, finds[0], p > 0.5, 0.97 * told, method), NULL};
	if (p > 0.5)
		fact[1] = xr_fact_text(d, finds[1], "inclusive", 0.97 * told, method);
	for (int i = 0; i < 2 && p > 0.5 && keeping(s->run) == WHO_KNOWS; i++)
		xr_fact_doubt(fact[i], "or the first cache, whose policy is not known, loses lines that are in use");
	if (p <= 0.5)
		xr_fact_none(d, finds[1], XR_UNRELIABLE, "not inclusive; exclusive or neither is not told apart");
	return 0;
}

/* Others come between two uses of x, into its set of the first cache: fewer than half of its ways. */
static bool keeps(const struct set *s)
{
	const size_t words = (size_t)(s->line / WORD), apart = (s->n + words - 1) / words;
	return s->first_ways >= 4 && 2 * apart <= s->first_ways;
}

/* What is in doubt may be true: the lines themselves show whether it is. */
static double number(struct xr_run *run, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(xr_run_description(run), id);
	return fact ? xr_fact_value(fact, 0) : 0;
}

static int run(struct xr_run *run)
{
	const double capacity = number(run, "cache.l2.capacity"), ways = number(run, "cache.l2.ways");
	const double first = number(run, "cache.l1d.capacity"), first_ways = number(run, "cache.l1d.ways");
	const double third = number(run, "cache.l3.latency"),
		     behind = third > 0 ? third : number(run, "memory.latency");
	struct set s = {.run = run,
	                .line = (uint64_t)number(run, "cache.l1d.line"),
	                .first_ways = (size_t)first_ways,
	                .miss = behind - number(run, "cache.l2.latency")};
	const uint64_t page = xr_run_info(run)->page_bytes,
		       first_way = first_ways > 0 ? (uint64_t)(first / first_ways) : 0;
	if (!first_way || s.line < 2 * WORD || !(s.miss > 1) || keeping(run) == LOSES) {
		refuse(run, keeping(run) == LOSES ? "the first cache evicts also what is used all the time"
		                                  : "the first cache, or what is behind it, is not known well enough");
		return 0;
	}
	if (capacity > 0 && ways > 1 && ways <= WAYS_MOST && lay_out(&s, capacity, ways, first_way) != 0)
		return -1;
	xr_run_progress(run, 0.3, "conflict sets");
	/* where no conflict set was found, and longer ago, none is found now */
	if (!s.n && ways > 0 && search(&s, page ? page : 4096, first_way) != 0)
		return -1;
	if (s.n && keeps(&s))
		return decide(&s);
	refuse(run, s.n ? "the first cache has too few ways to keep a line that is used all the time"
	                : "no lines of one set are found");
	return 0;
}

static const char *const needs[] = {"cache_outer", "memory", "policy", NULL};

const struct xr_micro xr_micro_inclusion = {
	.id = "inclusion",
	.title = "does what leaves the second cache leave the first one, too",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.4,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
