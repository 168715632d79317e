/* Parameter: cache.l1i.capacity, .ways, .line, .latency, .miss_penalty.
 *
 * Idea: straight-line code does not show the instruction cache of a core that fetches ahead (paper 003's curve is flat to
 * the size of the second level there); a jump that nobody can foresee does, since nothing is fetched ahead of it: it
 * takes the time of a misprediction plus that of fetching its target. So the questions of paper 002 §4.3-4.4 (ways,
 * capacity, line) are put with blocks of code for lines and with jumps for loads, over fresh random permutations, and
 * each walk is compared with a twin of as many jumps in the same pages but in different sets.
 *
 * Algorithm: capacity and ways as in method/sets.h. Line: A blocks at strides of one way and A more, delta further on:
 * as long as delta is less than a line they are 2 A lines of one set and miss. Penalty of a miss: from the curve of the
 * ways. Latency of a hit: what a jump takes less the misprediction (micro/branch.c); only where paper 003's straight-line
 * code (micro/code.c) sees the same capacity, since a core that fetches ahead has no such latency.
 *
 * When it fails: no executable memory (unsupported); everything fits (no cache, or a very large one: unsupported); the
 * core's other thread busy all the time (unreliable). A way larger than a page in a physically indexed cache makes
 * conflicts a matter of luck: the curves are then none of a set that overflows, and only the capacity is given. Blocks
 * are 16 bytes or more apart, so a shorter line cannot be told from that. Paper 003's answer is reported, too, where it
 * differs; where jumps show nothing it stands alone.
 */
#include "method/sets.h"

#include "stat/stat.h"

#include <math.h>

enum {
	REGION = 1,    /* also code.c's and itlb.c's, each with a size of its own */
	PAGE = 4096,   /* for laying out */
	SPACING = 64,  /* of blocks in a row: lines may be shorter or longer */
	LONGEST = 128, /* line thought of when a twin is laid out */
	THIN = 4,      /* a twin of a row lies in one line of so many */
	LOOKS = 6,
	SAMPLES = 8,
	DELTAS_MAX = 8,
	LONGEST_KNOWN = 256, /* line, of any machine heard of */
};
static const uint64_t region_bytes = 4 << 20, most_bytes = 1 << 20;
static const double whole =
	0.25; /* cycles: latencies are whole numbers of them, and this is a difference of two readings */

/* ---- where blocks lie ------------------------------------------------------------------------------------------ */

/* Sum of the digits of x in some base: numbers that differ by a power of two get different sums, so lines shifted by it
 * conflict in ways of no size. */
static uint64_t digits(uint64_t x, uint64_t base) /* a power of two */
{
	uint64_t sum = 0;
	for (; x && base > 1; x /= base)
		sum += x % base;
	return sum;
}

/* A twin has as many blocks, not only as many visits: stores of decoded code and of branch targets are then as full. */
static void place_lines(const struct xr_sets *probe, uint64_t stride, unsigned n, unsigned sets, uint64_t *address,
                        uint64_t *twin)
{
	const uint64_t slots = (stride < probe->page ? stride : probe->page) / LONGEST;
	const uint64_t per_page = probe->page / stride, kept = per_page / THIN;
	const uint64_t grid = (uint64_t)probe->bench->block, within = probe->unit > grid ? probe->unit / grid : 1;
	uint64_t groups = 1;
	size_t at = 0;
	while (groups * 2 * sets <= slots)
		groups *= 2;
	for (unsigned k = 0; k < sets; k++)
		for (unsigned i = 0; i < n; i++, at++) {
			uint64_t page = per_page > 1 ? i / per_page : i;
			address[at] = i * stride + k * probe->unit;
			if (slots >= 8) /* each page's lines shifted to sets of their own */
				twin[at] = i * stride + (digits(page, groups) % groups * sets + k) * LONGEST;
			else /* as many blocks in another quarter of each page */
				twin[at] = page * probe->page + (digits(page, THIN) % THIN * kept + i % kept) * stride +
				           k * probe->unit + i / kept % within * grid;
		}
}

/* ---- line ------------------------------------------------------------------------------------------------------ */

