/* SPDX-License-Identifier: MIT */
/* For performance models: hwloc's topology, kerncraft's machine file, a roofline. */
#include "report/exports.h"
#include "report/quote.h"
#include "report/value.h"

#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double cache_number(const struct xr_export *e, const char *level, const char *what, double otherwise)
{
	return xr_export_number(e, xr_arena_printf(e->arena, "cache.%s.%s", level, what), otherwise);
}

static int cache_count(const struct xr_export *e, const char *level, const char *what, int otherwise)
{
	return xr_export_count(e, xr_arena_printf(e->arena, "cache.%s.%s", level, what), otherwise);
}

/* ---- hwloc -------------------------------------------------------------------------------------------------------- */

/* hwloc's own words for a regular machine, from the outside in. */
static const char *synthetic(const struct xr_export *e, int cores, int smt)
{
	static const struct {
		const char *level, *name;
	} caches[] = {{"l4", "l4"}, {"l3", "l3"}, {"l2", "l2"}};
	const char *text = "pack:1";
	int left = cores;
	for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
		double bytes = cache_number(e, caches[i].level, "capacity", 0);
		int by = cache_count(e, caches[i].level, "shared_by", i == 2 ? 1 : cores);
		if (!(bytes > 0))
			continue;
		int groups = by > 0 && by <= left && left % by == 0 ? left / by : 1;
		text = xr_arena_printf(e->arena, "%s %s:%d(size=%.0f)", text, caches[i].name, groups, floor(bytes));
		left /= groups;
	}
	double l1d = cache_number(e, "l1d", "capacity", 0), l1i = cache_number(e, "l1i", "capacity", 0);
	if (l1d > 0) {
		text = xr_arena_printf(e->arena, "%s l1d:%d(size=%.0f)", text, left, l1d);
		left = 1;
	}
	if (l1i > 0) {
		text = xr_arena_printf(e->arena, "%s l1i:%d(size=%.0f)", text, left, l1i);
		left = 1;
	}
	return xr_arena_printf(e->arena, "%s core:%d pu:%d", text, left, smt);
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
				                   xr_value_words(e->arena, fact->value, fact->unit));
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
	hwloc_obj_add_info(root, "Backend", "XRay");
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		const struct xr_fact *fact = xr_export_fact(e, ids[i]);
		if (fact)
			hwloc_obj_add_info(root, ids[i], xr_value_words(e->arena, fact->value, fact->unit));
	}
}

/* Nanoseconds from CPU to CPU, where all of them were measured. */
static void fill_distances(const struct xr_export *e, hwloc_topology_t topology)
{
	const struct xr_fact *fact = xr_export_fact(e, "comm.latency");
	const json_t *rows = fact ? json_object_get(fact->value, "rows") : NULL;
	unsigned n = (unsigned)json_array_size(rows);
	double scale = fact && !strcmp(fact->unit, "s") ? 1e12 : 1e3; /* as whole picoseconds */
	if (!n || n != (unsigned)hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU))
		return;
	hwloc_obj_t *objects = xr_arena_array(e->arena, hwloc_obj_t, n);
	hwloc_uint64_t *values = xr_arena_array(e->arena, hwloc_uint64_t, n * n);
	for (unsigned i = 0; i < n; i++) {
		objects[i] = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, i);
		for (unsigned j = 0; j < n; j++) {
			double value = json_number_value(json_array_get(json_array_get(rows, i), j));
			values[i * n + j] = value > 0 && value < 1e6 ? (hwloc_uint64_t)(value * scale) : 0;
		}
	}
	hwloc_distances_add_handle_t handle = hwloc_distances_add_create(
		topology, "XRayLatency", HWLOC_DISTANCES_KIND_FROM_USER | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
	if (handle && !hwloc_distances_add_values(topology, handle, n, objects, values, 0))
		hwloc_distances_add_commit(topology, handle, 0);
}

static void fill_memory(const struct xr_export *e, hwloc_topology_t topology)
{
	hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, 0);
	double bandwidth = xr_export_number(e, "memory.bandwidth.read.all", 0);
	double latency = xr_export_number(e, "memory.latency_ns", 0);
	struct hwloc_location all = {.type = HWLOC_LOCATION_TYPE_CPUSET};
	if (!node)
		return;
	all.location.cpuset = node->cpuset;
	if (bandwidth > 0) /* in MB/s */
		hwloc_memattr_set_value(topology, HWLOC_MEMATTR_ID_BANDWIDTH, node, &all, 0,
		                        (hwloc_uint64_t)(bandwidth / 1e6));
	if (latency > 0)
		hwloc_memattr_set_value(topology, HWLOC_MEMATTR_ID_LATENCY, node, &all, 0,
		                        (hwloc_uint64_t)rint(latency));
}

