/* SPDX-License-Identifier: MIT */
/* Many cores: on simulated machines cores, siblings, contexts, distances, groups and the time slot are what the file
 * says. What cannot be decided may be unreliable, but nothing may be wrong and sure. XR_DEEP tries more machines. */
#include "../lib/random.h"

#include "engine/engine.h"
#include "micro/table.h"
#include "target/model/machine.h"
#include "target/model/model.h"
#include "util/arena.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

struct machine {
	int cores, smt, nodes;
	const char *shared_units;
	double near_ns, far_ns, slice_ms;
	int line, l3_shared;
	const char *noise;
};

static const char quiet[] = "";
static const char usual[] = "jitter = 0.02\ninterrupts_hz = 250\ninterrupt_us = 8\ndrift = 0.03\n";
static const char rough[] = "jitter = 0.03\ninterrupts_hz = 2000\ninterrupt_us = 10\ndrift = 0.05\n";

static void parse_machine(const struct machine *m, struct xr_machine *machine)
{
	struct xr_arena arena = {0};
	struct xr_error err;
	char *text = xr_arena_printf(
		&arena,
		"[target]\nkind = simulated\nname = crowd\n"
		"[cpu]\nmhz = 2800\nwidth = 5\nunits = alu:4 mul:1 fp:2 div:1 mem:2\ntimer_ns = 1\ntimer_cost_ns = 24\n"
		"[registers]\nint = 14\nfp = 16\nvector = 0\nspill_cycles = 5\n"
		"[op add int]\nlatency = 1\nunit = alu\n[op mul int]\nlatency = 3\nunit = mul\n"
		"[op div int]\nlatency = 12\nunit = div\nbusy = 6\n[op add fp]\nlatency = 4\nunit = fp\n"
		"[op mul fp]\nlatency = 4\nunit = fp\n[op div fp]\nlatency = 14\nunit = div\nbusy = 4\n"
		"[cache l1d]\nholds = data\ncapacity = 32K\nways = 8\nline = %d\nlatency = 4\npolicy = plru\n"
		"[cache l2]\nholds = both\ncapacity = 512K\nways = 8\nline = %d\nlatency = 14\npolicy = lru\nindex = physical\n"
		"[cache l3]\nholds = both\ncapacity = 4M\nways = 16\nline = %d\nlatency = 50\npolicy = lru\nindex = physical\n"
		"shared_by = %d\n"
		"[memory]\nlatency = 250\nparallelism = 12\nbandwidth_gbs = 40\nsize = 16G\n"
		"[page]\nsize = 4K\nhuge = none\nplacement = random\n"
		"[threads]\ncores = %d\nsmt = %d\nnodes = %d\nnear_ns = %.1f\nfar_ns = %.1f\nshared_units = %s\n"
		"[os]\ntimeslice_ms = %.2f\n[noise]\n%s",
		m->line, m->line, m->line, m->l3_shared, m->cores, m->smt, m->nodes, m->near_ns, m->far_ns,
		m->shared_units, m->slice_ms, m->noise);
	if (xr_machine_parse(machine, "crowd", text, strlen(text), &err))
		fail_msg("%s", err.text);
	xr_arena_release(&arena);
}

static struct xr_description *measure(const struct machine *m, uint64_t seed, const char *const *select, size_t n)
{
	struct xr_machine machine;
	parse_machine(m, &machine);
	struct xr_target *target = xr_model_open_machine(&machine, seed);
	struct xr_description *d = xr_description_new();
	struct xr_plan plan = {.select = select, .n_select = n};
	struct xr_outcome outcome;
	struct xr_error err;
	if (xr_engine_run(target, xr_micro_table, &plan, seed, NULL, d, &outcome, &err))
		fail_msg("%s", err.text);
	xr_target_free(target);
	return d;
}

/* ---- comparing ---- */

struct score {
	int right, undecided, wrong, sure_and_wrong;
};

