/* SPDX-License-Identifier: MIT */
/* Parameter: the core's units: operations sustained per cycle, how many of each kind run in parallel, which compete for
 * the same units, and which sets of different operations sustain together in one cycle.
 *
 * Idea (paper 000 §3.4 and §5.2.1, which left it open): independent operations of one kind show how many
 * units can do it; a mix of two kinds shows whether they are the same units. One of each is nearly blind, for whoever
 * has spare units gives way; so both get the same time: if they share nothing the mix takes as long as each alone, if
 * they share everything twice as long. Paper 000 wanted the "sets of independent instructions that can be sustained":
 * they come out of the model of the units that explains all pairs, and are measured one by one before they are told.
 *
 * Algorithm: each operation alone, in the form that is quickest; all pairs at equal time; a model of ports
 * (method/ports.c) that explains them with the least sharing. Width: the most operations per cycle of any mix; the best
 * pair is extended to three and four kinds. The model is believed if four pairs of five come out within 6 % and four of
 * five triples, which it has not seen, within 8 %; else only what the pairs show directly is told. Bundles: sets that
 * the model says take one cycle, timed; those that do are told, fullest first. Everything runs on the core alone:
 * readings are repeated until nothing gets quicker, for a busy sibling takes half.
 *
 * When it fails: schedulers are not ideal (errors of single pairs are cut off, so they cannot bend the model); where
 * the width hides sharing (a width of one hides all of it) separate units are assumed, and the fact says so.
 */
#include "micro/micro.h"

#include "method/mixes.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { PAIRS = XR_PORT_OPS * (XR_PORT_OPS - 1) / 2, TRIPLES = 14, WIDER = XR_PORT_OPS, BUNDLES = 16, CANDIDATES = 400 };

static const double pair_tolerance = 0.06, triple_tolerance = 0.08, enough = 0.8; /* real schedulers are not ideal */
static const double quick = 1.1;                                                  /* cycles: what starts every cycle */
static const double one_cycle = 1.06;
static const double near_whole = 0.05, short_of = 0.86;
static const double own_insns = 2.5; /* up to so many instructions of a statement go as one: compare and branch */

static const struct {
	enum xr_op op;
	enum xr_type type;
} asked[] = {
	{XR_ADD, XR_I32},   {XR_SHL, XR_I32},    {XR_MUL, XR_I32},        {XR_DIV, XR_I32}, {XR_LOAD, XR_I32},
	{XR_STORE, XR_I32}, {XR_BRANCH, XR_I32}, {XR_ADD, XR_F64},        {XR_MUL, XR_F64}, {XR_FMA, XR_F64},
	{XR_DIV, XR_F64},   {XR_XOR, XR_V16I32}, {XR_SHUFFLE, XR_V16F32},
};
enum { ASKED = sizeof asked / sizeof *asked };

struct units {
	struct xr_run *run;
	struct xr_parts parts; /* only those that can be timed */
	struct xr_ports model;
	struct xr_mix pair[PAIRS], triple[TRIPLES + WIDER], bundle[BUNDLES + WIDER];
	size_t n_pairs, n_triples, n_bundles;
	double pair_hits, triple_hits;
	double seen;  /* the most slots per cycle */
	double noisy; /* the worst of all batches */
	bool believed;
};

/* ---- what is there ---- */

static const char *fact_id(struct units *u, const struct xr_part *part)
{
	return xr_arena_printf(xr_run_arena(u->run), "units.%s", part->name);
}

