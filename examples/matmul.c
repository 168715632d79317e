/* SPDX-License-Identifier: MIT
 *
 * A matrix multiply that asks X-Ray for its block sizes: measured once, then read from a file.
 *
 *     cc -O3 -march=native matmul.c $(pkg-config --cflags --libs xray) -o matmul
 *     ./matmul [--file machine.json | --dir CACHE] [--size N]
 *
 * The multiply itself is in multiply.h. `make bench` compares these blocks with others.
 */
#include "multiply.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double *room(size_t doubles)
{
	double *p = aligned_alloc(64, (doubles * sizeof(double) + 63) / 64 * 64);
	if (!p) {
		fputs("matmul: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

static struct xr_description *ask(const char *file, const char *dir)
{
	static const char *const want[] = {"cache.l1d", "cache.l2", "cache.l3.capacity", "op.fma"};
	const struct xr_plan plan = {.select = want, .n_select = sizeof want / sizeof *want};
	struct xr_error err;
	struct xr_description *d =
		file ? xr_description_read(file, &err) : xr_description_stored(dir, 0, NULL, &plan, &err);
	if (!d)
		fprintf(stderr, "matmul: %s\n", err.text);
	return d;
}

/* Small integers: every sum is exact, in whatever order. */
static int run(int size, const struct xr_blocking *block)
{
	size_t n = (size_t)size;
	double *a = room(n * n), *b = room(n * n), *c = room(n * n);
	double *packed_a = room(multiply_room(size)), *packed_b = room(multiply_room(size));
	for (size_t i = 0; i < n * n; i++) {
		a[i] = (double)(i % 13) - 6;
		b[i] = (double)(i % 7) - 3;
		c[i] = 0;
	}
	double start_s = now_s();
	multiply(size, a, b, c, block, packed_a, packed_b);
	double time_s = now_s() - start_s;
	printf("blocks of kc %d, mc %d, nc %d: %.2f GFLOP/s\n", block->kc, block->mc, block->nc,
	       2.0 * (double)(n * n * n) / time_s / 1e9);
	size_t wrong = 0, step = n / 37 + 1;
	for (size_t j = 0; j < n; j += step)
		for (size_t i = 0; i < n; i += step) {
			double expected = 0;
			for (size_t k = 0; k < n; k++)
				expected += a[k * n + i] * b[j * n + k];
			wrong += c[j * n + i] != expected;
		}
	free(a);
	free(b);
	free(c);
	free(packed_a);
	free(packed_b);
	if (wrong)
		fputs("matmul: the result is wrong\n", stderr);
	return wrong > 0;
}

int main(int argc, char **argv)
{
	const char *file = NULL, *dir = "/tmp/matmul-machines";
	int size = 1024;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--file") && i + 1 < argc)
			file = argv[++i];
		else if (!strcmp(argv[i], "--dir") && i + 1 < argc)
			dir = argv[++i];
		else if (!strcmp(argv[i], "--size") && i + 1 < argc && atoi(argv[i + 1]) > 0)
			size = atoi(argv[++i]);
		else
			return fputs("usage: matmul [--file machine.json | --dir CACHE] [--size N]\n", stderr), 2;
	}
	struct xr_description *d = ask(file, dir);
	struct xr_blocking block = {.mr = MR, .nr = NR};
	if (!d)
		return 2;
	bool known = !xr_description_blocking(d, sizeof(double), false, &block);
	xr_description_free(d);
	if (!known)
		return fputs("matmul: the first cache is not known well enough\n", stderr), 2;
	return run(size, &block);
}
