/* SPDX-License-Identifier: MIT */
/* For performance models: kerncraft's machine file, a roofline. */
#include "report/exports.h"
#include "report/quote.h"
#include "report/value.h"

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