static void judge(struct score *score, const struct xr_fact *fact, bool right, const struct machine *m, uint64_t seed,
                  const char *id)
{
	/* that a machine with groups of cores is one node cannot be sure: the groups may be nodes that are near */
	if (fact && fact->value && right && !strcmp(id, "topology.numa_nodes")) {
		score->right++;
		return;
	}
	if (!fact || fact->status != XR_OK) {
		score->undecided++;
		print_message("# %s undecided on %d cores x %d, seed %llu: %s\n", id, m->cores, m->smt,
		              (unsigned long long)seed, fact ? xr_fact_reason(fact) : "");
		return;
	}
	score->right += right;
	if (right)
		return;
	score->wrong++;
	score->sure_and_wrong += fact->confidence >= 0.85;
	char *value = json_dumps(fact->value, JSON_ENCODE_ANY | JSON_COMPACT);
	print_message("# %s = %.200s (%.2f) on %d cores x %d in %d nodes, units %s, seed %llu\n", id, value,
	              fact->confidence, m->cores, m->smt, m->nodes, m->shared_units, (unsigned long long)seed);
	free(value);
}

static void judge_number(struct score *score, const struct xr_description *d, const char *id, double want,
                         double tolerance, const struct machine *m, uint64_t seed)
{
	const struct xr_fact *fact = xr_description_fact(d, id);
	double value = fact ? json_number_value(fact->value) : 0;
	judge(score, fact, fabs(value - want) <= tolerance * want, m, seed, id);
}

/* CPU c is thread c / cores of core c % cores: the groups the model must show. */
static bool siblings_right(const json_t *groups, const struct machine *m)
{
	if (json_array_size(groups) != (size_t)m->cores)
		return false;
	for (size_t g = 0; g < (size_t)m->cores; g++) {
		const json_t *group = json_array_get(groups, g);
		if (json_array_size(group) != (size_t)m->smt)
			return false;
		for (size_t i = 0; i < (size_t)m->smt; i++)
			if (json_integer_value(json_array_get(group, i)) % m->cores != (json_int_t)g)
				return false;
	}
	return true;
}

static size_t leaves(const json_t *node)
{
	size_t index, n = 0;
	json_t *child;
	if (!json_object_get(node, "children"))
		return 1;
	json_array_foreach(json_object_get(node, "children"), index, child) n += leaves(child);
	return n;
}

/* Nodes at the top (when there are several), cores below (when they have several threads). */
static bool tree_right(const json_t *tree, const struct machine *m)
{
	const json_t *top = json_object_get(tree, "children");
	int cores_in_node = m->cores / m->nodes;
	size_t want_leaves = (size_t)(m->smt > 1 ? m->cores : m->nodes);
	if (json_array_size(json_object_get(tree, "cpus")) != (size_t)(m->cores * m->smt) ||
	    leaves(tree) != want_leaves)
		return false;
	size_t index;
	json_t *node;
	if (m->nodes == 1)
		return true;
	if (json_array_size(top) != (size_t)m->nodes)
		return false;
	json_array_foreach(top, index, node)
	{
		const json_t *cpus = json_object_get(node, "cpus");
		json_int_t first = json_integer_value(json_array_get(cpus, 0));
		for (size_t i = 0; i < json_array_size(cpus); i++) {
			json_int_t cpu = json_integer_value(json_array_get(cpus, i));
			if (cpu % m->cores / cores_in_node != first % m->cores / cores_in_node)
				return false;
		}
	}
	return true;
}

/* The largest relative difference of the latency matrix from the machine's. */
static double matrix_error(const json_t *value, const struct machine *m)
{
	const json_t *rows = json_object_get(value, "rows");
	int n = m->cores * m->smt, in_node = m->cores / m->nodes;
	double worst = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			if (i % m->cores == j % m->cores)
				continue; /* threads of a core talk through their cache */
			double want = i % m->cores / in_node == j % m->cores / in_node ? m->near_ns : m->far_ns;
			double got = json_number_value(json_array_get(json_array_get(rows, (size_t)i), (size_t)j));
			worst = fmax(worst, fabs(got - want) / want);
		}
	return worst;
}

/* ---- what must hold ---- */

