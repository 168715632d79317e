/* SPDX-License-Identifier: MIT */
/* Communication between cores: latency, bandwidth, the locality tree, NUMA nodes.
 *
 * Parameter: comm.latency (ns, a line from one core to another), comm.bandwidth (bytes per second from producer to
 * consumer), topology.tree (which CPUs are near each other, nested), topology.numa_nodes.
 *
 * Idea (BlackjackBench, paper 001, "Asymmetries in the memory hierarchy"): a pair of threads hands a block to and fro;
 * for blocks beyond all caches the memory's home shows, for smaller ones the caches that the two share, for a single
 * line the distance of the cores. The groups found with large blocks are refined with smaller ones.
 *
 * Algorithm: start with one group of all CPUs. For each block size, from beyond the last cache down to below the first,
 * and last for a single line, each group is split: its first CPU is the pivot, the others exchange blocks with it;
 * where the times have a gap of 15 % the near ones stay with the pivot and the far ones start again with a pivot of
 * their own. A split is read twice. Handing over large blocks takes long, and single lines do not: CPUs to which lines
 * take about the same time from the pivot are a class, and a few of each class exchange blocks for all of it (everybody
 * does when these few disagree). Up to MATRIX_MAX CPUs all pairs are read for the matrices, lines first, and the split
 * by single lines is made from that matrix, where groups must be near-cliques; beyond, matrices are given between the
 * leaves of the tree. NUMA nodes are the groups of cores for blocks beyond all caches, if single lines say so too.
 * Every pair gets fresh memory, first touched by the producer, so its home is the producer's node.
 *
 * When it fails: pinning forbidden or one CPU: says so. Pairs with a CPU that somebody else uses are slow; they are
 * read again, and a CPU that stays odd alone is not called a group. Where all pairs are alike nothing can be told
 * apart: one core of each of several nodes looks like one node.
 */
#include "micro/micro.h"
#include "method/pairs.h"
#include "stat/cliques.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX_MAX = 64, BOTH_WAYS_MAX = 24, LEVELS_MAX = 8, TURNS = 3 };

static const double gap = 0.15;    /* of distances that tell groups apart */
static const double skewed = 0.08; /* there and back differ by more than this: read again */

/* One refinement: all CPUs by the group they were in after blocks of this size. */
struct level {
	uint64_t bytes; /* XR_ONE_LINE: single lines */
	int *group;
	int n_groups;
};

struct comm {
	struct xr_run *run;
	const int *cpu; /* ids by index; everything below works with indices */
	int n;
	struct xr_pairs pairs;
	int *speaker; /* by CPU: the CPU that speaks for its core when blocks are handed over */
	int n_speakers;
	const json_t *cores; /* set on large machines: cpu[] has one CPU per core, this all of each */
	struct level level[LEVELS_MAX];
	int n_levels;
	double *latency, *bandwidth;                   /* n x n, ns and bytes per second; NULL beyond MATRIX_MAX */
	double latency_disturbed, bandwidth_disturbed; /* share of the pairs */
};

/* ---- reading pairs ----------------------------------------------------------------------------------------------- */

static bool lopsided(const struct xr_pair *there, const struct xr_pair *back)
{
	return there->ns > 0 && back->ns > 0 && fabs(there->ns - back->ns) > skewed * fmin(there->ns, back->ns);
}

/* There and back are the same way: where they differ, both are read again, and the better of all counts, for whatever
 * came in between only took time. pair[]: there and back side by side. */
static int level_out(struct comm *c, struct xr_pair *pair, int n, uint64_t bytes)
{
	struct xr_pair *again = xr_arena_array(xr_run_arena(c->run), struct xr_pair, n);
	for (int turn = 0; turn < TURNS; turn++) {
		int k = 0;
		for (int i = 0; i < n; i += 2)
			if (lopsided(&pair[i], &pair[i + 1])) {
				again[k++] = pair[i];
				again[k++] = pair[i + 1];
			}
		if (!k)
			return 0;
		if (xr_pairs_read(&c->pairs, again, k, bytes))
			return -1;
		k = 0;
		for (int i = 0; i < n; i += 2)
			if (lopsided(&pair[i], &pair[i + 1]))
				for (int j = i; j < i + 2; j++, k++)
					pair[j] = again[k].ns > 0 && again[k].ns < pair[j].ns ? again[k] : pair[j];
	}
	return 0;
}

