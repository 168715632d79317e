#include "method/sets.h"

#include "method/setcurve.h"

#include <math.h>
#include <string.h>

enum {
	PER_OCTAVE = 4, /* rows from one power of two to the next */
	AHEAD = 3,      /* rows: 2^(3/4) = 1.7 times as long */
	AT_ONCE = 2,    /* rows */
	BATCHES_MAX = 40,
	ROWS_MAX = BATCHES_MAX * AT_ONCE,
	WAYS_MAX = 4, /* searches for the size of a way that are remembered */
	STRIDES_MAX = 24,
	LAST_LOOKS = 4, /* for the last word on the ways */
	ATTEMPTS = 6,
	FALSE_STEPS = 3,
	HASTY = 2,  /* attempts when there is no peace, and no patience left to wait for it */
	ENOUGH = 4, /* attempts with the same answer, in peace or not */
};

/* Shares of what a row misses that is 1.7 times as long as what fits. A row just too long misses on a fifth of that or
 * more, a set that holds 1.5 times its ways on more than half, one that is not full on nothing. */
static const double overflown = 0.2;

/* ---- question 1: how much fits -------------------------------------------------------------------------------- */

struct rows {
	struct xr_twins batch[BATCHES_MAX];
	size_t batches;
	double bytes[ROWS_MAX], excess[ROWS_MAX], base[ROWS_MAX];
	size_t n;
	size_t skip; /* rows before this one do not count as overflown */
	bool calm;   /* all were looked at while the core was at rest */
};

static bool make_batch(const struct xr_sets *probe, struct rows *rows)
{
	if (rows->batches == BATCHES_MAX)
		return false;
	struct xr_twins *batch = &rows->batch[rows->batches];
	xr_twins_init(probe, batch);
	for (size_t i = 0; i < AT_ONCE; i++) {
		double exponent = (double)(rows->batches * AT_ONCE + i) / PER_OCTAVE;
		unsigned units = (unsigned)lround(probe->first * pow(2, exponent));
		if (units * probe->unit <= probe->most && units * probe->unit <= probe->bench->bytes)
			xr_twins_add(probe, batch, probe->unit, units, 1);
	}
	rows->batches += batch->n > 0;
	return batch->n > 0;
}

/* The first row that misses, by one of two signs. `bold`: it misses on a good part of what a row 1.7 times as long
 * misses; that overlooks small effects before a large one. Else: it takes noticeably longer, and longer rows still
 * longer; that does not overlook a cache whose next level is hardly larger. -1: none. */
static long first_overflow(const struct rows *rows, bool bold)
{
	double noise = 0;
	for (size_t i = 0; i + AHEAD < rows->n; i++) {
		const double *e = &rows->excess[i];
		double least = fmax(xr_least_step * rows->base[i], 6 * noise);
		if (i < rows->skip)
			continue;
		if (bold ? e[AHEAD] > least && e[0] > overflown * e[AHEAD] : e[0] > least && e[1] > e[0] && e[2] > e[0])
			return (long)i;
		noise = (noise * (double)i + fabs(e[0])) / (double)(i + 1);
	}
	return -1;
}

static void gather_rows(const struct xr_sets *probe, struct rows *rows, size_t batches)
{
	rows->n = 0;
	for (size_t k = 0; k < batches; k++) {
		const struct xr_twins *batch = &rows->batch[k];
		for (size_t i = 0; i < batch->n; i++, rows->n++) {
			rows->bytes[rows->n] = batch->count[i] * (double)probe->unit;
			rows->excess[rows->n] = batch->excess[i];
			rows->base[rows->n] = xr_walks_low(&batch->walks, 2 * i + 1);
		}
	}
}

