/* SPDX-License-Identifier: MIT */
/* Blocks by X-Ray beside blocks by the OS's claims and the best of an exhaustive search, the same kernel
 * (examples/multiply.h).
 *
 *     search MACHINE.json [SIZE]
 *
 * The search screens every combination of a grid and takes the fastest into a final. The best of the final then meets
 * X-Ray's blocks in new rounds, or the luck of the winner would count as speed. Rounds go on until both questions are
 * answered: are X-Ray's blocks slower than the claims', and is the best more than a tenth faster? Exit status 0: neither;
 * 1: one of them surely is; 4: too noisy to say.
 */
#include "paired.h"
#include "../examples/multiply.h"
#include "util/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 512, FINAL = 10, SCREENINGS = 3, CHOOSING = 15 };
static const double fine = 0.02; /* differences below it are not looked for */

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

struct work {
	int n;
	double *a, *b, *c;
	struct xr_rng rng;
};

static double *room(size_t doubles)
{
	size_t bytes = (doubles * sizeof(double) + 4095) / 4096 * 4096;
	double *p = aligned_alloc(4096, bytes);
	if (!p) {
		fputs("search: out of memory\n", stderr);
		exit(2);
	}
	memset(p, 0, bytes);
	return p;
}

/* One round: all of them, in random order, in packed blocks at new addresses: where pages come to lie in a cache is luck,
 * too. */
static void time_round(struct work *w, const struct xr_blocking *block, int count, double *time_s)
{
	double *packed_a = room(multiply_room(w->n)), *packed_b = room(multiply_room(w->n));
	int order[MOST];
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int i = count - 1; i > 0; i--) {
		int j = (int)xr_rng_below(&w->rng, (uint64_t)i + 1), kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
	for (int i = 0; i < count; i++) {
		double start_s = now_s();
		multiply(w->n, w->a, w->b, w->c, &block[order[i]], packed_a, packed_b);
		time_s[order[i]] = now_s() - start_s;
	}
	free(packed_a);
	free(packed_b);
}

/* What is left of blocks that are larger than the matrix. */
static struct xr_blocking clipped(const struct xr_blocking *b, int n)
{
	return (struct xr_blocking){b->mr, b->nr, least(b->kc, n), least(b->mc, n), least(b->nc, n)};
}

static bool same(const struct xr_blocking *a, const struct xr_blocking *b)
{
	return a->kc == b->kc && a->mc == b->mc && a->nc == b->nc;
}

static int grid(int n, struct xr_blocking *block)
{
	static const int kcs[] = {64, 96, 128, 160, 192, 256, 320, 384, 512},
			 mcs[] = {32, 64, 96, 128, 192, 256, 384, 512, 768};
	static const int ncs[] = {256, 512, 1024, 4096};
	int count = 0;
	for (size_t k = 0; k < sizeof kcs / sizeof *kcs; k++)
		for (size_t m = 0; m < sizeof mcs / sizeof *mcs; m++)
			for (size_t j = 0; j < sizeof ncs / sizeof *ncs; j++) {
				struct xr_blocking b = {MR, NR, kcs[k], (mcs[m] + MR - 1) / MR * MR,
				                        (ncs[j] + NR - 1) / NR * NR};
				bool known = false;
				b = clipped(&b, n);
				for (int i = 0; i < count; i++)
					known |= same(&block[i], &b);
				if (!known)
					block[count++] = b;
			}
	return count;
}

/* The fastest FINAL come to the front. */
static int screen(struct work *w, struct xr_blocking *block, int count)
{
	static double time_s[MOST], best_s[MOST];
	for (int round = 0; round < SCREENINGS; round++) {
		time_round(w, block, count, time_s);
		for (int i = 0; i < count; i++)
			best_s[i] = round == 0 || time_s[i] < best_s[i] ? time_s[i] : best_s[i];
	}
	int final = least(FINAL, count);
	for (int i = 0; i < final; i++)
		for (int j = i + 1; j < count; j++)
			if (best_s[j] < best_s[i]) {
				const struct xr_blocking b = block[i];
				const double t = best_s[i];
				block[i] = block[j];
				best_s[i] = best_s[j];
				block[j] = b;
				best_s[j] = t;
			}
	return final;
}

/* ---- the final ---------------------------------------------------------------------------------------------------- */

enum { BY_XRAY, BY_CLAIMS, BEST, THREE };

struct times {
	double s[FINAL][PAIRED_MOST];
	int rounds;
};

static void play(struct work *w, const struct xr_blocking *block, int count, struct times *t, int rounds)
{
	double time_s[MOST];
	for (; t->rounds < rounds; t->rounds++) {
		time_round(w, block, count, time_s);
		for (int i = 0; i < count; i++)
			t->s[i][t->rounds] = time_s[i];
	}
}

