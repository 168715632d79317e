/* SPDX-License-Identifier: MIT */
/* Parameter: whether huge pages bring anything here; whether pages change size while they are used.
 *
 * Idea (AMP, paper 004 §3.10): pages that the TLB cannot hold cost translation; if the OS backs the same
 * buffer by huge pages, and whoever is below the OS does so too, they cost none. Asking the OS does not tell: in a
 * virtual machine the host may have split them. An OS that promotes hot ranges to huge pages shows as a walk that
 * becomes quicker while it goes on.
 *
 * Algorithm: n pages, three times what the first TLB holds, one line each, against packed lines: in a buffer of small
 * pages, in one for which huge ones were asked, and for a while in one that is left to the OS: there every sample
 * counts, in the order of time, first short ones and then longer ones.
 *
 * When it fails: no TLB to be seen; a promotion that takes longer than the time that is waited for here.
 */
#include "method/translate.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum {
	BUFFER = 40, /* id */
	EARLY = 12,  /* samples at first, for it may not take long */
	LATE = 160,  /* and then, each of LATE_NS */
	LATE_NS = 400000,
	WATCHED = EARLY + LATE,
	TIMES = 3, /* what the first TLB holds */
	HUGE_SAMPLES = 27,
	PAGES_LEAST = 24,
	PAGES_OF_BUFFER = 1024, /* room for a huge page, at any place */
	MEMORY = 32 << 20,
};
static const double gone = 0.4; /* of the cost: less is left of it with huge pages */

struct pages {
	struct xr_run *run;
	struct xr_translate translate;
	size_t n;
};

/* The share of samples that say the same as their median does. */
static double agreement(const double *cycles, size_t n, double limit)
{
	bool below = xr_median(cycles, n) < limit;
	size_t agree = 0;

	for (size_t i = 0; i < n; i++)
		agree += (cycles[i] < limit) == below;
	return ((double)agree + 0.5) / ((double)n + 1);
}

static int find_huge(struct pages *p, double small)
{
	struct xr_description *d = xr_run_description(p->run);
	double cycles[HUGE_SAMPLES], huge;
	struct xr_fact *fact;
	size_t n;

	p->translate.buffer.backing = XR_HUGE;
	p->translate.buffer.id = BUFFER + 2;
	p->translate.effort = (struct xr_effort){.samples = HUGE_SAMPLES, .samples_max = HUGE_SAMPLES};
	if (xr_translate_watch(&p->translate, p->n, HUGE_SAMPLES, cycles, &n) != 0)
		return -1;
	if (n == 0) {
		xr_fact_none(d, "memory.huge_pages", XR_FAILED, "the walk could not be timed");
		return 0;
	}
	huge = xr_median(cycles, n);
	fact = xr_fact_bool(d, "memory.huge_pages", huge < gone * small, fmin(0.97, agreement(cycles, n, gone * small)),
	                    "cost of translation with and without");
	xr_fact_note(fact, "translation costs %.1f cycles with huge pages, %.1f without", fmax(huge, 0), small);
	return 0;
}

/* The cost from the first use of a buffer on. */
static int watch(struct pages *p, double *cycles, size_t *early, size_t *n)
{
	size_t late;

	p->translate.buffer.backing = XR_ANY;
	p->translate.buffer.id = BUFFER + 4;
	p->translate.effort = (struct xr_effort){.samples = EARLY, .samples_max = EARLY, .sample_ns = 20e3};
	if (xr_translate_watch(&p->translate, p->n, EARLY, cycles, early) != 0)
		return -1;
	xr_run_progress(p->run, 0.5, "pages that grow");
	p->translate.effort = (struct xr_effort){.samples = LATE, .samples_max = LATE, .sample_ns = LATE_NS};
	if (xr_translate_watch(&p->translate, p->n, LATE, cycles + *early, &late) != 0)
		return -1;
	*n = *early + late;
	return 0;
}

static int find_resizing(struct pages *p, double small)
{
	struct xr_description *d = xr_run_description(p->run);
	double x[WATCHED], y[WATCHED], limit = gone * small, first, last;
	size_t early, n, tail;
	struct xr_fact *fact;

	if (watch(p, y, &early, &n) != 0)
		return -1;
	if (early < 3 || n < early + 3) {
		xr_fact_none(d, "memory.page_resizing", XR_FAILED, "too few samples");
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		x[i] = (double)i;
	xr_series_put(d, "memory.page_resizing", "sample", "", x, "cost of translation per access", "cycles", y, n);
	tail = (n - early) / 3;
	first = xr_median(y, early);
	last = xr_median(y + n - tail, tail);
	fact = xr_fact_bool(d, "memory.page_resizing", first >= limit && last < limit,
	                    agreement(y, early, limit) * agreement(y + n - tail, tail, limit),
	                    "cost of translation over time");
	if (first < limit)
		xr_fact_note(fact, "pages are large from the start");
	else if (last >= limit)
		xr_fact_note(fact, "not within the %.0f ms looked at", LATE * LATE_NS * 1e-6);
	/* What does not happen while it is looked for may still happen later. */
	fact->confidence = fmin(fact->confidence, first >= limit && last < limit ? 0.97 : 0.8);
	xr_fact_add_series(fact, "memory.page_resizing");
	return 0;
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	double entries = xr_run_number(run, "tlb.d1.entries", 0), small;
	struct pages p = {.run = run};
	uint64_t most = info->memory_bytes / 8 < MEMORY ? info->memory_bytes / 8 : MEMORY, bytes;

	p.n = (size_t)fmax(TIMES * entries, PAGES_LEAST);
	bytes = (p.n > PAGES_OF_BUFFER ? p.n : PAGES_OF_BUFFER) * info->page_bytes;
	if (bytes > most)
		bytes = most;
	p.translate = (struct xr_translate){.run = run,
	                                    .buffer = {BUFFER, bytes, XR_SMALL},
	                                    .page = info->page_bytes,
	                                    .line = 2 * (uint64_t)xr_run_number(run, "cache.l1d.line", 64),
	                                    .orders = 3};
	if (entries == 0 || p.n * info->page_bytes > bytes) {
		static const char *const id[] = {"memory.huge_pages", "memory.page_resizing"};

		for (int i = 0; i < 2; i++)
			xr_fact_none(xr_run_description(run), id[i], XR_UNSUPPORTED,
			             entries == 0 ? "no TLB was seen" : "too little memory");
		return 0;
	}
	if (xr_translate_cost(&p.translate, &p.n, 1, &small, NULL) != 0)
		return -1;
	if (find_huge(&p, small) != 0)
		return -1;
	return find_resizing(&p, small);
}

static const char *const finds[] = {"memory.huge_pages", "memory.page_resizing", NULL};
static const char *const needs[] = {"tlb", NULL};

const struct xr_micro xr_micro_pages = {
	.id = "pages",
	.title = "huge pages, and pages that change size",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.8,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