/* In each of some sets A lines, and A more `delta` bytes further on. */
static void add_delta(struct xr_walks *walks, const struct xr_sets_found *found, uint64_t delta, uint64_t widest)
{
	uint64_t sets = found->way / (2 * widest), n = 0;
	sets = sets < 1 ? 1 : sets > 8 ? 8 : sets;
	uint64_t *address = xr_arena_array(xr_run_arena(walks->bench->run), uint64_t, 2 * sets * found->ways);
	for (uint64_t k = 0; k < sets; k++)
		for (uint64_t i = 0; i < 2 * found->ways; i++)
			address[n++] = i * found->way + k * 2 * delta + (i < found->ways ? 0 : delta);
	xr_walks_add(walks, XR_JUMPS, address, n);
}

/* As many visits in the same pages, in sets far apart. */
static void add_apart(struct xr_walks *walks, const struct xr_sets_found *found, uint64_t widest)
{
	const uint64_t turns = (found->way < PAGE ? found->way : PAGE) / widest, n = 2 * found->ways;
	uint64_t *address = xr_arena_array(xr_run_arena(walks->bench->run), uint64_t, n);
	for (uint64_t i = 0; i < n; i++)
		address[i] = i * found->way + i % turns * widest;
	xr_walks_add(walks, XR_JUMPS, address, n);
}

/* What a hit takes in these walks. All touch the same pages, so it is what the quickest takes, unless all are alike. The
 * last one is there for that: its blocks are further apart than any line is long, and have room. */
static double hit_of(const struct xr_walks *walks, const struct xr_sets_found *found)
{
	double bottom = INFINITY, top = 0;
	for (size_t i = 0; i < walks->n; i++) {
		double low = xr_walks_low(walks, i);
		bottom = low > 0 ? fmin(bottom, low) : bottom;
		top = fmax(top, low);
	}
	return top - bottom > 0.4 * found->penalty || found->way >= 4 * LONGEST_KNOWN ? bottom : found->base;
}

/* What the walks say now: the smallest delta from which on there is room (0: there is none at any, i.e. a way is one line),
 * and whether that is clear: each walk takes about as long as a hit, or clearly longer. */
static bool read_line(const struct xr_walks *walks, const struct xr_sets_found *found, uint64_t least, uint64_t *line)
{
	const double hit = hit_of(walks, found);
	bool clear = true, room = true;
	*line = 0;
	for (size_t i = walks->n ? walks->n - 1 : 0; i-- > 0;) {
		double low = xr_walks_low(walks, i), excess = (low - hit) / found->penalty;
		if (low <= 0) /* blocks are larger than that (landing pads): it cannot be asked */
			break;
		clear &= excess < 0.25 || excess > 0.4;
		clear &= room || excess > 0.3; /* never room again */
		room &= excess < 0.3;
		if (room)
			*line = least << i;
	}
	return clear;
}

/* Where that is not clear, since somebody disturbs: the delta from which on walks are quicker by most. */
static uint64_t guess_line(const struct xr_walks *walks, uint64_t least)
{
	const size_t n = walks->n;
	uint64_t line = 0;
	double most = 0, below = 0, above = 0;
	for (size_t i = 0; i < n; i++)
		above += xr_walks_low(walks, i);
	for (size_t i = 1; i + 1 < n; i++) {
		const double low = xr_walks_low(walks, i - 1);
		below += low;
		above -= low;
		const double quicker = below / (double)i - above / (double)(n - i);
		if (quicker > most) {
			most = quicker;
			line = least << i;
		}
	}
	return line;
}

static int find_line(const struct xr_sets *probe, const struct xr_sets_found *found, uint64_t least, uint64_t *line,
                     bool *clear)
{
	struct xr_walks walks;
	uint64_t widest = found->way / 2 < 512 ? found->way / 2 : 512;

	*line = 0;
	*clear = true;
	xr_walks_init(&walks, probe->bench);
	for (uint64_t d = least; d <= widest && walks.n < DELTAS_MAX; d *= 2)
		add_delta(&walks, found, d, widest);
	if (walks.n)
		add_apart(&walks, found, widest);
	for (int i = 0; walks.n && i < LOOKS; i++) {
		if (xr_walks_look(&walks, SAMPLES, 1) != 0)
			return -1;
		*clear = read_line(&walks, found, least, line);
		if (*clear && (i > 0 || xr_walks_calm(&walks)))
			break;
	}
	if (!*clear && walks.n)
		*line = guess_line(&walks, least);
	return 0;
}

