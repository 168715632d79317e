#include "micro/lib/sets.h"

#include <math.h>

enum { REGION = 1, SPACING = 64, THIN = 4 };

/* Sum of the digits of x in base `base`: numbers that differ by a multiple of any one power of two still get different
 * remainders, so lines shifted by it conflict in no way size. */
static uint64_t digits(uint64_t x, uint64_t base)
{
	uint64_t sum = 0;
	for (; x; x /= base)
		sum += x % base;
	return sum;
}

static void place_lines(const struct xr_sets *probe, uint64_t stride, unsigned n, unsigned sets, uint64_t *address,
                        uint64_t *twin)
{
	const uint64_t shift = 2 * SPACING; /* lines may be as long */
	const uint64_t slots = (stride < probe->page ? stride : probe->page) / shift;
	const uint64_t per_page = probe->page / stride, kept = per_page / THIN;
	size_t at = 0;
	for (unsigned k = 0; k < sets; k++)
		for (unsigned i = 0; i < n; i++, at++) {
			address[at] = i * stride + k * probe->unit;
			uint64_t page = per_page > 1 ? i / per_page : i;
			if (slots >= 8)
				twin[at] = i * stride + (digits(page, slots) + k * (slots / sets)) % slots * shift;
			else {
				twin[at] = page * probe->page + (digits(page, THIN) % THIN * kept + i % kept) * stride + k * probe->unit;
			}
		}
}

static int run(struct xr_run *run)
{
	struct xr_sets probe = {
		.run = run, .region = REGION, .bytes = 4 << 20, .unit = SPACING, .page = 4096, .first = 32, .most = 1 << 20, .blocks = 128,
		.place = place_lines, .attempts = 8, .series = "cache.l1i",
	};
	struct xr_sets_found found;
	if (xr_sets_find(&probe, &found) != 0)
		return -1;
	xr_fact_count(xr_run_description(run), "cache.l1i.ways", found.ways, "", found.confidence, "x");
	xr_fact_number(xr_run_description(run), "cache.l1i.rough", found.rough, "bytes", found.confidence, "x");
	xr_fact_number(xr_run_description(run), "cache.l1i.penalty", found.penalty, "cycles", found.confidence, "x");
	xr_fact_count(xr_run_description(run), "cache.l1i.capacity", (long long)(found.ways * found.way), "bytes", found.confidence, "x");
	return 0;
}

static const char *const finds[] = {"cache.l1i.capacity", NULL};

const struct xr_micro xr_micro_icache = {
	.id = "icache", .title = "instruction cache", .finds = finds, .kinds = 1u << XR_WALK, .cost_s = 1, .run = run,
};
