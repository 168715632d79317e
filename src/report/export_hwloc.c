/* SPDX-License-Identifier: MIT */
/* hwloc's topology: its own synthetic machine, which has the shape, filled in with what was measured. What was not measured
 * (how much memory there is, say) is left out. */
#include "report/exports.h"
#include "report/quote.h"
#include "report/value.h"
#include "util/strbuf.h"

#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MAX = 4096, CPUS_MAX = 8192 };

static double cache_number(const struct xr_export *e, const char *level, const char *what, double otherwise)
{
	return xr_export_number(e, xr_arena_printf(e->arena, "cache.%s.%s", level, what), otherwise);
}

static int cache_count(const struct xr_export *e, const char *level, const char *what, int otherwise)
{
	return xr_export_count(e, xr_arena_printf(e->arena, "cache.%s.%s", level, what), otherwise);
}

/* ---- the shape ---------------------------------------------------------------------------------------------------- */

struct shape {
	int cores, threads;
	int smt;  /* of the core that has most */
	int *cpu; /* cores * smt logical CPUs, core after core; beyond `last`: not there */
	int last;
};

/* CPUs as the measured siblings have them: siblings need not be neighbours by number, and not all cores are alike. */
static bool take_siblings(const struct xr_export *e, struct shape *shape)
{
	const struct xr_fact *fact = xr_export_fact(e, "threads.siblings");
	const json_t *groups = fact ? fact->value : NULL;
	bool *seen = xr_arena_array(e->arena, bool, CPUS_MAX);
	size_t g, i;
	json_t *group, *one;
	int most = 0, total = 0;
	if (json_array_size(groups) != (size_t)shape->cores)
		return false;
	json_array_foreach(groups, g, group)
	{
		most = (int)json_array_size(group) > most ? (int)json_array_size(group) : most;
		json_array_foreach(group, i, one)
		{
			json_int_t cpu = json_is_integer(one) ? json_integer_value(one) : -1;
			if (cpu < 0 || cpu >= CPUS_MAX || seen[cpu])
				return false;
			seen[cpu] = true;
			shape->last = (int)cpu > shape->last ? (int)cpu : shape->last;
			total++;
		}
	}
	if (total != shape->threads || most * shape->cores > CPUS_MAX)
		return false;
	int filler = shape->last;
	shape->smt = most;
	shape->cpu = xr_arena_array(e->arena, int, most * shape->cores);
	json_array_foreach(groups, g, group) for (i = 0; i < (size_t)most; i++) shape->cpu[g * (size_t)most + i] =
		i < json_array_size(group) ? (int)json_integer_value(json_array_get(group, i)) : ++filler;
	return true;
}

/* NULL, or what is not known well enough. */
static const char *find_shape(const struct xr_export *e, struct shape *shape)
{
	*shape = (struct shape){.cores = xr_export_count(e, "threads.cores", 0),
	                        .threads = xr_export_count(e, "threads.logical", 0)};
	if (shape->cores < 1 || shape->cores > CORES_MAX || shape->threads < shape->cores || shape->threads > CPUS_MAX)
		return "the number of cores and threads";
	if (take_siblings(e, shape))
		return NULL;
	if (shape->threads % shape->cores)
		return "which CPUs are one core";
	shape->smt = shape->threads / shape->cores;
	shape->cpu = xr_arena_array(e->arena, int, shape->smt * shape->cores);
	for (int i = 0; i < shape->smt * shape->cores; i++)
		shape->cpu[i] = i;
	shape->last = shape->smt * shape->cores - 1;
	return NULL;
}

