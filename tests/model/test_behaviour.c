/* SPDX-License-Identifier: MIT */
/* How the memory of simulated machines behaves, against what their files say: bandwidth, parallelism, policies,
 * writes.
 *
 *   test_behaviour                   the suite: random machines, quiet and with ordinary noise
 *   test_behaviour SEED NOISE        one machine again, every fact beside the truth
 *
 * Seeds are the commit's (XR_SEED: others; printed). XR_DEEP: how many machines in all; XR_ONLY: a
 * micro-benchmark. Prints TAP. Each kind of fact has a rate that it must reach, and fails where the machines that
 * were right cannot come from such a rate.
 */
#include "../lib/lab.h"
#include "../lib/shrink.h"
#include "../lib/tally.h"
#include "../lib/write.h"

#include "xray.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const noise_names[] = {"quiet", "standard"};
/* Which facts, the micro-benchmark that finds them, and on how many machines they must be right. */
static const struct {
	const char *ids, *micro;
	double wanted[2];
} asked[] = {
	{"cache.*.bandwidth.*", "bandwidth", {0.99, 0.97}},
	{"cache.*.throughput.*", "bandwidth", {0.99, 0.97}},
	{"memory.bandwidth.*.one", "bandwidth", {0.99, 0.97}},
	{"memory.throughput.*", "bandwidth", {0.99, 0.97}},
	{"memory.bandwidth.*.all", "bandwidth_cores", {0.97, 0.90}},
	{"cache.*.parallelism", "parallelism", {0.99, 0.97}},
	{"memory.parallelism", "parallelism", {0.99, 0.97}},
	{"tlb.walks", "parallelism", {0.6, 0.6}}, /* of what is found today: walks queue beside other misses */
	{"cache.*.policy", "policy", {0.97, 0.90}},
	{"tlb.d1.policy", "policy", {0.97, 0.90}},
	{"cache.*.write_allocate", "write", {0.97, 0.90}},
	{"cache.*.inclusive",
         "inclusion",
         {0.90, 0.85}}, /* of what is found today: conflict sets are not always found */
	{"cache.*.inclusion", "inclusion", {0.90, 0.85}},
	{"cache.*.write_back", "inclusion", {0.90, 0.85}},
	{"counters", "counters", {0.99, 0.97}},
	{"prefetch.temporal", "temporal", {0.90, 0.85}},
	{"prefetch", "prefetch", {0.90, 0.85}}, /* caches that replace by chance keep some lines */
};
enum { N_ASKED = sizeof asked / sizeof *asked, N_NOISES = 2, MACHINES = 6 };
static const double surprise = 1e-4; /* some dozens of kinds: a true change of nothing fails one run in hundreds */
static const double sure_wrong = 0.02;

struct suite {
	enum xr_noise noise;
	struct tallies kinds;
};

static int asked_for(const char *id)
{
	const char *only = getenv("XR_ONLY");
	for (int i = 0; i < N_ASKED; i++)
		if (xr_id_matches(id, asked[i].ids) && (!only || !strcmp(only, asked[i].micro)))
			return i;
	return -1;
}

static size_t choose(const char **select)
{
	const char *only = getenv("XR_ONLY");
	size_t n = 0;
	for (int i = 0; i < N_ASKED; i++)
		if ((!only || !strcmp(only, asked[i].micro)) && (!n || strcmp(select[n - 1], asked[i].micro) != 0))
			select[n++] = asked[i].micro;
	return n;
}

static void draw(void *self, int i, uint64_t seed, struct xr_machine *machine)
{
	const struct suite *suite = self;
	(void)i;
	xr_machine_random(machine, seed, XR_MIXED, suite->noise);
	xr_machine_behave(machine, seed);
}

static void count(void *self, const struct lab_fact *fact)
{
	struct suite *suite = self;
	if (asked_for(fact->id) >= 0)
		tally_count(&suite->kinds, fact->id, fact);
}

static int report(const struct suite *suite)
{
	const char *noise = noise_names[suite->noise];
	int failures = 0;
	for (int i = 0; i < suite->kinds.n; i++) {
		const struct tally *t = &suite->kinds.kind[i];
		const double wanted = asked[asked_for(t->kind)].wanted[suite->noise];
		const bool ok = lab_binomial(t->machines, t->right, wanted) >= surprise &&
		                1 - lab_binomial(t->machines, t->sure_wrong - 1, sure_wrong) >= surprise;
		printf("%s %s, %s: right on %d of %d machines (%.0f %% wanted), sure and wrong on %d\n",
		       ok ? "ok" : "not ok", noise, t->kind, t->right, t->machines, 100 * wanted, t->sure_wrong);
		if (t->bad_id[0])
			printf("# again: test_behaviour %" PRIu64 " %s\n", t->first_bad, noise);
		failures += !ok;
	}
	return failures;
}

static int run_suite(enum xr_noise noise, int machines)
{
	static struct suite suite;
	suite = (struct suite){.noise = noise};
	struct lab_plan plan = {.draw = draw, .each = count, .self = &suite, .seed = lab_seed(), .n = machines};
	choose(plan.select);
	int broken = lab_run(&plan), failures = report(&suite);
	printf("%s %s: none of %d machines breaks the tool\n", broken ? "not ok" : "ok", noise_names[noise], machines);
	fflush(stdout);
	return failures + broken;
}

static int one_machine(uint64_t seed, enum xr_noise noise)
{
	struct xr_machine machine;
	const char *select[12];
	struct xr_error err = {0};
	static struct suite suite;
	suite.noise = noise;
	draw(&suite, 0, seed, &machine);
	struct xr_description *d = measure_machine(&machine, select, choose(select), seed, &err);
	if (!d) {
		printf("# seed %" PRIu64 ": %s\n", seed, err.text);
		return 1;
	}
	machine_write(&machine, stdout);
	for (size_t i = 0; i < xr_description_count(d); i++)
		if (asked_for(xr_description_at(d, i)->id) >= 0)
			show_verdicts(&machine, d, xr_description_at(d, i)->id);
	xr_description_free(d);
	return 0;
}

int main(int argc, char **argv)
{
	int machines = lab_deep(N_NOISES * MACHINES) / N_NOISES, failures = 0;
	if (argc > 2)
		return one_machine(strtoull(argv[1], NULL, 10), strcmp(argv[2], "quiet") ? XR_STANDARD : XR_QUIET);
	printf("# seeds from %" PRIu64 ": XR_SEED=%" PRIu64 " repeats them\n", lab_seed(), lab_seed());
	for (int noise = 0; noise < N_NOISES; noise++)
		failures += run_suite((enum xr_noise)noise, machines);
	return failures > 0;
}
