/* SPDX-License-Identifier: MIT */
/* Is the core ours, see quiet.h. */
#include "quiet.h"

#include "clock.h"
#include "walk.h"
#include "where.h"

enum {
	VISITS = 256,
	PER_FIRST = 400,  /* looks are counted by how long they took, in bins of this part of the first one */
	PER_CHAIN = 2000, /* the same for chains */
	CHAIN_LEVEL = 20, /* bins: the clock's frequency changes by steps larger than that, by far */
	CHAIN_NOISE = 5,  /* bins: at rest a chain takes the same time again and again */
	RANGE = 3,        /* times the first one: what takes longer is not counted apart */
	FIRST_LOOKS = 2000,
	BETWEEN = 64, /* looks, then what a quick one is is found anew */
	LEAST_QUICK = 8,
	ADDS_EVERY = 4, /* quick looks */
};

/* Jumps are mispredicted more or less often, so looks at rest differ by some percent; those beside a busy
 * neighbour are a tenth above. The quickest looks of all are luck; the hundredth part is at the lower end of what
 * is usual. */
static const double luck = 0.01, within = 1.055;
static const double rare = 0.001; /* chains seen less often than that are no level of the clock */

/* A neighbour's pauses last many looks: who finds the core alone finds it so the next time as well. The quick
 * ones among looks that were never alone come singly. */
static const double stays = 0.35;

/* A neighbour who does the same all the time, from the first look on, would pass for nobody. But it takes units
 * away from independent additions, which looks that found nobody may not show. */
static const double crowded = 1.3;

static const double fresh_ns = 4e3;

static struct {
	struct xr_agent_walk *row;
	int unable;
	unsigned long count[RANGE * PER_FIRST], looks,
		steady; /* steady: looks whose chain was undisturbed: those counted */
	double bin;
	unsigned long chain_count[RANGE * PER_CHAIN];
	double chain_bin;
	int noise;                       /* bins */
	double last_chain_ns, chain_ops; /* of the last look; in units of the reference */
	double quick, counted;           /* up to this a look is quick; what it was when counting them began */
	unsigned long quicks, stayed;    /* quick ones; of these, after another */
	unsigned long added, free;       /* quick ones with a look at additions; of these, with units free */
	int was_quick;
	double ours_at; /* when a look last found nobody */
} quiet;

/* A short row of jumps, and a chain of multiplications just before. */
struct look {
	double row; /* relative to the chain, which tells the clock's frequency */
	double chain_ns, end;
};

static struct look take_look(void)
{
	struct look look = {.chain_ns = xr_short_reference_ns()};
	xr_walk_ready(quiet.row); /* others may have thrown it out */
	double before = xr_now_ns();
	xr_walk_run(quiet.row, VISITS);
	look.end = xr_now_ns();
	look.row = (look.end - before) / look.chain_ns;
	quiet.last_chain_ns = look.chain_ns;
	return look;
}

static int bin_of(double value, double bin, int bins)
{
	return value / bin < bins ? (int)(value / bin) : bins - 1;
}

/* Did the chain take what it takes at rest, at this frequency of the clock? A neighbour makes it longer by some
 * thousandths, more or less; a step of the clock is some hundredths. So: is it as quick as the quickest of those
 * nearby? */
static int chain_is_steady(double chain_ns)
{
	int at = bin_of(chain_ns, quiet.chain_bin, RANGE * PER_CHAIN);
	unsigned long least = (unsigned long)(rare * (double)quiet.looks) + 2;
	int level = at > CHAIN_LEVEL ? at - CHAIN_LEVEL : 0;
	if (at + 1 == RANGE * PER_CHAIN)
		return 0; /* interrupted */
	quiet.chain_count[at]++;
	while (level < at && quiet.chain_count[level] < least)
		level++;
	return at - level <= quiet.noise && quiet.chain_count[level] >= least; /* else something came in between */
}

/* What a quick look takes, from all so far. When that changes, what was thought quick before was not. */
static void find_quick(void)
{
	unsigned long rank = (unsigned long)(luck * (double)quiet.steady), sum = 0;
	int at = 0;
	if (rank < LEAST_QUICK)
		rank = LEAST_QUICK;
	while (at + 1 < RANGE * PER_FIRST && (sum += quiet.count[at]) < rank)
		at++;
	quiet.quick = within * quiet.bin * (at + 0.5);
	if (quiet.quick < 0.99 * quiet.counted || quiet.quick > 1.01 * quiet.counted) {
		quiet.counted = quiet.quick;
		quiet.quicks = quiet.stayed = quiet.added = quiet.free = 0;
	}
}