/* Finds the best form of each operation; those that cannot be timed get their fact now and drop out. */
static int find_parts(struct units *u)
{
	struct xr_parts *parts = &u->parts;
	int kept = 0;

	parts->run = u->run;
	parts->flavour = xr_run_info(u->run)->has_flavour[XR_NATIVE] ? XR_NATIVE : XR_PLAIN;
	for (int i = 0; i < ASKED; i++) {
		struct xr_part part = {.op = asked[i].op, .type = asked[i].type};
		part.name =
			xr_arena_printf(xr_run_arena(u->run), "%s.%s", xr_ops[part.op].name, xr_types[part.type].name);
		parts->part[parts->n++] = part;
	}
	if (xr_parts_find(parts))
		return -1;
	for (int i = 0; i < parts->n; i++) {
		const struct xr_part *part = &parts->part[i];
		bool unfused = part->op == XR_FMA && part->insns > 1.5;
		if (part->cycles <= 0)
			xr_fact_none(xr_run_description(u->run), fact_id(u, part), part->status, "%s", part->reason);
		else if (unfused)
			xr_fact_none(xr_run_description(u->run), fact_id(u, part), XR_UNSUPPORTED,
			             "the compiler makes a multiplication and an addition of it");
		else
			parts->part[kept++] = *part;
	}
	parts->n = kept;
	return 0;
}

/* ---- measuring ---- */

static struct xr_mix mix_of(const struct units *u, int n, const int *op)
{
	struct xr_mix mix = {.n = n};
	memcpy(mix.op, op, sizeof *op * (size_t)n);
	xr_mix_balance(&u->parts, &mix);
	return mix;
}

static int time_mixes(struct units *u, struct xr_mix *mix, size_t *n, bool alone)
{
	int status = xr_mixes_time(&u->parts, mix, n, alone);
	u->noisy = fmax(u->noisy, u->parts.noisy);
	return status;
}

/* All pairs. When the operations alone turn out to be quicker than they were when the pairs were balanced: again. */
static int time_pairs(struct units *u)
{
	for (int turn = 0; turn < 2; turn++) {
		double before[XR_PORT_OPS] = {0}, off = 0;
		u->n_pairs = 0;
		for (int i = 0; i < u->parts.n; i++) {
			before[i] = u->parts.part[i].cycles;
			for (int j = 0; j < i; j++)
				u->pair[u->n_pairs++] = mix_of(u, 2, (int[]){j, i});
		}
		if (time_mixes(u, u->pair, &u->n_pairs, true))
			return -1;
		for (int i = 0; i < u->parts.n; i++)
			off = fmax(off, before[i] / u->parts.part[i].cycles - 1);
		if (off < 0.08)
			break;
	}
	return 0;
}

static double slots_of(const struct units *u, const struct xr_mix *mix)
{
	double slots = 0;
	for (int i = 0; i < mix->n; i++)
		slots += mix->count[i] * u->model.op[mix->op[i]].slots;
	return slots;
}

/* Raises the width to what these mixes sustain; returns the best of them, or NULL. */
static const struct xr_mix *see_width(struct units *u, const struct xr_mix *mix, size_t n)
{
	const struct xr_mix *best = NULL;
	double most = 0;
	for (size_t i = 0; i < n; i++) {
		double rate = slots_of(u, &mix[i]) / mix[i].cycles;
		if (rate > most) {
			most = rate;
			best = &mix[i];
		}
	}
	u->seen = fmax(u->seen, most);
	u->model.width = u->seen;
	return best;
}

/* The mix and each other quick operation beside it; returns how many. */
static size_t widen(const struct units *u, const struct xr_mix *mix, struct xr_mix *out)
{
	size_t n = 0;
	for (int i = 0; i < u->parts.n && mix && mix->n < XR_MIX_OPS; i++) {
		int op[XR_MIX_OPS];
		bool there = u->parts.part[i].cycles > quick;
		for (int k = 0; k < mix->n; k++) {
			op[k] = mix->op[k];
			there |= op[k] == i;
		}
		op[mix->n] = i;
		if (!there)
			out[n++] = mix_of(u, mix->n + 1, op);
	}
	return n;
}