/* Who disturbs makes rows miss, and hardly ever hit: peace matters most from just below the overflow on. */
static int settle_rows(const struct xr_sets *probe, struct rows *rows, size_t batches)
{
	long early = first_overflow(rows, false), bold = first_overflow(rows, true);
	long from = early >= 0 && early < bold ? early : bold;
	rows->calm = true;
	for (size_t k = from > 0 ? (size_t)(from - 1) / AT_ONCE : 0; k < batches; k++) {
		if (xr_twins_look(&rows->batch[k], XR_PATIENTLY) != 0)
			return -1;
		rows->calm &= xr_walks_calm(&rows->batch[k].walks);
	}
	gather_rows(probe, rows, batches);
	return 0;
}

static bool all_calm(const struct rows *rows)
{
	for (size_t k = 0; k < rows->batches; k++)
		if (!xr_walks_calm(&rows->batch[k].walks))
			return false;
	return true;
}

/* Longer and longer rows, a few at a time so that samples need not be longer than their rows. */
static int read_rows(const struct xr_sets *probe, struct rows *rows, bool again, const struct xr_walks **trouble)
{
	rows->n = 0;
	for (size_t k = 0; first_overflow(rows, true) < 0; k++) {
		if (k == rows->batches && !make_batch(probe, rows)) {
			rows->calm = all_calm(rows);
			return 0;
		}
		if (xr_twins_look(&rows->batch[k], again ? XR_AGAIN : XR_IN_PASSING) != 0)
			return -1;
		if (rows->batch[k].walks.trouble) {
			*trouble = &rows->batch[k].walks;
			return 0;
		}
		gather_rows(probe, rows, k + 1);
		if (first_overflow(rows, true) >= 0 && settle_rows(probe, rows, k + 1) != 0)
			return -1;
	}
	return 0;
}

/* ---- question 2: how large is a way --------------------------------------------------------------------------- */

/* Walks over three quarters of what fits, at strides 2 S. */
struct strides {
	struct xr_twins *pair[STRIDES_MAX]; /* one pair each; NULL: not asked */
	uint64_t stride[STRIDES_MAX];       /* S */
	size_t n;
	double rough; /* bytes that fit */
	bool calm;    /* those asked the last time were seen in peace */
};

static unsigned units_at(double rough, uint64_t stride)
{
	unsigned count = (unsigned)lround(0.75 * rough / (double)stride);
	return count < 2 ? 2 : count; /* direct mapped: one fits, two do not */
}

static void make_strides(const struct xr_sets *probe, struct strides *s, double rough)
{
	*s = (struct strides){.rough = rough};
	for (uint64_t stride = probe->unit; s->n < STRIDES_MAX && (double)stride <= 1.3 * rough &&
	                                    units_at(rough, stride) * 2 * stride <= probe->bench->bytes;
	     stride *= 2)
		s->stride[s->n++] = stride;
}

/* Those of an earlier attempt, whose samples then count too. */
static struct strides *find_strides(const struct xr_sets *probe, struct strides *all, double rough)
{
	const double alike = 0.1;
	size_t at = 0;
	while (at < WAYS_MAX && all[at].rough > 0 && fabs(all[at].rough / rough - 1) > alike)
		at++;
	if (at == WAYS_MAX)
		all[--at].rough = 0;
	if (!(all[at].rough > 0))
		make_strides(probe, &all[at], rough);
	return &all[at];
}

/* Do they fit at stride 2 S? */
static int fits_at(const struct xr_sets *probe, struct strides *s, size_t i, double much, bool again, bool *fits)
{
	const uint64_t stride = 2 * s->stride[i];
	if (!s->pair[i]) {
		const unsigned count = units_at(s->rough, s->stride[i]);
		s->pair[i] = xr_arena_alloc(xr_run_arena(probe->bench->run), sizeof *s->pair[i]);
		xr_twins_init(probe, s->pair[i]);
		xr_twins_add(probe, s->pair[i], stride, count, xr_sets_at_once(probe, stride, count, s->rough));
	}
	if (xr_twins_look(s->pair[i], again ? XR_AGAIN : XR_PATIENTLY) != 0)
		return -1;
	s->calm &= xr_walks_calm(&s->pair[i]->walks);
	*fits = s->pair[i]->excess[0] < much;
	return 0;
}

