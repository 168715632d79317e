/* SPDX-License-Identifier: MIT */
#include "method/walks.h"

#include "probe/jumps.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LAPS = 2, /* of a sample, at least */
	REGION_LEAST = 16384,
	STATEMENT_BYTES = 4,        /* of straight-line code, about: only the size of the whole matters */
	DATA_PER_VISIT = 128,       /* bytes read in the time of a visit, about */
	STATEMENTS_PER_VISIT = 128, /* in the time of a visit, about */
	SPACING = 64,
	ENOUGH = 4, /* undisturbed samples */
	WORSE = 3,  /* of the disturbed ones, one in so many is kept: the least disturbed */
};
static const double visit_ns = 10;   /* about; only the length of samples depends on it */
static const double short_ns = 6000; /* a sample should last, so that looking at the clock does not matter */

/* Waiting for a neighbour to pause: in one micro-benchmark, at most. Without the first answers the others are no
 * use. */
static const double patience_ns = 1e9;

/* A walk at rest shows as many samples close together; some that nobody noticed to be disturbed lie wide apart
 * above, and a few impossible ones below. So: the lowest stretch of so many samples that is nearly as narrow as
 * the narrowest. */
enum { STRETCH_LEAST = 4 };
static const double stretch_share = 0.12, nearly = 2.0, narrow = 0.002;

int xr_walk_bench_init(struct xr_walk_bench *bench, struct xr_run *run, unsigned region, uint64_t bytes)
{
	struct xr_spec clock = {.kind = XR_CLOCK};
	struct xr_reading reading;
	*bench = (struct xr_walk_bench){.run = run, .region = region, .bytes = bytes, .patience_ns = patience_ns};
	bench->block = SPACING;
	if (xr_run_time(run, &clock, 1, &reading) != 0)
		return -1;
	double granule = reading.status == XR_READ_OK ? reading.granule_ns : 1;
	bench->least_ns = 200 * granule > short_ns ? 200 * granule : short_ns;
	return 0;
}

void xr_walks_init(struct xr_walks *walks, struct xr_walk_bench *bench)
{
	memset(walks, 0, sizeof *walks);
	walks->bench = bench;
}

static struct xr_walk_point *add_point(struct xr_walks *walks, enum xr_walk_kind kind)
{
	if (walks->n == walks->room) {
		size_t room = walks->room ? walks->room * 2 : 64;
		struct xr_walk_point *grown =
			xr_arena_array(xr_run_arena(walks->bench->run), struct xr_walk_point, room);
		if (walks->n)
			memcpy(grown, walks->point, walks->n * sizeof *grown);
		walks->point = grown;
		walks->room = room;
	}
	struct xr_walk_point *p = &walks->point[walks->n++];
	memset(p, 0, sizeof *p);
	p->walk.kind = kind;
	p->walk.region = walks->bench->region;
	p->walk.bytes = walks->bench->bytes;
	return p;
}

size_t xr_walks_add(struct xr_walks *walks, enum xr_walk_kind kind, const uint64_t *address, size_t n)
{
	struct xr_walk_point *p = add_point(walks, kind);
	xr_jumps_spans(xr_run_arena(walks->bench->run), address, n, &p->walk);
	p->blocks = n;
	return walks->n - 1;
}

size_t xr_walks_add_with_data(struct xr_walks *walks, const uint64_t *address, size_t n, uint64_t data_bytes)
{
	size_t at = xr_walks_add(walks, XR_JUMPS, address, n);
	walks->point[at].walk.data_bytes = data_bytes;
	walks->point[at].blocks += (size_t)data_bytes / DATA_PER_VISIT;
	return at;
}

size_t xr_walks_add_straight(struct xr_walks *walks, uint64_t bytes)
{
	struct xr_walk_point *p = add_point(walks, XR_STRAIGHT);
	struct xr_span *span = xr_arena_array(xr_run_arena(walks->bench->run), struct xr_span, 1);
	*span = (struct xr_span){.stride = STATEMENT_BYTES, .count = (uint32_t)(bytes / STATEMENT_BYTES)};
	p->walk.span = span;
	p->walk.n_spans = 1;
	p->blocks = (size_t)bytes / STATEMENTS_PER_VISIT / STATEMENT_BYTES + 1;
	return walks->n - 1;
}

static void pool(struct xr_arena *arena, struct xr_walk_pool *pool, const double *sample, size_t more)
{
	if (pool->n + more > pool->room) {
		pool->room = (pool->n + more) * 2;
		double *grown = xr_arena_array(arena, double, pool->room);
		if (pool->n)
			memcpy(grown, pool->sample, pool->n * sizeof *grown);
		pool->sample = grown;
	}
	if (more)
		memcpy(pool->sample + pool->n, sample, more * sizeof *pool->sample);
	pool->n += more;
}

