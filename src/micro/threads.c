/* SPDX-License-Identifier: MIT */
/* Threads: logical CPUs, physical cores, SMT siblings, types of cores.
 *
 * Parameter: threads.logical (CPUs this program may use), threads.cores, threads.smt (hardware threads per core),
 * threads.siblings (which CPUs are one core), threads.types (groups of alike cores).
 *
 * Idea (X-Ray, the first paper, "SMT"): two threads that saturate the same units of one core get half each; on two
 * cores they do not notice each other. Two witnesses must agree: streams of operations that saturate the units (the
 * slowest stream counts, since not every unit need be shared), and random walks that fit the first-level cache once
 * but not twice. All in cycles of a reference chain read under the same load, so a clock that drops when many cores
 * are busy slows nobody here.
 *
 * Algorithm: for a CPU, let all CPUs not yet placed attack at once; if it slows down, bisect the attackers for the
 * sibling, take it out, and ask again. The distances found for the first core are the guess for all others, asked in
 * one batch (guess attacks: slowed; everybody else attacks: not slowed); only CPUs that contradict the guess are
 * bisected themselves. So n CPUs cost about n experiments when the machine is regular and n log n when it is not. The
 * claims of the OS are not looked at.
 *
 * When it fails: pinning forbidden or one CPU only: says so. A hypervisor that moves virtual CPUs about, or neighbours
 * on the same core that come and go, make a pair look like siblings now and then: an answer needs two looks that agree,
 * over the best of all readings so far, and where none is found in six looks the facts are unreliable; noise asks again
 * at the end of the run. Cores that share a unit but not the first cache (or the other way round) are neither: the
 * witnesses disagree, which is said.
 */
#include "micro/micro.h"
#include "method/teams.h"
#include "method/witness.h"
#include "stat/grouptest.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { CPUS_MAX = 4096, ASKS = 6, BATCH = 8, TYPE_READS = 4 };
enum { WALKERS_MAX = 64, FEW = 1 | 1 << 2 | 1 << 3 };
enum {
	LOOK = 7,
	GLANCE = 5
}; /* samples: to decide; to see whether a guess fits, which is asked again when it does not */

static const double units_shared = 1.5, units_apart = 1.3;  /* slowdown of a saturated stream: 2 when shared */
static const double cache_shared = 1.3, cache_apart = 1.15; /* of a walk that no longer fits */
static const double type_apart = 0.12; /* alike cores differ less than this in what an operation costs */
static const double clock_apart = 0.25;

struct threads {
	struct xr_run *run;
	const int *cpu; /* ids by index; everything below works with indices */
	int n;
	struct xr_witnesses w;
	double (*solo)[XR_WITNESSES_MAX]; /* cycles by CPU and witness; 0: not read yet */
	double *clock_ns;                 /* reference cycle by CPU */
	double *latency;                  /* of the first-level cache by CPU, cycles */
	bool *shaky;                      /* readings of this CPU alone fell into two modes */
	int *core;                        /* by CPU: the lowest CPU of its core; -1: not placed; -2: undecidable */
	int victim;                       /* of the question that is being bisected */
	int telling;                      /* the stream that siblings suffer most from; -1: no siblings seen yet */
};

/* What an attack did so far: the best reading of each witness alone and attacked. Neighbours only ever add time, and
 * contention is there in every reading, so the best of several tells the two apart. */
struct effect {
	double alone[XR_WITNESSES_MAX], attacked[XR_WITNESSES_MAX];
};

static double slowdown(const struct effect *e, int witness)
{
	return e->alone[witness] > 0 ? e->attacked[witness] / e->alone[witness] : 0;
}

/* By the witnesses that were asked. Streams that do not suffer are enough for a no; a yes takes the walk as well, or on
 * a machine without caches a second stream. How much a walk suffers depends on the cache's policy: where several
 * streams suffer, it is enough that it suffers at all. */
