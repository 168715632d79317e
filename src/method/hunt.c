/* SPDX-License-Identifier: MIT */
#include "method/hunt.h"

#include "infer/ways.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	LEAN, /* curves of the first stride */
	FULL,
	OTHER, /* and those of the others: one for each doubling and kind */
	LOOKS = 4,
	FEWER = 2,
	SAMPLES = 6,
	REFINE = 8, /* rows between, at once */
	TIMES = 5,
	ROUNDS = 8,
	AT_ONCE = 4,
	POOL = 400,
	BLOCKS = 640, /* of a question: longer laps take longer than they tell */
};
/* Nats: what tells less than a question that doubles the odds one time in thirty will not be asked. */
static const double telling = 0.02;
static const double in_play = 12; /* nats behind the likeliest: e^-12 is one in 160000 */

/* Questions of a round. */
struct round {
	size_t at[XR_JUMPS_MAX], n;
};

/* What was asked before is asked again: its looks add up. */
static void ask(struct xr_hunt *h, struct round *round, unsigned curve, unsigned statements, uint64_t stride,
                unsigned count, unsigned rows)
{
	struct xr_arena *arena = xr_run_arena(h->j.run);
	const unsigned n = count * rows;
	const uint64_t block = h->j.block[statements > 0];
	uint64_t *address = xr_arena_array(arena, uint64_t, 2 * n), *twin = address + n;
	for (size_t i = 0; i < h->j.n; i++)
		if (h->j.point[i].curve == curve && h->j.point[i].count == count) {
			round->at[round->n++] = i;
			return;
		}
	h->place(h, stride, count, rows, block, address, twin);
	const size_t at = xr_jumps_add(&h->j, curve, statements, count, address, twin, n);
	if (at == h->j.n)
		return;
	h->j.point[at].differ = h->crowded ? XR_TWINS_DIFFER : 0; /* so much code misses other arrays, too */
	round->at[round->n++] = at;
}

static bool has_room(const struct xr_hunt *h, uint64_t stride, unsigned count)
{
	return count * stride + h->spare <= h->j.bytes;
}

/* As many that their twins, packed, take no more than a page: those never conflict. Or a crowd. */
static unsigned rows_of(const struct xr_hunt *h, uint64_t stride, unsigned count)
{
	if (h->crowded) {
		const unsigned most = (unsigned)(h->j.unit / h->j.block[1]), crowd = h->crowd / count;
		return !crowd ? 1 : crowd < most ? crowd : most;
	}
	unsigned rows = stride / h->j.unit < h->rows ? (unsigned)(stride / h->j.unit) : h->rows;
	while (rows > 1 && rows * count * h->j.block[h->may_decode] > h->j.page)
		rows /= 2;
	return rows ? rows : 1;
}

static void ask_both(struct xr_hunt *h, struct round *round, unsigned count)
{
	const unsigned rows = rows_of(h, h->stride, count);
	if (!h->crowded)
		ask(h, round, LEAN, 0, h->stride, count, rows);
	if (h->may_decode)
		ask(h, round, FULL, XR_BLOCK_MANY, h->stride, count, rows);
}

static int look(struct xr_hunt *h, const struct round *round, int looks)
{
	for (int i = 0; i < looks && !h->j.trouble; i++)
		if (xr_jumps_look(&h->j, round->at, round->n, SAMPLES, i ? 1 : 0.3) != 0)
			return -1;
	return 0;
}

/* ---- the first stride
 * --------------------------------------------------------------------------------------------- */

static int climb(struct xr_hunt *h, unsigned to)
{
	struct round round = {.n = 0};
	for (unsigned count = h->tried ? h->tried + 1 + h->tried / 8 : h->first; count <= to;
	     count += count < 12 ? 1 : count / 8) {
		if (!has_room(h, h->stride, count))
			break;
		ask_both(h, &round, count);
		h->tried = count;
	}
	return look(h, &round, LOOKS);
}

/* There are thousands of hypotheses: this may take as long as asking. */
static int begin(struct xr_hunt *h)
{
	h->s.stride = h->stride / h->j.unit;
	h->s.may_decode = h->may_decode && !h->crowd;
	h->s.may_hide = h->crowd && !h->crowded;
	h->s.c.watch = xr_run_watch(h->j.run);
	xr_stack_begin(&h->s, xr_run_arena(h->j.run), h->j.point, h->j.n);
	h->best = xr_belief_best(&h->s.belief, NULL);
	return xr_run_go_on(h->j.run);
}