/* Triples that the model has not seen: any three, only one of them slow. */
static size_t draw_triples(struct units *u, struct xr_mix *out)
{
	struct xr_rng *rng = xr_run_rng(u->run);
	uint64_t n = (uint64_t)u->parts.n;
	size_t drawn = 0;
	for (int attempt = 0; attempt < 20 * TRIPLES && drawn < TRIPLES && n >= 3; attempt++) {
		int op[3] = {(int)xr_rng_below(rng, n), (int)xr_rng_below(rng, n), (int)xr_rng_below(rng, n)}, slow = 0;
		for (int k = 0; k < 3; k++)
			slow += u->parts.part[op[k]].cycles > quick;
		if (op[0] < op[1] && op[1] < op[2] && slow <= 1)
			out[drawn++] = mix_of(u, 3, op);
	}
	return drawn;
}

/* The model counts up to so many units; beyond, it would have to share what is not shared. */
static bool has_ports_enough(const struct units *u)
{
	double units = 0;
	for (int i = 0; i < u->parts.n; i++)
		units = fmax(units, 1 / u->parts.part[i].cycles);
	return units <= XR_PORTS / 4;
}

static void fit(struct units *u)
{
	for (int i = 0; i < u->parts.n; i++)
		u->model.op[i].cycles = u->parts.part[i].cycles;
	u->model.width = xr_snap_integer(u->model.width, near_whole * u->model.width);
	xr_ports_fit(&u->model, u->pair, u->n_pairs, xr_run_rng(u->run));
	u->pair_hits = xr_ports_hits(&u->model, u->pair, u->n_pairs, pair_tolerance);
	u->triple_hits = xr_ports_hits(&u->model, u->triple, u->n_triples, triple_tolerance);
	u->believed = u->pair_hits >= enough && u->triple_hits >= enough && has_ports_enough(u);
}

/* ---- bundles ---- */

struct candidates {
	struct xr_mix mix[CANDIDATES];
	int n;
	double width; /* slots of a bundle at most */
};

static double operations_in(const struct xr_mix *mix)
{
	double n = 0;
	for (int i = 0; i < mix->n; i++)
		n += mix->count[i];
	return n;
}

static bool fits_cycle(const struct units *u, const struct xr_mix *mix, double width)
{
	enum { WIDEST = 64 }; /* operations in a cycle that any core could start: readings may say they take no time */
	return operations_in(mix) <= WIDEST && xr_ports_predict(&u->model, mix) <= one_cycle &&
	       slots_of(u, mix) <= width;
}

/* Sets that the model says take one cycle, and to which nothing can be added: operation `next` and later ones may
 * join. */
static void collect(const struct units *u, struct candidates *c, const struct xr_mix *mix, int next)
{
	bool full = true;
	for (int i = 0; i < u->parts.n && mix->n < XR_MIX_OPS; i++) {
		struct xr_mix more = *mix;
		int k = 0;
		while (k < mix->n && mix->op[k] != i)
			k++;
		if (k == mix->n) {
			more.op[more.n] = i;
			more.count[more.n++] = 0;
		}
		more.count[k]++;
		if (u->parts.part[i].cycles > quick || !fits_cycle(u, &more, c->width))
			continue;
		full = false;
		if (i >= next && c->n < CANDIDATES)
			collect(u, c, &more, i);
	}
	if (full && mix->n && c->n < CANDIDATES)
		c->mix[c->n++] = *mix;
}

/* How much a candidate brings: kinds of operations not yet shown count most, then many of them. */
static double interest(const struct xr_mix *mix, const int *shown)
{
	double score = 0;
	for (int i = 0; i < mix->n; i++)
		score += 1.0 / (1 + shown[mix->op[i]]) + 0.1 * mix->count[i];
	return score;
}

