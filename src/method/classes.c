/* Classes, see classes.h. */
#include "method/classes.h"

#include <string.h>

enum {
	BLOCKS = 24,    /* per round of thinning */
	FAN = 7,        /* beginnings tried at once */
	TESTS = 48,     /* candidates tested at once */
	CORE_MAX = 256, /* more, and it is no class */
	SOLID = 2,      /* times in a row */
	ROUNDS = 24,
	TURNS = 4,    /* asked at most */
	ATTEMPTS = 5, /* to find the machine quiet */
};

static const double border = 0.4;
static const double visits_max = 8e5;

/* How far out x is, 0: in the level, 1: in the next. */
static double distance(const struct xr_class *c, double value)
{
	return (value - c->near) / (c->far - c->near);
}

/* Values of n sets, and of the control beside them; asked again as long as the control is pushed out too. */
static int quiet_values(struct xr_class *c, const struct xr_items *sets, size_t n, double *value)
{
	struct xr_items *all = xr_arena_array(xr_run_arena(c->evict->run), struct xr_items, n + 1);

	memcpy(all, sets, n * sizeof *sets);
	all[n] = c->control;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (xr_evict_values(c->evict, c->x, all, n + (c->control.n > 0), value) != 0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			double visits = xr_evict_visits(c->evict, sets[i].n);

			c->left -= visits;
			c->spent += visits;
		}
		if (c->control.n == 0 || distance(c, value[n]) < border)
			break;
	}
	return 0;
}

/* As long as everything fits, nothing of x goes, once the caches have settled; when it does not fit, some of its lines
 * go, if not always all of them. So the border is low; whoever is near it is asked again. */
static int pushes_out(struct xr_class *c, const struct xr_items *sets, size_t n, bool *yes)
{
	struct xr_arena *arena = xr_run_arena(c->evict->run);
	double *value = xr_arena_array(arena, double, n + 1), *sum = xr_arena_array(arena, double, n);
	struct xr_items *open = xr_arena_array(arena, struct xr_items, n);
	size_t *of = xr_arena_array(arena, size_t, n), k = n;

	memcpy(open, sets, n * sizeof *sets);
	for (size_t i = 0; i < n; i++)
		of[i] = i;
	for (int turn = 1; turn <= TURNS && k > 0; turn++) {
		size_t still = 0;

		if (quiet_values(c, open, k, value) != 0)
			return -1;
		for (size_t i = 0; i < k; i++) {
			double mean = (sum[of[i]] += distance(c, value[i])) / turn;

			yes[of[i]] = mean > border;
			if (mean > border / 2 && mean < border * 2) {
				open[still] = open[i];
				of[still++] = of[i];
			}
		}
		k = still;
	}
	return 0;
}

/* Time and again? */
static int pushes_out_always(struct xr_class *c, const uint32_t *item, size_t n, bool *always)
{
	struct xr_items set[SOLID];
	bool yes[SOLID];

	for (int i = 0; i < SOLID; i++)
		set[i] = (struct xr_items){item, n};
	if (pushes_out(c, set, SOLID, yes) != 0)
		return -1;
	*always = true;
	for (int i = 0; i < SOLID; i++)
		*always = *always && yes[i];
	return 0;
}

/* The shortest beginning of the candidates that pushes x out; n + 1: none does. */
static int last_straw(struct xr_class *c, const uint32_t *candidate, size_t n, size_t *result)
{
	size_t good = 0, bad = n; /* does not push out, does */
	struct xr_items set[FAN];
	bool yes[FAN];

	set[0] = (struct xr_items){candidate, n};
	if (pushes_out(c, set, 1, yes) != 0)
		return -1;
	if (!yes[0]) {
		*result = n + 1;
		return 0;
	}
	while (bad - good > 1) {
		size_t k = 0, gap = bad - good;

		for (size_t i = 1; i <= FAN; i++) {
			size_t at = good + gap * i / (FAN + 1);

			if (at > good && at < bad && (k == 0 || at > set[k - 1].n))
				set[k++] = (struct xr_items){candidate, at};
		}
		if (pushes_out(c, set, k, yes) != 0)
			return -1;
		for (size_t i = 0; i < k; i++)
			if (!yes[i])
				good = set[i].n;
		for (size_t i = k; i-- > 0;)
			if (yes[i] && set[i].n > good)
				bad = set[i].n;
	}
	*result = bad;
	return 0;
}

