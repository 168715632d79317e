/* SPDX-License-Identifier: MIT */
/* Who is evicted; see replacement.h. */
#include "infer/replacement.h"

#include "infer/array.h"
#include "infer/belief.h"

#include <math.h>
#include <string.h>

enum {
	STATES = 4, /* that a set may be in at first: what it holds, and in which ways */
	STATES_RANDOM = 12,
	WARM = 6, /* repetitions: some policies take a while to fall into step */
	COUNTED = 2,
	LONGEST = 512,
	BASES = 4,
};
static const double fresh = 0.4;        /* of the uses */
static const double same_misses = 0.26; /* of a mean over few states */

/* The law of misses is exact but for what other sets and levels do: a hundredth of a reading. */
static const double slack = 0.002;

struct xr_sequence xr_sequence_draw(struct xr_arena *arena, struct xr_rng *rng, size_t ways, int variant,
                                    unsigned often, size_t *blocks)
{
	size_t n_use = ways < 12 ? 48 : 4 * ways, n_reset = 2 * ways + (size_t)variant;
	size_t known = 0, pool = 2 * ways + 6;
	unsigned *reset = xr_arena_array(arena, unsigned, n_reset), *last;
	if (n_use > LONGEST)
		n_use = LONGEST;
	unsigned *use = xr_arena_array(arena, unsigned, n_use);
	last = xr_arena_array(arena, unsigned, n_use); /* used so far, the latest last */
	for (size_t i = 0; i < n_reset; i++)
		reset[i] = (unsigned)(pool + (variant ? n_reset - 1 - i : i));
	unsigned *used = xr_arena_array(arena, unsigned, pool);
	for (size_t i = 0; i < n_use; i++) {
		size_t reach = ways + ways / 2 + 2 < known ? ways + ways / 2 + 2 : known;
		if (!known || (known < pool && xr_rng_unit(rng) < fresh) || (known < ways && xr_rng_unit(rng) < 0.7)) {
			use[i] = (unsigned)known;
		} else {
			size_t at = known - 1 - (size_t)xr_rng_below(rng, reach);
			for (size_t tries = 0; tries < known && used[last[at]] >= often; tries++)
				at = at ? at - 1 : known - 1;
			use[i] = last[at];
			memmove(last + at, last + at + 1, (known - at - 1) * sizeof *last);
			known--;
		}
		last[known++] = use[i];
		used[use[i]]++;
	}
	*blocks = pool + n_reset;
	return (struct xr_sequence){reset, use, n_reset, n_use};
}

static bool use(struct xr_array *set, unsigned block)
{
	struct xr_victim victim;
	uint64_t *line = xr_array_find(set, 0, block);
	if (line)
		xr_array_use(set, 0, line);
	else
		xr_array_put(set, 0, block, &victim);
	return line == NULL;
}

double xr_sequence_misses(const struct xr_sequence *s, int policy, size_t ways, struct xr_rng *rng)
{
	const int states = xr_policy_is_random(policy) ? STATES_RANDOM : xr_policy_by_age(policy) ? 1 : STATES;
	double misses = 0;
	for (int state = 0; state < states; state++) {
		struct xr_array set;
		struct xr_array_past past = {0};
		xr_array_init(&set, 1, ways, policy, rng);
		for (size_t i = 0; i < 6 * ways; i++) /* whoever was there before */
			use(&set, (unsigned)(1000000 + xr_rng_below(rng, 2 * ways)));
		for (int rep = 0; rep < WARM + COUNTED; rep++) {
			int missed = 0;
			for (size_t i = 0; i < s->n_reset; i++)
				use(&set, s->reset[i]);
			for (size_t i = 0; i < s->n_use; i++)
				missed += use(&set, s->use[i]);
			const bool settled = xr_array_repeats(&set, &past); /* the others go like this one */
			misses += settled      ? missed * (rep < WARM ? COUNTED : WARM + COUNTED - rep)
			          : rep < WARM ? 0
			                       : missed;
			if (settled)
				break;
		}
		xr_array_past_release(&past);
		xr_array_release(&set);
	}
	return misses / (states * COUNTED);
}

static size_t add(int *policy, size_t n, int which, size_t ways)
{
	if (n < XR_CANDIDATES && which >= 0 && xr_policy_takes_ways(which, ways))
		policy[n++] = which;
	return n;
}

/* Two bits of age, in every way that has been seen or could be built (uops.info's notation). */
static size_t add_ages(int *policy, size_t n, size_t ways)
{
	static const uint8_t hits[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}};
	for (size_t hit = 0; hit < sizeof hits / sizeof *hits; hit++)
		for (uint8_t miss = 0; miss < 4; miss++)
			for (uint8_t replace = 0; replace < 2; replace++) /* r2 is r0 but while the set fills */
				for (uint8_t update = 0; update < 4; update++)
					for (int only = 0; only < 2; only++) {
						struct xr_qlru q = {.hit3 = hits[hit][0],
						                    .hit2 = hits[hit][1],
						                    .miss = miss,
						                    .rarely = miss,
						                    .replace = replace,
						                    .update = update,
						                    .misses_only = only};
						n = add(policy, n, xr_policy_qlru(&q), ways);
					}
	return n;
}

