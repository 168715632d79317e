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
	fprintf(e->out, "  %s: {total: %.3g, ADD: %.3g, MUL: %.3g", name, fmax(fma, fmax(add, mul)), add, mul);
	if (fma > 0)
		fprintf(e->out, ", FMA: %.3g", fma);
	fputs("}\n", e->out);
}

/* pycachesim, which kerncraft asks, knows four policies. All others keep what was used last, as LRU does. */
static const char *policy_there(const char *measured)
{
	return !strcmp(measured, "fifo") ? "FIFO" : !strcmp(measured, "random") ? "RR" : "LRU";
}

static void put_policy(const struct xr_export *e, const char *level)
{
	const struct xr_fact *policy = xr_export_fact(e, xr_arena_printf(e->arena, "cache.%s.policy", level));
	const char *word = policy && json_is_string(policy->value) ? json_string_value(policy->value) : "";
	fprintf(e->out, "    replacement_policy: %s%s%s\n", policy_there(word), *word ? "  # measured: " : "",
	        *word ? xr_quote_yaml(e->arena, word) : "");
}

/* Its sets hold a power of two of lines, nothing else; how many sets there are is free, so the size stays. */
static double ways_there(double measured)
{
	return measured > 0 ? exp2(floor(log2(measured)))
	                    : 16; /* not known: any number does, the size is what counts */
}

static void put_cache(const struct xr_export *e, const char *level, double bytes, double line)
{
	double measured = cache_number(e, level, "ways", 0), ways = ways_there(measured);
	bool back = cache_number(e, level, "write_back", 1) > 0,
	     allocate = cache_number(e, level, "write_allocate", 1) > 0;
	fprintf(e->out, "  cache per group:\n    sets: %.0f\n    ways: %.0f", fmax(floor(bytes / line / ways), 1),
	        ways);
	if (measured > 0 && measured != ways)
		fprintf(e->out, "  # measured: %.0f, and sets of as many lines", measured);
	fprintf(e->out, "\n    cl_size: %.0f\n", line);
	/* It knows no cache that writes through and still fetches what is written. */
	fprintf(e->out, "    write_allocate: %s\n    write_back: %s\n", back && allocate ? "true" : "false",
	        back ? "true" : "false");
}

static void put_throughput(const struct xr_export *e, const char *level)
{
	double bytes = cache_number(e, level, "throughput.read", 0); /* to the level above: none above the first */
	if (bytes > 0 && strcmp(level, "l1d") != 0)
		fprintf(e->out, "  upstream throughput: [%.4g B/cy, half-duplex]\n", bytes);
}

static void put_level(const struct xr_export *e, const char *level, const char *name, const char *next, int cores,
                      int smt)
{
	double bytes = cache_number(e, level, "capacity", 0);
	double line = cache_number(e, level, "line", xr_export_number(e, "cache.l1d.line", 64));
	int by = cache_count(e, level, "shared_by", !strcmp(level, "l3") ? cores : 1);
	if (!(bytes > 0))
		return;
	by = by < 1 || by > cores ? 1 : by;
	fprintf(e->out, "- level: %s\n  size per group: %.0f B\n  groups: %d\n  cores per group: %d\n", name, bytes,
	        (cores + by - 1) / by, by);
	fprintf(e->out, "  threads per group: %d\n", by * smt);
	put_cache(e, level, bytes, line);
	put_policy(e, level);
	if (next)
		fprintf(e->out, "    load_from: %s\n    store_to: %s\n", next, next);
	double latency = cache_number(e, level, "latency", 0);
	if (latency > 0)
		fprintf(e->out, "  latency: %.4g cy\n", latency);
	put_throughput(e, level);
}

static double bandwidth(const struct xr_export *e, const char *level, const char *kernel, const char *cores)
{
	return xr_export_number(e, xr_arena_printf(e->arena, "%s.bandwidth.%s%s", level, kernel, cores), 0) / 1e9;
}