/* Items [from, to) of the core left out. */
static struct xr_items without(const struct xr_class *c, size_t from, size_t to)
{
	uint32_t *rest = xr_arena_array(xr_run_arena(c->evict->run), uint32_t, c->n_core + 1);

	memcpy(rest, c->core, from * sizeof *rest);
	memcpy(rest + from, c->core + to, (c->n_core - to) * sizeof *rest);
	return (struct xr_items){rest, c->n_core - (to - from)};
}

/* Those of the sets that still push x out, among those with yes[] set. */
static int ask_again(struct xr_class *c, const struct xr_items *set, size_t n, bool *yes, size_t *left)
{
	struct xr_arena *arena = xr_run_arena(c->evict->run);
	struct xr_items *some = xr_arena_array(arena, struct xr_items, n);
	bool *answer = xr_arena_array(arena, bool, n);
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (yes[i])
			some[k++] = set[i];
	if (pushes_out(c, some, k, answer) != 0)
		return -1;
	*left = 0;
	k = 0;
	for (size_t i = 0; i < n; i++)
		if (yes[i])
			*left += yes[i] = answer[k++];
	return 0;
}

/* One round of thinning with blocks of `size`: leaves out those whose absence changes nothing, all together: with as many
 * members as it takes and no more, what is true of each is true of all. When it is not, either some answers were wrong,
 * and are asked for again, or there are members to spare, and only half of the blocks may go, and so on. *shrunk: by how
 * much. */
static int thin(struct xr_class *c, size_t size, size_t *shrunk)
{
	struct xr_arena *arena = xr_run_arena(c->evict->run);
	size_t n = c->n_core, blocks = (n + size - 1) / size, idle = 0;
	struct xr_items *set = xr_arena_array(arena, struct xr_items, blocks);
	bool *yes = xr_arena_array(arena, bool, blocks);
	uint32_t *left = xr_arena_array(arena, uint32_t, n);

	*shrunk = 0;
	for (size_t b = 0; b < blocks; b++) {
		set[b] = without(c, b * size, b * size + size < n ? b * size + size : n);
		yes[b] = true;
	}
	if (ask_again(c, set, blocks, yes, &idle) != 0)
		return -1;
	for (int attempt = 0; idle > 0; attempt++) {
		size_t kept = 0;
		bool still;

		for (size_t i = 0; i < n; i++)
			if (!yes[i / size])
				left[kept++] = c->core[i];
		if (pushes_out_always(c, left, kept, &still) != 0)
			return -1;
		if (still) {
			memcpy(c->core, left, kept * sizeof *left);
			c->n_core = kept;
			*shrunk = n - kept;
			return 0;
		}
		if (attempt < 2) {
			if (ask_again(c, set, blocks, yes, &idle) != 0)
				return -1;
			continue;
		}
		for (size_t b = 0, seen = 0; b < blocks; b++)
			if (yes[b] && seen++ % 2 == 0) {
				yes[b] = false;
				idle--;
			}
	}
	return 0;
}

/* The beginning of the candidates that pushes x out for certain. */
static int start_core(struct xr_class *c, const uint32_t *candidate, size_t n)
{
	bool solid = false;

	if (last_straw(c, candidate, n, &c->straw) != 0)
		return -1;
	c->control = (struct xr_items){candidate, c->straw / 2};
	c->n_core = c->straw;
	memcpy(c->core, candidate, (c->n_core < n ? c->n_core : n) * sizeof *candidate);
	while (c->n_core <= n) {
		if (pushes_out_always(c, c->core, c->n_core, &solid) != 0)
			return -1;
		if (solid)
			return 0;
		c->n_core += c->n_core / 16 + 1;
		memcpy(c->core, candidate, (c->n_core < n ? c->n_core : n) * sizeof *candidate);
	}
	c->trouble = "no set of pages pushes the page out for certain";
	return 0;
}

struct saved {
	uint32_t *item;
	size_t n;
};

static void save(struct saved *saved, const struct xr_class *c)
{
	memcpy(saved->item, c->core, c->n_core * sizeof *saved->item);
	saved->n = c->n_core;
}

/* Thins the core until nothing can go. A step that was taken on a wrong answer shows when the core pushes x out no more:
 * back to what it was before that step. */