static void check(const struct machine *m, uint64_t seed, struct score *score)
{
	static const char *const want[] = {"threads", "topology", "comm", "sharing", "os.timeslice"};
	struct xr_description *d = measure(m, seed, want, 5);
	const struct xr_fact *fact;
	judge_number(score, d, "threads.logical", m->cores * m->smt, 0, m, seed);
	judge_number(score, d, "threads.cores", m->cores, 0, m, seed);
	judge_number(score, d, "os.timeslice", m->slice_ms / 1e3, 0.03, m, seed);
	if (m->cores * m->smt > 1) {
		judge_number(score, d, "threads.smt", m->smt, 0, m, seed);
		if (m->cores > 2)
			judge_number(score, d, "topology.numa_nodes", m->nodes, 0, m, seed);
		if ((fact = xr_description_fact(d, "threads.siblings")))
			judge(score, fact, siblings_right(fact->value, m), m, seed, fact->id);
		if ((fact = xr_description_fact(d, "topology.tree")))
			judge(score, fact, tree_right(fact->value, m), m, seed, fact->id);
		if ((fact = xr_description_fact(d, "comm.latency")))
			judge(score, fact, matrix_error(fact->value, m) < 0.15, m, seed, fact->id);
	}
	if (m->cores > 1)
		judge_number(score, d, "sharing.granule", m->line, 0, m, seed);
	if (strstr(m->shared_units, "mul") && strstr(m->shared_units, "div")) {
		judge_number(score, d, "threads.contexts.int", m->cores, 0, m, seed);
		judge_number(score, d, "threads.contexts.fp", m->cores, 0, m, seed);
	}
	judge_number(score, d, "threads.contexts.mem", m->cores * m->smt, 0, m, seed);
	xr_description_free(d);
}

static void say(const char *name, const struct score *score)
{
	print_message("# %s: %d right, %d undecided, %d wrong, %d of them sure\n", name, score->right, score->undecided,
	              score->wrong, score->sure_and_wrong);
}

static int machines_to_try(int usually)
{
	const char *deep = getenv("XR_DEEP");
	return deep ? atoi(deep) / 10 : usually;
}

static int pick(struct xr_rng *rng, const int *from, int n)
{
	return from[xr_rng_below(rng, (uint64_t)n)];
}

static struct machine random_machine(struct xr_rng *rng, const char *noise)
{
	static const int cores[] = {1, 2, 3, 4, 6, 8, 12, 16}, smts[] = {1, 1, 2, 2, 4}, lines[] = {32, 64, 64, 128};
	static const char *const units[] = {"fp mul div alu", "fp mul div", "alu mul div fp mem", "mul div"};
	struct machine m = {.cores = pick(rng, cores, 8), .smt = pick(rng, smts, 5), .nodes = 1, .noise = noise};
	static const int nodes[] = {1, 1, 2, 3, 4};
	int n = pick(rng, nodes, 5);
	if (m.cores % n == 0 && m.cores / n >= 2) /* one core per node: all pairs alike, nothing to see */
		m.nodes = n;
	m.shared_units = units[xr_rng_below(rng, 4)];
	m.near_ns = 20 + 60 * xr_rng_unit(rng);
	m.far_ns = m.near_ns * (1.5 + 2 * xr_rng_unit(rng));
	m.slice_ms = 1 + 11 * xr_rng_unit(rng);
	m.line = pick(rng, lines, 4);
	m.l3_shared = m.cores / m.nodes;
	return m;
}

static void random_machines(const char *name, const char *noise, int n, double right_at_least)
{
	struct xr_rng rng = {7};
	struct score score = {0};
	for (int i = 0; i < n; i++) {
		struct machine m = random_machine(&rng, noise);
		check(&m, (uint64_t)i + 1, &score);
	}
	say(name, &score);
	double all = score.right + score.undecided + score.wrong;
	assert_true(score.right >= right_at_least * all);
	assert_true(score.sure_and_wrong <= 0.01 * all);
}

static void quiet_machines_are_what_their_file_says(void **state)
{
	(void)state;
	random_machines("quiet", quiet, machines_to_try(12), 0.99);
}

static void noise_does_not_change_the_answer(void **state)
{
	(void)state;
	random_machines("usual noise", usual, machines_to_try(12), 0.97);
}

