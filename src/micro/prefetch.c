/* SPDX-License-Identifier: MIT */
/* Parameter: prefetch.adjacent, next, stride, stream: what is fetched before anybody asks; prefetch.stride_max: the
 * longest stride that is followed, in bytes; prefetch.down, prefetch.across_pages: so, too, to lower addresses, and
 * into the next page; prefetch.distance: lines that a stream is ahead.
 *
 * Idea (no paper asks; see Intel's and AMD's optimisation manuals): visit a few lines in an order that one kind of
 * prefetcher understands and another does not, in a place where nothing is cached, then the same somewhere else.
 * What was fetched ahead comes from a near level; the same lines in an order that nobody understands do not.
 *
 * Algorithm: blocks, each in a page of its own, pages in random order, twice as many lines as the second cache holds.
 *   Pairs      a line and its neighbour: of an even line the next, of an odd line the one before (adjacent: both;
 *              next: the first alone, and the next of an odd line).
 *   Stream     two neighbours, then the line so many further on: the steps differ, so that no stride is seen. The
 *              farthest that is there: the distance.
 *   Stride     lines at a stride against others of the same pages in an order without equal steps; of strides,
 *              powers of two and three lines are asked.
 *   Of each question the time of blocks that have only strangers in them is known beside it; was the line that is
 *   asked about fetched, wholly or in part (it may be on its way), or not: hypotheses compete (infer/belief.h).
 *
 * When it fails: a second cache that is not known, or as slow as what is behind it. Lines twice as long as the first
 * cache's act like pairs.
 */
#include "infer/spared.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	BUFFER = 76,
	TURNS = 2,
	TURNS_MOST = 7,
	LANE = 8,       /* lines */
	MOST_LINES = 8, /* of a block */
	LINES_MOST = 65536,
	LINES_LEAST = 4096,
	DISTANCE_MOST = 24,
	STRIDE_LEAST = 3,      /* lines: next ones are streams */
	STRIDE_MOST = 1 << 15, /* bytes */
};
static const double soft = 0.7; /* an edge that is none */
/* Never surer: right on nearly all machines of the first generator, but on those of the second lines come early for
 * reasons that nobody here has thought of. */
static const double most_sure = 0.75;
static const double sure = 0.8, clear_enough = 0.97;
static const double sample_ns = 2e5; /* thousands of visits */
static const double most_bytes = 256 << 20;
struct ground {
	struct xr_run *run;
	uint64_t line, page;
	size_t lines;        /* to be visited, so that none is still there */
	double nearest, hit; /* cycles: of the first level, of that which is fetched into */
	double behind;       /* of what is behind it; 0: not known */
};

/* Lines of a block relative to its first, in the order of visits. */
struct block {
	int n;
	int at[MOST_LINES];
	bool odd;        /* the first line is */
	uint64_t stride; /* bytes from one to the next; 0: a line */
	bool strange;    /* each block in another order, and other lines of its strides */
};

/* ---- asking ----------------------------------------------------------------------------------------------------- */

/* Bytes from one block to the next, whole pages; low: of its lines, and needs: bytes of them. */
static uint64_t area_of(const struct ground *g, const struct block *b, int *low, uint64_t *needs)
{
	int high = 0;
	*low = 0;
	for (int i = 0; i < b->n; i++) {
		*low = b->at[i] < *low ? b->at[i] : *low;
		high = b->at[i] > high ? b->at[i] : high;
	}
	*needs = ((uint64_t)(high - *low) + 2) * (b->stride ? b->stride : g->line) + 2 * g->line;
	return (*needs + g->page - 1) / g->page * g->page;
}

/* Blocks of long strides that lie in one another's gaps. */
static uint64_t sharing(const struct ground *g, const struct block *b)
{
	const uint64_t lanes = g->page / g->line / LANE;
	return b->stride >= g->page && lanes ? lanes : 1; /* lines may be so long that a page has no lane */
}

