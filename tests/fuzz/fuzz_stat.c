/* SPDX-License-Identifier: MIT */
/* Statistics on any doubles: the first is the parameter of the functions, the others the data. */
#include "../lib/stat_properties.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { MOST = 96 };
	size_t n = size / sizeof(double);
	double number[MOST] = {0};

	if (n < 1 || n > MOST)
		return 0;
	memcpy(number, data, n * sizeof *number);
	double *exact = malloc(n * sizeof *exact); /* sanitizers see an overrun */
	if (!exact)
		abort();
	memcpy(exact, number + 1, (n - 1) * sizeof *exact);
	double *x = realloc(exact, n > 1 ? (n - 1) * sizeof *exact : 1);
	if (!x)
		abort();
	const char *violated = xr_stat_violation(x, n - 1, number[0]);
	free(x);
	if (violated) {
		fprintf(stderr, "violated: %s\n", violated);
		abort();
	}
	return 0;
}
