/* How the memory of simulated machines behaves, against what their files say: bandwidth, parallelism, policies.
 *
 *   test_behaviour                   the suite: random machines, quiet and with ordinary noise
 *   test_behaviour SEED NOISE        one machine again, every fact beside the truth
 *
 * XR_DEEP: how many machines in all; XR_SEED: the first one's seed; XR_ONLY: a micro-benchmark. Prints TAP.
 */
#include "../lib/judge.h"
#include "../lib/random.h"
#include "../lib/shrink.h"
#include "../lib/truth.h"

#include "xray.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const noise_names[] = {"quiet", "standard"};
/* Which micro-benchmarks, what to ask for to get all they find, and how many of their facts must be right. */
static const struct {
	const char *micro, *select;
	double wanted[2];
} asked[] = {
	{"bandwidth", "memory.throughput", {0.99, 0.97}},
	{"parallelism", "memory.parallelism", {0.99, 0.97}},
	{"policy", "cache.l1d.policy", {0.97, 0.90}},
};
enum { N_ASKED = sizeof asked / sizeof *asked, N_NOISES = 2, MACHINES = 12, IDS = 256 };

struct tally {
	char id[64];
	int micro, right, wrong, missed, sure_wrong, sure;
	uint64_t bad;
};

static int micro_of(const struct xr_fact *fact)
{
	const char *only = getenv("XR_ONLY");
	for (int i = 0; i < N_ASKED; i++)
		if (fact->micro && !strcmp(fact->micro, asked[i].micro) && (!only || !strcmp(only, asked[i].micro)))
			return i;
	return -1;
}

static struct xr_description *measure(uint64_t seed, enum xr_noise noise, struct xr_machine *machine)
{
	const char *select[N_ASKED], *only = getenv("XR_ONLY");
	size_t n = 0;
	struct xr_error err = {0};
	for (int i = 0; i < N_ASKED; i++)
		if (!only || !strcmp(only, asked[i].micro))
			select[n++] = asked[i].select;
	xr_machine_random(machine, seed, XR_MIXED, noise);
	xr_machine_behave(machine, seed);
	struct xr_description *d = measure_machine(machine, select, n, seed, &err);
	if (!d)
		printf("# seed %" PRIu64 ": %s\n", seed, err.text);
	return d;
}

static void try_machine(uint64_t seed, enum xr_noise noise, FILE *out)
{
	struct xr_machine machine;
	struct xr_description *d = measure(seed, noise, &machine);
	if (!d)
		return;
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		bool sure;
		enum verdict v = micro_of(fact) < 0 ? NO_TRUTH : judge(&machine, fact, &sure);
		if (v != NO_TRUTH)
			fprintf(out, "%" PRIu64 " %d %d %d %s\n", seed, micro_of(fact), (int)v, sure, fact->id);
	}
	fprintf(out, "0 0 0 0 done\n");
	xr_description_free(d);
}

static int read_lines(FILE *in, struct tally *tally, int *n)
{
	uint64_t seed;
	int micro, v, sure, done = 0, i;
	char id[64];
	rewind(in);
	while (fscanf(in, "%" SCNu64 " %d %d %d %63s", &seed, &micro, &v, &sure, id) == 5) {
		if (!strcmp(id, "done")) {
			done++;
			continue;
		}
		for (i = 0; i < *n && strcmp(tally[i].id, id) != 0; i++)
			;
		if (i == IDS)
			continue;
		if (i == *n) {
			tally[(*n)++] = (struct tally){.micro = micro};
			strcpy(tally[i].id, id);
		}
		tally[i].right += v == RIGHT;
		tally[i].wrong += v == WRONG;
		tally[i].missed += v == MISSED;
		tally[i].sure += sure;
		tally[i].sure_wrong += sure && v == WRONG;
		if (v != RIGHT && !tally[i].bad)
			tally[i].bad = seed;
	}
	return done;
}