static int fastest(const struct times *t, int count)
{
	int best = 0;
	for (int i = 1; i < count; i++)
		if (paired_compare(t->s[i], t->s[best], t->rounds).ratio < 1)
			best = i;
	return best;
}

static struct paired beside(const struct times *t, int other)
{
	return paired_compare(t->s[BY_XRAY], t->s[other], t->rounds);
}

/* Blocks that are the same need no clock. */
static enum paired_verdict judge(const struct xr_blocking *block, const struct times *t, int other, double factor)
{
	struct paired p = beside(t, other);
	return same(&block[BY_XRAY], &block[other]) ? PAIRED_HOLDS : paired_judge(&p, factor, fine);
}

static void print(const struct work *w, const struct xr_blocking *block, const struct times *t)
{
	static const char *const who[] = {"blocks by X-Ray", "blocks by OS's claims", "best of the search"};
	static const char *const whose[] = {"", "the claims'", "the best"};
	for (int i = 0; i < THREE; i++)
		printf("%-22s kc %4d  mc %4d  nc %5d  %7.2f GFLOP/s\n", who[i], block[i].kc, block[i].mc, block[i].nc,
		       2.0 * w->n * w->n * w->n / xr_median(t->s[i], (size_t)t->rounds) / 1e9);
	for (int i = BY_CLAIMS; i < THREE; i++) {
		struct paired p = beside(t, i);
		if (same(&block[BY_XRAY], &block[i]))
			printf("X-Ray's blocks are %s\n", whose[i]);
		else
			printf("X-Ray's blocks reach %.1f %% of the speed of %s (99 %% sure: %.1f to %.1f %%)\n",
			       100 / p.ratio, whose[i], 100 / p.high, 100 / p.low);
	}
}

static int compare(struct work *w, const struct xr_blocking *measured, const struct xr_blocking *claimed)
{
	static struct xr_blocking searched[MOST];
	static struct times choosing, t;
	int count = grid(w->n, searched), kept = screen(w, searched, count);
	play(w, searched, kept, &choosing, CHOOSING);
	struct xr_blocking block[THREE] = {clipped(measured, w->n), clipped(claimed, w->n),
	                                   searched[fastest(&choosing, kept)]};
	enum paired_verdict claims, search;
	int rounds = PAIRED_FIRST;
	do {
		play(w, block, THREE, &t, rounds);
		claims = judge(block, &t, BY_CLAIMS, 1);
		search = judge(block, &t, BEST, 1 / 0.9);
		rounds *= 2;
	} while ((claims == PAIRED_UNDECIDED || search == PAIRED_UNDECIDED) && rounds <= PAIRED_MOST);
	printf("%d x %d doubles, tiles of %d x %d; %d combinations searched, %d rounds\n", w->n, w->n, MR, NR, count,
	       t.rounds);
	print(w, block, &t);
	if (claims == PAIRED_FAILS)
		puts("slower than with the claims");
	if (search == PAIRED_FAILS)
		puts("more than a tenth slower than the best");
	if (claims == PAIRED_FAILS || search == PAIRED_FAILS)
		return 1;
	if (claims == PAIRED_HOLDS && search == PAIRED_HOLDS)
		return 0;
	puts("too noisy to say");
	return 4;
}

int main(int argc, char **argv)
{
	struct xr_error err;
	struct work w = {.n = argc > 2 ? atoi(argv[2]) : 1024, .rng = {.state = 1}};
	struct xr_blocking measured = {.mr = MR, .nr = NR}, claimed = {.mr = MR, .nr = NR};
	if (argc < 2 || w.n < 1)
		return fputs("usage: search MACHINE.json [SIZE]\n", stderr), 2;
	struct xr_description *d = xr_description_read(argv[1], &err);
	if (!d)
		return fprintf(stderr, "search: %s\n", err.text), 2;
	bool known = !xr_description_blocking(d, sizeof(double), false, &measured) &&
	             !xr_description_blocking(d, sizeof(double), true, &claimed);
	xr_description_free(d);
	if (!known)
		return fputs("search: the first cache is not known well enough\n", stderr), 2;
	size_t all = (size_t)w.n * (size_t)w.n;
	w.a = room(all);
	w.b = room(all);
	w.c = room(all);
	for (size_t i = 0; i < all; i++) {
		w.a[i] = (double)(i % 13) - 6;
		w.b[i] = (double)(i % 7) - 3;
	}
	int status = compare(&w, &measured, &claimed);
	free(w.a);
	free(w.b);
	free(w.c);
	return status;
}
