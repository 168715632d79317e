/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <stdlib.h>
#include <time.h>

static double cost_ns, granule_ns;
static int repeats;
static unsigned long reference_reps = 2;
static int reference_adds; /* additions in the time of one multiplication; 0: not known yet */
/* Per repetition. Additions lose 1 % at 64, for the loop's own counter takes an adder now and then; more costs
 * compiling. */
enum { REFERENCE_OPS = 128 };

#if defined(XR_CYCLES_PER_SECOND) && !defined(XR_NOW_NS)
/* The core's own counter, where a target file says clock = cycles. */
static unsigned long long cycle_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (unsigned long long)high << 32 | low;
#elif defined(__aarch64__)
	unsigned long long value;
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
	return value;
#elif defined(__riscv) && __riscv_xlen == 64
	unsigned long long value;
	__asm__ volatile("rdcycle %0" : "=r"(value));
	return value;
#elif defined(__powerpc64__)
	unsigned long long value;
	__asm__ volatile("mfspr %0, 268" : "=r"(value));
	return value;
#else
#error "clock = cycles: no counter of this architecture is known here; give a header that defines XR_NOW_NS"
#endif
}
#endif

#if defined(CLOCK_MONOTONIC_RAW)
#define POSIX_CLOCK CLOCK_MONOTONIC_RAW
#elif defined(CLOCK_MONOTONIC)
#define POSIX_CLOCK CLOCK_MONOTONIC
#endif

