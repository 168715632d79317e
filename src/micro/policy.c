/* SPDX-License-Identifier: MIT */
/* Parameter: cache.l1d.policy, cache.l2.policy, tlb.d1.policy: who is evicted when a set is full;
 * *.policy_candidates: every policy that may explain what was seen, with its probability.
 *
 * Idea (paper 004 §3.3, there with counters; nanoBench and CacheQuery since): policies disagree about which use of
 * a random sequence misses. One set shows too little for a clock; so a block is used in many sets at once, which
 * all do the same.
 *
 * Algorithm: random sequences of new and old blocks, each behind a reset: blocks not used otherwise, two
 * or three times as many as ways, in one order or the other. Every use is a use in S sets, one dependent load after
 * the other, before the next. All candidates (infer/replacement.h) are simulated on the same sequences, repeated as
 * they are on the machine; the time of a sequence is some base, the same for all, and so much for each miss.
 * Likelihoods of all sequences, by the noise of their repetitions, decide; policies of two bits of age are only
 * asked where no plain one explains it. For the second cache the S sets are all in one set of the first, which has
 * fewer ways than that: it never answers. For the TLB blocks are pages.
 *
 * When it fails: pages that are not in a row in memory, an index that is no plain one, set dueling: nothing
 * explains what is seen, and the fact says so. Policies that do the same on all sequences at this number of ways
 * are one, by the name of the plainest. /
 */
#include "infer/replacement.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUFFER = 54,
	SEQUENCES = 32,
	SEQUENCES_WIDE = 16, /* of long ones */
	TURNS = 5,
	FIRST = 12, /* sequences after which candidates are left out */
	WORD = 8,   /* bytes of a link */
	SETS = 16,
	SETS_BEHIND = 32,
	WAYS_MOST = 64,
	WAYS_WIDE = 24,
	ENTRIES_MOST = 160,
	TOLD = 5, /* candidates */
	HUGE_PAGE = 2 << 20,
};
static const double sure = 0.8, least_told = 0.01;
/* Misses by which times may be off, for a policy to explain them at all, and for a sure answer: other things than
 * misses take time, too, but not as much as one. */
static const double most_off = 1, little_off = 0.4;
/* Policies of two bits of age differ among each other by fractions of a miss, and by the state a set began in. */
static const double alike_off = 0.05;

/* Odds of a candidate after FIRST sequences below which the others cannot make good: what it leaves unexplained of
 * these is eight times what the best one does, so three times of all, which is odds of one in 10^7 then. */
static const double hopeless = 1e-4;

/* Where a block's lines are in the sets that are used at once. */
struct ground {
	const char *id; /* beginning of the facts' ids */
	struct xr_buffer buffer;
	size_t ways, sets;   /* sets: used at once */
	uint64_t block, set; /* bytes from one to the next */
	uint64_t line;
	bool apart;            /* lines of a block are in blocks of their own */
	uint64_t spread;       /* TLB: lines of pages are so many, in turn, */
	uint64_t pages;        /* … of which so many are in one way of the first cache */
	uint64_t places;       /* sets there are to choose from */
	double cost;           /* of a miss, about */
	const uint32_t *order; /* blocks in use order, drawn at random: new ones follow no stride */
	const char *trouble;
};

/* ---- laying out ------------------------------------------------------------------------------------------------- */

static size_t most_blocks(size_t ways) /* of sequence and reset */
{
	return 4 * ways + 8;
}

/* The s-th of the sets that are used. Lines of pages are spread over the first cache: none of its sets gets too
 * many. */
static uint64_t place(const struct ground *g, unsigned use, uint64_t set, size_t s)
{
	const uint64_t block = g->order[use];
	uint64_t at = (g->apart ? s * most_blocks(g->ways) + block : block) * g->block + set * g->set;
	return g->spread ? at + (block * g->sets + s) / g->pages % g->spread * g->line : at;
}