static enum xr_verdict judge(const struct threads *t, const struct effect *e, unsigned witnesses)
{
	double units = 0, walk = t->w.n_streams < t->w.n ? slowdown(e, t->w.n_streams) : 0;
	int shared = 0;
	for (int k = 0; k < t->w.n_streams; k++) {
		units = fmax(units, slowdown(e, k));
		shared += slowdown(e, k) >= units_shared;
	}
	bool walked = (witnesses >> t->w.n_streams) & 1;
	if (shared && walked && walk >= (shared > 1 ? cache_apart : cache_shared))
		return XR_YES;
	if (t->w.n_streams == t->w.n && (shared > 1 || (shared && t->telling >= 0)))
		return XR_YES;
	if (units > 0 && units < units_apart && (!walked || (walk > 0 && walk < cache_apart)))
		return XR_NO;
	return XR_UNDECIDED;
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

struct question {
	int victim;
	const int *attacker;
	int n_attackers;
	unsigned witnesses; /* bit per witness; 0: all */
};

static unsigned asked(const struct threads *t, const struct question *q)
{
	return q->witnesses ? q->witnesses : (1u << t->w.n) - 1;
}

static bool is_asked(const struct threads *t, const struct question *q, int witness)
{
	return q->n_attackers && asked(t, q) >> witness & 1;
}

static struct xr_spec attack(struct threads *t, const struct question *q, int n_attackers, int witness)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	int *cpu = xr_arena_array(arena, int, n_attackers + 1), *place = xr_arena_array(arena, int, n_attackers + 1);
	for (int i = 0; i <= n_attackers; i++) {
		place[i] = i ? q->attacker[i - 1] : q->victim;
		cpu[i] = t->cpu[place[i]];
	}
	return xr_witness_attacked(arena, &t->w, witness, cpu, place, n_attackers + 1);
}

static void better(double *best, double value)
{
	*best = *best > 0 ? fmin(*best, value) : value;
}

/* The best of all readings of a CPU alone: neighbours only ever make it slower. */
static void note_alone(struct threads *t, int cpu, int witness, const struct xr_reading *r)
{
	better(&t->solo[cpu][witness], r->cycles);
	better(&t->clock_ns[cpu], r->cycle_ns);
	t->shaky[cpu] |= r->bimodal;
}

/* All questions in one interleaved batch, each witness alone and under attack; adds to out[]. A question without
 * attackers answers itself. */
static int ask(struct threads *t, const struct question *q, int n, int samples, struct effect *out)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, 2 * n * t->w.n);
	struct xr_reading *r = xr_arena_array(arena, struct xr_reading, 2 * n * t->w.n);
	size_t n_specs = 0, next = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < t->w.n; k++) {
			if (!is_asked(t, &q[i], k))
				continue;
			spec[n_specs++] = attack(t, &q[i], 0, k);
			spec[n_specs++] = attack(t, &q[i], q[i].n_attackers, k);
		}
	struct xr_effort effort = {.samples = samples, .samples_max = samples};
	if (n_specs && xr_run_time_with(t->run, &effort, spec, n_specs, r))
		return -1;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < t->w.n; k++) {
			if (!is_asked(t, &q[i], k))
				continue;
			const struct xr_reading *alone = &r[next++], *attacked = &r[next++];
			if (alone->status != XR_READ_OK || attacked->status != XR_READ_OK || alone->cycles <= 0)
				continue;
			better(&out[i].alone[k], alone->cycles);
			better(&out[i].attacked[k], attacked->cycles);
			note_alone(t, q[i].victim, k, alone);
		}
	return 0;
}

static int most_telling(const struct threads *t, const struct effect *e)
{
	int best = 0;
	for (int k = 1; k < t->w.n_streams; k++)
		if (slowdown(e, k) > slowdown(e, best))
			best = k;
	return best;
}

/* One question: decided when two looks in a row give the same verdict over all that was seen so far. */
static int ask_surely(struct threads *t, const struct question *q, enum xr_verdict *verdict)
{
	struct effect e = {0};
	enum xr_verdict last = XR_UNDECIDED;
	for (int i = 0; i < ASKS; i++) {
		if (ask(t, q, 1, LOOK, &e))
			return -1;
		*verdict = judge(t, &e, asked(t, q));
		if (*verdict != XR_UNDECIDED && *verdict == last) {
			if (*verdict == XR_YES)
				t->telling = most_telling(t, &e);
			return 0;
		}
		last = *verdict;
	}
	*verdict = XR_UNDECIDED;
	return 0;
}

static int ask_victim(void *self, const int *item, int n, enum xr_verdict *verdict)
{
	struct threads *t = self;
	struct question q = {t->victim, item, n, 0};
	return ask_surely(t, &q, verdict);
}

/* ---- placing CPUs on cores --------------------------------------------------------------------------------------- */