size_t xr_replacement_candidates(size_t ways, bool all, int policy[static XR_CANDIDATES])
{
	/* XR_MRU_N is XR_NRU but while the set fills */
	static const int plain[] = {XR_LRU, XR_FIFO, XR_PLRU, XR_RANDOM, XR_NRU, XR_SRRIP, XR_NRU_LATE};
	size_t n = 0;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		n = add(policy, n, plain[i], ways);
	for (uint32_t leaves = 2; leaves < ways && leaves <= 32; leaves *= 2)
		if (ways % leaves == 0)
			n = add(policy, n, xr_policy_lru_plru((uint32_t)ways / leaves, leaves), ways);
	return all ? add_ages(policy, n, ways) : n;
}

/* ---- which of them ---------------------------------------------------------------------------------------------- */

/* Bases and cost by least squares, the cost within its bounds. */
static double fit(const double *misses, const struct xr_replacement_seen *seen, double base[static BASES])
{
	double x[BASES] = {0}, y[BASES] = {0}, n[BASES] = {0}, xx = 0, xy = 0;
	for (size_t i = 0; i < seen->n; i++) {
		x[i % seen->n_bases] += misses[i];
		y[i % seen->n_bases] += seen->time[i];
		n[i % seen->n_bases]++;
	}
	for (size_t i = 0; i < seen->n; i++) {
		size_t k = i % seen->n_bases;
		xx += (misses[i] - x[k] / n[k]) * (misses[i] - x[k] / n[k]);
		xy += (misses[i] - x[k] / n[k]) * (seen->time[i] - y[k] / n[k]);
	}
	double cost = fmin(fmax(xx > 0 ? xy / xx : 0, seen->cost_least), seen->cost_most);
	for (size_t k = 0; k < seen->n_bases; k++)
		base[k] = n[k] > 0 ? (y[k] - cost * x[k]) / n[k] : 0;
	return cost;
}

static bool alike(const double *a, const double *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fabs(a[i] - b[i]) > same_misses)
			return false;
	return true;
}

/* Mean square that noise alone leaves. */
static double noise_floor(const struct xr_replacement_seen *seen)
{
	double mean = 0;
	for (size_t i = 0; i < seen->n; i++)
		mean += seen->time[i] / (double)seen->n;
	return mean * mean * (seen->noise.sigma * seen->noise.sigma + slack * slack);
}

/* What a law leaves, noise included. */
static double left_over(const struct xr_replacement_seen *seen, const double *misses, const double *base, double cost)
{
	double sum = 0;
	for (size_t i = 0; i < seen->n; i++) {
		double off = seen->time[i] - base[i % seen->n_bases] - (misses ? cost * misses[i] : 0);
		sum += off * off;
	}
	return sum / (double)seen->n + noise_floor(seen);
}

/* Families weigh alike, so that many of a kind are no likelier together than one of another. */
static double *priors(struct xr_arena *arena, const int *policy, size_t n)
{
	double *prior = xr_arena_array(arena, double, n);
	for (size_t h = 0; h < n; h++) {
		double kin = 0;
		for (size_t k = 0; k < n; k++)
			kin += xr_policy_kind(policy[k]) == xr_policy_kind(policy[h]);
		prior[h] = 1 / kin;
	}
	return prior;
}

struct xr_replacement xr_replacement_find(struct xr_arena *arena, const int *policy, size_t n_policies,
                                          const double *misses, const struct xr_replacement_seen *seen, double *p)
{
	struct xr_belief belief = xr_belief_new(arena, n_policies, priors(arena, policy, n_policies));
	double *log_of = xr_arena_array(arena, double, n_policies), *cost = xr_arena_array(arena, double, n_policies);
	double *square = xr_arena_array(arena, double, n_policies), base[BASES] = {0};
	const double free = ((double)seen->n - (double)seen->n_bases - 1) / 2;
	struct xr_replacement found = {.policy = -1};
	if (!seen->n)
		return found;
	/* How far times are from the law is not known beforehand: each hypothesis has the spread that suits it
	 * best, and what it leaves unexplained is its likelihood. Nothing explained at all is "none of these". */
	for (size_t h = 0; h < n_policies; h++) {
		cost[h] = fit(misses + h * seen->n, seen, base);
		square[h] = left_over(seen, misses + h * seen->n, base, cost[h]);
		log_of[h] = -free * log(square[h]);
	}
	struct xr_replacement_seen flat = *seen;
	flat.cost_least = flat.cost_most = 0;
	fit(misses, &flat, base);
	xr_belief_add(&belief, log_of, -free * log(left_over(seen, NULL, base, 0)), 1);
	size_t best = xr_belief_best(&belief, &found.p);
	const double *each = xr_belief_all(arena, &belief);
	if (p)
		memcpy(p, each, n_policies * sizeof *p);
	if (best == n_policies)
		return found;
	found.cost = cost[best];
	found.off = sqrt(fmax(0, square[best] - noise_floor(seen))) / cost[best];
	found.p = 0;
	for (size_t h = n_policies; h-- > 0;) {
		bool same = alike(misses + h * seen->n, misses + best * seen->n, seen->n);
		if (same)
			found.policy = policy[h]; /* the first of those that nobody could tell apart */
		found.p += same ? each[h] : 0;
		found.family += same || xr_policy_kind(policy[h]) == xr_policy_kind(policy[best]) ? each[h] : 0;
	}
	return found;
}