static void rough_noise_is_survived(void **state)
{
	(void)state;
	random_machines("rough noise", rough, machines_to_try(6), 0.9);
}

/* The capacities are given, so that this is about sharing alone: the micro-benchmarks that find them are not there. */
static struct xr_description *measure_sharing(const struct xr_machine *m, uint64_t seed)
{
	static const char *const keep[] = {"timer", "frequency", "noise",        "threads",
	                                   "comm",  "sharing",   "sharing_outer"};
	static const char *const want[] = {"sharing", "sharing_outer"};
	static const char *const needs[] = {"comm", NULL};
	struct xr_micro copy[7];
	const struct xr_micro *table[8] = {NULL};
	for (size_t i = 0, n = 0; xr_micro_table[i]; i++)
		for (size_t k = 0; k < 7; k++)
			if (!strcmp(xr_micro_table[i]->id, keep[k])) {
				copy[n] = *xr_micro_table[i];
				if (k >= 5)
					copy[n].needs = needs;
				table[n] = &copy[n];
				n++;
			}
	struct xr_target *target = xr_model_open_machine(m, seed);
	struct xr_description *d = xr_description_new();
	struct xr_plan plan = {.select = want, .n_select = 2};
	struct xr_outcome outcome;
	struct xr_error err;
	char id[64];
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & XR_HOLDS_DATA) {
			snprintf(id, sizeof id, "cache.%s.capacity", m->cache[i].name);
			xr_fact_count(d, id, (long long)m->cache[i].capacity, "bytes", 1, "given");
			snprintf(id, sizeof id, "cache.%s.ways", m->cache[i].name);
			xr_fact_count(d, id, (long long)xr_machine_ways(&m->cache[i]), "", 1, "given");
		}
	assert_int_equal(xr_engine_run(target, table, &plan, seed, NULL, d, &outcome, &err), 0);
	xr_target_free(target);
	return d;
}

static void judge_sharing(struct score *score, const struct xr_machine *m, uint64_t seed)
{
	struct xr_description *d = measure_sharing(m, seed);
	struct machine shape = {.cores = m->cores, .smt = m->smt, .nodes = m->nodes, .shared_units = m->shared_names};
	char id[64];
	for (int i = 0; i < m->n_caches; i++) {
		const struct xr_machine_cache *c = &m->cache[i];
		if (!(c->holds & XR_HOLDS_DATA))
			continue;
		snprintf(id, sizeof id, "cache.%s.shared_by", c->name);
		judge_number(score, d, id, c->shared_by, 0, &shape, seed);
		snprintf(id, sizeof id, "cache.%s.busy_capacity", c->name);
		judge_number(score, d, id, (double)c->capacity / c->shared_by, 0.5, &shape, seed);
	}
	xr_description_free(d);
}

static void shared_caches_are_found(void **state)
{
	(void)state;
	struct score score = {0};
	for (uint64_t seed = 1; seed <= 4; seed++) {
		const struct machine shape = {.cores = 8,
		                              .smt = seed % 2 ? 1 : 2,
		                              .nodes = seed > 2 ? 2 : 1,
		                              .shared_units = "fp mul div alu",
		                              .near_ns = 45,
		                              .far_ns = 120,
		                              .slice_ms = 3,
		                              .line = 64,
		                              .l3_shared = seed > 2 ? 4 : 8,
		                              .noise = usual};
		struct xr_machine m;
		parse_machine(&shape, &m);
		judge_sharing(&score, &m, seed);
	}
	say("sharing", &score);
	assert_true(score.wrong == 0 && score.right >= 22);
}

static void random_machines_share_what_their_file_says(void **state)
{
	(void)state;
	static const char *const names[] = {"quiet", "standard", "hostile"};
	static const double wanted[] = {0.99, 0.97, 0.9};
	for (int noise = XR_QUIET; noise <= XR_HOSTILE; noise++) {
		struct score score = {0};
		const char *from = getenv("XR_SEED");
		uint64_t first = from ? strtoull(from, NULL, 10) : 1;
		for (uint64_t seed = first; seed < first + (uint64_t)machines_to_try(8); seed++) {
			struct xr_machine m;
			xr_machine_random(&m, seed, XR_MIXED, (enum xr_noise)noise);
			judge_sharing(&score, &m, seed);
		}
		say(names[noise], &score);
		double all = score.right + score.undecided + score.wrong;
		assert_true(score.right >= wanted[noise] * all || score.undecided + score.wrong <= 1);
		assert_true(score.sure_and_wrong <= 0.01 * all);
	}
}