/* Of quick looks so far: were they those of a core left alone? */
static int quick_means_alone(void)
{
	return (double)quiet.stayed > stays * (double)quiet.quicks && 2 * quiet.free > quiet.added;
}

static int note_look(const struct look *look)
{
	const double took = look->row;
	int steady = chain_is_steady(look->chain_ns);
	if (steady) {
		quiet.count[bin_of(took, quiet.bin, RANGE * PER_FIRST)]++;
		quiet.steady++;
	}
	if (++quiet.looks % BETWEEN == 0)
		find_quick();
	int quick = steady && took <= quiet.quick;
	if (quick && quiet.quicks++ % ADDS_EVERY == 0) {
		quiet.added++;
		quiet.free += xr_core_slowdown() < crowded;
	}
	if (quick && quiet.was_quick)
		quiet.stayed++;
	quiet.was_quick = quick;
	if (quick && quick_means_alone())
		return 0;
	return took < quiet.quick * 1.001  ? 1
	       : took > quiet.quick * 1000 ? 1000000
	                                   : (int)(1000 * (took / quiet.quick - 1));
}

/* How many times the reference a chain takes. */
static double count_chain_ops(void)
{
	enum { TIMES = 16 };
	double chain = 1e300, reference = 1e300;
	for (int i = 0; i < TIMES; i++) {
		double c = xr_short_reference_ns(), r = xr_reference_ns();
		chain = c < chain ? c : chain;
		reference = r < reference ? r : reference;
	}
	return chain / reference;
}

/* About what to expect: the quickest of some. */
static struct look first_look(void)
{
	enum { TIMES = 16 };
	struct look first = {.chain_ns = 1e300};
	double row_ns = 1e300;
	for (int i = 0; i < TIMES; i++) {
		struct look look = take_look();
		row_ns = look.row * look.chain_ns < row_ns ? look.row * look.chain_ns : row_ns;
		first.chain_ns = look.chain_ns < first.chain_ns ? look.chain_ns : first.chain_ns;
	}
	first.row = row_ns / first.chain_ns;
	return first;
}

static void begin(void)
{
	static char *words[] = {"jumps", "4294967295", "65536", "1", "1", "0", "64", "64"};
	char error[128];
	struct look look;
	quiet.row = xr_walk_make(words, sizeof words / sizeof *words, error, sizeof error);
	quiet.unable = !quiet.row;
	if (quiet.unable)
		return;
	look = first_look();
	quiet.bin = look.row / PER_FIRST;
	quiet.chain_bin = look.chain_ns / PER_CHAIN;
	quiet.chain_ops = count_chain_ops();
	quiet.noise = (int)(2 * xr_clock_granule_ns() / quiet.chain_bin);
	if (quiet.noise < CHAIN_NOISE)
		quiet.noise = CHAIN_NOISE;
	/* a clock too coarse for looks of some microseconds */
	quiet.unable = !(quiet.bin > 0) || xr_clock_granule_ns() > look.chain_ns / 100;
	for (int i = 0; i < FIRST_LOOKS && !quiet.unable; i++) {
		look = take_look();
		note_look(&look);
	}
}

int xr_quiet_look(void)
{
	if (!quiet.row && !quiet.unable)
		begin();
	if (quiet.unable)
		return 0;
	const struct look look = take_look();
	int others = note_look(&look);
	if (!others)
		quiet.ours_at = look.end;
	return others;
}

double xr_quiet_reference_ns(void)
{
	if (!quiet.row && !quiet.unable)
		begin();
	return quiet.unable ? 0 : quiet.last_chain_ns / quiet.chain_ops;
}

int xr_quiet_wait(double *patience_ns)
{
	double start = xr_now_ns(), now = start;
	if (quiet.ours_at > 0 && now - quiet.ours_at < fresh_ns)
		return 0;
	int others = xr_quiet_look();
	while (others && now - start < *patience_ns) {
		xr_where_restless();
		others = xr_quiet_look();
		if (!others) /* once may be luck */
			others = xr_quiet_look();
		now = xr_now_ns();
	}
	*patience_ns -= now - start < *patience_ns ? now - start : *patience_ns;
	return others;
}