int xr_export_hwloc(const struct xr_export *e, struct xr_error *err)
{
	int cores = xr_export_count(e, "threads.cores", 0);
	int threads = xr_export_count(e, "threads.logical", 0);
	hwloc_topology_t topology;
	char *xml = NULL;
	int length = 0, rc = -1;
	if (cores < 1 || cores > 4096 || threads < cores || threads > 8192)
		return xr_export_needs("the number of cores and threads", err);
	if (hwloc_topology_init(&topology))
		return xr_export_needs("a topology", err);
	const char *words = synthetic(e, cores, threads / cores);
	if (hwloc_topology_set_synthetic(topology, words) ||
	    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_load(topology)) {
		xr_fail(err, XR_EXIT_USE, "hwloc cannot hold this machine: %s", words);
		goto out;
	}
	fill_infos(e, topology);
	fill_cache(e, topology, HWLOC_OBJ_L1CACHE, "l1d");
	fill_cache(e, topology, HWLOC_OBJ_L1ICACHE, "l1i");
	fill_cache(e, topology, HWLOC_OBJ_L2CACHE, "l2");
	fill_cache(e, topology, HWLOC_OBJ_L3CACHE, "l3");
	fill_distances(e, topology);
	fill_memory(e, topology);
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

/* ---- peaks -------------------------------------------------------------------------------------------------------- */

/* Floating-point operations per cycle of one core: the best that was measured of scalar and vector. */
static double flops_per_cycle(const struct xr_export *e, const char *op, const char *element, int element_bytes)
{
	static const int widths[] = {0, 16, 32, 64};
	double most = 0;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		const char *type = widths[i] ? xr_arena_printf(e->arena, "v%d%s", widths[i], element) : element;
		double t = xr_export_number(e, xr_arena_printf(e->arena, "op.%s.%s.throughput", op, type), 0);
		double lanes = widths[i] ? (double)widths[i] / element_bytes : 1;
		if (t > 0)
			most = fmax(most, lanes / t * (strcmp(op, "fma") ? 1 : 2));
	}
	return most;
}

static void add_peak(const struct xr_export *e, json_t *list, const char *name, const char *type, int bytes)
{
	double hz = xr_export_number(e, "cpu.frequency", 0), cores = xr_export_number(e, "threads.cores", 1);
	double best = fmax(flops_per_cycle(e, "fma", type, bytes), flops_per_cycle(e, "mul", type, bytes));
	if (best > 0 && hz > 0)
		json_array_append_new(list, json_pack("[s, f]", name, best * hz * cores / 1e9));
}

static void add_bandwidth(const struct xr_export *e, json_t *list, const char *name, const char *id)
{
	double bytes = xr_export_number(e, id, 0);
	if (bytes > 0)
		json_array_append_new(list, json_pack("[s, f]", name, bytes / 1e9));
}

