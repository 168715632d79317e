/* SPDX-License-Identifier: MIT */
#include "tally.h"

#include <inttypes.h>
#include <string.h>

/* A sample is refused when rates that could have given the committed counts give one as bad less often than this. A
 * suite looks at a few hundred kinds; so a true change of nothing fails one run in some hundred at most. */
static const double surprise = 1e-5, committed = 0.025;
static const double new_kind = 0.02; /* of what is in no rates yet may be sure and wrong on so many machines */

enum { STATE_RIGHT, STATE_MISSED, STATE_WRONG };

static struct tally *tally_of(struct tallies *tallies, const char *kind)
{
	for (int i = 0; i < tallies->n; i++)
		if (!strcmp(tallies->kind[i].kind, kind))
			return &tallies->kind[i];
	if (tallies->n == TALLY_KINDS)
		return &tallies->kind[TALLY_KINDS - 1];
	struct tally *t = &tallies->kind[tallies->n++];
	*t = (struct tally){.current = -1};
	snprintf(t->kind, sizeof t->kind, "%s", kind);
	return t;
}

static int *count_of(struct tally *t, int state)
{
	return state == STATE_RIGHT ? &t->right : state == STATE_WRONG ? &t->wrong : &t->missed;
}

void tally_count(struct tallies *tallies, const char *kind, const struct lab_fact *fact)
{
	struct tally *t = tally_of(tallies, kind);
	int state = fact->verdict == RIGHT ? STATE_RIGHT : fact->verdict == WRONG ? STATE_WRONG : STATE_MISSED;
	if (t->current != fact->machine) {
		t->current = fact->machine;
		t->current_sure = false;
		t->state = STATE_RIGHT;
		t->machines++;
		t->right++;
	}
	t->facts++;
	t->facts_right += state == STATE_RIGHT;
	if (state > t->state) {
		--*count_of(t, t->state);
		++*count_of(t, state);
		t->state = state;
		if (!t->bad_id[0]) {
			t->first_bad = fact->seed;
			snprintf(t->bad_id, sizeof t->bad_id, "%s", fact->id);
		}
	}
	if (fact->sure && state == STATE_WRONG && !t->current_sure) {
		t->current_sure = true;
		t->sure_wrong++;
	}
}

struct rate rate_read(const char *path, const char *series, const char *kind)
{
	struct rate rate = {0}, found;
	char line[256], in_series[64], in_kind[64];
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "%63s %63s %d %d %d", in_series, in_kind, &found.n, &found.right, &found.sure_wrong) ==
		            5 &&
		    !strcmp(in_series, series) && !strcmp(in_kind, kind))
			rate = found;
	if (file)
		fclose(file);
	return rate;
}

void rates_write(FILE *out, const char *series, const struct tallies *tallies)
{
	for (int i = 0; i < tallies->n; i++) {
		const struct tally *t = &tallies->kind[i];
		fprintf(out, "%s %s %d %d %d\n", series, t->kind, t->machines, t->right, t->sure_wrong);
	}
}

int rates_compare(const char *path, const char *series, const struct tallies *tallies, const char *again)
{
	int failures = 0;
	for (int i = 0; i < tallies->n; i++) {
		const struct tally *t = &tallies->kind[i];
		struct rate rate = rate_read(path, series, t->kind);
		double wanted = rate.n ? lab_lowest(rate.n, rate.right, committed) : 0;
		double allowed = rate.n ? lab_highest(rate.n, rate.sure_wrong, committed) : new_kind;
		bool often = lab_binomial(t->machines, t->right, wanted) >= surprise;
		bool honest = 1 - lab_binomial(t->machines, t->sure_wrong - 1, allowed) >= surprise;
		printf("%s %s, %s: right on %d of %d machines (at least %.0f %% wanted), sure and wrong on %d (%.1f %% allowed)%s\n",
		       often && honest ? "ok" : "not ok", series, t->kind, t->right, t->machines, 100 * wanted,
		       t->sure_wrong, 100 * allowed, rate.n ? "" : ": no rate yet; make rates");
		if (!(often && honest) && t->bad_id[0] && again)
			printf("# first: %s %" PRIu64 " %s %s\n", again, t->first_bad, strrchr(series, '-') + 1,
			       t->bad_id);
		failures += !(often && honest);
	}
	return failures;
}
