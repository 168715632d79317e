/* SPDX-License-Identifier: MIT */
/* Which operations share units, and how many are started per cycle: on random machines as their files say. Prints
 * TAP. */
#include "../lib/judge.h"
#include "../lib/random.h"
#include "target/model/core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINES = 40, OPS = 16 };
static const double hidden_rate = 1.8; /* of the width: where both together need that much, sharing cannot be seen */

struct tally {
	int pairs, wrong, widths, wrong_widths, machines, in_doubt;
	unsigned long long first_wrong;
};

struct part {
	const char *name;
	struct xr_demand demand; /* of one operation */
	double rate;             /* per cycle, alone */
};

/* The operations that the fact speaks of, with what they ask of the machine. */
static int parts_of(const struct xr_machine *m, const struct xr_description *d, struct part *part)
{
	int n = 0;
	for (size_t i = 0; i < xr_description_count(d) && n < OPS; i++) {
		const struct xr_fact *f = xr_description_at(d, i);
		char op[32], type[32], reason[128];
		if (sscanf(f->id, "units.%31[a-z_].%31s", op, type) != 2 || f->status == XR_UNSUPPORTED)
			continue;
		struct xr_spec spec =
			xr_spec_stream((enum xr_op)xr_op_by_name(op), (enum xr_type)xr_type_by_name(type), 1);
		spec.ops.stream[0].link = XR_FRESH;
		if (xr_core_demand(m, &spec.ops, &part[n].demand, reason))
			continue;
		part[n].rate = 1 / xr_core_cycles(m, &part[n].demand);
		part[n++].name = f->id + strlen("units.");
	}
	return n;
}

static bool share_unit(const struct xr_machine *m, const struct part *a, const struct part *b)
{
	for (int u = 0; u < m->n_units; u++)
		if (a->demand.unit[u] > 0 && b->demand.unit[u] > 0)
			return true;
	return false;
}

static bool listed_together(const json_t *groups, const char *a, const char *b)
{
	size_t i, k;
	json_t *group, *name;
	json_array_foreach(groups, i, group)
	{
		int found = 0;
		json_array_foreach(group, k, name) found +=
			!strcmp(json_string_value(name), a) || !strcmp(json_string_value(name), b);
		if (found == 2)
			return true;
	}
	return false;
}

static void check_groups(const struct xr_machine *m, const struct xr_description *d, unsigned long long seed,
                         struct tally *t)
{
	struct part part[OPS];
	int n = parts_of(m, d, part);
	const struct xr_fact *groups = xr_description_fact(d, "units.groups");
	if (!groups || groups->status != XR_OK) {
		t->in_doubt++;
		return;
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++) {
			if (part[i].rate + part[j].rate > hidden_rate * m->width)
				continue;
			bool truth = share_unit(m, &part[i], &part[j]);
			t->pairs++;
			if (listed_together(groups->value, part[i].name, part[j].name) == truth)
				continue;
			if (!t->wrong++)
				t->first_wrong = seed;
			printf("# seed %llu: %s and %s %s units\n", seed, part[i].name, part[j].name,
			       truth ? "share" : "do not share");
		}
}

/* What any mix of these can reach: units of all kinds together, up to the width. */
static void check_width(const struct xr_machine *m, const struct xr_description *d, struct tally *t)
{
	const struct xr_fact *width = xr_description_fact(d, "units.width");
	double units = 0;
	struct part part[OPS];
	int n = parts_of(m, d, part);
	for (int u = 0; u < m->n_units; u++) {
		double most = 0;
		for (int i = 0; i < n; i++)
			if (part[i].demand.unit[u] > 0)
				most = fmax(most, m->unit[u].count / part[i].demand.unit[u]);
		units += most;
	}
	if (units < m->width + 0.9 || !width || width->status != XR_OK)
		return;
	t->widths++;
	if (fabs(xr_description_number(d, "units.width", 0) - m->width) > 1e-6) {
		printf("# %s: width %g, not %d\n", m->name, xr_description_number(d, "units.width", 0), m->width);
		t->wrong_widths++;
	}
}

int main(void)
{
	static const char *const select[] = {"units"}, *const names[] = {"quiet", "standard", "hostile"};
	static const double allowed[] = {0.01, 0.01, 0.02};
	const char *deep = getenv("XR_DEEP");
	int machines = deep ? atoi(deep) / 3 : MACHINES, failures = 0;
	for (int noise = XR_QUIET; noise <= XR_HOSTILE; noise++) {
		struct tally t = {0};
		for (unsigned long long seed = 1; seed <= (unsigned long long)machines; seed++) {
			struct xr_machine m;
			struct xr_error err = {0};
			xr_machine_random(&m, seed, XR_MIXED, (enum xr_noise)noise);
			struct xr_description *d = measure_machine(&m, select, 1, seed, &err);
			if (!d) {
				printf("not ok units: seed %llu: %s\n", seed, err.text);
				return 1;
			}
			t.machines++;
			check_groups(&m, d, seed, &t);
			check_width(&m, d, &t);
			xr_description_free(d);
		}
		bool ok = t.wrong <= allowed[noise] * t.pairs && t.wrong_widths <= allowed[noise] * t.widths &&
		          t.in_doubt <= 0.1 * t.machines;
		failures += !ok;
		printf("%s units on %s machines: %d of %d pairs and %d of %d widths wrong, %d of %d machines in doubt\n",
		       ok ? "ok" : "not ok", names[noise], t.wrong, t.pairs, t.wrong_widths, t.widths, t.in_doubt,
		       t.machines);
	}
	return failures > 0;
}