int xr_export_roofline(const struct xr_export *e, struct xr_error *err)
{
	json_t *peaks = json_array(), *bandwidths = json_array();
	add_peak(e, peaks, "FP64 GFLOPs", "f64", 8);
	add_peak(e, peaks, "FP32 GFLOPs", "f32", 4);
	add_bandwidth(e, bandwidths, "L1", "cache.l1d.bandwidth.read");
	add_bandwidth(e, bandwidths, "L2", "cache.l2.bandwidth.read");
	add_bandwidth(e, bandwidths, "L3", "cache.l3.bandwidth.read");
	add_bandwidth(e, bandwidths, "DRAM", "memory.bandwidth.read.all");
	if (!json_array_size(bandwidths))
		add_bandwidth(e, bandwidths, "DRAM", "memory.bandwidth.read.one");
	bool nothing = !json_array_size(peaks);
	json_t *roofline = json_pack("{s:{s:{s:o}, s:{s:o}, s:{s:s, s:s}}}", "empirical", "gflops", "data", peaks,
	                             "gbytes", "data", bandwidths, "metadata", "CPU",
	                             xr_safe_text(e->arena, xr_description_target_text(e->d, "cpu")), "TOOL", "xray");
	char *text = roofline ? json_dumps(roofline, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
	if (text && !nothing)
		fprintf(e->out, "%s\n", text);
	free(text);
	json_decref(roofline);
	return nothing || !text ? xr_export_needs("clock and floating-point throughput", err) : 0;
}

/* ---- kerncraft ---------------------------------------------------------------------------------------------------- */

static void put_flops(const struct xr_export *e, const char *name, const char *type, int bytes)
{
	double fma = flops_per_cycle(e, "fma", type, bytes), add = flops_per_cycle(e, "add", type, bytes),
	       mul = flops_per_cycle(e, "mul", type, bytes);
	fprintf(e->out, "  %s: {total: %.3g, ADD: %.3g, MUL: %.3g", name,
	        fmax(fma, add + mul > fma ? fmax(add, mul) : fma), add, mul);
	if (fma > 0)
		fprintf(e->out, ", FMA: %.3g", fma / 2);
	fputs("}\n", e->out);
}

static void put_level(const struct xr_export *e, const char *level, const char *name, const char *next, int cores,
                      int smt)
{
	double bytes = cache_number(e, level, "capacity", 0), ways = cache_number(e, level, "ways", 0);
	double line = cache_number(e, level, "line", xr_export_number(e, "cache.l1d.line", 64));
	int by = cache_count(e, level, "shared_by", !strcmp(level, "l3") ? cores : 1);
	const struct xr_fact *policy = xr_export_fact(e, xr_arena_printf(e->arena, "cache.%s.policy", level));
	const char *word = policy && json_is_string(policy->value) ? json_string_value(policy->value) : "LRU";
	if (!(bytes > 0))
		return;
	by = by < 1 || by > cores ? 1 : by;
	double use = ways > 0 ? ways : 16; /* any number does: the size is what counts */
	fprintf(e->out, "- level: %s\n  size per group: %.2f kB\n  groups: %d\n  cores per group: %d\n", name,
	        bytes / 1000, (cores + by - 1) / by, by);
	fprintf(e->out, "  threads per group: %d\n", by * smt);
	fprintf(e->out,
	        "  cache per group:\n    sets: %.0f\n    ways: %.0f\n    cl_size: %.0f\n    replacement_policy: %s\n"
	        "    write_allocate: %s\n    write_back: %s\n",
	        fmax(floor(bytes / line / use), 1), use, line, xr_quote_yaml(e->arena, word),
	        cache_number(e, level, "write_allocate", 1) > 0 ? "true" : "false",
	        cache_number(e, level, "write_back", 1) > 0 ? "true" : "false");
	if (next)
		fprintf(e->out, "    load_from: %s\n    store_to: %s\n", next, next);
	double latency = cache_number(e, level, "latency", 0);
	if (latency > 0)
		fprintf(e->out, "  latency: %.4g cy\n", latency);
}

int xr_export_kerncraft(const struct xr_export *e, struct xr_error *err)
{
	double hz = xr_export_number(e, "cpu.frequency", 0), line = xr_export_number(e, "cache.l1d.line", 0);
	int cores = xr_export_count(e, "threads.cores", 1);
	int smt = xr_export_count(e, "threads.smt", 1);
	bool l3 = cache_number(e, "l3", "capacity", 0) > 0, l2 = cache_number(e, "l2", "capacity", 0) > 0;
	if (!(hz > 0) || !(line > 0) || !(cache_number(e, "l1d", "capacity", 0) > 0))
		return xr_export_needs("clock and first cache", err);
	cores = cores < 1 ? 1 : cores;
	fprintf(e->out, "kerncraft version: 0.8\nmodel name: %s\n",
	        xr_quote_yaml(e->arena, xr_description_target_text(e->d, "cpu")));
	fprintf(e->out,
	        "clock: %.2f GHz\nsockets: 1\ncores per socket: %d\nthreads per core: %d\nNUMA domains per socket: %.0f\n"
	        "cores per NUMA domain: %d\ncacheline size: %.0f B\nFLOPs per cycle:\n",
	        hz / 1e9, cores, smt, xr_export_number(e, "topology.numa_nodes", 1), cores, line);
	put_flops(e, "SP", "f32", 4);
	put_flops(e, "DP", "f64", 8);
	fputs("memory hierarchy:\n", e->out);
	put_level(e, "l1d", "L1", l2 ? "L2" : l3 ? "L3" : NULL, cores, smt);
	put_level(e, "l2", "L2", l3 ? "L3" : NULL, cores, smt);
	put_level(e, "l3", "L3", NULL, cores, smt);
	fprintf(e->out, "- level: MEM\n  size per group: null\n  cores per group: %d\n  threads per group: %d\n", cores,
	        cores * smt);
	if (xr_export_number(e, "memory.latency", 0) > 0)
		fprintf(e->out, "  latency: %.4g cy\n", xr_export_number(e, "memory.latency", 0));
	if (xr_export_number(e, "memory.bandwidth.read.all", 0) > 0)
		fprintf(e->out, "  upstream throughput: %.4g GB/s\n",
		        xr_export_number(e, "memory.bandwidth.read.all", 0) / 1e9);
	return 0;
}
