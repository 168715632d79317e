/* SPDX-License-Identifier: MIT */
/* Of how many machines is a kind of fact right? Counted by machine, since facts of one machine fail together.
 *
 * tests/model/rates.txt keeps what was counted over many machines, by series (a generator and a noise) and kind:
 *
 *     first-standard cache.l2.ways 400 371 2      machines that have it, right on all counts, with something sure and wrong
 *
 * A new sample fails where it cannot come from the same rates: that is what xr_tally tests say, whatever the
 * seeds are.
 */
#ifndef XR_TESTS_LIB_TALLY_H
#define XR_TESTS_LIB_TALLY_H

#include "lab.h"

#include <stdio.h>

enum { TALLY_KINDS = 512 };

struct tally {
	char kind[64];
	int machines, right;        /* right: all facts of that kind */
	int wrong, missed;          /* of the rest: something wrong, or only nothing told */
	int sure_wrong;             /* machines with something sure and wrong */
	int facts, facts_right;
	int current, state;         /* the machine counted last, and what it was counted as */
	bool current_sure;
	uint64_t first_bad;
	char bad_id[96];
};

struct tallies {
	struct tally kind[TALLY_KINDS];
	int n;
};

/* `by` names what a fact is counted under: lab_kind() or groups. */
void tally_count(struct tallies *tallies, const char *kind, const struct lab_fact *fact);

/* Rates as committed; a kind that is not in the file has n 0. */
struct rate {
	int n, right, sure_wrong;
};
struct rate rate_read(const char *path, const char *series, const char *kind);
void rates_write(FILE *out, const char *series, const struct tallies *tallies);

/* Prints TAP for each kind; `again` is the command that shows a seed, NULL: none. Returns how many failed. */
int rates_compare(const char *path, const char *series, const struct tallies *tallies, const char *again);

#endif