static int try_all(uint64_t from, int machines, enum xr_noise noise, struct tally *tally, int *n)
{
	long jobs = sysconf(_SC_NPROCESSORS_ONLN);
	FILE *lines[64];
	pid_t child[64];
	int done = 0;
	jobs = jobs < 1 ? 1 : jobs > 64 ? 64 : jobs;
	for (long j = 0; j < jobs; j++) {
		lines[j] = tmpfile();
		fflush(NULL);
		child[j] = fork();
		if (child[j])
			continue;
		for (long i = j; i < machines; i += jobs)
			try_machine(from + (uint64_t)i, noise, lines[j]);
		fflush(lines[j]);
		_exit(0);
	}
	for (long j = 0; j < jobs; j++) {
		waitpid(child[j], NULL, 0);
		done += read_lines(lines[j], tally, n);
		fclose(lines[j]);
	}
	return done;
}

static int report(const struct tally *tally, int n, int done, int machines, int noise)
{
	int failures = done != machines;
	for (int m = 0; m < N_ASKED; m++) {
		int right = 0, all = 0, sure = 0, sure_wrong = 0;
		for (int i = 0; i < n; i++) {
			const struct tally *t = &tally[i];
			if (t->micro != m)
				continue;
			right += t->right;
			all += t->right + t->wrong + t->missed;
			sure += t->sure;
			sure_wrong += t->sure_wrong;
			if (t->wrong + t->missed)
				printf("# %-34s right %4d  wrong %3d (sure %3d)  missed %3d  again: test_behaviour %" PRIu64
				       " %s\n",
				       t->id, t->right, t->wrong, t->sure_wrong, t->missed, t->bad, noise_names[noise]);
		}
		/* two facts among few are no rate yet */
		bool ok = (right >= asked[m].wanted[noise] * all || all - right <= 2) &&
		          (sure_wrong <= 1 || sure_wrong <= 0.01 * sure);
		failures += all > 0 && !ok;
		if (all > 0)
			printf("%s %s machines, %s: %.1f %% of %d facts right (%.0f %% wanted), %d of %d sure ones wrong\n",
			       ok ? "ok" : "not ok", noise_names[noise], asked[m].micro, 100.0 * right / all, all,
			       100 * asked[m].wanted[noise], sure_wrong, sure);
	}
	printf("%s %s machines: %d of %d measured\n", done == machines ? "ok" : "not ok", noise_names[noise], done,
	       machines);
	fflush(stdout);
	return failures;
}

static int one_machine(uint64_t seed, enum xr_noise noise)
{
	struct xr_machine machine;
	struct xr_description *d = measure(seed, noise, &machine);
	if (!d)
		return 1;
	xr_machine_write(&machine, stdout);
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		bool sure;
		if (micro_of(fact) < 0)
			continue;
		static const char *const names[] = {"right", "WRONG", "MISSED", "no truth"};
		struct xr_truth truth = xr_model_truth_of(&machine, fact->id);
		char *found = fact->value ? json_dumps(fact->value, JSON_ENCODE_ANY) : NULL;
		char *want = truth.value ? json_dumps(truth.value, JSON_ENCODE_ANY) : NULL;
		printf("%-9s %-36s %s (%.2f) truth %s%s  %s\n", names[judge(&machine, fact, &sure)], fact->id,
		       found ? found : "-", fact->confidence, truth.kind == XR_TRUTH_HIDDEN ? "hidden " : "",
		       want ? want : "-", fact->reason ? fact->reason : "");
		free(found);
		free(want);
		xr_truth_release(&truth);
	}
	xr_description_free(d);
	return 0;
}

int main(int argc, char **argv)
{
	const char *deep = getenv("XR_DEEP"), *from = getenv("XR_SEED");
	int machines = deep ? atoi(deep) / N_NOISES : MACHINES, failures = 0;
	if (argc > 2)
		return one_machine(strtoull(argv[1], NULL, 10), strcmp(argv[2], "quiet") ? XR_STANDARD : XR_QUIET);
	for (int noise = 0; noise < N_NOISES; noise++) {
		struct tally *tally = calloc(IDS, sizeof *tally);
		int n = 0;
		if (!tally)
			return 1;
		int done = try_all(from ? strtoull(from, NULL, 10) : 1, machines, (enum xr_noise)noise, tally, &n);
		failures += report(tally, n, done, machines, noise);
		free(tally);
	}
	return failures > 0;
}