static int unplaced_but(const struct threads *t, int victim, int *out)
{
	int n = 0;
	for (int i = 0; i < t->n; i++)
		if (i != victim && t->core[i] == -1)
			out[n++] = i;
	return n;
}

/* Finds all siblings of one CPU by bisection. */
static int place(struct threads *t, int victim)
{
	int *others = xr_arena_array(xr_run_arena(t->run), int, t->n);
	t->core[victim] = victim;
	t->victim = victim;
	for (;;) {
		int n = unplaced_but(t, victim, others), found;
		enum xr_verdict verdict = XR_NO;
		if (n && ask_victim(t, others, n, &verdict))
			return -1;
		if (verdict == XR_NO)
			return 0;
		if (verdict == XR_YES) {
			if (xr_find_one(ask_victim, t, others, n, &found))
				return -1;
			if (found >= 0) {
				t->core[others[found]] = victim;
				continue;
			}
		}
		t->core[victim] = -2;
		return 0;
	}
}

/* CPUs at the same distances from `victim` as the first core's from its first CPU; only those not yet placed. */
static int guess_siblings(const struct threads *t, int first, int victim, int *out)
{
	int n = 0;
	for (int i = 0; i < t->n; i++) {
		int guess = victim + (i - first);
		if (i != first && t->core[i] == first && guess >= 0 && guess < t->n && t->core[guess] == -1)
			out[n++] = guess;
	}
	return n;
}

/* Places all CPUs that fit the guess drawn from core `first`, a few cores to a batch. */
static int place_by_guess(struct threads *t, int first)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	/* The stream that tells siblings; when there are none so far, a few of each kind of unit and the walk. Walks on
	 * hundreds of CPUs at once take long, and streams are enough for a no. */
	unsigned streams = (1u << t->w.n_streams) - 1, walk = ((1u << t->w.n) - 1) & ~streams;
	unsigned telling = t->telling < 0 ? (streams & FEW) | (t->n <= WALKERS_MAX ? walk : 0) : 1u << t->telling;
	for (int next = 0; next < t->n;) {
		struct question q[2 * BATCH];
		struct effect e[2 * BATCH] = {0};
		int victim[BATCH], n_victims = 0, *taken = xr_arena_array(arena, int, t->n);
		for (; next < t->n && n_victims < BATCH; next++) {
			if (t->core[next] != -1 || taken[next])
				continue;
			int *guess = xr_arena_array(arena, int, t->n), *rest = xr_arena_array(arena, int, t->n),
			    n_rest = 0;
			int n_guess = guess_siblings(t, first, next, guess);
			taken[next] = n_victims + 1;
			for (int i = 0; i < n_guess; i++)
				taken[guess[i]] = n_victims + 1;
			for (int i = 0; i < t->n; i++)
				if (t->core[i] == -1 && taken[i] != n_victims + 1)
					rest[n_rest++] = i;
			q[2 * n_victims] = (struct question){next, guess, n_guess, telling | walk};
			q[2 * n_victims + 1] = (struct question){next, rest, n_rest, telling};
			victim[n_victims++] = next;
		}
		if (n_victims && ask(t, q, 2 * n_victims, GLANCE, e))
			return -1;
		for (int v = 0; v < n_victims; v++) {
			const struct question *with = &q[2 * v], *without = with + 1;
			bool fits = (!with->n_attackers || judge(t, &e[2 * v], with->witnesses) == XR_YES) &&
			            (!without->n_attackers || judge(t, &e[2 * v + 1], without->witnesses) == XR_NO);
			if (!fits)
				continue;
			t->core[victim[v]] = victim[v];
			for (int i = 0; i < with->n_attackers; i++)
				t->core[with->attacker[i]] = victim[v];
		}
		xr_run_progress(t->run, 0.2 + 0.7 * next / t->n, "siblings");
	}
	return 0;
}

static int place_all(struct threads *t)
{
	for (int i = 0; i < t->n; i++)
		t->core[i] = -1;
	for (int i = 0; i < t->n; i++) {
		if (t->core[i] != -1)
			continue;
		if (place(t, i))
			return -1;
		if (t->core[i] == i && place_by_guess(t, i))
			return -1;
	}
	return 0;
}

/* ---- types of cores ------------------------------------------------------------------------------------------- */

static bool apart(double x, double y, double limit)
{
	return x > 0 && y > 0 && fabs(x - y) > limit * fmin(x, y);
}