/* Every use of a block reads another word of its lines, so that all of them can be one ring of links: a table of
 * addresses would itself need lines of the first cache. visits: of each block so far. */
static const struct xr_span *spans(struct xr_run *run, const struct ground *g, const unsigned *block, size_t n,
                                   const uint64_t *set, unsigned *visits)
{
	struct xr_span *span = xr_arena_array(xr_run_arena(run), struct xr_span, n * g->sets);
	for (size_t i = 0; i < n; i++) {
		uint64_t word = visits[block[i]]++ % (g->line / WORD) * WORD;
		for (size_t s = 0; s < g->sets; s++)
			span[i * g->sets + s] = (struct xr_span){place(g, block[i], set[s], s) + word, 0, 1};
	}
	return span;
}

/* Sets in random order: no constant stride for a prefetcher to see. */
static uint64_t *choose_sets(struct xr_run *run, const struct ground *g)
{
	uint64_t *set = xr_arena_array(xr_run_arena(run), uint64_t, g->places);
	for (uint64_t i = 0; i < g->places; i++)
		set[i] = i;
	for (uint64_t i = g->places; i > 1; i--) {
		uint64_t j = xr_rng_below(xr_run_rng(run), i), swap = set[i - 1];
		set[i - 1] = set[j];
		set[j] = swap;
	}
	return set;
}

static struct xr_spec script(struct xr_run *run, const struct ground *g, const struct xr_sequence *s)
{
	const uint64_t *set = choose_sets(run, g);
	unsigned *visits = xr_arena_array(xr_run_arena(run), unsigned, most_blocks(g->ways));
	struct xr_spec spec = {.kind = XR_CHAIN};
	spec.chain.buffer = g->buffer;
	spec.chain.cursors = 1;
	spec.chain.n_phases = 2;
	spec.chain.phase[0] = (struct xr_phase){.span = spans(run, g, s->reset, s->n_reset, set, visits),
	                                        .n_spans = s->n_reset * g->sets,
	                                        .access = XR_READ,
	                                        .passes = 1};
	spec.chain.phase[1] = (struct xr_phase){.span = spans(run, g, s->use, s->n_use, set, visits),
	                                        .n_spans = s->n_use * g->sets,
	                                        .access = XR_READ,
	                                        .passes = 1,
	                                        .timed = true};
	return spec;
}

/* ---- deciding --------------------------------------------------------------------------------------------------- */

struct readings {
	struct xr_sequence sequence[SEQUENCES];
	size_t n;
	double time[SEQUENCES];
	struct xr_noise noise;
};

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Draws sequences and times them; trouble in g. Every turn is in other sets: some of them are somebody's
 * favourites, the program's own stack and clock among them, and have a way less. Of the turns the second lowest
 * counts, and how far it is from the lowest and the third is the noise. */
static int read_sequences(struct xr_run *run, struct ground *g, struct readings *r)
{
	const struct xr_effort effort = {.samples = 7, .samples_max = 14};
	struct xr_spec spec[SEQUENCES];
	struct xr_reading reading[SEQUENCES];
	double turns[SEQUENCES][TURNS], near[3 * SEQUENCES];
	size_t group[3 * SEQUENCES], blocks;
	r->n = g->ways > WAYS_WIDE ? SEQUENCES_WIDE : SEQUENCES;
	for (size_t i = 0; i < r->n; i++)
		r->sequence[i] = xr_sequence_draw(xr_run_arena(run), xr_run_rng(run), g->ways, (int)(i % 2),
		                                  (unsigned)(g->line / WORD), &blocks);
	for (int turn = 0; turn < TURNS; turn++) {
		for (size_t i = 0; i < r->n; i++)
			spec[i] = script(run, g, &r->sequence[i]);
		if (xr_run_time_with(run, &effort, spec, r->n, reading) != 0)
			return -1;
		for (size_t i = 0; i < r->n; i++) {
			if (reading[i].status != XR_READ_OK) {
				g->trouble = reading[i].reason;
				return 0;
			}
			turns[i][turn] = reading[i].cycles * (double)r->sequence[i].n_use;
		}
	}
	for (size_t i = 0; i < r->n; i++) {
		qsort(turns[i], TURNS, sizeof turns[i][0], ascending);
		r->time[i] = turns[i][1];
		for (size_t k = 0; k < 3; k++) {
			near[3 * i + k] = turns[i][k];
			group[3 * i + k] = i;
		}
	}
	r->noise = xr_noise_fit(near, group, 3 * r->n);
	return 0;
}