static unsigned capacity_of(const struct xr_hunt *h, size_t i)
{
	return xr_stack_capacity(&h->s, i);
}

/* Of the array nearest to the core: where decoded code has its step, nothing further is waited for. */
static unsigned first_capacity(const struct xr_hunt *h)
{
	return h->s.h[h->best].decoded ? h->s.h[h->best].model.first.ways : capacity_of(h, h->best);
}

static int first_curve(struct xr_hunt *h)
{
	unsigned before = 0;
	for (unsigned to = h->enough; to <= h->most; to *= 2) {
		if (climb(h, to) != 0)
			return -1;
		if (h->j.trouble || h->tried == before)
			break;
		before = h->tried;
		if (begin(h) != 0)
			return -1;
		if (h->best < h->s.n && 2 * first_capacity(h) <= h->tried)
			return 0; /* further arrays only make it harder to see this one */
	}
	h->no_step = !h->j.trouble && h->best < h->s.n && capacity_of(h, h->best) >= h->tried;
	return 0;
}

static bool was_asked(const struct xr_hunt *h, unsigned count)
{
	for (size_t i = 0; i < h->j.n; i++)
		if (h->j.point[i].curve <= FULL && h->j.point[i].count == count)
			return true;
	return false;
}

/* Rows between those that were asked, where hypotheses in play differ. */
static int refine(struct xr_hunt *h)
{
	for (int time = 0; time < TIMES && !h->j.trouble; time++) {
		unsigned lo = h->tried, hi = 1, asked = 0;
		struct round round = {.n = 0};
		for (size_t i = 0; i < h->s.n; i++)
			if (h->s.belief.log[i] > h->s.belief.log[h->best] - in_play) {
				const unsigned c = capacity_of(h, i);
				lo = c < lo ? c : lo;
				hi = c > hi ? c : hi;
			}
		lo = lo > 1 ? lo - 1 : 1;
		hi = hi + 2 < h->tried ? hi + 2 : h->tried;
		for (unsigned c = lo; c <= hi && asked < REFINE; c += 1 + (hi - lo) / REFINE)
			if (!was_asked(h, c)) {
				ask_both(h, &round, c);
				asked++;
			}
		if (!asked)
			return 0;
		if (look(h, &round, LOOKS) != 0 || begin(h) != 0)
			return -1;
		if (h->best >= h->s.n)
			return 0;
	}
	return 0;
}

/* The rows on which the answer rests once more, twice: a neighbour who comes along just then makes a full row miss. */
static int confirm(struct xr_hunt *h)
{
	for (int time = 0; time < 2 && !h->j.trouble && h->best < h->s.n; time++) {
		const unsigned capacity = capacity_of(h, h->best);
		struct round round = {.n = 0};
		for (unsigned c = capacity > 1 ? capacity - 1 : 1; c <= capacity + 1; c++)
			ask_both(h, &round, c);
		if (look(h, &round, FEWER) != 0 || begin(h) != 0)
			return -1;
	}
	return 0;
}

/* ---- other strides
 * ------------------------------------------------------------------------------------------------- */

struct candidate {
	struct xr_conflict_point q;
	uint64_t stride;
	unsigned rows, asked;
};

/* Rows of one stride, of up to so many units. */
static size_t add_stride(struct xr_hunt *h, bool full, uint64_t stride, double longest, struct candidate *pool,
                         size_t n)
{
	for (unsigned count = 2; n < POOL && count <= longest; count += 1 + count / 8) {
		struct candidate *c = &pool[n];
		*c = (struct candidate){.stride = stride * h->j.unit};
		c->rows = rows_of(h, c->stride, count);
		const unsigned visits = count * c->rows;
		if (visits > BLOCKS || !has_room(h, c->stride, count))
			break;
		uint64_t *place = xr_arena_array(xr_run_arena(h->j.run), uint64_t, 2 * visits);
		h->place(h, c->stride, count, c->rows, h->j.block[full], place, place + visits);
		for (unsigned i = 0; i < visits; i++)
			place[i] /= h->j.unit;
		c->q = (struct xr_conflict_point){.full = full, .count = count, .place = place, .n = visits};
		n++;
	}
	return n;
}

