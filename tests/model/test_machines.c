/* Every micro-benchmark on machines it has never seen, against what their files say.
 *
 *   test_machines                    the suite: random machines, quiet, with ordinary and with hostile noise
 *   test_machines SEED NOISE [FACT]  one machine again, every fact beside the truth; FACT: only that, and the smallest machine
 *                                    on which it is still wrong
 *
 * XR_DEEP: how many machines in all; XR_SEED: the first one's seed; XR_ONLY: only these facts (a selector); XR_VARIED:
 * with larger pages, longer outer lines, pages in a row, TLBs of other policies among them.
 * Prints TAP. A micro-benchmark joins by existing; what it must find is what tests/lib/truth.c says of its ids.
 */
#include "../lib/judge.h"
#include "../lib/random.h"
#include "../lib/shrink.h"

#include "xray.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const noise_names[] = {"quiet", "standard", "hostile"};
static const double wanted_right[] = {0.99, 0.97, 0.90}; /* of the facts a machine has */
static const double allowed_sure_wrong = 0.01;           /* of the facts given with confidence >= 0.9 */
enum { N_NOISES = 3, MACHINES = 67 /* of each noise */, IDS = 4096, SHOWN = 25 };

struct tally {
	char id[64];
	int right, wrong, missed, sure, sure_wrong;
	uint64_t first_bad, last_bad; /* seeds */
	int bad_machines;
};

struct table {
	struct tally ids[IDS];
	int n_ids;
};

struct score {
	struct table facts, groups;
	int machines, broken;
	uint64_t first_broken;
};

static struct tally *tally_of(struct table *table, const char *id)
{
	for (int i = 0; i < table->n_ids; i++)
		if (!strcmp(table->ids[i].id, id))
			return &table->ids[i];
	if (table->n_ids == IDS)
		return &table->ids[IDS - 1];
	struct tally *t = &table->ids[table->n_ids++];
	snprintf(t->id, sizeof t->id, "%s", id);
	return t;
}

/* Facts are judged by group, so that the many costs of operations do not hide a wrong cache: the first word of the id,
 * and for caches and TLBs which one. */
static void group_of(const char *id, char group[static 64])
{
	size_t len = strcspn(id, ".");
	if (!strncmp(id, "cache.l", 7) || !strncmp(id, "tlb.", 4))
		len += 1 + strcspn(id + len + 1, ".");
	snprintf(group, 64, "%.*s", (int)len, id);
}

static void count_in(struct tally *t, uint64_t seed, enum verdict v, bool sure)
{
	t->right += v == RIGHT;
	t->wrong += v == WRONG;
	t->missed += v == MISSED;
	t->sure += sure;
	t->sure_wrong += sure && v == WRONG;
	if (v == RIGHT)
		return;
	if (t->wrong + t->missed == 1)
		t->first_bad = seed;
	t->bad_machines += t->wrong + t->missed == 1 || t->last_bad != seed;
	t->last_bad = seed;
}

static void count(struct score *score, uint64_t seed, const char *id, enum verdict v, bool sure)
{
	char group[64];
	group_of(id, group);
	count_in(tally_of(&score->facts, id), seed, v, sure);
	count_in(tally_of(&score->groups, group), seed, v, sure);
}

static void draw_machine(struct xr_machine *machine, uint64_t seed, enum xr_noise noise)
{
	xr_machine_random(machine, seed, XR_MIXED, noise);
	if (getenv("XR_VARIED"))
		xr_machine_vary(machine, seed);
}

/* In a child, so that a crash costs one machine: one line a fact. */
static void try_machine(uint64_t seed, enum xr_noise noise, FILE *out)
{
	struct xr_machine machine;
	struct xr_error err = {0};
	draw_machine(&machine, seed, noise);
	const char *only = getenv("XR_ONLY");
	struct xr_description *d = measure_machine(&machine, &only, only != NULL, seed, &err);
	if (!d) {
		fprintf(out, "broken %" PRIu64 " %s\n", seed, err.text);
		return;
	}
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		bool sure;
		enum verdict v = judge(&machine, fact, &sure);
		if (v != NO_TRUTH)
			fprintf(out, "fact %" PRIu64 " %d %d %s\n", seed, (int)v, sure, fact->id);
	}
	fprintf(out, "machine %" PRIu64 "\n", seed);
	xr_description_free(d);
}

static void read_lines(FILE *in, struct score *score)
{
	char line[512], id[64];
	uint64_t seed;
	int v, sure;
	rewind(in);
	while (fgets(line, sizeof line, in)) {
		if (sscanf(line, "fact %" SCNu64 " %d %d %63s", &seed, &v, &sure, id) == 4) {
			count(score, seed, id, (enum verdict)v, sure);
		} else if (sscanf(line, "machine %" SCNu64, &seed) == 1) {
			score->machines++;
		} else if (sscanf(line, "broken %" SCNu64, &seed) == 1) {
			printf("# %s", line);
			if (!score->broken++)
				score->first_broken = seed;
		}
	}
}

