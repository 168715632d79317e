/* SPDX-License-Identifier: MIT */
/* Paper 003's own algorithm beside unforeseen jumps: on a machine that fetches code in order its curve shows the
 * first cache, and both agree; on one that fetches ahead it is blind to it, and that is said. Where the first cache of code
 * has sets by physical addresses, what fits is a matter of luck, and nobody is sure of it. Prints TAP. */
#include "../lib/judge.h"

#include <stdio.h>
#include <string.h>

static const char *const asked[] = {"cache.l1i", "code"};

static int check(bool right, const char *what)
{
	printf("%s %s\n", right ? "ok" : "not ok", what);
	return !right;
}

static double number_of(const struct xr_description *d, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(d, id);
	return fact && fact->status == XR_OK ? json_number_value(fact->value) : 0;
}

static bool says(const struct xr_description *d, const char *id, const char *words)
{
	const struct xr_fact *fact = xr_description_fact(d, id);
	return fact && fact->reason && strstr(fact->reason, words);
}

static struct xr_description *measure(struct xr_machine *m, bool ahead)
{
	struct xr_error err = {0};
	m->prefetch_code = ahead;
	struct xr_description *d = measure_machine(m, asked, sizeof asked / sizeof *asked, 1, &err);
	if (!d)
		printf("not ok measured: %s\n", err.text);
	return d;
}

static int in_order(struct xr_machine *m)
{
	struct xr_description *d = measure(m, false);
	if (!d)
		return 1;
	double capacity = number_of(d, "cache.l1i.capacity"), limit = number_of(d, "code.unroll_limit");
	int wrong = check(capacity == 12288, "in order: jumps see the first cache");
	wrong += check(limit > 0.9 * capacity && limit < 3 * capacity, "in order: straight-line code sees its step");
	wrong += check(number_of(d, "cache.l1i.latency") == 2, "in order: a hit has a latency");
	wrong += check(!says(d, "cache.l1i.capacity", "straight-line"), "in order: no disagreement is reported");
	xr_description_free(d);
	return wrong;
}

static int ahead(struct xr_machine *m)
{
	struct xr_description *d = measure(m, true);
	if (!d)
		return 1;
	double limit = number_of(d, "code.unroll_limit");
	int wrong = check(number_of(d, "cache.l1i.capacity") == 12288, "ahead: jumps see the first cache");
	wrong += check(limit > 0.9 * (128 << 10), "ahead: straight-line code runs at full speed from the second");
	wrong += check(number_of(d, "cache.l1i.latency") == 0, "ahead: no latency is claimed");
	wrong += check(says(d, "cache.l1i.capacity", "straight-line code runs at full speed up to"),
	               "ahead: the disagreement is reported");
	xr_description_free(d);
	return wrong;
}

/* tests/data/crowd.ini without its instruction cache: code is in the second level alone, of four colours of pages. */
static int by_luck(void)
{
	static const char *const ids[] = {"cache.l1i.capacity", "cache.l1i.ways", "cache.l1i.line"};
	struct xr_machine m;
	struct xr_error err = {0};
	enum { SEEDS = 4 };
	int sure = 0, said = 0;
	if (xr_machine_read(&m, "tests/data/crowd.ini", &err))
		return check(false, err.text);
	for (int i = 1; i + 1 < m.n_caches; i++)
		m.cache[i] = m.cache[i + 1];
	m.n_caches--;
	for (uint64_t seed = 2; seed < 2 + SEEDS; seed++) {
		struct xr_description *d = measure_machine(&m, asked, 1, seed, &err);
		for (size_t i = 0; d && i < sizeof ids / sizeof *ids; i++)
			sure += number_of(d, ids[i]) > 0;
		said += d && says(d, "cache.l1i.ways", "where pages lie");
		xr_description_free(d);
	}
	return check(!sure, "sets by physical addresses: nobody is sure") +
	       check(2 * said >= SEEDS, "sets by physical addresses: the reason is said"); /* or another one */
}

int main(void)
{
	struct xr_machine machine;
	struct xr_error err = {0};
	if (xr_machine_read(&machine, "machines/harvard.ini", &err)) {
		printf("not ok machines/harvard.ini: %s\n1..1\n", err.text);
		return 1;
	}
	int wrong = in_order(&machine) + ahead(&machine) + by_luck();
	printf("1..10\n");
	return wrong ? 1 : 0;
}