static void take(struct xr_walks *walks, struct xr_walk_point *p, const struct xr_reading *reading)
{
	if (reading->status == XR_READ_OK && reading->samples > 0) {
		const size_t disturbed = (size_t)reading->n_disturbed, quiet = (size_t)reading->samples - disturbed;
		pool(xr_run_arena(walks->bench->run), &p->quiet, reading->sample, quiet);
		pool(xr_run_arena(walks->bench->run), &p->disturbed, reading->sample + quiet,
		     (disturbed + WORSE - 1) / WORSE);
		p->code_bytes = reading->code_bytes;
	} else if (!walks->trouble) {
		walks->trouble = reading->reason ? reading->reason : "no sample";
		walks->unsupported = reading->status == XR_READ_UNSUPPORTED;
	}
}

static struct xr_effort effort_of(const struct xr_walks *walks, int samples, double wait)
{
	const struct xr_walk_bench *bench = walks->bench;
	size_t most = 1;
	for (size_t i = 0; i < walks->n; i++)
		most = walks->point[i].blocks > most ? walks->point[i].blocks : most;
	return (struct xr_effort){.samples = samples,
	                          .samples_max = samples,
	                          .sample_ns = fmax(LAPS * (double)most * visit_ns, bench->least_ns),
	                          .quiet_ns = fmin(bench->patience_ns, wait * patience_ns)};
}

static bool in_peace(const struct xr_walk_point *p)
{
	return p->quiet.n >= ENOUGH;
}

int xr_walks_look(struct xr_walks *walks, int samples, double wait)
{
	struct xr_walk_bench *bench = walks->bench;
	struct xr_spec *specs = xr_arena_array(xr_run_arena(bench->run), struct xr_spec, walks->n);
	struct xr_reading *readings = xr_arena_array(xr_run_arena(bench->run), struct xr_reading, walks->n);
	struct xr_effort effort = effort_of(walks, samples, wait);

	const bool calm = xr_walks_calm(walks);
	size_t *asked = xr_arena_array(xr_run_arena(bench->run), size_t, walks->n), n = 0;

	for (size_t i = 0; i < walks->n; i++) {
		if (!calm && in_peace(&walks->point[i]))
			continue;
		specs[n].kind = XR_WALK;
		specs[n].walk = walks->point[i].walk;
		specs[n].walk.seed = xr_rng_next(xr_run_rng(bench->run)) | 1; /* a fresh order every look */
		asked[n++] = i;
	}
	if (!n)
		return 0;
	if (xr_run_time_with(bench->run, &effort, specs, n, readings) != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		take(walks, &walks->point[asked[i]], &readings[i]);
	bench->patience_ns = fmax(0, bench->patience_ns - readings[0].waited_ns);
	if (walks->point[0].code_bytes > 0)
		bench->block = walks->point[0].code_bytes;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double low_of(struct xr_arena *arena, const struct xr_walk_pool *pool)
{
	if (pool->n == 0)
		return 0;
	double *sorted = xr_arena_copy(arena, pool->sample, pool->n * sizeof *sorted);
	qsort(sorted, pool->n, sizeof *sorted, by_value);
	size_t length = (size_t)fmax(STRETCH_LEAST, ceil(stretch_share * (double)pool->n));
	if (length > pool->n)
		return sorted[0]; /* too few to see who lies close together */
	double narrowest = INFINITY, sum = 0;
	for (size_t k = 0; k + length <= pool->n; k++)
		narrowest = fmin(narrowest, sorted[k + length - 1] - sorted[k]);
	size_t from = 0;
	while (sorted[from + length - 1] - sorted[from] > nearly * narrowest + narrow * sorted[from])
		from++;
	for (size_t k = from; k < from + length; k++)
		sum += sorted[k];
	return sum / (double)length;
}

/* One sample alone may be anything. */
static bool usable(const struct xr_walk_point *p)
{
	return p->quiet.n > 1 || !p->disturbed.n;
}

double xr_walks_low(const struct xr_walks *walks, size_t i)
{
	const struct xr_walk_point *p = &walks->point[i];
	return low_of(xr_run_arena(walks->bench->run), usable(p) ? &p->quiet : &p->disturbed);
}

double xr_walks_excess(const struct xr_walks *walks, size_t i, size_t twin)
{
	const struct xr_walk_point *p = &walks->point[i], *q = &walks->point[twin];
	if ((usable(p) && usable(q)))
		return xr_walks_low(walks, i) - xr_walks_low(walks, twin);
	struct xr_arena *arena = xr_run_arena(walks->bench->run);
	return low_of(arena, &p->disturbed) - low_of(arena, &q->disturbed);
}

bool xr_walks_calm(const struct xr_walks *walks)
{
	for (size_t i = 0; i < walks->n; i++)
		if (!in_peace(&walks->point[i]))
			return false;
	return walks->n > 0;
}

uint64_t xr_walks_region(const struct xr_run *run, uint64_t wanted)
{
	while (wanted > xr_run_room(run) && wanted > REGION_LEAST)
		wanted /= 2;
	return wanted;
}

const char *xr_walks_supported(const struct xr_run *run)
{
	return xr_run_room(run) >= REGION_LEAST ? NULL : "too little memory to lay code out in";
}