/* What no neighbour can change: the latency of the first cache, and the clock, when it is far off (favoured cores run
 * some percent faster). */
static bool differ_surely(const struct threads *t, int a, int b)
{
	return apart(t->latency[a], t->latency[b], type_apart) || apart(t->clock_ns[a], t->clock_ns[b], clock_apart);
}

/* Throughput: lower all the time on a core that somebody else uses too. */
static bool differ_in_streams(const struct threads *t, int a, int b)
{
	for (int k = 0; k < t->w.n_streams; k++)
		if (apart(t->solo[a][k], t->solo[b][k], type_apart))
			return true;
	return false;
}

/* Every CPU alone: its streams, and a walk so small that nothing could be in its way. */
static int read_alone(struct threads *t)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	int w = t->w.n_streams + 1;
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, BATCH * w);
	struct xr_reading *r = xr_arena_array(arena, struct xr_reading, BATCH * w);
	struct xr_spec tiny = xr_spec_walkabout(arena, XR_WITNESS_BUFFER, 1024, 64, XR_READ, XR_ANY);
	for (int from = 0; from < t->n; from += BATCH) {
		int n = t->n - from < BATCH ? t->n - from : BATCH;
		for (int i = 0; i < n * w; i++) {
			int place = from + i / w, k = i % w;
			spec[i] = xr_spec_team(arena, XR_TOGETHER, &t->cpu[place], &place, 1,
			                       k < t->w.n_streams ? &t->w.spec[k] : &tiny, NULL);
		}
		if (xr_run_time(t->run, spec, (size_t)(n * w), r))
			return -1;
		for (int i = 0; i < n * w; i++) {
			if (r[i].status != XR_READ_OK || !(r[i].cycles > 0))
				continue;
			if (i % w < t->w.n_streams)
				note_alone(t, from + i / w, i % w, &r[i]);
			else
				better(&t->latency[from + i / w], r[i].cycles);
		}
	}
	return 0;
}

/* Labels every CPU with its type; *doubtful: CPUs that differ in throughput alone. Returns the number of types. */
static int label_types(const struct threads *t, int *type, int *doubtful)
{
	int n_types = 0;
	*doubtful = 0;
	for (int i = 0; i < t->n; i++) {
		bool odd = false;
		type[i] = -1;
		for (int j = 0; j < i && type[i] < 0; j++) {
			if (differ_surely(t, i, j))
				continue;
			odd = differ_in_streams(t, i, j);
			type[i] = type[j];
		}
		if (type[i] < 0)
			type[i] = n_types++;
		*doubtful += odd;
	}
	return n_types;
}

static int put_types(struct threads *t)
{
	int *type = xr_arena_array(xr_run_arena(t->run), int, t->n), n_types = 1, doubtful = 0;
	for (int tries = 0; tries < TYPE_READS; tries++) { /* again only where something looks different */
		if (read_alone(t))
			return -1;
		n_types = label_types(t, type, &doubtful);
		if (n_types == 1 && !doubtful)
			break;
	}
	json_t *groups = json_array();
	for (int i = 0; i < n_types; i++)
		json_array_append_new(groups, json_array());
	for (int i = 0; i < t->n; i++)
		json_array_append_new(json_array_get(groups, (size_t)type[i]), json_integer(t->cpu[i]));
	struct xr_fact *fact =
		xr_fact_put(xr_run_description(t->run), "threads.types", groups, "", n_types > 1 ? 0.9 : 0.95,
	                    "first-level latency, clock and throughput per CPU");
	if (doubtful)
		xr_fact_doubt(
			fact,
			"%d CPUs have the same latency but less throughput: another type, or somebody uses their cores",
			doubtful);
	return 0;
}

/* ---- the micro-benchmark ----------------------------------------------------------------------------------------- */

static void put_nothing(struct xr_run *run, enum xr_status status, const char *why)
{
	static const char *const ids[] = {"threads.cores", "threads.smt", "threads.siblings", "threads.types"};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		xr_fact_none(xr_run_description(run), ids[i], status, "%s", why);
}

/* Facts count what may be used here: the one CPU there is shares its core with nobody else who may. */
static void put_alone(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_description *d = xr_run_description(run);
	const char *method = "only one CPU may be used";
	put_nothing(run, XR_UNSUPPORTED, "only one CPU may be used here: nobody to compare with");
	if (info->n_cpus < 1)
		return;
	xr_fact_count(d, "threads.cores", 1, "", 0.99, method);
	xr_fact_count(d, "threads.smt", 1, "", 0.99, method);
	xr_fact_put(d, "threads.siblings", json_pack("[[i]]", info->cpu_ids[0]), "", 0.99, method);
}

