/* SPDX-License-Identifier: MIT */
/* A last cache that others use: what a program gets of it is less than it has, can be reckoned, and is found, run
 * for run; everything else is found as if nobody was there. Prints TAP. XR_SEED: the first throw of the dice. */
#include "../lib/judge.h"
#include "../lib/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 2 };                  /* at most */
static const double repeats = 1.25; /* the largest of several runs, in smallest ones */

struct rate {
	double gbs;  /* neighbours' */
	double most; /* of the capacity: what is found must be below */
	int runs;    /* those in between say whether it is the same again */
};
static const struct rate rates[] = {{2, 0.9, 1}, {6, 0.75, RUNS}, {20, 0.5, 1}};

static int tests;

static int check(bool ok, const char *what, double gbs)
{
	printf("%s %d - neighbours of %g GB/s: %s\n", ok ? "ok" : "not ok", ++tests, gbs, what);
	fflush(stdout);
	return !ok;
}

/* What it says of who waits for each line, in bytes; 0: nothing. */
static double alone_of(const struct xr_fact *fact)
{
	const char *note = fact && fact->reason ? strstr(fact->reason, "beside others who use this cache") : NULL;
	note = note ? strstr(note, "about ") : NULL;
	return note ? strtod(note + strlen("about "), NULL) * (1 << 20) : 0;
}

/* Facts of the nearer caches, latencies and TLBs that are not as the file says. */
static int wrong_of(const struct xr_machine *m, const struct xr_description *d)
{
	int wrong = 0;
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		bool sure;
		enum verdict v = judge(m, fact, &sure);
		/* What neighbours leave of the last level is no geometry; policies are asked for by name only. */
		bool excused = strncmp(fact->id, "cache.l3.", 9) == 0 || strstr(fact->id, ".policy");
		bool bad = v == WRONG || (v == MISSED && !excused);
		if (bad)
			printf("# %s: %s\n", fact->id, v == WRONG ? "wrong" : "missed");
		wrong += bad;
	}
	return wrong;
}

static int try_rate(struct xr_machine *m, const struct rate *rate, unsigned long long seed)
{
	static const char *const select[] = {"cache_outer", "tlb.d1"}, *const id = "cache.l3.capacity";
	struct xr_machine_cache *last = &m->cache[m->n_caches - 1];
	double found[RUNS], low = INFINITY, high = 0;
	int wrong = 0, noted = 0;
	last->neighbours_gbs = rate->gbs;
	struct xr_truth truth = xr_model_truth_of(m, id);
	double want = json_number_value(truth.value);
	for (int i = 0; i < rate->runs; i++) {
		struct xr_error err = {0};
		struct xr_description *d = measure_machine(m, select, 2, seed + (unsigned long long)i, &err);
		if (!d) {
			printf("# %s\n", err.text);
			xr_truth_release(&truth);
			return check(false, "can be measured", rate->gbs);
		}
		double alone = alone_of(xr_description_fact(d, id));
		found[i] = xr_fact_value(xr_description_fact(d, id), 0); /* doubted or not */
		noted += alone > 0 && alone < 0.8 * found[i];
		wrong += wrong_of(m, d);
		low = fmin(low, found[i]);
		high = fmax(high, found[i]);
		xr_description_free(d);
	}
	printf("# %.2f to %.2f MiB, %.2f reckoned\n", low / (1 << 20), high / (1 << 20), want / (1 << 20));
	int bad = check(high < rate->most * (double)last->capacity, "less is left than there is", rate->gbs) +
	          check(low > want * (1 - truth.relative) && high < want * (1 + truth.relative), "what can be reckoned",
	                rate->gbs) +
	          check(high < repeats * low, "again in the next run", rate->gbs) +
	          check(noted == rate->runs, "others are noticed, who waits for each line keeps less", rate->gbs) +
	          check(wrong == 0, "everything else is as the file says", rate->gbs);
	xr_truth_release(&truth);
	return bad;
}

int main(void)
{
	const char *seed = getenv("XR_SEED");
	struct xr_machine machine;
	struct xr_error err = {0};
	int bad = 0;
	if (xr_machine_read(&machine, "machines/shared.ini", &err)) {
		printf("not ok machines/shared.ini: %s\n1..1\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		bad += try_rate(&machine, &rates[i], seed ? strtoull(seed, NULL, 10) : 1);
	printf("1..%d\n", tests);
	return bad > 0;
}