/* *disturbed: the share of pairs on whose CPUs somebody else was most of the time. */
static int read_matrix(struct comm *c, uint64_t bytes, double *out, double *disturbed)
{
	bool both = c->n <= BOTH_WAYS_MAX;
	struct xr_pair *pair = xr_arena_array(xr_run_arena(c->run), struct xr_pair, c->n * c->n);
	int k = 0;
	/* there and back stand side by side, so they are read together: the clocks of a machine drift while all is
	 * read */
	for (int i = 0; i < c->n; i++)
		for (int j = i + 1; j < c->n; j++) {
			pair[k++] = (struct xr_pair){.from = i, .to = j};
			if (both)
				pair[k++] = (struct xr_pair){.from = j, .to = i};
		}
	if (xr_pairs_read_well(&c->pairs, pair, k, bytes) || (both && level_out(c, pair, k, bytes)))
		return -1;
	*disturbed = 0;
	for (int i = 0; i < k; i++) {
		*disturbed += pair[i].disturbed ? 1. / k : 0;
		out[pair[i].from * c->n + pair[i].to] = pair[i].ns;
		if (!both)
			out[pair[i].to * c->n + pair[i].from] = pair[i].ns;
	}
	return 0;
}

/* ---- refining groups --------------------------------------------------------------------------------------------- */

/* Splits one group, pivot after pivot. New group numbers from *next on. */
static int split_group(struct comm *c, int *cpu, int n, uint64_t bytes, int *group, int *next)
{
	double limit = 0;
	while (n > 0) {
		int near;
		if (xr_pairs_split(&c->pairs, cpu, n, bytes, &limit, &near))
			return -1;
		for (int i = 0; i < near; i++)
			group[cpu[i]] = *next;
		(*next)++;
		cpu += near;
		n -= near;
	}
	return 0;
}

/* By the matrix of all pairs: groups must be near-cliques. Split until nothing splits any more, a level each time. */
static bool split_by_matrix(struct comm *c, const int *before, int n_before, int *group, int *n_groups)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	int *member = xr_arena_array(arena, int, c->n), *label = xr_arena_array(arena, int, c->n);
	double *distance = xr_arena_array(arena, double, c->n * c->n), below, above;
	bool split = false;
	*n_groups = 0;
	for (int g = 0; g < n_before; g++) {
		int k = 0;
		for (int i = 0; i < c->n; i++)
			if (before[i] == g)
				member[k++] = i;
		for (int i = 0; i < k; i++)
			for (int j = 0; j < k; j++) {
				double there = c->latency[member[i] * c->n + member[j]],
				       back = c->latency[member[j] * c->n + member[i]];
				distance[i * k + j] = fmin(there, back) > 0 ? fmin(there, back) : INFINITY;
			}
		int found = xr_cliques(distance, k, gap, label, &below, &above);
		split |= found > 1;
		for (int i = 0; i < k; i++)
			group[member[i]] = *n_groups + label[i];
		*n_groups += found;
	}
	return split;
}

static struct level *new_level(struct comm *c, uint64_t bytes)
{
	struct level *l = &c->level[c->n_levels++];
	l->bytes = bytes;
	l->n_groups = 0; /* the place may have been a level that split nothing */
	l->group = xr_arena_array(xr_run_arena(c->run), int, c->n);
	return l;
}

/* One step of refinement. A level that splits nothing is dropped. */
static int refine(struct comm *c, uint64_t bytes)
{
	const struct level *before = &c->level[c->n_levels - 1];
	if (c->n_levels == LEVELS_MAX)
		return 0;
	struct level *l = new_level(c, bytes);
	int *cpu = xr_arena_array(xr_run_arena(c->run), int, c->n);
	for (int g = 0; g < before->n_groups; g++) {
		int k = 0;
		for (int i = 0; i < c->n; i++)
			if (before->group[i] == g && (bytes == XR_ONE_LINE || c->speaker[i] == i))
				cpu[k++] = i;
		if (split_group(c, cpu, k, bytes, l->group, &l->n_groups))
			return -1;
	}
	for (int i = 0; i < c->n && bytes != XR_ONE_LINE; i++)
		l->group[i] = l->group[c->speaker[i]];
	if (l->n_groups == before->n_groups)
		c->n_levels--;
	return 0;
}

