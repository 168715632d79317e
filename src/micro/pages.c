/* Parameter: whether huge pages bring anything here; whether pages change size while they are used.
 *
 * Idea (AMP, paper 004 §3.10): pages that the TLB cannot hold cost translation; if the OS backs the same
 * buffer by huge pages, and whoever is below the OS does so too, they cost none. Asking the OS does not tell: in a
 * virtual machine the host may have split them. An OS that promotes hot ranges to huge pages shows as a walk that
 * becomes quicker while it goes on.
 *
 * Algorithm: n pages, four times what the first TLB holds, one line each, against packed lines: in a buffer of small
 * pages, in one for which huge ones were asked, and again and again in one that is left to the OS.
 *
 * When it fails: no TLB to be seen; a promotion that takes longer than the half second that is waited for here.
 */
#include "method/translate.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { BUFFER = 40, ROUNDS = 40, ROUNDS_SHORT = 8, PAGES_LEAST = 512, MEMORY = 32 << 20 };
static const double gone = 0.4; /* of the cost: less is left of it with huge pages */

struct pages {
	struct xr_run *run;
	struct xr_translate translate;
	size_t n;
};

static int cost_with(struct pages *p, enum xr_backing backing, unsigned id, double *cycles)
{
	p->translate.buffer.backing = backing;
	p->translate.buffer.id = id;
	return xr_translate_cost(&p->translate, &p->n, 1, cycles, NULL);
}

static int find_huge(struct pages *p, double small)
{
	struct xr_description *d = xr_run_description(p->run);
	double huge;
	struct xr_fact *fact;

	if (cost_with(p, XR_HUGE, BUFFER + 2, &huge) != 0)
		return -1;
	fact = xr_fact_bool(d, "memory.huge_pages", huge < gone * small,
	                    huge < gone * small || huge > 0.8 * small ? 0.95 : 0.7,
	                    "cost of translation with and without");
	xr_fact_note(fact, "translation costs %.1f cycles with huge pages, %.1f without", fmax(huge, 0), small);
	return 0;
}

/* The cost again and again, from the first use of the buffer on. */
static int find_resizing(struct pages *p, double small)
{
	struct xr_description *d = xr_run_description(p->run);
	double x[ROUNDS], y[ROUNDS], early, late;

	p->translate.orders = 1;
	for (size_t i = 0; i < ROUNDS; i++) {
		x[i] = (double)i;
		/* Short looks first, for it may not take long. */
		p->translate.effort = i < ROUNDS_SHORT
		                              ? (struct xr_effort){.samples = 3, .samples_max = 3, .sample_ns = 20e3}
		                              : (struct xr_effort){.samples = 9, .samples_max = 9, .sample_ns = 400e3};
		if (cost_with(p, XR_ANY, BUFFER + 4, &y[i]) != 0)
			return -1;
		xr_run_progress(p->run, 0.3 + 0.7 * (double)i / ROUNDS, "pages that grow");
	}
	xr_series_put(d, "memory.page_resizing", "look", "", x, "cost of translation per access", "cycles", y, ROUNDS);
	early = xr_median(y, 3);
	late = xr_median(y + ROUNDS - 9, 9);
	if (early < gone * small)
		xr_fact_note(xr_fact_bool(d, "memory.page_resizing", false, 0.8, "cost of translation over time"),
		             "pages are large from the start");
	else if (late < gone * fmin(early, small))
		xr_fact_bool(d, "memory.page_resizing", true, 0.95, "cost of translation over time");
	else
		xr_fact_note(xr_fact_bool(d, "memory.page_resizing", false, 0.8, "cost of translation over time"),
		             "not within the half second looked at");
	xr_fact_add_series((struct xr_fact *)(uintptr_t)xr_description_fact(d, "memory.page_resizing"),
	                   "memory.page_resizing");
	return 0;
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	double entries = xr_run_number(run, "tlb.d1.entries", 0), small;
	struct pages p = {.run = run};
	uint64_t bytes = info->memory_bytes / 8 < MEMORY ? info->memory_bytes / 8 : MEMORY;

	p.translate = (struct xr_translate){.run = run,
	                                    .buffer = {BUFFER, bytes, XR_SMALL},
	                                    .page = info->page_bytes,
	                                    .line = 2 * (uint64_t)xr_run_number(run, "cache.l1d.line", 64),
	                                    .orders = 3};
	p.n = (size_t)fmax(4 * entries, PAGES_LEAST);
	if (entries == 0 || p.n * info->page_bytes > bytes) {
		static const char *const id[] = {"memory.huge_pages", "memory.page_resizing"};

		for (int i = 0; i < 2; i++)
			xr_fact_none(xr_run_description(run), id[i], XR_UNSUPPORTED,
			             entries == 0 ? "no TLB was seen" : "too little memory");
		return 0;
	}
	if (cost_with(&p, XR_SMALL, BUFFER, &small) != 0)
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