/* The smallest power of two S such that three quarters of what fits at stride S also fit at stride 2 S; `much`: an
 * excess that means misses. */
static int find_way(const struct xr_sets *probe, struct strides *s, double much, bool again, uint64_t *way)
{
	size_t lo = 0, hi = s->n;
	*way = 0;
	s->calm = true;
	while (lo < hi) {
		const size_t middle = (lo + hi) / 2;
		bool fits;
		if (fits_at(probe, s, middle, much, again, &fits) != 0)
			return -1;
		*(fits ? &hi : &lo) = fits ? middle : middle + 1;
	}
	if (s->n) /* if two never fit at any stride: one way, as large as everything */
		*way = s->stride[lo < s->n ? lo : s->n - 1];
	/* Who disturbs makes visits miss, and hardly ever hit: what fits at a shorter stride has been misjudged above. */
	for (size_t i = 0; !s->calm && i < lo; i++) {
		bool fits;
		if (fits_at(probe, s, i, much, again, &fits) != 0)
			return -1;
		if (fits && s->stride[i] < *way)
			*way = s->stride[i];
	}
	return 0;
}

/* ---- all three ------------------------------------------------------------------------------------------------- */

static double confidence_of(const struct xr_sets_found *found, const struct xr_overflow_fit fit[2], bool calm)
{
	double ratio = found->rough / ((double)fit[0].ways * (double)found->way);
	if (!calm && fit[0].misfit < xr_good_misfit && ratio > 0.85 && ratio < 1.3)
		return fit[0].ways == fit[1].ways ? 0.6 : 0.55;
	if (fit[0].ways != fit[1].ways || ratio < 0.85 || ratio > 1.3)
		return 0.3;
	if (fit[0].misfit < xr_good_misfit && calm)
		return fit[1].misfit < xr_good_misfit ? 0.99
		                                      : 0.92; /* at two ways the next level's sets may overflow, too */
	return fmax(fit[0].misfit, fit[1].misfit) < 2 * xr_good_misfit ? 0.6 : 0.4;
}

/* Two curves know better than one, unless one of them shows something else. */
static double penalty_of(const struct xr_overflow_fit fit[2])
{
	const double alike = 0.1;
	bool both = fit[0].ways == fit[1].ways && fmax(fit[0].misfit, fit[1].misfit) < xr_good_misfit &&
	            fabs(fit[1].penalty / fit[0].penalty - 1) < alike;
	return both ? (fit[0].penalty + fit[1].penalty) / 2 : fit[0].penalty;
}

/* What is kept from one attempt to the next. */
struct hunt {
	struct rows rows;
	struct xr_twins pages, confirming; /* of the short cut */
	double confirmed;                  /* bytes */
	struct strides strides[WAYS_MAX];
	struct xr_set_curves curves;
	bool again; /* the last attempt failed in peace: look at everything once more */
	bool unfit; /* its curves were none of a set that overflows: look at them once more */
	bool calm;  /* all that the present attempt rests on was looked at while the core was at rest */
};

/* Questions 2 and 3, given found->rough, unless a way is larger than that; `much`: an excess that means misses;
 * hunt->calm: what that rests on was seen in peace. */
static int find_rest(const struct xr_sets *probe, struct hunt *hunt, double much, uint64_t most_way,
                     struct xr_sets_found *found)
{
	struct xr_overflow_fit fit[2];
	found->outcome = XR_SETS_ROUGH;
	found->confidence = 0;
	struct strides *strides = find_strides(probe, hunt->strides, found->rough);
	if (find_way(probe, strides, much, hunt->again, &found->way) != 0)
		return -1;
	if (!found->way || found->way > most_way)
		return 0;
	bool calm = hunt->calm && strides->calm;
	if (xr_set_ways(probe, &hunt->curves, found->rough, found->way, hunt->again || hunt->unfit, fit, &calm) != 0)
		return -1;
	hunt->unfit = fit[0].ways != fit[1].ways || fmax(fit[0].misfit, fit[1].misfit) > xr_good_misfit;
	hunt->calm = calm;
	found->ways = fit[0].ways;
	found->penalty = penalty_of(fit);
	found->confidence = confidence_of(found, fit, hunt->calm);
	if (found->confidence <= 0.5)
		return 0;
	found->outcome = XR_SETS_FOUND;
	return xr_set_odd_factor(probe, found);
}

