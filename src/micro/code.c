/* SPDX-License-Identifier: MIT */
/* Parameter: code.unroll_limit, code.unroll_limit_ops: the largest straight-line body that still runs at full
 * speed, in bytes and in operations. Also code.uop_cache, code.fetch_width: said to be out of reach.
 *
 * Idea (paper 003): loops of independent additions of growing length; a body that no longer fits where code is
 * kept takes longer per statement. The paper wanted the capacity of the instruction cache, to know how far loops
 * may be unrolled. On a core that does not fetch ahead that is what comes out; one that does runs on at full
 * speed far beyond, so the answer is given for what it is, and micro/icache.c compares it with what jumps say.
 *
 * Algorithm (paper 003, figure 6): mean and deviation of the time per statement of eight short bodies; double the
 * length until the time exceeds the mean by twice the deviation; bisect. As in the paper, a length stands for the
 * quickest of five neighbours, since some single lengths are slow for reasons of alignment. New: full speed is
 * lost when a statement takes a seventh longer, where the deviation is less than that; longer bodies that are
 * quicker lower the bar; and bisection ends at a hundredth of the length.
 *
 * When it fails: no executable memory (unsupported). No slowdown in the largest body tried: the limit is said to
 * be at least that. Decoded code and fetch width show only with instructions longer than the decoder takes at
 * full speed, and portable C gives none.
 */
#include "method/walks.h"

#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>

enum {
	REGION = 5,
	SHORTEST = 2048,  /* bytes: the paper's 256 cases of 4 statements, about */
	SHORT_BODIES = 8, /* the paper's S */
	NEIGHBOURS = 5,   /* the paper's I */
	DEVIATIONS = 2,   /* the paper's T */
	DOUBLINGS_MAX = 12,
	BISECTIONS = 6,
	SAMPLES = 5,
	LOOKS = 2,
};
static const uint64_t region_bytes = 4 << 20;
static const double clearly = 1.3, slower = 0.15, far_slower = 1.5, neighbourhood = 0.02, most_of_region = 0.99;
static const double patience = 0.1; /* of what others have: this is not the most important one */

struct body {
	double bytes, cycles; /* per statement */
};

struct straight {
	struct xr_walk_bench bench;
	struct body body[DOUBLINGS_MAX + BISECTIONS + SHORT_BODIES + 4];
	size_t n;
	double threshold; /* cycles per statement; 0: not known yet */
	double statement; /* bytes */
	const char *trouble;
	bool calm;  /* nobody disturbed */
	bool clear; /* asked again, the limit is the same, and the step is no small one */
	bool unsupported;
};

/* Looks at bodies of `n` sizes. Whatever disturbs makes bodies slow, so those that were not seen undisturbed are looked at
 * again. */
static int look_at(struct straight *s, const double *bytes, size_t n, double *cycles)
{
	struct xr_walks walks;
	xr_walks_init(&walks, &s->bench);
	for (size_t i = 0; i < n; i++)
		xr_walks_add_straight(&walks, (uint64_t)bytes[i]);
	for (int look = 0; look < LOOKS && !xr_walks_calm(&walks); look++) {
		if (xr_walks_look(&walks, SAMPLES, 1) != 0)
			return -1;
		s->trouble = walks.trouble;
		s->unsupported = walks.unsupported;
		if (s->trouble)
			return 0;
	}
	s->calm &= xr_walks_calm(&walks);
	s->statement = walks.point[0].code_bytes;
	for (size_t i = 0; i < n; i++)
		cycles[i] = xr_walks_low(&walks, i);
	return 0;
}

/* Times bodies of these sizes; each stands for the quickest of its neighbours. These only matter where it is
 * slow, but not far slower than alignment makes it. */
static int time_bodies(struct straight *s, const double *bytes, size_t n, double *cycles)
{
	double near[NEIGHBOURS - 1], quick[NEIGHBOURS - 1];
	if (look_at(s, bytes, n, cycles) != 0)
		return -1;
	for (size_t i = 0; i < n && !s->trouble; i++) {
		if (s->threshold > 0 && cycles[i] >= s->threshold && cycles[i] < far_slower * s->threshold) {
			for (int k = 1; k < NEIGHBOURS; k++)
				near[k - 1] = bytes[i] * (1 - neighbourhood * k / NEIGHBOURS);
			if (look_at(s, near, NEIGHBOURS - 1, quick) != 0)
				return -1;
			cycles[i] = fmin(cycles[i], xr_min(quick, NEIGHBOURS - 1));
		}
		s->body[s->n++] = (struct body){bytes[i], cycles[i]};
	}
	return 0;
}

static int find_threshold(struct straight *s)
{
	double bytes[SHORT_BODIES], cycles[SHORT_BODIES], squares = 0;
	for (int i = 0; i < SHORT_BODIES; i++)
		bytes[i] = SHORTEST * (1 + i / (double)SHORT_BODIES);
	if (time_bodies(s, bytes, SHORT_BODIES, cycles) != 0)
		return -1;
	if (s->trouble)
		return 0;
	double mean = xr_mean(cycles, SHORT_BODIES);
	for (int i = 0; i < SHORT_BODIES; i++)
		squares += (cycles[i] - mean) * (cycles[i] - mean);
	s->threshold = mean + fmax(DEVIATIONS * sqrt(squares / (SHORT_BODIES - 1)), slower * mean);
	return 0;
}