/* Machines from..from+n-1, spread over `jobs` children; each machine in a grandchild of its own would cost more than
 * it brings: a child that dies is noticed by the machine it did not finish. */
static void try_all(uint64_t from, int n, enum xr_noise noise, int jobs, struct score *score)
{
	FILE *lines[64];
	pid_t child[64];
	for (int j = 0; j < jobs; j++) {
		lines[j] = tmpfile();
		fflush(NULL);
		child[j] = fork();
		if (child[j])
			continue;
		for (int i = j; i < n; i += jobs) {
			try_machine(from + (uint64_t)i, noise, lines[j]);
			fflush(lines[j]);
		}
		_exit(0);
	}
	for (int j = 0; j < jobs; j++) {
		int status;
		waitpid(child[j], &status, 0);
		int before = score->machines + score->broken;
		read_lines(lines[j], score);
		if (status) {
			int done = score->machines + score->broken - before;
			score->first_broken = from + (uint64_t)(j + done * jobs);
			score->broken++;
			printf("# the machine of seed %" PRIu64 " killed its child (status %d)\n", score->first_broken,
			       status);
		}
		fclose(lines[j]);
	}
}

static int by_badness(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	int bad_x = 10 * x->sure_wrong + x->wrong + x->missed, bad_y = 10 * y->sure_wrong + y->wrong + y->missed;
	return bad_x != bad_y ? bad_y - bad_x : strcmp(x->id, y->id);
}

static void show_worst(struct table *score, enum xr_noise noise)
{
	qsort(score->ids, (size_t)score->n_ids, sizeof *score->ids, by_badness);
	for (int i = 0; i < score->n_ids && i < SHOWN; i++) {
		const struct tally *t = &score->ids[i];
		if (t->wrong + t->missed)
			printf("# %-34s right %4d  wrong %3d (sure %3d)  missed %3d  again: test_machines %" PRIu64
			       " %s %s\n",
			       t->id, t->right, t->wrong, t->sure_wrong, t->missed, t->first_bad, noise_names[noise],
			       t->id);
	}
}

static int report(struct score *score, enum xr_noise noise)
{
	const char *name = noise_names[noise];
	int failures = 0;
	show_worst(&score->facts, noise);
	for (int i = 0; i < score->groups.n_ids; i++) {
		const struct tally *g = &score->groups.ids[i];
		int all = g->right + g->wrong + g->missed;
		double share = (double)g->right / all;
		/* one machine, or one sure answer, among few is no rate yet */
		bool often = share >= wanted_right[noise] || g->bad_machines <= 1;
		bool calibrated = g->sure_wrong <= 1 || g->sure_wrong <= allowed_sure_wrong * g->sure;
		failures += !(often && calibrated);
		printf("%s %s machines, %s: %.1f %% of %d facts right (%.0f %% wanted; not on %d machines), %d of %d sure ones "
		       "wrong\n",
		       often && calibrated ? "ok" : "not ok", name, g->id, 100 * share, all, 100 * wanted_right[noise],
		       g->bad_machines, g->sure_wrong, g->sure);
	}
	failures += score->broken > 0;
	printf("%s %s machines: none of %d breaks the tool\n", score->broken ? "not ok" : "ok", name, score->machines);
	fflush(stdout);
	return failures;
}

static int one_machine(uint64_t seed, enum xr_noise noise, const char *id)
{
	struct xr_machine machine;
	struct xr_error err = {0};
	draw_machine(&machine, seed, noise);
	if (id && shrink(&machine, seed, id))
		printf("# the smallest machine on which %s is not right:\n", id);
	xr_machine_write(&machine, stdout);
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
	const char *deep = getenv("XR_DEEP"), *from = getenv("XR_SEED");
	int machines = deep ? atoi(deep) / N_NOISES : MACHINES, failures = 0;
	long jobs = sysconf(_SC_NPROCESSORS_ONLN);
	if (argc > 2)
		return one_machine(strtoull(argv[1], NULL, 10), noise_by_name(argv[2]), argc > 3 ? argv[3] : NULL);
	for (int noise = XR_QUIET; noise < N_NOISES; noise++) {
		struct score *score = calloc(1, sizeof *score);
		if (!score)
			return 1;
		try_all(from ? strtoull(from, NULL, 10) : 1, machines, (enum xr_noise)noise,
		        (int)(jobs < 1    ? 1
		              : jobs > 64 ? 64
		                          : jobs),
		        score);
		failures += report(score, (enum xr_noise)noise);
		free(score);
	}
	return failures > 0;
}