static int thin_to_the_end(struct xr_class *c)
{
	struct xr_arena *arena = xr_run_arena(c->evict->run);
	struct saved now = {xr_arena_array(arena, uint32_t, c->n_core), 0};
	struct saved last = {xr_arena_array(arena, uint32_t, c->n_core), 0};
	size_t size = c->n_core / BLOCKS + 1;

	for (int round = 0; round < ROUNDS && c->left > 0; round++) {
		size_t shrunk;
		bool solid;

		save(&now, c);
		if (thin(c, size, &shrunk) != 0)
			return -1;
		if (shrunk > 0) {
			struct saved swap = last;

			last = now;
			now = swap;
		} else if (pushes_out_always(c, c->core, c->n_core, &solid) != 0) {
			return -1;
		} else if (solid && size == 1) {
			return 0;
		} else if (!solid && last.n > 0) {
			memcpy(c->core, last.item, last.n * sizeof *last.item);
			c->n_core = last.n;
			last.n = 0;
		}
		if (shrunk * 4 < c->n_core + shrunk)
			size = (size + 1) / 2;
		if (size > c->n_core / BLOCKS + 1)
			size = c->n_core / BLOCKS + 1;
	}
	c->trouble = "the pages that push the page out form no class";
	return 0;
}

int xr_class_find(struct xr_class *c, const uint32_t *candidate, size_t n)
{
	struct xr_arena *arena = xr_run_arena(c->evict->run);

	c->core = xr_arena_array(arena, uint32_t, n + 1);
	c->member = xr_arena_array(arena, uint32_t, n + 1);
	c->stranger = xr_arena_array(arena, uint32_t, n + 1);
	c->n_core = c->n_members = c->n_strangers = 0;
	c->trouble = NULL;
	c->control.n = 0;
	if (c->left <= 0)
		c->left = visits_max;
	if (start_core(c, candidate, n) != 0)
		return -1;
	if (!c->trouble && thin_to_the_end(c) != 0)
		return -1;
	if (c->trouble)
		return 0;
	if (c->n_core > CORE_MAX)
		c->trouble = "the pages that push the page out form no class";
	memcpy(c->member, c->core, c->n_core * sizeof *c->core);
	c->n_members = c->n_core;
	return 0;
}

static bool among(const uint32_t *item, size_t n, uint32_t which)
{
	for (size_t i = 0; i < n; i++)
		if (item[i] == which)
			return true;
	return false;
}

int xr_class_grow(struct xr_class *c, const uint32_t *candidate, size_t n, size_t members, size_t *tested)
{
	struct xr_arena *arena = xr_run_arena(c->evict->run);
	struct xr_items set[TESTS];
	uint32_t who[TESTS],
		*stranger = xr_arena_array(arena, uint32_t, c->n_strangers + n + 1); /* either may come to hold all */
	uint32_t *member = xr_arena_array(arena, uint32_t, c->n_members + c->n_strangers + n + 1);
	bool yes[TESTS];
	size_t count = 0, members_found;

	memcpy(stranger, c->stranger, c->n_strangers * sizeof *stranger);
	memcpy(member, c->member, c->n_members * sizeof *member);
	c->stranger = stranger;
	c->member = member;
	for (size_t i = 0; i < n && c->n_members < members;) {
		size_t k = 0;

		for (; i < n && k < TESTS; i++) {
			uint32_t *with;

			if (candidate[i] == c->x || among(c->member, c->n_members, candidate[i]) ||
			    among(c->stranger, c->n_strangers, candidate[i]))
				continue;
			with = xr_arena_array(arena, uint32_t, c->n_core);
			memcpy(with, c->core, c->n_core * sizeof *with);
			with[0] = who[k] = candidate[i];
			set[k++] = (struct xr_items){with, c->n_core};
		}
		if (k == 0)
			break;
		if (pushes_out(c, set, k, yes) != 0)
			return -1;
		/* One that pushed x out by chance would count as a member for ever; one overlooked does no harm. Asked again in
		 * another one's place, should the first have been in the core by mistake. */
		for (size_t j = 0; j < k && c->n_core > 1; j++) {
			uint32_t *with = xr_arena_array(arena, uint32_t, c->n_core);

			memcpy(with, c->core, c->n_core * sizeof *with);
			with[c->n_core - 1] = who[j];
			set[j].item = with;
		}
		if (ask_again(c, set, k, yes, &members_found) != 0)
			return -1;
		for (size_t j = 0; j < k; j++)
			if (yes[j])
				c->member[c->n_members++] = who[j];
			else
				c->stranger[c->n_strangers++] = who[j];
		count += k;
	}
	if (tested)
		*tested = count;
	return 0;
}