/* Up to `most` bundles of at most `width` slots; returns how many. */
static size_t choose_bundles(const struct units *u, double width, struct xr_mix *out, size_t most)
{
	struct candidates *c = xr_arena_alloc(xr_run_arena(u->run), sizeof *c);
	struct xr_mix none = {.n = 0};
	int shown[XR_PORT_OPS] = {0};
	size_t n = 0;

	c->width = width;
	collect(u, c, &none, 0);
	for (; n < most; n++) {
		struct xr_mix *best = NULL;
		for (int i = 0; i < c->n; i++)
			if (c->mix[i].n && (!best || interest(&c->mix[i], shown) > interest(best, shown)))
				best = &c->mix[i];
		if (!best)
			break;
		out[n] = *best;
		for (int k = 0; k < best->n; k++)
			shown[best->op[k]]++;
		best->n = 0;
	}
	return n;
}

/* ---- telling ---- */

/* "4 units; shares 2 with add.f64 mul.f64, 1 with mul.i32" */
static const char *sentence(const struct units *u, int op)
{
	struct xr_arena *arena = xr_run_arena(u->run);
	const struct xr_port_op *o = &u->model.op[op];
	int most = xr_port_count(o->ports);
	const char *text =
		o->apart ? "a unit of its own" : xr_arena_printf(arena, "%d unit%s", most, most == 1 ? "" : "s");
	bool first = true;
	for (int shared = most; shared > 0; shared--) {
		const char *with = "";
		for (int i = 0; i < u->parts.n; i++)
			if (i != op && xr_port_count(o->ports & u->model.op[i].ports) == shared)
				with = xr_arena_printf(arena, "%s %s", with, u->parts.part[i].name);
		if (!*with)
			continue;
		text = xr_arena_printf(arena, "%s%s %d with%s", text, first ? "; shares" : ",", shared, with);
		first = false;
	}
	return text;
}

static const char *const noisy_reason = "samples differ too much: something else runs on this core";

static bool is_noisy(const struct units *u)
{
	return u->noisy > 0.25;
}

static void put_counts(struct units *u)
{
	for (int i = 0; i < u->parts.n; i++) {
		const struct xr_part *part = &u->parts.part[i];
		/* front ends fall short of what the units could do, now and then; nothing makes them do more */
		double rate = 1 / part->cycles, whole = fmax(1, ceil(rate * (1 - near_whole)));
		bool sharp = rate < 1 || rate >= short_of * whole;
		double sure = !sharp ? 0.6 : rate > 1 && rate < (1 - near_whole) * whole ? 0.8 : 0.95;
		const char *capped = whole > u->model.width - 0.5
		                             ? "; the core starts no more per cycle, there may be more units"
		                             : "";
		int wide = u->believed && !u->model.op[i].apart ? xr_port_count(u->model.op[i].ports) : 0;
		struct xr_fact *fact = xr_fact_count(xr_run_description(u->run), fact_id(u, part),
		                                     (long long)fmax(whole, wide), "", sure, "independent operations");
		if (is_noisy(u))
			xr_fact_doubt(fact, "%s", noisy_reason);
		else if (!sharp)
			xr_fact_doubt(fact, "%.2f are started per cycle, no whole number", rate);
		else if (u->believed)
			xr_fact_note(fact, "%s%s", sentence(u, i), capped);
		else if (*capped)
			xr_fact_note(fact, "the core starts no more per cycle, there may be more units");
	}
}

static void put_width(struct units *u)
{
	double width = xr_snap_integer(u->seen, near_whole * u->seen);
	bool whole = width == round(width);
	struct xr_fact *fact =
		xr_fact_number(xr_run_description(u->run), "units.width", whole ? width : round(width * 100) / 100, "",
	                       whole ? 0.95 : 0.75, "quickest mix");
	if (is_noisy(u))
		xr_fact_doubt(fact, "%s", noisy_reason);
	else if (!whole)
		xr_fact_note(fact, "no mix starts a whole number per cycle; the core may be able to start more");
	else if (fabs(width - u->seen) > 0.01 * width)
		xr_fact_note(fact, "%.2f were seen", u->seen);
}