/* Candidates, what they predict, and which of them it is. */
struct verdict {
	int policy[XR_CANDIDATES];
	double p[XR_CANDIDATES];
	size_t n;
	struct xr_replacement found;
};

/* Which of the candidates the first n sequences allow. */
static struct xr_replacement weigh(struct xr_run *run, const struct ground *g, const struct readings *r,
                                   const double *misses, size_t n, struct verdict *v)
{
	const struct xr_replacement_seen seen = {.time = r->time,
	                                         .n = n,
	                                         .n_bases = 2,
	                                         .noise = r->noise,
	                                         .cost_least = 0.4 * g->cost,
	                                         .cost_most = 2.5 * g->cost};
	double *part = xr_arena_array(xr_run_arena(run), double, v->n *n);
	for (size_t h = 0; h < v->n; h++)
		memcpy(part + h * n, misses + h * r->n, n * sizeof *part);
	return xr_replacement_find(xr_run_arena(run), v->policy, v->n, part, &seen, v->p);
}

static void decide(struct xr_run *run, const struct ground *g, const struct readings *r, bool all, struct verdict *v)
{
	v->n = xr_replacement_candidates(g->ways, all, v->policy);
	double *misses = xr_arena_array(xr_run_arena(run), double, v->n * r->n), most = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (i == FIRST) {
			weigh(run, g, r, misses, i, v);
			most = xr_max(v->p, v->n);
		}
		for (size_t h = 0; h < v->n; h++) /* who is out stays out, whatever it says */
			misses[h * r->n + i] =
				i >= FIRST && v->p[h] < hopeless * most
					? misses[h * r->n]
					: xr_sequence_misses(&r->sequence[i], v->policy[h], g->ways, xr_run_rng(run));
	}
	v->found = weigh(run, g, r, misses, r->n, v);
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static void put_candidates(struct xr_run *run, const struct ground *g, const struct verdict *v)
{
	json_t *list = json_array();
	bool told[XR_CANDIDATES] = {false};
	for (int k = 0; k < TOLD; k++) {
		size_t best = v->n;
		for (size_t h = 0; h < v->n; h++)
			if (!told[h] && v->p[h] >= least_told && (best == v->n || v->p[h] > v->p[best]))
				best = h;
		if (best == v->n)
			break;
		char name[XR_POLICY_TEXT];
		xr_policy_text(v->policy[best], name);
		json_array_append_new(list, json_pack("{s:s, s:f}", "policy", name, "p", v->p[best]));
		told[best] = true;
	}
	xr_fact_put(xr_run_description(run), xr_arena_printf(xr_run_arena(run), "%s.policy_candidates", g->id), list,
	            "", 0.95, "likelihood over simulated policies");
}

static void put_none(struct xr_run *run, const struct ground *g, const char *why)
{
	static const char *const what[] = {"policy", "policy_candidates"};

	for (size_t i = 0; i < sizeof what / sizeof *what; i++)
		xr_fact_none(xr_run_description(run), xr_arena_printf(xr_run_arena(run), "%s.%s", g->id, what[i]),
		             XR_UNRELIABLE, "%s", why);
}