/* What one core gets; of memory, also what all of them get. */
static void put_results(const struct xr_export *e, const char *level, const char *name, int cores)
{
	static const char *const kernels[][2] = {{"load", "read"}, {"copy", "copy"}};
	bool memory = !strcmp(name, "MEM"), all = memory && cores > 1;
	const char *one = memory ? ".one" : "";
	if (!memory && !(xr_export_number(e, xr_arena_printf(e->arena, "%s.capacity", level), 0) > 0))
		return;
	for (int i = 0; i < 2; i++) {
		if (!(bandwidth(e, level, kernels[i][1], one) > 0))
			return;
		all &= bandwidth(e, level, kernels[i][1], ".all") > 0;
	}
	fprintf(e->out, "    %s:\n      1:\n        threads per core: 1\n        cores: [1", name);
	fprintf(e->out, all ? ", %d]\n        results:\n" : "]\n        results:\n", cores);
	for (int i = 0; i < 2; i++) {
		fprintf(e->out, "          %s: [%.2f GB/s", kernels[i][0], bandwidth(e, level, kernels[i][1], one));
		if (all)
			fprintf(e->out, ", %.2f GB/s", bandwidth(e, level, kernels[i][1], ".all"));
		fputs("]\n", e->out);
	}
}

/* In the words of likwid-bench, by which kerncraft measures the same. */
static void put_benchmarks(const struct xr_export *e, int cores)
{
	static const char streams[] =
		"    %s:\n      FLOPs per iteration: 0\n      read streams: {bytes: 8.00 B, streams: 1}\n"
		"      read+write streams: {bytes: 0.00 B, streams: 0}\n"
		"      write streams: {bytes: %d.00 B, streams: %d}\n";
	fputs("benchmarks:\n  kernels:\n", e->out);
	fprintf(e->out, streams, "load", 0, 0);
	fprintf(e->out, streams, "copy", 8, 1);
	fputs("  measurements:\n", e->out);
	put_results(e, "cache.l1d", "L1", cores);
	put_results(e, "cache.l2", "L2", cores);
	put_results(e, "cache.l3", "L3", cores);
	put_results(e, "memory", "MEM", cores);
}

int xr_export_kerncraft(const struct xr_export *e, struct xr_error *err)
{
	double hz = xr_export_number(e, "cpu.frequency", 0), line = xr_export_number(e, "cache.l1d.line", 0);
	int cores = xr_export_count(e, "threads.cores", 1);
	int smt = xr_export_count(e, "threads.smt", 1), nodes = xr_export_count(e, "topology.numa_nodes", 1);
	bool l3 = cache_number(e, "l3", "capacity", 0) > 0, l2 = cache_number(e, "l2", "capacity", 0) > 0;
	if (!(hz > 0) || !(line > 0) || !(cache_number(e, "l1d", "capacity", 0) > 0))
		return xr_export_needs("clock and first cache", err);
	cores = cores < 1 ? 1 : cores;
	nodes = nodes < 1 || nodes > cores ? 1 : nodes;
	fprintf(e->out,
	        "# X-Ray knows no names of ports and none of your compiler's flags: for in-core models add 'in-core model',\n"
	        "# 'compiler', 'overlapping model' and 'non-overlapping model'.\n"
	        "kerncraft version: 0.8.4\nmodel name: %s\n",
	        xr_quote_yaml(e->arena, xr_description_target_text(e->d, "cpu")));
	fprintf(e->out,
	        "clock: %.2f GHz\nsockets: 1\ncores per socket: %d\nthreads per core: %d\nNUMA domains per socket: %d\n"
	        "cores per NUMA domain: %d\ncacheline size: %.0f B\nFLOPs per cycle:\n",
	        hz / 1e9, cores, smt, nodes, cores / nodes, line);
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
	fputs("  upstream throughput: [full socket memory bandwidth, half-duplex]\n", e->out);
	put_benchmarks(e, cores);
	return 0;
}