static bool has_room(const struct ground *g, const struct block *b)
{
	int low;
	uint64_t needs;
	const double bytes = (double)(area_of(g, b, &low, &needs) * (g->lines / (size_t)b->n / sharing(g, b) + 1));
	return bytes <= fmin(most_bytes, (double)xr_run_room(g->run));
}

static struct xr_spec lay(const struct ground *g, const struct block *b)
{
	struct xr_rng *rng = xr_run_rng(g->run);
	const uint64_t stride = b->stride ? b->stride : g->line;
	int low;
	uint64_t needs;
	const uint64_t area = area_of(g, b, &low, &needs), blocks = g->lines / (size_t)b->n, shared = sharing(g, b);
	struct xr_span *span = xr_arena_array(xr_run_arena(g->run), struct xr_span, blocks * (uint64_t)b->n);
	uint32_t *order = xr_arena_array(xr_run_arena(g->run), uint32_t, blocks);
	for (uint32_t i = 0; i < blocks; i++) {
		const uint32_t j = (uint32_t)xr_rng_below(rng, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	for (uint64_t i = 0; i < blocks; i++) {
		const uint64_t room = (area - needs) / (2 * g->line);
		const uint64_t place = shared > 1 ? order[i] % shared * LANE / 2 + xr_rng_below(rng, LANE / 2)
		                                  : xr_rng_below(rng, room + 1);
		uint64_t first = order[i] / shared * area + 2 * place * g->line + (uint64_t)-low * stride;
		struct block here = *b;
		if ((first / g->line % 2 == 1) != b->odd) /* there is room for it */
			first += g->line;
		for (int k = b->n; k > 1 && b->strange; k--) {
			const int j = (int)xr_rng_below(rng, (uint64_t)k), swap = here.at[k - 1];
			here.at[k - 1] = here.at[j];
			here.at[j] = swap;
		}
		for (int k = 0; k < b->n; k++) {
			const uint64_t off =
				b->strange && shared == 1 ? xr_rng_below(rng, stride / g->line) * g->line : 0;
			span[i * (uint64_t)b->n + (uint64_t)k] =
				(struct xr_span){first + off + (uint64_t)((int64_t)here.at[k] * (int64_t)stride), 0, 1};
		}
	}
	struct xr_spec spec = {.kind = XR_CHAIN};
	spec.chain.buffer = (struct xr_buffer){BUFFER, (blocks / shared + 1) * area, XR_HUGE};
	spec.chain.n_phases = 1;
	spec.chain.cursors = 1;
	spec.chain.rolling = true;
	spec.chain.unsettled = true;
	spec.chain.phase[0] = (struct xr_phase){
		.span = span, .n_spans = (size_t)blocks * (size_t)b->n, .access = XR_READ, .timed = true};
	return spec;
}

struct answer {
	double p;     /* that lines were fetched */
	double share; /* of what that saves, as seen */
	const char *trouble;
	double turn[TURNS_MOST]; /* cycles of a visit */
	size_t n;
};

enum { ASKED, STRANGERS, WITNESS, N_BESIDE };

/* What is asked about, and what it is compared with. What is fetched besides pushes others out, also of the caches behind:
 * blocks that wake a prefetcher may cost more than strangers who do not. So a witness: a line that nobody fetched, among
 * blocks that wake the same. */
struct question {
	struct block block[N_BESIDE];
	int asked;    /* of the lines of a block, the last so many */
	bool strange; /* strangers: none of their lines could be foreseen */
	int beside;   /* ASKED or STRANGERS: that one has a line more than the witness's block, or one less */
};

/* One more turn of all: other pages, other orders. */
static int take_turn(const struct ground *g, const struct question *q, double time[N_BESIDE], struct answer *a)
{
	const struct xr_effort effort = {.samples = 5, .samples_max = 9, .sample_ns = sample_ns};
	const size_t n = q->block[WITNESS].n ? N_BESIDE : WITNESS;
	struct xr_spec spec[N_BESIDE];
	struct xr_reading reading[N_BESIDE];
	for (size_t i = 0; i < n; i++)
		spec[i] = lay(g, &q->block[i]);
	if (xr_run_time_with(g->run, &effort, spec, n, reading) != 0)
		return -1;
	time[WITNESS] = 0;
	for (size_t i = 0; i < n; i++) {
		time[i] = reading[i].cycles;
		if (reading[i].status != XR_READ_OK)
			a->trouble = reading[i].reason;
	}
	if (n == N_BESIDE) { /* what one line more takes */
		const int more = q->block[WITNESS].n > q->block[q->beside].n ? 1 : -1;
		time[WITNESS] = more * (q->block[WITNESS].n * time[WITNESS] - q->block[q->beside].n * time[q->beside]);
	}
	return 0;
}

/* asked: of turns; part: of the lines of a block. Who pushes others out may be slower than strangers are: that is not
 * fetched either. */
static struct xr_spared weigh(const struct ground *g, const double *asked, const double *beside, size_t n, double part,
                              double away)
{
	const double without = xr_median(beside, n);
	double least[TURNS_MOST];
	for (size_t i = 0; i < n; i++)
		least[i] = fmin(asked[i], without);
	return xr_spared_find(xr_run_arena(g->run), &(struct xr_spared_times){.asked = least,
	                                                                      .strangers = beside,
	                                                                      .n = n,
	                                                                      .part = part,
	                                                                      .away = away,
	                                                                      .nearest = g->nearest,
	                                                                      .hit = g->hit});
}

static void take(struct answer *a, const struct xr_spared *seen, bool strange)
{
	a->p = seen->p;
	a->share = seen->share;
	a->trouble = seen->none > 0.5 ? "neither prefetching nor its absence explains the times"
	             : strange && a->share > 1.03
	                     ? "quicker than a hit in the first cache: loads are predicted, not prefetched"
	                     : NULL;
}

static void decide(const struct ground *g, const struct question *q, double time[N_BESIDE][TURNS_MOST], size_t n,
                   struct answer *a)
{
	const double strangers = xr_median(time[STRANGERS], n), witness = xr_median(time[WITNESS], n);
	const double part = (double)q->asked / q->block[ASKED].n, away = fmax(strangers, witness);
	/* less than that is kept, or somebody has learnt the whole lap */
	const double least = fmax(1.5 * g->hit, q->strange ? 0.75 * g->behind : 0);
	const int slower = q->strange && witness > strangers ? WITNESS : STRANGERS;
	if (strangers < least) {
		a->trouble = "lines in random order are as quick: hits, not prefetches";
		return;
	}
	struct xr_spared seen = weigh(g, time[ASKED], time[slower], n, part, away);
	/* strangers, too, may wake somebody who pushes others out, and in vain */
	const bool vain = seen.none > 0.5 && q->strange && slower == STRANGERS && witness > least;
	if (vain)
		seen = weigh(g, time[ASKED], time[WITNESS], n, part, witness);
	take(a, &seen, q->strange && !vain);
}

/* Are lines of a block fetched ahead? More turns where that is not clear. */
static int ask(const struct ground *g, const struct question *q, struct answer *a)
{
	double time[N_BESIDE][TURNS_MOST], one[N_BESIDE];
	size_t n = 0;
	bool clear = false;
	*a = (struct answer){0};
	while (n < TURNS_MOST && !clear) {
		if (take_turn(g, q, one, a) != 0)
			return -1;
		if (a->trouble)
			return 0;
		for (int i = 0; i < N_BESIDE; i++)
			time[i][n] = one[i];
		a->turn[n] = one[ASKED];
		a->n = ++n;
		if (n < TURNS)
			continue;
		decide(g, q, time, n, a);
		clear = !a->trouble && fmax(a->p, 1 - a->p) > clear_enough;
	}
	return 0;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static void put(const struct ground *g, const char *id, const struct answer *a)
{
	struct xr_description *d = xr_run_description(g->run);
	if (a->trouble) {
		xr_fact_none(d, id, XR_UNRELIABLE, "%s", a->trouble);
		return;
	}
	const bool yes = a->p > 0.5;
	struct xr_fact *fact = xr_fact_bool(d, id, yes, most_sure * fmax(a->p, 1 - a->p), "lines visited in blocks");
	if (yes)
		xr_fact_note(fact, "%.0f %% of the latency is hidden", 100 * fmin(1, fmax(0, a->share)));
	if (fmax(a->p, 1 - a->p) < sure || (yes && a->share < XR_SPARED_LEAST / 2))
		xr_fact_doubt(fact, "times fit both");
}

static bool is_sure(const struct answer *a)
{
	return !a->trouble && a->p > sure && a->share >= XR_SPARED_LEAST / 2;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

/* Lines behind the first cache that are longer bring their other half along. */
static bool longer_lines(const struct ground *g)
{
	static const char *const ids[] = {"cache.l2.line", "cache.l3.line"};
	for (int i = 0; i < 2; i++) {
		const struct xr_fact *fact = xr_description_fact(xr_run_description(g->run), ids[i]);
		if (fact && xr_fact_value(fact, 0) > (double)g->line)
			return true;
	}
	return false;
}

/* A line and its neighbour, against one far away; and with one far away behind them, where a stream that they begin does
 * not go. */
static int ask_pair(const struct ground *g, int other, bool odd, struct answer *a)
{
	const struct question q = {.block = {{.n = 2, .at = {0, other}, .odd = odd},
	                                     {.n = 2, .at = {0, 2}, .stride = LANE * g->line, .strange = true},
	                                     {.n = 3, .at = {0, other, -other * LANE}, .odd = odd}},
	                           .asked = 1,
	                           .strange = true,
	                           .beside = ASKED};
	return ask(g, &q, a);
}

/* The two lines of a pair, against two neighbours of different pairs, where these are not fetched: they push out as many. */
static void weigh_pairs(const struct ground *g, const struct answer *next, struct answer *a)
{
	const size_t n = a->n < next->n ? a->n : next->n;
	if (!a->trouble && !next->trouble && next->p < 0.5 && a->p < 0.5) {
		const struct xr_spared seen = weigh(g, a->turn, next->turn, n, 0.5, 0);
		take(a, &seen, false);
	}
}

static int find_pairs(const struct ground *g)
{
	struct answer up, down, next, adjacent;
	if (ask_pair(g, 1, false, &up) != 0 || ask_pair(g, -1, true, &down) != 0 || ask_pair(g, 1, true, &next) != 0)
		return -1;
	weigh_pairs(g, &next, &up);
	weigh_pairs(g, &next, &down);
	adjacent = down; /* what a next line cannot explain */
	adjacent.p = fmin(up.p, down.p);
	adjacent.trouble = up.trouble ? up.trouble : down.trouble;
	if (longer_lines(g))
		adjacent.trouble = next.trouble = "lines of an outer cache are longer: they act like pairs";
	put(g, "prefetch.adjacent", &adjacent);
	put(g, "prefetch.next", &next);
	return 0;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

static int ask_ahead(const struct ground *g, int ahead, struct answer *a)
{
	const struct question q = {
		.block = {{.n = 3, .at = {0, 1, 1 + ahead}}, {.n = 3, .at = {0, 1, 1 - LANE}}, {.n = 2, .at = {0, 1}}},
		.asked = 1,
		.beside = STRANGERS};
	return ask(g, &q, a);
}

static int find_stream(const struct ground *g)
{
	struct xr_description *d = xr_run_description(g->run);
	struct answer a;
	int fits = 2, over = 4;
	const int most = (int)fmin(DISTANCE_MOST, (double)(g->page / g->line) / 2 - 8);
	if (ask_ahead(g, fits, &a) != 0)
		return -1;
	put(g, "prefetch.stream", &a);
	if (!is_sure(&a)) {
		xr_fact_none(d, "prefetch.distance", XR_UNSUPPORTED, "no stream is followed");
		return 0;
	}
	double p = a.p, clear = a.share / 2, left = 0; /* what is gone behind the edge, and what is left there */
	for (; over <= most; over = over < most && 2 * over > most ? most : 2 * over) {
		if (ask_ahead(g, over, &a) != 0)
			return -1;
		if (!is_sure(&a)) {
			left = a.share;
			break;
		}
		fits = over;
		p = fmin(p, a.p);
	}
	const bool ends = over <= most;
	while (ends && over - fits > 1) {
		const int middle = (fits + over) / 2;
		if (ask_ahead(g, middle, &a) != 0)
			return -1;
		*(a.p > 0.5 ? &fits : &over) = middle;
		p = fmin(p, fmax(a.p, 1 - a.p));
		/* a line that comes in part, or now and then: no one number is the distance */
		if (a.p > 0.5 ? a.share < clear : a.share > clear / 4)
			p = fmin(p, soft);
	}
	if (left > clear / 4)
		p = fmin(p, soft);
	struct xr_fact *fact =
		xr_fact_count(d, "prefetch.distance", fits, "lines", most_sure * p, "lines visited in blocks");
	if (!ends)
		xr_fact_doubt(fact, "a lower bound: no end was seen");
	return 0;
}

/* ---- strides ---------------------------------------------------------------------------------------------------- */

/* All but the first three, which show the stride. */
static int ask_stride(const struct ground *g, uint64_t stride, bool down, struct answer *a)
{
	struct question q = {.asked = MOST_LINES - 3, .strange = true};
	struct block *b = &q.block[ASKED], *strangers = &q.block[STRANGERS];
	*b = (struct block){.n = MOST_LINES, .stride = stride};
	for (int i = 0; i < b->n; i++)
		b->at[i] = down ? b->n - 1 - i : i;
	*strangers = *b;
	strangers->strange = true;
	if (stride < LANE * g->line) /* not so close that somebody fetches whole neighbourhoods */
		strangers->stride = LANE * g->line;
	*a = (struct answer){.trouble = "too little memory for strides so long"};
	return has_room(g, b) ? ask(g, &q, a) : 0;
}

static uint64_t nth_stride(const struct ground *g, int n)
{
	return 4 * g->line << n;
}

/* The longest that is followed, of powers of two: half of those that are left are ruled out by each question. *p: how
 * sure. clear: the share that is saved must be more, or hardly anything. false in *ends: longer ones are not asked. */
static int find_longest(const struct ground *g, double clear, uint64_t *longest, double *p, bool *ends)
{
	struct block block = {.n = MOST_LINES};
	int fits = -1, over = 0;
	for (block.stride = nth_stride(g, 0); block.stride <= STRIDE_MOST && has_room(g, &block); block.stride *= 2)
		over++;
	*ends = false;
	while (over - fits > 1) {
		const int middle = (fits + over) / 2;
		struct answer a;
		if (ask_stride(g, nth_stride(g, middle), false, &a) != 0)
			return -1;
		if (a.trouble) { /* what is longer cannot be told; what is shorter may be */
			over = middle;
			*ends = false;
			continue;
		}
		*p = fmin(*p, fmax(a.p, 1 - a.p));
		if (a.share > clear / 4 && a.share < clear)
			*p = fmin(*p, soft);
		*ends |= a.p <= 0.5;
		*(a.p > 0.5 ? &fits : &over) = middle;
	}
	*longest = fits < 0 ? *longest : nth_stride(g, fits);
	return 0;
}

static int find_stride(const struct ground *g)
{
	struct xr_description *d = xr_run_description(g->run);
	struct answer a, down;
	uint64_t longest = STRIDE_LEAST * g->line;
	bool ends;
	if (ask_stride(g, longest, false, &a) != 0)
		return -1;
	put(g, "prefetch.stride", &a);
	if (!is_sure(&a)) {
		static const char *const ids[] = {"prefetch.stride_max", "prefetch.down", "prefetch.across_pages"};
		for (int i = 0; i < 3; i++)
			xr_fact_none(d, ids[i], XR_UNSUPPORTED, "no stride is followed");
		return 0;
	}
	double p = a.p;
	if (ask_stride(g, longest, true, &down) != 0 || find_longest(g, a.share / 2, &longest, &p, &ends) != 0)
		return -1;
	put(g, "prefetch.down", &down);
	if (2 * longest >= g->page)
		xr_fact_bool(d, "prefetch.across_pages", true, most_sure * p, "lines visited in blocks");
	else
		xr_fact_none(d, "prefetch.across_pages", XR_UNRELIABLE,
		             "the strides that are followed are too short for a page to end between two lines");
	struct xr_fact *fact = xr_fact_count(d, "prefetch.stride_max", (long long)longest, "bytes", most_sure * p,
	                                     "lines visited in blocks");
	if (!ends)
		xr_fact_doubt(fact, "a lower bound: no end was seen");
	return 0;
}

static const char *const finds[] = {"prefetch.adjacent", "prefetch.next",         "prefetch.stream",
                                    "prefetch.distance", "prefetch.stride",       "prefetch.stride_max",
                                    "prefetch.down",     "prefetch.across_pages", NULL};
static const char *const needs[] = {"cache_outer", NULL};

static void refuse(struct xr_run *run, const char *why)
{
	for (const char *const *id = finds; *id; id++)
		xr_fact_none(xr_run_description(run), *id, XR_UNRELIABLE, "%s", why);
}

/* What is in doubt may be true; the times of strangers tell whether it was enough. */
static double number(struct xr_run *run, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(xr_run_description(run), id);
	return fact ? xr_fact_value(fact, 0) : 0;
}

static int run(struct xr_run *run)
{
	struct ground g = {.run = run,
	                   .line = (uint64_t)xr_run_number(run, "cache.l1d.line", 0),
	                   .page = xr_run_info(run)->page_bytes ? xr_run_info(run)->page_bytes : 4096};
	const double second = number(run, "cache.l2.capacity");
	const double capacity = second > 0 ? second : number(run, "cache.l1d.capacity");
	g.nearest = number(run, "cache.l1d.latency"); /* at best they are fetched into that */
	g.hit = second > 0 ? number(run, "cache.l2.latency") : g.nearest;
	g.behind = second > 0 ? xr_run_number(run, "cache.l3.latency", 0) : 0;
	if (!g.line || !(capacity > 0) || !(g.hit > 0)) {
		refuse(run, "the caches that are prefetched into are not known well enough");
		return 0;
	}
	/* Of few ways some hold what nobody pushes out: more lines then. */
	const double ways = xr_run_number(run, second > 0 ? "cache.l2.ways" : "cache.l1d.ways", 0);
	const double wanted = (ways >= 4 ? 2 : 4) * capacity / (double)g.line;
	g.lines = (size_t)fmin(LINES_MOST, fmax(LINES_LEAST, wanted)); /* too few: strangers show it */
	if (find_pairs(&g) != 0)
		return -1;
	xr_run_progress(run, 0.3, "streams");
	if (find_stream(&g) != 0)
		return -1;
	xr_run_progress(run, 0.6, "strides");
	return find_stride(&g);
}

const struct xr_micro xr_micro_prefetch = {
	.id = "prefetch",
	.title = "prefetchers: adjacent lines, streams, strides",
	.finds = finds,
	.needs = needs,
	.cost_s = 1.5,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
