/* SPDX-License-Identifier: MIT */
#include "lab.h"
#include "truth.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t lab_seed(void)
{
	const char *seed = getenv("XR_SEED");
	if (!seed)
		seed = getenv("XR_COMMIT_SEED");
	return seed ? strtoull(seed, NULL, 10) : 1;
}

int lab_deep(int machines)
{
	const char *deep = getenv("XR_DEEP");
	return deep && atoi(deep) > 0 ? atoi(deep) : machines;
}

/* ---- names ---- */

static bool begins(const char *id, const char *with)
{
	return !strncmp(id, with, strlen(with));
}

void lab_kind(const char *id, char kind[static 64])
{
	const char *last = strrchr(id, '.');
	if (begins(id, "op.") && last)
		snprintf(kind, 64, "op%s", last);
	else if (begins(id, "registers."))
		snprintf(kind, 64, "registers");
	else
		snprintf(kind, 64, "%s", id);
}

const char *lab_group(const char *id)
{
	static const struct {
		const char *begin, *group;
	} groups[] = {
		{"op.", "operations"},      {"isa.", "core"},           {"registers.", "core"},
		{"units.", "core"},         {"branch.", "core"},        {"core.", "core"},
		{"code.", "core"},          {"cpu.", "core"},           {"timer.", "core"},
		{"cache.l1d", "cache.l1d"}, {"cache.l1i", "cache.l1i"}, {"cache.l2i", "cache.l2i"},
		{"cache.l2.", "cache.l2"},  {"cache.l3", "cache.l3"},   {"cache.l4", "cache.l3"},
		{"cache.", "cache.levels"}, {"tlb.d1", "tlb.d1"},       {"tlb.d", "tlb.d2"},
		{"tlb.i", "tlb.i1"},        {"memory.", "memory"},      {"prefetch.", "prefetch"},
	};
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (begins(id, groups[i].begin))
			return groups[i].group;
	return "system";
}

/* ---- judging ---- */

struct judging {
	const struct xr_machine *machine;
	const struct xr_description *d;
	const char *const *select;
	struct lab_fact fact;
	void (*each)(void *self, const struct lab_fact *fact);
	void *self;
};

static bool selected(const char *const *select, const char *id)
{
	if (!select || !select[0])
		return true;
	for (; *select; select++)
		if (xr_id_matches(id, *select))
			return true;
	return false;
}

static void not_looked_for(void *self, const char *id)
{
	struct judging *j = self;
	if (xr_description_fact(j->d, id) || !selected(j->select, id))
		return;
	struct lab_fact fact = j->fact;
	fact.id = id;
	fact.verdict = MISSED;
	j->each(j->self, &fact);
}

void lab_judge(const struct xr_machine *machine, const struct xr_description *d, const char *const *select,
               const struct lab_fact *stub, void (*each)(void *self, const struct lab_fact *fact), void *self)
{
	struct judging j = {machine, d, select, *stub, each, self};
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *found = xr_description_at(d, i);
		struct lab_fact fact = j.fact;
		fact.id = found->id;
		fact.given = found->status == XR_OK && found->value;
		fact.verdict = judge(machine, found, &fact.sure);
		fact.confidence = fact.given ? found->confidence : 0;
		if (fact.verdict != NO_TRUTH)
			each(self, &fact);
	}
	xr_model_truth_ids(machine, not_looked_for, &j);
}

/* ---- many machines ---- */

static void write_fact(void *self, const struct lab_fact *f)
{
	fprintf(self, "fact %d %" PRIu64 " %d %d %d %.4f %s\n", f->machine, f->seed, (int)f->verdict, f->given, f->sure,
	        f->confidence, f->id);
}

