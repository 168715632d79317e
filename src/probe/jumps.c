/* SPDX-License-Identifier: MIT */
#include "probe/jumps.h"

#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LAPS = 2,  /* of a sample, at least: the order of a lap matters */
	STILL = 4, /* samples side by side that say: at rest */
	WORSE = 3, /* of disturbed samples, one in so many counts: the least disturbed */
	LEAST_BLOCK = 16,
	LEAST_FULL = 64,
	LONGEST_LINE = 128,
};
static const double visit_ns = 10; /* about; only the length of samples depends on it */
static const double short_ns = 40000,
		    granules = 200;      /* of a sample: some thousand visits, so that chance plays no part */
static const double patience_ns = 2.5e8; /* the lowest of several looks is right beside most neighbours, too */

int xr_jumps_init(struct xr_jumps *j, struct xr_run *run, unsigned region, uint64_t bytes, uint64_t unit, uint64_t page)
{
	struct xr_spec clock = {.kind = XR_CLOCK};
	struct xr_reading reading;
	memset(j, 0, sizeof *j);
	j->run = run;
	j->region = region;
	j->bytes = bytes;
	j->unit = unit;
	j->page = page;
	j->patience_ns = patience_ns;
	j->block[0] = LEAST_BLOCK;
	j->block[1] = LEAST_FULL;
	if (xr_run_time(run, &clock, 1, &reading) != 0)
		return -1;
	j->least_ns = fmax(short_ns, reading.status == XR_READ_OK ? granules * reading.granule_ns : 0);
	return 0;
}

void xr_jumps_spans(struct xr_arena *arena, const uint64_t *address, size_t n, struct xr_walk_spec *walk)
{
	struct xr_span *span = xr_arena_array(arena, struct xr_span, n);
	size_t spans = 0;
	for (size_t i = 0; i < n; spans++) {
		size_t end = i + 1;
		while (end < n && end - i < UINT32_MAX && address[end] >= address[end - 1] &&
		       address[end] - address[end - 1] == address[i + 1] - address[i])
			end++;
		span[spans].base = address[i];
		span[spans].stride = end - i > 1 ? address[i + 1] - address[i] : 0;
		span[spans].count = (uint32_t)(end - i);
		i = end;
	}
	walk->span = span;
	walk->n_spans = spans;
}

static const uint64_t *units_of(struct xr_arena *arena, const uint64_t *address, unsigned n, uint64_t unit)
{
	uint64_t *number = xr_arena_array(arena, uint64_t, n);
	for (unsigned i = 0; i < n; i++)
		number[i] = address[i] / unit;
	return number;
}