static void put(struct xr_run *run, const struct ground *g, const struct verdict *v)
{
	struct xr_description *d = xr_run_description(run);
	const char *id = xr_arena_printf(xr_run_arena(run), "%s.policy", g->id);
	const char *method = "likelihood over simulated policies";
	char name[XR_POLICY_TEXT];
	if (v->found.policy < 0 || v->found.off > most_off) {
		put_none(run, g,
		         "no known policy explains the times: adaptive, a hashed index, or pages that lie apart");
		return;
	}
	put_candidates(run, g, v);
	xr_policy_text(v->found.policy, name);
	if (xr_policy_kind(v->found.policy) == XR_QLRU && v->found.family >= sure &&
	    (v->found.p < sure || v->found.off > alike_off)) {
		xr_fact_note(xr_fact_text(d, id, "qlru", 0.97 * v->found.family, method),
		             "two bits of age, most likely as %s", name);
		return;
	}
	struct xr_fact *fact =
		xr_fact_text(d, id, name, (v->found.off > little_off ? 0.88 : 0.98) * v->found.p, method);
	if (v->found.p < sure)
		xr_fact_doubt(fact, "other policies explain it as well");
}

static int find(struct xr_run *run, struct ground *g)
{
	struct readings *r = xr_arena_array(xr_run_arena(run), struct readings, 1);
	struct verdict *v = xr_arena_array(xr_run_arena(run), struct verdict, 1);
	if (!g->trouble && read_sequences(run, g, r) != 0)
		return -1;
	if (g->trouble) {
		put_none(run, g, g->trouble);
		return 0;
	}
	decide(run, g, r, false, v);
	if ((v->found.policy < 0 || v->found.p < sure || v->found.off > little_off) && g->ways <= WAYS_WIDE)
		decide(run, g, r, true, v);
	put(run, g, v);
	return 0;
}

/* ---- where ------------------------------------------------------------------------------------------------------ */