/* ---- latency --------------------------------------------------------------------------------------------------- */

/* A jump that hits: read like the branches it will be compared with, not at its quickest. */
static int time_hit(const struct xr_walk_bench *bench, double *cycles)
{
	enum { TIMES = 5 };
	const struct xr_span row = {.stride = SPACING, .count = PAGE / SPACING};
	struct xr_spec spec[TIMES];
	struct xr_reading reading[TIMES];
	double each[TIMES];
	for (int i = 0; i < TIMES; i++) {
		spec[i] = (struct xr_spec){.kind = XR_WALK};
		spec[i].walk = (struct xr_walk_spec){.kind = XR_JUMPS,
		                                     .region = bench->region,
		                                     .bytes = bench->bytes,
		                                     .span = &row,
		                                     .n_spans = 1,
		                                     .seed = (uint64_t)i + 1};
	}
	if (xr_run_time(bench->run, spec, TIMES, reading) != 0)
		return -1;
	for (int i = 0; i < TIMES; i++)
		each[i] = reading[i].cycles;
	*cycles = xr_median(each, TIMES);
	return 0;
}

/* ---- facts ----------------------------------------------------------------------------------------------------- */

static const char *const finds[] = {
	"cache.l1i.capacity", "cache.l1i.ways", "cache.l1i.line", "cache.l1i.latency", "cache.l1i.miss_penalty", NULL,
};
static const char *const needs[] = {"branch", "code", NULL};
static const char method[] = "unforeseen jumps", paper[] = "straight-line additions (paper 003)";

static void put_none(struct xr_description *d, enum xr_status status, const char *const *ids, const char *reason)
{
	for (; *ids; ids++)
		xr_fact_none(d, *ids, status, "%s", reason);
}

/* Does paper 003's method see this capacity? Its last body that runs at full speed may be larger, since few sets overflow
 * at first, and some policies keep part of what is run in order. */
static bool straight_agrees(const struct xr_run *run, double capacity)
{
	double limit = xr_run_number(run, "code.unroll_limit", 0);
	return limit > 0.9 * capacity && limit < 3 * capacity;
}

static void put_geometry(struct xr_run *run, const struct xr_sets_found *found, uint64_t line, bool clear)
{
	struct xr_description *d = xr_run_description(run);
	const double sure = found->confidence, bytes = (double)(found->ways * found->way);
	const double limit = xr_run_number(run, "code.unroll_limit", 0);
	struct xr_fact *capacity = xr_fact_count(d, "cache.l1i.capacity", (long long)bytes, "bytes", sure, method);
	xr_fact_add_series(capacity, "cache.l1i");
	struct xr_fact *ways = xr_fact_count(d, "cache.l1i.ways", found->ways, "", sure, method);
	xr_fact_add_series(ways, "cache.l1i.way");
	xr_fact_add_series(ways, "cache.l1i.two_ways");
	struct xr_fact *lines = xr_fact_count(d, "cache.l1i.line", (long long)(line ? line : found->way), "bytes",
	                                      clear ? sure : fmin(sure, 0.6), method);
	if (!line && found->way > LONGEST_KNOWN)
		xr_fact_doubt(lines, "no distance made room: a line of a whole way would be longer than any known");
	if (sure < 0.9) {
		xr_fact_doubt(capacity, "the curves are disturbed: is the core's other thread busy?");
		xr_fact_doubt(ways, "the curves are disturbed: is the core's other thread busy?");
		xr_fact_doubt(lines, "the curves of capacity and ways are disturbed");
	} else if (limit > 0 && !straight_agrees(run, bytes)) {
		xr_fact_note(capacity, "straight-line code runs at full speed up to %.0f KiB: this core fetches ahead",
		             limit / 1024);
	}
}