static void try_machine(const struct lab_plan *plan, int i, FILE *out)
{
	struct xr_machine machine;
	struct xr_error err = {0};
	const struct lab_fact stub = {.machine = i, .seed = plan->seed + (uint64_t)i};
	const char *select[LAB_SELECT + 1] = {NULL};
	size_t n_select = 0;
	memcpy(select, plan->select, sizeof plan->select);
	if (plan->choose)
		plan->choose(plan->self, i, select);
	while (select[n_select])
		n_select++;
	plan->draw(plan->self, i, stub.seed, &machine);
	struct xr_description *d = measure_machine(&machine, select, n_select, stub.seed, &err);
	if (!d) {
		fprintf(out, "broken %" PRIu64 " %s\n", stub.seed, err.text);
	} else {
		lab_judge(&machine, d, select, &stub, write_fact, out);
		fprintf(out, "machine %" PRIu64 "\n", stub.seed);
	}
	xr_description_free(d);
	fflush(out);
}

static int read_lines(FILE *in, const struct lab_plan *plan, int *machines)
{
	char line[512], id[128];
	int broken = 0, verdict, given, sure;
	struct lab_fact f;
	rewind(in);
	while (fgets(line, sizeof line, in)) {
		if (sscanf(line, "fact %d %" SCNu64 " %d %d %d %lf %127s", &f.machine, &f.seed, &verdict, &given, &sure,
		           &f.confidence, id) == 7) {
			f.id = id;
			f.verdict = (enum verdict)verdict;
			f.given = given;
			f.sure = sure;
			plan->each(plan->self, &f);
		} else if (begins(line, "machine ")) {
			++*machines;
		} else if (begins(line, "broken ")) {
			printf("# %s", line);
			broken++;
		}
	}
	return broken;
}

/* Machines from, from + step … in a child. */
struct share {
	FILE *lines;
	pid_t child;
};

static struct share start_share(const struct lab_plan *plan, int from, int step)
{
	struct share s = {tmpfile(), -1};
	fflush(NULL);
	if (s.lines)
		s.child = fork();
	if (s.child)
		return s;
	for (int i = from; i < plan->n; i += step)
		try_machine(plan, i, s.lines);
	_exit(0);
}

/* Waits for a share; 0: all of it was tried; else the place of the machine that killed the child. */
static int end_share(const struct lab_plan *plan, struct share *s, int from, int step, int *broken)
{
	int status = -1, done = 0, refused = 0;
	if (s->child > 0)
		waitpid(s->child, &status, 0);
	if (s->lines) {
		refused = read_lines(s->lines, plan, &done);
		fclose(s->lines);
	}
	*broken += refused;
	if (!status)
		return 0;
	int at = from + (done + refused) * step;
	++*broken;
	printf("# the machine of seed %" PRIu64 " killed its child (status %d)\n", plan->seed + (uint64_t)at, status);
	return at + step;
}

int lab_run(const struct lab_plan *plan)
{
	enum { MOST = 64 };
	struct share share[MOST];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int jobs = cpus < 1 ? 1 : cpus > MOST ? MOST : (int)cpus, broken = 0;
	for (int j = 0; j < jobs; j++)
		share[j] = start_share(plan, j, jobs);
	for (int j = 0; j < jobs; j++)
		for (int from = j; (from = end_share(plan, &share[j], from, jobs, &broken)) && from < plan->n;)
			share[j] = start_share(plan, from, jobs); /* the rest of it */
	return broken;
}

/* ---- counts and what they prove ---- */

double lab_binomial(int n, int k, double p)
{
	double sum = 0;
	if (k >= n || p <= 0)
		return k < 0 ? 0 : 1;
	if (p >= 1)
		return 0;
	for (int i = 0; i <= k; i++)
		sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) + (n - i) * log1p(-p));
	return fmin(1, sum);
}

/* Where a monotone function of p crosses alpha. */
static double crossing(int n, int k, double alpha, bool falls)
{
	double low = 0, high = 1;
	for (int i = 0; i < 60; i++) {
		double p = (low + high) / 2, tail = falls ? lab_binomial(n, k, p) : 1 - lab_binomial(n, k - 1, p);
		if ((tail > alpha) == falls)
			low = p;
		else
			high = p;
	}
	return (low + high) / 2;
}

double lab_lowest(int n, int k, double alpha)
{
	return k <= 0 ? 0 : crossing(n, k, alpha, false);
}

double lab_highest(int n, int k, double alpha)
{
	return k >= n ? 1 : crossing(n, k, alpha, true);
}