/* Strides that double, from one unit to beyond the largest way in play, with counts somewhat beyond what may fit:
 * longer rows meet what lies behind, of which less is known. Three and five times a power of two where sets may
 * be that. Where the index may be folded, one more than the sets: both fields of the number grow alike, and what all
 * other strides spread over the sets meets in one. */
static size_t make_pool(struct xr_hunt *h, bool full, struct candidate *pool)
{
	const double longest = capacity_of(h, 0);
	unsigned odds = 1u << 1;
	uint64_t widest = 1, folded = 1;
	double fits = 1;
	size_t n = 0;
	for (size_t i = 0; i < h->s.n; i++) {
		const struct xr_conflict_array *a = xr_stack_array(&h->s.h[i]);
		for (unsigned odd = 3; odd <= 5; odd += 2)
			odds |= a->sets % odd == 0 ? 1u << odd : 0;
		widest = a->sets > widest ? a->sets : widest;
		folded = a->fold && a->sets > folded ? a->sets : folded;
		fits = fmax(fits, (double)a->sets * a->ways);
	}
	for (unsigned odd = 1; odd <= 5; odd += 2)
		for (uint64_t stride = odd; odds & 1u << odd && stride <= 2 * widest; stride *= 2)
			n = add_stride(h, full, stride, fmax(1.5 * fits / (double)stride, 1.5 * longest + 1), pool, n);
	for (uint64_t sets = 2; sets <= folded; sets *= 2)
		n = add_stride(h, full, sets + 1, 1.5 * fits / (double)sets, pool, n);
	return n;
}

static int ask_best(struct xr_hunt *h, bool full, struct candidate *pool, size_t n, double *most)
{
	struct round round = {.n = 0};
	double tells[POOL] = {0};
	for (size_t i = 0; i < n; i++) /* per visit: a longer lap takes longer */
		tells[i] = pool[i].asked >= XR_CONFLICT_LOOKS / FEWER ? 0 : xr_stack_tells(&h->s, &pool[i].q);
	*most = n ? xr_max(tells, n) : 0;
	for (int k = 0; k<AT_ONCE && * most> telling; k++) {
		size_t best = 0;
		for (size_t i = 1; i < n; i++)
			if (tells[i] / sqrt(pool[i].q.n) > tells[best] / sqrt(pool[best].q.n))
				best = i;
		if (tells[best] < telling)
			break;
		unsigned name = 0; /* of the curve: a number for each stride */
		for (size_t i = 0; i < best; i++)
			name += pool[i].stride != pool[i + 1].stride;
		ask(h, &round, OTHER + 2 * name + full, full ? XR_BLOCK_MANY : 0, pool[best].stride, pool[best].q.count,
		    pool[best].rows);
		pool[best].asked++;
		for (size_t i = 0; i < n; i++) /* neighbours would say the same: look elsewhere, too */
			if (pool[i].stride == pool[best].stride &&
			    fabs(log((double)pool[i].q.count / pool[best].q.count)) < 0.2)
				tells[i] = 0;
	}
	return round.n ? look(h, &round, FEWER) : 0;
}

static int geometry(struct xr_hunt *h)
{
	struct candidate *pool = xr_arena_array(xr_run_arena(h->j.run), struct candidate, POOL);
	const bool full = h->crowded || h->s.h[h->best].decoded;
	double most;
	xr_stack_geometry(&h->s, h->s.stride * h->tried);
	if (xr_run_go_on(h->j.run) != 0)
		return -1;
	const size_t n = make_pool(h, full, pool);
	h->best = xr_stack_best(&h->s, &h->p, &h->p_capacity);
	for (int round = 0; round < ROUNDS && h->j.n + AT_ONCE < XR_JUMPS_MAX; round++) {
		if (ask_best(h, full, pool, n, &most) != 0)
			return -1;
		if (h->j.trouble || most <= telling)
			break;
		xr_stack_again(&h->s, h->j.point, h->j.n);
		h->best = xr_stack_best(&h->s, &h->p, &h->p_capacity);
	}
	return xr_run_go_on(h->j.run);
}

/* ---- whether pages matter ---------------------------------------------------------------------------------------- */

