#include "clock.h"

#include <stdlib.h>
#include <time.h>

static double cost_ns, granule_ns;
static unsigned long reference_reps = 8;
enum { REFERENCE_ADDS = 512 }; /* per repetition: at 64 the loop's own counter costs 1 % by taking an adder now and then */

double xr_now_ns(void)
{
#if defined(XR_NOW_NS)
	return XR_NOW_NS;
#elif defined(CLOCK_MONOTONIC_RAW)
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
#elif defined(CLOCK_MONOTONIC)
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
#else
	return (double)clock() * (1e9 / CLOCKS_PER_SEC);
#endif
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Fine clocks advance between any two looks: then the step is the smallest difference between two such advances.
 * Coarse ones stand still and jump: then it is the smallest jump. */
static double find_granule(void)
{
	enum { LOOKS = 4000 };
	static double delta[LOOKS];
	double last = xr_now_ns(), smallest = 0, limit = last + 1e9;
	int n = 0, zero = 0;
	while (n < LOOKS && last < limit) {
		double now = xr_now_ns();
		if (now == last) {
			zero = 1;
			continue;
		}
		delta[n++] = now - last;
		last = now;
		if (zero && n >= 20)
			break;
	}
	if (!n)
		return 1e9;
	qsort(delta, (size_t)n, sizeof *delta, compare);
	if (zero)
		return delta[0];
	smallest = delta[0];
	for (int i = 1; i < n; i++)
		if (delta[i] - delta[i - 1] >= 0.5 && delta[i] - delta[i - 1] < smallest)
			smallest = delta[i] - delta[i - 1];
	return smallest;
}

static double find_cost(void)
{
	enum { TRIES = 15 };
	double each[TRIES];
	for (int i = 0; i < TRIES; i++) {
		/* long enough that the granule does not matter */
		double start = xr_now_ns(), now = start;
		unsigned long looks = 0;
		while (now - start < 50 * granule_ns || looks < 100) {
			now = xr_now_ns();
			looks++;
		}
		each[i] = (now - start) / (double)looks;
	}
	qsort(each, TRIES, sizeof *each, compare);
	return each[TRIES / 4];
}

#if defined(__GNUC__)
#define ADD p += q; __asm__ volatile("" : "+r"(p));
#define ADD8 ADD ADD ADD ADD ADD ADD ADD ADD
#define ADD64 ADD8 ADD8 ADD8 ADD8 ADD8 ADD8 ADD8 ADD8

static unsigned long chain_of_adds(unsigned long reps)
{
	static volatile unsigned long in[2] = {1, 3};
	unsigned long p = in[0], q = in[1];
	for (; reps; reps--) {
		ADD64 ADD64 ADD64 ADD64 ADD64 ADD64 ADD64 ADD64
	}
	return p;
}
#else
/* The papers' form: the switch may be entered anywhere, so no two adds can be merged. */
#define ADD(n) case n: p += q;
#define ADD4(n) ADD(n) ADD(n + 1) ADD(n + 2) ADD(n + 3)
#define ADD16(n) ADD4(n) ADD4(n + 4) ADD4(n + 8) ADD4(n + 12)
#define ADD64(n) ADD16(n) ADD16(n + 16) ADD16(n + 32) ADD16(n + 48)

static unsigned long chain_of_adds(unsigned long reps)
{
	static volatile unsigned long in[2] = {1, 3};
	static volatile int entry = 0;
	unsigned long p = in[0], q = in[1];
	switch (entry) {
	case 0:
		for (;;) {
			if (reps-- == 0)
				break;
			ADD64(1) ADD64(65) ADD64(129) ADD64(193) ADD64(257) ADD64(321) ADD64(385) ADD64(449)
		}
	}
	return p;
}
#endif

static volatile unsigned long sink;

static double timed_chain(unsigned long reps)
{
	double start = xr_now_ns();
	sink = chain_of_adds(reps);
	return xr_now_ns() - start;
}

/* Two lengths, each the better of two, so that one interrupt does not spoil it. */
double xr_reference_ns(void)
{
	unsigned long brief = reference_reps / 8;
	double a = timed_chain(brief), b = timed_chain(reference_reps);
	double a2 = timed_chain(brief), b2 = timed_chain(reference_reps);
	if (a2 < a)
		a = a2;
	if (b2 < b)
		b = b2;
	return (b - a) / (double)((reference_reps - brief) * REFERENCE_ADDS);
}

void xr_clock_init(void)
{
	granule_ns = find_granule();
	cost_ns = find_cost();
	double wanted = 4000.0;
	if (wanted < 250.0 * granule_ns)
		wanted = 250.0 * granule_ns;
	while (timed_chain(reference_reps) < wanted && reference_reps < (1ul << 40))
		reference_reps *= 2;
}

double xr_clock_cost_ns(void)
{
	return cost_ns;
}

double xr_clock_granule_ns(void)
{
	return granule_ns;
}

static double window(void)
{
	double end = xr_now_ns() + 1e6, best = 1e300;
	do {
		double r = xr_reference_ns();
		if (r < best)
			best = r;
	} while (xr_now_ns() < end);
	return best;
}

void xr_warm_up(void)
{
	double end = xr_now_ns() + 2e9, a = window(), b = window();
	while (xr_now_ns() < end) {
		double c = window();
		double low = a < b ? a : b, high = a < b ? b : a;
		if (c < low)
			low = c;
		if (c > high)
			high = c;
		if (high - low <= 0.005 * low)
			return;
		a = b;
		b = c;
	}
}