/* hwloc's own words for a regular machine, from the outside in. */
static const char *synthetic(const struct xr_export *e, const struct shape *shape)
{
	static const char *const outer[] = {"l4", "l3", "l2"}, *const inner[] = {"l1d", "l1i"};
	int nodes = xr_export_count(e, "topology.numa_nodes", 1), left = shape->cores;
	const char *text = "pack:1 [numa]";
	if (nodes > 1 && left % nodes == 0) {
		text = xr_arena_printf(e->arena, "pack:1 group:%d [numa]", nodes);
		left /= nodes;
	}
	for (size_t i = 0; i < sizeof outer / sizeof *outer; i++) {
		double bytes = cache_number(e, outer[i], "capacity", 0);
		int by = cache_count(e, outer[i], "shared_by", i == 2 ? 1 : shape->cores);
		if (!(bytes > 0))
			continue;
		int groups = by > 0 && by <= left && left % by == 0 ? left / by : 1;
		text = xr_arena_printf(e->arena, "%s %s:%d(size=%.0f)", text, outer[i], groups, floor(bytes));
		left /= groups;
	}
	for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
		double bytes = cache_number(e, inner[i], "capacity", 0);
		if (!(bytes > 0))
			continue;
		text = xr_arena_printf(e->arena, "%s %s:%d(size=%.0f)", text, inner[i], left, floor(bytes));
		left = 1;
	}
	text = xr_arena_printf(e->arena, "%s core:%d pu:%d(indexes=", text, left, shape->smt);
	struct xr_strbuf list = {0};
	for (int i = 0; i < shape->smt * shape->cores; i++)
		xr_strbuf_printf(&list, "%s%d", i ? "," : "", shape->cpu[i]);
	text = xr_arena_printf(e->arena, "%s%s)", text, xr_strbuf_text(&list));
	xr_strbuf_release(&list);
	return text;
}

/* Threads that only the largest core has are in the synthetic machine for all. */
static int leave_out_missing(hwloc_topology_t topology, const struct shape *shape)
{
	if (shape->smt * shape->cores == shape->threads)
		return 0;
	hwloc_bitmap_t there = hwloc_bitmap_alloc();
	int rc = there ? 0 : -1;
	for (int i = 0; there && i < shape->smt * shape->cores; i++)
		if (shape->cpu[i] <= shape->last)
			rc |= hwloc_bitmap_set(there, (unsigned)shape->cpu[i]);
	rc = rc ? rc : hwloc_topology_restrict(topology, there, 0);
	hwloc_bitmap_free(there);
	return rc;
}

/* ---- what is in it ------------------------------------------------------------------------------------------------ */

static const char *words_with_unit(const struct xr_export *e, const struct xr_fact *fact)
{
	const char *words = xr_value_words(e->arena, fact->value, fact->unit);
	return fact->unit && !strcmp(fact->unit, "cycles") ? xr_arena_printf(e->arena, "%s cycles", words) : words;
}

static void fill_cache(const struct xr_export *e, hwloc_topology_t topology, hwloc_obj_type_t type, const char *level)
{
	static const char *const infos[] = {"latency", "policy", "inclusion"};
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_obj_by_type(topology, type, object))) {
		object->attr->cache.linesize = (unsigned)cache_count(e, level, "line", 0);
		object->attr->cache.associativity = cache_count(e, level, "ways", 0);
		for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
			const struct xr_fact *fact =
				xr_export_fact(e, xr_arena_printf(e->arena, "cache.%s.%s", level, infos[i]));
			if (fact)
				hwloc_obj_add_info(object, xr_arena_printf(e->arena, "XRay_%s", infos[i]),
				                   words_with_unit(e, fact));
		}
	}
}

/* What the machine is called, and facts that hwloc has no place for. */
static void fill_infos(const struct xr_export *e, hwloc_topology_t topology)
{
	static const char *const ids[] = {"cpu.frequency", "memory.latency_ns", "tlb.d1.entries", "tlb.d2.entries",
	                                  "sharing.granule"};
	hwloc_obj_t root = hwloc_get_root_obj(topology);
	hwloc_obj_add_info(root, "CPUModel", xr_safe_text(e->arena, xr_description_target_text(e->d, "cpu")));
	hwloc_obj_add_info(root, "MeasuredBy", "X-Ray");
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		const struct xr_fact *fact = xr_export_fact(e, ids[i]);
		if (fact)
			hwloc_obj_add_info(root, ids[i], words_with_unit(e, fact));
	}
}

