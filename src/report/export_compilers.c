/* SPDX-License-Identifier: MIT */
/* For compilers and libraries: gcc, glibc, OpenBLAS, BLIS, CMake. */
#include "facts/trust.h"
#include "report/exports.h"
#include "report/quote.h"
#include "report/value.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the last cache before memory; 0: not known. One in doubt is not replaced by the one before it: who takes the
 * second for the last sends every large copy past the third. */
static double last_level_bytes(const struct xr_export *e)
{
	static const char *const ids[] = {"cache.l4.capacity", "cache.l3.capacity", "cache.l2.capacity"};
	const struct xr_fact *levels = xr_description_fact(e->d, "cache.levels");
	double count = levels ? json_number_value(levels->value) : 0;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		const struct xr_fact *fact = xr_description_fact(e->d, ids[i]);
		if (xr_export_number(e, ids[i], 0) >= 1)
			return xr_export_number(e, ids[i], 0);
		if ((fact && fact->value) || count >= (double)(4 - i))
			return 0;
	}
	return 0;
}

static void param(const struct xr_export *e, bool *first, const char *name, double value)
{
	if (!(value >= 1)) /* no zeros for what is less than one of its unit */
		return;
	fprintf(e->out, "%s--param=%s=%.0f", *first ? "" : " ", name, floor(value));
	*first = false;
}

int xr_export_gcc(const struct xr_export *e, struct xr_error *err)
{
	bool first = true;
	param(e, &first, "l1-cache-size", xr_export_number(e, "cache.l1d.capacity", 0) / 1024);
	param(e, &first, "l1-cache-line-size", xr_export_number(e, "cache.l1d.line", 0));
	param(e, &first, "l2-cache-size", xr_export_number(e, "cache.l2.capacity", 0) / 1024);
	param(e, &first, "destructive-interference-size", xr_export_number(e, "sharing.granule", 0));
	param(e, &first, "constructive-interference-size", xr_export_number(e, "cache.l1d.line", 0));
	param(e, &first, "simultaneous-prefetches", xr_export_number(e, "memory.parallelism", 0));
	if (first)
		return xr_export_needs("any cache", err);
	fputc('\n', e->out);
	return 0;
}

int xr_export_glibc(const struct xr_export *e, struct xr_error *err)
{
	double l1 = xr_export_number(e, "cache.l1d.capacity", 0), last = last_level_bytes(e);
	if (!(l1 >= 1) && !(last >= 1))
		return xr_export_needs("any cache", err);
	fputs("GLIBC_TUNABLES=", e->out);
	if (l1 >= 1)
		fprintf(e->out, "glibc.cpu.x86_data_cache_size=%.0f", l1);
	/* Copies beyond three quarters of it go past the caches: the effective size matters, not the claimed one. */
	if (last >= 1)
		fprintf(e->out, "%sglibc.cpu.x86_shared_cache_size=%.0f:glibc.cpu.x86_non_temporal_threshold=%.0f",
		        l1 >= 1 ? ":" : "", last, fmax(floor(last * 0.75), 0x4040));
	fputc('\n', e->out);
	return 0;
}

int xr_export_openblas(const struct xr_export *e, struct xr_error *err)
{
	double cores = xr_export_number(e, "threads.cores", 0), l2 = xr_export_number(e, "cache.l2.capacity", 0) / 1024;
	if (!(cores >= 1) && !(l2 >= 1))
		return xr_export_needs("the cores or the second cache", err);
	if (cores >= 1) /* SMT siblings share the units a multiply is made of */
		fprintf(e->out, "OPENBLAS_NUM_THREADS=%.0f\n", cores);
	if (l2 >= 1)
		fprintf(e->out, "OPENBLAS_L2_SIZE=%.0f\n", floor(l2));
	return 0;
}

/* ---- blocks of a matrix multiply ---------------------------------------------------------------------------------- */

/* Of a cache: sets of a number of ways of lines. Ways that are not known are taken as 8, the usual. */
struct array {
	double bytes, ways, way_bytes;
	bool claimed; /* its size could not be measured: the OS's claim */
};

static double claim_or_fact(const struct xr_export *e, const char *id, double otherwise)
{
	const struct xr_fact *fact = xr_description_fact(e->d, id);
	double claim = e->claimed && fact ? xr_fact_claimed(fact, 0) : 0;
	return claim > 0 && claim < 1e15 ? claim : xr_export_number(e, id, otherwise);
}

