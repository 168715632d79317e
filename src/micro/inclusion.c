/* SPDX-License-Identifier: MIT */
/* Parameter: cache.l2.inclusive: does what leaves the second cache leave the first one, too? cache.l2.inclusion:
 * inclusive, exclusive or none; cache.l1d.write_back: does a store to a line of the first cache stay there?
 *
 * Idea: a line x that is used all the time stays in the first cache, and the second one, which does not see these uses,
 * takes it for old. When others fill its set there, it is evicted. An inclusive cache then takes it from the first
 * one as well. A first cache that writes through shows x to the second with every store: there x is never old.
 *
 * Algorithm: lines g of one set of the second cache and one more, x (probe/kept.h), each lap beside one with strangers
 * in the place of x: whatever the first cache does to x, it does to them.
 *   Inclusive    as many g as there are ways, and x after every one or two of them. Where x takes longer, by one miss
 *                a lap or more, the cache is inclusive: hypotheses compete (infer/belief.h).
 *   Exclusive    a lap over more g than there are ways, by half of the ways of the first cache, misses, unless the first
 *                cache has what the second does not. How many ways there are is seen where strangers push all g out of the
 *                first cache.
 *   Write back   the same laps with a store to its line after each access. Inclusive: twice as many g, which miss all the
 *                time; x, which is lost again and again, is not where stores reach the second cache and make it young. Not
 *                inclusive: x has left the second cache and as many g as there are ways have room, unless stores bring
 *                it back.
 *   The lines: one way of the second cache apart, if pages are in a row in memory, which a lap over more of them than
 *   there are ways shows; else a conflict set (probe/conflict.h).
 *
 * When it fails: a first cache with random or FIFO replacement, or with one or two ways, evicts x itself. A second
 * cache with such a policy does not care who was used: then stores tell nothing. An exclusive one has no
 * copy that stores would reach.
 */
#include "infer/belief.h"
#include "infer/noise.h"
#include "micro/micro.h"
#include "probe/kept.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { WAYS_MOST = 32, N_MISSES = 6 };
static const double visits_most = 2e6, more_most = 1e5;     /* of conflict sets; of more of their members */
static const double misses[N_MISSES] = {0, 1, 2, 4, 8, 16}; /* a lap: of x, and of those that it pushes out in turn */
static const double sure = 0.8;
static const double most_sure = 0.97;

/* ---- weighing --------------------------------------------------------------------------------------------------- */

static struct xr_noise noise_of(const struct xr_kept_times *t)
{
	double all[2 * XR_KEPT_TURNS];
	size_t group[2 * XR_KEPT_TURNS];
	for (size_t i = 0; i < 2 * t->n; i++) {
		all[i] = i < t->n ? t->with[i] : t->without[i - t->n];
		group[i] = i / t->n;
	}
	return xr_noise_fit(all, group, 2 * t->n);
}

/* How many misses a lap makes more than the one beside it, as a probability of any, and "none of these". */
static double any_misses(const struct xr_kept *k, const struct xr_kept_times *t, double *none)
{
	*none = 1;
	if (!t->n)
		return 0;
	const struct xr_noise noise = noise_of(t);
	const double base = xr_median(t->without, t->n);
	struct xr_belief belief = xr_belief_new(xr_run_arena(k->run), N_MISSES, NULL);
	for (size_t turn = 0; turn < t->n; turn++) {
		double log[N_MISSES];
		for (int h = 0; h < N_MISSES; h++)
			log[h] = xr_noise_log(&noise, base + misses[h] * k->miss, t->with[turn],
			                      h ? 0.3 * misses[h] * k->miss / base : 0.1 * k->miss / base);
		xr_belief_add(&belief, log, xr_noise_log_none(&noise, base / 4, base + 64 * k->miss, t->with[turn]), 1);
	}
	*none = xr_belief_p(&belief, N_MISSES);
	return 1 - xr_belief_p(&belief, 0) - *none;
}

static double more_cycles(const struct xr_kept_times *t)
{
	return t->n ? xr_median(t->with, t->n) - xr_median(t->without, t->n) : 0;
}

