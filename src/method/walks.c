#include "method/walks.h"

#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LAPS = 4, /* of a sample, at least */
	REGION_LEAST = 16384,
	STATEMENT_BYTES = 4,        /* of straight-line code, about: only the size of the whole matters */
	DATA_PER_VISIT = 128,       /* bytes read in the time of a visit, about */
	STATEMENTS_PER_VISIT = 128, /* in the time of a visit, about */
	SENTINEL_BLOCKS = 64,
	SENTINEL_SPACING = 64,
	SENTINEL_SAMPLES = 24,
	PATIENCE = 100,     /* sentinels; some tenths of a second on a machine that never comes to rest */
	PATIENCE_ONCE = 20, /* … before one look */
};
static const double visit_ns = 10;   /* about; only the length of samples depends on it */
static const double short_ns = 6000; /* a sample should last, so that looking at the clock does not matter */

/* A walk at rest shows as many samples close together; those of a disturbed one lie wide apart above, and a few
 * impossible ones below. So: the lowest stretch of so many samples that is nearly as narrow as the narrowest. */
enum { STRETCH_LEAST = 4 };
static const double stretch_share = 0.12, nearly = 2.0, narrow = 0.002;

/* A moment is quiet when a fifth of the sentinel's samples are about as quick as they ever were. */
static const double quiet_share = 0.2, quiet_ratio = 1.04;

/* The core's other thread slows every jump, so a short walk tells whether somebody is there. What it took at rest is kept
 * as a series: who comes later may never see the core at rest, and should know. */
static const char at_rest[] = "code.rest";

static struct xr_spec sentinel_of(const struct xr_walk_bench *bench)
{
	static const struct xr_span row = {.stride = SENTINEL_SPACING, .count = SENTINEL_BLOCKS};
	struct xr_spec spec = {.kind = XR_WALK};
	spec.walk = (struct xr_walk_spec){.kind = XR_JUMPS,
	                                  .region = bench->region,
	                                  .bytes = bench->bytes,
	                                  .span = &row,
	                                  .n_spans = 1,
	                                  .seed = xr_rng_next(xr_run_rng(bench->run)) | 1};
	return spec;
}

/* What the sentinel took at its quickest; 0: no reading. */
static double watch(struct xr_walk_bench *bench, const struct xr_reading *reading)
{
	if (reading->status != XR_READ_OK || reading->samples < 1)
		return 0;
	double now = xr_quantile(reading->sample, (size_t)reading->samples, quiet_share);
	if (bench->quiet <= 0 || now < bench->quiet) {
		const double blocks = SENTINEL_BLOCKS;
		bench->quiet = now;
		xr_series_put(xr_run_description(bench->run), at_rest, "blocks", "", &blocks, "time per visit",
		              "cycles", &now, 1);
	}
	double middle = xr_median(reading->sample, (size_t)reading->samples);
	bench->restless = fmax(bench->restless, middle / bench->quiet - 1);
	bench->block = reading->code_bytes;
	return now;
}

static int wait_for_quiet(struct xr_walk_bench *bench)
{
	struct xr_effort effort = {
		.samples = SENTINEL_SAMPLES, .samples_max = SENTINEL_SAMPLES, .sample_ns = bench->least_ns};
	struct xr_reading reading;
	for (int i = 0; i < PATIENCE_ONCE && bench->patience > 0; i++, bench->patience--) {
		struct xr_spec spec = sentinel_of(bench);
		if (xr_run_time_with(bench->run, &effort, &spec, 1, &reading) != 0)
			return -1;
		if (watch(bench, &reading) <= quiet_ratio * bench->quiet)
			return 0;
	}
	return 0;
}

int xr_walk_bench_init(struct xr_walk_bench *bench, struct xr_run *run, unsigned region, uint64_t bytes)
{
	struct xr_spec clock = {.kind = XR_CLOCK};
	struct xr_reading reading;
	*bench = (struct xr_walk_bench){.run = run, .region = region, .bytes = bytes, .patience = PATIENCE};
	bench->block = SENTINEL_SPACING;
	const struct xr_series *rest = xr_description_series(xr_run_description(run), at_rest);
	bench->quiet = rest ? rest->y[0] : 0;
	if (xr_run_time(run, &clock, 1, &reading) != 0)
		return -1;
	double granule = reading.status == XR_READ_OK ? reading.granule_ns : 1;
	bench->least_ns = 200 * granule > short_ns ? 200 * granule : short_ns;
	return wait_for_quiet(bench);
}