static bool array_of(const struct xr_export *e, const char *level, struct array *a)
{
	a->claimed = false;
	a->bytes = claim_or_fact(e, xr_arena_printf(e->arena, "cache.%s.capacity", level), 0);
	a->ways = claim_or_fact(e, xr_arena_printf(e->arena, "cache.%s.ways", level), 8);
	const char *capacity = xr_arena_printf(e->arena, "cache.%s.capacity", level);
	if (!(a->bytes > 0)) { /* a size in doubt is better than none, and a claim better than a guess */
		const struct xr_export in_doubt = {e->out, e->d, e->arena, 0.3, e->claimed};
		const struct xr_export claims = {e->out, e->d, e->arena, 0.3, true};
		a->bytes = claim_or_fact(&in_doubt, capacity, 0);
		a->claimed = !(a->bytes > 0);
		a->bytes = a->claimed ? claim_or_fact(&claims, capacity, 0) : a->bytes;
	}
	a->way_bytes = a->bytes / a->ways;
	return a->bytes > 0 && a->ways >= 2 && a->ways <= 4096;
}

/* A vector of this many bytes that is there, with its cost: the widest that costs no more than a narrower one. */
static double vector_bytes(const struct xr_export *e, const char *type, int element_bytes, double *latency,
                           double *per_cycle)
{
	static const int widths[] = {64, 32, 16};
	double widest = xr_export_number(e, "isa.simd.width", 0), best = 0;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		const char *stem = xr_arena_printf(e->arena, "op.fma.v%d%s", widths[i], type);
		double l = xr_export_number(e, xr_arena_printf(e->arena, "%s.latency", stem), 0);
		double t = xr_export_number(e, xr_arena_printf(e->arena, "%s.throughput", stem), 0);
		if (!(l > 0) || !(t > 0) || (widest > 0 && widths[i] > widest))
			continue;
		*latency = l;
		*per_cycle = fmax(rint(1 / t), 1);
		best = widths[i];
		break;
	}
	if (best > 0)
		return best;
	*latency = xr_export_number(e, xr_arena_printf(e->arena, "op.mul.%s.latency", type), 4) +
	           xr_export_number(e, xr_arena_printf(e->arena, "op.add.%s.latency", type), 4);
	*per_cycle = 1;
	return widest > 0 ? widest : element_bytes;
}

/* A block of more than this is all there is. */
static int round_down(double value, double multiple)
{
	return (int)(fmax(floor(fmin(value, 1e6) / multiple), 1) * multiple);
}

/* mr × nr elements of C stay in registers: enough of them in flight to hide the latency of the multiply-add, and
 * no more than there are registers for, with a column of A and an element of B beside them. */
static void micro_tile(const struct xr_export *e, double lanes, double width, double latency, double per_cycle,
                       struct xr_blocking *b)
{
	double registers = xr_export_number(e, xr_arena_printf(e->arena, "registers.v%.0f", width), 16);
	double flight = fmin(lanes * latency * per_cycle, 1024);
	registers = fmin(registers, 1024);
	b->mr = (int)(ceil(sqrt(flight) / lanes) * lanes);
	b->nr = (int)ceil(flight / b->mr);
	while (b->nr > 1 && b->mr / lanes * (b->nr + 1) + 1 > registers)
		b->nr--;
	/* registers that are left over make each element loaded do more work */
	while (b->mr / lanes * (b->nr + 2) + 1 <= registers && b->nr < 2 * b->mr)
		b->nr++;
}