/* … given the first row that misses. */
static int find_from(const struct xr_sets *probe, struct hunt *hunt, long at, struct xr_sets_found *found)
{
	const struct rows *rows = &hunt->rows;
	found->rough = sqrt((at > 0 ? rows->bytes[at - 1] : rows->bytes[0] / 1.2) * rows->bytes[at]);
	found->base = rows->base[at];
	hunt->calm = rows->calm;
	double much = fmin(overflown * rows->excess[at + AHEAD], 0.8 * rows->excess[at]);
	return find_rest(probe, hunt, fmin(much, 1.5 * xr_sure_step * rows->base[at]), UINT64_MAX, found);
}

/* ---- a short cut ------------------------------------------------------------------------------------------------ */

/* Most caches have ways of a page or of some: then units a page apart fill one after the other way of few sets, and tell
 * how much fits with far shorter walks than rows. Where that leads to no clear answer, rows do; also where ways are larger
 * than a page, which may be chosen by physical addresses: there a few pages are a matter of luck. */
static void add_pages(const struct xr_sets *probe, struct xr_twins *pages, size_t more)
{
	static const unsigned count[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 20, 24};
	for (size_t end = pages->n + more; pages->n < end && pages->n < sizeof count / sizeof *count;) {
		const unsigned n = count[pages->n];
		if (n * probe->shortcut > probe->bench->bytes)
			return;
		xr_twins_add(probe, pages, probe->shortcut, n, n < 8 ? 8 : 64 / n);
	}
}

/* The first number of pages that misses, and the next ones more so; pages->n - 2: none. */
static size_t first_miss(const struct xr_twins *pages)
{
	double noise = 0;
	size_t at = 0;
	for (; at + 2 < pages->n; at++) {
		const double *e = &pages->excess[at], base = xr_walks_low(&pages->walks, 2 * at + 1);
		if (e[0] > fmax(xr_least_step * base, 6 * noise) && e[1] > e[0] && e[2] > e[0])
			break;
		noise = (noise * (double)at + fabs(e[0])) / (double)(at + 1);
	}
	return at;
}

/* As many as are of use: twice what fits. */
static int look_at_pages(const struct xr_sets *probe, struct xr_twins *pages, bool again)
{
	enum { FIRST = 10, ALL = 19 };
	if (pages->n == 0) {
		xr_twins_init(probe, pages);
		add_pages(probe, pages, FIRST);
	}
	if (xr_twins_look(pages, again ? XR_AGAIN : XR_PATIENTLY) != 0)
		return -1;
	const bool enough = xr_walks_calm(&pages->walks) && 2 * first_miss(pages) <= FIRST;
	if (pages->n < FIRST || pages->walks.trouble || enough)
		return 0;
	add_pages(probe, pages, ALL - pages->n);
	return xr_twins_look(pages, XR_PATIENTLY);
}

static int take_shortcut(const struct xr_sets *probe, struct hunt *hunt, struct xr_sets_found *found)
{
	struct xr_twins *p = &hunt->pages;
	double most = 0, x[XR_TWINS_MAX];

	memset(found, 0, sizeof *found);
	found->outcome = XR_SETS_NO_STEP;
	if (look_at_pages(probe, p, hunt->again) != 0)
		return -1;
	const size_t at = p->walks.trouble ? 0 : first_miss(p);
	if (at == 0 || at + 2 >= p->n)
		return 0;
	for (size_t i = 0; i < p->n; i++) {
		x[i] = (double)(p->count[i] * probe->shortcut);
		most = fmax(most, p->excess[i]);
	}
	hunt->curves.known = p;
	hunt->curves.known_stride = probe->shortcut;
	xr_series_put(xr_run_description(probe->bench->run), probe->series, "bytes", "bytes", x, "excess", "cycles",
	              p->excess, p->n);
	found->rough = sqrt(x[at - 1] * x[at]);
	found->base = xr_walks_low(&p->walks, 2 * at + 1);
	hunt->calm = xr_walks_calm(&p->walks);
	double much = fmin(overflown * most, 0.8 * p->excess[at]);
	return find_rest(probe, hunt, fmin(much, 1.5 * xr_sure_step * found->base), probe->page, found);
}