/* Doubles; *fits and *slow enclose the limit. *slow = 0: all run at full speed. What is too long once stays so:
 * two in a row have to be slow. */
static int enclose(struct straight *s, double *fits, double *slow)
{
	double doubled[DOUBLINGS_MAX], cycles;
	size_t n = 0;
	*fits = SHORTEST;
	*slow = 0;
	for (double bytes = 2 * SHORTEST; bytes <= most_of_region * (double)s->bench.bytes && n < DOUBLINGS_MAX;
	     bytes *= 2) {
		if (time_bodies(s, &bytes, 1, &cycles) != 0)
			return -1;
		if (s->trouble)
			return 0;
		doubled[n++] = cycles;
		s->threshold = fmin(s->threshold, (1 + slower) * xr_median(doubled, n));
		if (cycles >= s->threshold && *slow > 0)
			return 0;
		*slow = cycles >= s->threshold ? bytes : 0;
		*fits = cycles >= s->threshold ? *fits : bytes;
	}
	return 0;
}

static int bisect(struct straight *s, double *fits, double *slow)
{
	for (int i = 0; i<BISECTIONS && * slow> 0; i++) {
		double middle = sqrt(*fits * *slow), cycles;
		if (time_bodies(s, &middle, 1, &cycles) != 0)
			return -1;
		if (s->trouble)
			return 0;
		*(cycles < s->threshold ? fits : slow) = middle;
	}
	return 0;
}

/* Once more on both sides of the limit: shorter bodies run at full speed, longer ones clearly do not. Small steps
 * have other reasons, as when decoded code no longer fits its store. */
static int confirm(struct straight *s, double fits, double slow)
{
	const double most = most_of_region * (double)s->bench.bytes;
	const double bytes[] = {fits / 2, 0.97 * fits, fmin(1.5 * slow, most), fmin(2.5 * slow, most)};
	double cycles[4] = {0};
	if (time_bodies(s, bytes, slow > 0 ? 4 : 2, cycles) != 0)
		return -1;
	s->clear = !s->trouble && fmax(cycles[0], cycles[1]) < s->threshold &&
	           (slow <= 0 || fmin(cycles[2], cycles[3]) > clearly * fmax(cycles[0], cycles[1]));
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	double x = ((const struct body *)a)->bytes, y = ((const struct body *)b)->bytes;
	return (x > y) - (x < y);
}

static const char *const finds[] = {
	"code.unroll_limit", "code.unroll_limit_ops", "code.uop_cache", "code.fetch_width", NULL,
};
static const char method[] = "straight-line additions (paper 003)";

static void put(struct xr_run *run, struct straight *s, double fits, double slow)
{
	struct xr_description *d = xr_run_description(run);
	double x[sizeof s->body / sizeof *s->body], y[sizeof s->body / sizeof *s->body];
	qsort(s->body, s->n, sizeof *s->body, by_bytes);
	for (size_t i = 0; i < s->n; i++) {
		x[i] = s->body[i].bytes;
		y[i] = s->body[i].cycles;
	}
	xr_series_put(d, "code.straight", "bytes", "bytes", x, "time per statement", "cycles", y, s->n);
	double sure = s->clear && s->calm ? 0.9 : 0.7;
	struct xr_fact *bytes = xr_fact_count(d, "code.unroll_limit", llround(fits), "bytes", sure, method);
	struct xr_fact *ops = xr_fact_count(d, "code.unroll_limit_ops", llround(fits / s->statement), "", sure, method);
	xr_fact_add_series(bytes, "code.straight");
	if (slow <= 0) {
		xr_fact_note(bytes, "at least: no body of up to %.0f KiB is slower", fits / 1024);
		xr_fact_note(ops, "at least: no longer body is slower");
	}
	for (const char *const *id = finds + 2; *id; id++)
		xr_fact_none(d, *id, XR_UNSUPPORTED, "portable C has no instructions long enough to show it");
}

static int run(struct xr_run *run)
{
	struct straight *s = xr_arena_alloc(xr_run_arena(run), sizeof *s);
	double fits = 0, slow = 0;

	s->calm = true;
	if (xr_walk_bench_init(&s->bench, run, REGION, xr_walks_region(run, region_bytes)) != 0)
		return -1;
	s->bench.patience_ns *= patience;
	if (find_threshold(s) != 0)
		return -1;
	if (!s->trouble && (enclose(s, &fits, &slow) != 0 || bisect(s, &fits, &slow) != 0))
		return -1;
	if (!s->trouble && confirm(s, fits, slow) != 0)
		return -1;
	if (s->trouble) {
		for (const char *const *id = finds; *id; id++)
			xr_fact_none(xr_run_description(run), *id, s->unsupported ? XR_UNSUPPORTED : XR_FAILED, "%s",
			             s->trouble);
		return 0;
	}
	put(run, s, fits, slow);
	return 0;
}

const struct xr_micro xr_micro_code = {
	.id = "code",
	.title = "how far loops may be unrolled",
	.finds = finds,
	.cost_s = 0.3,
	.kinds = 1u << XR_WALK,
	.supported = xr_walks_supported,
	.run = run,
};
