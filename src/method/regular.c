/* SPDX-License-Identifier: MIT */
/* Arrays with a plain index, see regular.h. */
#include "method/regular.h"

static int ask(const struct xr_regular *r, uint64_t stride, unsigned n, bool *fit)
{
	const struct xr_rows rows = {.stride = stride, .n = n, .groups = r->groups, .apart = r->apart};
	return r->fits(r->self, &rows, fit);
}

/* The most lines so far apart that fit; 0: more than can be tried. */
static int count_fitting(const struct xr_regular *r, uint64_t stride, unsigned *most)
{
	const uint64_t room = r->room / stride;
	const unsigned limit = room < r->most + 1 ? (unsigned)room : r->most + 1;
	unsigned low = 0, high = 0;
	bool fit = true;
	*most = 0;
	for (unsigned n = 1; !high && low < limit; n = 2 * n < limit ? 2 * n : limit) {
		if (ask(r, stride, n, &fit) != 0)
			return -1;
		*(fit ? &low : &high) = n;
	}
	while (high > low + 1) {
		const unsigned n = low + (high - low) / 2;
		if (ask(r, stride, n, &fit) != 0)
			return -1;
		*(fit ? &low : &high) = n;
	}
	*most = high ? low : 0;
	return 0;
}

/* The least distance of groups that do not overlap. */
static uint64_t least_stride(const struct xr_regular *r)
{
	const uint64_t group = r->groups > 1 ? r->groups * r->apart : 0;
	return group > r->unit ? group : r->unit;
}

/* From far apart to nearer: as long as it is a multiple of the way, as many fit as there are ways; of half a way,
 * twice as many. */
static int find_power_of_two(struct xr_regular *r)
{
	unsigned ways = 0, more;
	uint64_t stride = r->unit;
	while (stride < r->largest)
		stride *= 2;
	for (; !ways && stride > least_stride(r); stride /= 2)
		if (count_fitting(r, stride, &ways) != 0)
			return -1;
	stride *= 2;
	for (more = ways; ways && more == ways && stride / 2 >= least_stride(r); stride /= 2)
		if (count_fitting(r, stride / 2, &more) != 0)
			return -1;
	r->ways = more == ways && r->groups > 1 ? 0 : ways; /* how large a way is was not seen */
	r->way = more == ways ? stride : 2 * stride;
	return 0;
}

/* Are there fewer ways, in sets whose number is no power of two? */
static int find_odd(struct xr_regular *r)
{
	for (unsigned odd = r->ways; odd > 1; odd--) {
		const unsigned fewer = r->ways / odd;
		bool fit;
		if (odd % 2 == 0 || r->ways % odd || (fewer + 1) * odd * r->way > r->room)
			continue;
		if (ask(r, odd * r->way, fewer + 1, &fit) != 0)
			return -1;
		if (!fit) {
			r->ways = fewer;
			r->way *= odd;
			return 0;
		}
	}
	return 0;
}

int xr_regular_find(struct xr_regular *r)
{
	bool fit = true, over = true;
	r->ways = 0;
	if (find_power_of_two(r) != 0 || (r->ways && find_odd(r) != 0))
		return -1;
	/* Once more, for what was asked on the way was asked once. */
	if (r->ways && (ask(r, r->way, r->ways, &fit) != 0 || ask(r, r->way, r->ways + 1, &over) != 0))
		return -1;
	if (!fit || over)
		r->ways = 0;
	return 0;
}

/* Is it the same for groups of so many, also of lines twice as far apart? */
static int holds_for(struct xr_regular *r, unsigned groups, bool *holds)
{
	const unsigned before = r->groups;
	*holds = true;
	r->groups = groups;
	for (uint64_t stride = r->way; *holds && stride <= 2 * r->way && (r->ways + 1) * stride <= r->room;
	     stride *= 2) {
		bool fit = true, over = false;
		if (ask(r, stride, r->ways, &fit) != 0 || ask(r, stride, r->ways + 1, &over) != 0)
			return -1;
		*holds = fit && !over;
	}
	r->groups = before;
	return 0;
}

int xr_regular_find_behind(struct xr_regular *r, uint64_t apart)
{
	enum { GROUPS_MOST = 8 };
	bool holds = false;
	r->apart = apart;
	for (r->groups = 1; r->groups <= GROUPS_MOST; r->groups *= 2) {
		if (xr_regular_find(r) != 0)
			return -1;
		if (!apart || (r->ways && apart % r->way == 0)) /* what shares a set there shares one here */
			return 0;
		if (r->ways && holds_for(r, 2 * r->groups, &holds) != 0)
			return -1;
		if (holds || !r->ways)
			return 0;
	}
	r->ways = 0;
	return 0;
}

int xr_regular_line(const struct xr_regular *r, uint64_t most, uint64_t *line)
{
	bool fit = false;
	*line = 0;
	for (uint64_t delta = r->unit; delta <= most && delta < r->way && !fit; delta *= 2) {
		const struct xr_rows rows = {.stride = r->way,
		                             .n = r->ways,
		                             .more = r->ways,
		                             .delta = delta,
		                             .groups = r->groups,
		                             .apart = r->apart};
		if (2 * r->ways * r->way + delta > r->room)
			return 0;
		if (r->fits(r->self, &rows, &fit) != 0)
			return -1;
		*line = fit ? delta : 0;
	}
	return 0;
}