double xr_now_ns(void)
{
#if defined(XR_NOW_NS)
	return XR_NOW_NS;
#elif defined(XR_CYCLES_PER_SECOND)
	return (double)cycle_counter() * (1e9 / (XR_CYCLES_PER_SECOND));
#elif defined(POSIX_CLOCK)
	struct timespec t;
	clock_gettime(POSIX_CLOCK, &t);
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

/* Looks at a simulated clock take the same, but for a cycle that an instruction before them leaves over and for
 * nanoseconds rounded to whole ones: then some work of changing length comes between, and the step is what
 * divides every difference. 0: they differ, or it stands still. */
static double find_common_step(void)
{
	enum { LOOKS = 96, SETTLED = 32, SAME = 64 };
	static volatile int spun;
	(void)spun;
	double before = 0, step = 0, last = xr_now_ns();
	int same = 0;
	for (int n = 0; n < LOOKS; n++) {
		double now, rest;
		for (int i = n % 16; n >= SAME && i; i--)
			spun += i;
		now = xr_now_ns();
		if (now <= last || (n == SAME && same < (SAME - SETTLED) / 2))
			return 0;
		same += n >= SETTLED && n < SAME && now - last >= before - 1 && now - last <= before + 1;
		before = now - last;
		for (rest = before; n >= SAME && rest >= 1e-3;) {
			double swap = step - rest * (double)(long long)(step / rest);
			step = rest;
			rest = swap;
		}
		last = xr_now_ns();
	}
	return step;
}

/* Fine clocks advance between any two looks: then the step is the smallest difference between two such advances.
 * Coarse ones stand still and jump: then it is the smallest jump. */
static double find_granule(void)
{
	enum { LOOKS = 4000 };
	static double delta[LOOKS];
	double last, smallest = find_common_step(), limit;
	int n = 0, zero = 0;
	if (smallest > 0)
		return smallest;
	last = xr_now_ns();
	limit = last + 1e9;
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

/* Two chains of dependent integer operations, OPERATION = + or *, REFERENCE_OPS of them a repetition. */
/* clang-format off */
#if defined(__GNUC__)
#define STEP(OPERATION) p = p OPERATION q; __asm__ volatile("" : "+r"(p));
#define STEP8(O) STEP(O) STEP(O) STEP(O) STEP(O) STEP(O) STEP(O) STEP(O) STEP(O)
#define STEP64(O) STEP8(O) STEP8(O) STEP8(O) STEP8(O) STEP8(O) STEP8(O) STEP8(O) STEP8(O)
#define BODY(O) \
	for (; reps; reps--) { \
		STEP64(O) STEP64(O) \
	}
#else
/* The papers' form: the switch may be entered anywhere, so no two operations can be merged. */
#define STEP(O, n) case n: p = p O q;
#define STEP4(O, n) STEP(O, n) STEP(O, n + 1) STEP(O, n + 2) STEP(O, n + 3)
#define STEP16(O, n) STEP4(O, n) STEP4(O, n + 4) STEP4(O, n + 8) STEP4(O, n + 12)
#define STEP64(O, n) STEP16(O, n) STEP16(O, n + 16) STEP16(O, n + 32) STEP16(O, n + 48)
#define BODY(O) \
	switch (entry) { \
	case 0: \
		for (;;) { \
			if (reps-- == 0) \
				break; \
			STEP64(O, 1) STEP64(O, 65) \
		} \
	}
static volatile int entry = 0;
#endif
/* clang-format on */

static volatile unsigned long operands[2] = {1, 3};

static unsigned long chain_of_adds(unsigned long reps)
{
	unsigned long p = operands[0], q = operands[1];
	BODY(+)
	return p;
}

static unsigned long chain_of_muls(unsigned long reps)
{
	unsigned long p = operands[0], q = operands[1];
	BODY(*)
	return p;
}

static volatile unsigned long sink;

static double timed_chain(unsigned long (*chain)(unsigned long), unsigned long reps)
{
	double start = xr_now_ns();
	sink = chain(reps);
	return xr_now_ns() - start;
}

/* The same where times repeat exactly. Both runs follow one of the shorter length, so whatever predicts jumps is in the
 * same state before them, and the end of the loop costs both the same. */
static double chain_exactly_ns(unsigned long (*chain)(unsigned long))
{
	enum { BRIEF = 32 };
	const double wanted = 2000 * granule_ns;
	unsigned long more = BRIEF;
	double a, b;
	do {
		more *= 2;
		timed_chain(chain, BRIEF);
		a = timed_chain(chain, BRIEF);
		b = timed_chain(chain, BRIEF + more);
	} while (b - a < wanted && more < (1ul << 20));
	return (b - a) / (double)(more * REFERENCE_OPS);
}

/* ns of one operation. Two lengths, each the better of two, so that one interrupt does not spoil it. */
static double chain_ns(unsigned long (*chain)(unsigned long))
{
	if (repeats)
		return chain_exactly_ns(chain);
	unsigned long brief = reference_reps / 8 ? reference_reps / 8 : 1;
	double a = timed_chain(chain, brief), b = timed_chain(chain, reference_reps);
	double a2 = timed_chain(chain, brief), b2 = timed_chain(chain, reference_reps);
	if (a2 < a)
		a = a2;
	if (b2 < b)
		b = b2;
	return (b - a) / (double)((reference_reps - brief) * REFERENCE_OPS);
}

double xr_reference_ns(void)
{
	static double once; /* a clock that repeats does not drift */
	if (repeats && once <= 0)
		once = chain_ns(chain_of_muls);
	return (repeats ? once : chain_ns(chain_of_muls)) / (reference_adds ? reference_adds : 1);
}

double xr_reference_spin(unsigned long reps, double *ns)
{
	*ns = timed_chain(chain_of_muls, reps);
	return (double)reps * REFERENCE_OPS;
}

/* The number is found once: a chain that is a little quicker one day must not become twice as long. */
double xr_short_reference_ns(void)
{
	static unsigned long reps;
	for (unsigned long longer = 1; !reps; longer *= 2) {
		double a = timed_chain(chain_of_muls, longer), b = timed_chain(chain_of_muls, longer);
		if ((a > 1000 && b > 1000) || longer >= (1ul << 20)) /* one may have been interrupted */
			reps = longer;
	}
	return timed_chain(chain_of_muls, reps);
}

int xr_reference_adds(void)
{
	return reference_adds;
}

/* A multiplication takes a whole number of additions; whoever else is on the core can only slow the additions down, so
 * what is seen is at most that number. */
void xr_reference_find(int adds)
{
	double add = 1e300, mul = 1e300;
	reference_adds = adds;
	for (int i = 0; i < (repeats ? 2 : 64) && !adds; i++) {
		double a = chain_ns(chain_of_adds), m = chain_ns(chain_of_muls);
		add = a < add ? a : add;
		mul = m < mul ? m : mul;
	}
	if (adds)
		return;
	reference_adds = 1;
	while (add > 0 && mul / add > reference_adds + 0.08 && reference_adds < 1000)
		reference_adds++;
}

int xr_clock_repeats(void)
{
	return repeats;
}

/* The same work takes the same time to the last step of the clock, again and again, though it takes thousands of
 * them; now and then a miss more, for the clock's own code has to be fetched, too. */
static int find_repeats(void)
{
	enum { TIMES = 16 };
	const double steps = 5000;
	unsigned long reps = 16;
	double took[TIMES];
	int most = 0;
	while (timed_chain(chain_of_muls, reps) < steps * granule_ns && reps < (1ul << 20))
		reps *= 2;
	for (int i = 0; i < TIMES; i++)
		took[i] = timed_chain(chain_of_muls, reps);
	for (int i = 0; i < TIMES; i++) {
		int same = 0;
		for (int k = 0; k < TIMES; k++)
			same += took[k] == took[i];
		most = same > most ? same : most;
	}
	return took[0] >= steps * granule_ns && 2 * most >= TIMES;
}

const char *xr_clock_fault(void)
{
	/* At forty cycles a look or more: longer than a tick of 10 ms. */
	enum { LOOKS = 1 << 20 };
#if !defined(XR_NOW_NS) && !defined(XR_CYCLES_PER_SECOND) && defined(POSIX_CLOCK)
	struct timespec t;
	if (clock_gettime(POSIX_CLOCK, &t))
		return "there is no clock: clock_gettime() fails; a target file can name another (clock = ...)";
#endif
	double first = xr_now_ns();
	for (long i = 0; i < LOOKS; i++)
		if (xr_now_ns() != first)
			return NULL;
	return "the clock stands still; a target file can name another (clock = ...)";
}

void xr_clock_init(int known_repeats)
{
	granule_ns = find_granule();
	cost_ns = find_cost();
	double wanted = 4000.0;
	if (wanted < 250.0 * granule_ns)
		wanted = 250.0 * granule_ns;
	while (timed_chain(chain_of_muls, reference_reps) < wanted && reference_reps < (1ul << 30))
		reference_reps *= 2;
	repeats = known_repeats >= 0 ? known_repeats : find_repeats();
}

/* ---- is the core ours? ---- */

#if defined(__GNUC__)

enum { STREAM_OPS = 96 }; /* per repetition */

/* Independent additions, as many at once as most cores start: whoever uses the core's other thread takes some of
 * them. */
static unsigned long stream_of_adds(unsigned long reps)
{
	unsigned long a = operands[0], b = a, c = a, d = a, e = a, f = a, q = operands[1];
/* clang-format off */
#define ADD(v) v += q; __asm__ volatile("" : "+r"(v));
#define ADD6 ADD(a) ADD(b) ADD(c) ADD(d) ADD(e) ADD(f)
#define ADD48 ADD6 ADD6 ADD6 ADD6 ADD6 ADD6 ADD6 ADD6
	for (; reps; reps--) {
		ADD48 ADD48
	}
	/* clang-format on */
	return a + b + c + d + e + f;
}

/* Independent additions against dependent multiplications, which leave room for a neighbour: no clock frequency
 * in it. */
struct look {
	double adds_ns, muls_ns;
};

static struct look look_at_core(unsigned long adds, unsigned long muls)
{
	struct look look;
	look.adds_ns = timed_chain(stream_of_adds, adds) - cost_ns;
	look.muls_ns = timed_chain(chain_of_muls, muls) - cost_ns;
	return look;
}

static const double look_ns = 400;
static unsigned long look_adds, look_muls;
static double alone; /* additions over multiplications of a look while nobody else is there */

/* Looks until most are alike, which they are where nobody else is. The quickest additions over the quickest
 * multiplications, each by itself: nothing makes either quicker than the core is. The least ratio of one look would not
 * do: where a neighbour comes and goes, it is one whose multiplications were slowed and whose additions were not. */
static double quickest_look(double *adds, double *muls, size_t looks, int times)
{
	const double quick = 0.005, together = 1.05;
	double best = 1e300;
	for (int i = 0; i < times; i++) {
		for (size_t k = 0; k < looks; k++) {
			struct look look = look_at_core(look_adds, look_muls);
			adds[k] = look.adds_ns;
			muls[k] = look.muls_ns;
		}
		qsort(adds, looks, sizeof *adds, compare);
		qsort(muls, looks, sizeof *muls, compare);
		size_t at = (size_t)(quick * (double)looks);
		double now = muls[at] > 0 ? adds[at] / muls[at] : 1e300;
		best = now < best ? now : best;
		if (adds[looks / 2] < together * best * muls[looks / 2])
			break;
	}
	return best;
}

double xr_core_find(double known)
{
	enum { LOOKS = 10000, TIMES = 16 };
	if (granule_ns > look_ns / 100)
		return 0;
	for (look_adds = 4; timed_chain(stream_of_adds, look_adds) < look_ns; look_adds *= 2)
		;
	for (look_muls = 1; timed_chain(chain_of_muls, look_muls) < look_ns; look_muls *= 2)
		;
	double *ns = malloc(2 * LOOKS * sizeof *ns);
	if (!ns)
		return 0;
	alone = quickest_look(ns, ns + LOOKS, LOOKS, known > 0 ? 1 : TIMES);
	free(ns);
	/* as a number that later agents can use, whatever lengths they take */
	double scale = (double)(look_muls * REFERENCE_OPS) / (double)(look_adds * STREAM_OPS);
	if (known > 0 && known / scale < alone)
		alone = known / scale;
	return alone * scale;
}

double xr_core_slowdown(void)
{
	if (alone <= 0)
		return 1;
	struct look look = look_at_core(look_adds, look_muls);
	return look.muls_ns > 0 ? look.adds_ns / (alone * look.muls_ns) : 1e300;
}

int xr_core_is_ours(void)
{
	const double slower = 1.06;
	return xr_core_slowdown() < slower;
}

#else

double xr_core_find(double known)
{
	(void)known;
	return 0;
}

double xr_core_slowdown(void)
{
	return 1;
}

int xr_core_is_ours(void)
{
	return 1;
}

#endif

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