/* Rows shorter than what the short cut found must fit, longer ones must not. */
static int confirm(const struct xr_sets *probe, struct hunt *hunt, struct xr_sets_found *found)
{
	static const double share[] = {0.25, 0.5, 0.75, 1.35, 1.7};
	enum { ROWS = sizeof share / sizeof *share, FIT = 3 };
	const double bytes = (double)(found->ways * found->way);
	struct xr_twins *p = &hunt->confirming;
	if (p->n == 0 || hunt->confirmed < bytes || hunt->confirmed > bytes) {
		xr_twins_init(probe, p);
		hunt->confirmed = bytes;
		for (size_t i = 0; i < ROWS && 1.7 * bytes <= (double)probe->bench->bytes; i++)
			xr_twins_add(probe, p, probe->unit, (unsigned)(share[i] * bytes / (double)probe->unit), 1);
	}
	if (p->n < ROWS || xr_twins_look(p, hunt->again ? XR_AGAIN : XR_PATIENTLY) != 0) {
		found->confidence = 0;
		return p->n < ROWS ? 0 : -1;
	}
	bool right = true;
	for (size_t i = 0; i < ROWS;
	     i++) { /* what fits misses nothing, not even what a nearer and cheaper level lacks */
		const double base = xr_walks_low(&p->walks, 2 * i + 1);
		right &= i < FIT ? p->excess[i] < fmin(0.15 * found->penalty, xr_sure_step * base)
		                 : p->excess[i] > 0.25 * found->penalty;
	}
	hunt->calm &= xr_walks_calm(&p->walks);
	if (!right)
		found->confidence = 0;
	else if (!hunt->calm)
		found->confidence = fmin(found->confidence, 0.6);
	return 0;
}

/* ---- all attempts ---------------------------------------------------------------------------------------------- */

/* What the rows from rows->skip on lead to; *bold is the first of them that misses, -1: none. */
static int try_rows(const struct xr_sets *probe, struct hunt *hunt, struct xr_sets_found *found, long *bold)
{
	struct rows *rows = &hunt->rows;
	const struct xr_walks *trouble = NULL;

	memset(found, 0, sizeof *found);
	*bold = -1;
	if (read_rows(probe, rows, hunt->again && !rows->skip, &trouble) != 0)
		return -1;
	if (trouble) {
		found->outcome = trouble->unsupported ? XR_SETS_UNSUPPORTED : XR_SETS_FAILED;
		found->reason = trouble->trouble;
		return 0;
	}
	xr_series_put(xr_run_description(probe->bench->run), probe->series, "bytes", "bytes", rows->bytes, "excess",
	              "cycles", rows->excess, rows->n);
	found->outcome = XR_SETS_NO_STEP;
	found->tried = rows->n ? rows->bytes[rows->n - 1] : 0;
	hunt->calm = rows->calm;
	const long early = first_overflow(rows, false);
	*bold = first_overflow(rows, true);
	if (early >= 0 && find_from(probe, hunt, early, found) != 0)
		return -1;
	struct xr_sets_found other = *found;
	if (*bold >= 0 && *bold != early && found->confidence < 0.95 && find_from(probe, hunt, *bold, &other) != 0)
		return -1;
	if (other.confidence >= found->confidence)
		*found = other;
	return 0;
}