/* Nats for "each look is a draw of its own" against "all looks at this question see the same". */
static double nats_of_luck(const struct xr_conflict_point *p, const struct xr_noise *noise, double highest)
{
	double ratio[XR_CONFLICT_LOOKS], sum = 0;
	for (unsigned k = 0; k < p->looks; k++)
		ratio[k] = p->cycles[k] / p->base[k];
	const double middle = xr_median(ratio, p->looks);
	for (unsigned k = 0; k < p->looks; k++) { /* by luck: everything fits there, or anything is possible */
		const double fits = xr_noise_log(noise, 1, ratio[k], 0),
			     any = xr_noise_log_none(noise, 1, highest, ratio[k]);
		const double most = fmax(fits, any);
		sum += most + log((exp(fits - most) + exp(any - most)) / 2);
		sum -= xr_noise_log(noise, middle, ratio[k], 0);
	}
	return sum;
}

/* Every look is at other pages. Rows that are said to fit do so in all of them, unless sets depend on where pages lie
 * in memory: then some overflow, at this place or at that. */
static bool by_luck(struct xr_hunt *h)
{
	enum { LEAST_LOOKS = 3 };
	const unsigned capacity = capacity_of(h, h->best);
	struct xr_noise noise = h->s.c.noise;
	double highest = 2, nats = 0;
	noise.sigma *= M_SQRT2; /* of a ratio */
	for (size_t i = 0; i < h->j.n; i++)
		for (unsigned k = 0; k < h->j.point[i].looks; k++)
			highest = fmax(highest, h->j.point[i].cycles[k] / h->j.point[i].base[k]);
	for (size_t i = 0; i < h->j.n; i++) {
		const struct xr_conflict_point *p = &h->j.point[i];
		if (p->curve <= FULL && p->looks >= LEAST_LOOKS && p->count > capacity / 2 && p->count <= capacity)
			nats += nats_of_luck(p, &noise, highest);
	}
	const double luck = 1 / (1 + exp(-nats));
	h->p *= 1 - luck;
	h->p_capacity *= 1 - luck;
	return luck > 0.5;
}

/* The answer rests on the rows just up to what fits and just beyond, and on their twins: the chance that none of them was
 * lengthened in so many looks that it misleads. */
static double undisturbed(const struct xr_hunt *h)
{
	const unsigned capacity = h->best < h->s.n ? capacity_of(h, h->best) : 0,
		       kind = h->crowded || (h->best < h->s.n && h->s.h[h->best].decoded) ? FULL : LEAN;
	double sure = 1;
	for (size_t i = 0; i < h->j.n; i++) {
		const struct xr_conflict_point *p = &h->j.point[i];
		if (p->curve == kind && p->count + 1 >= capacity && p->count <= capacity + 1)
			sure *= pow(1 - xr_conflict_misled(&h->s.c, p->looks), 2);
	}
	return sure;
}

int xr_hunt_run(struct xr_hunt *h)
{
	h->best = h->s.n = 0;
	h->p = h->p_capacity = 0;
	if (xr_jumps_learn(&h->j, 0) != 0 || (h->may_decode && xr_jumps_learn(&h->j, XR_BLOCK_MANY) != 0))
		return -1;
	if (first_curve(h) != 0)
		return -1;
	if (h->crowd && !h->j.trouble && (h->best >= h->s.n || h->s.h[h->best].hidden)) { /* again, with a crowd */
		h->crowded = true;
		h->no_step = false;
		h->j.n = h->tried = 0;
		if (first_curve(h) != 0)
			return -1;
	}
	if (h->j.trouble || h->no_step || h->best >= h->s.n)
		return 0;
	if (refine(h) != 0 || confirm(h) != 0)
		return -1;
	if (h->j.trouble || h->best >= h->s.n)
		return 0;
	if (geometry(h) != 0)
		return -1;
	h->luck = h->physical && !h->j.trouble && h->best < h->s.n && by_luck(h);
	const double sure = undisturbed(h);
	h->p = fmin(h->p, sure);
	h->p_capacity = fmin(h->p_capacity, sure);
	return 0;
}

/* The same sets and ways without a level behind, where that is thought of, too: a curve just beyond what fits
 * cannot tell what a policy does from what such a level does. */