/* From CPU to CPU, where all pairs were measured; hwloc keeps whole numbers, so the unit is small and in the name. */
static void fill_distances(const struct xr_export *e, hwloc_topology_t topology, const char *id, const char *name,
                           unsigned long kind, double scale)
{
	const struct xr_fact *fact = xr_export_fact(e, id);
	const json_t *rows = fact ? json_object_get(fact->value, "rows") : NULL;
	const json_t *cpus = fact ? json_object_get(fact->value, "cpus") : NULL;
	unsigned n = (unsigned)json_array_size(rows);
	if (n < 2 || n > CPUS_MAX || json_array_size(cpus) != n)
		return;
	hwloc_obj_t *objects = xr_arena_array(e->arena, hwloc_obj_t, n);
	hwloc_uint64_t *values = xr_arena_array(e->arena, hwloc_uint64_t, (size_t)n * n);
	for (unsigned i = 0; i < n; i++) {
		json_int_t cpu = json_integer_value(json_array_get(cpus, i));
		objects[i] = cpu >= 0 && cpu < CPUS_MAX ? hwloc_get_pu_obj_by_os_index(topology, (unsigned)cpu) : NULL;
		for (unsigned j = 0; j < n; j++) {
			double value = scale * json_number_value(json_array_get(json_array_get(rows, i), j));
			if (!objects[i] || (i != j && !(value >= 1 && value < 1e15)))
				return;
			values[(size_t)i * n + j] = i == j ? 0 : (hwloc_uint64_t)value;
		}
	}
	hwloc_distances_add_handle_t handle =
		hwloc_distances_add_create(topology, name, HWLOC_DISTANCES_KIND_FROM_USER | kind, 0);
	if (handle && !hwloc_distances_add_values(topology, handle, n, objects, values, 0))
		hwloc_distances_add_commit(topology, handle, 0);
}

/* Of one node: with several, what was measured is not known to be of any one. How much memory there is was not measured. */
static void fill_memory(const struct xr_export *e, hwloc_topology_t topology)
{
	static const struct {
		hwloc_memattr_id_t attribute;
		const char *id;
		double unit; /* MB/s, ns */
	} facts[] = {{HWLOC_MEMATTR_ID_BANDWIDTH, "memory.bandwidth.read.all", 1e6},
	             {HWLOC_MEMATTR_ID_LATENCY, "memory.latency_ns", 1}};
	hwloc_obj_t node = NULL;
	while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
		node->attr->numanode.local_memory = 0;
		node->attr->numanode.page_types_len = 0;
	}
	node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, 0);
	if (!node || hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) != 1)
		return;
	struct hwloc_location all = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = node->cpuset};
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		double value = xr_export_number(e, facts[i].id, 0) / facts[i].unit;
		if (value > 0)
			hwloc_memattr_set_value(topology, facts[i].attribute, node, &all, 0,
			                        (hwloc_uint64_t)rint(value));
	}
}

static void fill(const struct xr_export *e, hwloc_topology_t topology)
{
	const struct xr_fact *latency = xr_export_fact(e, "comm.latency");
	fill_infos(e, topology);
	fill_cache(e, topology, HWLOC_OBJ_L1CACHE, "l1d");
	fill_cache(e, topology, HWLOC_OBJ_L1ICACHE, "l1i");
	fill_cache(e, topology, HWLOC_OBJ_L2CACHE, "l2");
	fill_cache(e, topology, HWLOC_OBJ_L3CACHE, "l3");
	fill_cache(e, topology, HWLOC_OBJ_L4CACHE, "l4");
	fill_distances(e, topology, "comm.latency", "XRayLatency/ps", HWLOC_DISTANCES_KIND_MEANS_LATENCY,
	               latency && latency->unit && !strcmp(latency->unit, "s") ? 1e12 : 1e3);
	fill_distances(e, topology, "comm.bandwidth", "XRayBandwidth/MBps", HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH, 1e-6);
	fill_memory(e, topology);
}

int xr_export_hwloc(const struct xr_export *e, struct xr_error *err)
{
	struct shape shape;
	hwloc_topology_t topology;
	char *xml = NULL;
	int length = 0, rc = -1;
	const char *wanting = find_shape(e, &shape);
	if (wanting)
		return xr_export_needs(wanting, err);
	if (hwloc_topology_init(&topology))
		return xr_export_needs("a topology", err);
	const char *words = synthetic(e, &shape);
	if (hwloc_topology_set_synthetic(topology, words) ||
	    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_load(topology) || leave_out_missing(topology, &shape)) {
		xr_fail(err, XR_EXIT_USE, "hwloc cannot hold this machine: %s", words);
		goto out;
	}
	fill(e, topology);
	if (hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0)) {
		xr_fail(err, XR_EXIT_USE, "hwloc cannot write this machine");
		goto out;
	}
	fputs(xml, e->out);
	hwloc_free_xmlbuffer(topology, xml);
	rc = 0;
out:
	hwloc_topology_destroy(topology);
	return rc;
}