static json_t *names_on_port(const struct units *u, int port)
{
	json_t *names = json_array();
	for (int i = 0; i < u->parts.n; i++)
		if (u->model.op[i].ports >> port & 1)
			json_array_append_new(names, json_string(u->parts.part[i].name));
	return names;
}

/* One list per unit: what runs on it. */
static json_t *groups(const struct units *u)
{
	json_t *list = json_array();
	for (int i = 0; i < u->parts.n; i++) /* ordered by their first operation */
		for (int p = 0; p < XR_PORTS; p++) {
			bool first = u->model.op[i].ports >> p & 1;
			for (int k = 0; k < i; k++)
				first &= !(u->model.op[k].ports >> p & 1);
			if (first)
				json_array_append_new(list, names_on_port(u, p));
		}
	for (int i = 0; i < u->parts.n; i++)
		if (u->model.op[i].apart)
			json_array_append_new(list, json_pack("[s]", u->parts.part[i].name));
	return list;
}

/* What the pairs show by themselves: those that get in each other's way. */
static json_t *competing_pairs(const struct units *u)
{
	json_t *list = json_array();
	for (size_t i = 0; i < u->n_pairs; i++) {
		const struct xr_mix *m = &u->pair[i];
		double a = m->count[0] * u->parts.part[m->op[0]].cycles,
		       b = m->count[1] * u->parts.part[m->op[1]].cycles;
		double issue = u->model.width > 0 ? slots_of(u, m) / u->model.width : 0;
		if (m->cycles - fmax(fmax(a, b), issue) >= 0.2 * fmin(a, b))
			json_array_append_new(
				list, json_pack("[ss]", u->parts.part[m->op[0]].name, u->parts.part[m->op[1]].name));
	}
	return list;
}

/* Pairs for which the width alone explains the time, shared units or not. */
static size_t hidden_pairs(const struct units *u)
{
	size_t hidden = 0;
	for (size_t i = 0; i < u->n_pairs; i++) {
		const struct xr_mix *m = &u->pair[i];
		double a = m->count[0] * u->parts.part[m->op[0]].cycles,
		       b = m->count[1] * u->parts.part[m->op[1]].cycles;
		hidden += slots_of(u, m) / u->model.width > fmax(a, b) + 0.5 * fmin(a, b);
	}
	return hidden;
}

static void put_groups(struct units *u)
{
	struct xr_description *d = xr_run_description(u->run);
	struct xr_fact *fact;
	double x[PAIRS], y[PAIRS];

	if (u->parts.n < 2) {
		xr_fact_none(d, "units.groups", XR_UNSUPPORTED, "there is nothing to compare");
		return;
	}
	if (u->believed)
		fact = xr_fact_put(d, "units.groups", groups(u), "",
		                   u->pair_hits > 0.9 && u->triple_hits > 0.9 ? 0.95 : 0.85,
		                   "port model of pairs, proven on triples");
	else
		fact = xr_fact_put(d, "units.groups", competing_pairs(u), "", 0.6, "pairs at equal time");
	for (size_t i = 0; i < u->n_pairs; i++) {
		x[i] = xr_ports_predict(&u->model, &u->pair[i]);
		y[i] = u->pair[i].cycles;
	}
	xr_series_put(d, "units.pairs", "time by the model", "cycles", x, "time of a pair", "cycles", y, u->n_pairs);
	xr_fact_add_series(fact, "units.pairs");
	if (is_noisy(u))
		xr_fact_doubt(fact, "%s", noisy_reason);
	else if (!u->believed)
		xr_fact_doubt(
			fact,
			"no model of units explains enough (%.0f %% of pairs, %.0f %% of triples): pairs that compete",
			100 * u->pair_hits, 100 * u->triple_hits);
	else if (hidden_pairs(u))
		xr_fact_note(fact, "one list per unit; for %zu of %zu pairs the width hides whether they share units",
		             hidden_pairs(u), u->n_pairs);
	else
		xr_fact_note(fact, "one list per unit");
}