/* A small step that leads nowhere was none, perhaps: longer rows are tried, too. */
static int attempt(const struct xr_sets *probe, struct hunt *hunt, struct xr_sets_found *found)
{
	struct rows *rows = &hunt->rows;
	struct xr_sets_found further;
	long bold;

	if (probe->shortcut && take_shortcut(probe, hunt, found) != 0)
		return -1;
	if (probe->shortcut && found->confidence > 0.5 && confirm(probe, hunt, found) != 0)
		return -1;
	if (probe->shortcut && found->confidence > 0.5)
		return 0;
	rows->skip = 0;
	if (try_rows(probe, hunt, found, &bold) != 0)
		return -1;
	for (int i = 0; i < FALSE_STEPS && bold >= 0 && found->confidence < 0.5 &&
	                rows->excess[bold + AHEAD] < xr_sure_step * rows->base[bold];
	     i++) {
		rows->skip = (size_t)bold + 1;
		if (try_rows(probe, hunt, &further, &bold) != 0)
			return -1;
		if (further.confidence > found->confidence)
			*found = further;
	}
	return 0;
}

static bool same(const struct xr_sets_found *a, const struct xr_sets_found *b)
{
	return a->outcome == b->outcome && a->ways == b->ways && a->way == b->way;
}

static int likeness(const struct xr_sets_found *tried, int n, int of)
{
	int alike = 0;
	for (int i = 0; i < n; i++)
		alike += same(&tried[i], &tried[of]);
	return alike;
}

/* Of attempts none of which was in peace: what came out most often, and of that the last one, which has seen most. */
static struct xr_sets_found most_frequent(const struct xr_sets_found *tried, int n)
{
	int best = n - 1;
	for (int i = n - 1; i >= 0; i--)
		if (tried[i].outcome == XR_SETS_FOUND &&
		    (tried[best].outcome != XR_SETS_FOUND || likeness(tried, n, i) > likeness(tried, n, best)))
			best = i;
	return tried[best];
}

/* Until an answer is found in peace. Where there is none, the one that comes out most often is told, but not sure of:
 * whoever uses the core's other thread may have a fixed share of the structure. */
int xr_sets_find(const struct xr_sets *probe, struct xr_sets_found *found)
{
	struct hunt *hunt = xr_arena_alloc(xr_run_arena(probe->bench->run), sizeof *hunt);
	struct xr_sets_found tried[ATTEMPTS];
	int n = 0;

	hunt->curves.memo = xr_overflow_memo(xr_run_arena(probe->bench->run));
	do {
		if (attempt(probe, hunt, found) != 0)
			return -1;
		tried[n++] = *found;
		bool twice = n > 1 && same(found, &tried[n - 2]);
		if (found->outcome == XR_SETS_UNSUPPORTED || found->outcome == XR_SETS_FAILED)
			return 0;
		if (found->outcome == XR_SETS_NO_STEP && (twice || hunt->calm))
			return 0;
		if (found->confidence > 0.95 || (found->confidence > 0.9 && twice))
			return 0;
		hunt->again = hunt->calm;
	} while (n < ATTEMPTS && likeness(tried, n, n - 1) < ENOUGH &&
	         (hunt->calm || n < HASTY || xr_walks_may_wait(probe->bench)));
	*found = most_frequent(tried, n);
	found->confidence = fmin(found->confidence, 0.6);
	return 0;
}

int xr_sets_again(const struct xr_sets *probe, struct xr_sets_found *found)
{
	struct xr_set_curves *curves = xr_arena_alloc(xr_run_arena(probe->bench->run), sizeof *curves);
	struct xr_overflow_fit fit[2];
	curves->memo = xr_overflow_memo(xr_run_arena(probe->bench->run));
	for (int i = 0; i < LAST_LOOKS; i++) {
		bool calm = true;
		if (xr_set_ways(probe, curves, (double)(found->ways * found->way), found->way, true, fit, &calm) != 0)
			return -1;
		if (fit[0].ways == found->ways && fit[0].misfit < xr_good_misfit) {
			found->penalty = fit[0].penalty;
			return 0;
		}
	}
	if (fit[0].ways != found->ways)
		found->confidence = fmin(found->confidence, 0.5);
	return 0;
}