static void facts_of_every_type_of_cores(void **state)
{
	(void)state;
	static const char *const want[] = {"threads", "frequency", "cache_l1d", "units"};
	static const struct {
		const char *id;
		double value;
	} truth[] = {
		{"threads.logical", 8},
		{"threads.cores", 6},
		{"cpu.frequency", 4.2e9},
		{"type.1.cpu.frequency", 2.8e9},
		{"cache.l1d.capacity", 48 << 10},
		{"type.1.cache.l1d.capacity", 32 << 10},
		{"cache.l1d.latency", 5},
		{"type.1.cache.l1d.latency", 3},
		{"units.width", 6},
		{"type.1.units.width", 4},
	};
	const struct xr_options options = {.target = "machines/hybrid/big.ini", .cpu = -1, .seed = 1};
	struct xr_plan plan = {.select = want, .n_select = 4};
	struct xr_error err = {0};
	struct xr_session *session = xr_session_open(&options, &err);
	struct xr_description *d = session ? xr_session_measure(session, &plan, NULL, &err) : NULL;
	if (!d)
		fail_msg("%s", err.text);
	const struct xr_fact *types = xr_description_fact(d, "threads.types");
	char *groups = types ? json_dumps(types->value, JSON_COMPACT) : NULL;
	assert_non_null(groups);
	assert_string_equal(groups, "[[0,1,2,3],[4,5,6,7]]");
	free(groups);
	for (size_t i = 0; i < sizeof truth / sizeof *truth; i++) {
		double value = xr_description_number(d, truth[i].id, NAN);
		if (!(fabs(value - truth[i].value) <= 0.02 * truth[i].value))
			fail_msg("%s is %g, not %g", truth[i].id, value, truth[i].value);
	}
	assert_null(xr_description_fact(d, "type.1.threads.cores"));
	xr_description_free(d);
	xr_session_free(session);
}

static void cpus_256_in_bounded_time(void **state)
{
	(void)state;
	const struct machine m = {.cores = 128,
	                          .smt = 2,
	                          .nodes = 4,
	                          .shared_units = "fp mul div alu",
	                          .near_ns = 45,
	                          .far_ns = 120,
	                          .slice_ms = 3,
	                          .line = 64,
	                          .l3_shared = 32,
	                          .noise = usual};
	static const char *const want[] = {"threads.siblings", "topology", "comm"};
	struct timespec begin, end;
	struct score score = {0};
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	struct xr_description *d = measure(&m, 3, want, 3);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	const struct xr_fact *siblings = xr_description_fact(d, "threads.siblings"),
			     *tree = xr_description_fact(d, "topology.tree");
	judge_number(&score, d, "threads.cores", m.cores, 0, &m, 3);
	judge_number(&score, d, "topology.numa_nodes", m.nodes, 0, &m, 3);
	judge(&score, siblings, siblings_right(siblings->value, &m), &m, 3, "threads.siblings");
	judge(&score, tree, tree_right(tree->value, &m), &m, 3, "topology.tree");
	assert_int_equal(score.right, 4);
	assert_true((double)(end.tv_sec - begin.tv_sec) < 600);
	print_message("# 256 CPUs took %.1f s of simulation\n",
	              (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	xr_description_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_machines_are_what_their_file_says),
		cmocka_unit_test(noise_does_not_change_the_answer),
		cmocka_unit_test(rough_noise_is_survived),
		cmocka_unit_test(shared_caches_are_found),
		cmocka_unit_test(random_machines_share_what_their_file_says),
		cmocka_unit_test(facts_of_every_type_of_cores),
		cmocka_unit_test(cpus_256_in_bounded_time),
	};
	cmocka_set_test_filter(getenv("XR_TEST")); /* a pattern; unset: all */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