static void lay(struct xr_run *run, struct ground *g, unsigned id)
{
	size_t n = most_blocks(g->ways), blocks = n * (g->apart ? g->sets : 1);
	uint32_t *order = xr_arena_array(xr_run_arena(run), uint32_t, n);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(xr_run_rng(run), i);
		uint32_t swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
	g->order = order;
	/* as large as a huge page, or there are none */
	g->buffer = (struct xr_buffer){
		id, (blocks * g->block + g->spread * g->line + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE, XR_HUGE};
	if (g->buffer.bytes > xr_run_room(run))
		g->trouble = "too little memory for so many blocks of one set";
}

static int find_l1(struct xr_run *run)
{
	struct ground g = {.id = "cache.l1d"};
	const double capacity = xr_run_number(run, "cache.l1d.capacity", 0),
		     ways = xr_run_number(run, "cache.l1d.ways", 0);
	const uint64_t line = (uint64_t)xr_run_number(run, "cache.l1d.line", 0);
	const uint64_t page = xr_run_info(run)->page_bytes;
	const double hit = xr_run_number(run, "cache.l1d.latency", 0);
	g.cost = xr_run_number(run, "cache.l2.latency", xr_run_number(run, "memory.latency", 0)) - hit;
	if (!(capacity > 0) || !(ways > 0) || !line || ways > WAYS_MOST || g.cost <= 0) {
		g.trouble = "the first cache, or what is behind it, is not known well enough";
		return find(run, &g);
	}
	g.ways = (size_t)ways;
	g.block = (uint64_t)fmax(capacity / ways, (double)page);
	g.set = g.line = line;
	g.places = (uint64_t)(capacity / ways) / line;
	g.sets = g.places < SETS ? (size_t)g.places : SETS;
	/* A line a page: whoever learns which lines of a page belong together learns nothing. As many pages as
	 * there are entries for. */
	const double entries = xr_run_number(run, "tlb.d1.entries", 0);
	if (page && entries > 0)
		g.sets = (size_t)fmin((double)g.sets, fmax(1, 0.9 * entries / (double)most_blocks(g.ways)));
	g.apart = true;
	lay(run, &g, BUFFER);
	return find(run, &g);
}

static int find_l2(struct xr_run *run)
{
	struct ground g = {.id = "cache.l2"};
	const double capacity = xr_run_number(run, "cache.l2.capacity", 0),
		     ways = xr_run_number(run, "cache.l2.ways", 0);
	const double first = xr_run_number(run, "cache.l1d.capacity", 0),
		     first_ways = xr_run_number(run, "cache.l1d.ways", 0);
	g.cost = xr_run_number(run, "cache.l3.latency", xr_run_number(run, "memory.latency", 0)) -
	         xr_run_number(run, "cache.l2.latency", 0);
	if (!(capacity > 0) || !(ways > 0) || !(first > 0) || !(first_ways > 0) || ways > WAYS_MOST || g.cost <= 0) {
		g.trouble = "the second cache, or what is behind it, is not known well enough";
		return find(run, &g);
	}
	g.ways = (size_t)ways;
	g.block = (uint64_t)(capacity / ways);
	g.set = (uint64_t)(first / first_ways);
	g.line = (uint64_t)xr_run_number(run, "cache.l1d.line", 16);
	g.places = g.block / g.set;
	g.sets = g.places < SETS_BEHIND ? (size_t)g.places : SETS_BEHIND;
	if ((double)g.sets < 1.5 * first_ways)
		g.trouble =
			"the first cache would answer: it has as many ways as sets of the second share one of its sets";
	lay(run, &g, BUFFER + 1);
	return find(run, &g);
}

static int find_tlb(struct xr_run *run)
{
	struct ground g = {.id = "tlb.d1"};
	const double entries = xr_run_number(run, "tlb.d1.entries", 0), ways = xr_run_number(run, "tlb.d1.ways", 0);
	const uint64_t page = xr_run_info(run)->page_bytes, line = (uint64_t)xr_run_number(run, "cache.l1d.line", 0);
	const double first = xr_run_number(run, "cache.l1d.capacity", 0),
		     first_ways = xr_run_number(run, "cache.l1d.ways", 0);
	g.cost = xr_run_number(run, "tlb.d1.penalty", 0);
	if (!(entries > 0) || !(ways > 0) || !page || !line || !(first > 0) || !(first_ways > 0) ||
	    ways > ENTRIES_MOST || g.cost <= 0) {
		g.trouble = "the TLB is not known well enough";
		return find(run, &g);
	}
	g.ways = (size_t)ways;
	g.places = (uint64_t)(entries / ways);
	g.sets = g.places < SETS ? (size_t)g.places : SETS;
	g.block = g.places * page;
	g.set = page;
	g.line = line;
	g.spread = (uint64_t)fmin((double)page, first / first_ways) / line;
	g.pages = (uint64_t)fmax(1, first / first_ways / (double)page);
	lay(run, &g, BUFFER + 2);
	g.buffer.backing = XR_SHUFFLED;
	/* lines must stay in the first cache, some of whose ways are others'; of few ways, each in a set of its own */
	const bool few = first_ways < 4;
	const double lines = few ? (double)g.spread : first / first_ways / (double)line * floor(first_ways / 2);
	g.pages = few ? 1 : g.pages;
	g.sets = (size_t)fmin((double)g.sets, fmax(1, floor(lines / (double)most_blocks(g.ways))));
	return find(run, &g);
}

static int run(struct xr_run *run)
{
	if (find_l1(run) != 0)
		return -1;
	xr_run_progress(run, 0.3, "second cache");
	if (find_l2(run) != 0)
		return -1;
	xr_run_progress(run, 0.7, "TLB");
	return find_tlb(run);
}

static const char *const finds[] = {"cache.l1d.policy",
                                    "cache.l1d.policy_candidates",
                                    "cache.l2.policy",
                                    "cache.l2.policy_candidates",
                                    "tlb.d1.policy",
                                    "tlb.d1.policy_candidates",
                                    NULL};
static const char *const needs[] = {"cache_outer", "tlb", "memory", NULL};

const struct xr_micro xr_micro_policy = {
	.id = "policy",
	.title = "replacement policies of the first two caches and the first TLB",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.6,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
