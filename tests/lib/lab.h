/* SPDX-License-Identifier: MIT */
/* Many machines, measured on all CPUs and judged fact by fact: what the suites of simulated machines share.
 *
 * A fact that the machine decides and the tool does not even look for counts like one that it looked for in vain:
 * MISSED. Every machine has its own child process, so a crash costs one machine.
 */
#ifndef XR_TESTS_LIB_LAB_H
#define XR_TESTS_LIB_LAB_H

#include "judge.h"
#include "random.h"

#include <stdbool.h>
#include <stdint.h>

/* The seed that a suite begins at: XR_SEED where somebody set it, else what tests/run made of the commit, else 1. */
uint64_t lab_seed(void);
int lab_deep(int machines); /* XR_DEEP where set, else `machines` */

struct lab_fact {
	int machine; /* 0 .. n - 1 */
	uint64_t seed;
	const char *id;
	enum verdict verdict; /* never NO_TRUTH */
	bool given, sure;     /* an ok value; and one with confidence >= 0.9 */
	double confidence;
};

enum { LAB_SELECT = 12 };

struct lab_plan {
	/* Machine `i` of the series; the same arguments give the same machine. */
	void (*draw)(void *self, int i, uint64_t seed, struct xr_machine *machine);
	void (*each)(void *self, const struct lab_fact *fact);
	void *self;
	uint64_t seed; /* of machine 0; machine i has seed + i */
	int n;
	/* Families of facts ("cache"), or micro-benchmarks by id; NULL ends, none: everything. Whatever is found
	 * is judged, and what falls under a family and was not looked for is missed. */
	const char *select[LAB_SELECT];
	/* The same for machine i alone; NULL: all have `select`. */
	void (*choose)(void *self, int i, const char *select[static LAB_SELECT]);
};

/* Returns how many machines broke the tool; says on stdout, as a comment, which. `each` is called in this
 * process, facts of one machine in a row. */
int lab_run(const struct lab_plan *plan);

/* Facts of one run of one machine: the same as lab_run(), in this process. NULL select: everything. */
void lab_judge(const struct xr_machine *machine, const struct xr_description *d, const char *const *select,
               const struct lab_fact *stub, void (*each)(void *self, const struct lab_fact *fact), void *self);

/* The kind of a fact: its id, but for the many costs of operations and registers. */
void lab_kind(const char *id, char kind[static 64]);
/* Coarser: op, core, cache.l1d … tlb.i1, memory, system. Never freed. */
const char *lab_group(const char *id);

/* ---- counts and what they prove ---- */

/* P(X <= k) of n throws that succeed with p each. */
double lab_binomial(int n, int k, double p);
/* The smallest and largest p for which k of n is no surprise: P of as few, or as many, is `alpha`. */
double lab_lowest(int n, int k, double alpha);
double lab_highest(int n, int k, double alpha);

#endif