/* Of laps with stores: do they cost `cycles` more than those beside them, as laps without stores did, or nothing? The
 * probability of the former, and "none of these". */
static double as_before(const struct xr_kept *k, const struct xr_kept_times *t, double cycles, double *none)
{
	*none = 1;
	if (!t->n)
		return 0;
	const struct xr_noise noise = noise_of(t);
	const double base = xr_median(t->without, t->n);
	struct xr_belief belief = xr_belief_new(xr_run_arena(k->run), 2, NULL);
	for (size_t turn = 0; turn < t->n; turn++) {
		/* what is dirty takes longer to leave: a quarter more or less */
		const double log[2] = {xr_noise_log(&noise, base + cycles, t->with[turn], 0.25 * cycles / base),
		                       xr_noise_log(&noise, base, t->with[turn], 0.1 * cycles / base)};
		xr_belief_add(&belief, log, xr_noise_log_none(&noise, base / 4, base + 64 * k->miss, t->with[turn]), 1);
	}
	*none = xr_belief_p(&belief, 2);
	return xr_belief_p(&belief, 0);
}

/* ---- where ------------------------------------------------------------------------------------------------------ */

static uint64_t power_above(uint64_t n)
{
	uint64_t power = 1;
	while (power < n)
		power *= 2;
	return power;
}

