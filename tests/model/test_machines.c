/* SPDX-License-Identifier: MIT */
/* Every micro-benchmark on machines it has never seen, against what their files say.
 *
 *   test_machines                    the suite: random machines, quiet, with ordinary and with hostile noise
 *   test_machines SEED NOISE [FACT]  one machine again, every fact beside the truth; FACT: only that, and the smallest
 *                                    machine on which it is still wrong
 *   test_machines --rates            the lines for tests/model/rates.txt
 *
 * The seeds are the commit's (XR_SEED: others; printed). XR_DEEP: how many machines in all; XR_ONLY: only these facts
 * (a selector); XR_PLAIN: without larger pages, longer outer lines, pages in a row and TLBs of other policies among
 * them. Prints TAP. A micro-benchmark joins by existing; what it must find is what tests/lib/truth.c says of its ids,
 * and how often, what tests/model/rates.txt says.
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

static const char *const noise_names[] = {"quiet", "standard", "hostile"};
static const char *const rates = "tests/model/rates.txt";
enum { N_NOISES = 3, MACHINES = 5 /* of each noise; `make lab` has more */ };

struct suite {
	enum xr_noise noise;
	struct tallies kinds;
};

static void draw(void *self, int i, uint64_t seed, struct xr_machine *machine)
{
	const struct suite *suite = self;
	(void)i;
	xr_machine_random(machine, seed, XR_MIXED, suite->noise);
	if (!getenv("XR_PLAIN"))
		xr_machine_vary(machine, seed);
}

static void count(void *self, const struct lab_fact *fact)
{
	struct suite *suite = self;
	char kind[64];
	lab_kind(fact->id, kind);
	tally_count(&suite->kinds, kind, fact);
}

static int run_suite(enum xr_noise noise, int machines, bool write)
{
	static struct suite suite;
	char series[32];
	suite = (struct suite){.noise = noise};
	struct lab_plan plan = {.draw = draw,
	                        .each = count,
	                        .self = &suite,
	                        .seed = lab_seed(),
	                        .n = machines,
	                        .select = {getenv("XR_ONLY")}};
	snprintf(series, sizeof series, "first-%s", noise_names[noise]);
	int broken = lab_run(&plan), failures = broken > 0;
	if (write) {
		rates_write(stdout, series, &suite.kinds);
		return failures;
	}
	failures += rates_compare(rates, series, &suite.kinds, "test_machines");
	printf("%s %s machines: none of %d breaks the tool\n", broken ? "not ok" : "ok", noise_names[noise], machines);
	fflush(stdout);
	return failures;
}

static int one_machine(uint64_t seed, enum xr_noise noise, const char *id)
{
	struct xr_machine machine;
	struct xr_error err = {0};
	static struct suite suite;
	suite.noise = noise;
	draw(&suite, 0, seed, &machine);
	if (id && shrink(&machine, seed, id))
		printf("# the smallest machine on which %s is not right:\n", id);
	machine_write(&machine, stdout);
	const char *only = getenv("XR_ONLY");
	struct xr_description *d = measure_machine(&machine, &only, only != NULL, seed, &err);
	if (!d) {
		printf("not ok %s\n", err.text);
		return 1;
	}
	int bad = show_verdicts(&machine, d, id);
	xr_description_free(d);
	return bad > 0;
}

static enum xr_noise noise_by_name(const char *name)
{
	for (int i = 0; i < N_NOISES; i++)
		if (!strcmp(noise_names[i], name))
			return (enum xr_noise)i;
	fprintf(stderr, "noise is quiet, standard or hostile, not '%s'\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	int machines = lab_deep(N_NOISES * MACHINES) / N_NOISES, failures = 0;
	bool write = argc == 2 && !strcmp(argv[1], "--rates");
	if (argc > 2)
		return one_machine(strtoull(argv[1], NULL, 10), noise_by_name(argv[2]), argc > 3 ? argv[3] : NULL);
	if (!write)
		printf("# seeds from %" PRIu64 ": XR_SEED=%" PRIu64 " repeats them\n", lab_seed(), lab_seed());
	for (int noise = XR_QUIET; noise < N_NOISES; noise++)
		failures += run_suite((enum xr_noise)noise, machines, write);
	return failures > 0;
}