static int refine_by_lines(struct comm *c)
{
	if (!c->latency) { /* split until nothing splits any more */
		for (int levels = 0; levels != c->n_levels && c->n_levels < LEVELS_MAX;) {
			levels = c->n_levels;
			if (refine(c, XR_ONE_LINE))
				return -1;
		}
		return 0;
	}
	while (c->n_levels < LEVELS_MAX) {
		const struct level *before = &c->level[c->n_levels - 1];
		struct level *l = new_level(c, XR_ONE_LINE);
		if (!split_by_matrix(c, before->group, before->n_groups, l->group, &l->n_groups)) {
			c->n_levels--;
			break;
		}
	}
	return 0;
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* The CPU, and its siblings where cpu[] has one for all of them. */
static void append_cpus(const struct comm *c, json_t *cpus, int i)
{
	if (c->cores)
		json_array_extend(cpus, json_array_get(c->cores, (size_t)i));
	else
		json_array_append_new(cpus, json_integer(c->cpu[i]));
}

/* Below the leaves of a large machine are its cores. */
static json_t *with_cores(const struct comm *c, json_t *leaf, int group)
{
	const struct level *l = &c->level[c->n_levels - 1];
	json_t *children = json_array();
	size_t widest = 0;
	for (int i = 0; c->cores && i < c->n; i++) {
		if (l->group[i] != group)
			continue;
		json_t *cpus = json_deep_copy(json_array_get(c->cores, (size_t)i));
		widest = json_array_size(cpus) > widest ? json_array_size(cpus) : widest;
		json_array_append_new(children, json_pack("{s:o}", "cpus", cpus));
	}
	if (widest > 1 && json_array_size(children) > 1) {
		json_object_set_new(leaf, "split_by", json_string("cores"));
		json_object_set(leaf, "children", children);
	}
	json_decref(children);
	return leaf;
}

static json_t *tree(const struct comm *c, int level, int group)
{
	const struct level *l = &c->level[level];
	json_t *node = json_object(), *cpus = json_array(), *children = json_array();
	for (int i = 0; i < c->n; i++)
		if (l->group[i] == group)
			append_cpus(c, cpus, i);
	json_object_set_new(node, "cpus", cpus);
	if (level + 1 < c->n_levels) {
		const struct level *below = l + 1;
		for (int g = 0; g < below->n_groups; g++) {
			int first = 0;
			while (below->group[first] != g)
				first++;
			if (l->group[first] == group)
				json_array_append_new(children, tree(c, level + 1, g));
		}
	}
	if (json_array_size(children) == 1) { /* nothing split here: the child says it all */
		json_t *only = json_incref(json_array_get(children, 0));
		json_decref(children);
		json_decref(node);
		return only;
	}
	if (json_array_size(children) > 1) {
		const struct level *below = l + 1;
		if (below->bytes == XR_ONE_LINE)
			json_object_set_new(node, "split_by", json_string("latency"));
		else
			json_object_set_new(node, "split_by",
			                    json_sprintf("blocks of %lld bytes", (long long)below->bytes));
		json_object_set_new(node, "children", json_incref(children));
	}
	json_decref(children);
	return level + 1 < c->n_levels ? node : with_cores(c, node, group);
}

/* Rows of the matrix with the CPUs they belong to. */
static json_t *matrix(const struct comm *c, const double *value)
{
	json_t *cpus = json_array(), *rows = json_array();
	for (int i = 0; i < c->n; i++) {
		json_t *row = json_array();
		for (int j = 0; j < c->n; j++) {
			double v = value[i * c->n + j];
			json_array_append_new(row, i == j || !(v > 0) ? json_null() : json_real(v));
		}
		json_array_append_new(cpus, json_integer(c->cpu[i]));
		json_array_append_new(rows, row);
	}
	return json_pack("{s:o, s:o}", "cpus", cpus, "rows", rows);
}

/* Half the difference of the two directions, relative; the median over all pairs. */
static double asymmetry(const struct comm *c, const double *value)
{
	double *d = xr_arena_array(xr_run_arena(c->run), double, c->n * c->n);
	size_t k = 0;
	for (int i = 0; i < c->n; i++)
		for (int j = i + 1; j < c->n; j++) {
			double a = value[i * c->n + j], b = value[j * c->n + i];
			if (a > 0 && b > 0)
				d[k++] = fabs(a - b) / fmin(a, b);
		}
	return k ? xr_median(d, k) : 0;
}

static void put_matrix(struct comm *c, const char *id, const double *value, double disturbed, const char *unit,
                       const char *method)
{
	double skew = asymmetry(c, value);
	struct xr_fact *fact =
		xr_fact_put(xr_run_description(c->run), id, matrix(c, value), unit, skew < 0.1 ? 0.95 : 0.7, method);
	if (disturbed > 0.1)
		xr_fact_doubt(fact, "somebody else had one of the two CPUs while they talked, in %.0f %% of the pairs",
		              100 * disturbed);
	else if (skew > 0.25)
		xr_fact_doubt(fact, "the two directions differ by %.0f %%", 100 * skew);
	else if (skew > 0.1)
		xr_fact_note(fact, "the two directions differ by %.0f %%", 100 * skew);
}

/* Between the leaves of the tree, one pair of CPUs for each: what a large machine gets instead of all pairs. */
static int put_leaf_matrix(struct comm *c, const char *id, uint64_t bytes, const char *unit, const char *method)
{
	const struct level *leaf = &c->level[c->n_levels - 1];
	int g = leaf->n_groups < MATRIX_MAX ? leaf->n_groups : MATRIX_MAX, k = 0;
	struct xr_pair *pair = xr_arena_array(xr_run_arena(c->run), struct xr_pair, g * g);
	for (int a = 0; a < g; a++)
		for (int b = 0; b < g; b++) {
			int from = -1, to = -1;
			for (int i = 0; i < c->n; i++) {
				if (leaf->group[i] == a && from < 0)
					from = i;
				else if (leaf->group[i] == b && to < 0 && i != from)
					to = i;
			}
			pair[k++] = (struct xr_pair){.from = from, .to = to < 0 ? from : to};
		}
	int real = 0;
	struct xr_pair *asked = xr_arena_array(xr_run_arena(c->run), struct xr_pair, g * g);
	for (int i = 0; i < k; i++)
		if (pair[i].from != pair[i].to)
			asked[real++] = pair[i];
	if (xr_pairs_read(&c->pairs, asked, real, bytes))
		return -1;
	json_t *groups = json_array(), *rows = json_array();
	for (int a = 0, next = 0; a < g; a++) {
		json_t *row = json_array(), *cpus = json_array();
		for (int b = 0; b < g; b++) {
			double ns = pair[a * g + b].from != pair[a * g + b].to ? asked[next++].ns : 0;
			json_array_append_new(row,
			                      ns > 0 ? json_real(bytes == XR_ONE_LINE ? ns : 64e9 / ns) : json_null());
		}
		for (int i = 0; i < c->n; i++)
			if (leaf->group[i] == a)
				append_cpus(c, cpus, i);
		json_array_append_new(groups, cpus);
		json_array_append_new(rows, row);
	}
	struct xr_fact *fact = xr_fact_put(xr_run_description(c->run), id,
	                                   json_pack("{s:o, s:o}", "groups", groups, "rows", rows), unit, 0.9, method);
	xr_fact_note(fact, "between groups of the tree: there are too many CPUs for all pairs");
	return 0;
}

static bool siblings_known(struct comm *c)
{
	const struct xr_fact *fact = xr_description_fact(xr_run_description(c->run), "threads.siblings");
	return fact && fact->status == XR_OK;
}

/* Nodes: the groups for blocks beyond all caches, when lines between them are slower too. */
static void put_nodes(struct comm *c)
{
	struct xr_description *d = xr_run_description(c->run);
	const struct level *top = c->n_levels > 1 ? &c->level[1] : NULL;
	const char *method = "blocks beyond all caches";
	if (!top || top->bytes == XR_ONE_LINE) {
		/* groups that only lines show are chiplets or rings more often than nodes */
		struct xr_fact *one = xr_fact_count(d, "topology.numa_nodes", 1, "", top ? 0.6 : 0.85, method);
		if (c->n_speakers <= 2)
			xr_fact_doubt(one, "two cores make one pair: nothing to compare it with");
		else if (top && top->n_groups < c->n_speakers)
			xr_fact_note(one, "lines travel slower between %d groups, large blocks do not", top->n_groups);
		return;
	}
	double near = 0, far = 0;
	int n_near = 0, n_far = 0;
	for (int i = 0; c->latency && i < c->n; i++)
		for (int j = 0; j < c->n; j++) {
			double ns = c->latency[i * c->n + j];
			if (i == j || !(ns > 0))
				continue;
			if (top->group[i] == top->group[j]) {
				near += ns;
				n_near++;
			} else {
				far += ns;
				n_far++;
			}
		}
	struct xr_fact *fact = xr_fact_count(d, "topology.numa_nodes", top->n_groups, "", 0.9, method);
	if (!siblings_known(c))
		xr_fact_doubt(fact, "which CPUs are one core is not known: these may be cores");
	else if (n_near && n_far && far / n_far < (1 + gap) * near / n_near)
		xr_fact_doubt(fact, "lines travel between the groups as fast as within them");
}

/* ---- the micro-benchmark ----------------------------------------------------------------------------------------- */

/* Block sizes from beyond the last cache to below the first, from the cache facts where there are any. */
static int block_sizes(struct xr_run *run, uint64_t *bytes)
{
	static const char *const levels[] = {"cache.l4.capacity", "cache.l3.capacity", "cache.l2.capacity",
	                                     "cache.l1d.capacity"};
	double largest = 0;
	int n = 1;
	for (int i = 0; i < 4; i++) {
		double capacity = xr_run_number(run, levels[i], 0);
		if (!(capacity > 0))
			continue;
		if (!(largest > 0))
			largest = capacity;
		bytes[n++] = (uint64_t)(capacity / 2) / 64 * 64;
	}
	if (n == 1) { /* nothing is known: sizes that mean something on most machines */
		bytes[n++] = 1u << 20;
		bytes[n++] = 1u << 14;
	}
	double beyond = fmax(4 * largest, 32u << 20);
	bytes[0] = (uint64_t)fmin(beyond, fmin(128u << 20, (double)xr_run_info(run)->memory_bytes / 8)) / 64 * 64;
	return n;
}

static const char *cannot(const struct xr_target_info *info)
{
	if (info->n_cpus < 2)
		return "only one CPU may be used here: nobody to talk to";
	return info->can_pin ? NULL : "threads cannot be pinned to CPUs here";
}

static int read_matrices(struct comm *c, uint64_t middle)
{
	c->latency = xr_arena_array(xr_run_arena(c->run), double, c->n * c->n);
	c->bandwidth = xr_arena_array(xr_run_arena(c->run), double, c->n * c->n);
	xr_run_progress(c->run, 0, "latency");
	if (read_matrix(c, XR_ONE_LINE, c->latency, &c->latency_disturbed))
		return -1;
	xr_run_progress(c->run, 0.3, "bandwidth");
	if (read_matrix(c, middle, c->bandwidth, &c->bandwidth_disturbed))
		return -1;
	for (int i = 0; i < c->n * c->n; i++)
		c->bandwidth[i] = c->bandwidth[i] > 0 ? 64e9 / c->bandwidth[i] : 0;
	c->pairs.latency = c->latency;
	return 0;
}

static int measure(struct comm *c)
{
	uint64_t bytes[8];
	int n_sizes = block_sizes(c->run, bytes);
	uint64_t middle = bytes[n_sizes - 1] * 2 < 65536 ? bytes[n_sizes - 1] * 2 : 65536;
	struct level *all = new_level(c, 0);
	all->n_groups = 1;
	c->pairs = (struct xr_pairs){.run = c->run, .cpu = c->cpu, .n = c->n, .gap = gap};
	if (c->n <= MATRIX_MAX && !c->cores && read_matrices(c, middle))
		return -1;
	for (int i = 0; i < n_sizes; i++) {
		xr_run_progress(c->run, 0.6 + 0.3 * i / n_sizes, "groups");
		if (refine(c, bytes[i]))
			return -1;
	}
	xr_run_progress(c->run, 0.9, "groups");
	if (refine_by_lines(c))
		return -1;
	char *method = xr_arena_printf(xr_run_arena(c->run), "blocks of %llu bytes", (unsigned long long)middle);
	if (c->latency) {
		put_matrix(c, "comm.latency", c->latency, c->latency_disturbed, "ns", "ping-pong on a line");
		put_matrix(c, "comm.bandwidth", c->bandwidth, c->bandwidth_disturbed, "B/s", method);
		return 0;
	}
	return put_leaf_matrix(c, "comm.latency", XR_ONE_LINE, "ns", "ping-pong on a line") ||
	                       put_leaf_matrix(c, "comm.bandwidth", middle, "B/s", method)
	               ? -1
	               : 0;
}

/* On a large machine one CPU per core speaks for its siblings, when those are known for sure. */
static void one_per_core(struct comm *c)
{
	const struct xr_fact *fact = xr_description_fact(xr_run_description(c->run), "threads.siblings");
	if (c->n <= MATRIX_MAX || !fact || fact->status != XR_OK)
		return;
	int n = (int)json_array_size(fact->value), *cpu = xr_arena_array(xr_run_arena(c->run), int, n);
	for (int i = 0; i < n; i++)
		cpu[i] = (int)json_integer_value(json_array_get(json_array_get(fact->value, (size_t)i), 0));
	c->cores = fact->value;
	c->cpu = cpu;
	c->n = n;
}

/* Blocks beyond all caches tell nodes apart, and siblings that pass lines inside their core would only blur that. */
static void choose_speakers(struct comm *c)
{
	const struct xr_fact *fact = xr_description_fact(xr_run_description(c->run), "threads.siblings");
	size_t group, member;
	json_t *cpus, *id;
	c->speaker = xr_arena_array(xr_run_arena(c->run), int, c->n);
	for (int i = 0; i < c->n; i++)
		c->speaker[i] = i;
	if (fact && fact->status == XR_OK && !c->cores)
		json_array_foreach(fact->value, group, cpus)
		{
			int first = -1;
			json_array_foreach(cpus, member, id) for (int i = 0; i < c->n;
			                                          i++) if (c->cpu[i] == (int)json_integer_value(id))
			{
				first = first < 0 ? i : first;
				c->speaker[i] = first;
			}
		}
	for (int i = 0; i < c->n; i++)
		c->n_speakers += c->speaker[i] == i;
}

static int run_comm(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_description *d = xr_run_description(run);
	struct comm c = {.run = run, .cpu = info->cpu_ids, .n = info->n_cpus};
	const char *why_not = cannot(info);
	if (why_not) {
		static const char *const ids[] = {"comm.latency", "comm.bandwidth", "topology.tree",
		                                  "topology.numa_nodes"};
		for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
			xr_fact_none(d, ids[i], XR_UNSUPPORTED, "%s", why_not);
		return 0;
	}
	one_per_core(&c);
	choose_speakers(&c);
	if (measure(&c))
		return -1;
	xr_fact_put(d, "topology.tree", tree(&c, 0, 0), "", 0.9, "cliques, from large blocks to single lines");
	put_nodes(&c);
	return 0;
}

static const char *const finds[] = {"comm.latency", "comm.bandwidth", "topology.tree", "topology.numa_nodes", NULL};

static const char *const needs[] = {"threads", NULL};

const struct xr_micro xr_micro_comm = {
	.id = "comm",
	.title = "latency and bandwidth between cores, locality tree, NUMA nodes",
	.finds = finds,
	.needs = needs,
	.cost_s = 4,
	.by_pairs = true,
	.kinds = 1u << XR_TEAM,
	.run = run_comm,
};
