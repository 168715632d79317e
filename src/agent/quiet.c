/* Is the core ours, see quiet.h. */
#include "quiet.h"

#include "clock.h"
#include "walk.h"

enum {
	VISITS = 256,
	PER_FIRST = 400, /* looks are counted by how long they took, in bins of this part of the first one */
	BINS = 3 * PER_FIRST,
	FIRST_LOOKS = 2000,
	BETWEEN = 64, /* looks, then what a quick one is is found anew */
	LEAST_QUICK = 8,
	CHAINS = 8,
	CHAIN_EVERY = 4, /* looks */
};

/* The quickest looks of all are luck; the thousandth part is not. The others at rest are within a few percent of it,
 * those beside a busy neighbour are a tenth above. */
static const double luck = 0.001, within = 1.05;

/* A neighbour's pauses last many looks: who finds the core alone finds it so the next time as well. The quick ones among
 * looks that were never alone come singly. */
static const double stays = 0.6;

static const double fresh_ns = 4e3, chain_lasts_ns = 2e8;

static struct {
	struct xr_agent_walk *row;
	int unable;
	unsigned long count[BINS], looks;
	double bin;
	double quick, counted;        /* up to this a look is quick; what it was when counting them began */
	unsigned long quicks, stayed; /* quick ones; of these, after another */
	int was_quick;
	double ours_at; /* when a look last found nobody */
} quiet;

/* Time of a chain of operations, which tells the clock's frequency: the second lowest of the last tenths of a second, since
 * a neighbour makes it longer, some of them for milliseconds on end, and hardly anything shorter. */
static double chain_ns(double now)
{
	static struct lows {
		double low, second, since;
		int n;
	} late, former;
	static int looks;
	if (late.n > CHAINS && now - late.since > chain_lasts_ns) {
		former = late;
		late.n = 0;
	}
	while (looks++ % CHAIN_EVERY == 0 || late.n + former.n < CHAINS) {
		double ns = xr_short_reference_ns();
		if (late.n == 0)
			late = (struct lows){ns, 1e300, now, 0};
		else if (ns < late.low)
			late = (struct lows){ns, late.low, late.since, late.n};
		else if (ns < late.second)
			late.second = ns;
		late.n++;
	}
	return former.n > 0 && former.second < late.second ? former.second : late.second;
}

static double take_look(double *now)
{
	double chain = chain_ns(xr_now_ns());
	xr_walk_ready(quiet.row); /* others may have thrown it out */
	double before = xr_now_ns();
	xr_walk_run(quiet.row, VISITS);
	*now = xr_now_ns();
	return (*now - before) / chain;
}

/* What a quick look takes, from all so far. When that changes, what was thought quick before was not. */
static void find_quick(void)
{
	unsigned long rank = (unsigned long)(luck * (double)quiet.looks), sum = 0;
	int at = 0;
	if (rank < LEAST_QUICK)
		rank = LEAST_QUICK;
	while (at + 1 < BINS && (sum += quiet.count[at]) < rank)
		at++;
	quiet.quick = within * quiet.bin * (at + 0.5);
	if (quiet.quick < 0.99 * quiet.counted || quiet.quick > 1.01 * quiet.counted) {
		quiet.counted = quiet.quick;
		quiet.quicks = quiet.stayed = 0;
	}
}

static int note_look(double took)
{
	double at = took / quiet.bin;
	quiet.count[at < BINS ? (int)at : BINS - 1]++;
	if (++quiet.looks % BETWEEN == 0)
		find_quick();
	int quick = took <= quiet.quick;
	if (quick)
		quiet.quicks++;
	if (quick && quiet.was_quick)
		quiet.stayed++;
	quiet.was_quick = quick;
	if (quick && (double)quiet.stayed > stays * (double)quiet.quicks)
		return 0;
	return took < quiet.quick * 1.001  ? 1
	       : took > quiet.quick * 1000 ? 1000000
	                                   : (int)(1000 * (took / quiet.quick - 1));
}

static void begin(void)
{
	static char *words[] = {"jumps", "4294967295", "65536", "1", "1", "0", "64", "64"};
	char error[128];
	double now;
	quiet.row = xr_walk_make(words, sizeof words / sizeof *words, error, sizeof error);
	quiet.unable = !quiet.row;
	if (quiet.unable)
		return;
	quiet.bin = take_look(&now) / PER_FIRST;
	/* a clock too coarse for looks of some microseconds */
	quiet.unable = !(quiet.bin > 0) || xr_clock_granule_ns() > xr_short_reference_ns() / 100;
	for (int i = 0; i < FIRST_LOOKS && !quiet.unable; i++)
		note_look(take_look(&now));
}

int xr_quiet_look(void)
{
	double now;
	if (!quiet.row && !quiet.unable)
		begin();
	if (quiet.unable)
		return 0;
	int others = note_look(take_look(&now));
	if (!others)
		quiet.ours_at = now;
	return others;
}

int xr_quiet_wait(double *patience_ns)
{
	double start = xr_now_ns(), now = start;
	if (quiet.ours_at > 0 && now - quiet.ours_at < fresh_ns)
		return 0;
	int others = xr_quiet_look();
	while (others && now - start < *patience_ns) {
		others = xr_quiet_look();
		if (!others) /* once may be luck */
			others = xr_quiet_look();
		now = xr_now_ns();
	}
	*patience_ns -= now - start < *patience_ns ? now - start : *patience_ns;
	return others;
}