static void put_costs(struct xr_run *run, const struct xr_sets_found *found, double hit)
{
	struct xr_description *d = xr_run_description(run);
	const double sure = fmin(found->confidence, 0.85), mispredict = xr_run_number(run, "branch.mispredict", 0);
	xr_fact_number(d, "cache.l1i.miss_penalty", found->penalty, "cycles", sure, method);
	if (!straight_agrees(run, (double)(found->ways * found->way)))
		xr_fact_none(d, "cache.l1i.latency", XR_UNSUPPORTED,
		             "this core fetches ahead, which hides the latency of a hit");
	else if (mispredict <= 0 || hit <= mispredict)
		xr_fact_none(d, "cache.l1i.latency", XR_UNSUPPORTED, "a jump cannot be told from its misprediction");
	else
		xr_fact_number(d, "cache.l1i.latency", xr_snap_integer(hit - mispredict, whole), "cycles", sure,
		               "unforeseen jump less branch.mispredict");
}

/* Jumps tell the size to a fifth or not at all: does paper 003's method know better? */
static void put_rough(struct xr_run *run, const struct xr_sets_found *found, const char *reason)
{
	struct xr_description *d = xr_run_description(run);
	const double limit = xr_run_number(run, "code.unroll_limit", 0);
	put_none(d, found->outcome == XR_SETS_NO_STEP ? XR_UNSUPPORTED : XR_UNRELIABLE, finds, reason);
	if (found->outcome == XR_SETS_ROUGH && straight_agrees(run, found->rough))
		xr_fact_number(d, "cache.l1i.capacity", limit, "bytes", 0.7, paper);
	else if (found->outcome == XR_SETS_ROUGH)
		xr_fact_doubt(xr_fact_number(d, "cache.l1i.capacity", found->rough, "bytes", 0.4, method),
		              "to about a fifth");
	else if (limit > 0 && limit < 0.9 * found->tried)
		xr_fact_doubt(xr_fact_number(d, "cache.l1i.capacity", limit, "bytes", 0.5, paper),
		              "jumps show nothing there");
}

static int run(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_walk_bench bench;
	struct xr_sets probe = {
		.bench = &bench,
		.unit = SPACING,
		.room = PAGE,
		.page = PAGE,
		.shortcut = PAGE,
		.first = 32,
		.most = most_bytes,
		.blocks = 128,
		.place = place_lines,
		.series = "cache.l1i",
	};
	struct xr_sets_found found;
	uint64_t line;
	double hit;
	bool clear;

	if (xr_walk_bench_init(&bench, run, REGION, xr_walks_region(run, region_bytes)) != 0 ||
	    xr_sets_find(&probe, &found) != 0)
		return -1;
	if (found.outcome == XR_SETS_UNSUPPORTED || found.outcome == XR_SETS_FAILED)
		put_none(d, found.outcome == XR_SETS_FAILED ? XR_FAILED : XR_UNSUPPORTED, finds, found.reason);
	else if (found.outcome == XR_SETS_NO_STEP)
		put_rough(run, &found,
		          xr_arena_printf(xr_run_arena(run), "no instruction cache to be seen in %.0f KiB of code",
		                          found.tried / 1024));
	else if (found.outcome == XR_SETS_ROUGH) {
		put_rough(run, &found, "the curves are none of a set that overflows");
	} else {
		if (find_line(&probe, &found, 16, &line, &clear) != 0)
			return -1;
		probe.unit = line > SPACING ? line : SPACING;
		if (line > SPACING && found.confidence > 0.9 && xr_sets_again(&probe, &found) != 0)
			return -1;
		if (time_hit(&bench, &hit) != 0)
			return -1;
		put_geometry(run, &found, line, clear);
		put_costs(run, &found, hit);
	}
	return 0;
}

const struct xr_micro xr_micro_icache = {
	.id = "icache",
	.title = "first instruction cache: capacity, ways, line, cost of a miss",
	.finds = finds,
	.needs = needs,
	.cost_s = 1,
	.kinds = 1u << XR_WALK,
	.supported = xr_walks_supported,
	.run = run,
};