static void put_siblings(struct threads *t)
{
	struct xr_description *d = xr_run_description(t->run);
	const char *method = "contention for units and first-level cache";
	int cores = 0, smt = 0, smallest = t->n, undecided = 0, shaky = 0;
	json_t *groups = json_array();
	for (int i = 0; i < t->n; i++) {
		undecided += t->core[i] == -2;
		shaky += t->shaky[i];
		if (t->core[i] != i && t->core[i] != -2)
			continue;
		json_t *group = json_array();
		for (int j = i; j < t->n; j++)
			if (j == i || t->core[j] == i)
				json_array_append_new(group, json_integer(t->cpu[j]));
		int size = (int)json_array_size(group);
		smt = size > smt ? size : smt;
		smallest = size < smallest ? size : smallest;
		cores++;
		json_array_append_new(groups, group);
	}
	double sure = t->w.n_streams == t->w.n ? 0.8 : (shaky ? 0.85 : 0.97);
	struct xr_fact *fact[3] = {
		xr_fact_count(d, "threads.cores", cores, "", sure, method),
		xr_fact_count(d, "threads.smt", smt, "", sure, method),
		xr_fact_put(d, "threads.siblings", groups, "", sure, method),
	};
	for (int i = 0; i < 3; i++) {
		if (undecided)
			xr_fact_doubt(
				fact[i],
				"for %d of %d CPUs contention comes and goes, or units and cache disagree: a neighbour "
				"or the hypervisor is in the way",
				undecided, t->n);
		else if (shaky)
			xr_fact_note(fact[i], "somebody else was using %d of the CPUs at times", shaky);
	}
	if (!undecided && smallest < smt)
		xr_fact_note(fact[1], "some cores have only %d", smallest);
}

static void put_logical(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_fact *fact = xr_fact_count(xr_run_description(run), "threads.logical", info->n_cpus, "", 0.99,
	                                     "CPUs a thread could be put on");
	if (info->cpu_quota > 0 && info->cpu_quota < info->n_cpus)
		xr_fact_note(fact, "a quota allows the time of %.2g CPUs only", info->cpu_quota);
	else if (!info->can_pin)
		xr_fact_note(fact, "threads cannot be pinned here, so the CPUs were not tried one by one");
}

static int run_threads(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_arena *arena = xr_run_arena(run);
	struct threads t = {.run = run,
	                    .cpu = info->cpu_ids,
	                    .n = info->n_cpus < CPUS_MAX ? info->n_cpus : CPUS_MAX,
	                    .telling = -1};

	put_logical(run);
	if (t.n < 2) {
		put_alone(run);
		return 0;
	}
	if (!info->can_pin) {
		put_nothing(run, XR_UNSUPPORTED, "threads cannot be pinned to CPUs here");
		return 0;
	}
	t.solo = xr_arena_alloc(arena, sizeof *t.solo * (size_t)t.n);
	t.clock_ns = xr_arena_array(arena, double, t.n);
	t.latency = xr_arena_array(arena, double, t.n);
	t.shaky = xr_arena_array(arena, bool, t.n);
	t.core = xr_arena_array(arena, int, t.n);
	xr_run_progress(run, 0.02, "witnesses");
	if (xr_witnesses_make(run, true, &t.w))
		return -1;
	if (!t.w.n_streams || t.w.n < 2) {
		put_nothing(run, XR_UNRELIABLE,
		            "no two witnesses: no streams that saturate a unit, and no first-level cache");
		return 0;
	}
	if (place_all(&t))
		return -1;
	put_siblings(&t);
	return put_types(&t);
}

static const char *const finds[] = {"threads.logical",  "threads.cores", "threads.smt",
                                    "threads.siblings", "threads.types", NULL};

static const char *const needs[] = {"noise", NULL};

const struct xr_micro xr_micro_threads = {
	.id = "threads",
	.title = "logical CPUs, cores, SMT siblings, types of cores",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.7,
	.kinds = 1u << XR_TEAM | 1u << XR_OPS | 1u << XR_CHAIN,
	.run = run_threads,
};