size_t xr_jumps_add(struct xr_jumps *j, unsigned curve, unsigned statements, unsigned count, const uint64_t *address,
                    const uint64_t *twin, unsigned n)
{
	struct xr_arena *arena = xr_run_arena(j->run);
	if (j->n == XR_JUMPS_MAX)
		return j->n;
	struct xr_walk_spec walk = {
		.kind = XR_JUMPS, .region = j->region + (statements > 0), .bytes = j->bytes, .statements = statements};
	j->walk[j->n] = j->twin[j->n] = walk;
	xr_jumps_spans(arena, address, n, &j->walk[j->n]);
	xr_jumps_spans(arena, twin, n, &j->twin[j->n]);
	j->point[j->n] = (struct xr_conflict_point){.curve = curve,
	                                            .full = statements > 0,
	                                            .count = count,
	                                            .place = units_of(arena, address, n, j->unit),
	                                            .n = n};
	for (unsigned i = 0; i < n; i++) {
		const uint64_t last = address[i] > twin[i] ? address[i] : twin[i];
		j->extent[j->n] = last + j->page > j->extent[j->n] ? last + j->page : j->extent[j->n];
	}
	return j->n++;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* At rest many samples lie close together; those that nobody noticed to be disturbed lie wide apart above, a few
 * impossible ones below. So: the lowest run of STILL samples that is nearly as narrow as the narrowest. */
static double low_of(double *sample, size_t n)
{
	const double nearly = 2, narrow = 0.002; /* a run twice as wide, or within two per mille, is as narrow */
	double narrowest = INFINITY;
	size_t from = 0;
	qsort(sample, n, sizeof *sample, by_value);
	if (n < STILL)
		return n ? sample[0] : NAN;
	for (size_t k = 0; k + STILL <= n; k++)
		narrowest = fmin(narrowest, sample[k + STILL - 1] - sample[k]);
	while (sample[from + STILL - 1] - sample[from] > nearly * narrowest + narrow * sample[from])
		from++;
	return xr_mean(sample + from, STILL);
}

static double take(struct xr_jumps *j, const struct xr_reading *r, bool full, bool *quiet)
{
	if (r->status != XR_READ_OK || r->samples <= 0) {
		if (!j->trouble) {
			j->trouble = r->reason ? r->reason : "no sample";
			j->unsupported = r->status == XR_READ_UNSUPPORTED;
		}
		return NAN;
	}
	const size_t disturbed = (size_t)r->n_disturbed, calm = (size_t)r->samples - disturbed;
	const size_t n = calm > 1 ? calm : (size_t)r->samples - disturbed + (disturbed + WORSE - 1) / WORSE;
	double *sample = xr_arena_copy(xr_run_arena(j->run), r->sample, (n ? n : 1) * sizeof *sample);
	*quiet &= calm > 1;
	if (r->code_bytes >= 1)
		j->block[full] = (uint64_t)r->code_bytes;
	return low_of(sample, n);
}

int xr_jumps_learn(struct xr_jumps *j, unsigned statements)
{
	enum { TRIES = 5 }; /* others may spoil a reading */
	static const struct xr_effort once = {.samples = 1, .samples_max = 1};
	const struct xr_span alone = {.base = 0, .stride = 0, .count = 1};
	struct xr_spec spec = {.kind = XR_WALK};
	spec.walk = (struct xr_walk_spec){.kind = XR_JUMPS,
	                                  .region = j->region + (statements > 0),
	                                  .bytes = j->bytes,
	                                  .statements = statements,
	                                  .span = &alone,
	                                  .n_spans = 1,
	                                  .seed = 1};
	for (int i = 0; i < TRIES; i++) {
		struct xr_reading reading;
		if (xr_run_time_with(j->run, &once, &spec, 1, &reading) != 0)
			return -1;
		if (reading.status == XR_READ_OK && reading.code_bytes >= 1)
			j->block[statements > 0] = (uint64_t)reading.code_bytes;
		if (reading.status != XR_READ_FAILED)
			break;
	}
	return 0;
}

/* The same walk somewhere else, in a fresh order. */
static struct xr_spec moved(struct xr_jumps *j, const struct xr_walk_spec *walk, uint64_t by)
{
	struct xr_span *span = xr_arena_copy(xr_run_arena(j->run), walk->span, walk->n_spans * sizeof *span);
	struct xr_spec spec = {.kind = XR_WALK};
	spec.walk = *walk;
	spec.walk.span = span;
	spec.walk.seed = xr_rng_next(xr_run_rng(j->run)) | 1;
	for (size_t i = 0; i < walk->n_spans; i++)
		span[i].base += by;
	return spec;
}

int xr_jumps_look(struct xr_jumps *j, const size_t *which, size_t n, int samples, double wait)
{
	struct xr_arena *arena = xr_run_arena(j->run);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, 2 * n + 1);
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, 2 * n + 1);
	unsigned longest = 1;
	for (size_t i = 0; i < n; i++) {
		const size_t at = which[i];
		const uint64_t room = j->bytes > j->extent[at] ? (j->bytes - j->extent[at]) / j->page : 0;
		const uint64_t by = xr_rng_below(xr_run_rng(j->run), room + 1) * j->page;
		spec[2 * i] = moved(j, &j->walk[at], by);
		spec[2 * i + 1] = moved(j, &j->twin[at], by);
		longest = j->point[at].n > longest ? j->point[at].n : longest;
	}
	const struct xr_effort effort = {.samples = samples,
	                                 .samples_max = samples,
	                                 .sample_ns = fmax(LAPS * longest * visit_ns, j->least_ns),
	                                 .quiet_ns = fmin(j->patience_ns, wait * patience_ns)};
	if (!n)
		return 0;
	if (xr_run_time_with(j->run, &effort, spec, 2 * n, reading) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct xr_conflict_point *p = &j->point[which[i]];
		bool quiet = true;
		const double cycles = take(j, &reading[2 * i], p->full, &quiet),
			     base = take(j, &reading[2 * i + 1], p->full, &quiet);
		j->quiet += quiet;
		j->disturbed += !quiet;
		if (p->looks == XR_CONFLICT_LOOKS || !(cycles > 0) || !(base > 0))
			continue;
		p->cycles[p->looks] = cycles;
		p->base[p->looks++] = base;
	}
	j->patience_ns = fmax(0, j->patience_ns - reading[0].waited_ns);
	return 0;
}

int xr_jumps_excess(struct xr_jumps *j, enum xr_walk_kind kind, const uint64_t *address, const uint64_t *twin,
                    unsigned n, double *cycles)
{
	const struct xr_walk_spec walk = {.kind = kind, .region = j->region, .bytes = j->bytes, .seed = 1};
	struct xr_spec spec[2] = {{.kind = XR_WALK}, {.kind = XR_WALK}};
	struct xr_reading reading[2];
	bool quiet = true;
	for (int i = 0; i < 2; i++) {
		spec[i].walk = walk;
		xr_jumps_spans(xr_run_arena(j->run), i ? twin : address, n, &spec[i].walk);
	}
	if (xr_run_time(j->run, spec, 2, reading) != 0)
		return -1;
	*cycles = take(j, &reading[0], false, &quiet) - take(j, &reading[1], false, &quiet);
	return 0;
}

void xr_jumps_pack(const uint64_t *address, unsigned n, uint64_t page, uint64_t block, uint64_t *twin)
{
	uint64_t at = 0;
	for (unsigned i = 0; i < n; i++, at += block) {
		if (i && address[i] / page != address[i - 1] / page) /* pages do not meet in a line */
			at = (at + LONGEST_LINE - 1) / LONGEST_LINE * LONGEST_LINE;
		twin[i] = address[i] / page * page + at % page;
	}
}

void xr_jumps_place(uint64_t stride, unsigned count, unsigned rows, uint64_t unit, uint64_t page, uint64_t block,
                    uint64_t *address, uint64_t *twin)
{
	for (unsigned i = 0; i < count * rows; i++)
		address[i] = i / rows * stride + i % rows * unit;
	xr_jumps_pack(address, count * rows, page, block, twin);
}