void xr_walks_init(struct xr_walks *walks, struct xr_walk_bench *bench)
{
	memset(walks, 0, sizeof *walks);
	walks->bench = bench;
}

/* Addresses as sequences <base, stride, count>. */
static struct xr_span *spans_of(struct xr_arena *arena, const uint64_t *address, size_t n, size_t *n_spans)
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
	*n_spans = spans;
	return span;
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
	p->walk.span = spans_of(xr_run_arena(walks->bench->run), address, n, &p->walk.n_spans);
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

static void pool(struct xr_walks *walks, struct xr_walk_point *p, const struct xr_reading *reading)
{
	if (reading->status != XR_READ_OK || reading->samples < 1) {
		if (!walks->trouble) {
			walks->trouble = reading->reason ? reading->reason : "no sample";
			walks->unsupported = reading->status == XR_READ_UNSUPPORTED;
		}
		return;
	}
	size_t more = (size_t)reading->samples;
	if (p->n + more > p->room) {
		p->room = (p->n + more) * 2;
		double *grown = xr_arena_array(xr_run_arena(walks->bench->run), double, p->room);
		if (p->n)
			memcpy(grown, p->sample, p->n * sizeof *grown);
		p->sample = grown;
	}
	memcpy(p->sample + p->n, reading->sample, more * sizeof *p->sample);
	p->n += more;
	p->code_bytes = reading->code_bytes;
}

int xr_walks_look(struct xr_walks *walks, int samples)
{
	struct xr_walk_bench *bench = walks->bench;
	struct xr_spec *specs = xr_arena_array(xr_run_arena(bench->run), struct xr_spec, walks->n + 1);
	struct xr_reading *readings = xr_arena_array(xr_run_arena(bench->run), struct xr_reading, walks->n + 1);
	struct xr_effort effort = {.samples = samples, .samples_max = samples};
	size_t most = 1;

	for (size_t i = 0; i < walks->n; i++) {
		specs[i].kind = XR_WALK;
		specs[i].walk = walks->point[i].walk;
		specs[i].walk.seed = xr_rng_next(xr_run_rng(bench->run)) | 1; /* a fresh order every look */
		if (walks->point[i].blocks > most)
			most = walks->point[i].blocks;
	}
	specs[walks->n] = sentinel_of(bench); /* by turns with the others: when they are at rest, so is it */
	effort.sample_ns = LAPS * (double)most * visit_ns;
	if (effort.sample_ns < bench->least_ns)
		effort.sample_ns = bench->least_ns;
	if (wait_for_quiet(bench) != 0 || xr_run_time_with(bench->run, &effort, specs, walks->n + 1, readings) != 0)
		return -1;
	double now = watch(bench, &readings[walks->n]);
	walks->best = walks->best > 0 ? fmin(walks->best, now) : now;
	for (size_t i = 0; i < walks->n; i++)
		pool(walks, &walks->point[i], &readings[i]);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double xr_walks_low(const struct xr_walks *walks, size_t i)
{
	const struct xr_walk_point *p = &walks->point[i];
	if (p->n == 0)
		return 0;
	double *sorted = xr_arena_copy(xr_run_arena(walks->bench->run), p->sample, p->n * sizeof *sorted);
	qsort(sorted, p->n, sizeof *sorted, by_value);
	size_t length = (size_t)fmax(STRETCH_LEAST, ceil(stretch_share * (double)p->n));
	if (length > p->n)
		length = p->n;
	double narrowest = INFINITY, sum = 0;
	for (size_t k = 0; k + length <= p->n; k++)
		narrowest = fmin(narrowest, sorted[k + length - 1] - sorted[k]);
	size_t from = 0;
	while (sorted[from + length - 1] - sorted[from] > nearly * narrowest + narrow * sorted[from])
		from++;
	for (size_t k = from; k < from + length; k++)
		sum += sorted[k];
	return sum / (double)length;
}

bool xr_walks_calm(const struct xr_walks *walks)
{
	return walks->best <= quiet_ratio * walks->bench->quiet;
}

uint64_t xr_walks_region(const struct xr_run *run, uint64_t wanted)
{
	while (wanted > xr_run_info(run)->memory_bytes / 4 && wanted > REGION_LEAST)
		wanted /= 2;
	return wanted;
}

const char *xr_walks_supported(const struct xr_run *run)
{
	return xr_run_info(run)->memory_bytes / 4 >= REGION_LEAST ? NULL : "too little memory to lay code out in";
}