/* One way apart, if that is so: more of them than both caches have ways miss nearly all. */
static int lay_out(struct xr_kept *k, double capacity, double ways)
{
	const uint64_t way = (uint64_t)(capacity / ways), of[2] = {way, power_above(way)};
	const size_t wanted = 2 * (size_t)ways + k->first_ways + 2, enough = (size_t)ways + k->first_ways + 2;
	for (int i = 0; i < 2; i++) {
		struct xr_kept_times t;
		if (i && of[1] == of[0])
			break;
		xr_kept_lay_out(k, of[i], (size_t)ways / 2, wanted);
		if (!k->n)
			continue;
		if (xr_kept_ask_members(k, enough < k->n ? enough : k->n, false, &t) != 0)
			return -1;
		/* Half of them, or more: a TLB, whose sets pages so far apart may share, does not cost that much. */
		if (t.n && more_cycles(&t) > k->miss * (double)enough / 2)
			return 0;
	}
	k->n = 0;
	return 0;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static const char *const finds[] = {"cache.l2.inclusive", "cache.l2.inclusion", "cache.l1d.write_back", NULL};
enum { INCLUSIVE, INCLUSION, WRITE_BACK };
static const char method[] = "a line kept in the first cache";

static void refuse(struct xr_run *run, int from, const char *why)
{
	for (const char *const *id = finds + from; *id; id++)
		xr_fact_none(xr_run_description(run), *id, XR_UNRELIABLE, "%s", why);
}

enum keeping { KEEPS, LOSES, WHO_KNOWS };

/* Does a cache keep what is used all the time? Not where the oldest go, used or not, or any. */
static enum keeping keeping(struct xr_run *run, const char *id)
{
	const struct xr_fact *policy = xr_description_fact(xr_run_description(run), id);
	const char *name = policy && policy->status == XR_OK ? json_string_value(policy->value) : NULL;
	return !name ? WHO_KNOWS : !strcmp(name, "random") || !strcmp(name, "fifo") ? LOSES : KEEPS;
}

/* ---- inclusive, exclusive ---------------------------------------------------------------------------------------- */

/* Members that have room in the second cache alone. 0: not seen. */
static int room_for(const struct xr_kept *k, size_t *room)
{
	size_t over = 0;
	*room = k->ways;
	for (size_t n = 2; !*room && n <= k->n && over < 2; n++) {
		struct xr_kept_times t;
		if (xr_kept_ask_members(k, n, true, &t) != 0)
			return -1;
		if (!t.n)
			return 0;
		over = more_cycles(&t) > k->miss / 2 ? over + 1 : 0;
		if (over == 2)
			*room = n - 2;
	}
	return 0;
}

/* What is not inclusive: has the first cache what the second one does not? */
static int tell_exclusive(struct xr_kept *k, double p_not_inclusive, bool *exclusive)
{
	struct xr_description *d = xr_run_description(k->run);
	const size_t half = k->first_ways > 1 ? k->first_ways / 2 : 1;
	struct xr_kept_times t = {.n = 0};
	double none = 1;
	size_t room;
	*exclusive = false;
	if (room_for(k, &room) != 0 || (room && xr_kept_search_more(k, room + half, more_most) != 0))
		return -1;
	if (room && room + half <= k->n && xr_kept_ask_members(k, room + half, false, &t) != 0)
		return -1;
	if (!t.n) {
		xr_fact_none(d, finds[INCLUSION], XR_UNRELIABLE, "not inclusive; %s",
		             room ? "the conflict set is too small to tell exclusive from neither"
		                  : "how many lines a set holds was not seen");
		return 0;
	}
	struct xr_kept_times pushed;
	if (xr_kept_ask_members(k, room + half, true, &pushed) != 0)
		return -1;
	const double p = any_misses(k, &t, &none), there = !k->item && more_cycles(&pushed) > k->miss ? 1 : 0;
	const double told = fmax(p, (1 - p - none) * there) * p_not_inclusive; /* of one set, and counted above */
	*exclusive = 1 - p - none > p;
	if (told < sure) {
		xr_fact_none(d, finds[INCLUSION], XR_UNRELIABLE,
		             "times fit both an exclusive cache and one that is neither");
		return 0;
	}
	xr_fact_text(d, finds[INCLUSION], *exclusive ? "exclusive" : "none", most_sure * told,
	             "lines of one set that fit");
	return 0;
}

/* ---- write back -------------------------------------------------------------------------------------------------- */

/* p: that the second cache is inclusive. */
static int tell_write_back(struct xr_kept *k, size_t ways, double p_inclusive)
{
	struct xr_description *d = xr_run_description(k->run);
	const char *id = finds[WRITE_BACK];
	const bool inclusive = p_inclusive > 0.5;
	const enum keeping second = keeping(k->run, "cache.l2.policy");
	struct xr_kept_times t = {.n = 0}, stores = {.n = 0};
	double back = 0, none = 1;
	size_t n = ways;
	if (inclusive && second == LOSES) {
		xr_fact_none(d, id, XR_UNRELIABLE, "the second cache's policy ignores hits");
		return 0;
	}
	if (inclusive) { /* as many as let the first cache keep x */
		const size_t most = (size_t)(k->line / 8 - 1) * (k->first_ways / 2);
		n = most < 2 * ways ? most : 2 * ways;
		if (n < ways + 2) {
			xr_fact_none(d, id, XR_UNRELIABLE, "the first cache has too few ways to keep a line so long");
			return 0;
		}
		if (xr_kept_search_more(k, n, more_most) != 0)
			return -1;
		n = n < k->n ? n : k->n;
		if (n < ways + 2) {
			xr_fact_none(d, id, XR_UNRELIABLE, "the conflict set is too small");
			return 0;
		}
		if (xr_kept_ask_x(k, n, false, &t) != 0)
			return -1;
	}
	if (xr_kept_ask_x(k, n, true, &stores) != 0)
		return -1;
	if (inclusive && more_cycles(&t) < k->miss / 2) {
		xr_fact_none(d, id, XR_UNRELIABLE, "a line that is used all the time is not lost often enough");
		return 0;
	}
	if (inclusive)
		back = as_before(k, &stores, more_cycles(&t), &none);
	else
		back = 1 - any_misses(k, &stores, &none) - none;
	const double told = fmax(back, 1 - back - none) * fmax(p_inclusive, 1 - p_inclusive);
	if (told < sure) {
		xr_fact_none(d, id, XR_UNRELIABLE,
		             "times fit stores that stay in the first cache and stores that do not");
		return 0;
	}
	struct xr_fact *fact =
		xr_fact_bool(d, id, back > 0.5, most_sure * told, "stores to a line kept in the first cache");
	if (inclusive && second == WHO_KNOWS &&
	    back > 0.5) /* FIFO, random: few outer caches, and fewer write through */
		xr_fact_note(fact, "unless the second cache, whose policy is not known, ignores hits");
	return 0;
}

/* ---- one after the other ----------------------------------------------------------------------------------------- */

static int decide(struct xr_kept *k, size_t ways)
{
	struct xr_description *d = xr_run_description(k->run);
	struct xr_kept_times t;
	double none = 0;
	bool exclusive = false;
	if (xr_kept_ask_x(k, ways, false, &t) != 0)
		return -1;
	const double p = any_misses(k, &t, &none), told = fmax(p, 1 - p - none);
	if (!t.n || told < sure) {
		refuse(k->run, INCLUSIVE,
		       t.n ? "times fit both a cache that is inclusive and one that is not" : "no readings");
		return 0;
	}
	struct xr_fact *fact[2] = {xr_fact_bool(d, finds[INCLUSIVE], p > 0.5, most_sure * told, method), NULL};
	if (p > 0.5)
		fact[1] = xr_fact_text(d, finds[INCLUSION], "inclusive", most_sure * told, method);
	for (int i = 0; i < 2 && p > 0.5 && keeping(k->run, "cache.l1d.policy") == WHO_KNOWS; i++)
		xr_fact_doubt(fact[i], "or the first cache, whose policy is not known, loses lines that are in use");
	xr_run_progress(k->run, 0.6, "exclusive or not");
	if (p <= 0.5 && tell_exclusive(k, told, &exclusive) != 0)
		return -1;
	xr_run_progress(k->run, 0.8, "stores");
	if (exclusive) {
		refuse(k->run, WRITE_BACK, "an exclusive second cache has no copy that stores would reach");
		return 0;
	}
	return tell_write_back(k, ways, p > 0.5 ? told : 1 - told);
}

/* Others come between two uses of x, into its set of the first cache: fewer than half of its ways. */
static bool keeps(const struct xr_kept *k, size_t n)
{
	return k->first_ways >= 4 && 2 * xr_kept_apart(k, n) <= k->first_ways;
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
	const bool loses = keeping(run, "cache.l1d.policy") == LOSES;
	struct xr_kept *k = xr_arena_array(xr_run_arena(run), struct xr_kept, 1);
	*k = (struct xr_kept){.run = run,
	                      .page = xr_run_info(run)->page_bytes ? xr_run_info(run)->page_bytes : 4096,
	                      .line = (uint64_t)number(run, "cache.l1d.line"),
	                      .first_ways = (size_t)first_ways,
	                      .first_way = first_ways > 0 ? (uint64_t)(first / first_ways) : 0,
	                      .miss = behind - number(run, "cache.l2.latency")};
	if (!k->first_way || k->line < 16 || !(k->miss > 1) || loses) {
		refuse(run, INCLUSIVE,
		       loses ? "the first cache evicts also what is used all the time"
		             : "the first cache, or what is behind it, is not known well enough");
		return 0;
	}
	if (capacity > 0 && ways > 1 && ways <= WAYS_MOST && lay_out(k, capacity, ways) != 0)
		return -1;
	xr_run_progress(run, 0.3, "conflict sets");
	/* where no conflict set was found, and longer ago, none is found now */
	if (!k->n && ways > 0 && xr_kept_search(k, visits_most) != 0)
		return -1;
	const size_t n = k->ways ? k->ways : (size_t)ways;
	if (k->n && keeps(k, n))
		return decide(k, n);
	refuse(run, INCLUSIVE,
	       k->n ? "the first cache has too few ways to keep a line that is used all the time"
	            : "no conflict set was found");
	return 0;
}

static const char *const needs[] = {"cache_outer", "memory", "policy", NULL};

const struct xr_micro xr_micro_inclusion = {
	.id = "inclusion",
	.title = "what the second cache knows of the first: inclusive, exclusive, stores",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.6,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