static json_t *bundle_names(const struct units *u, const struct xr_mix *mix)
{
	json_t *names = json_array();
	for (int i = 0; i < mix->n; i++)
		for (int k = 0; k < (int)mix->count[i]; k++)
			json_array_append_new(names, json_string(u->parts.part[mix->op[i]].name));
	return names;
}

static void put_bundles(struct units *u)
{
	struct xr_description *d = xr_run_description(u->run);
	json_t *list = json_array();
	size_t timed = 0;
	for (size_t i = 0; i < u->n_bundles; i++) {
		if (!fits_cycle(u, &u->bundle[i], INFINITY))
			continue; /* one of the wide mixes */
		timed++;
		if (u->bundle[i].cycles <= one_cycle)
			json_array_append_new(list, bundle_names(u, &u->bundle[i]));
	}
	if (!json_array_size(list)) {
		json_decref(list);
		xr_fact_none(d, "units.bundles", XR_UNRELIABLE, "none of %zu sets that should take one cycle does",
		             timed);
		return;
	}
	struct xr_fact *fact = xr_fact_put(d, "units.bundles", list, "", 0.95, "each timed by itself");
	xr_fact_note(fact, "%zu of %zu sets that should sustain one per cycle do", json_array_size(list), timed);
}

static int run(struct xr_run *run)
{
	struct units *u = xr_arena_alloc(xr_run_arena(run), sizeof *u);

	u->run = run;
	if (find_parts(u))
		return -1;
	xr_run_progress(run, 0.2, "pairs");
	if (time_pairs(u))
		return -1;
	u->model.n_ops = u->parts.n;
	for (int i = 0; i < u->parts.n; i++) {
		u->model.op[i].slots = u->parts.part[i].insns > own_insns ? u->parts.part[i].insns : 1;
		u->seen = fmax(u->seen, u->model.op[i].slots / u->parts.part[i].cycles);
	}
	xr_run_progress(run, 0.5, "triples");
	size_t drawn = draw_triples(u, u->triple);
	u->n_triples = drawn + widen(u, see_width(u, u->pair, u->n_pairs), u->triple + drawn);
	if (time_mixes(u, u->triple, &u->n_triples, false))
		return -1;
	const struct xr_mix *widest = see_width(u, u->triple, u->n_triples);
	fit(u);
	xr_run_progress(run, 0.75, "bundles");
	/* half of them as full as can be, half one short of it: front ends seldom reach their width */
	u->n_bundles = choose_bundles(u, u->model.width, u->bundle, BUNDLES / 2);
	u->n_bundles += choose_bundles(u, u->model.width - 1, u->bundle + u->n_bundles, BUNDLES / 2);
	u->n_bundles += widen(u, widest, u->bundle + u->n_bundles);
	if (time_mixes(u, u->bundle, &u->n_bundles, false))
		return -1;
	see_width(u, u->bundle, u->n_bundles);
	fit(u);
	put_width(u);
	put_counts(u);
	put_groups(u);
	put_bundles(u);
	return 0;
}

static const char *const finds[] = {"units.width",
                                    "units.groups",
                                    "units.bundles",
                                    "units.add.i32",
                                    "units.shl.i32",
                                    "units.mul.i32",
                                    "units.div.i32",
                                    "units.load.i32",
                                    "units.store.i32",
                                    "units.branch.i32",
                                    "units.add.f64",
                                    "units.mul.f64",
                                    "units.fma.f64",
                                    "units.div.f64",
                                    "units.xor.v16i32",
                                    "units.shuffle.v16f32",
                                    NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_units = {
	.id = "units",
	.title = "operations per cycle, units, who competes for them, bundles",
	.finds = finds,
	.needs = needs,
	.cost_s = 4,
	.kinds = 1u << XR_OPS | XR_WITH_COMPILER,
	.run = run,
};