static bool blocking_of(const struct xr_export *e, int element_bytes, struct xr_blocking *b)
{
	const char *type = element_bytes == 4 ? "f32" : "f64";
	double latency, per_cycle, width = vector_bytes(e, type, element_bytes, &latency, &per_cycle);
	double s = element_bytes, lanes = fmax(width / s, 1);
	struct array l1, l2, l3;
	if (!array_of(e, "l1d", &l1) || l1.claimed)
		return false;
	if (b->mr < 1 || b->nr < 1)
		micro_tile(e, lanes, width, latency, per_cycle, b);
	/* Ways of the first cache for the sliver of A; the rest is for that of B and for C. */
	double ways_a = fmax(floor((l1.ways - 1) / (1 + (double)b->nr / b->mr)), 1);
	b->kc = round_down(ways_a * l1.way_bytes / (b->mr * s), 4);
	if (array_of(e, "l2", &l2)) {
		double ways_b = ceil(b->nr * b->kc * s / l2.way_bytes);
		double ways = fmax(l2.ways - 1 - ways_b, 1);
		b->mc = round_down(ways * l2.way_bytes / (b->kc * s), b->mr);
	}
	if (array_of(e, "l3", &l3)) {
		double ways_c = ceil(b->mc * b->kc * s / l3.way_bytes);
		double ways = fmax(l3.ways - 1 - ways_c, 1);
		b->nc = round_down(ways * l3.way_bytes / (b->kc * s), b->nr);
	}
	if (!b->mc) /* nobody knows: some times the first cache */
		b->mc = round_down(4 * l1.bytes / (b->kc * s), b->mr);
	if (!b->nc)
		b->nc = 4096 / b->nr * b->nr;
	return true;
}

int xr_description_blocking(const struct xr_description *d, int element_bytes, bool claimed,
                            struct xr_blocking *blocking)
{
	struct xr_arena arena = {0};
	const struct xr_export e = {NULL, d, &arena, xr_trust_least, claimed};
	if (!d || !blocking)
		return -1;
	struct xr_blocking b = {blocking->mr, blocking->nr, 0, 0, 0};
	bool known = element_bytes > 0 && blocking_of(&e, element_bytes, &b);
	xr_arena_release(&arena);
	*blocking = known ? b : *blocking;
	return known ? 0 : -1;
}

int xr_export_blis(const struct xr_export *e, struct xr_error *err)
{
	static const struct {
		int bytes;
		char letter;
	} types[] = {{4, 'S'}, {8, 'D'}};
	fputs("/* Block sizes for BLIS, by the model of Low et al. (2016). Made by `xray export --to blis`. */\n",
	      e->out);
	for (int level = 2; level <= 3; level++) {
		struct array a;
		if (array_of(e, xr_arena_printf(e->arena, "l%d", level), &a) && a.claimed)
			fprintf(e->out, "/* The size of L%d could not be measured: as the OS claims. */\n", level);
	}
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct xr_blocking b = {0};
		if (!blocking_of(e, types[i].bytes, &b))
			return xr_export_needs("the first cache", err);
		fprintf(e->out,
		        "#define BLIS_DEFAULT_MR_%c %d\n#define BLIS_DEFAULT_NR_%c %d\n#define BLIS_DEFAULT_KC_%c %d\n"
		        "#define BLIS_DEFAULT_MC_%c %d\n#define BLIS_DEFAULT_NC_%c %d\n",
		        types[i].letter, b.mr, types[i].letter, b.nr, types[i].letter, b.kc, types[i].letter, b.mc,
		        types[i].letter, b.nc);
	}
	return 0;
}

/* ---- CMake -------------------------------------------------------------------------------------------------------- */

int xr_export_cmake(const struct xr_export *e, struct xr_error *err)
{
	(void)err;
	fputs("# Facts of this machine, at least as sure as asked for. Made by `xray export --to cmake`.\n", e->out);
	for (size_t i = 0; i < xr_description_count(e->d); i++) {
		const char *id = xr_description_at(e->d, i)->id;
		const struct xr_fact *fact = xr_export_fact(e, id);
		if (!fact || strchr(id, '*'))
			continue;
		char *name = xr_arena_strdup(e->arena, id);
		for (char *c = name; *c; c++)
			*c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
		fprintf(e->out, "set(XRAY_%s ", name);
		if (json_is_boolean(fact->value))
			fputs(json_is_true(fact->value) ? "TRUE" : "FALSE", e->out);
		else if (json_is_integer(fact->value))
			fprintf(e->out, "%lld", (long long)json_integer_value(fact->value));
		else if (json_is_real(fact->value))
			fprintf(e->out, "%.15g", json_real_value(fact->value));
		else
			fputs(xr_quote_cmake(e->arena, xr_value_words(e->arena, fact->value, fact->unit)), e->out);
		fprintf(e->out, ")\nset(XRAY_CONF_%s %.0f)\n", name, rint(fact->confidence * 100));
	}
	return 0;
}