double xr_hunt_penalty(const struct xr_hunt *h)
{
	if (h->best >= h->s.n)
		return 0;
	const struct xr_stack_hypothesis *best = &h->s.h[h->best];
	for (size_t i = h->best; i < h->s.n && !best->decoded; i++)
		if (!h->s.h[i].model.second.ways && h->s.h[i].model.first.sets == best->model.first.sets &&
		    h->s.h[i].model.first.ways == best->model.first.ways &&
		    xr_stack_capacity(&h->s, i) + 2 >= best->model.second.ways)
			return h->s.h[i].penalty[0];
	return best->penalty[best->decoded];
}

void xr_hunt_series(const struct xr_hunt *h, unsigned curve, const char *id, const char *unit)
{
	struct xr_arena *arena = xr_run_arena(h->j.run);
	double *x = xr_arena_array(arena, double, h->j.n + 1), *y = xr_arena_array(arena, double, h->j.n + 1);
	size_t n = 0;
	for (unsigned count = 0; count <= h->tried; count++) /* in their order */
		for (size_t i = 0; i < h->j.n; i++) {
			const struct xr_conflict_point *p = &h->j.point[i];
			if (p->curve != curve || p->count != count || !p->looks)
				continue;
			x[n] = count;
			y[n++] = (xr_conflict_ratio(p) - 1) * xr_conflict_base(p);
			break;
		}
	if (n)
		xr_series_put(xr_run_description(h->j.run), id, unit, unit, x, "excess", "cycles", y, n);
}

/* ---- where times repeat exactly --------------------------------------------------------------------------------- */

/* Blocks of these rows, then their twins. */
static uint64_t *lay_out(const struct xr_hunt *h, const struct xr_rows *rows)
{
	const unsigned n = rows->n + rows->more;
	uint64_t *address = xr_arena_array(xr_run_arena(h->j.run), uint64_t, 2 * n);
	if (!rows->more) {
		h->place(h, rows->stride, n, 1, h->j.block[0], address, address + n);
		return address;
	}
	for (unsigned i = 0; i < n; i++)
		address[i] = i * rows->stride + (i < rows->n ? 0 : rows->delta);
	xr_jumps_pack(address, n, h->j.page, h->j.block[0], address + n);
	return address;
}

int xr_hunt_fits(void *self, const struct xr_rows *rows, bool *fit)
{
	static const enum xr_walk_kind kind[] = {XR_PATTERN, XR_JUMPS};
	const double least = 4; /* cycles that a lap with a miss takes more: no level behind another is nearer */
	struct xr_hunt *h = self;
	const unsigned n = rows->n + rows->more;
	const uint64_t *address = lay_out(h, rows);
	*fit = false;
	for (int i = 0; i < 2 && !*fit; i++) {
		double cycles;
		if (xr_jumps_excess(&h->j, kind[i], address, address + n, n, &cycles) != 0)
			return -1;
		*fit = cycles * n < least; /* NaN: no */
	}
	return 0;
}

int xr_hunt_cost(struct xr_hunt *h, uint64_t way, unsigned ways, double *cycles, bool *by_chance)
{
	const double same =
		0.02; /* with random replacement one in 50 is left of four times the ways: h = exp(-4 (1 - h)) */
	const unsigned count[] = {ways + 1, ways + 2, 2 * ways + 1, 3 * ways, 4 * ways, 6 * ways};
	const double most_miss = 0.5; /* of one line too many: with tree-PLRU half do, at random two of ways + 2 */
	double first = 0, last = 0, each = 0;
	*cycles = 0;
	*by_chance = false;
	for (size_t i = 0; i < sizeof count / sizeof *count && count[i] * way + h->spare <= h->j.bytes; i++) {
		const struct xr_rows rows = {.stride = way, .n = count[i]};
		const uint64_t *address = lay_out(h, &rows);
		if (xr_jumps_excess(&h->j, XR_PATTERN, address, address + rows.n, rows.n, &each) != 0)
			return -1;
		first = i ? first : each;
		if (each > 0 && fabs(each - last) < same * each) {
			*cycles = xr_snap_integer(each, fmax(0.25, same * each)); /* they are whole numbers */
			*by_chance = first < most_miss * each;
			return 0;
		}
		last = each;
	}
	return 0;
}
