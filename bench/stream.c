/* SPDX-License-Identifier: MIT */
/* STREAM's copy, as its rules have it: arrays of doubles, c[i] = a[i], sixteen bytes counted per element, the best
 * of several runs.
 *
 * stream BYTES       bytes of both arrays together; prints bytes per second
 *
 * For bench/run, compiled by the same compiler as the nano-benchmarks, with -O3 and all that the machine has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	size_t n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256u << 20) / 16;
	double *a = aligned_alloc(4096, (n * 8 + 4095) / 4096 * 4096),
	       *c = aligned_alloc(4096, (n * 8 + 8191) / 4096 * 4096);
	double best = 1e30;
	if (!a || !c || !n)
		return 1;
	for (size_t i = 0; i < n; i++)
		a[i] = c[i] = 1 + (double)i;
	size_t laps = 1 + (64u << 20) / (16 * n); /* of short arrays many, for the clock */
	for (int run = 0; run < 20; run++) {
		double start = now();
		for (size_t lap = 0; lap < laps; lap++) {
			for (size_t i = 0; i < n; i++)
				c[i] = a[i];
			__asm__ volatile("" : : "r"(c), "r"(a) : "memory");
		}
		double took = (now() - start) / (double)laps;
		best = took < best ? took : best;
	}
	printf("%.0f\n", 16.0 * (double)n / best);
	return c[n / 2] > 0 ? 0 : 1;
}
